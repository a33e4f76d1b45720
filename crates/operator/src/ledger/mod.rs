//! The ledger: which request sits in which account, who waits, and everything that ever happened.
//!
//! It makes no decision of its own: [`Ledger::reserve`] asks `allotment_core::pool::decide` inside the transaction that holds
//! the locks. What an operation is about is a file: [`reserve`](Ledger::reserve), [`release`](Ledger::release), the end of a
//! claim ([`confirm`](Ledger::confirm), [`lose`](Ledger::lose)), [`learn`](Ledger::learn), healing
//! ([`assign`](Ledger::assign), [`clear`](Ledger::clear)), and [`lead`](Ledger::lead). Each is one transaction, and repeating
//! one whose answer was lost ends where it would have ended.
//!
//! ```
//! use allotment_operator::ledger::{Ask, Entries, Ledger, Place, RequestKey, Who};
//! use allotment_core::pool::{AccountName, Accounts, Answer, PoolKey, RequestUid, Tenant};
//! use std::collections::BTreeMap;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let place = Place { garden: "live".into(), project: "garden-kyma".into() };
//! let ledger = Ledger::open("sqlite::memory:", place).await?;
//! let now = "2026-11-15T12:00:00Z".parse()?;
//! let epoch = ledger.lead("allotment-0", "5b1e…", now).await?;
//!
//! let request = RequestKey { uid: RequestUid::new("4c1…"), namespace: "ga-1".into(), name: "prod".into() };
//! let pool = PoolKey { hyperscaler_type: "aws".into(), shared: false, eu_access: false };
//! let ask = Ask {
//!     request: &request,
//!     cluster: None,
//!     pool: &pool,
//!     who: Who::Dedicated {
//!         tenant: &Tenant::new("ga-1"),
//!         accounts: Accounts::One,
//!         cap: None,
//!         free: &[AccountName::new("aws-17")],
//!     },
//!     observed: &BTreeMap::new(),
//!     entries: Entries::ALL,
//!     may_queue: true,
//!     because: "rule 1: aws",
//! };
//! let reserved = ledger.reserve(epoch, &ask, now).await?;
//! assert_eq!(reserved.answer, Answer::Claim(AccountName::new("aws-17")));
//! # Ok(())
//! # }
//! ```

mod accounts;
mod assignments;
mod claim;
mod durability;
mod effort;
mod error;
mod heal;
mod history;
mod lead;
mod learn;
mod migrate;
mod open;
#[cfg(feature = "planted")]
mod planted;
mod queue;
mod recent;
mod release;
mod reserve;
mod store;
mod transaction;
mod weather;
mod writes;

pub use accounts::Account;
pub use assignments::Assignment;
pub use durability::Durability;
pub use effort::Effort;
pub use error::{DatabaseState, LedgerError};
pub use history::{About, Entry, Event};
pub use learn::Learned;
pub use migrate::Migrated;
pub use recent::Progress;
pub use release::{Left, Released};
pub use reserve::{Ask, Entries, Observed, Reserved, Who};
pub use weather::{Fate, Wait, Weather};
pub use writes::Writes;

use crate::dependencies::{Dependencies, Dependency};
use allotment_core::pool::{AccountName, Epoch, Holding, PoolKey, RequestUid, Retention, Served, Tenant};
use jiff::Timestamp;
use std::{fmt, sync::Arc};
pub(crate) use store::check_url;
use store::{Mode, Store};
use transaction::Transaction;

/// The garden and project whose accounts are meant. One database can keep the ledgers of several.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The garden's name in our configuration.
    pub garden: String,
    /// The project's namespace in it.
    pub project: String,
}

/// A request: the one of this UID, and what people call it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestKey {
    /// Tells it from one of the same name that was deleted before.
    pub uid: RequestUid,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for RequestKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// Which ledger this is, and how far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerId {
    /// Made up when the database was made.
    pub uuid: String,
    /// The epoch of now; 0 where nobody has led yet.
    pub epoch: Epoch,
    /// Whether it knows no account and no request (of this garden and project), and is not being rebuilt.
    pub is_empty: bool,
    /// Whom its last leader served.
    pub served: Served,
}

