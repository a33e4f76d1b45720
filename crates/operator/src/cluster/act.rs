//! The steps: every call that changes something. Writes carry the version, and where an object could be another one by now
//! the UID, that they were decided on.

use super::{
    ClusterName, Trouble,
    issuers::config_map_of,
    look::{Next, Scene},
    run::Inner,
};
use crate::{
    planted::Planted,
    runtime::{
        call::{CallError, call},
        status::{StatusChange, identity, write_status},
    },
    target::{self, Key},
};
use allotment_api::{
    gardener::{
        Shoot,
        names::{CONFIRM_DELETION, OPERATION},
    },
    kyma::{Cluster, ClusterStatus, SubscriptionRequest},
    names::{FIELD_MANAGER, finalizer, label},
};
use allotment_core::{
    access::administrators::Owner,
    cluster::{
        flow::{Apply, Decision, Standing, Step, is_owned_by},
        shoot_name,
    },
    marks::{FINALIZER_RESTORED, HOLDS},
};
use kube::{
    Api, Resource, ResourceExt,
    api::{ListParams, Patch, PatchParams, PostParams, ValidationDirective},
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, sleep};

/// The garden learns of a ConfigMap by watching, and refuses a Shoot that refers to one that it has not seen.
const CONFIG_MAP_SEEN: Duration = Duration::from_secs(5);

impl Inner {
    /// Takes a step, and puts what came of it on the scene.
    pub(super) async fn act(&self, scene: &mut Scene, decision: &Decision) -> Result<Next, Trouble> {
        match &decision.step {
            Step::Hold => self.hold(scene).await?,
            Step::Ask(request) => self.ask(scene, request).await?,
            Step::LookLive => self.look_live(scene).await?,
            Step::Create(apply) => {
                self.check_account(scene, &apply.binding).await?;
                if scene.refusal.is_none() {
                    self.apply(scene, apply).await?;
                }
            }
            Step::Update(apply) => {
                let pace = scene.clusters.rollout.clusters_per_minute;
                if apply.takes_turn && !self.rollout().take(&scene.name, pace, Instant::now()) {
                    // Somebody else has just taken it.
                    scene.has_turn = false;
                } else {
                    self.apply(scene, apply).await?;
                }
            }
            Step::Retry => {
                self.publish(scene, &decision.status).await?;
                self.annotate_shoot(scene, OPERATION, "retry").await?;
                return Ok(Next::Nothing);
            }
            Step::Unmark(names) => {
                let gone: serde_json::Map<String, Value> =
                    names.iter().map(|name| ((*name).to_owned(), Value::Null)).collect();
                self.patch_cluster(scene, json!({ "annotations": gone })).await?;
            }
            Step::Administrate(users) => {
                self.publish(scene, &decision.status).await?;
                self.administrate(scene, users).await;
            }
            Step::CheckIssuers(authentication) => {
                self.check_config_map(authentication).await?;
                scene.are_issuers_checked = true;
                // Whoever has administrators too is looked into for them, which counts for both.
                if scene.cluster.spec.administrators.is_empty() {
                    self.has_looked_into(scene, None);
                }
            }
            Step::Check => self.check(scene).await,
            Step::ConfirmDeletion => self.annotate_shoot(scene, CONFIRM_DELETION, "true").await?,
            Step::DeleteShoot => self.delete_shoot(scene).await?,
            Step::ReleaseShoot => self.release_shoot(scene).await?,
            Step::GiveBack => return self.give_back(scene).await,
            Step::LetGo => return self.let_go(scene).await,
            Step::Rest => return Ok(Next::Publish),
        }
        Ok(Next::Decide)
    }

    async fn hold(&self, scene: &mut Scene) -> Result<(), Trouble> {
        let mut finalizers = scene.cluster.finalizers().to_vec();
        finalizers.push(finalizer::CLUSTER.to_owned());
        self.patch_cluster(scene, json!({ "finalizers": finalizers })).await?;
        if self.index().take_unheld(&scene.name) {
            self.recorder.warn_once(&*scene.cluster, FINALIZER_RESTORED, HOLDS).await;
        }
        Ok(())
    }

    async fn ask(&self, scene: &mut Scene, request: &SubscriptionRequest) -> Result<(), Trouble> {
        let (api, name) = (self.requests(scene), request.name_any());
        let params = PostParams::default();
        let made = call(|| format!("create SubscriptionRequest {name}"), api.create(&params, request)).await;
        let request = match made {
            // It may be somebody else's; the next decision says so.
            Err(error) if error.is_already_there() => {
                call(|| format!("read SubscriptionRequest {name}"), api.get(&name)).await?
            }
            made => made?,
        };
        let woken = self.index().learn_request(request.clone());
        self.wake_others(&scene.name, woken);
        scene.request = Some(Arc::new(request));
        Ok(())
    }

