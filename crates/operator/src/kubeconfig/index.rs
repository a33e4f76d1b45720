//! What is known of KubeconfigRequests and their clusters, kept in memory from watches. Kubeconfigs are not kept.

use crate::{
    locks::LockStore,
    runtime::{
        census::{self, Census, Standing},
        keep,
        kept::{Kept, Progress},
    },
    target::Key,
    tenancy::NamespaceRoles,
};
use allotment_api::{
    allotment::AccessLock,
    gardener::{Rotation, Shoot},
    kyma::{Cluster, ClusterSpec, ClusterStatus, KubeconfigPhase, KubeconfigRequest},
    names::{self, annotation, finalizer, tenant},
};
use allotment_core::{
    access::{
        flow::{cluster_namespaces, has_foreign_tokens, is_refused},
        lock::Subject,
    },
    marks::{self, was_taken_off},
    quotas::{Caps, Exceeded},
    tenancy::{self, Claim},
};
use kube::{ResourceExt, api::ObjectMeta};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

/// An object in the control plane, by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl RequestName {
    pub(super) fn of(metadata: &ObjectMeta) -> Self {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        Self { namespace: part(&metadata.namespace), name: part(&metadata.name) }
    }
}

impl fmt::Display for RequestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The kinds that are followed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Followed {
    Requests,
    Clusters,
    Shoots,
    Locks,
}

/// A request, without its kubeconfig.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) request: Arc<KubeconfigRequest>,
    /// Whether its status holds a kubeconfig.
    pub(super) has_kubeconfig: bool,
}

/// As many requests with marks are remembered until they are told about.
const MOST_MARKED: usize = 1000;

/// What is known of a Shoot.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KnownShoot {
    uid: String,
    /// How the rotation of its own credentials stands.
    rotation: String,
    /// The tenant that it was made for.
    tenant: Option<String>,
    cluster: Option<RequestName>,
}

/// What is known.
#[derive(Debug, Default)]
pub(super) struct Index {
    requests: Kept<RequestName, Known>,
    clusters: Kept<RequestName, Arc<Cluster>>,
    shoots: Kept<String, KnownShoot>,
    /// Names of Shoots by the Cluster that each was made for, as its annotation in the garden says. Tenants cannot write it, and it
    /// outlives the Cluster.
    made_for: BTreeMap<RequestName, BTreeSet<String>>,
    locks: LockStore,
    /// Requests by the name of their Cluster, whatever its namespace.
    asking: BTreeMap<String, BTreeSet<RequestName>>,
    /// Requests with ownerReferences or tokens that are not ours, to be told so: once for each time that they are seen, and also where
    /// the garbage collector takes them before anybody reads a status.
    marked: BTreeMap<RequestName, Arc<KubeconfigRequest>>,
    /// Requests whose finalizer somebody else took away.
    unheld: BTreeSet<RequestName>,
    /// Requests about which nothing counts that is remembered: they, their Cluster or a Shoot is back with an API server that was
    /// put back. True for those that are back themselves.
    returned: BTreeMap<RequestName, bool>,
    /// Requests, counted for caps.
    pub(super) census: Census<RequestName>,
}

impl Index {
    /// Nothing is known yet. Requests count for the tenants that their namespaces have.
    pub(super) fn counting_by(roles: Arc<NamespaceRoles>) -> Self {
        Self { census: Census::default().counting_by(roles), ..Self::default() }
    }

    pub(super) fn request(&self, name: &RequestName) -> Option<Known> {
        self.requests.get(name).cloned()
    }

    pub(super) fn all_requests(&self) -> Vec<RequestName> {
        self.requests.iter().map(|(name, _)| name.clone()).collect()
    }

    /// How many requests are in each phase.
    pub(super) fn phases(&self) -> BTreeMap<KubeconfigPhase, usize> {
        let mut phases = BTreeMap::new();
        for (_, known) in self.requests.iter() {
            let phase = known.request.status.as_ref().and_then(|status| status.phase);
            *phases.entry(phase.unwrap_or(KubeconfigPhase::Pending)).or_default() += 1;
        }
        phases
    }

