//! The controller as a whole: followers all the time, workers while it leads.

use super::{
    CONTROLLER,
    index::{Followed, Index},
};
use crate::{
    openmcp::{ObjectName, Parts, term},
    runtime::{events::Recorder, keep::Keeper, queue::Queue, work::work},
};
use allotment_api::openmcp::{AccessRequest, Cluster, ClusterProfile, ClusterRequest};
use futures::future::{join_all, pending};
use kube::{Api, core::DeserializeGuard};
use std::{
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{sync::watch, time::Instant};

/// The Lease that whoever leads holds. All providers of a platform have this one in common.
pub const LEASE_NAME: &str = "allotment-openmcp-accessrequest-generic";

/// The generic AccessRequest controller. Cheap to clone.
#[derive(Clone)]
pub struct Operator(Arc<Inner>);

pub(super) struct Inner {
    pub(super) parts: Parts,
    pub(super) recorder: Recorder,
    index: Mutex<Index>,
    changed: watch::Sender<u64>,
    queue: Queue<ObjectName>,
    leading: watch::Sender<bool>,
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
        Self(Arc::new(Inner {
            parts,
            recorder,
            index: Mutex::default(),
            changed: watch::channel(0).0,
            queue: Queue::new(),
            leading: watch::channel(false).0,
        }))
    }

    /// Whether nothing runs, and nothing is due before this moment.
    pub fn is_idle_until(&self, moment: Instant) -> bool {
        self.0.queue.is_idle_until(moment)
    }

    /// Whether every kind has been listed once.
    pub fn is_complete(&self) -> bool {
        self.0.index().is_complete()
    }

    /// Whether this process leads.
    pub fn is_leading(&self) -> bool {
        *self.0.leading.borrow()
    }

    /// Looks at everything again, as a restart would.
    pub fn resync(&self) {
        let all = self.0.index().all_requests();
        all.into_iter().for_each(|name| self.0.queue.add(name));
    }

    /// Runs until told to stop.
    pub async fn run_until(&self, stop: impl Future<Output = ()>) {
        let (parts, leading) = (&self.0.parts, &self.0.leading);
        let follow = Box::pin(self.follow_all());
        term::run_until(parts, CONTROLLER, LEASE_NAME, leading, follow, || self.serve(), stop).await;
    }

    /// Works without a Lease, as whoever leads does. For tests and simulations.
    pub async fn run_as_leader(&self) {
        tokio::select! {
            biased;
            () = Box::pin(self.follow_all()) => (),
            () = Box::pin(self.serve()) => (),
        }
    }

    /// The same for ever.
    pub async fn run(&self) {
        self.run_until(pending()).await;
    }

    async fn serve(&self) {
        let inner = &self.0;
        inner.until_complete().await;
        // A term that was dropped has left tasks behind that nobody will finish.
        inner.queue.clear();
        self.resync();
        let worker = || {
            work(&inner.queue, &inner.parts.metrics, CONTROLLER, |name| {
                let inner = inner.clone();
                Box::pin(async move { inner.look_at(&name).await })
            })
        };
        join_all((0..inner.parts.settings.workers.max(1)).map(|_| Box::pin(worker()))).await;
    }

    async fn follow_all(&self) {
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
        let keeper = Keeper { index: &inner.index, changed: &inner.changed, add: &add };
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
}

impl Inner {
    pub(super) fn index(&self) -> MutexGuard<'_, Index> {
        // Whoever panicked held it between two complete changes.
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn until_complete(&self) {
        let mut changed = self.changed.subscribe();
        while !self.index().is_complete() {
            // The sender lives as long as we do.
            let _ = changed.changed().await;
        }
    }
}