/// The past of a ledger, as far as it is compared with the fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// The term that led under the epoch; none where the ledger does not know.
    pub term: Option<String>,
    /// The entries of the history that are not there.
    pub missing: Vec<i64>,
}

/// The queue of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueLength {
    /// The pool.
    pub pool: PoolKey,
    /// How many wait.
    pub length: u64,
    /// Since when the first of them has waited.
    pub oldest: Timestamp,
}

/// The ledger of one garden project. Clones share its connections.
#[derive(Clone)]
pub struct Ledger {
    store: Store,
    place: Arc<Place>,
    weather: Option<Arc<dyn Weather>>,
    meter: effort::Meter,
    recent: recent::Recent,
    writes: writes::WriteHealth,
    retention: Retention,
    dependencies: Option<Dependencies>,
    #[cfg(feature = "planted")]
    pub(crate) planted: Option<crate::planted::Planted>,
}

impl fmt::Debug for Ledger {
    /// Without the URL, which has a password in it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Ledger").field("place", &self.place).finish_non_exhaustive()
    }
}

/// Runs an operation in a transaction of its own.
macro_rules! in_transaction {
    (read $ledger:expr, $doing:literal, |$transaction:ident| $operation:expr) => {{
        let result = async {
            $ledger.weathered($doing).await?;
            let session = $ledger.store.begin(Mode::Read, $doing).await?;
            let place = $ledger.place.clone();
            let mut transaction = Transaction::new(
                session,
                place,
                $doing,
                Timestamp::UNIX_EPOCH,
                &$ledger.meter,
                &$ledger.recent,
            );
            let $transaction = &mut transaction;
            let outcome = $operation.await;
            transaction.end(outcome, None).await
        }
        .await;
        $ledger.record($crate::dependencies::Dependency::LedgerRead, &result);
        result
    }};
    (write $ledger:expr, $doing:literal, $now:expr, |$transaction:ident| $operation:expr) => {{
        let result = async {
            $ledger.weathered($doing).await?;
            let session = $ledger.store.begin(Mode::Write, $doing).await?;
            let place = $ledger.place.clone();
            let mut transaction =
                Transaction::new(session, place, $doing, $now, &$ledger.meter, &$ledger.recent);
            #[cfg(feature = "planted")]
            transaction.believe(crate::ledger::planted::Seen {
                uncounted: $ledger.has(crate::planted::Planted::RecentUncounted),
                ..crate::ledger::planted::Seen::default()
            });
            let $transaction = &mut transaction;
            let outcome = async { $operation }.await;
            transaction.end(outcome, $ledger.weather.as_deref()).await
        }
        .await;
        $ledger.writes.count(&result);
        $ledger.record($crate::dependencies::Dependency::LedgerWrite, &result);
        result
    }};
}

// Below the macro, which they use.
mod cleanings;
mod months;
mod read;

pub use cleanings::{Cleaning, CloudAccount, PastShoot, StoredProof};
pub use months::{Counted, MonthCount};

/// Leading. How a ledger is opened is in `open`.
impl Ledger {
    /// The same ledger with faults, for a process that has seen nothing of it yet.
    #[must_use]
    pub fn with_weather(mut self, weather: Arc<dyn Weather>) -> Self {
        self.weather = Some(weather);
        self.recent = recent::Recent::default();
        self
    }

    /// The same ledger, with entries of the history kept so long.
    #[must_use]
    pub fn with_retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// The same ledger, which records whether its database works.
    #[must_use]
    pub fn recording(mut self, dependencies: Dependencies) -> Self {
        self.dependencies = Some(dependencies);
        self
    }

    /// Records what came of a transaction. A refusal is an answer: the database works.
    fn record<T>(&self, dependency: Dependency, result: &Result<T, LedgerError>) {
        let Some(dependencies) = &self.dependencies else { return };
        match result {
            Err(error) if error.is_of_the_database() => dependencies.failed(dependency, error.to_string()),
            _ => dependencies.succeeded(dependency),
        }
    }

    /// Waits for as long as the way to the database takes today.
    async fn weathered(&self, operation: &'static str) -> Result<(), LedgerError> {
        match self.weather.as_ref().and_then(|weather| weather.before(operation)) {
            Some(wait) => wait.await,
            None => Ok(()),
        }
    }

