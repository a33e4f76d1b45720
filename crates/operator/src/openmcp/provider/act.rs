//! The steps: every call that changes something about a Cluster or its Shoot. Writes carry the version, and where an object
//! could be another one by now the UID, that they were decided on.

use super::{
    Trouble,
    cluster::{Next, Scene},
    landscape::{with, without},
    run::Inner,
};
use crate::{
    openmcp::checked,
    planted::Planted,
    runtime::call::{CallError, call},
};
use allotment_api::{
    gardener::{
        CredentialsBinding, Shoot,
        names::{CONFIRM_DELETION, OPERATION},
    },
    names as own,
    openmcp::{gardener::names::finalizer, names::annotation},
};
use allotment_core::openmcp::cluster::{Account, Binding, BindingKind, Decision, Seen, Step};
use kube::{
    Api, ResourceExt,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, Preconditions, ValidationDirective},
};
use serde_json::{Value, json};
use std::sync::Arc;

impl Inner {
    /// Takes a step, and puts what came of it on the scene.
    pub(super) async fn act(&self, scene: &mut Scene, decision: &Decision) -> Result<Next, Trouble> {
        match &decision.step {
            Step::Leave => return Ok(Next::Nothing),
            Step::Rest => return Ok(Next::Publish),
            Step::Unmark => {
                self.change(scene, json!({ "annotations": { annotation::OPERATION: null } })).await?;
                scene.is_forced = true;
            }
            Step::Hold => {
                let change = with(&*scene.cluster, finalizer::CLUSTER);
                self.change(scene, change).await?;
            }
            Step::Announce(record) => {
                tracing::info!(cluster = %scene.name, shoot = record.shoot, "it is to be made");
                self.publish(scene, &decision.status).await?;
            }
            Step::LookLive(name) => self.look_live(scene, name).await?,
            Step::VerifyAccount(binding) => self.verify_account(scene, binding).await?,
            Step::Create(shoot) => self.apply(scene, shoot, false).await?,
            Step::Update(shoot) => self.apply(scene, shoot, true).await?,
            Step::Retry(name) => {
                self.publish(scene, &decision.status).await?;
                self.annotate_shoot(scene, name, OPERATION, "retry").await?;
                return Ok(Next::Nothing);
            }
            Step::Label { labels, annotations } => {
                self.change(scene, json!({ "labels": labels, "annotations": annotations })).await?;
            }
            Step::ConfirmDeletion(name) => self.annotate_shoot(scene, name, CONFIRM_DELETION, "true").await?,
            Step::DeleteShoot(name) => self.delete_shoot(scene, name).await?,
            Step::LetGo => {
                let api = self.clusters_in(&scene.name.namespace);
                let change = json!({ "metadata": without(&*scene.cluster, finalizer::CLUSTER) });
                let written = checked::merge(&api, &*scene.cluster, change).await?;
                tracing::info!(cluster = %scene.name, "let go");
                // Without a finalizer it is gone at once, though the answer shows it once more.
                if !written.finalizers().is_empty() {
                    self.index().learn_cluster(written);
                }
                return Ok(Next::Nothing);
            }
        }
        Ok(Next::Decide)
    }

    /// Changes the metadata of the Cluster.
    async fn change(&self, scene: &mut Scene, change: Value) -> Result<(), Trouble> {
        let api = self.clusters_in(&scene.name.namespace);
        let written = checked::merge(&api, &*scene.cluster, json!({ "metadata": change })).await?;
        self.index().learn_cluster(written.clone());
        scene.cluster = Arc::new(written);
        Ok(())
    }

    async fn look_live(&self, scene: &mut Scene, name: &str) -> Result<(), Trouble> {
        let Some(api) = shoots(scene) else { return Ok(()) };
        let found = match call(|| format!("read Shoot {name}"), api.get_opt(name)).await {
            Err(_) if self.parts.landscapes.has(Planted::UnreadIsGone) => None,
            found => found.map_err(Trouble::Garden)?,
        };
        // Whoever takes what has the right name does not look whose it is.
        let found = found.filter(|_| !self.parts.landscapes.has(Planted::TakenByName));
        self.saw(scene, name, found);
        Ok(())
    }

    /// Reads what the garden says of an account. A cache would not do: a Shoot that is made stays where it is.
    async fn verify_account(&self, scene: &mut Scene, binding: &Binding) -> Result<(), Trouble> {
        let Ok(place) = &scene.place else { return Ok(()) };
        let kind = match binding.kind {
            BindingKind::CredentialsBinding => ApiResource::erase::<CredentialsBinding>(&()),
            BindingKind::SecretBinding => ApiResource {
                kind: "SecretBinding".to_owned(),
                plural: "secretbindings".to_owned(),
                ..ApiResource::erase::<Shoot>(&())
            },
        };
        let api: Api<DynamicObject> = Api::namespaced_with(place.garden.clone(), &place.namespace, &kind);
        let found = call(|| format!("read {binding}"), api.get_metadata_opt(&binding.name)).await;
        scene.account = Some(match found {
            Ok(None) => Account::Missing,
            Ok(Some(found)) => Account::Found {
                labels: found.labels().clone(),
                quarantine: found.annotations().get(own::annotation::QUARANTINE).cloned(),
            },
            Err(error) if error.code() == Some(403) => Account::Unreadable(error.to_string()),
            Err(error) => return Err(Trouble::Garden(error)),
        });
        Ok(())
    }

