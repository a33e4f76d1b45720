//! The condition `Reconciled` of Clusters.

use super::{ClusterName, Task, run::Inner};
use crate::{
    dependencies::Dependency,
    runtime::{
        call::CallError,
        report::{Reporter, Told, lasting_failure, write_failure},
    },
};
use allotment_api::kyma::{Cluster, ClusterPhase};
use allotment_core::failure::Failure;

/// No Shoot is made, changed or deleted without them.
const NEEDED: [Dependency; 2] = [Dependency::GardenRead, Dependency::GardenWrite];

impl Reporter<Task> for Inner {
    fn objects(&self) -> Vec<Task> {
        self.index().all_clusters()
    }

    fn told(&self, task: &Task) -> Option<Told> {
        let Task::Cluster(name) = task else { return None };
        let cluster = self.index().cluster(name)?;
        let conditions = cluster.status.as_ref().map(|status| status.conditions.as_slice());
        Some(Told::by(conditions, waits(&cluster)))
    }

    fn lasting(&self) -> Option<Failure> {
        lasting_failure(self.metrics.dependencies(), &NEEDED)
    }

    async fn until_lasting_may_change(&self) {
        self.metrics.dependencies().until_one_fails(&NEEDED).await;
    }

    async fn write(&self, task: &Task, failure: Option<&Failure>) -> Result<(), CallError> {
        let Task::Cluster(name) = task else { return Ok(()) };
        let Some(cluster) = self.index().cluster(name) else { return Ok(()) };
        let (api, now) = (self.clusters_in(&cluster), self.clock.now());
        let status = cluster.status.as_ref();
        let written =
            write_failure(&api, &*cluster, status, |status| &mut status.conditions, failure, now).await?;
        if let Some(written) = written {
            let woken = self.index().learn_cluster(written);
            self.wake_others(&ClusterName::of(&cluster.metadata), woken);
        }
        Ok(())
    }
}

/// Whether a Cluster waits for the garden. One that is ready is no other one because the garden does not answer, and one that
/// failed has a reason of its own; a cluster that the tenant brought needs no garden.
fn waits(cluster: &Cluster) -> bool {
    let phase = cluster.status.as_ref().and_then(|status| status.phase);
    let has_answer = match phase {
        Some(
            ClusterPhase::Ready
            | ClusterPhase::Invalid
            | ClusterPhase::Blocked
            | ClusterPhase::Failed
            | ClusterPhase::Unhealthy,
        ) => true,
        None
        | Some(
            ClusterPhase::Pending
            | ClusterPhase::Waiting
            | ClusterPhase::Creating
            | ClusterPhase::Updating
            | ClusterPhase::Deleting,
        ) => false,
    };
    cluster.spec.byoc.is_none() && (!has_answer || cluster.metadata.deletion_timestamp.is_some())
}
