//! The operator as a whole: followers all the time, workers while it leads.

use super::{
    RequestName,
    index::{Followed, Index},
    inside::Ended,
    minting::Minting,
};
use crate::{
    locks::LockStore,
    metrics::Metrics,
    planted::Bed,
    runtime::{
        clock::Clock,
        controller::{Controller, Leadership},
        events::Recorder,
        keep::Cache,
        lease::Candidate,
        looks::Looks,
        queue::{Queue, fair::FairKey},
        report::tell_lasting,
        work::{Worker, work},
    },
    target::{Key, Targets},
    tenancy::NamespaceRoles,
};
use allotment_api::{
    gardener::Shoot,
    kyma::{Cluster, KubeconfigPhase, KubeconfigRequest},
    names::label,
};
use allotment_core::{
    access::Access,
    quotas::{Counted, Exceeded, Fairness},
    tenancy::Tenancy,
};
use futures::{FutureExt, future::BoxFuture};
use kube::{Api, Client, ResourceExt, core::DeserializeGuard};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};
use tokio::time::Instant;

/// The controller's name in Events, metrics and the Lease.
pub(super) const CONTROLLER: &str = "kubeconfig";

/// The Lease that whoever leads holds.
pub const LEASE_NAME: &str = "allotment-kubeconfig";

/// What does not change while the process runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The namespace of the project in the garden.
    pub garden_namespace: String,
    /// The only namespace whose requests are looked at; none: all.
    pub request_namespace: Option<String>,
    /// The operator's own namespace in the control plane: the Lease and AccessLocks are there.
    pub lease_namespace: String,
    /// Who this process is: another one in every replica.
    pub identity: String,
    /// How many requests are looked at at once.
    pub workers: usize,
}

/// What can change while it runs.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The `access` section of the configuration.
    pub access: Arc<Access>,
    /// Where Clusters are looked for that are not in the namespace of the request; empty: nowhere.
    pub cluster_namespace: String,
    /// Which tenants a namespace may name.
    pub tenancy: Arc<Tenancy>,
}

/// What an operator is made of.
pub struct Parts {
    /// Where requests and Clusters are.
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

/// The kubeconfig operator. Cheap to clone.
#[derive(Clone)]
pub struct Operator(pub(crate) Arc<Inner>);

/// What operators share.
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
    queue: Queue<RequestName>,
    pub(super) looks: Looks<RequestName>,
    /// Tokens that are gone from their clusters, and may still be believed there.
    pub(super) ended: Mutex<BTreeMap<RequestName, Ended>>,
    /// The clusters from which the objects of a request were deleted, and where nothing was granted since.
    pub(super) swept: Mutex<BTreeMap<RequestName, BTreeSet<Key>>>,
    pub(super) minting: Minting,
    leadership: Leadership,
    pub(crate) planted: Bed,
}

