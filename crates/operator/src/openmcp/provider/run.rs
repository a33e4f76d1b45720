//! The controller as a whole: followers all the time, workers while it leads.

use super::{
    CONTROLLER, PLATFORM, Task,
    index::{Followed, Index, News},
};
use crate::{
    openmcp::{ObjectName, Parts, lanes::Lanes},
    runtime::{
        controller::{Controller, Leadership},
        events::Recorder,
        keep::Cache,
        queue::fair::FairKey,
    },
};
use allotment_api::openmcp::{Cluster, gardener::ClusterConfig};
use allotment_core::openmcp::names::hash8;
use futures::{FutureExt, future::BoxFuture};
use kube::{Api, core::DeserializeGuard};
use std::sync::{Arc, MutexGuard};
use tokio::time::Instant;

/// The controller of Landscapes, ProviderConfigs and Clusters. Cheap to clone. [`crate::openmcp::Landscapes::follow`] has to
/// run beside it.
#[derive(Clone)]
pub struct Operator(Arc<Inner>);

pub(super) struct Inner {
    pub(super) parts: Parts,
    pub(super) recorder: Recorder,
    /// Who applies Shoots: another one for every provider and environment, so that they cannot take each other's over.
    pub(super) field_manager: String,
    pub(super) cache: Cache<Index>,
    lanes: Lanes<Task>,
    leadership: Leadership,
}

impl Operator {
    /// Puts it together. Nothing happens before it runs.
    pub fn new(parts: Parts) -> Self {
        let settings = &parts.settings;
        let recorder = Recorder::new(
            parts.platform.clone(),
            "allotment.dev/openmcp-cluster",
            &settings.identity,
            parts.clock.clone(),
        );
        let instance = &settings.instance;
        let field_manager =
            format!("allotment-openmcp-{}", hash8(&[&instance.environment, &instance.provider]));
        let leadership = parts.leadership(CONTROLLER, &instance.lease_name("cluster"));
        Self(Arc::new(Inner {
            parts,
            recorder,
            field_manager,
            cache: Cache::default(),
            lanes: Lanes::new(),
            leadership,
        }))
    }

    /// Whether nothing runs, and nothing is due before this moment.
    pub fn is_idle_until(&self, moment: Instant) -> bool {
        self.0.lanes.is_idle_until(moment)
    }

    /// Whether everything on the platform has been listed once.
    pub fn is_complete(&self) -> bool {
        self.0.cache.is_complete() && self.0.parts.landscapes.is_listed()
    }

    /// Looks at everything again, as a restart would.
    pub fn resync(&self) {
        self.0.add_all();
    }
}

impl Controller for Operator {
    fn leadership(&self) -> &Leadership {
        &self.0.leadership
    }

    fn serve(&self) -> BoxFuture<'_, ()> {
        async move {
            let inner = &self.0;
            inner.until_complete().await;
            // A term that was dropped has left tasks behind that nobody will finish.
            inner.lanes.clear();
            inner.add_all();
            let (workers, metrics) = (inner.parts.settings.workers, &inner.parts.metrics);
            let look = |task| {
                let inner = inner.clone();
                Box::pin(async move {
                    match task {
                        Task::Landscape(name) => inner.look_at_landscape(&name).await,
                        Task::Config(name) => inner.look_at_config(&name).await,
                        Task::Cluster(name, lane) => inner.look_at_cluster(&name, &lane).await,
                    }
                })
            };
            let key = |task: &Task| match task {
                Task::Landscape(_) | Task::Config(_) => FairKey::Everybody,
                Task::Cluster(name, _) => FairKey::namespace(&name.namespace),
            };
            tokio::join!(
                Box::pin(inner.lanes.work(workers, metrics, CONTROLLER, key, look)),
                inner.heed_ways()
            );
        }
        .boxed()
    }

    fn follow_all(&self) -> BoxFuture<'_, ()> {
        async move {
            let inner = &self.0;
            let add = |news| inner.take(news);
            let keeper = inner.cache.keeper(&add);
            tokio::join!(
                keeper.keep(
                    Followed::Clusters,
                    inner.api::<Cluster>(),
                    None,
                    Index::learn_cluster,
                    |index, gone| { index.forget_cluster(&ObjectName::of(&gone.metadata)) }
                ),
                keeper.keep(
                    Followed::ClusterConfigs,
                    inner.api::<ClusterConfig>(),
                    None,
                    Index::learn_cluster_config,
                    |index, gone| index.forget_cluster_config(&ObjectName::of(&gone.metadata)),
                ),
                Box::pin(inner.follow_gardens()),
            );
        }
        .boxed()
    }
}

impl Inner {
    pub(super) fn index(&self) -> MutexGuard<'_, Index> {
        self.cache.index()
    }

    /// A Cluster is to be looked at, in the lane of its Landscape.
    pub(super) fn add_cluster(&self, name: &ObjectName) {
        let Some(cluster) = self.index().cluster(name) else { return };
        let place = self.parts.landscapes.place_of(&cluster);
        let lane = place.map(|place| place.landscape).unwrap_or_else(|_| PLATFORM.to_owned());
        self.lanes.add(&lane, Task::Cluster(name.clone(), lane.clone()));
    }

    /// Something is to be looked at, in this lane.
    pub(super) fn add(&self, lane: &str, task: Task) {
        self.lanes.add(lane, task);
    }

    /// The ProviderConfigs of a Landscape are to be looked at.
    pub(super) fn add_configs_of(&self, landscape: &str) {
        let names = self.parts.landscapes.configs_of(landscape);
        names.into_iter().for_each(|name| self.lanes.add(PLATFORM, Task::Config(name)));
    }

    fn take(&self, news: News) {
        match news {
            News::Cluster(name) => self.add_cluster(&name),
            News::Profile(profile) => {
                let prefix = self.parts.settings.instance.profile_name("");
                let of_ours = self
                    .parts
                    .landscapes
                    .profile(&profile)
                    .map(|profile| profile.spec.provider_config_ref.name.clone());
                let config = of_ours.or_else(|| profile.strip_prefix(&prefix).map(str::to_owned));
                config.into_iter().for_each(|config| self.lanes.add(PLATFORM, Task::Config(config)));
            }
        }
    }

    fn add_all(&self) {
        let landscapes = &self.parts.landscapes;
        for name in landscapes.names() {
            self.lanes.add(PLATFORM, Task::Landscape(name));
        }
        for config in landscapes.configs() {
            let name = config.metadata.name.clone().unwrap_or_default();
            self.lanes.add(PLATFORM, Task::Config(name));
        }
        let clusters = self.index().all_clusters();
        clusters.iter().for_each(|name| self.add_cluster(name));
    }

    /// Looks at everything when a way may be another one.
    async fn heed_ways(&self) {
        let mut ways = self.parts.landscapes.changes();
        // The sender lives as long as we do.
        while ways.changed().await.is_ok() {
            self.add_all();
        }
    }

    async fn until_complete(&self) {
        let (mut learned, mut ways) = (self.cache.changes(), self.parts.landscapes.changes());
        while !(self.cache.is_complete() && self.parts.landscapes.is_listed()) {
            tokio::select! {
                // In one order, so that a simulation can repeat it.
                biased;
                // The senders live as long as we do.
                _ = learned.changed() => (),
                _ = ways.changed() => (),
            }
        }
    }

    fn api<K>(&self) -> Api<DeserializeGuard<K>>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope> + Clone,
    {
        match &self.parts.settings.namespace {
            None => Api::all(self.parts.platform.clone()),
            Some(namespace) => Api::namespaced(self.parts.platform.clone(), namespace),
        }
    }
}
