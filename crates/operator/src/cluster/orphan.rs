//! SubscriptionRequests of ours whose Cluster is gone: somebody took the finalizer off it by hand.

use super::{ClusterName, Task, Trouble, run::Inner};
use crate::{
    planted::Planted,
    runtime::{call::call, queue::Outcome},
};
use allotment_api::{
    gardener::Shoot,
    kyma::Cluster,
    names::{finalizer, label},
};
use allotment_core::cluster::flow::{LONGEST_IN_REQUEST, cluster_of_request, request_name};
use kube::{Api, ResourceExt, api::ListParams};
use std::time::Duration;

/// A Shoot that is still there is a person's business; we look whether it is gone.
const ORPHAN_LOOK: Duration = Duration::from_mins(5);

/// A look that began while the Cluster was there ends soon: its calls have deadlines.
const LAST_LOOK: Duration = Duration::from_secs(1);

impl Inner {
    /// Takes our finalizer off a request that is being deleted, once live reads show that neither its Cluster nor its Shoot
    /// is there. A request that nobody deletes is left alone: the garbage collector deletes what a Cluster owned, and a
    /// finalizer and an ownerReference that somebody else wrote prove nothing. A Shoot that is left is not deleted: whoever
    /// removed the finalizer may have wanted to keep it.
    pub(super) async fn look_at_orphan(&self, name: &ClusterName) -> Result<Outcome, Trouble> {
        let Some(request) = self.index().request(name) else { return Ok(Outcome::Done) };
        let is_held = request.finalizers().iter().any(|name| name == finalizer::CLUSTER);
        if !is_held || request.metadata.deletion_timestamp.is_none() {
            return Ok(Outcome::Done);
        }
        let cluster = ClusterName {
            namespace: name.namespace.clone(),
            name: cluster_of_request(&name.name).unwrap_or_default().to_owned(),
        };
        // It may be about to make the Shoot that must not be without its request.
        if self.is_looked_at(&cluster) {
            return Ok(Outcome::After(LAST_LOOK));
        }
        if let Some(cluster) = self.asking_cluster(name).await? {
            // The watch tells of it in a moment.
            self.add(Task::Cluster(cluster));
            return Ok(Outcome::Done);
        }
        let uid = request.uid().unwrap_or_default();
        let params = ListParams::default().labels(&format!("{}={uid}", label::SUBSCRIPTION_REQUEST)).limit(1);
        let shoots: Api<Shoot> = self.in_the_garden();
        let left =
            call(|| format!("look for the Shoot of request {uid}"), shoots.list_metadata(&params)).await?;
        if let Some(shoot) = left.items.first() {
            tracing::warn!(request = %name, shoot = %shoot.name_any(), "the Cluster is gone, and its Shoot is not; delete the Shoot to free its account");
            return Ok(Outcome::After(ORPHAN_LOOK));
        }
        if self.planted.has(Planted::MapsOfForgedOwner) {
            for owner in request.owner_references() {
                self.remove_config_maps_in_use(&owner.uid).await?;
            }
        }
        self.remove_config_maps_of_request(&uid).await?;
        self.release_request(&request).await?;
        Ok(Outcome::Done)
    }

    /// The Cluster that a request of this name is for, read live. The name has the Cluster's, and a part of its UID.
    async fn asking_cluster(&self, request: &ClusterName) -> Result<Option<ClusterName>, Trouble> {
        let ClusterName { namespace, name } = request;
        let Some(prefix) = cluster_of_request(name) else { return Ok(None) };
        let api: Api<Cluster> = Api::namespaced(self.control_plane.clone(), namespace);
        // Of a name that may have been cut, only the beginning is known.
        let found = if prefix.len() < LONGEST_IN_REQUEST {
            let found = api.get_opt(prefix);
            call(|| format!("read Cluster {namespace}/{prefix}"), found).await?.into_iter().collect()
        } else {
            call(|| format!("list Clusters in {namespace}"), api.list(&ListParams::default())).await?.items
        };
        let asking = found.iter().find(|cluster| request_name(cluster) == *name);
        Ok(asking.map(|cluster| ClusterName::of(&cluster.metadata)))
    }
}