    /// What was asked of the database so far, by this ledger and its clones.
    pub fn effort(&self) -> Effort {
        self.meter.effort()
    }

    /// The ledger of another garden project in the same database, on the same connections.
    #[must_use]
    pub fn at(&self, place: Place) -> Self {
        Self { place: Arc::new(place), ..self.clone() }
    }

    /// Which ledger this is.
    pub async fn identity(&self) -> Result<LedgerId, LedgerError> {
        in_transaction!(read self, "read the identity", |transaction| lead::identity(transaction))
    }

    /// The epoch of now; 0 where nobody has led yet.
    pub async fn epoch(&self) -> Result<Epoch, LedgerError> {
        in_transaction!(read self, "read the epoch", |transaction| lead::epoch(transaction))
    }

    /// Begins to lead: raises the epoch, once the transactions under the old one are over. `term` is an id that no other term has,
    /// also none that leads a copy of this ledger.
    pub async fn lead(&self, holder: &str, term: &str, now: Timestamp) -> Result<Epoch, LedgerError> {
        self.lead_from(holder, term, None, now).await
    }

    /// Begins to lead, unless somebody has led since the epoch was `after`.
    pub async fn lead_after(
        &self,
        holder: &str,
        term: &str,
        after: Epoch,
        now: Timestamp,
    ) -> Result<Epoch, LedgerError> {
        self.lead_from(holder, term, Some(after), now).await
    }

    async fn lead_from(
        &self,
        holder: &str,
        term: &str,
        after: Option<Epoch>,
        now: Timestamp,
    ) -> Result<Epoch, LedgerError> {
        let led = in_transaction!(write self, "lead", now, |transaction| {
            lead::lead(transaction, holder, term, after).await
        });
        if let Ok(epoch) = &led {
            self.recent.led(*epoch, term);
        }
        led
    }

    /// Writes down whom the leader serves.
    pub async fn serve(&self, epoch: Epoch, served: &Served, now: Timestamp) -> Result<(), LedgerError> {
        in_transaction!(write self, "write whom the leader serves", now, |transaction| {
            transaction.under(epoch).await?;
            lead::serve(transaction, served).await
        })
    }

    /// Whether it was made anew, and nobody has led since: whoever waits is queued by the next leader.
    pub async fn awaits_leader(&self) -> Result<bool, LedgerError> {
        in_transaction!(read self, "read who led last", |transaction| lead::awaits_leader(transaction))
    }

    /// The term that led under an epoch, and which of these entries of the history are not there.
    pub async fn past(&self, epoch: Epoch, entries: &[i64]) -> Result<Past, LedgerError> {
        in_transaction!(read self, "read a term", |transaction| lead::past(transaction, epoch, entries))
    }

    /// Refuses, with [`LedgerError::WentBack`], a database that does not hold what this process has seen committed. Every writing
    /// operation does so, too.
    pub async fn check_past(&self) -> Result<(), LedgerError> {
        // Before the transaction begins: it sees what was committed by then, and others go on committing.
        let seen = self.progress().entries;
        in_transaction!(read self, "compare the last entries", |transaction| transaction.still_has(&seen))
    }

    /// How writing goes, by this ledger and its clones.
    pub fn writes(&self) -> Writes {
        self.writes.get()
    }

    /// How far the ledger has come, as far as this process has seen.
    pub fn progress(&self) -> Progress {
        self.recent.progress()
    }

    /// Forgets which entries were seen. For a new term, which compares the ledger with the fence instead.
    pub fn forget_past(&self) {
        self.recent.clear();
    }
}

/// Writing. Everything is refused to a writer whose epoch is not the ledger's.
impl Ledger {
    /// Gives a request an account, or a place in the queue. A request that has an account keeps it.
    pub async fn reserve(
        &self,
        epoch: Epoch,
        ask: &Ask<'_>,
        now: Timestamp,
    ) -> Result<Reserved, LedgerError> {
        #[cfg(feature = "planted")]
        let seen = self.look_before_the_locks(ask).await?;
        in_transaction!(write self, "reserve", now, |transaction| {
            transaction.under(epoch).await?;
            #[cfg(feature = "planted")]
            transaction.believe(seen);
            reserve::reserve(transaction, ask).await
        })
    }

