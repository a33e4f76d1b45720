//! Landscapes, ProviderConfigs and Clusters: from what is configured to profiles, and from Clusters to Shoots.
//!
//! | file | what is in it |
//! |---|---|
//! | `run` | the controller as a whole |
//! | `index` | what is known, from watches on the platform and in the gardens |
//! | `gardens` | which gardens are followed |
//! | `landscape`, `config` | one look at a Landscape, one at a ProviderConfig |
//! | `cluster` | one look at a Cluster: decide, act, decide again, and the status at the end |
//! | `act` | the steps: every call that changes something about a Cluster or its Shoot |

mod act;
mod cluster;
mod config;
mod gardens;
pub(super) mod index;
mod landscape;
mod run;
mod trouble;

pub use run::Operator;
pub use trouble::Trouble;

use super::ObjectName;
use std::fmt;

/// The controller's name in Events, metrics and the Lease.
const CONTROLLER: &str = "openmcp-cluster";

/// The lane of what needs no garden.
const PLATFORM: &str = "";

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    /// A Landscape.
    Landscape(String),
    /// A ProviderConfig.
    Config(String),
    /// A Cluster, in the lane of its Landscape.
    Cluster(ObjectName, String),
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Landscape(name) => write!(f, "Landscape {name}"),
            Self::Config(name) => write!(f, "ProviderConfig {name}"),
            Self::Cluster(name, _) => write!(f, "Cluster {name}"),
        }
    }
}