    pub(super) fn cluster_of(&self, request: &KubeconfigRequest, default: &str) -> Option<Arc<Cluster>> {
        cluster_namespaces(request, default).into_iter().find_map(|namespace| {
            self.clusters.get(&RequestName { namespace, name: request.spec.cluster.clone() }).cloned()
        })
    }

    /// How the rotation of a cluster's own credentials stands; empty for one that the tenant brought.
    pub(super) fn rotation_of(&self, cluster: &Cluster) -> String {
        self.shoot_of(cluster).map(|known| known.rotation.clone()).unwrap_or_default()
    }

    /// The tenant that a Cluster's Shoot was made for. A status may name another one's, of which nothing is told.
    pub(super) fn remembered_tenant(&self, cluster: &Cluster) -> Option<String> {
        let name = RequestName::of(&cluster.metadata);
        self.shoot_of(cluster).filter(|shoot| shoot.cluster.as_ref() == Some(&name))?.tenant.clone()
    }

    /// Every Shoot that was made for a Cluster of this name.
    pub(super) fn shoots_made_for(&self, cluster: &RequestName) -> impl Iterator<Item = Key> {
        let names = self.made_for.get(cluster).into_iter().flatten();
        names.filter_map(|name| Some(Key::shoot(name, &self.shoots.get(name)?.uid)))
    }

    fn shoot_of(&self, cluster: &Cluster) -> Option<&KnownShoot> {
        self.shoots.get(cluster.status.as_ref()?.shoot_name.as_ref()?)
    }

    /// Whether an AccessLock names a request, or its Cluster.
    pub(super) fn is_locked(&self, request: &KubeconfigRequest, cluster: Option<&Cluster>) -> bool {
        self.locks.cover(&Subject::Request {
            namespace: request.metadata.namespace.as_deref().unwrap_or_default(),
            name: request.metadata.name.as_deref().unwrap_or_default(),
            cluster_namespace: cluster.and_then(|cluster| cluster.metadata.namespace.as_deref()),
            cluster: &request.spec.cluster,
        })
    }

    /// Locks are rare, and a reconcile that finds nothing to do is cheap.
    pub(super) fn upsert_lock(&mut self, lock: AccessLock) -> Vec<RequestName> {
        if self.locks.upsert(lock) { self.all_requests() } else { Vec::new() }
    }

    pub(super) fn remove_lock(&mut self, name: &str) -> Vec<RequestName> {
        if self.locks.remove(name) { self.all_requests() } else { Vec::new() }
    }

    #[must_use = "others wait for this"]
    pub(super) fn learn_request(&mut self, mut request: KubeconfigRequest) -> Vec<RequestName> {
        request.metadata.managed_fields = None;
        let name = RequestName::of(&request.metadata);
        if self.requests.is_past(&name, &request.metadata, |known| &known.request.metadata) {
            return Vec::new();
        }
        let kubeconfig = request.status.as_mut().and_then(|status| status.kubeconfig.take());
        self.asking.entry(request.spec.cluster.clone()).or_default().insert(name.clone());
        let admitted = self.census.set(&name, Some(counted(&request)));
        let request = Arc::new(request);
        let is_marked = marks::of_access(&request).is_some() || has_foreign_tokens(&request);
        if is_marked && self.marked.len() < MOST_MARKED {
            self.marked.insert(name.clone(), request.clone());
        }
        let known = Known { request: request.clone(), has_kubeconfig: kubeconfig.is_some() };
        let before = self.requests.insert(name.clone(), known);
        let before = before.as_ref().map(|known| &known.request.metadata);
        if before.is_some_and(|it| was_taken_off(it, &request.metadata, finalizer::KUBECONFIG)) {
            self.unheld.insert(name.clone());
        }
        std::iter::once(name).chain(admitted).collect()
    }

    /// A request whose marks nobody was told about yet.
    pub(super) fn take_marked(&mut self, name: &RequestName) -> Option<Arc<KubeconfigRequest>> {
        self.marked.remove(name)
    }

    /// Whether somebody else took the finalizer of a request away, and nobody was told about it yet.
    pub(super) fn take_unheld(&mut self, name: &RequestName) -> bool {
        self.unheld.remove(name)
    }

