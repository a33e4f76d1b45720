//! One transaction that gives a request an account, or a place in the queue.

use super::{
    Account, Assignment, Event, LedgerError, RequestKey, accounts, assignments,
    history::Note,
    queue::{self, Leaves, Queued},
    transaction::Transaction,
};
use allotment_core::pool::{
    AccountName, Accounts, Ahead, Answer, Candidate, Choice, Closed, Dedicated, EXACT_POSITIONS, Holding,
    PoolKey, Question, RequestUid, Tenant, decide,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// A request that wants an account, and what is known outside the ledger.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Which.
    pub request: &'a RequestKey,
    /// The cluster it is for, if it says.
    pub cluster: Option<&'a str>,
    /// The pool.
    pub pool: &'a PoolKey,
    /// Who asks, and which accounts there are.
    pub who: Who<'a>,
    /// What is observed of accounts outside the ledger.
    pub observed: &'a BTreeMap<AccountName, Observed>,
    /// Which accounts have an entry.
    pub entries: Entries<'a>,
    /// Whether it may take a place in the queue if there is nothing now. A place that it has stays its own.
    pub may_queue: bool,
    /// Why this pool, for the history.
    pub because: &'a str,
}

/// Whether an account of the ledger has an entry in the pool. People delete entries, and the ledger keeps who is in them.
#[derive(Clone, Copy)]
pub struct Entries<'a>(&'a (dyn Fn(&AccountName) -> bool + Sync));

impl<'a> Entries<'a> {
    /// All have one.
    pub const ALL: Entries<'static> = Entries(&|_| true);

    /// Those have one of which this says so.
    pub fn of(has_entry: &'a (dyn Fn(&AccountName) -> bool + Sync)) -> Self {
        Self(has_entry)
    }
}

impl fmt::Debug for Entries<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Entries")
    }
}

/// An account, as it is observed outside the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Shoots in it that no assignment can stand for.
    pub foreign: u32,
    /// Requests that have a Shoot in it, and of which the caller does not know that they are in it.
    pub unseated: Vec<RequestUid>,
    /// Other entries with the same credentials: it is one account.
    pub twins: Vec<AccountName>,
    /// Whether the labels of these say that somebody else uses it, too.
    pub contested: bool,
}

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub enum Who<'a> {
    /// Anybody, in a shared pool.
    Shared {
        /// Every account of the pool.
        accounts: &'a [AccountName],
    },
    /// A tenant, in a dedicated pool.
    Dedicated {
        /// The tenant.
        tenant: &'a Tenant,
        /// How many accounts it may have in this pool.
        accounts: Accounts,
        /// How many it may have in all pools.
        cap: Option<u32>,
        /// The accounts of the pool that look free from outside, in the order in which they are to be taken.
        free: &'a [AccountName],
    },
}

impl<'a> Who<'a> {
    fn tenant(&self) -> Option<&'a Tenant> {
        match self {
            Self::Shared { .. } => None,
            Self::Dedicated { tenant, .. } => Some(tenant),
        }
    }
}

/// What a request got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// The decision, as it is written down.
    pub answer: Answer,
    /// Whether the account's name may be published: it is shared, or its binding is known to carry the tenant's name.
    pub confirmed: bool,
    /// Whether it has a place in the queue of the pool.
    pub queued: bool,
}

