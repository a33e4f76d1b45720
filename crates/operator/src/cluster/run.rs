//! The operator as a whole: followers all the time, workers while it leads.

use super::{
    ClusterName, Task,
    index::{Followed, Index},
    rollout::Rollout,
};
use crate::{
    locks::LockStore,
    metrics::Metrics,
    planted::Bed,
    runtime::{
        clock::Clock,
        controller::{Controller, Leadership},
        events::Recorder,
        follow::{MetadataOf, Position, Seen, follow},
        keep::{Cache, Keeper},
        lease::Candidate,
        queue::{Queue, fair::FairKey},
        report::tell_lasting,
        work::{Worker, work},
    },
    target::Targets,
    tenancy::NamespaceRoles,
};
use allotment_api::{
    allotment::ShootAdoption,
    gardener::{CloudProfile, NamespacedCloudProfile, Shoot},
    kyma::{BindingKind, Cluster, SubscriptionRequest},
    names::label,
};
use allotment_core::{
    cluster::{Clusters, flow::Standing},
    quotas::{Counted, Exceeded, Fairness},
    rules::RuleSet,
    tenancy::Tenancy,
};
use futures::{
    FutureExt,
    future::{BoxFuture, pending},
};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt, core::DeserializeGuard};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};
use tokio::time::Instant;

/// The controller's name in Events, metrics and the Lease.
pub(super) const CONTROLLER: &str = "cluster";

/// The Lease that whoever leads holds.
pub const LEASE_NAME: &str = "allotment-cluster";

/// What does not change while the process runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The namespace of the project in the garden.
    pub garden_namespace: String,
    /// The project.
    pub project: String,
    /// The only namespace whose Clusters are looked at; none: all.
    pub cluster_namespace: Option<String>,
    /// The operator's own namespace in the control plane, where tenants have no rights: the Lease, AccessLocks and
    /// ShootAdoptions are there.
    pub lease_namespace: String,
    /// Who this process is: another one in every replica.
    pub identity: String,
    /// Where the labels of pool entries are.
    pub binding_kind: BindingKind,
    /// The label of pool entries with the tenant, and the one that makes them dirty.
    pub labels: allotment_core::pool::LabelKeys,
    /// How many Clusters are looked at at once.
    pub workers: usize,
}

/// What can change while it runs.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The `clusters` section of the configuration.
    pub clusters: Arc<Clusters>,
    /// Whose namespaces are.
    pub tenancy: Arc<Tenancy>,
    /// Which account a Cluster's request is for; without them no Shoot is adopted, and the pool of an account is not compared.
    pub rules: Option<Arc<RuleSet>>,
}

/// What an operator is made of.
pub struct Parts {
    /// Where Clusters are.
    pub control_plane: Client,
    /// Where Shoots are.
    pub garden: Client,
    /// The way into the clusters.
    pub targets: Targets,
    /// What does not change.
    pub settings: Settings,
    /// What does.
    pub policy: Policy,
    /// The time.
    pub clock: Clock,
    /// What is counted.
    pub metrics: Metrics,
}

/// The cluster operator. Cheap to clone.
#[derive(Clone)]
pub struct Operator(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(super) control_plane: Client,
    pub(super) garden: Client,
    pub(super) targets: Targets,
    pub(super) settings: Settings,
    policy: RwLock<Policy>,
    pub(super) roles: Arc<NamespaceRoles>,
    fairness: RwLock<Arc<Fairness>>,
    pub(super) clock: Clock,
    pub(super) metrics: Metrics,
    pub(super) recorder: Recorder,
    cache: Cache<Index>,
    queue: Queue<Task>,
    pub(super) rollout: Mutex<Rollout>,
    /// When each cluster was last looked into, and what was seen.
    pub(super) insights: Mutex<BTreeMap<ClusterName, Insight>>,
    started: Instant,
    leadership: Leadership,
    pub(crate) planted: Bed,
}

