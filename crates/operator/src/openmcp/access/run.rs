//! The controller as a whole: followers all the time, workers while it leads.

use super::{
    index::{Followed, Index},
    minting::Minting,
};
use crate::{
    locks::LockStore,
    openmcp::{ObjectName, Parts, lanes::Lanes},
    runtime::{
        controller::{Controller, Leadership},
        events::Recorder,
        follow::MetadataOf,
        keep::Cache,
        looks::Looks,
        queue::fair::FairKey,
    },
};
use allotment_api::openmcp::{
    AccessRequest, Cluster,
    gardener::names::{ACCESS_NAMESPACE, label},
};
use allotment_core::openmcp::{
    access::{Prefixes, Provider},
    names::label_value,
};
use futures::{FutureExt, future::BoxFuture};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt, core::DeserializeGuard};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};
use tokio::time::Instant;

/// The controller's name in metrics and the Lease.
pub const CONTROLLER: &str = "accessrequest";

/// The lane of requests whose landscape is not known.
const NO_LANE: &str = "";

/// After a start there are more urgent things than to look into clusters.
const QUIET: Duration = Duration::from_mins(1);

/// How access is handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The namespace of ServiceAccounts inside clusters.
    pub namespace: String,
    /// How prefixes of OpenID Connect are read.
    pub prefixes: Prefixes,
}

impl Default for Settings {
    fn default() -> Self {
        Self { namespace: ACCESS_NAMESPACE.to_owned(), prefixes: Prefixes::default() }
    }
}

/// The AccessRequest controller of this provider. Cheap to clone. Somebody else runs [`crate::openmcp::Landscapes::follow`].
#[derive(Clone)]
pub struct Operator(Arc<Inner>);

pub(super) struct Inner {
    pub(super) parts: Parts,
    pub(super) access: Settings,
    pub(super) recorder: Recorder,
    cache: Cache<Index>,
    lanes: Lanes<ObjectName>,
    pub(super) looks: Looks<ObjectName>,
    /// Those that are looked at now.
    pub(super) busy: Mutex<BTreeSet<ObjectName>>,
    pub(super) minting: Minting,
    leadership: Leadership,
}

impl Operator {
    /// Puts it together. Nothing happens before it runs.
    pub fn new(parts: Parts, access: Settings) -> Self {
        let recorder = Recorder::new(
            parts.platform.clone(),
            "allotment.dev/accessrequest",
            &parts.settings.identity,
            parts.clock.clone(),
        );
        let lease = parts.settings.instance.lease_name(CONTROLLER);
        let leadership = parts.leadership(CONTROLLER, &lease);
        Self(Arc::new(Inner {
            parts,
            access,
            recorder,
            cache: Cache::default(),
            lanes: Lanes::new(),
            looks: Looks::new(Instant::now() + QUIET),
            busy: Mutex::default(),
            minting: Minting::default(),
            leadership,
        }))
    }

    /// Whether nothing runs, and nothing is due before this moment.
    pub fn is_idle_until(&self, moment: Instant) -> bool {
        self.0.lanes.is_idle_until(moment)
    }

    /// Whether every kind has been listed once.
    pub fn is_complete(&self) -> bool {
        self.0.cache.is_complete()
    }

    /// Looks at everything again, as a restart would.
    pub fn resync(&self) {
        let all = self.0.index().all_requests();
        all.into_iter().for_each(|name| self.0.add(name));
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
            // A term that was dropped has left tasks behind that nobody will finish.
            inner.lanes.clear();
            // Another leader may have ended a token that is kept here.
            inner.minting.forget_unpublished();
            self.resync();
            let workers = inner.parts.settings.workers;
            let key = |name: &ObjectName| FairKey::namespace(&name.namespace);
            let working = inner.lanes.work(workers, &inner.parts.metrics, CONTROLLER, key, |name| {
                let inner = inner.clone();
                Box::pin(async move { inner.look_at(&name).await })
            });
            let noticing = async {
                let mut changes = inner.parts.landscapes.changes();
                // The sender lives as long as the landscapes do.
                while changes.changed().await.is_ok() {
                    self.resync();
                }
            };
            tokio::join!(Box::pin(working), noticing);
        }
        .boxed()
    }

    fn follow_all(&self) -> BoxFuture<'_, ()> {
        async move {
            let inner = &self.0;
            let (platform, settings) = (&inner.parts.platform, &inner.parts.settings);
            let requests: Api<DeserializeGuard<AccessRequest>> = match &settings.namespace {
                None => Api::all(platform.clone()),
                Some(namespace) => Api::namespaced(platform.clone(), namespace),
            };
            let clusters: Api<DeserializeGuard<Cluster>> = Api::all(platform.clone());
            let secrets: Api<Secret> = match &settings.namespace {
                None => Api::all(platform.clone()),
                Some(namespace) => Api::namespaced(platform.clone(), namespace),
            };
            let ours = format!(
                "{}={},{}={}",
                label::PROVIDER_NAME,
                label_value(&settings.instance.provider),
                label::ENVIRONMENT,
                label_value(&settings.instance.environment),
            );
            let locks = LockStore::source(platform, &settings.own_namespace);
            let add = |name| inner.add(name);
            let keeper = inner.cache.keeper(&add);
            tokio::join!(
                keeper.keep(Followed::Requests, requests, None, Index::learn_request, |index, gone| {
                    index.forget_request(&ObjectName::of(&gone.metadata))
                }),
                keeper.keep(Followed::Clusters, clusters, None, Index::learn_cluster, |index, gone| {
                    index.forget_cluster(&ObjectName::of(&gone.metadata))
                }),
                keeper.keep(
                    Followed::Secrets,
                    MetadataOf(secrets),
                    Some(ours),
                    |index, secret| index.learn_secret(&secret),
                    |index, gone| index.lose_secret(&gone.metadata),
                ),
                keeper.keep(Followed::Locks, locks, None, Index::upsert_lock, |index, gone| {
                    index.remove_lock(&gone.name_any())
                }),
            );
        }
        .boxed()
    }
}

impl Inner {
    /// In the lane of its landscape: one that hangs holds up no other.
    fn add(&self, name: ObjectName) {
        let cluster = {
            let index = self.index();
            index.request(&name).and_then(|request| index.cluster_of(&request))
        };
        let place = cluster.and_then(|cluster| self.parts.landscapes.place_of(&cluster).ok());
        match place {
            Some(place) => self.lanes.add(&place.landscape, name),
            None => self.lanes.add(NO_LANE, name),
        }
    }

    pub(super) fn provider(&self) -> Provider<'_> {
        let instance = &self.parts.settings.instance;
        Provider {
            environment: &instance.environment,
            name: &instance.provider,
            namespace: &self.access.namespace,
            prefixes: self.access.prefixes,
        }
    }

    pub(super) fn index(&self) -> MutexGuard<'_, Index> {
        self.cache.index()
    }
}
