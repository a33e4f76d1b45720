//! What is known of Clusters and what belongs to them, kept in memory from watches.

mod listed;

use super::Task;
use crate::{
    locks::LockStore,
    runtime::{
        census::{self, Census, Standing},
        kept::Kept,
    },
    tenancy::NamespaceRoles,
};
use allotment_api::{
    allotment::{AccessLock, ShootAdoption},
    gardener::{CloudProfileSpec, Shoot},
    kyma::{Cluster, ClusterPhase, SubscriptionRequest},
    names::{self, annotation, finalizer},
};
use allotment_core::{
    access::lock::Subject,
    cluster::{
        CloudProfileKind, Clusters,
        flow::{
            LONGEST_IN_REQUEST, carried_request, cluster_of_request, forget_managed_fields, is_owned_by,
            is_refused, request_name,
        },
        shoot_name,
    },
    marks::was_taken_off,
    pool::tenant_of,
    quotas::{Caps, Exceeded},
};
use kube::{ResourceExt, api::ObjectMeta};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

/// An object in the control plane, by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ClusterName {
    pub(super) fn of(metadata: &ObjectMeta) -> Self {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        Self { namespace: part(&metadata.namespace), name: part(&metadata.name) }
    }
}

impl fmt::Display for ClusterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The kinds that are followed.
#[derive(Clone, Copy, Debug)]
pub enum Followed {
    /// In the control plane.
    Clusters,
    /// In the control plane.
    Requests,
    /// In the garden, ours.
    Shoots,
    /// In the garden.
    Profiles,
    /// In the garden, where the configuration names one.
    NamespacedProfiles,
    /// In the operator's own namespace.
    Locks,
    /// In the operator's namespace.
    Adoptions,
}

type ProfileName = (bool, String);

/// What is known.
#[derive(Debug, Default)]
pub struct Index {
    pub(super) clusters: Kept<ClusterName, Arc<Cluster>>,
    requests: Kept<ClusterName, Arc<SubscriptionRequest>>,
    shoots: Kept<String, Arc<Shoot>>,
    pub(super) adoptions: Kept<String, Arc<ShootAdoption>>,
    /// Names of adoptions that have not come to their end, by the Cluster.
    pub(super) pending_adoptions: BTreeMap<ClusterName, BTreeSet<String>>,
    /// Names of Shoots, by the UID of the request that they carry.
    shoots_of_request: BTreeMap<String, BTreeSet<String>>,
    profiles: Kept<ProfileName, Arc<CloudProfileSpec>>,
    /// Only followed where the configuration names one.
    namespaced_profiles: Kept<ProfileName, Arc<CloudProfileSpec>>,
    follows_namespaced: bool,
    locks: LockStore,
    /// Clusters by the name of the Shoot that they have or want.
    by_shoot_name: BTreeMap<String, BTreeSet<ClusterName>>,
    /// Clusters that their tenants brought, by the Secret with the kubeconfig.
    brought: BTreeMap<ClusterName, BTreeSet<ClusterName>>,
    /// Clusters whose finalizer somebody else took away.
    unheld: BTreeSet<ClusterName>,
    /// Clusters that are back though their deletion was seen.
    returned: BTreeSet<ClusterName>,
    /// Clusters, counted for caps.
    pub(super) census: Census<ClusterName>,
}

impl Index {
    /// Nothing is known yet.
    pub fn new(follows_namespaced: bool) -> Self {
        Self { follows_namespaced, ..Self::default() }
    }

    /// Clusters count for the tenants that their namespaces have.
    pub(super) fn counting_by(mut self, roles: Arc<NamespaceRoles>) -> Self {
        self.census = self.census.counting_by(roles);
        self
    }

    /// Whether there are no Clusters.
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    pub(super) fn cluster(&self, name: &ClusterName) -> Option<Arc<Cluster>> {
        self.clusters.get(name).cloned()
    }

    pub(super) fn request(&self, name: &ClusterName) -> Option<Arc<SubscriptionRequest>> {
        self.requests.get(name).cloned()
    }

    pub(super) fn request_of(&self, cluster: &Cluster) -> Option<Arc<SubscriptionRequest>> {
        let namespace = cluster.namespace().unwrap_or_default();
        self.request(&ClusterName { namespace, name: request_name(cluster) })
    }

    /// Whether an AccessLock names the administrators of a Cluster.
    pub(super) fn is_locked(&self, cluster: &ClusterName) -> bool {
        self.locks.cover(&Subject::Administrators { namespace: &cluster.namespace, cluster: &cluster.name })
    }

    pub(super) fn upsert_lock(&mut self, lock: AccessLock) -> Vec<Task> {
        if self.locks.upsert(lock) { self.all_clusters() } else { Vec::new() }
    }

