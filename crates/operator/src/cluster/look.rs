//! One look at a Cluster.

use super::{
    ClusterName, Trouble,
    adoption::Review,
    rollout::Rollout,
    run::{Inner, Insight},
};
use crate::{
    planted::Planted,
    runtime::{
        events::Tone,
        looks::{first_look, next_look},
        queue::Outcome,
    },
};
use allotment_api::{
    gardener::{CloudProfileSpec, Shoot},
    kyma::{Cluster, ClusterPhase, ClusterSpec, ClusterStatus, SubscriptionRequest},
    names::annotation,
};
use allotment_core::{
    cluster::{
        AllowedReference, Clusters,
        flow::{self, Decision, Looked, Standing, View, decide, is_request_of},
        shoot_name,
    },
    marks::{RETURNED, RETURNED_BECAUSE},
    tenancy::NamespaceRole,
};
use kube::ResourceExt;
use std::{
    sync::{Arc, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The longest way through a look has nine steps.
const STEPS: usize = 20;

/// What is known of a Cluster and what belongs to it.
pub(super) struct Scene {
    pub(super) name: ClusterName,
    pub(super) cluster: Arc<Cluster>,
    pub(super) request: Option<Arc<SubscriptionRequest>>,
    /// The UID of a Shoot that the platform lets it adopt, and what came of each adoption.
    pub(super) adopts: Option<String>,
    pub(super) reviews: Vec<Review>,
    pub(super) shoot: Option<Arc<Shoot>>,
    pub(super) is_live: bool,
    pub(super) refusal: Option<String>,
    pub(super) administrators: Option<Result<(), String>>,
    pub(super) standing: Option<Result<Standing, String>>,
    pub(super) is_due: bool,
    /// Once for a whole reconcile: administrators that were seen were seen with or without the lock.
    is_locked: bool,
    pub(super) are_issuers_checked: bool,
    pub(super) has_turn: bool,
    pub(super) clusters: Arc<Clusters>,
    role: NamespaceRole,
    profile: Option<Arc<CloudProfileSpec>>,
}

impl Scene {
    /// The UID of the Cluster's own request.
    pub(super) fn own_request(&self) -> Option<String> {
        own_uid(self.request.as_deref()?, &self.cluster)
    }
}

fn own_uid(request: &SubscriptionRequest, cluster: &Cluster) -> Option<String> {
    Some(request).filter(|request| is_request_of(request, cluster))?.uid()
}

/// What comes after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The next decision.
    Decide,
    /// The status, and then nothing until something changes.
    Publish,
    /// Nothing: the Cluster is gone, or its status is written.
    Nothing,
}

impl Inner {
    pub(super) async fn look_at_cluster(&self, name: &ClusterName) -> Result<Outcome, Trouble> {
        let role = self.roles.role_now(&name.namespace).await?;
        let Some(mut scene) = self.gather(name, role) else {
            self.forget(name);
            return Ok(Outcome::Done);
        };
        if self.index().take_returned(name) {
            self.forget(name);
            self.recorder.warn_once(&*scene.cluster, RETURNED, RETURNED_BECAUSE).await;
        }
        self.review_adoptions(&mut scene).await?;
        self.believe_tenant(&mut scene);
        let (mut last, exceeded) = (None, self.exceeded(name));
        for _ in 0..STEPS {
            let mut decision = decide(&self.view(&scene));
            if let Some(exceeded) = &exceeded {
                flow::refuse(&self.view(&scene), &mut decision, exceeded);
            }
            tracing::debug!(cluster = %name, step = %decision.step, "decided");
            match Box::pin(self.act(&mut scene, &decision)).await? {
                Next::Decide => last = Some(decision.step),
                Next::Publish => {
                    self.publish(&mut scene, &decision.status).await?;
                    let again = self.report_adoptions(&scene, &decision.status).await?;
                    return Ok(self.outcome(&scene, &decision, again));
                }
                Next::Nothing => return Ok(self.outcome(&scene, &decision, None)),
            }
        }
        Err(Trouble::Endless(last.map(|step| step.to_string()).unwrap_or_default()))
    }

    /// With a planted fault: takes the tenant's word for what it must not be taken for.
    fn believe_tenant(&self, scene: &mut Scene) {
        if self.planted.has(Planted::AdoptedByAnnotation) {
            scene.adopts = scene.cluster.annotations().get(annotation::ADOPT_SHOOT).cloned();
        }
        if self.planted.has(Planted::OwnedByStatus) {
            scene.adopts = scene.cluster.status.as_ref().and_then(|status| status.shoot_uid.clone());
        }
        if self.planted.has(Planted::AnyReferenceForAll) {
            let any = |kind: &str| AllowedReference {
                kind: kind.to_owned(),
                name: "*".to_owned(),
                namespaces: None,
                tenants: None,
            };
            Arc::make_mut(&mut scene.clusters).references = ["Secret", "ConfigMap"].map(any).to_vec();
        }
        if self.planted.has(Planted::ProtectionIgnored) {
            Arc::make_mut(&mut scene.cluster).spec.deletion_protection = Some(false);
        }
    }

    /// What the caches know.
    fn gather(&self, name: &ClusterName, role: NamespaceRole) -> Option<Scene> {
        let (index, clusters) = (self.index(), self.clusters());
        let mut cluster = index.cluster(name)?;
        let shoot_name = shoot_name(&cluster, &self.settings.project).ok();
        let request = index.request_of(&cluster);
        let own = request.as_deref().and_then(|request| own_uid(request, &cluster));
        let shoot = index.shoot_of(&cluster, own.as_deref(), shoot_name.as_deref());
        if shoot.is_none() && self.planted.has(Planted::MissingShootMadeAgain) {
            let marks = Arc::make_mut(&mut cluster).annotations_mut();
            marks.insert(annotation::RECREATE_SHOOT.to_owned(), "true".to_owned());
        }
        let scene = Scene {
            name: name.clone(),
            request,
            adopts: None,
            reviews: Vec::new(),
            shoot,
            is_live: false,
            refusal: None,
            administrators: None,
            standing: None,
            is_due: false,
            is_locked: index.is_locked(name),
            are_issuers_checked: false,
            has_turn: self.rollout().has_turn(name, Instant::now()),
            profile: index.profile_for(&cluster, &clusters),
            role,
            clusters,
            cluster,
        };
        drop(index);
        let Insight { next, standing } = self.insight(&scene);
        let is_due =
            Instant::now() >= next || scene.cluster.annotations().contains_key(annotation::RECONCILE);
        let known = standing.or_else(|| written_standing(&scene.cluster));
        let is_of_now = scene
            .cluster
            .status
            .as_ref()
            .is_some_and(|status| status.observed_generation == scene.cluster.metadata.generation);
        let standing = known.filter(|_| is_of_now && !is_due).map(Ok);
        Some(Scene { is_due, standing, ..scene })
    }

    fn view<'a>(&'a self, scene: &'a Scene) -> View<'a> {
        View {
            cluster: &scene.cluster,
            role: &scene.role,
            clusters: &scene.clusters,
            profile: scene.profile.as_deref(),
            request: scene.request.as_deref(),
            shoot: scene.shoot.as_deref(),
            adopts: scene.adopts.as_deref(),
            is_live: scene.is_live,
            garden_namespace: &self.settings.garden_namespace,
            project: &self.settings.project,
            refusal: scene.refusal.as_deref(),
            has_turn: scene.has_turn,
            administrators: match &scene.administrators {
                Some(Ok(())) => Looked::Seen(&()),
                Some(Err(why)) => Looked::Failed(why),
                None if scene.is_due => Looked::Due,
                None => Looked::NotYet,
            },
            is_locked: scene.is_locked,
            issuers: match scene.are_issuers_checked {
                true => Looked::Seen(&()),
                false if scene.is_due => Looked::Due,
                false => Looked::NotYet,
            },
            standing: match &scene.standing {
                Some(Ok(standing)) => Looked::Seen(standing),
                Some(Err(why)) => Looked::Failed(why),
                None => Looked::Due,
            },
            now: self.clock.now(),
        }
    }

    /// When to look again though nothing changes.
    fn outcome(&self, scene: &Scene, decision: &Decision, review: Option<Duration>) -> Outcome {
        let pace = scene.clusters.rollout.clusters_per_minute;
        let turn = decision.waits_for_turn.then(|| self.rollout().queue(&scene.name, pace, Instant::now()));
        let spec = &scene.cluster.spec;
        let looks_inside = spec.byoc.is_some() || !spec.administrators.is_empty() || has_issuers(spec);
        let insight = self.insight(scene).next.saturating_duration_since(Instant::now());
        let waits = [
            decision.again,
            turn,
            review,
            Some(insight.max(Duration::from_secs(1))).filter(|_| looks_inside),
        ];
        waits.into_iter().flatten().min().map_or(Outcome::Done, Outcome::After)
    }

    /// Writes the status, if it says something else, and tells what is new.
    pub(super) async fn publish(&self, scene: &mut Scene, status: &ClusterStatus) -> Result<(), Trouble> {
        let before = scene.cluster.clone();
        let Some(written) = self.write_status(&before, status).await? else { return Ok(()) };
        scene.cluster = Arc::new(written);
        for news in flow::news(&before, status, scene.adopts.as_deref()) {
            let tone = if news.is_warning { Tone::Warning } else { Tone::Normal };
            tracing::info!(cluster = %scene.name, reason = news.reason, because = news.note, "news");
            self.recorder.say(&*before, tone, news.reason, &news.note).await;
        }
        Ok(())
    }

    /// What is remembered of a look into the cluster. After a start, the first look of each comes at its own time.
    pub(super) fn insight(&self, scene: &Scene) -> Insight {
        let insights = self.insights.lock().unwrap_or_else(PoisonError::into_inner);
        let uid = scene.cluster.metadata.uid.as_deref();
        let first = || Insight { next: first_look(self.started(), uid), standing: None };
        insights.get(&scene.name).cloned().unwrap_or_else(first)
    }

    /// Remembers that a cluster was looked into.
    pub(super) fn has_looked_into(&self, scene: &Scene, standing: Option<Standing>) {
        let next = next_look(scene.cluster.metadata.uid.as_deref());
        let mut insights = self.insights.lock().unwrap_or_else(PoisonError::into_inner);
        insights.insert(scene.name.clone(), Insight { next, standing });
    }

    /// What was seen may be otherwise now: the next look is due at once.
    pub(super) fn look_into_soon(&self, name: &ClusterName) {
        let mut insights = self.insights.lock().unwrap_or_else(PoisonError::into_inner);
        insights.insert(name.clone(), Insight { next: Instant::now(), standing: None });
    }

    /// Forgets a Cluster that is gone.
    fn forget(&self, name: &ClusterName) {
        self.insights.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        self.rollout().forget(name);
    }

    pub(super) fn rollout(&self) -> MutexGuard<'_, Rollout> {
        self.rollout.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn has_issuers(spec: &ClusterSpec) -> bool {
    spec.oidc_config.is_some() || !spec.additional_oidc_configs.is_empty()
}

/// What the status says of a cluster that the tenant brought, and that could be used: a restart need not look into all of them.
pub(super) fn written_standing(cluster: &Cluster) -> Option<Standing> {
    let status = cluster.status.as_ref()?;
    let is_good = status.phase == Some(ClusterPhase::Ready);
    let (server, version) = (status.api_server.clone()?, status.kubernetes_version.clone()?);
    is_good.then(|| Standing { server, version, user: String::new(), is_admin: true })
}
