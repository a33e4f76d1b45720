//! One look at a Cluster.

use super::{Task, Trouble, run::Inner};
use crate::{
    openmcp::{NoWay, ObjectName, checked, landscapes::Place},
    runtime::queue::Outcome,
};
use allotment_api::openmcp::{
    Cluster, ClusterProfile, ClusterStatus,
    gardener::{
        ClusterConfig, ProviderConfig,
        names::{ProviderCondition, Reason},
    },
    names::Phase,
};
use allotment_core::{
    openmcp::{
        cluster::{Account, Decision, Seen, Step, View, decide, names},
        status::{self, Finding},
    },
    text::without_addresses,
};
use kube::Api;
use std::{collections::BTreeMap, sync::Arc};

/// The longest way through a look has nine steps.
const STEPS: usize = 20;

/// What is known of a Cluster and what belongs to it.
pub(super) struct Scene {
    pub(super) name: ObjectName,
    pub(super) cluster: Arc<Cluster>,
    pub(super) place: Result<Place, NoWay>,
    pub(super) shoots: BTreeMap<String, Seen>,
    pub(super) is_forced: bool,
    pub(super) is_applied: bool,
    pub(super) refusal: Option<String>,
    pub(super) account: Option<Account>,
    profile: Option<Arc<ClusterProfile>>,
    config: Option<Arc<ProviderConfig>>,
    cluster_configs: Vec<(String, Option<Arc<ClusterConfig>>)>,
}

impl Scene {
    fn is_ready(&self) -> bool {
        let status = self.cluster.status.as_ref();
        let is_ending = self.cluster.metadata.deletion_timestamp.is_some();
        !is_ending && status.is_some_and(|status| status.common.phase == Phase::Ready.as_str())
    }
}

/// What comes after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The next decision.
    Decide,
    /// The status, and then nothing until something changes.
    Publish,
    /// Nothing: the Cluster is not ours, or is gone, or its status is written.
    Nothing,
}

impl Inner {
    pub(super) async fn look_at_cluster(&self, name: &ObjectName, lane: &str) -> Result<Outcome, Trouble> {
        let Some(mut scene) = self.gather(name) else { return Ok(Outcome::Done) };
        match &scene.place {
            // It is told when that is known.
            Err(NoWay::NotYet) => return Ok(Outcome::Done),
            // One that was ready may well be: nothing is taken back because this process began at the wrong moment.
            Err(NoWay::Away { .. }) if scene.is_ready() => return Ok(Outcome::Done),
            Ok(place) if place.landscape != lane => {
                self.add(&place.landscape, Task::Cluster(name.clone(), place.landscape.clone()));
                return Ok(Outcome::Done);
            }
            _ => (),
        }
        let looked = self.look(&mut scene).await;
        if let Err(Trouble::Garden(error)) = &looked
            && !error.is_conflict()
        {
            self.could_not(&mut scene, &without_addresses(&error.to_string())).await?;
        }
        looked
    }

    async fn look(&self, scene: &mut Scene) -> Result<Outcome, Trouble> {
        let mut last = None;
        for _ in 0..STEPS {
            let decision = self.decide(scene);
            tracing::debug!(cluster = %scene.name, step = %decision.step, "decided");
            let next = Box::pin(self.act(scene, &decision)).await?;
            match next {
                Next::Decide => last = Some(decision.step),
                Next::Publish | Next::Nothing => {
                    if next == Next::Publish {
                        self.publish(scene, &decision.status).await?;
                    }
                    return Ok(decision.again.map_or(Outcome::Done, Outcome::After));
                }
            }
        }
        Err(Trouble::Endless(last.as_ref().map(Step::to_string).unwrap_or_default()))
    }

