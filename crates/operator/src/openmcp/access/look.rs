//! One look at a request.

use super::{index::cluster_name, run::Inner, secret, trouble::Trouble};
use crate::{
    openmcp::{NoWay, ObjectName, Way},
    planted::Planted,
    runtime::{call::call, queue::Outcome},
    target::Reached,
};
use allotment_api::openmcp::{
    AccessRequest, Cluster, ClusterRequest,
    gardener::names::Reason,
    names::{Phase, RequestPhase, label},
};
use allotment_core::{
    marks::{RETURNED, RETURNED_BECAUSE},
    openmcp::{
        access::{Hitch, Inside, Issued, Provider, Stranded, Target, View, decide},
        cluster::Record,
    },
};
use kube::{Api, ResourceExt};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The longest way through a look has six steps.
const STEPS: usize = 12;

/// What is known of a request and its cluster.
pub(super) struct Scene {
    pub(super) name: ObjectName,
    pub(super) request: Arc<AccessRequest>,
    /// Why its namespace may not refer to its Cluster.
    refusal: Option<String>,
    pub(super) target: Target,
    /// Whether an AccessLock names it: once for a whole reconcile.
    is_locked: bool,
    /// The way to the Shoot, where the target is one.
    pub(super) way: Option<Way>,
    pub(super) secret: Option<Issued>,
    /// The cluster, once it was reached in this look.
    pub(super) reached: Option<Reached>,
    pub(super) inside: Option<Inside>,
    /// Whether nothing of it can be in the cluster yet.
    pub(super) is_first: bool,
    pub(super) is_issued: bool,
    pub(super) is_withdrawn: bool,
    pub(super) hitch: Option<Hitch>,
    pub(super) is_look_due: bool,
}

/// What comes after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The next decision.
    Decide,
    /// The status, and then nothing until something changes.
    Publish,
    /// Nothing.
    Nothing,
}

impl Scene {
    pub(super) fn view<'a>(&'a self, provider: &'a Provider<'a>, inner: &Inner) -> View<'a> {
        View {
            provider,
            request: &self.request,
            refusal: self.refusal.as_deref(),
            target: &self.target,
            is_locked: self.is_locked,
            secret: self.secret.as_ref(),
            inside: self.inside.as_ref(),
            is_issued: self.is_issued,
            is_withdrawn: self.is_withdrawn,
            hitch: self.hitch.as_ref(),
            is_look_due: self.is_look_due,
            now: inner.parts.clock.now(),
        }
    }
}

/// Says that somebody looks at a request, as long as it is there. A request can be in two lanes while its landscape becomes
/// known.
struct Busy<'a> {
    all: &'a Mutex<BTreeSet<ObjectName>>,
    name: &'a ObjectName,
}

impl<'a> Busy<'a> {
    fn begin(all: &'a Mutex<BTreeSet<ObjectName>>, name: &'a ObjectName) -> Option<Self> {
        let is_new = all.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
        is_new.then_some(Self { all, name })
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(self.name);
    }
}

impl Inner {
    pub(super) async fn look_at(&self, name: &ObjectName) -> Result<Outcome, Trouble> {
        let Some(_busy) = Busy::begin(&self.busy, name) else { return Ok(Outcome::Again) };
        let Some(mut scene) = self.gather(name) else {
            self.looks.forget(name);
            self.minting.taken_back(name);
            return Ok(Outcome::Done);
        };
        if self.index().take_returned(name) {
            self.looks.forget(name);
            self.minting.taken_back(name);
            self.recorder.warn_once(&*scene.request, RETURNED, RETURNED_BECAUSE).await;
        }
        self.make_sure(&mut scene).await?;
        self.judge(&mut scene).await?;
        for _ in 0..STEPS {
            let provider = self.provider();
            let decision = decide(&scene.view(&provider, self));
            match Box::pin(self.act(&mut scene, &decision)).await? {
                Next::Decide => (),
                Next::Nothing => return Ok(Outcome::Done),
                Next::Publish => {
                    self.write_status(&mut scene, &decision.status).await?;
                    if decision.is_failed {
                        let message = scene.hitch.map(|hitch| hitch.message).unwrap_or_default();
                        return Err(Trouble::Hitch(message));
                    }
                    return Ok(self.outcome(&scene, decision.again));
                }
            }
        }
        Err(Trouble::Endless)
    }

    fn gather(&self, name: &ObjectName) -> Option<Scene> {
        let (request, cluster, secret, is_locked) = {
            let index = self.index();
            let request = index.request(name)?;
            let secret = index.secret_of(&request, &secret::name_of(name));
            (request.clone(), index.cluster_of(&request), secret, index.is_locked(&request))
        };
        let (target, way) = self.target(&request, cluster.as_deref(), secret.is_some());
        Some(Scene {
            is_look_due: Instant::now() >= self.looks.due(name, request.metadata.uid.as_deref()),
            name: name.clone(),
            request,
            refusal: None,
            target,
            is_locked,
            way,
            secret,
            reached: None,
            inside: None,
            is_first: false,
            is_issued: false,
            is_withdrawn: false,
            hitch: None,
        })
    }