    /// Applies a Shoot. What is new is not forced: should there be one meanwhile, of somebody else, that stays theirs.
    async fn apply(&self, scene: &mut Scene, shoot: &Value, is_there: bool) -> Result<(), Trouble> {
        let Some(api) = shoots(scene) else { return Ok(()) };
        let name = shoot["metadata"]["name"].as_str().unwrap_or_default();
        let params = PatchParams {
            field_manager: Some(self.field_manager.clone()),
            field_validation: Some(ValidationDirective::Strict),
            force: is_there || self.parts.landscapes.has(Planted::TakenByName),
            ..PatchParams::default()
        };
        let patch = Patch::Apply(shoot);
        match call(|| format!("apply Shoot {name}"), api.patch(name, &params, &patch)).await {
            Ok(applied) => {
                tracing::info!(cluster = %scene.name, shoot = name, is_there, "applied");
                scene.is_applied = true;
                self.saw(scene, name, Some(applied));
            }
            Err(error) => scene.refusal = Some(refusal(&error).ok_or(Trouble::Garden(error))?),
        }
        Ok(())
    }

    async fn annotate_shoot(
        &self,
        scene: &mut Scene,
        name: &str,
        key: &str,
        value: &str,
    ) -> Result<(), Trouble> {
        let (Some(api), Some(shoot)) = (shoots(scene), known(scene, name)) else { return Ok(()) };
        let metadata = json!({
            "uid": shoot.metadata.uid,
            "resourceVersion": shoot.metadata.resource_version,
            "annotations": { key: value },
        });
        let (params, patch) = (PatchParams::default(), json!({ "metadata": metadata }));
        let patch = Patch::Merge(&patch);
        let patched =
            call(|| format!("annotate Shoot {name} with {key}"), api.patch(name, &params, &patch)).await;
        match patched {
            Ok(patched) => self.saw(scene, name, Some(patched)),
            Err(error) if error.is_not_found() => self.saw(scene, name, None),
            Err(error) => scene.refusal = Some(refusal(&error).ok_or(Trouble::Garden(error))?),
        }
        Ok(())
    }

    async fn delete_shoot(&self, scene: &mut Scene, name: &str) -> Result<(), Trouble> {
        let (Some(api), Some(shoot)) = (shoots(scene), known(scene, name)) else { return Ok(()) };
        let only_this = Preconditions { uid: shoot.uid(), resource_version: None };
        let params = DeleteParams { preconditions: Some(only_this), ..DeleteParams::default() };
        match call(|| format!("delete Shoot {name}"), api.delete(name, &params)).await {
            Ok(answer) => {
                tracing::info!(cluster = %scene.name, shoot = name, "deleted");
                // Without a finalizer it is gone at once, though the answer shows it once more.
                let left = answer.left().filter(|left| !left.finalizers().is_empty());
                self.saw(scene, name, left);
            }
            Err(error) if error.is_not_found() => self.saw(scene, name, None),
            Err(error) => scene.refusal = Some(refusal(&error).ok_or(Trouble::Garden(error))?),
        }
        Ok(())
    }

    /// What was seen just now, for this look and the next.
    fn saw(&self, scene: &mut Scene, name: &str, shoot: Option<Shoot>) {
        let Ok(place) = &scene.place else { return };
        let place = (place.landscape.clone(), place.namespace.clone());
        let mut index = self.index();
        match &shoot {
            Some(shoot)
                if allotment_core::openmcp::cluster::is_ours(
                    shoot,
                    &scene.cluster,
                    &self.parts.settings.instance,
                ) =>
            {
                index.learn_shoot(&place, shoot.clone());
            }
            _ => drop(index.forget_shoot(&place, name)),
        }
        drop(index);
        scene.shoots.insert(name.to_owned(), Seen { shoot: shoot.map(Arc::new), is_live: true });
    }
}

fn shoots(scene: &Scene) -> Option<Api<Shoot>> {
    let place = scene.place.as_ref().ok()?;
    Some(Api::namespaced(place.garden.clone(), &place.namespace))
}

fn known(scene: &Scene, name: &str) -> Option<Arc<Shoot>> {
    scene.shoots.get(name).and_then(|seen| seen.shoot.clone())
}

/// What the garden has against it, if that is why it failed. Its codes do not tell who may from what is wrong.
fn refusal(error: &CallError) -> Option<String> {
    match error.code() {
        Some(400 | 403 | 422) => Some(error.to_string()),
        _ => None,
    }
}