    /// Reads the Shoot of the Cluster's name, or the one that carries the UID of its request: a name in the status may be
    /// forged, and no second Shoot is made beside one that has another name.
    async fn look_live(&self, scene: &mut Scene) -> Result<(), Trouble> {
        scene.is_live = true;
        let api: Api<Shoot> = self.in_the_garden();
        let named = match shoot_name(&scene.cluster, &self.settings.project) {
            Ok(name) => call(|| format!("read Shoot {name}"), api.get_opt(&name)).await?,
            Err(_) => None,
        };
        let (cluster, request) = (scene.cluster.metadata.uid.as_deref(), scene.own_request());
        let is_own = |shoot: &Shoot| is_owned_by(&shoot.metadata, cluster, request.as_deref());
        let found = match (named, &request) {
            (Some(named), _) if is_own(&named) => Some(named),
            (named, None) => named,
            (named, Some(uid)) => {
                let params = ListParams::default().labels(&format!("{}={uid}", label::SUBSCRIPTION_REQUEST));
                let listed = call(|| format!("look for the Shoot of request {uid}"), api.list(&params));
                let mut labelled = listed.await?.items;
                labelled.sort_by_key(|shoot| !is_own(shoot));
                labelled.into_iter().next().or(named)
            }
        };
        scene.shoot = found.map(Arc::new);
        Ok(())
    }

    async fn apply(&self, scene: &mut Scene, apply: &Apply) -> Result<(), Trouble> {
        let used = config_map_of(scene.shoot.as_deref());
        let wanted = apply.authentication.as_ref().map(|authentication| authentication.name.clone());
        // Somebody may have deleted it, and an adopted Shoot brings one that carries other UIDs: applying what is there writes
        // nothing.
        if let Some(authentication) = &apply.authentication {
            self.apply_config_map(authentication).await?;
        }
        match self.apply_shoot(scene, apply, used != wanted).await {
            Ok(shoot) => {
                let woken = self.index().learn_shoot(shoot.clone());
                self.wake_others(&scene.name, woken);
                scene.shoot = Some(Arc::new(shoot));
                scene.is_live = true;
            }
            Err(error) => {
                let refusal = refusal(&error);
                scene.refusal = Some(refusal.ok_or(error)?);
                return Ok(());
            }
        }
        if used.is_some() && used != wanted {
            self.remove_config_maps(&scene.cluster.uid().unwrap_or_default()).await?;
        }
        Ok(())
    }

    async fn apply_shoot(&self, scene: &Scene, apply: &Apply, is_map_new: bool) -> Result<Shoot, CallError> {
        let api: Api<Shoot> = self.in_the_garden();
        let name = apply.shoot["metadata"]["name"].as_str().unwrap_or_default();
        let patience = Instant::now() + CONFIG_MAP_SEEN;
        let mut shoot = apply.shoot.clone();
        if self.planted.has(Planted::ShootWithoutVersion) {
            shoot["metadata"].as_object_mut().into_iter().for_each(|fields| {
                fields.retain(|field, _| field != "uid" && field != "resourceVersion");
            });
        }
        loop {
            let patch = Patch::Apply(&shoot);
            let applied = call(|| format!("apply Shoot {name}"), api.patch(name, &applying(), &patch)).await;
            match applied {
                Err(error)
                    if is_map_new
                        && apply.authentication.is_some()
                        && refusal(&error).is_some_and(|why| why.contains("not found"))
                        && Instant::now() < patience =>
                {
                    tracing::debug!(cluster = %scene.name, %error, "the garden has not seen the ConfigMap yet");
                    sleep(Duration::from_millis(100)).await;
                }
                applied => return applied,
            }
        }
    }

    async fn annotate_shoot(&self, scene: &mut Scene, key: &str, value: &str) -> Result<(), Trouble> {
        let Some(shoot) = &scene.shoot else { return Ok(()) };
        let mut metadata = identity(&shoot.metadata);
        metadata["annotations"] = json!({ key: value });
        let (api, name) = (self.in_the_garden::<Shoot>(), shoot.name_any());
        let (params, patch) = (PatchParams::default(), json!({ "metadata": metadata }));
        let patch = Patch::Merge(&patch);
        let patched =
            call(|| format!("annotate Shoot {name} with {key}"), api.patch(&name, &params, &patch)).await;
        let patched = match patched {
            Err(error) if error.is_not_found() => None,
            patched => Some(patched?),
        };
        if let Some(shoot) = &patched {
            let woken = self.index().learn_shoot(shoot.clone());
            self.wake_others(&scene.name, woken);
        }
        scene.is_live = true;
        scene.shoot = patched.map(Arc::new);
        Ok(())
    }

