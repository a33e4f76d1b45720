//! One look at a ProviderConfig.

use super::{
    Trouble,
    landscape::{with, without},
    run::Inner,
};
use crate::{
    openmcp::{NoWay, checked},
    runtime::{
        call::{CallError, call},
        queue::Outcome,
    },
};
use allotment_api::openmcp::{
    ClusterProfile, ClusterProfileSpec,
    gardener::{ProviderConfig, names::finalizer},
    names::{Phase, annotation},
};
use allotment_core::openmcp::{
    provider_config::{Cloud, CloudProfileName, Decision, Step, View, cloud_profile_of, decide},
    status,
};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::json;
use std::{sync::Arc, time::Duration};

/// Take the annotation off, put the finalizer on, offer, rest.
const STEPS: usize = 6;

/// Clocks drift, and timers of months with them.
const LONGEST_WAIT: Duration = Duration::from_hours(6);

impl Inner {
    pub(super) async fn look_at_config(&self, name: &str) -> Result<Outcome, Trouble> {
        let api: Api<ProviderConfig> = Api::all(self.parts.platform.clone());
        let Some(mut config) = self.parts.landscapes.config(name) else { return Ok(Outcome::Done) };
        let mut refusal = None;
        for _ in 0..STEPS {
            let decided = self.decide_about(&config, refusal.as_deref());
            let Some(Decision { step, status, again }) = decided else {
                return Ok(Outcome::Done);
            };
            tracing::debug!(config = name, ?step, "decided");
            let change = match step {
                Step::Leave => return Ok(Outcome::Done),
                Step::Rest => {
                    let written = checked::status(&api, &*config, config.status.as_ref(), &status).await?;
                    if let Some(written) = written {
                        let before = config.status.as_ref().map(|status| &status.common);
                        self.tell(&*config, &status::news(before, &status.common)).await;
                        self.parts.landscapes.learn_config(written);
                    }
                    return Ok(again.map_or(Outcome::Done, |wait| Outcome::After(wait.min(LONGEST_WAIT))));
                }
                Step::Offer(name, spec) => {
                    match self.offer(&name, &spec).await {
                        Err(error) if matches!(error.code(), Some(400 | 403 | 422)) => {
                            refusal = Some(error.to_string());
                        }
                        offered => offered?,
                    }
                    continue;
                }
                Step::Withdraw(name) => {
                    self.withdraw(&name).await?;
                    continue;
                }
                Step::Unmark => json!({ "annotations": { annotation::OPERATION: null } }),
                Step::Hold => with(&*config, finalizer::PROVIDER_CONFIG),
                Step::LetGo => {
                    let change = json!({ "metadata": without(&*config, finalizer::PROVIDER_CONFIG) });
                    checked::merge(&api, &*config, change).await?;
                    return Ok(Outcome::Done);
                }
            };
            let written = checked::merge(&api, &*config, json!({ "metadata": change })).await?;
            self.parts.landscapes.learn_config(written.clone());
            config = Arc::new(written);
        }
        Err(Trouble::Endless(format!("look at ProviderConfig {name}")))
    }

    /// What is to be done; nothing while it is not known what there is.
    fn decide_about(&self, config: &ProviderConfig, refusal: Option<&str>) -> Option<Decision> {
        let (landscapes, instance) = (&self.parts.landscapes, &self.parts.settings.instance);
        let name = config.metadata.name.as_deref().unwrap_or_default();
        let place = landscapes.place_for(config);
        let is_ending = config.metadata.deletion_timestamp.is_some();
        let is_ready =
            config.status.as_ref().is_some_and(|status| status.common.phase == Phase::Ready.as_str());
        match place {
            _ if is_ending => (),
            // It is told when that is known, and nothing is taken back until then.
            Err(NoWay::NotYet) => return None,
            Err(NoWay::Away { .. }) if is_ready => return None,
            _ => (),
        }
        let own = instance.profile_name(name);
        let mut profiles = landscapes.profiles_of(name);
        let index = self.index();
        let cloud = match (&place, cloud_profile_of(config)) {
            (Ok(place), Some(CloudProfileName { is_namespaced, name })) => {
                let namespace = is_namespaced.then_some(place.namespace.as_str());
                index.cloud(&place.landscape, namespace, &name)
            }
            _ => None,
        };
        if !profiles.contains(&own) {
            profiles.push(own.clone());
        }
        let users = profiles.iter().flat_map(|profile| index.clusters_of(profile)).filter(|_| is_ending);
        let clusters: Vec<String> = users.map(ToString::to_string).collect();
        drop(index);
        profiles.retain(|profile| *profile != own);
        let trouble = place.as_ref().err().map(|why| (why.reason(), why.to_string()));
        let profile = landscapes.profile(&own);
        Some(decide(&View {
            instance,
            config,
            place: trouble.as_ref().map_or(Ok(()), |(reason, message)| Err((*reason, message.as_str()))),
            cloud: match &cloud {
                None => Cloud::NotYet,
                Some(None) => Cloud::Missing,
                Some(Some(spec)) => Cloud::Known(spec),
            },
            profile: profile.as_deref(),
            refusal,
            elsewhere: &profiles,
            clusters: &clusters,
            now: self.parts.clock.now(),
        }))
    }

    async fn offer(&self, name: &str, spec: &ClusterProfileSpec) -> Result<(), CallError> {
        let api: Api<ClusterProfile> = Api::all(self.parts.platform.clone());
        let profile = ClusterProfile::new(name, spec.clone());
        let params = PatchParams::apply(&self.field_manager).force();
        let patch = Patch::Apply(&profile);
        let written =
            call(|| format!("apply ClusterProfile {name}"), api.patch(name, &params, &patch)).await?;
        tracing::info!(profile = name, versions = spec.supported_versions.len(), "offered");
        self.parts.landscapes.learn_profile(written);
        Ok(())
    }

    async fn withdraw(&self, name: &str) -> Result<(), Trouble> {
        let api: Api<ClusterProfile> = Api::all(self.parts.platform.clone());
        let params = DeleteParams::default();
        match call(|| format!("delete ClusterProfile {name}"), api.delete(name, &params)).await {
            Err(error) if error.is_not_found() => (),
            deleted => drop(deleted?),
        }
        self.parts.landscapes.forget_profile(name);
        Ok(())
    }
}