/// Decides, with everything that the decision depends on locked, and writes the answer down.
pub(super) async fn reserve(transaction: &mut Transaction, ask: &Ask<'_>) -> Result<Reserved, LedgerError> {
    // What stands needs no locks: it stays, or its release comes after this.
    if let Some(kept) = keep(transaction, ask).await? {
        return Ok(kept);
    }
    transaction.lock_request(&ask.request.uid).await?;
    let mut queued = lock(transaction, ask).await?;
    if let Some(kept) = keep(transaction, ask).await? {
        return Ok(kept);
    }
    if let Some(elsewhere) = queued.take_if(|queued| !is_of(queued, ask)) {
        // The rules have changed, and it is for another pool now.
        queue::remove(transaction, &elsewhere, Leaves::Otherwise).await?;
    }
    let (answer, rows) = match ask.who {
        Who::Shared { accounts } => shared(transaction, ask, accounts).await?,
        Who::Dedicated { tenant, accounts, cap, free } => {
            let queued = queued.as_ref();
            let wanted = Wanted { tenant, accounts, cap, free, queued };
            dedicated(transaction, ask, wanted).await?
        }
    };
    let mut reserved = Reserved { answer, confirmed: false, queued: false };
    match &reserved.answer {
        Answer::Keep(_) => {}
        Answer::Use(account) => {
            let row = rows.get(account);
            let holding = row.map_or(Holding::Free, |row| row.holding.clone());
            take(transaction, ask, account, row, holding).await?;
            leave(transaction, queued.as_ref(), Leaves::Otherwise).await?;
            reserved.confirmed = row.is_none_or(Account::is_confirmed);
        }
        Answer::Claim(account) => {
            let holding = ask.who.tenant().map_or(Holding::Free, |tenant| Holding::Claiming(tenant.clone()));
            take(transaction, ask, account, rows.get(account), holding).await?;
            leave(transaction, queued.as_ref(), Leaves::Served).await?;
        }
        Answer::Wait(_, lack) => {
            reserved.queued = wait(transaction, ask, queued, lack.is_for_free_accounts()).await?;
        }
    }
    Ok(reserved)
}

/// Locks the tenant and the pool, and those of the queue that the request is in: the rules may have changed since. Returns
/// its place in that queue.
async fn lock(transaction: &mut Transaction, ask: &Ask<'_>) -> Result<Option<Queued>, LedgerError> {
    let uid = &ask.request.uid;
    let seen = queue::of(transaction, uid).await?;
    let mut tenants: BTreeSet<&Tenant> = ask.who.tenant().into_iter().collect();
    let mut pools = BTreeSet::from([ask.pool]);
    if let Some(seen) = &seen {
        tenants.extend(&seen.tenant);
        pools.insert(&seen.pool);
    }
    transaction.lock(tenants, pools).await?;
    // The request is locked, so it is in the same queue; but it may have got its tenant's place in the round.
    if seen.is_some() { queue::of(transaction, uid).await } else { Ok(None) }
}

/// Whether a place is in the queue that the request is for.
fn is_of(queued: &Queued, ask: &Ask<'_>) -> bool {
    queued.pool == *ask.pool && queued.tenant.as_ref() == ask.who.tenant()
}

async fn leave(
    transaction: &mut Transaction,
    queued: Option<&Queued>,
    leaves: Leaves,
) -> Result<(), LedgerError> {
    match queued {
        Some(queued) => queue::remove(transaction, queued, leaves).await,
        None => Ok(()),
    }
}

async fn keep(transaction: &mut Transaction, ask: &Ask<'_>) -> Result<Option<Reserved>, LedgerError> {
    let Some(standing) = assignments::of(transaction, &ask.request.uid).await? else {
        return Ok(None);
    };
    let row = accounts::find(transaction, &standing.account).await?;
    let choice = Choice::Shared(Vec::new());
    let answer = decide(&Question { pool: ask.pool, standing: Some(standing.account), choice });
    let confirmed = row.as_ref().is_some_and(Account::is_confirmed);
    if row.as_ref().is_some_and(|row| !transaction.covers(row)) {
        let (event, because) = (Event::Kept, "it asked again");
        let (tenant, request) = (standing.tenant.as_ref(), Some(ask.request));
        transaction.note(Note { event, account: None, tenant, request, because }).await?;
    }
    Ok(Some(Reserved { answer, confirmed, queued: false }))
}

/// The rows of the accounts that can be chosen, for those that have one.
type Rows = BTreeMap<AccountName, Account>;

async fn shared(
    transaction: &mut Transaction,
    ask: &Ask<'_>,
    all: &[AccountName],
) -> Result<(Answer, Rows), LedgerError> {
    let rows = accounts::named(transaction, all).await?;
    let clusters = accounts::clusters(transaction, &with_twins(ask, all)).await?;
    let seats = unseated(transaction, ask, all).await?;
    let is_nobodys = |account: &&AccountName| {
        rows.get(*account).is_none_or(|row| {
            row.holding == Holding::Free && (row.pool.shared || !clusters.contains_key(*account))
        })
    };
    let candidates = all
        .iter()
        .filter(is_nobodys)
        .map(|account| candidate(ask, account, &clusters, &seats, rows.get(account)));
    let choice = Choice::Shared(candidates.collect());
    Ok((decide(&Question { pool: ask.pool, standing: None, choice }), rows))
}

