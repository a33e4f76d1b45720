//! The controller as a whole: followers all the time, workers while it leads.

use super::{
    CONTROLLER,
    index::{Followed, Index},
};
use crate::{
    openmcp::{ObjectName, Parts},
    runtime::{
        controller::{Controller, Leadership},
        events::Recorder,
        keep::Cache,
        queue::{Queue, fair::FairKey},
        report::NoObjects,
        work::{Worker, work},
    },
};
use allotment_api::openmcp::{AccessRequest, Cluster, ClusterProfile, ClusterRequest};
use futures::{FutureExt, future::BoxFuture};
use kube::{Api, core::DeserializeGuard};
use std::sync::{Arc, MutexGuard};
use tokio::time::Instant;

/// The Lease that whoever leads holds. All providers of a platform have this one in common.
pub const LEASE_NAME: &str = "allotment-openmcp-accessrequest-generic";

/// The generic AccessRequest controller. Cheap to clone.
#[derive(Clone)]
pub struct Operator(Arc<Inner>);

pub(super) struct Inner {
    pub(super) parts: Parts,
    pub(super) recorder: Recorder,
    cache: Cache<Index>,
    queue: Queue<ObjectName>,
    leadership: Leadership,
}

impl Operator {
    /// Puts it together. Nothing happens before it runs.
    pub fn new(parts: Parts) -> Self {
        let recorder = Recorder::new(
            parts.platform.clone(),
            "allotment.dev/accessrequest-generic",
            &parts.settings.identity,
            parts.clock.clone(),
        );
        let leadership = parts.leadership(CONTROLLER, LEASE_NAME);
        Self(Arc::new(Inner { parts, recorder, cache: Cache::default(), queue: Queue::new(), leadership }))
    }

    /// Whether nothing runs, and nothing is due before this moment.
    pub fn is_idle_until(&self, moment: Instant) -> bool {
        self.0.queue.is_idle_until(moment)
    }

    /// Whether every kind has been listed once.
    pub fn is_complete(&self) -> bool {
        self.0.cache.is_complete()
    }

    /// Looks at everything again, as a restart would.
    pub fn resync(&self) {
        let all = self.0.index().all_requests();
        all.into_iter().for_each(|name| self.0.queue.add(name));
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
            // A term that was dropped has left tasks behind that nobody will finish.
            inner.queue.clear();
            self.resync();
            let key = |name: &ObjectName| FairKey::namespace(&name.namespace);
            let worker =
                Worker { metrics: &inner.parts.metrics, controller: CONTROLLER, reporter: &NoObjects };
            work(inner.parts.settings.workers, &inner.queue, &worker, key, |name| {
                let inner = inner.clone();
                Box::pin(async move { inner.look_at(&name).await })
            })
            .await;
        }
        .boxed()
    }

    fn follow_all(&self) -> BoxFuture<'_, ()> {
        async move {
            let inner = &self.0;
            let platform = &inner.parts.platform;
            let requests: Api<DeserializeGuard<AccessRequest>> = match &inner.parts.settings.namespace {
                None => Api::all(platform.clone()),
                Some(namespace) => Api::namespaced(platform.clone(), namespace),
            };
            // What a request leads to may be in any namespace.
            let cluster_requests: Api<DeserializeGuard<ClusterRequest>> = Api::all(platform.clone());
            let clusters: Api<DeserializeGuard<Cluster>> = Api::all(platform.clone());
            let profiles: Api<DeserializeGuard<ClusterProfile>> = Api::all(platform.clone());
            let add = |name| inner.queue.add(name);
            let keeper = inner.cache.keeper(&add);
            tokio::join!(
                keeper.keep(Followed::Requests, requests, None, Index::learn_request, |index, gone| {
                    index.forget_request(&ObjectName::of(&gone.metadata))
                }),
                keeper.keep(
                    Followed::ClusterRequests,
                    cluster_requests,
                    None,
                    Index::learn_cluster_request,
                    |index, gone| index.forget_cluster_request(&ObjectName::of(&gone.metadata)),
                ),
                keeper.keep(Followed::Clusters, clusters, None, Index::learn_cluster, |index, gone| {
                    index.forget_cluster(&ObjectName::of(&gone.metadata))
                }),
                keeper.keep(Followed::Profiles, profiles, None, Index::learn_profile, |index, gone| {
                    index.forget_profile(&gone.metadata.name.unwrap_or_default())
                }),
            );
        }
        .boxed()
    }
}

impl Inner {
    pub(super) fn index(&self) -> MutexGuard<'_, Index> {
        self.cache.index()
    }
}
