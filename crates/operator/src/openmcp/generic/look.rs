//! One look at a request.

use super::{index::Scene, run::Inner};
use crate::{
    openmcp::{ObjectName, checked},
    planted::Planted,
    runtime::{
        call::{CallError, call},
        events::Tone,
        queue::Outcome,
        work::Obstacle,
    },
};
use allotment_api::openmcp::{
    AccessRequest,
    names::{RequestPhase, annotation, label},
};
use allotment_core::openmcp::{
    policy::Policy,
    resolve::{Resolution, Verdict, resolve, status},
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Preconditions},
};
use serde_json::{Value, json};
use std::sync::Arc;

/// Why a look did not come to its end: a call to the platform.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Trouble(#[from] CallError);

impl Obstacle for Trouble {
    fn category(&self) -> &'static str {
        self.0.category()
    }

    fn outcome(&self) -> Outcome {
        if self.0.is_conflict() { Outcome::Again } else { Outcome::Failed }
    }
}

impl Inner {
    pub(super) async fn look_at(&self, name: &ObjectName) -> Result<Outcome, Trouble> {
        let Some(mut scene) = self.index().scene(name) else { return Ok(Outcome::Done) };
        let now = self.parts.clock.now();
        let policy = match self.parts.landscapes.has(Planted::AnyNamespaceForAll) {
            true => Arc::new(Policy::trusted()),
            false => self.parts.settings.policy.clone(),
        };
        let Resolution { verdict, is_unmarked, again } = resolve(&scene.view(&policy, now));
        let api: Api<AccessRequest> = Api::namespaced(self.parts.platform.clone(), &name.namespace);
        if verdict == Verdict::Delete {
            tracing::info!(request = %name, because = "its time is over", "deleting");
            self.recorder.say(&*scene.request, Tone::Normal, "Expired", "its time is over").await;
            delete(&api, &scene.request).await?;
            return Ok(Outcome::Done);
        }
        let change = change(&scene.request, &verdict, is_unmarked);
        if let Some(change) = change {
            let written = checked::merge(&api, &scene.request, change).await?;
            self.learn(&mut scene, written);
        }
        if let Some(status) = status(&scene.request, &verdict, now) {
            let before = scene.request.status.clone();
            if let Some(written) = checked::status(&api, &*scene.request, before.as_ref(), &status).await? {
                self.learn(&mut scene, written);
                self.say(&scene, name, &verdict).await;
            }
        }
        Ok(again.map_or(Outcome::Done, Outcome::After))
    }

    async fn say(&self, scene: &Scene, name: &ObjectName, verdict: &Verdict) {
        match verdict {
            Verdict::Leave | Verdict::Delete => (),
            Verdict::HandOver { provider, .. } => {
                tracing::info!(request = %name, provider, "handed over");
            }
            Verdict::Explain { phase, reason, message } => {
                tracing::info!(request = %name, phase = phase.as_str(), because = message, "not handed over");
                let tone = if *phase == RequestPhase::Denied { Tone::Warning } else { Tone::Normal };
                self.recorder.say(&*scene.request, tone, reason.as_str(), message).await;
            }
        }
    }

    fn learn(&self, scene: &mut Scene, written: AccessRequest) {
        self.index().learn_request(written.clone());
        scene.request = Arc::new(written);
    }
}

/// What is written to the request itself, if anything.
fn change(request: &AccessRequest, verdict: &Verdict, is_unmarked: bool) -> Option<Value> {
    let mut change = json!({ "metadata": {} });
    if is_unmarked {
        change["metadata"]["annotations"] = json!({ annotation::OPERATION: Value::Null });
    }
    if let Verdict::HandOver { provider, profile, cluster } = verdict {
        let labels = request.labels();
        if labels.get(label::PROVIDER) != Some(provider) || labels.get(label::PROFILE) != Some(profile) {
            change["metadata"]["labels"] = json!({ label::PROVIDER: provider, label::PROFILE: profile });
        }
        if let Some(cluster) = cluster {
            change["spec"] = json!({ "clusterRef": cluster });
        }
    }
    (change != json!({ "metadata": {} })).then_some(change)
}

async fn delete(api: &Api<AccessRequest>, request: &AccessRequest) -> Result<(), CallError> {
    let name = request.name_any();
    let only_this = Preconditions { uid: request.uid(), resource_version: request.resource_version() };
    let params = DeleteParams { preconditions: Some(only_this), ..DeleteParams::default() };
    match call(|| format!("delete AccessRequest {name}"), api.delete(&name, &params)).await {
        Err(error) if error.is_not_found() => Ok(()),
        result => result.map(drop),
    }
}
