//! What is known of AccessRequests and of what they lead to. A request that waits for something is looked at when that comes.

use crate::{
    openmcp::{ObjectName, refer::Referrers},
    runtime::{
        keep,
        kept::{Kept, Progress},
    },
};
use allotment_api::openmcp::{AccessRequest, Cluster, ClusterProfile, ClusterRequest, ObjectReference};
use allotment_core::openmcp::{policy::Policy, resolve::View};
use jiff::Timestamp;
use kube::api::ObjectMeta;
use std::sync::Arc;

/// The kinds that are followed.
#[derive(Clone, Copy, Debug)]
pub(in crate::openmcp) enum Followed {
    Requests,
    ClusterRequests,
    Clusters,
    Profiles,
}

/// What a request leads to.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) request: Arc<AccessRequest>,
    cluster_request: Option<Arc<ClusterRequest>>,
    cluster: Option<Arc<Cluster>>,
    profile: Option<Arc<ClusterProfile>>,
}

impl Scene {
    pub(super) fn view<'a>(&'a self, policy: &'a Policy, now: Timestamp) -> View<'a> {
        View {
            policy,
            request: &self.request,
            cluster_request: self.cluster_request.as_deref(),
            cluster: self.cluster.as_deref(),
            profile: self.profile.as_deref(),
            now,
        }
    }
}

/// What is known.
#[derive(Debug, Default)]
pub(in crate::openmcp) struct Index {
    requests: Kept<ObjectName, Arc<AccessRequest>>,
    cluster_requests: Kept<ObjectName, Arc<ClusterRequest>>,
    clusters: Kept<ObjectName, Arc<Cluster>>,
    profiles: Kept<String, Arc<ClusterProfile>>,
    /// AccessRequests by their ClusterRequest.
    by_request: Referrers<ObjectName, ObjectName>,
    /// AccessRequests by the Cluster that they name themselves.
    by_cluster: Referrers<ObjectName, ObjectName>,
    /// ClusterRequests by their Cluster.
    granted: Referrers<ObjectName, ObjectName>,
    /// Clusters by their profile.
    of_profile: Referrers<String, ObjectName>,
}