    /// What the caches know; nothing of a Cluster that is not ours.
    fn gather(&self, name: &ObjectName) -> Option<Scene> {
        let (landscapes, instance) = (&self.parts.landscapes, &self.parts.settings.instance);
        let cluster = self.index().cluster(name)?;
        if !landscapes.is_ours(&cluster) {
            return None;
        }
        let place = landscapes.place_of(&cluster);
        let profile = landscapes.profile(&cluster.spec.profile);
        let config =
            profile.as_ref().and_then(|profile| landscapes.config(&profile.spec.provider_config_ref.name));
        let index = self.index();
        let mut shoots = BTreeMap::new();
        if let Ok(place) = &place {
            let place = (place.landscape.clone(), place.namespace.clone());
            for name in names(&cluster, instance) {
                if let Some(shoot) = index.shoot(&place, &name) {
                    shoots.insert(name, Seen { shoot: Some(shoot), is_live: false });
                }
            }
        }
        let cluster_configs = index.configs_of(&cluster);
        drop(index);
        Some(Scene {
            name: name.clone(),
            cluster,
            place,
            shoots,
            is_forced: false,
            is_applied: false,
            refusal: None,
            account: None,
            profile,
            config,
            cluster_configs,
        })
    }

    fn decide(&self, scene: &Scene) -> Decision {
        let place = scene.place.as_ref().map(|place| allotment_core::openmcp::cluster::Place {
            landscape: place.landscape.clone(),
            project: place.project.clone(),
            namespace: place.namespace.clone(),
        });
        let trouble = scene.place.as_ref().err().map(|why| (why.reason(), why.to_string()));
        decide(&View {
            instance: &self.parts.settings.instance,
            policy: &self.parts.settings.policy,
            cluster: &scene.cluster,
            is_ours: true,
            profile: scene.profile.as_deref(),
            config: scene.config.as_deref(),
            cluster_configs: &scene.cluster_configs,
            place: match (&place, &trouble) {
                (Ok(place), _) => Ok(place),
                (Err(_), trouble) => {
                    let trouble = trouble.as_ref().map(|(reason, why)| (*reason, why.as_str()));
                    Err(trouble.unwrap_or_default())
                }
            },
            shoots: &scene.shoots,
            account: scene.account.as_ref(),
            is_forced: scene.is_forced,
            is_applied: scene.is_applied,
            refusal: scene.refusal.as_deref(),
            now: self.parts.clock.now(),
        })
    }

    /// Writes the status, if it says something else, and tells what is new.
    pub(super) async fn publish(&self, scene: &mut Scene, status: &ClusterStatus) -> Result<(), Trouble> {
        let before = scene.cluster.clone();
        let api = self.clusters_in(&scene.name.namespace);
        let written = checked::status(&api, &*before, before.status.as_ref(), status).await?;
        let Some(written) = written else { return Ok(()) };
        self.index().learn_cluster(written.clone());
        scene.cluster = Arc::new(written);
        let news = status::news(before.status.as_ref().map(|status| &status.common), &status.common);
        tracing::info!(cluster = %scene.name, phase = status.common.phase, because = news.join("; "), "status");
        self.tell(&*before, &news).await;
        Ok(())
    }

    /// The garden did not answer. Whoever waits for the Cluster is told; one that is ready stays so, since it may well be.
    async fn could_not(&self, scene: &mut Scene, why: &str) -> Result<(), Trouble> {
        if let Ok(place) = &scene.place {
            self.parts.landscapes.look_again(&place.landscape);
        }
        if scene.is_ready() {
            return Ok(());
        }
        let mut status = scene.cluster.status.clone().unwrap_or_default();
        let (type_, reason) =
            (ProviderCondition::ShootManagement.as_str(), Reason::GardenClusterInteractionProblem.as_str());
        let finding = Finding::fails(type_, reason, why);
        let now = self.parts.clock.now();
        status.common = status::report(&scene.cluster.metadata, Some(&status.common), [finding], now);
        self.publish(scene, &status).await
    }

    pub(super) fn clusters_in(&self, namespace: &str) -> Api<Cluster> {
        Api::namespaced(self.parts.platform.clone(), namespace)
    }
}