/// What is remembered of a look into a cluster.
#[derive(Clone, Debug)]
pub(super) struct Insight {
    /// When to look again.
    pub(super) next: Instant,
    /// What was seen of one that the tenant brought.
    pub(super) standing: Option<Standing>,
}

impl Operator {
    /// Puts it together. Nothing happens before [`Controller::run_until`].
    pub fn new(parts: Parts) -> Self {
        let Parts { control_plane, garden, targets, settings, policy, clock, metrics } = parts;
        let recorder =
            Recorder::new(control_plane.clone(), "allotment.dev/cluster", &settings.identity, clock.clone());
        let roles = Arc::new(NamespaceRoles::new(control_plane.clone(), policy.tenancy.clone()));
        let index = Index::new(policy.clusters.follows_namespaced_profiles()).counting_by(roles.clone());
        let leases = Api::namespaced(control_plane.clone(), &settings.lease_namespace);
        let candidate = Candidate::new(leases, LEASE_NAME, &settings.identity, clock.clone());
        Self(Arc::new(Inner {
            control_plane,
            garden,
            targets,
            settings,
            roles,
            policy: RwLock::new(policy),
            fairness: RwLock::new(Arc::new(Fairness::trusted())),
            clock,
            recorder,
            cache: Cache::new(index),
            queue: Queue::new(),
            rollout: Mutex::new(Rollout::default()),
            insights: Mutex::new(BTreeMap::new()),
            started: Instant::now(),
            leadership: Leadership::new(CONTROLLER, Some(candidate), metrics.clone()),
            planted: Bed::default(),
            metrics,
        }))
    }

    /// Takes a new configuration. Every Cluster is looked at; what has to change is rolled out at the pace it says.
    pub fn set_policy(&self, policy: Policy) {
        self.0.roles.set(policy.tenancy.clone());
        *self.0.policy.write().unwrap_or_else(PoisonError::into_inner) = policy;
        self.0.index().census.recount(None);
        self.resync();
    }

    /// Takes new rules. They matter to adoptions, which are reviewed again and again, and to the last look before a Shoot is made.
    pub fn set_rules(&self, rules: Option<Arc<RuleSet>>) {
        self.0.policy.write().unwrap_or_else(PoisonError::into_inner).rules = rules;
    }

    /// Takes new caps, and which namespaces are the platform's. Clusters that were refused because of a cap are judged again.
    pub fn set_fairness(&self, fairness: Fairness) {
        *self.0.fairness.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(fairness);
        let refused: Vec<ClusterName> = self.0.index().census.refused().cloned().collect();
        refused.into_iter().for_each(|name| self.0.queue.add(Task::Cluster(name)));
    }

    /// Whether everything that is followed has been listed once.
    pub fn is_complete(&self) -> bool {
        self.0.cache.is_complete() && self.0.roles.is_listed()
    }

    /// Reads off how many Clusters there are in each phase, for who asks next for the metrics.
    pub fn read_gauges(&self) {
        let providers = self.0.clusters().providers.keys().map(|provider| provider.as_str()).collect();
        let counts = self.0.index().count(providers);
        self.0.metrics.clusters_are(counts);
    }

    /// Whether nothing runs, and nothing is due before this moment.
    pub fn is_idle_until(&self, moment: Instant) -> bool {
        self.0.queue.is_idle_until(moment)
    }

    /// Looks at everything again, as a restart would.
    pub fn resync(&self) {
        self.0.enqueue_all();
    }
}

impl Controller for Operator {
    fn leadership(&self) -> &Leadership {
        &self.0.leadership
    }