impl Index {
    pub(super) fn all_requests(&self) -> Vec<ObjectName> {
        self.requests.iter().map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn scene(&self, name: &ObjectName) -> Option<Scene> {
        let request = self.requests.get(name)?.clone();
        let spec = &request.spec;
        let cluster_request = spec.request_ref.as_ref().and_then(|to| self.cluster_requests.get(&named(to)));
        let granted = cluster_request.and_then(|it| it.status.as_ref()).and_then(|it| it.cluster.as_ref());
        let cluster =
            spec.cluster_ref.as_ref().or(granted).and_then(|to| self.clusters.get(&named(to))).cloned();
        let profile = cluster.as_ref().and_then(|cluster| self.profiles.get(&cluster.spec.profile)).cloned();
        Some(Scene { cluster_request: cluster_request.cloned(), request: request.clone(), cluster, profile })
    }

    pub(in crate::openmcp) fn learn_request(&mut self, mut request: AccessRequest) -> Vec<ObjectName> {
        request.metadata.managed_fields = None;
        let name = ObjectName::of(&request.metadata);
        if self.requests.is_past(&name, &request.metadata, |known| &known.metadata) {
            return Vec::new();
        }
        self.unlink_request(&name);
        if let Some(to) = &request.spec.request_ref {
            self.by_request.insert(named(to), name.clone());
        }
        if let Some(to) = &request.spec.cluster_ref {
            self.by_cluster.insert(named(to), name.clone());
        }
        self.requests.insert(name.clone(), Arc::new(request));
        vec![name]
    }

    pub(super) fn forget_request(&mut self, name: &ObjectName) -> Vec<ObjectName> {
        self.unlink_request(name);
        self.requests.remove(name);
        Vec::new()
    }

    fn unlink_request(&mut self, name: &ObjectName) {
        let Some(before) = self.requests.get(name) else { return };
        if let Some(to) = &before.spec.request_ref {
            self.by_request.remove(&named(to), name);
        }
        if let Some(to) = &before.spec.cluster_ref {
            self.by_cluster.remove(&named(to), name);
        }
    }

    pub(super) fn learn_cluster_request(&mut self, request: ClusterRequest) -> Vec<ObjectName> {
        let ClusterRequest { metadata, spec, status } = request;
        let name = ObjectName::of(&metadata);
        let pruned = ClusterRequest { metadata: pruned(metadata), spec, status };
        let before = self.cluster_requests.current(&name);
        let is_same = |before: &Arc<ClusterRequest>| {
            before.status == pruned.status && before.metadata.uid == pruned.metadata.uid
        };
        if before.is_some_and(is_same) {
            return Vec::new();
        }
        self.unlink_cluster_request(&name);
        if let Some(to) = cluster_of(&pruned) {
            self.granted.insert(named(to), name.clone());
        }
        self.cluster_requests.insert(name.clone(), Arc::new(pruned));
        self.waiting_for_request(&name)
    }

    pub(super) fn forget_cluster_request(&mut self, name: &ObjectName) -> Vec<ObjectName> {
        self.unlink_cluster_request(name);
        self.cluster_requests.remove(name);
        self.waiting_for_request(name)
    }

    fn unlink_cluster_request(&mut self, name: &ObjectName) {
        if let Some(to) = self.cluster_requests.get(name).and_then(|before| cluster_of(before)) {
            self.granted.remove(&named(to), name);
        }
    }

    pub(in crate::openmcp) fn learn_cluster(&mut self, cluster: Cluster) -> Vec<ObjectName> {
        let Cluster { metadata, spec, status: _ } = cluster;
        let name = ObjectName::of(&metadata);
        // They tell which ClusterRequests have it.
        let holders = metadata.finalizers.clone();
        let metadata = ObjectMeta { finalizers: holders, ..pruned(metadata) };
        let pruned = Cluster { metadata, spec, status: None };
        let before = self.clusters.current(&name);
        let is_same = |before: &Arc<Cluster>| {
            before.spec.profile == pruned.spec.profile
                && before.spec.tenancy == pruned.spec.tenancy
                && before.metadata.finalizers == pruned.metadata.finalizers
        };
        if before.is_some_and(is_same) {
            return Vec::new();
        }
        self.unlink_cluster(&name);
        self.of_profile.insert(pruned.spec.profile.clone(), name.clone());
        self.clusters.insert(name.clone(), Arc::new(pruned));
        self.waiting_for_cluster(&name)
    }

    pub(super) fn forget_cluster(&mut self, name: &ObjectName) -> Vec<ObjectName> {
        self.unlink_cluster(name);
        self.clusters.remove(name);
        self.waiting_for_cluster(name)
    }

    fn unlink_cluster(&mut self, name: &ObjectName) {
        if let Some(before) = self.clusters.get(name) {
            self.of_profile.remove(&before.spec.profile, name);
        }
    }

    pub(super) fn learn_profile(&mut self, profile: ClusterProfile) -> Vec<ObjectName> {
        let name = profile.metadata.name.clone().unwrap_or_default();
        let before = self.profiles.current(&name);
        if before.is_some_and(|before| before.spec.provider_ref == profile.spec.provider_ref) {
            return Vec::new();
        }
        self.profiles.insert(name.clone(), Arc::new(profile));
        self.waiting_for_profile(&name)
    }

    pub(super) fn forget_profile(&mut self, name: &String) -> Vec<ObjectName> {
        self.profiles.remove(name);
        self.waiting_for_profile(name)
    }

    fn waiting_for_request(&self, name: &ObjectName) -> Vec<ObjectName> {
        self.by_request.to(name).cloned().collect()
    }

    fn waiting_for_cluster(&self, name: &ObjectName) -> Vec<ObjectName> {
        let over_requests = self.granted.to(name).flat_map(|request| self.by_request.to(request));
        self.by_cluster.to(name).chain(over_requests).cloned().collect()
    }

    fn waiting_for_profile(&self, name: &String) -> Vec<ObjectName> {
        self.of_profile.to(name).flat_map(|cluster| self.waiting_for_cluster(cluster)).collect()
    }
}

impl keep::Index for Index {
    type Followed = Followed;
    type Task = ObjectName;

    fn is_complete(&self) -> bool {
        self.requests.is_listed()
            && self.cluster_requests.is_listed()
            && self.clusters.is_listed()
            && self.profiles.is_listed()
    }

