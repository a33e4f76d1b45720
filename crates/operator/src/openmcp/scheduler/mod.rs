//! The scheduler: ClusterRequests get Clusters.
//!
//! | file | what is in it |
//! |---|---|
//! | `index` | what is known of ClusterRequests and Clusters, from watches |
//! | `look` | one look at a request |
//! | `run` | the controller as a whole |
//! | `config` | where its configuration comes from |
//!
//! openmcp-operator has one of its own, so this one runs only where it is asked for.

mod index;
mod look;
mod run;

pub use run::{LEASE_NAME, Operator};

pub(super) const CONTROLLER: &str = "scheduler";