    /// Whether nothing counts that is remembered of a request, and whether it is back itself. It is said once.
    pub(super) fn take_returned(&mut self, name: &RequestName) -> Option<bool> {
        self.returned.remove(name)
    }

    pub(super) fn forget_request(&mut self, name: &RequestName) -> Vec<RequestName> {
        self.unheld.remove(name);
        self.returned.remove(name);
        if let Some(gone) = self.requests.remove(name)
            && let Some(asking) = self.asking.get_mut(&gone.request.spec.cluster)
        {
            asking.remove(name);
            if asking.is_empty() {
                self.asking.remove(&gone.request.spec.cluster);
            }
        }
        // Whoever remembers something of it is told to forget.
        std::iter::once(name.clone()).chain(self.census.set(name, None)).collect()
    }

    /// The cap that leaves no room for a request, if there is one.
    pub(super) fn exceeded(&self, name: &RequestName, caps: Caps) -> Option<Exceeded> {
        self.census.exceeded(name, &counted(&self.requests.get(name)?.request), caps)
    }

    /// The tenant of a request, as its label has it.
    pub(super) fn tenant_of(&self, name: &RequestName) -> Option<String> {
        tenant(&self.requests.get(name)?.request)
    }

    pub(super) fn learn_cluster(&mut self, cluster: Cluster) -> Vec<RequestName> {
        let name = RequestName::of(&cluster.metadata);
        let pruned = pruned(cluster);
        if self.clusters.is_past(&name, &pruned.metadata, |known| &known.metadata) {
            return Vec::new();
        }
        let is_same = self
            .clusters
            .current(&name)
            // The label has the tenant, which is judged.
            .is_some_and(|known| {
                known.spec == pruned.spec
                    && known.status == pruned.status
                    && known.metadata.labels == pruned.metadata.labels
            });
        self.clusters.insert(name.clone(), Arc::new(pruned));
        if is_same { Vec::new() } else { self.asking_for(&name.name) }
    }

    pub(super) fn forget_cluster(&mut self, name: &RequestName) -> Vec<RequestName> {
        self.clusters.remove(name);
        self.asking_for(&name.name)
    }

    pub(super) fn learn_shoot(&mut self, shoot: &Shoot) -> Vec<RequestName> {
        let cluster =
            shoot.annotations().get(annotation::CLUSTER).and_then(|cluster| cluster.split_once('/'));
        let cluster = cluster
            .map(|(namespace, name)| RequestName { namespace: namespace.to_owned(), name: name.to_owned() });
        let tenant = shoot.annotations().get(annotation::TENANT).filter(|tenant| !tenant.is_empty()).cloned();
        let known =
            KnownShoot { uid: shoot.uid().unwrap_or_default(), rotation: rotation(shoot), tenant, cluster };
        let before = self.shoots.insert(shoot.name_any(), known.clone());
        if let Some(cluster) = before.as_ref().and_then(|before| before.cluster.as_ref()) {
            self.unlink_shoot(cluster, &shoot.name_any());
        }
        if let Some(cluster) = known.cluster.clone() {
            self.made_for.entry(cluster).or_default().insert(shoot.name_any());
        }
        match &known.cluster {
            Some(cluster) if before.as_ref() != Some(&known) => self.asking_for(&cluster.name),
            _ => Vec::new(),
        }
    }

    pub(super) fn forget_shoot(&mut self, name: &str) -> Vec<RequestName> {
        let Some(cluster) = self.shoots.remove(&name.to_owned()).and_then(|gone| gone.cluster) else {
            return Vec::new();
        };
        self.unlink_shoot(&cluster, name);
        self.asking_for(&cluster.name)
    }

    fn unlink_shoot(&mut self, cluster: &RequestName, name: &str) {
        if let Some(names) = self.made_for.get_mut(cluster) {
            names.remove(name);
            if names.is_empty() {
                self.made_for.remove(cluster);
            }
        }
    }

    fn asking_for(&self, cluster: &str) -> Vec<RequestName> {
        self.asking.get(cluster).into_iter().flatten().cloned().collect()
    }
}

impl keep::Index for Index {
    type Followed = Followed;
    type Task = RequestName;

    fn is_complete(&self) -> bool {
        self.requests.is_listed()
            && self.clusters.is_listed()
            && self.shoots.is_listed()
            && self.locks.is_listed()
    }

