//! One look at a request.

use super::run::Inner;
use crate::{
    openmcp::{ObjectName, checked},
    runtime::{
        call::{CallError, call},
        events::Tone,
        queue::Outcome,
        work::Obstacle,
    },
};
use allotment_api::openmcp::{
    Cluster, ClusterRequest, ClusterRequestStatus,
    names::{RequestCondition, RequestPhase, annotation, finalizer},
};
use allotment_core::{
    condition,
    openmcp::schedule::{Candidate, Decision, NewCluster, Step, View, decide},
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, PostParams, Preconditions},
};
use serde_json::{Value, json};
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

/// The longest way through a look: hold, make, status, and for a deletion record, delete, release, let go.
const STEPS: usize = 12;

/// Why a look did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The platform.
    #[error(transparent)]
    Call(#[from] CallError),
    /// What is to be made cannot be written down.
    #[error("the Cluster of a template cannot be made: {0}")]
    Template(#[from] serde_json::Error),
    /// The decisions do not come to an end.
    #[error("reconcile did not converge (bug)")]
    Endless,
}

impl Obstacle for Trouble {
    fn category(&self) -> &'static str {
        match self {
            Self::Call(error) => error.category(),
            Self::Template(_) => "template",
            Self::Endless => "bug",
        }
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self::Call(error) if error.is_conflict() => Outcome::Again,
            _ => Outcome::Failed,
        }
    }
}

impl Inner {
    pub(super) async fn look_at(&self, name: &ObjectName) -> Result<Outcome, Trouble> {
        let api: Api<ClusterRequest> = Api::namespaced(self.parts.platform.clone(), &name.namespace);
        for _ in 0..STEPS {
            let (request, clusters) = {
                let index = self.index();
                let Some(request) = index.request(name) else { return Ok(Outcome::Done) };
                (request, index.clusters())
            };
            let clusters: Vec<&Candidate> = clusters.iter().map(Arc::as_ref).collect();
            let (config, now) = (&self.config, self.parts.clock.now());
            let policy = &self.parts.settings.policy;
            let view =
                View { config, policy, request: &request, clusters: &clusters, lot: lot(&request), now };
            let Decision { step, status } = decide(&view);
            match step {
                Step::Leave => return Ok(Outcome::Done),
                Step::Rest => {
                    self.write_status(&api, &request, &status).await?;
                    return Ok(Outcome::Done);
                }
                Step::Record => self.write_status(&api, &request, &status).await?,
                Step::Unmark => {
                    let change =
                        json!({ "metadata": { "annotations": { annotation::OPERATION: Value::Null } } });
                    self.change_request(&api, &request, change).await?;
                }
                Step::Hold => {
                    let mut finalizers = request.finalizers().to_vec();
                    finalizers.push(finalizer::CLUSTER_REQUEST.to_owned());
                    let change = json!({ "metadata": { "finalizers": finalizers } });
                    self.change_request(&api, &request, change).await?;
                }
                Step::Make { cluster, finalizer } => self.make(&request, *cluster, finalizer).await?,
                Step::Claim { cluster, finalizers, labels, annotations } => {
                    let change = json!({
                        "metadata": { "finalizers": finalizers, "labels": labels, "annotations": annotations },
                    });
                    self.change_cluster(name, cluster, change).await?;
                }
                Step::Delete(cluster) => self.delete(&request, cluster).await?,
                Step::Release { cluster, finalizers } => {
                    let change = json!({ "metadata": { "finalizers": finalizers } });
                    self.change_cluster(name, cluster, change).await?;
                }
                Step::LetGo => {
                    let finalizers = request.finalizers().iter();
                    let left: Vec<_> =
                        finalizers.filter(|name| *name != finalizer::CLUSTER_REQUEST).collect();
                    let change = json!({ "metadata": { "finalizers": left } });
                    match self.change_request(&api, &request, change).await {
                        Err(Trouble::Call(error)) if error.is_not_found() => (),
                        result => result?,
                    }
                    return Ok(Outcome::Done);
                }
            }
        }
        Err(Trouble::Endless)
    }

    async fn make(
        &self,
        request: &ClusterRequest,
        new: NewCluster,
        finalizer: String,
    ) -> Result<(), Trouble> {
        let NewCluster { namespace, name, labels, annotations, spec } = new;
        let metadata = json!({
            "namespace": namespace, "name": name, "labels": labels, "annotations": annotations,
            "finalizers": [finalizer],
        });
        let cluster: Cluster = serde_json::from_value(json!({
            "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "Cluster", "metadata": metadata, "spec": spec,
        }))?;
        let api: Api<Cluster> = Api::namespaced(self.parts.platform.clone(), &namespace);
        let what = || format!("create Cluster {namespace}/{name}");
        let made = match call(what, api.create(&PostParams::default(), &cluster)).await {
            // Of a moment ago, ours or somebody else's: what it is decides the next step.
            Err(error) if error.is_already_there() => {
                call(|| format!("read Cluster {namespace}/{name}"), api.get(&name)).await?
            }
            result => {
                let made = result?;
                tracing::info!(request = %ObjectName::of(&request.metadata), cluster = %ObjectName::of(&made.metadata), "a Cluster is made");
                let note = format!("Cluster {namespace}/{name} is made for it");
                self.recorder.say(request, Tone::Normal, "ClusterCreated", &note).await;
                made
            }
        };
        self.learn(&ObjectName::of(&request.metadata), &made);
        Ok(())
    }

