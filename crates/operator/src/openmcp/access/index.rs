//! What is known of AccessRequests, their Clusters and their Secrets. What is in a Secret is not kept, and not even read.

use crate::{
    locks::LockStore,
    openmcp::{ObjectName, refer::Referrers},
    runtime::{
        keep,
        kept::{Kept, Progress},
    },
};
use allotment_api::{
    allotment::AccessLock,
    openmcp::{AccessRequest, Cluster, ClusterSpec, ClusterStatus, Status, gardener::names::annotation},
};
use allotment_core::{access::lock::Subject, openmcp::access::Issued};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PartialObjectMeta};
use std::{collections::BTreeSet, sync::Arc};

/// The kinds that are followed.
#[derive(Clone, Copy, Debug)]
pub(in crate::openmcp) enum Followed {
    Requests,
    Clusters,
    Secrets,
    Locks,
}

/// A Secret that we wrote.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KnownSecret {
    /// The UID of the request that it belongs to.
    owner: String,
    /// That request.
    request: ObjectName,
    /// What it says of itself; none: it cannot be read.
    issued: Option<Issued>,
    /// Its UID and version.
    metadata: ObjectMeta,
}

/// What is known.
#[derive(Debug, Default)]
pub(in crate::openmcp) struct Index {
    requests: Kept<ObjectName, Arc<AccessRequest>>,
    clusters: Kept<ObjectName, Arc<Cluster>>,
    secrets: Kept<ObjectName, KnownSecret>,
    locks: LockStore,
    /// Requests by their Cluster.
    by_cluster: Referrers<ObjectName, ObjectName>,
    /// Requests that are back though their deletion was seen.
    returned: BTreeSet<ObjectName>,
}

impl Index {
    pub(super) fn all_requests(&self) -> Vec<ObjectName> {
        self.requests.iter().map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn request(&self, name: &ObjectName) -> Option<Arc<AccessRequest>> {
        self.requests.get(name).cloned()
    }

    /// The Cluster that a request names.
    pub(super) fn cluster_of(&self, request: &AccessRequest) -> Option<Arc<Cluster>> {
        self.clusters.get(&cluster_name(request)?).cloned()
    }

    /// Whether an AccessLock names a request, or its Cluster.
    pub(super) fn is_locked(&self, request: &AccessRequest) -> bool {
        let cluster = request.spec.cluster_ref.as_ref();
        self.locks.cover(&Subject::Request {
            namespace: request.metadata.namespace.as_deref().unwrap_or_default(),
            name: request.metadata.name.as_deref().unwrap_or_default(),
            cluster_namespace: cluster.map(|cluster| cluster.namespace.as_str()),
            cluster: cluster.map(|cluster| cluster.name.as_str()).unwrap_or_default(),
        })
    }

    /// Locks are rare, and a reconcile that finds nothing to do is cheap.
    pub(in crate::openmcp) fn upsert_lock(&mut self, lock: AccessLock) -> Vec<ObjectName> {
        if self.locks.upsert(lock) { self.all_requests() } else { Vec::new() }
    }

    pub(super) fn remove_lock(&mut self, name: &str) -> Vec<ObjectName> {
        if self.locks.remove(name) { self.all_requests() } else { Vec::new() }
    }

    /// The Secret of a request, if it is its own.
    pub(super) fn secret_of(&self, request: &AccessRequest, secret: &ObjectName) -> Option<Issued> {
        let known = self.secrets.get(secret)?;
        (Some(&known.owner) == request.metadata.uid.as_ref()).then(|| known.issued.clone()).flatten()
    }

    pub(in crate::openmcp) fn learn_request(&mut self, mut request: AccessRequest) -> Vec<ObjectName> {
        request.metadata.managed_fields = None;
        let name = ObjectName::of(&request.metadata);
        if self.requests.is_past(&name, &request.metadata, |known| &known.metadata) {
            return Vec::new();
        }
        self.unlink(&name);
        if let Some(cluster) = cluster_name(&request) {
            self.by_cluster.insert(cluster, name.clone());
        }
        self.requests.insert(name.clone(), Arc::new(request));
        vec![name]
    }

    /// Whether a request is back that was deleted. It is said once.
    pub(super) fn take_returned(&mut self, name: &ObjectName) -> bool {
        self.returned.remove(name)
    }

    pub(super) fn forget_request(&mut self, name: &ObjectName) -> Vec<ObjectName> {
        self.returned.remove(name);
        self.unlink(name);
        self.requests.remove(name);
        // Whoever remembers something of it is told to forget.
        vec![name.clone()]
    }

    fn unlink(&mut self, name: &ObjectName) {
        if let Some(cluster) = self.requests.get(name).and_then(|before| cluster_name(before)) {
            self.by_cluster.remove(&cluster, name);
        }
    }

    pub(in crate::openmcp) fn learn_cluster(&mut self, cluster: Cluster) -> Vec<ObjectName> {
        let name = ObjectName::of(&cluster.metadata);
        let pruned = pruned(cluster);
        if self.clusters.is_past(&name, &pruned.metadata, |known| &known.metadata) {
            return Vec::new();
        }
        let is_same = self.clusters.current(&name).is_some_and(|known| {
            known.metadata.uid == pruned.metadata.uid
                && known.spec.profile == pruned.spec.profile
                && known.status == pruned.status
        });
        self.clusters.insert(name.clone(), Arc::new(pruned));
        if is_same { Vec::new() } else { self.by_cluster.to(&name).cloned().collect() }
    }

    pub(super) fn forget_cluster(&mut self, name: &ObjectName) -> Vec<ObjectName> {
        self.clusters.remove(name);
        self.by_cluster.to(name).cloned().collect()
    }

    pub(in crate::openmcp) fn learn_secret(&mut self, secret: &PartialObjectMeta<Secret>) -> Vec<ObjectName> {
        let name = ObjectName::of(&secret.metadata);
        let owner =
            secret.metadata.owner_references.iter().flatten().find(|owner| owner.kind == "AccessRequest");
        let Some(owner) = owner else { return Vec::new() };
        if self.secrets.is_past(&name, &secret.metadata, |known| &known.metadata) {
            return Vec::new();
        }
        let before = self.secrets.current(&name);
        let request = ObjectName { namespace: name.namespace.clone(), name: owner.name.clone() };
        let known = KnownSecret {
            owner: owner.uid.clone(),
            request: request.clone(),
            issued: issued(&secret.metadata),
            metadata: ObjectMeta {
                uid: secret.metadata.uid.clone(),
                resource_version: secret.metadata.resource_version.clone(),
                ..ObjectMeta::default()
            },
        };
        let is_same =
            before.is_some_and(|before| before.owner == known.owner && before.issued == known.issued);
        self.secrets.insert(name, known);
        if is_same { Vec::new() } else { vec![request] }
    }

    /// A Secret is gone. The one that replaced it may be known already.
    pub(super) fn lose_secret(&mut self, gone: &ObjectMeta) -> Vec<ObjectName> {
        let name = ObjectName::of(gone);
        let is_this = self.secrets.get(&name).is_some_and(|known| known.metadata.uid == gone.uid);
        if is_this { self.forget_secret(&name) } else { Vec::new() }
    }

    pub(super) fn forget_secret(&mut self, name: &ObjectName) -> Vec<ObjectName> {
        self.secrets.remove(name).map(|gone| gone.request).into_iter().collect()
    }
}

impl keep::Index for Index {
    type Followed = Followed;
    type Task = ObjectName;