    pub(super) fn remove_lock(&mut self, name: &str) -> Vec<Task> {
        if self.locks.remove(name) { self.all_clusters() } else { Vec::new() }
    }

    /// The Shoot of a Cluster whose request has this UID: the one of this name, or the one that carries the UID under another
    /// name, since a name in the status may be forged.
    pub(super) fn shoot_of(
        &self,
        cluster: &Cluster,
        request: Option<&str>,
        name: Option<&str>,
    ) -> Option<Arc<Shoot>> {
        let uid = cluster.metadata.uid.as_deref();
        let is_own = |shoot: &&Arc<Shoot>| is_owned_by(&shoot.metadata, uid, request);
        let named = name.and_then(|name| self.shoots.get(&name.to_owned()));
        let labelled = request.and_then(|request| self.shoots_of_request.get(request));
        let mut labelled = labelled.into_iter().flatten().filter_map(|name| self.shoots.get(name));
        named.filter(is_own).or_else(|| labelled.find(is_own)).or(named).cloned()
    }

    pub(super) fn profile_for(
        &self,
        cluster: &Cluster,
        clusters: &Clusters,
    ) -> Option<Arc<CloudProfileSpec>> {
        let provider = cluster.spec.infrastructure.as_ref()?.provider;
        let defaults = clusters.providers.get(&provider)?;
        let is_namespaced = defaults.cloud_profile_kind == CloudProfileKind::NamespacedCloudProfile;
        let kept = if is_namespaced { &self.namespaced_profiles } else { &self.profiles };
        kept.get(&(is_namespaced, defaults.cloud_profile.clone())).cloned()
    }

    /// Namespaces with Secrets that Clusters point at.
    pub(super) fn secret_namespaces(&self) -> BTreeSet<String> {
        self.brought.keys().map(|secret| secret.namespace.clone()).collect()
    }

    /// The Clusters that point at a Secret.
    pub(super) fn brought_by(&self, secret: &ClusterName) -> impl Iterator<Item = &ClusterName> {
        self.brought.get(secret).into_iter().flatten()
    }

    /// A Cluster is there.
    #[must_use = "others wait for this"]
    pub fn learn_cluster(&mut self, mut cluster: Cluster) -> Vec<Task> {
        cluster.metadata.managed_fields = None;
        let name = ClusterName::of(&cluster.metadata);
        if self.clusters.is_past(&name, &cluster.metadata, |known| &known.metadata) {
            return Vec::new();
        }
        let admitted = self.census.set(&name, Some(counted(&cluster)));
        let secret = secret_of(&cluster);
        let cluster = Arc::new(cluster);
        let before = self.clusters.insert(name.clone(), cluster.clone());
        if before
            .as_ref()
            .is_some_and(|it| was_taken_off(&it.metadata, &cluster.metadata, finalizer::CLUSTER))
        {
            self.unheld.insert(name.clone());
        }
        let (shoot_before, shoot) = (before.as_deref().and_then(wanted_name), wanted_name(&cluster));
        if shoot_before != shoot {
            self.forget_wanted_name(&name, shoot_before);
            if let Some(shoot) = shoot {
                self.by_shoot_name.entry(shoot).or_default().insert(name.clone());
            }
        }
        let secret_before = before.as_deref().and_then(secret_of);
        if secret_before != secret {
            self.forget_secret_of(&name, secret_before);
            if let Some(secret) = secret {
                self.brought.entry(secret).or_default().insert(name.clone());
            }
        }
        std::iter::once(name).chain(admitted).map(Task::Cluster).collect()
    }

    /// Whether somebody else took the finalizer of a Cluster away, and nobody was told about it yet.
    pub(super) fn take_unheld(&mut self, name: &ClusterName) -> bool {
        self.unheld.remove(name)
    }

    /// Whether a Cluster is back that was deleted. It is said once.
    pub(super) fn take_returned(&mut self, name: &ClusterName) -> bool {
        self.returned.remove(name)
    }

    #[must_use = "others wait for this"]
    pub(super) fn forget_cluster(&mut self, name: &ClusterName) -> Vec<Task> {
        self.unheld.remove(name);
        self.returned.remove(name);
        let Some(gone) = self.clusters.remove(name) else { return Vec::new() };
        let admitted = self.census.set(name, None).into_iter().map(Task::Cluster);
        self.forget_secret_of(name, secret_of(&gone));
        self.forget_wanted_name(name, wanted_name(&gone));
        let request = ClusterName { namespace: name.namespace.clone(), name: request_name(&gone) };
        let orphan = self.requests.get(&request).map(|_| Task::Orphan(request.clone()));
        let adoptions = self.adoptions_of(name).into_iter().map(|one| Task::Adoption(one.name_any()));
        let tasks: Vec<Task> = orphan.into_iter().chain(adoptions).collect();
        admitted.chain(tasks).collect()
    }