    /// A Cluster that is gone lets a request go without a look into it: that it is gone is not taken from a cache.
    async fn make_sure(&self, scene: &mut Scene) -> Result<(), Trouble> {
        let is_deleted = scene.request.metadata.deletion_timestamp.is_some();
        let Some(name) = cluster_name(&scene.request) else { return Ok(()) };
        let is_unsure = matches!(scene.target, Target::NoCluster { .. } | Target::NoShoot);
        if !is_deleted || !is_unsure {
            return Ok(());
        }
        let api: Api<Cluster> = Api::namespaced(self.parts.platform.clone(), &name.namespace);
        let live = call(|| format!("read Cluster {name}"), api.get_opt(&name.name)).await?;
        (scene.target, scene.way) = self.target(&scene.request, live.as_ref(), scene.secret.is_some());
        Ok(())
    }

    /// Judges whether the namespace of a request may refer to its Cluster, on live reads where that takes more than names.
    /// That the generic controller has judged it before cannot be told from the request: a tenant may write all of it.
    async fn judge(&self, scene: &mut Scene) -> Result<(), Trouble> {
        let policy = &self.parts.settings.policy;
        let request = scene.request.clone();
        let is_simple = request.metadata.deletion_timestamp.is_some()
            || self.parts.landscapes.has(Planted::AnyNamespaceForAll)
            || cluster_name(&request).is_none()
            || policy.judge(&request, None, None).is_ok();
        if is_simple {
            return Ok(());
        }
        let (mut asked, mut cluster) = (None, None);
        if let Some(to) = &request.spec.request_ref {
            let api: Api<ClusterRequest> = Api::namespaced(self.parts.platform.clone(), &to.namespace);
            let what = || format!("read ClusterRequest {}/{}", to.namespace, to.name);
            asked = call(what, api.get_opt(&to.name)).await?;
        }
        if let (Some(_), Some(to)) = (&asked, &request.spec.cluster_ref) {
            let api: Api<Cluster> = Api::namespaced(self.parts.platform.clone(), &to.namespace);
            let what = || format!("read Cluster {}/{}", to.namespace, to.name);
            cluster = call(what, api.get_opt(&to.name)).await?;
        }
        scene.refusal = policy.judge(&request, asked.as_ref(), cluster.as_ref()).err();
        if let Some(why) = &scene.refusal {
            tracing::info!(request = %scene.name, because = why, "not granted");
        }
        Ok(())
    }

    fn target(
        &self,
        request: &AccessRequest,
        cluster: Option<&Cluster>,
        has_secret: bool,
    ) -> (Target, Option<Way>) {
        let (landscapes, instance) = (&self.parts.landscapes, &self.parts.settings.instance);
        let Some(name) = cluster_name(request) else { return (Target::NotOurs, None) };
        let labelled = request.labels().get(label::PROFILE).map(|profile| instance.would_own(profile));
        let gone = Target::NoCluster { name: format!("Cluster {name}") };
        let Some(cluster) = cluster else {
            // Where there is no Cluster nothing is granted, and whoever could have granted it may be nobody by now.
            let is_ours =
                has_secret || labelled == Some(true) || request.metadata.deletion_timestamp.is_some();
            return (if is_ours { gone } else { Target::NotOurs }, None);
        };
        if !landscapes.is_listed() {
            return (Target::Unknown, None);
        }
        if !landscapes.is_ours(cluster) {
            // Ours is gone, and another one has its name: who holds the request for ours lets it go.
            let stranded = Stranded {
                is_deleted: request.metadata.deletion_timestamp.is_some(),
                has_record: Record::of(cluster).is_some(),
                would_own: instance.would_own(&cluster.spec.profile),
                labelled,
                has_secret,
            };
            return (if stranded.is_left() { gone } else { Target::NotOurs }, None);
        }
        if Record::of(cluster).is_none() {
            return (Target::NoShoot, None);
        }
        match landscapes.way_to(cluster) {
            Ok(way) => {
                let status = cluster.status.as_ref();
                let target = Target::Shoot {
                    uid: way.uid.clone(),
                    is_made: status.is_some_and(|it| it.api_server.is_some() || !it.endpoints.is_empty()),
                    is_ready: status.is_some_and(|it| it.common.phase == Phase::Ready.as_str()),
                };
                (target, Some(way))
            }
            Err(NoWay::NotYet) => (Target::Unknown, None),
            Err(NoWay::NotOurs { .. }) => (Target::NotOurs, None),
            Err(NoWay::NoShoot) => {
                let (reason, message) = (Reason::ShootNotFound.as_str(), NoWay::NoShoot.to_string());
                (Target::NoWay { reason, message }, None)
            }
            Err(no_way) => (Target::NoWay { reason: no_way.reason(), message: no_way.to_string() }, None),
        }
    }

    /// When to look again though nothing changes.
    fn outcome(&self, scene: &Scene, again: Option<Duration>) -> Outcome {
        let phase = scene.request.status.as_ref().map(|status| status.common.phase.as_str());
        let is_granted = phase == Some(RequestPhase::Granted.as_str());
        let due = self.looks.due(&scene.name, scene.request.metadata.uid.as_deref());
        let look = due.saturating_duration_since(Instant::now());
        // One that is overdue has no way now, and is told when it has one.
        let look = Some(look.max(Duration::from_mins(1))).filter(|_| is_granted);
        let waits = [again, look];
        waits.into_iter().flatten().min().map_or(Outcome::Done, Outcome::After)
    }

    pub(super) fn has_looked(&self, scene: &mut Scene) {
        self.looks.have_seen(scene.name.clone(), scene.request.metadata.uid.as_deref());
        scene.is_look_due = false;
    }
}