    async fn change_cluster(
        &self,
        own: &ObjectName,
        cluster: &Candidate,
        change: Value,
    ) -> Result<(), Trouble> {
        let Candidate { namespace, name, uid, resource_version, .. } = cluster;
        let mut patch = change;
        patch["metadata"]["uid"] = json!(uid);
        patch["metadata"]["resourceVersion"] = json!(resource_version);
        let api: Api<Cluster> = Api::namespaced(self.parts.platform.clone(), namespace);
        let what = || format!("change Cluster {namespace}/{name}");
        let patch = kube::api::Patch::Merge(&patch);
        match call(what, api.patch(name, &kube::api::PatchParams::default(), &patch)).await {
            // The last finalizer has gone with it.
            Err(error) if error.is_not_found() => {
                self.forget(own, cluster);
            }
            result => {
                let changed = result?;
                let is_gone =
                    changed.metadata.deletion_timestamp.is_some() && changed.finalizers().is_empty();
                if is_gone { self.forget(own, cluster) } else { self.learn(own, &changed) }
            }
        }
        Ok(())
    }

    async fn delete(&self, request: &ClusterRequest, cluster: &Candidate) -> Result<(), Trouble> {
        let Candidate { namespace, name, uid, resource_version, .. } = cluster;
        let own = ObjectName::of(&request.metadata);
        let api: Api<Cluster> = Api::namespaced(self.parts.platform.clone(), namespace);
        // Whoever claims it at this moment changes it, and it is not deleted.
        let as_it_was =
            Preconditions { uid: Some(uid.clone()), resource_version: Some(resource_version.clone()) };
        let params = DeleteParams { preconditions: Some(as_it_was), ..DeleteParams::default() };
        let what = || format!("delete Cluster {namespace}/{name}");
        match call(what, api.delete(name, &params)).await {
            Err(error) if error.is_not_found() => self.forget(&own, cluster),
            result => {
                result?;
                let note = format!("Cluster {namespace}/{name} is deleted: it has no request any more");
                tracing::info!(request = %ObjectName::of(&request.metadata), because = note, "deleting a Cluster");
                self.recorder.say(request, Tone::Normal, "ClusterDeleted", &note).await;
                match call(|| format!("read Cluster {namespace}/{name}"), api.get_opt(name)).await? {
                    Some(left) => self.learn(&own, &left),
                    None => self.forget(&own, cluster),
                }
            }
        }
        Ok(())
    }

    async fn change_request(
        &self,
        api: &Api<ClusterRequest>,
        request: &ClusterRequest,
        change: Value,
    ) -> Result<(), Trouble> {
        let written = checked::merge(api, request, change).await?;
        let woken = self.index().learn_request(written);
        self.wake_others(&ObjectName::of(&request.metadata), woken);
        Ok(())
    }

    async fn write_status(
        &self,
        api: &Api<ClusterRequest>,
        request: &ClusterRequest,
        status: &ClusterRequestStatus,
    ) -> Result<(), Trouble> {
        let Some(written) = checked::status(api, request, request.status.as_ref(), status).await? else {
            return Ok(());
        };
        let scheduled = condition::find(&status.common.conditions, RequestCondition::Scheduled.as_str());
        if let Some(scheduled) = scheduled {
            let name = ObjectName::of(&request.metadata);
            tracing::info!(request = %name, phase = status.common.phase, because = scheduled.message, "decided");
            let is_denied = status.common.phase == RequestPhase::Denied.as_str();
            let tone = if is_denied { Tone::Warning } else { Tone::Normal };
            self.recorder.say(request, tone, &scheduled.reason, &scheduled.message).await;
        }
        let woken = self.index().learn_request(written);
        self.wake_others(&ObjectName::of(&request.metadata), woken);
        Ok(())
    }

    fn learn(&self, own: &ObjectName, cluster: &Cluster) {
        let woken = self.index().learn_cluster(cluster);
        self.wake_others(own, woken);
    }

    fn forget(&self, own: &ObjectName, cluster: &Candidate) {
        let Candidate { namespace, name, .. } = cluster;
        let gone = ObjectName { namespace: namespace.clone(), name: name.clone() };
        let woken = self.index().forget_cluster(&gone);
        self.wake_others(own, woken);
    }
}

/// A number for this request: as random as its UID, and the same at every look.
fn lot(request: &ClusterRequest) -> u64 {
    let mut hasher = DefaultHasher::new();
    request.metadata.uid.hash(&mut hasher);
    hasher.finish()
}
