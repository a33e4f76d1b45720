//! The cluster operator: from a Cluster to a Shoot, and back.
//!
//! | file | what is in it |
//! |---|---|
//! | `index` | what is known, from watches |
//! | `run` | the operator as a whole |
//! | `look` | one look at a Cluster: decide, act, decide again, and the status at the end |
//! | `act`, `ending` | the steps: every call that changes something |
//! | `account` | the last check before a Shoot is made |
//! | `issuers` | the ConfigMaps in the garden that say who may log in |
//! | `adoption` | Shoots that the platform has a Cluster adopt |
//! | `orphan` | requests whose Cluster is gone |
//! | `report` | what a Cluster says while its reconcile fails |
//! | `inspect` | what somebody is told who asks from outside |
//! | `rollout` | how fast what nobody asked for is rolled out |

mod account;
mod act;
mod adoption;
mod ending;
mod index;
mod inspect;
mod issuers;
mod look;
mod orphan;
mod report;
mod rollout;
mod run;
mod trouble;

pub use adoption::live_owner;
pub use index::{ClusterName, Followed, Index};
pub use inspect::{Forecast, Found, Inspector};
pub use run::{LEASE_NAME, Operator, Parts, Policy, Settings};
pub use trouble::Trouble;

use std::fmt;

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// A Cluster.
    Cluster(ClusterName),
    /// A SubscriptionRequest of ours whose Cluster is not there.
    Orphan(ClusterName),
    /// A ShootAdoption whose Cluster is not there, by name.
    Adoption(String),
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster(name) => write!(f, "Cluster {name}"),
            Self::Orphan(name) => write!(f, "SubscriptionRequest {name}"),
            Self::Adoption(name) => write!(f, "ShootAdoption {name}"),
        }
    }
}
