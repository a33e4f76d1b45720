//! The gardens that this process has logged in to, and the way from a Cluster to its Shoot.
//!
//! | file | what is in it |
//! |---|---|
//! | `index` | what is known of Landscapes, ProviderConfigs and ClusterProfiles, from watches |
//! | `way` | from a Cluster to its Shoot, or why not |
//!
//! Nothing is written here, neither to a server nor to a disk. Nobody waits for a server while holding the lock.

mod index;
mod way;

pub use index::{Login, Place};
pub use way::{NoWay, Way};

use super::Instance;
use allotment_api::openmcp::Cluster;
use index::Index;
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

/// The gardens. Cheap to clone; the controllers of a process share one.
#[derive(Clone)]
pub struct Landscapes(Arc<Inner>);

struct Inner {
    instance: Instance,
    index: Mutex<Index>,
    changed: watch::Sender<u64>,
}

impl Landscapes {
    /// The way to the Shoot of a Cluster, by what is known now.
    pub fn way_to(&self, cluster: &Cluster) -> Result<Way, NoWay> {
        way::find(&self.0.index(), &self.0.instance, cluster)
    }

    /// Counts up whenever a way may be another one.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// Whether everything that is followed has been listed, and every login been tried once.
    pub fn is_complete(&self) -> bool {
        self.0.index().is_complete()
    }
}

impl fmt::Debug for Landscapes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Landscapes").field("instance", &self.0.instance).finish_non_exhaustive()
    }
}

impl Inner {
    fn index(&self) -> MutexGuard<'_, Index> {
        // Whoever panicked held it between two complete changes.
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
