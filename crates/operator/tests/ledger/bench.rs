//! What the cases work with.

use allotment_core::{
    check::{self, Books, Held, Seat},
    pool::{AccountName, Accounts, Answer, Epoch, Limit, PoolKey, RequestUid, Tenant},
};
use allotment_operator::ledger::{
    Ask, Entries, Ledger, LedgerError, Observed, Place, RequestKey, Reserved, Who,
};
use allotment_testing::Postgres;
use jiff::Timestamp;
use std::{collections::BTreeMap, error::Error, fmt, sync::OnceLock};
use tempfile::TempDir;

/// The databases there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Memory,
    File,
    Postgres,
}

impl Kind {
    pub const ALL: &[Self] = &[Self::Memory, Self::File, Self::Postgres];
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Memory => "memory",
            Self::File => "file",
            Self::Postgres => "postgres",
        })
    }
}

/// The server is started when the first case wants it, and shared by all.
#[derive(Default)]
pub struct Databases {
    postgres: OnceLock<Result<Postgres, String>>,
}

impl Databases {
    /// A database of its own for one case.
    pub fn bench(&self, kind: Kind) -> Result<Bench, Box<dyn Error + Send + Sync>> {
        let (url, folder) = match kind {
            Kind::Memory => ("sqlite::memory:".to_owned(), None),
            Kind::File => {
                let folder = TempDir::new()?;
                (format!("sqlite://{}", folder.path().join("ledger.db").display()), Some(folder))
            }
            Kind::Postgres => (self.server()?.database()?, None),
        };
        Ok(Bench { url, _folder: folder })
    }

    fn server(&self) -> Result<&Postgres, Box<dyn Error + Send + Sync>> {
        let started = self.postgres.get_or_init(|| {
            Postgres::start().map_err(|error| {
                if error.is::<allotment_testing::NoPostgres>() { String::new() } else { error.to_string() }
            })
        });
        match started {
            Ok(server) => Ok(server),
            Err(error) if error.is_empty() => Err(allotment_testing::NoPostgres.into()),
            Err(error) => Err(error.clone().into()),
        }
    }
}

/// One empty database.
pub struct Bench {
    pub url: String,
    _folder: Option<TempDir>,
}

impl Bench {
    /// A database that somebody else has made.
    pub fn at(url: String) -> Self {
        Self { url, _folder: None }
    }

    /// Opens it. In memory, each time is another one.
    pub async fn open(&self) -> Ledger {
        Ledger::open(&self.url, place()).await.unwrap()
    }

    /// Opens it, and leads.
    pub async fn lead(&self) -> (Ledger, Epoch) {
        let ledger = self.open().await;
        let epoch = ledger.lead("me", "a term", now()).await.unwrap();
        (ledger, epoch)
    }
}

pub fn place() -> Place {
    Place { garden: "live".to_owned(), project: "garden-kyma".to_owned() }
}

pub fn now() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

pub fn pool(type_: &str) -> PoolKey {
    PoolKey { hyperscaler_type: type_.to_owned(), shared: false, eu_access: false }
}

pub fn shared(type_: &str) -> PoolKey {
    PoolKey { shared: true, ..pool(type_) }
}

pub fn account(name: &str) -> AccountName {
    AccountName::new(name)
}

/// `a-1`, `a-2`, …
pub fn accounts(prefix: &str, count: usize) -> Vec<AccountName> {
    (1..=count).map(|number| account(&format!("{prefix}-{number}"))).collect()
}

pub fn tenant(name: &str) -> Tenant {
    Tenant::new(name)
}

pub fn request(uid: &str) -> RequestKey {
    RequestKey { uid: RequestUid::new(uid), namespace: "ns".to_owned(), name: format!("name-of-{uid}") }
}

/// A request for an account, to be varied.
#[derive(Clone)]
pub struct Want {
    pub request: RequestKey,
    pub tenant: Tenant,
    pub pool: PoolKey,
    pub accounts: Accounts,
    pub cap: Option<u32>,
    pub free: Vec<AccountName>,
    pub observed: BTreeMap<AccountName, Observed>,
    /// Accounts whose entries were deleted.
    pub gone: Vec<AccountName>,
    pub may_queue: bool,
}

/// A tenant wants an account of pool `aws`, where these are free.
pub fn want(uid: &str, of: &str, free: &[AccountName]) -> Want {
    Want {
        request: request(uid),
        tenant: tenant(of),
        pool: pool("aws"),
        accounts: Accounts::Several(Limit(3)),
        cap: None,
        free: free.to_vec(),
        observed: BTreeMap::new(),
        gone: Vec::new(),
        may_queue: true,
    }
}

/// So many Shoots in an account that nobody asked for.
pub fn foreign(name: &str, count: u32) -> BTreeMap<AccountName, Observed> {
    BTreeMap::from([(account(name), Observed { foreign: count, ..Observed::default() })])
}

impl Want {
    pub fn limit(mut self, limit: u32) -> Self {
        self.accounts = Accounts::Several(Limit(limit));
        self
    }

    pub fn one(mut self) -> Self {
        self.accounts = Accounts::One;
        self
    }

    pub fn in_pool(mut self, pool: PoolKey) -> Self {
        self.pool = pool;
        self
    }

    pub fn cap(mut self, cap: u32) -> Self {
        self.cap = Some(cap);
        self
    }

    /// Asks. In a shared pool, `free` are all of its accounts.
    pub async fn ask(&self, ledger: &Ledger, epoch: Epoch) -> Result<Reserved, LedgerError> {
        let Self { request, tenant, pool, accounts, cap, free, observed, gone, may_queue } = self;
        let who = if pool.shared {
            Who::Shared { accounts: free }
        } else {
            Who::Dedicated { tenant, accounts: *accounts, cap: *cap, free }
        };
        let (cluster, may_queue, because) = (Some("cluster"), *may_queue, "rule 1");
        let is_there = |account: &AccountName| !gone.contains(account);
        let entries = Entries::of(&is_there);
        let ask = Ask { request, cluster, pool, who, observed, entries, may_queue, because };
        ledger.reserve(epoch, &ask, now()).await
    }
}

/// The version of an account's row.
pub async fn version(ledger: &Ledger, name: &str) -> Option<i64> {
    ledger.account(&account(name)).await.unwrap().map(|account| account.version)
}

/// What the ledger says, as the checks want it.
pub async fn books(ledger: &Ledger) -> Books {
    let mut books = Books::default();
    for account in ledger.accounts().await.unwrap() {
        for assignment in account.assignments {
            let (request, tenant, account) = (assignment.request.uid, assignment.tenant, assignment.account);
            books.seats.push(Seat { request, tenant, account });
        }
        books.accounts.push(Held { account: account.account, pool: account.pool, holding: account.holding });
    }
    for queue in ledger.queues().await.unwrap() {
        let waiting = ledger.waiting(&queue.pool).await.unwrap();
        books.waiting.extend(waiting.into_iter().map(|(waiting, ..)| waiting.request));
    }
    books
}

/// Fails if something is true that never must be.
pub async fn check(ledger: &Ledger) -> Books {
    let books = books(ledger).await;
    let violations: Vec<String> = check::books(&books).iter().map(ToString::to_string).collect();
    assert!(violations.is_empty(), "{violations:#?}");
    books
}

pub fn claim(name: &str) -> Answer {
    Answer::Claim(account(name))
}

pub fn reuse(name: &str) -> Answer {
    Answer::Use(account(name))
}

pub fn position(answer: &Answer) -> u32 {
    match answer {
        Answer::Wait(position, _) => *position,
        other => panic!("expected to wait, but {other:?}"),
    }
}