    /// The cap that leaves no room for a Cluster, if there is one.
    pub(super) fn exceeded(&self, name: &ClusterName, caps: Caps) -> Option<Exceeded> {
        self.census.exceeded(name, &counted(self.clusters.get(name)?), caps)
    }

    /// The tenant of a Cluster, as it says itself.
    pub(super) fn tenant_of(&self, name: &ClusterName) -> Option<String> {
        tenant(self.clusters.get(name)?)
    }

    /// A SubscriptionRequest is there.
    #[must_use = "others wait for this"]
    pub fn learn_request(&mut self, mut request: SubscriptionRequest) -> Vec<Task> {
        request.metadata.managed_fields = None;
        let name = ClusterName::of(&request.metadata);
        // What others ask for by themselves is none of our business.
        let is_held = request.finalizers().iter().any(|name| name == finalizer::CLUSTER);
        let is_owned = request.owner_references().iter().any(|owner| owner.kind == "Cluster");
        if !is_held && !is_owned && self.asking(&name).is_none() {
            return Vec::new();
        }
        if self.requests.is_past(&name, &request.metadata, |known| &known.metadata) {
            return Vec::new();
        }
        self.requests.insert(name.clone(), Arc::new(request));
        vec![self.task_of(name)]
    }

    #[must_use = "others wait for this"]
    pub(super) fn forget_request(&mut self, name: &ClusterName) -> Vec<Task> {
        if self.requests.remove(name).is_none() {
            return Vec::new();
        }
        self.asking(name).map(Task::Cluster).into_iter().collect()
    }

    /// A Shoot is there.
    #[must_use = "others wait for this"]
    pub fn learn_shoot(&mut self, mut shoot: Shoot) -> Vec<Task> {
        forget_managed_fields(&mut shoot.metadata);
        let name = shoot.name_any();
        if self.shoots.is_past(&name, &shoot.metadata, |known| &known.metadata) {
            return Vec::new();
        }
        if let Some(request) = carried_request(&shoot.metadata) {
            self.shoots_of_request.entry(request.to_owned()).or_default().insert(name.clone());
        }
        let now = cluster_of(&shoot);
        let request = carried_request(&shoot.metadata).map(str::to_owned);
        let before = self.shoots.insert(name.clone(), Arc::new(shoot));
        let request_before = before.as_deref().and_then(|before| carried_request(&before.metadata));
        if let Some(request_before) = request_before.filter(|uid| Some(*uid) != request.as_deref()) {
            self.forget_shoot_of_request(request_before, &name);
        }
        // A Shoot that changed hands matters to both.
        let before = before.as_deref().and_then(cluster_of).filter(|before| Some(before) != now.as_ref());
        now.into_iter().chain(before).map(Task::Cluster).collect()
    }

    #[must_use = "others wait for this"]
    pub(super) fn forget_shoot(&mut self, name: &str) -> Vec<Task> {
        let Some(gone) = self.shoots.remove(&name.to_owned()) else { return Vec::new() };
        if let Some(request) = carried_request(&gone.metadata) {
            self.forget_shoot_of_request(request, name);
        }
        // Others may wait for the name.
        let waiting = self.by_shoot_name.get(name).into_iter().flatten().cloned();
        cluster_of(&gone).into_iter().chain(waiting).map(Task::Cluster).collect()
    }

    fn forget_wanted_name(&mut self, cluster: &ClusterName, shoot: Option<String>) {
        let Some(shoot) = shoot else { return };
        if let Some(clusters) = self.by_shoot_name.get_mut(&shoot) {
            clusters.remove(cluster);
            if clusters.is_empty() {
                self.by_shoot_name.remove(&shoot);
            }
        }
    }

    fn forget_shoot_of_request(&mut self, request: &str, name: &str) {
        if let Some(names) = self.shoots_of_request.get_mut(request) {
            names.remove(name);
            if names.is_empty() {
                self.shoots_of_request.remove(request);
            }
        }
    }

    pub(super) fn learn_profile(
        &mut self,
        is_namespaced: bool,
        name: String,
        spec: CloudProfileSpec,
    ) -> Vec<Task> {
        let kept = if is_namespaced { &mut self.namespaced_profiles } else { &mut self.profiles };
        let key = (is_namespaced, name);
        if kept.current(&key).is_some_and(|known| **known == spec) {
            return Vec::new();
        }
        kept.insert(key, Arc::new(spec));
        self.all_clusters()
    }

