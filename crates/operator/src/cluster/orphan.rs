//! SubscriptionRequests of ours whose Cluster is gone: somebody took the finalizer off it by hand.

use super::{ClusterName, Task, Trouble, index::owner, run::Inner};
use crate::runtime::{call::call, queue::Outcome};
use allotment_api::{
    gardener::Shoot,
    kyma::Cluster,
    names::{finalizer, label},
};
use kube::{Api, ResourceExt, api::ListParams};
use std::time::Duration;

/// A Shoot that is still there is a person's business; we look whether it is gone.
const ORPHAN_LOOK: Duration = Duration::from_mins(5);

/// A look that began while the Cluster was there ends soon: its calls have deadlines.
const LAST_LOOK: Duration = Duration::from_secs(1);

impl Inner {
    /// Lets a request go once a live read shows that neither its Cluster nor its Shoot is there. A Shoot that is left is not
    /// deleted: whoever removed the finalizer may have wanted to keep it.
    pub(super) async fn look_at_orphan(&self, name: &ClusterName) -> Result<Outcome, Trouble> {
        let Some(request) = self.index().request(name) else { return Ok(Outcome::Done) };
        if !request.finalizers().iter().any(|name| name == finalizer::CLUSTER) {
            return Ok(Outcome::Done);
        }
        if let Some(owner) = owner(&request) {
            // It may be about to make the Shoot that must not be without its request.
            if self.is_looked_at(&owner) {
                return Ok(Outcome::After(LAST_LOOK));
            }
            let api: Api<Cluster> = Api::namespaced(self.control_plane.clone(), &owner.namespace);
            let cluster = call(|| format!("read Cluster {owner}"), api.get_opt(&owner.name)).await?;
            let is_there = cluster.is_some_and(|cluster| {
                request.owner_references().iter().any(|owner| Some(&owner.uid) == cluster.uid().as_ref())
            });
            if is_there {
                // The watch tells of it in a moment.
                self.add(Task::Cluster(owner));
                return Ok(Outcome::Done);
            }
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
        for owner in request.owner_references().iter().filter(|owner| owner.kind == "Cluster") {
            self.remove_config_maps(&owner.uid, None).await?;
        }
        self.let_request_go(&request).await?;
        Ok(Outcome::Done)
    }
}
