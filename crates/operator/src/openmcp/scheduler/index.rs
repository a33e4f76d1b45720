//! What is known of ClusterRequests and Clusters.

use crate::{
    openmcp::{ObjectName, refer::Referrers},
    runtime::{
        keep,
        kept::{Kept, Mark, Progress, number},
    },
};
use allotment_api::openmcp::{Cluster, ClusterRequest, names::RequestPhase};
use allotment_core::openmcp::schedule::Candidate;
use std::{collections::BTreeSet, sync::Arc};

/// The kinds that are followed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Followed {
    Requests,
    Clusters,
}

/// What is known.
#[derive(Debug, Default)]
pub(super) struct Index {
    requests: Kept<ObjectName, Arc<ClusterRequest>>,
    clusters: Kept<ObjectName, Arc<Candidate>>,
    /// Requests by UID, for the finalizers on Clusters.
    by_uid: Referrers<String, ObjectName>,
    /// Requests by the Cluster in their status.
    by_cluster: Referrers<ObjectName, ObjectName>,
    /// Requests that have no Cluster yet: any change of a Cluster may be what they wait for.
    waiting: BTreeSet<ObjectName>,
}

impl Index {
    pub(super) fn all_requests(&self) -> Vec<ObjectName> {
        self.requests.iter().map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn request(&self, name: &ObjectName) -> Option<Arc<ClusterRequest>> {
        self.requests.get(name).cloned()
    }

    pub(super) fn clusters(&self) -> Vec<Arc<Candidate>> {
        self.clusters.iter().map(|(_, cluster)| cluster.clone()).collect()
    }

    #[must_use = "others wait for this"]
    pub(super) fn learn_request(&mut self, mut request: ClusterRequest) -> Vec<ObjectName> {
        request.metadata.managed_fields = None;
        let name = ObjectName::of(&request.metadata);
        if self.requests.is_past(&name, &request.metadata, |known| &known.metadata) {
            return Vec::new();
        }
        self.unlink(&name);
        self.by_uid.insert(request.metadata.uid.clone().unwrap_or_default(), name.clone());
        if let Some(to) = cluster_of(&request) {
            self.by_cluster.insert(to, name.clone());
        }
        let phase = request.status.as_ref().map(|status| status.common.phase.as_str());
        if phase != Some(RequestPhase::Granted.as_str()) {
            self.waiting.insert(name.clone());
        }
        self.requests.insert(name.clone(), Arc::new(request));
        vec![name]
    }

    #[must_use = "others wait for this"]
    pub(super) fn forget_request(&mut self, name: &ObjectName) -> Vec<ObjectName> {
        self.unlink(name);
        self.requests.remove(name);
        Vec::new()
    }

    fn unlink(&mut self, name: &ObjectName) {
        self.waiting.remove(name);
        let Some(before) = self.requests.get(name) else { return };
        self.by_uid.remove(&before.metadata.uid.clone().unwrap_or_default(), name);
        if let Some(to) = cluster_of(before) {
            self.by_cluster.remove(&to, name);
        }
    }

    #[must_use = "others wait for this"]
    pub(super) fn learn_cluster(&mut self, cluster: &Cluster) -> Vec<ObjectName> {
        let name = ObjectName::of(&cluster.metadata);
        let new = Candidate::of(cluster);
        if self.clusters.is_past(&name, mark(&new), |known| mark(known)) {
            return Vec::new();
        }
        let is_same = self.clusters.current(&name).is_some_and(|known| {
            Candidate { resource_version: new.resource_version.clone(), ..(**known).clone() } == new
        });
        let mut concerned = if is_same { BTreeSet::new() } else { self.concerned(&name) };
        if !is_same {
            let held = new.tenants().into_iter().flat_map(|uid| self.by_uid.to(&uid.to_owned()));
            concerned.extend(held.cloned());
        }
        self.clusters.insert(name, Arc::new(new));
        concerned.into_iter().collect()
    }

    #[must_use = "others wait for this"]
    pub(super) fn forget_cluster(&mut self, name: &ObjectName) -> Vec<ObjectName> {
        let concerned = self.concerned(name);
        self.clusters.remove(name);
        concerned.into_iter().collect()
    }

    /// Who has it or may get it.
    fn concerned(&self, name: &ObjectName) -> BTreeSet<ObjectName> {
        self.by_cluster.to(name).chain(&self.waiting).cloned().collect()
    }
}

fn mark(candidate: &Candidate) -> Mark<'_> {
    Mark { uid: Some(&candidate.uid), version: number(Some(&candidate.resource_version)) }
}

impl keep::Index for Index {
    type Followed = Followed;
    type Task = ObjectName;

    fn is_complete(&self) -> bool {
        self.requests.is_listed() && self.clusters.is_listed()
    }

    fn kept(&mut self, what: Followed) -> &mut dyn Progress {
        match what {
            Followed::Requests => &mut self.requests,
            Followed::Clusters => &mut self.clusters,
        }
    }

    fn listed(&mut self, what: Followed) -> Vec<ObjectName> {
        match what {
            Followed::Requests => {
                let gone = self.requests.missing();
                gone.iter().flat_map(|name| self.forget_request(name)).collect()
            }
            Followed::Clusters => {
                let gone = self.clusters.missing();
                gone.iter().flat_map(|name| self.forget_cluster(name)).collect()
            }
        }
    }
}

fn cluster_of(request: &ClusterRequest) -> Option<ObjectName> {
    let to = request.status.as_ref()?.cluster.as_ref()?;
    Some(ObjectName { namespace: to.namespace.clone(), name: to.name.clone() })
}
