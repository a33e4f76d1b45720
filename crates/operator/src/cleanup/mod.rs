//! The cleanup operator: dirty accounts are emptied, proven empty, and returned to the pool.
//!
//! `allotment_core::cleanup` decides, `allotment_clouds` calls the clouds. The shell observes, writes down the stage, acts.
//!
//! | file | content |
//! |---|---|
//! | `clouds` | clients, from the credentials in the garden |
//! | `credentials` | the credentials in the garden: Secrets, InternalSecrets, WorkloadIdentities |
//! | `index` | the cache: pool entries and Shoots, from watches |
//! | `run` | from start to stop |
//! | `observe` | live reads of one account |
//! | `others` | other entries that are the same account of the cloud |
//! | `reconcile` | one account, step by step |
//! | `act` | listing, deleting, verifying |
//! | `free` | the labels go, if everything is still true |
//! | `intake` | account ids and baselines of accounts that were never used |
//! | `report` | Events, metrics, and the annotation of a stuck account |
//! | `planted` | faults that the simulation must find |
//! | `by_hand` | the same for a person at the command line |

mod act;
mod by_hand;
mod clouds;
mod credentials;
mod error;
mod evidence;
mod free;
mod index;
mod intake;
mod observe;
mod others;
mod planted;
mod reconcile;
mod report;
mod run;

pub use by_hand::{Baselining, ByHand, ByHandError, Ended, Listing};
pub use clouds::{Clouds, GardenClouds, OpenAccount, OpenError};
pub use error::ReconcileError;
pub use report::{Listed, Report};
pub use run::{LEASE_NAME, Operator, Parts, Policy, Settings};

use allotment_core::pool::AccountName;
use std::fmt;

/// Something to reconcile.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// An account: dirty, or never used.
    Account(AccountName),
    /// The baseline of an account that was never used.
    Baseline(AccountName),
    /// A Shoot, to be remembered.
    Shoot(String),
    /// Every dirty account.
    Resync,
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(account) => write!(f, "account {account}"),
            Self::Baseline(account) => write!(f, "baseline of account {account}"),
            Self::Shoot(name) => write!(f, "Shoot {name}"),
            Self::Resync => f.write_str("all dirty accounts"),
        }
    }
}