    /// Writes down that the binding of a claimed account carries the tenant's name.
    pub async fn confirm(
        &self,
        epoch: Epoch,
        account: &AccountName,
        tenant: &Tenant,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        in_transaction!(write self, "confirm", now, |transaction| {
            transaction.under(epoch).await?;
            claim::confirm(transaction, account, tenant).await
        })
    }

    /// Writes down that somebody outside took an account that was being claimed. Returns the requests that were in it: they
    /// have nothing now.
    pub async fn lose(
        &self,
        epoch: Epoch,
        account: &AccountName,
        tenant: &Tenant,
        found: &Holding,
        because: &str,
        now: Timestamp,
    ) -> Result<Vec<RequestKey>, LedgerError> {
        in_transaction!(write self, "lose", now, |transaction| {
            transaction.under(epoch).await?;
            claim::lose(transaction, account, tenant, found, because).await
        })
    }

    /// Takes the account, or the place in the queue, from a request. The last one out of a dedicated account makes it drain,
    /// in the same transaction: nothing new can slip in.
    pub async fn release(
        &self,
        epoch: Epoch,
        request: &RequestUid,
        left: Left,
        because: &str,
        now: Timestamp,
    ) -> Result<Released, LedgerError> {
        in_transaction!(write self, "release", now, |transaction| {
            transaction.under(epoch).await?;
            #[cfg(feature = "planted")]
            transaction.believe(crate::ledger::planted::Seen {
                only_shoots: self.has(crate::planted::Planted::ReleaseLooksOnlyAtShoots),
                ..crate::ledger::planted::Seen::default()
            });
            release::release(transaction, request, left, because).await
        })
    }

    /// Takes a request out of its queue. Returns whether it was in one; an account that it has got meanwhile stays its own.
    pub async fn withdraw(
        &self,
        epoch: Epoch,
        request: &RequestUid,
        because: &str,
        now: Timestamp,
    ) -> Result<bool, LedgerError> {
        in_transaction!(write self, "withdraw", now, |transaction| {
            transaction.under(epoch).await?;
            release::withdraw(transaction, request, because).await
        })
    }

    /// Writes down what was seen of an account, if its version is still the one that it had then (none: it had no row).
    #[expect(clippy::too_many_arguments, reason = "each is one thing that the caller has to say")]
    pub async fn learn(
        &self,
        epoch: Epoch,
        account: &AccountName,
        pool: &PoolKey,
        expected_version: Option<i64>,
        learned: &Learned,
        because: &str,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        in_transaction!(write self, "learn", now, |transaction| {
            transaction.under(epoch).await?;
            learn::learn(transaction, account, pool, expected_version, learned, because).await
        })
    }

    /// Writes down an assignment that the request's status and the binding prove, unless it was released. The account becomes the tenant's if it is
    /// nobody's; it is refused if the request is in another account, or the account is another tenant's, draining or dirty.
    pub async fn assign(
        &self,
        epoch: Epoch,
        assignment: &Assignment,
        because: &str,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        in_transaction!(write self, "assign", now, |transaction| {
            transaction.under(epoch).await?;
            heal::assign(transaction, assignment, because).await
        })
    }

    /// Notes that the pool was in use when the ledger began.
    pub async fn take_over(&self, epoch: Epoch, because: &str, now: Timestamp) -> Result<(), LedgerError> {
        in_transaction!(write self, "take a pool over", now, |transaction| {
            transaction.under(epoch).await?;
            heal::take_over(transaction, because).await
        })
    }

    /// The time before which uses of accounts may be unknown: the pool was in use when the ledger began, or the ledger was rebuilt since. None if
    /// every use is known.
    pub async fn knows_since(&self) -> Result<Option<Timestamp>, LedgerError> {
        in_transaction!(read self, "read how far back the ledger knows", |transaction| {
            heal::knows_since(transaction)
        })
    }

    /// Throws everything away but history and identity, to be made anew from the cluster.
    pub async fn clear(&self, epoch: Epoch, because: &str, now: Timestamp) -> Result<(), LedgerError> {
        in_transaction!(write self, "clear", now, |transaction| {
            transaction.alone_under(epoch).await?;
            heal::clear(transaction, because).await
        })
    }
}