    async fn administrate(&self, scene: &mut Scene, users: &[String]) {
        let applied = match self.targets.reach(&key_of(scene)).await {
            Ok(reached) => {
                let owner = Owner::new(&scene.name.namespace, &scene.name.name);
                target::administrators::apply(&reached, &owner, users).await.map(drop)
            }
            Err(trouble) => Err(trouble),
        };
        if let Err(trouble) = &applied {
            self.targets.forget(&key_of(scene));
            tracing::warn!(cluster = %scene.name, error = %trouble, "cannot look into the cluster");
        } else {
            let standing = scene.standing.clone().and_then(Result::ok);
            self.has_looked_into(scene, standing);
        }
        scene.administrators = Some(applied.map_err(|trouble| trouble.to_string()));
    }

    async fn check(&self, scene: &mut Scene) {
        // Somebody may have put another kubeconfig into the Secret.
        self.targets.forget(&key_of(scene));
        let standing = match self.targets.reach(&key_of(scene)).await {
            Ok(reached) => target::check(&reached).await.map(|found| standing(found, &reached)),
            Err(trouble) => Err(trouble),
        };
        if let Ok(standing) = &standing {
            self.has_looked_into(scene, Some(standing.clone()));
        }
        scene.standing = Some(standing.map_err(|trouble| trouble.to_string()));
    }

    /// Writes the status, if it is another one.
    pub(super) async fn write_status(
        &self,
        cluster: &Cluster,
        status: &ClusterStatus,
    ) -> Result<Option<Cluster>, Trouble> {
        let change = StatusChange::between(cluster.status.as_ref(), status);
        let written = write_status(&self.clusters_in(cluster), cluster, &change).await?;
        let Some(written) = written else { return Ok(None) };
        let woken = self.index().learn_cluster(written.clone());
        self.wake_others(&ClusterName::of(&cluster.metadata), woken);
        Ok(Some(written))
    }

    pub(super) async fn patch_cluster(&self, scene: &mut Scene, change: Value) -> Result<(), Trouble> {
        let mut metadata = identity(&scene.cluster.metadata);
        if let (Some(all), Value::Object(change)) = (metadata.as_object_mut(), change) {
            all.extend(change);
        }
        let patch = json!({ "metadata": metadata });
        let (api, name) = (self.clusters_in(&scene.cluster), scene.cluster.name_any());
        let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let written =
            call(|| format!("change the metadata of Cluster {name}"), api.patch(&name, &params, &patch))
                .await?;
        let woken = self.index().learn_cluster(written.clone());
        self.wake_others(&scene.name, woken);
        scene.cluster = Arc::new(written);
        Ok(())
    }

    pub(super) fn clusters_in(&self, cluster: &Cluster) -> Api<Cluster> {
        Api::namespaced(self.control_plane.clone(), &cluster.namespace().unwrap_or_default())
    }

    pub(super) fn requests(&self, scene: &Scene) -> Api<SubscriptionRequest> {
        Api::namespaced(self.control_plane.clone(), &scene.name.namespace)
    }

    pub(super) fn in_the_garden<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        Api::namespaced(self.garden.clone(), &self.settings.garden_namespace)
    }
}

/// The way into a cluster.
fn key_of(scene: &Scene) -> Key {
    match &scene.cluster.spec.byoc {
        Some(byoc) => Key::byoc(&scene.name.namespace, &byoc.kubeconfig_secret_ref),
        None => {
            let shoot = scene.shoot.as_deref();
            let part = |part: Option<String>| part.unwrap_or_default();
            Key::shoot(part(shoot.map(ResourceExt::name_any)), part(shoot.and_then(ResourceExt::uid)))
        }
    }
}

fn standing(found: target::Standing, reached: &target::Reached) -> Standing {
    let target::Standing { version, user, is_admin } = found;
    let user = user.unwrap_or_else(|| "the user of the kubeconfig".to_owned());
    Standing { server: reached.server.clone(), version, user, is_admin }
}

/// What the garden has against it, if that is why it failed. Its codes do not tell who may from what is wrong.
pub(super) fn refusal(error: &CallError) -> Option<String> {
    // A server-side apply with a field or a value that the schema does not have; it is answered as if the server had failed.
    let is_misshapen = || error.to_string().contains("failed to create typed patch object");
    match error.code() {
        Some(400 | 403 | 422) => Some(error.to_string()),
        Some(500) if is_misshapen() => Some(error.to_string()),
        _ => None,
    }
}

pub(super) fn applying() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        field_validation: Some(ValidationDirective::Strict),
        force: true,
        ..PatchParams::default()
    }
}