    fn serve(&self) -> BoxFuture<'_, ()> {
        async move {
            let inner = &self.0;
            inner.cache.until_complete().await;
            inner.roles.until_listed().await;
            // A term that was dropped has left tasks behind that nobody will finish.
            inner.queue.clear();
            inner.enqueue_all();
            let key = |task: &Task| inner.fair_key(task);
            let worker = Worker { metrics: &inner.metrics, controller: CONTROLLER, reporter: &**inner };
            let working = work(inner.settings.workers, &inner.queue, &worker, key, |task| {
                let inner = inner.clone();
                Box::pin(async move {
                    match task {
                        Task::Cluster(name) => inner.look_at_cluster(&name).await,
                        Task::Orphan(name) => inner.look_at_orphan(&name).await,
                        Task::Adoption(name) => inner.reconcile_adoption(&name).await,
                    }
                })
            });
            tokio::join!(Box::pin(working), Box::pin(tell_lasting(&**inner)));
        }
        .boxed()
    }

    fn follow_all(&self) -> BoxFuture<'_, ()> {
        async move {
            let (inner, garden) = (&self.0, &self.0.settings.garden_namespace);
            let add = |task| inner.queue.add(task);
            let keeper = inner.cache.keeper(&add);
            let shoots: Api<DeserializeGuard<Shoot>> = Api::namespaced(inner.garden.clone(), garden);
            let profiles: Api<DeserializeGuard<CloudProfile>> = Api::all(inner.garden.clone());
            let locks = LockStore::source(&inner.control_plane, &inner.settings.lease_namespace);
            let adoptions: Api<DeserializeGuard<ShootAdoption>> =
                Api::namespaced(inner.control_plane.clone(), &inner.settings.lease_namespace);
            tokio::join!(
                keeper.keep(
                    Followed::Clusters,
                    inner.in_control_plane::<Cluster>(),
                    None,
                    Index::learn_cluster,
                    |index, gone| index.forget_cluster(&ClusterName::of(&gone.metadata)),
                ),
                keeper.keep(
                    Followed::Requests,
                    inner.in_control_plane::<SubscriptionRequest>(),
                    None,
                    Index::learn_request,
                    |index, gone| index.forget_request(&ClusterName::of(&gone.metadata)),
                ),
                keeper.keep(
                    Followed::Shoots,
                    shoots,
                    Some(label::SUBSCRIPTION_REQUEST.to_owned()),
                    Index::learn_shoot,
                    |index, gone| index.forget_shoot(&gone.name_any()),
                ),
                // Only in our own namespace, where tenants have no rights.
                keeper.keep(Followed::Adoptions, adoptions, None, Index::learn_adoption, |index, gone| index
                    .forget_adoption(&gone.name_any()),),
                keeper.keep(
                    Followed::Profiles,
                    profiles,
                    None,
                    |index, profile| index.learn_profile(false, profile.name_any(), profile.spec),
                    |index, gone| index.forget_profile(false, gone.name_any()),
                ),
                keeper.keep(Followed::Locks, locks, None, Index::upsert_lock, |index, gone| {
                    index.remove_lock(&gone.name_any())
                }),
                inner.roles.watch(|namespace| inner.enqueue_clusters_in(namespace)),
                Box::pin(inner.follow_namespaced_profiles(&keeper)),
                // Only their metadata, in the namespaces where Clusters point at some, and nowhere else: that is all that we may see.
                Box::pin(inner.cache.follow_each(Index::secret_namespaces, |it| inner.follow_secrets_in(it))),
            );
        }
        .boxed()
    }
}

impl Inner {
    pub(super) fn clusters(&self) -> Arc<Clusters> {
        self.policy.read().unwrap_or_else(PoisonError::into_inner).clusters.clone()
    }

    fn enqueue_clusters_in(&self, namespace: &str) {
        let (all, admitted) = {
            let mut index = self.index();
            (index.all_clusters(), index.census.recount(Some(namespace)))
        };
        admitted.into_iter().for_each(|name| self.queue.add(Task::Cluster(name)));
        for task in all {
            if matches!(&task, Task::Cluster(name) if name.namespace == namespace) {
                self.queue.add(task);
            }
        }
    }

    pub(super) fn rules(&self) -> Option<Arc<RuleSet>> {
        self.policy.read().unwrap_or_else(PoisonError::into_inner).rules.clone()
    }