    fn is_complete(&self) -> bool {
        self.requests.is_listed()
            && self.clusters.is_listed()
            && self.secrets.is_listed()
            && self.locks.is_listed()
    }

    fn kept(&mut self, what: Followed) -> &mut dyn Progress {
        match what {
            Followed::Requests => &mut self.requests,
            Followed::Clusters => &mut self.clusters,
            Followed::Secrets => &mut self.secrets,
            Followed::Locks => self.locks.progress(),
        }
    }

    fn returned(&mut self, what: Followed, metadata: &ObjectMeta) {
        if matches!(what, Followed::Requests) {
            self.returned.insert(ObjectName::of(metadata));
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
            Followed::Secrets => {
                let gone = self.secrets.missing();
                gone.iter().flat_map(|name| self.forget_secret(name)).collect()
            }
            Followed::Locks => {
                if self.locks.listed() {
                    self.all_requests()
                } else {
                    Vec::new()
                }
            }
        }
    }
}

pub(super) fn cluster_name(request: &AccessRequest) -> Option<ObjectName> {
    let to = request.spec.cluster_ref.as_ref()?;
    Some(ObjectName { namespace: to.namespace.clone(), name: to.name.clone() })
}

/// What a Secret says of itself in its annotations.
pub(super) fn issued(metadata: &ObjectMeta) -> Option<Issued> {
    let annotations = metadata.annotations.as_ref()?;
    let time = |text: &String| text.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    Some(Issued {
        shoot: annotations.get(annotation::SHOOT_UID)?.clone(),
        made_for: annotations.get(annotation::MADE_FOR)?.clone(),
        created: time(annotations.get(annotation::CREATED)?)?,
        expires: match annotations.get(annotation::EXPIRES) {
            Some(text) => Some(time(text)?),
            None => None,
        },
    })
}

/// What is needed of a Cluster, and nothing else: there are thousands.
fn pruned(cluster: Cluster) -> Cluster {
    let Cluster { metadata, spec, status } = cluster;
    let ObjectMeta { name, namespace, uid, resource_version, .. } = metadata;
    let status = status.map(|status| ClusterStatus {
        common: Status { phase: status.common.phase, ..Status::default() },
        api_server: status.api_server,
        provider_status: status.provider_status,
        endpoints: status.endpoints,
    });
    Cluster {
        metadata: ObjectMeta { name, namespace, uid, resource_version, ..ObjectMeta::default() },
        spec: ClusterSpec {
            profile: spec.profile,
            cluster_configs: Vec::new(),
            kubernetes: None,
            purposes: Vec::new(),
            tenancy: spec.tenancy,
        },
        status,
    }
}