impl Operator {
    /// Puts it together. Nothing happens before [`Controller::run_until`].
    pub fn new(parts: Parts) -> Self {
        let Parts { control_plane, garden, targets, settings, policy, clock, metrics } = parts;
        let recorder = Recorder::new(
            control_plane.clone(),
            "allotment.dev/kubeconfig",
            &settings.identity,
            clock.clone(),
        );
        let roles = Arc::new(NamespaceRoles::new(control_plane.clone(), policy.tenancy.clone()));
        let index = Index::counting_by(roles.clone());
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
            looks: Looks::new(Instant::now()),
            ended: Mutex::default(),
            swept: Mutex::default(),
            minting: Minting::default(),
            leadership: Leadership::new(CONTROLLER, Some(candidate), metrics.clone()),
            planted: Bed::default(),
            metrics,
        }))
    }

    /// Takes new policies. Every request is reconciled: access that is no longer allowed is not renewed.
    pub fn set_policy(&self, policy: Policy) {
        self.0.roles.set(policy.tenancy.clone());
        *self.0.policy.write().unwrap_or_else(PoisonError::into_inner) = policy;
        self.0.index().census.recount(None);
        self.resync();
    }

    /// Takes new caps, and which namespaces are the platform's. Requests that were refused because of a cap are judged again.
    pub fn set_fairness(&self, fairness: Fairness) {
        *self.0.fairness.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(fairness);
        let refused: Vec<RequestName> = self.0.index().census.refused().cloned().collect();
        refused.into_iter().for_each(|name| self.0.queue.add(name));
    }

    /// Whether nothing runs, and nothing is due before this moment.
    pub fn is_idle_until(&self, moment: Instant) -> bool {
        self.0.queue.is_idle_until(moment)
    }

    /// Whether every kind has been listed once.
    pub fn is_complete(&self) -> bool {
        self.0.cache.is_complete() && self.0.roles.is_listed()
    }

    /// Reads off how many requests there are in each phase, for who asks next for the metrics.
    pub fn read_gauges(&self) {
        let counts = self.0.index().phases();
        let of = |phase: KubeconfigPhase| (phase.as_str(), counts.get(&phase).copied().unwrap_or(0));
        self.0.metrics.kubeconfigs_are(KubeconfigPhase::ALL.map(of));
    }

    /// Looks at everything again, as a restart would.
    pub fn resync(&self) {
        let all = self.0.index().all_requests();
        all.into_iter().for_each(|name| self.0.queue.add(name));
    }

    /// Looks into every cluster now, and not when its time comes.
    pub fn look_into_all(&self) {
        let all = self.0.index().all_requests();
        self.0.looks.hurry(all);
        self.resync();
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
            inner.forget_terms();
            self.resync();
            let key = |name: &RequestName| inner.fair_key(name);
            let worker = Worker { metrics: &inner.metrics, controller: CONTROLLER, reporter: &**inner };
            let working = work(inner.settings.workers, &inner.queue, &worker, key, |name| {
                let inner = inner.clone();
                Box::pin(async move { inner.look_at_request(&name).await })
            });
            tokio::join!(Box::pin(working), Box::pin(tell_lasting(&**inner)));
        }
        .boxed()
    }

    fn follow_all(&self) -> BoxFuture<'_, ()> {
        async move {
            let inner = &self.0;
            let requests: Api<DeserializeGuard<KubeconfigRequest>> = match &inner.settings.request_namespace {
                None => Api::all(inner.control_plane.clone()),
                Some(namespace) => Api::namespaced(inner.control_plane.clone(), namespace),
            };
            let clusters: Api<DeserializeGuard<Cluster>> = Api::all(inner.control_plane.clone());
            let shoots: Api<DeserializeGuard<Shoot>> =
                Api::namespaced(inner.garden.clone(), &inner.settings.garden_namespace);
            let locks = LockStore::source(&inner.control_plane, &inner.settings.lease_namespace);
            let add = |name| inner.queue.add(name);
            let keeper = inner.cache.keeper(&add);
            tokio::join!(
                keeper.keep(Followed::Requests, requests, None, Index::learn_request, |index, gone| {
                    index.forget_request(&RequestName::of(&gone.metadata))
                }),
                keeper.keep(Followed::Clusters, clusters, None, Index::learn_cluster, |index, gone| {
                    index.forget_cluster(&RequestName::of(&gone.metadata))
                }),
                keeper.keep(
                    Followed::Shoots,
                    shoots,
                    Some(label::SUBSCRIPTION_REQUEST.to_owned()),
                    |index, shoot| index.learn_shoot(&shoot),
                    |index, gone| index.forget_shoot(&gone.name_any()),
                ),
                inner.roles.watch(|namespace| inner.enqueue_requests_in(namespace)),
                keeper.keep(Followed::Locks, locks, None, Index::upsert_lock, |index, gone| {
                    index.remove_lock(&gone.name_any())
                }),
            );
        }
        .boxed()
    }
}

impl Inner {
    pub(super) fn wake(&self, name: RequestName) {
        self.queue.add(name);
    }

    fn enqueue_requests_in(&self, namespace: &str) {
        let (all, admitted) = {
            let mut index = self.index();
            (index.all_requests(), index.census.recount(Some(namespace)))
        };
        admitted.into_iter().for_each(|name| self.queue.add(name));
        all.into_iter().filter(|name| name.namespace == namespace).for_each(|name| self.queue.add(name));
    }

    pub(super) fn policy(&self) -> Policy {
        self.policy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn fairness(&self) -> Arc<Fairness> {
        self.fairness.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The cap that leaves no room for a request, if there is one.
    pub(super) fn exceeded(&self, name: &RequestName) -> Option<Exceeded> {
        let caps = self.fairness().caps(&name.namespace, Counted::KubeconfigRequests);
        self.index().exceeded(name, caps)
    }

    /// For whom a request is looked at.
    fn fair_key(&self, name: &RequestName) -> FairKey {
        let is_platform = self.fairness().is_platform(&name.namespace);
        let tenant = if is_platform { self.index().tenant_of(name) } else { None };
        FairKey::tenant_or_namespace(tenant.as_deref(), &name.namespace)
    }

    pub(super) fn index(&self) -> MutexGuard<'_, Index> {
        self.cache.index()
    }
}