    fn kept(&mut self, what: Followed) -> &mut dyn Progress {
        match what {
            Followed::Requests => &mut self.requests,
            Followed::Clusters => &mut self.clusters,
            Followed::Shoots => &mut self.shoots,
            Followed::Locks => self.locks.progress(),
        }
    }

    fn returned(&mut self, what: Followed, metadata: &ObjectMeta) {
        match what {
            Followed::Requests => drop(self.returned.insert(RequestName::of(metadata), true)),
            // Which requests have something in it follows from what is remembered, too.
            Followed::Clusters | Followed::Shoots => {
                for name in self.all_requests() {
                    self.returned.entry(name).or_insert(false);
                }
            }
            Followed::Locks => (),
        }
    }

    fn listed(&mut self, what: Followed) -> Vec<RequestName> {
        match what {
            Followed::Requests => {
                let gone = self.requests.missing().into_iter();
                gone.flat_map(|name| self.forget_request(&name)).collect()
            }
            Followed::Clusters => {
                let gone = self.clusters.missing().into_iter();
                gone.flat_map(|name| self.forget_cluster(&name)).collect()
            }
            Followed::Shoots => {
                let gone = self.shoots.missing().into_iter();
                gone.flat_map(|name| self.forget_shoot(&name)).collect()
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

/// What is needed of a Cluster, and nothing else: there are thousands.
fn pruned(cluster: Cluster) -> Cluster {
    let Cluster { metadata, spec, status } = cluster;
    let ObjectMeta { name, namespace, uid, resource_version, labels, .. } = metadata;
    let claim = Claim {
        selector: spec.infrastructure.as_ref().map(|it| it.subscription_selector.as_str()),
        label: labels.as_ref().and_then(|labels| labels.get(tenant::GLOBAL_ACCOUNT_ID)).map(String::as_str),
    };
    // The selector goes with the infrastructure: the tenant that it names is kept in the label.
    let tenant = tenancy::claimed(&claim);
    let labels = tenant.map(|it| BTreeMap::from([(tenant::GLOBAL_ACCOUNT_ID.to_owned(), it.to_string())]));
    let status = status.map(|status| ClusterStatus {
        phase: status.phase,
        shoot_name: status.shoot_name,
        shoot_uid: status.shoot_uid,
        api_server: status.api_server,
        ..ClusterStatus::default()
    });
    Cluster {
        metadata: ObjectMeta { name, namespace, uid, resource_version, labels, ..ObjectMeta::default() },
        spec: ClusterSpec {
            byoc: spec.byoc,
            core: None,
            extensions: None,
            oidc_config: None,
            additional_oidc_configs: Vec::new(),
            infrastructure: None,
            administrators: Vec::new(),
            maintenance: None,
            shoot_template: None,
            deletion_protection: None,
        },
        status,
    }
}

/// The phases and times of the rotations that end tokens or change the CA.
pub(crate) fn rotation(shoot: &Shoot) -> String {
    let credentials = shoot.status.as_ref().and_then(|status| status.credentials.as_ref());
    let Some(rotation) = credentials.and_then(|credentials| credentials.rotation.as_ref()) else {
        return String::new();
    };
    let part = |what: &str, rotation: &Option<Rotation>| {
        rotation.as_ref().map(|rotation| {
            let time =
                rotation.last_initiation_time.as_ref().map(|time| time.0.as_second()).unwrap_or_default();
            format!("{what}-{}-{time}", rotation.phase)
        })
    };
    let parts = [part("ca", &rotation.certificate_authorities), part("key", &rotation.service_account_key)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("-")
}

fn counted(request: &KubeconfigRequest) -> census::Entry {
    census::Entry {
        namespace: request.namespace().unwrap_or_default(),
        tenant: tenant(request),
        created: request.metadata.creation_timestamp.as_ref().map(|time| time.0),
        standing: Standing::new(
            request.status.as_ref().is_some_and(|status| status.phase.is_some()),
            is_refused(request),
        ),
    }
}

fn tenant(request: &KubeconfigRequest) -> Option<String> {
    request.labels().get(names::tenant::GLOBAL_ACCOUNT_ID).cloned()
}