/// [`Who::Dedicated`], taken out.
struct Wanted<'a> {
    tenant: &'a Tenant,
    accounts: Accounts,
    cap: Option<u32>,
    free: &'a [AccountName],
    /// Its place in the queue of this tenant and pool.
    queued: Option<&'a Queued>,
}

async fn dedicated(
    transaction: &mut Transaction,
    ask: &Ask<'_>,
    wanted: Wanted<'_>,
) -> Result<(Answer, Rows), LedgerError> {
    let Wanted { tenant, accounts, cap, free, queued } = wanted;
    let held = accounts::lock_own(transaction, tenant).await?;
    #[cfg(feature = "planted")]
    let held = transaction.seen.own.take().unwrap_or(held);
    let own: Vec<&Account> = held.iter().filter(|row| row.pool == *ask.pool).collect();
    let names: Vec<AccountName> = own.iter().map(|row| row.account.clone()).collect();
    let clusters = accounts::clusters(transaction, &with_twins(ask, &names)).await?;
    let seats = unseated(transaction, ask, &names).await?;
    #[cfg(feature = "planted")]
    let clusters = transaction.seen.clusters.take().unwrap_or(clusters);
    let own_candidates =
        own.iter().map(|row| candidate(ask, &row.account, &clusters, &seats, Some(row))).collect();

    let ahead = queue::ahead(transaction, ask.pool, tenant, queued).await?;
    let (free, mut rows) = free_of(transaction, ask, free, ahead).await?;
    let dedicated = Dedicated {
        tenant,
        accounts,
        own: own_candidates,
        held: distinct(ask, &held),
        cap,
        free: &free,
        ahead,
    };
    let choice = Choice::Dedicated(dedicated);
    let answer = decide(&Question { pool: ask.pool, standing: None, choice });
    rows.extend(held.into_iter().map(|row| (row.account.clone(), row)));
    Ok((answer, rows))
}

/// An account with what is in it: the assignments, and the Shoots that none of them stands for. Entries with the same credentials
/// count together.
fn candidate(
    ask: &Ask<'_>,
    account: &AccountName,
    clusters: &BTreeMap<AccountName, u32>,
    seats: &BTreeMap<RequestUid, AccountName>,
    row: Option<&Account>,
) -> Candidate {
    let nothing = Observed::default();
    let Observed { foreign, unseated, twins, contested } = ask.observed.get(account).unwrap_or(&nothing);
    let all = || twins.iter().chain([account]);
    let assigned: u32 = all().filter_map(|account| clusters.get(account)).sum();
    let is_elsewhere =
        |request: &&RequestUid| seats.get(*request).is_none_or(|seat| !all().any(|it| it == seat));
    let without_seat = unseated.iter().filter(is_elsewhere).count();
    let others = u32::try_from(without_seat).unwrap_or(u32::MAX).saturating_add(*foreign);
    let closed = match row {
        _ if !(ask.entries.0)(account) => Some(Closed::EntryGone),
        _ if *contested => Some(Closed::Contested),
        Some(row) if row.quarantine.is_some() => Some(Closed::Quarantined),
        _ => None,
    };
    Candidate { account: account.clone(), clusters: assigned.saturating_add(others), closed }
}

/// Accounts, and the other entries with their credentials.
fn with_twins(ask: &Ask<'_>, accounts: &[AccountName]) -> Vec<AccountName> {
    let twins = accounts.iter().filter_map(|account| ask.observed.get(account)).flat_map(|it| &it.twins);
    let all: BTreeSet<&AccountName> = accounts.iter().chain(twins).collect();
    all.into_iter().cloned().collect()
}

/// Where the requests are that have a Shoot in one of the accounts, and of which the caller does not know that they are in it.
async fn unseated(
    transaction: &mut Transaction,
    ask: &Ask<'_>,
    accounts: &[AccountName],
) -> Result<BTreeMap<RequestUid, AccountName>, LedgerError> {
    let observed = accounts.iter().filter_map(|account| ask.observed.get(account));
    let requests: BTreeSet<&RequestUid> = observed.flat_map(|it| &it.unseated).collect();
    accounts::seats_of(transaction, &requests.into_iter().cloned().collect::<Vec<_>>()).await
}