    fn kept(&mut self, what: Followed) -> &mut dyn Progress {
        match what {
            Followed::Requests => &mut self.requests,
            Followed::ClusterRequests => &mut self.cluster_requests,
            Followed::Clusters => &mut self.clusters,
            Followed::Profiles => &mut self.profiles,
        }
    }

    fn listed(&mut self, what: Followed) -> Vec<ObjectName> {
        match what {
            Followed::Requests => {
                let gone = self.requests.missing();
                gone.iter().flat_map(|name| self.forget_request(name)).collect()
            }
            Followed::ClusterRequests => {
                let gone = self.cluster_requests.missing();
                gone.iter().flat_map(|name| self.forget_cluster_request(name)).collect()
            }
            Followed::Clusters => {
                let gone = self.clusters.missing();
                gone.iter().flat_map(|name| self.forget_cluster(name)).collect()
            }
            Followed::Profiles => {
                let gone = self.profiles.missing();
                gone.iter().flat_map(|name| self.forget_profile(name)).collect()
            }
        }
    }
}

fn named(to: &ObjectReference) -> ObjectName {
    ObjectName { namespace: to.namespace.clone(), name: to.name.clone() }
}

fn cluster_of(request: &ClusterRequest) -> Option<&ObjectReference> {
    request.status.as_ref()?.cluster.as_ref()
}

/// What is needed of objects that only lead somewhere.
fn pruned(metadata: ObjectMeta) -> ObjectMeta {
    let ObjectMeta { name, namespace, uid, .. } = metadata;
    ObjectMeta { name, namespace, uid, ..ObjectMeta::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::keep::Index as _;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    fn read<K: DeserializeOwned>(kind: &str, name: &str, spec: Value, status: Value) -> K {
        let mut object = json!({
            "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": kind,
            "metadata": { "name": name, "namespace": "n", "resourceVersion": "1" }, "spec": spec,
        });
        if !status.is_null() {
            object["status"] = status;
        }
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn o7_an_event_of_every_kind_reaches_who_waits_for_it_and_nobody_else() {
        let here = |name: &str| ObjectName { namespace: "n".to_owned(), name: name.to_owned() };
        let to = |name: &str| json!({ "name": name, "namespace": "n" });
        let mut index = Index::default();
        for (name, spec) in [
            ("by-request", json!({ "requestRef": to("r"), "token": {} })),
            ("by-cluster", json!({ "clusterRef": to("c"), "token": {} })),
            ("other", json!({ "clusterRef": to("d"), "token": {} })),
        ] {
            assert_eq!(index.learn_request(read("AccessRequest", name, spec, Value::Null)), [here(name)]);
        }
        let granted = json!({ "phase": "Granted", "observedGeneration": 1, "cluster": to("c") });
        let request = || read("ClusterRequest", "r", json!({ "purpose": "p" }), granted.clone());
        assert_eq!(index.learn_cluster_request(request()), [here("by-request")]);
        assert!(index.learn_cluster_request(request()).is_empty(), "nothing new");
        let both = [here("by-cluster"), here("by-request")];
        let spec = json!({ "profile": "e.p.x", "tenancy": "Shared" });
        assert_eq!(index.learn_cluster(read("Cluster", "c", spec, Value::Null)), both);
        let spec = json!({ "providerRef": { "name": "p" }, "providerConfigRef": { "name": "x" }, "supportedVersions": [] });
        assert_eq!(index.learn_profile(read("ClusterProfile", "e.p.x", spec, Value::Null)), both);
        let scene = index.scene(&here("by-request")).unwrap();
        assert!(scene.cluster_request.is_some() && scene.cluster.is_some() && scene.profile.is_some());
        // What a new list does not name is gone, and that is told too.
        index.kept(Followed::Profiles).restart();
        assert_eq!(index.listed(Followed::Profiles), both);
        index.kept(Followed::Clusters).restart();
        assert_eq!(index.listed(Followed::Clusters), both);
        index.kept(Followed::ClusterRequests).restart();
        assert_eq!(index.listed(Followed::ClusterRequests), [here("by-request")]);
        index.kept(Followed::Requests).restart();
        assert!(index.listed(Followed::Requests).is_empty());
        assert!(index.scene(&here("by-request")).is_none());
    }
}