    fn fairness(&self) -> Arc<Fairness> {
        self.fairness.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The cap that leaves no room for a Cluster, if there is one.
    pub(super) fn exceeded(&self, name: &ClusterName) -> Option<Exceeded> {
        let caps = self.fairness().caps(&name.namespace, Counted::Clusters);
        self.index().exceeded(name, caps)
    }

    /// For whom a task is done.
    fn fair_key(&self, task: &Task) -> FairKey {
        let (Task::Cluster(name) | Task::Orphan(name)) = task else {
            // Only the platform writes adoptions.
            return FairKey::Everybody;
        };
        let is_platform = self.fairness().is_platform(&name.namespace);
        let tenant = if is_platform { self.index().tenant_of(name) } else { None };
        FairKey::tenant_or_namespace(tenant.as_deref(), &name.namespace)
    }

    pub(super) fn index(&self) -> MutexGuard<'_, Index> {
        self.cache.index()
    }

    pub(super) fn add(&self, task: Task) {
        self.queue.add(task);
    }

    /// Wakes whom the result of a write of our own concerns, but for the Cluster that is being reconciled. The watch reports that version
    /// too, but the index has it by then, so nobody would wake them.
    pub(super) fn wake_others(&self, own: &ClusterName, tasks: Vec<Task>) {
        let is_own = |task: &Task| matches!(task, Task::Cluster(name) if name == own);
        tasks.into_iter().filter(|task| !is_own(task)).for_each(|task| self.queue.add(task));
    }

    /// Whether a Cluster is being looked at.
    pub(super) fn is_looked_at(&self, name: &ClusterName) -> bool {
        self.queue.is_running(&Task::Cluster(name.clone()))
    }

    /// When this process began: looks into clusters are spread from then on.
    pub(super) fn started(&self) -> Instant {
        self.started
    }

    fn enqueue_all(&self) {
        let index = self.index();
        let tasks = index.all_clusters().into_iter().chain(index.orphans()).chain(index.stray_adoptions());
        tasks.for_each(|task| self.queue.add(task));
    }

    fn in_control_plane<K>(&self) -> Api<DeserializeGuard<K>>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope> + Clone,
    {
        match &self.settings.cluster_namespace {
            None => Api::all(self.control_plane.clone()),
            Some(namespace) => Api::namespaced(self.control_plane.clone(), namespace),
        }
    }

    /// Followed only where the configuration names one: not every garden lets us.
    async fn follow_namespaced_profiles(&self, keeper: &Keeper<'_, Index>) {
        if !self.clusters().follows_namespaced_profiles() {
            return pending().await;
        }
        let profiles: Api<DeserializeGuard<NamespacedCloudProfile>> =
            Api::namespaced(self.garden.clone(), &self.settings.garden_namespace);
        let learn = |index: &mut Index, profile: NamespacedCloudProfile| {
            let (name, status) = (profile.name_any(), profile.status);
            match status.and_then(|status| status.cloud_profile_spec) {
                Some(spec) => index.learn_profile(true, name, spec),
                None => index.forget_profile(true, name),
            }
        };
        let forget =
            |index: &mut Index, gone: NamespacedCloudProfile| index.forget_profile(true, gone.name_any());
        keeper.keep(Followed::NamespacedProfiles, profiles, None, learn, forget).await;
    }

    async fn follow_secrets_in(&self, namespace: String) {
        let secrets: Api<Secret> = Api::namespaced(self.control_plane.clone(), &namespace);
        follow(MetadataOf(secrets), None, Position::new(), |seen| {
            let (Seen::Applied(secret) | Seen::Deleted(secret)) = seen else { return };
            let secret = ClusterName { namespace: namespace.clone(), name: secret.name_any() };
            let names: Vec<ClusterName> = self.index().brought_by(&secret).cloned().collect();
            for name in names {
                self.look_into_soon(&name);
                self.queue.add(Task::Cluster(name));
            }
        })
        .await;
    }
}