    pub(super) fn forget_profile(&mut self, is_namespaced: bool, name: String) -> Vec<Task> {
        let kept = if is_namespaced { &mut self.namespaced_profiles } else { &mut self.profiles };
        kept.remove(&(is_namespaced, name));
        self.all_clusters()
    }

    /// How many Clusters there are of each provider in each phase; those that their tenants brought count as `byoc`. These
    /// providers are named though they have none.
    pub(super) fn count(
        &self,
        mut providers: BTreeSet<&'static str>,
    ) -> BTreeMap<(&'static str, &'static str), usize> {
        let provider_of = |cluster: &Cluster| match &cluster.spec.infrastructure {
            Some(infrastructure) => infrastructure.provider.as_str(),
            None => "byoc",
        };
        providers.extend(self.clusters.iter().map(|(_, cluster)| provider_of(cluster)));
        let phases = ClusterPhase::ALL.map(ClusterPhase::as_str);
        let zeros = providers.into_iter().flat_map(|provider| phases.map(|phase| ((phase, provider), 0)));
        let mut counts: BTreeMap<_, _> = zeros.collect();
        for (_, cluster) in self.clusters.iter() {
            let phase = cluster.status.as_ref().and_then(|status| status.phase);
            let phase = phase.unwrap_or(ClusterPhase::Pending).as_str();
            *counts.entry((phase, provider_of(cluster))).or_default() += 1;
        }
        counts
    }

    pub(super) fn all_clusters(&self) -> Vec<Task> {
        self.clusters.iter().map(|(name, _)| Task::Cluster(name.clone())).collect()
    }

    /// Requests of ours whose Cluster is not there.
    pub(super) fn orphans(&self) -> Vec<Task> {
        let tasks = self.requests.iter().map(|(name, _)| self.task_of(name.clone()));
        tasks.filter(|task| matches!(task, Task::Orphan(_))).collect()
    }

    /// What is to be looked at when a request changes.
    fn task_of(&self, name: ClusterName) -> Task {
        self.asking(&name).map_or(Task::Orphan(name), Task::Cluster)
    }

    /// The Cluster that a request of this name is for.
    fn asking(&self, request: &ClusterName) -> Option<ClusterName> {
        let prefix = cluster_of_request(&request.name)?;
        let named = ClusterName { namespace: request.namespace.clone(), name: prefix.to_owned() };
        let is_asking = |name: &&ClusterName| {
            name.namespace == request.namespace
                && self.clusters.get(name).is_some_and(|cluster| request_name(cluster) == request.name)
        };
        if prefix.len() < LONGEST_IN_REQUEST {
            return Some(named).filter(|named| is_asking(&named));
        }
        self.clusters.iter().map(|(name, _)| name).find(is_asking).cloned()
    }

    fn forget_secret_of(&mut self, name: &ClusterName, secret: Option<ClusterName>) {
        let Some(secret) = secret else { return };
        if let Some(clusters) = self.brought.get_mut(&secret) {
            clusters.remove(name);
            if clusters.is_empty() {
                self.brought.remove(&secret);
            }
        }
    }
}

fn secret_of(cluster: &Cluster) -> Option<ClusterName> {
    let byoc = cluster.spec.byoc.as_ref()?;
    let namespace = cluster.namespace().unwrap_or_default();
    Some(ClusterName { namespace, name: byoc.kubeconfig_secret_ref.name.clone() })
}

/// The name of the Shoot that a Cluster has or wants.
fn wanted_name(cluster: &Cluster) -> Option<String> {
    // How long it may be in the project does not matter here.
    shoot_name(cluster, "").ok().filter(|_| cluster.spec.byoc.is_none())
}

fn cluster_of(shoot: &Shoot) -> Option<ClusterName> {
    let (namespace, name) = shoot.annotations().get(annotation::CLUSTER)?.split_once('/')?;
    Some(ClusterName { namespace: namespace.to_owned(), name: name.to_owned() })
}

fn counted(cluster: &Cluster) -> census::Entry {
    census::Entry {
        namespace: cluster.namespace().unwrap_or_default(),
        tenant: tenant(cluster),
        created: cluster.metadata.creation_timestamp.as_ref().map(|time| time.0),
        standing: Standing::new(
            cluster.status.as_ref().is_some_and(|status| status.phase.is_some()),
            is_refused(cluster),
        ),
    }
}

/// The selector names the tenant, or else the label does.
fn tenant(cluster: &Cluster) -> Option<String> {
    let selector = cluster.spec.infrastructure.as_ref().map(|it| it.subscription_selector.as_str());
    let selected = selector.and_then(tenant_of).map(|tenant| tenant.to_string());
    selected.or_else(|| cluster.labels().get(names::tenant::GLOBAL_ACCOUNT_ID).cloned())
}
