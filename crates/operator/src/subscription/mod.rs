//! The subscription operator: which account does each SubscriptionRequest get, and what becomes of accounts.
//!
//! | file | what is in it |
//! |---|---|
//! | `index`, `learn` | what is known, from watches |
//! | `credentials` | where the credentials of an account are |
//! | `uses` | which requests have which account, by their statuses |
//! | `occupied` | which accounts are to be had, and why others are not |
//! | `run` | from start to stop |
//! | `term` | what a new leader does before it hands anything out |
//! | `fence` | the garden's record of the ledger, won by compare-and-swap |
//! | `request`, `release` | one look at a request |
//! | `report` | what a request says while its reconcile fails |
//! | `forged` | a status that says Bound: somebody else may have written it, or the ledger may have lost it |
//! | `account` | one look at an account |
//! | `waiting` | who stands in which queue, and who is woken when |
//! | `write` | every call to an API server |
//! | `gauges` | what a scrape gets |

mod account;
mod credentials;
mod fence;
mod forged;
mod gauges;
mod history;
mod index;
mod learn;
mod occupied;
mod positions;
mod release;
mod report;
mod request;
mod run;
mod term;
mod trouble;
mod uses;
mod waiting;
mod write;

pub use credentials::{CredentialsKind, CredentialsName};
pub use fence::IDENTITY;
pub use index::{Index, PoolEntry, RequestName, ShootFact};
pub use learn::Followed;
pub use run::{LEASE_NAME, Operator, Parts, Policy, Settings};
pub use term::{Rebuild, TermError};
pub use trouble::Trouble;

use allotment_core::pool::{AccountName, PoolKey, RequestUid, Tenant};
use std::fmt;

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// An account: its labels, its row in the ledger, its Shoots.
    Account(AccountName),
    /// A request.
    Request(RequestName),
    /// A request that is gone, though its account was not given back.
    Orphan(RequestUid),
    /// A pool with free accounts: whose turn is it?
    Pool(PoolKey),
    /// A tenant that may have room for those of its requests that wait for a pool.
    Line(PoolKey, Tenant),
    /// The queues of all pools: was a wake-up lost?
    Queues,
    /// Accounts on their way from one state to another.
    Unfinished,
    /// Every request that says Bound: does the ledger agree?
    Bound,
    /// The garden's record of the ledger: is it still this term's?
    Fence,
    /// Old entries of the ledger's history, which are counted.
    History,
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(account) => write!(f, "account {account}"),
            Self::Request(name) => write!(f, "SubscriptionRequest {name}"),
            Self::Orphan(uid) => write!(f, "deleted SubscriptionRequest {uid}"),
            Self::Pool(pool) => write!(f, "pool {pool}"),
            Self::Line(pool, tenant) => write!(f, "queue of {tenant} for pool {pool}"),
            Self::Queues => f.write_str("all queues"),
            Self::Unfinished => f.write_str("accounts that change"),
            Self::Bound => f.write_str("all bound SubscriptionRequests"),
            Self::Fence => f.write_str("the ledger's fence"),
            Self::History => f.write_str("the ledger's history"),
        }
    }
}