/// How many accounts these are: entries with the same credentials are one.
fn distinct(ask: &Ask<'_>, held: &[Account]) -> u32 {
    let is_twin = |one: &Account, other: &Account| {
        ask.observed.get(&one.account).is_some_and(|it| it.twins.contains(&other.account))
    };
    let first =
        held.iter().enumerate().filter(|(place, row)| !held[..*place].iter().any(|it| is_twin(row, it)));
    u32::try_from(first.count()).unwrap_or(u32::MAX)
}

/// Of the accounts that look free from outside, those that are free in the ledger too; no more of them than the decision
/// looks at, which is one more than there are requests before this one.
async fn free_of(
    transaction: &mut Transaction,
    ask: &Ask<'_>,
    free: &[AccountName],
    ahead: Ahead,
) -> Result<(Vec<AccountName>, Rows), LedgerError> {
    const AT_ONCE: usize = 32;
    let enough = match ahead {
        Ahead::Exactly(ahead) => ahead.saturating_add(1),
        Ahead::About(_) => EXACT_POSITIONS,
    };
    let enough = usize::try_from(enough).unwrap_or(usize::MAX);
    let (mut found, mut known) = (Vec::new(), Rows::new());
    for names in free.chunks(AT_ONCE) {
        if found.len() >= enough {
            break;
        }
        let recorded = accounts::recorded_twins(transaction, names).await?;
        let mut all = with_twins(ask, names);
        all.extend(recorded.values().flatten().cloned());
        let rows = accounts::named(transaction, &all).await?;
        let clusters = accounts::clusters(transaction, &all).await?;
        let is_nobodys = |account: &AccountName| {
            // A shared account is nobody's too, and may be full of clusters.
            !clusters.contains_key(account)
                && rows.get(account).is_none_or(|row| {
                    row.holding == Holding::Free && row.quarantine.is_none() && !row.leaving
                })
        };
        let is_free = |account: &&AccountName| {
            let twins = ask.observed.get(*account).into_iter().flat_map(|it| &it.twins);
            let recorded = recorded.get(*account).into_iter().flatten();
            twins.chain(recorded).chain([*account]).all(is_nobodys)
        };
        found.extend(names.iter().filter(is_free).cloned());
        known.extend(rows);
    }
    Ok((found, known))
}

/// Puts the request into the account.
async fn take(
    transaction: &mut Transaction,
    ask: &Ask<'_>,
    account: &AccountName,
    row: Option<&Account>,
    holding: Holding,
) -> Result<(), LedgerError> {
    let Ask { request, cluster, pool, who, because, .. } = *ask;
    let tenant = who.tenant();
    if matches!(holding, Holding::Claiming(_)) && row.is_none_or(|row| row.holding == Holding::Free) {
        let claimed = Note { event: Event::Claimed, account: Some(account), tenant, request: None, because };
        transaction.note(claimed).await?;
    }
    let assigned =
        Note { event: Event::Assigned, account: Some(account), tenant, request: Some(request), because };
    let version = transaction.note(assigned).await?;

    let now = transaction.now;
    let mut after = row.cloned().unwrap_or_else(|| Account::new(account, pool, now));
    after.pool = pool.clone();
    after.holding = holding;
    after.leaving = false;
    accounts::change(transaction, row, &after, version).await?;
    let assignment = Assignment {
        request: request.clone(),
        tenant: tenant.cloned(),
        account: account.clone(),
        pool: pool.clone(),
        cluster: cluster.map(ToOwned::to_owned),
        since: now,
    };
    assignments::insert(transaction, &assignment).await
}

/// Puts the request into the queue of its pool, unless it is there or may not. Returns whether it is there.
async fn wait(
    transaction: &mut Transaction,
    ask: &Ask<'_>,
    queued: Option<Queued>,
    wants_free: bool,
) -> Result<bool, LedgerError> {
    let Ask { request, pool, who, may_queue, because, .. } = *ask;
    let tenant = who.tenant();
    if let Some(queued) = queued {
        if queued.wants_free != wants_free {
            queue::change(transaction, &request.uid, wants_free).await?;
        }
        return Ok(true);
    }
    if !may_queue {
        return Ok(false);
    }
    let queued = Note { event: Event::Queued, account: None, tenant, request: Some(request), because };
    transaction.note(queued).await?;
    queue::push(transaction, request, tenant, pool, wants_free).await?;
    Ok(true)
}
