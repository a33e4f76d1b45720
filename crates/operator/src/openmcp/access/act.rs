//! The steps, as far as they are about the platform.

use super::{
    inside::{self, Care, Owner},
    look::{Next, Scene},
    run::Inner,
    secret::Published,
    trouble::{InsideTrouble, Trouble},
};
use crate::{
    kubeconfig::rotation,
    openmcp::checked,
    planted::Planted,
    runtime::{call::call, events::Tone},
    target::{Reached, TargetTrouble},
};
use allotment_api::{
    condition::ConditionStatus,
    gardener::Shoot,
    openmcp::{
        AccessRequest, AccessRequestStatus,
        gardener::names::{AccessReason, finalizer},
        names::{RequestPhase, annotation},
    },
};
use allotment_core::{
    access::grant::{Parts, kubeconfig, place},
    condition,
    openmcp::{
        access::{Decision, Fate, Grant, Hitch, Inside, Issued, Step, Target, login},
        names::hash8,
        status::news,
    },
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use kube::{Api, ResourceExt};
use secrecy::{ExposeSecret, zeroize::Zeroizing};
use serde_json::{Value, json};
use std::sync::Arc;

impl Inner {
    /// Takes a step, and puts what came of it on the scene. What goes wrong in a cluster is a hitch, which the status tells.
    pub(super) async fn act(&self, scene: &mut Scene, decision: &Decision) -> Result<Next, Trouble> {
        match &decision.step {
            Step::Leave => return Ok(Next::Nothing),
            Step::Rest => return Ok(Next::Publish),
            Step::Hold => {
                let mut finalizers = scene.request.finalizers().to_vec();
                finalizers.push(finalizer::ACCESS_REQUEST.to_owned());
                self.change(scene, json!({ "metadata": { "finalizers": finalizers } })).await?;
                scene.is_first = true;
            }
            Step::Grant(grant) => {
                let granted = self.grant(scene, grant).await;
                note(scene, granted);
            }
            Step::Issue { grant, seconds } => self.issue(scene, grant, *seconds).await?,
            Step::Unmark => {
                let unmarked = json!({ annotation::OPERATION: Value::Null });
                self.change(scene, json!({ "metadata": { "annotations": unmarked } })).await?;
            }
            Step::Withdraw => {
                let withdrawn = self.withdraw(scene).await;
                scene.is_withdrawn = withdrawn.is_ok() || self.parts.landscapes.has(Planted::WithdrawnUnseen);
                note(scene, withdrawn.map_err(InsideTrouble::from));
            }
            Step::Clear => self.clear(scene).await?,
            Step::LetGo => {
                let all = scene.request.finalizers().iter();
                let left: Vec<_> = all.filter(|name| *name != finalizer::ACCESS_REQUEST).collect();
                match self.change(scene, json!({ "metadata": { "finalizers": left } })).await {
                    Err(Trouble::Call(error)) if error.is_not_found() => (),
                    result => result?,
                }
                tracing::info!(request = %scene.name, "nothing of it is left");
                return Ok(Next::Nothing);
            }
        }
        Ok(Next::Decide)
    }

    /// Reaches the cluster, once a look.
    async fn reach(&self, scene: &mut Scene) -> Result<Reached, TargetTrouble> {
        if let Some(reached) = &scene.reached {
            return Ok(reached.clone());
        }
        let Some(way) = &scene.way else {
            return Err(TargetTrouble::NoShoot { shoot: "of the Cluster".to_owned() });
        };
        let reached = way.targets.reach(&way.key()).await?;
        scene.reached = Some(reached.clone());
        Ok(reached)
    }

    async fn grant(&self, scene: &mut Scene, grant: &Grant) -> Result<(), InsideTrouble> {
        let reached = self.reach(scene).await?;
        let owner = Owner { provider: &self.provider(), request: &scene.name };
        let care = match scene.is_first {
            _ if self.parts.landscapes.has(Planted::NothingTakenBack) => Care::Careless,
            true => Care::First,
            false => Care::Whole,
        };
        let account = match inside::grant(&reached, owner, grant, care).await {
            Err(InsideTrouble::LeftBehind) if self.is_there(scene).await? => {
                tracing::info!(request = %scene.name, "what another request of this name left behind goes");
                inside::grant(&reached, owner, grant, Care::Heir).await?
            }
            result => result?,
        };
        let made_for = match login_text(scene, &reached) {
            Some(login) => hash8(&["login", &login]),
            None => {
                let rotation = rotation_of(scene).await?;
                let here = place(&reached.server, reached.ca.as_deref());
                hash8(&["token", &here, account.as_deref().unwrap_or_default(), &rotation])
            }
        };
        scene.inside = Some(Inside { made_for });
        self.has_looked(scene);
        Ok(())
    }

    /// Whether it is there, and not one that only a cache still knows.
    async fn is_there(&self, scene: &Scene) -> Result<bool, TargetTrouble> {
        let api = self.requests_in(&scene.name.namespace);
        let what = || format!("read AccessRequest {}", scene.name);
        let live = call(what, api.get_metadata_opt(&scene.name.name)).await?;
        Ok(live.is_some_and(|live| live.metadata.uid == scene.request.metadata.uid))
    }

    async fn withdraw(&self, scene: &mut Scene) -> Result<(), TargetTrouble> {
        let reached = self.reach(scene).await?;
        let owner = Owner { provider: &self.provider(), request: &scene.name };
        inside::withdraw(&reached, owner).await
    }

    async fn issue(&self, scene: &mut Scene, grant: &Grant, seconds: Option<i64>) -> Result<(), Trouble> {
        let reached = match self.reach(scene).await {
            Ok(reached) => reached,
            Err(trouble) => {
                note(scene, Err(trouble.into()));
                return Ok(());
            }
        };
        match self.published(scene).await? {
            Published::Own(issued) if scene.secret.is_none() => {
                scene.secret = Some(issued);
                return Ok(());
            }
            Published::Nothing | Published::Own(_) => (),
            Published::Anothers => {
                let name = super::secret::name_of(&scene.name);
                let message =
                    format!("Secret {name} is there and does not belong to this request: delete it");
                let reason = AccessReason::NameTaken.as_str();
                scene.hitch = Some(Hitch { reason, message, fate: Fate::Passes });
                return Ok(());
            }
        }
        let made_for = scene.inside.as_ref().map(|inside| inside.made_for.clone()).unwrap_or_default();
        let shoot = scene.way.as_ref().map(|way| way.uid.clone()).unwrap_or_default();
        let created = self.parts.clock.now();
        let mut issued = Issued { shoot, made_for, created, expires: None };
        let text = match (seconds, login_text(scene, &reached)) {
            (Some(seconds), _) => {
                match self.mint(scene, &reached, grant, (&issued.made_for, seconds)).await {
                    Ok(given) => {
                        issued.created = given.issued;
                        issued.expires = Some(given.end);
                        let provider = &self.parts.settings.instance.provider;
                        let ca = ca_of(&reached);
                        Zeroizing::new(kubeconfig(
                            &parts(&reached, ca.as_deref()),
                            provider,
                            given.token.expose_secret(),
                        ))
                    }
                    Err(trouble) => {
                        note(scene, Err(trouble));
                        return Ok(());
                    }
                }
            }
            (None, login) => Zeroizing::new(login.unwrap_or_default()),
        };
        let (until, was_there) = (issued.expires, scene.secret.is_some());
        self.publish(scene, &text, issued).await?;
        self.minting.published(&scene.name);
        scene.is_issued = true;
        let note =
            until.map_or_else(|| "it does not run out".to_owned(), |until| format!("valid until {until}"));
        let reason = if was_there { "KubeconfigRenewed" } else { "KubeconfigIssued" };
        tracing::info!(request = %scene.name, because = note, "{reason}");
        self.recorder.say(&*scene.request, Tone::Normal, reason, &note).await;
        Ok(())
    }

    pub(super) async fn write_status(
        &self,
        scene: &mut Scene,
        status: &AccessRequestStatus,
    ) -> Result<(), Trouble> {
        let (api, before) = (self.requests_in(&scene.name.namespace), scene.request.status.clone());
        let written = checked::status(&api, &*scene.request, before.as_ref(), status).await;
        let written = match written {
            Err(error) if error.is_not_found() => return Ok(()),
            result => result?,
        };
        let Some(written) = written else { return Ok(()) };
        self.learn(scene, written);
        let known = before.as_ref().map(|before| before.common.conditions.as_slice()).unwrap_or_default();
        for news in news(before.as_ref().map(|before| &before.common), &status.common) {
            let type_ = news.split('\'').nth(1).unwrap_or_default();
            let about = condition::find(&status.common.conditions, type_);
            let because = about.map(|about| about.message.as_str()).unwrap_or_default();
            let holds = about.is_some_and(|about| about.status == ConditionStatus::True);
            // What was well from the beginning is no news.
            if holds && condition::find(known, type_).is_none() {
                continue;
            }
            let tone = if holds { Tone::Normal } else { Tone::Warning };
            tracing::info!(request = %scene.name, phase = status.common.phase, because, "{news}");
            let note = if because.is_empty() { news } else { format!("{news}: {because}") };
            self.recorder.say(&*scene.request, tone, "ConditionChanged", &note).await;
        }
        let is_denied = status.common.phase == RequestPhase::Denied.as_str();
        if is_denied {
            self.recorder
                .say(&*scene.request, Tone::Warning, "Denied", "it cannot be granted as it is")
                .await;
        }
        Ok(())
    }

    async fn change(&self, scene: &mut Scene, change: Value) -> Result<(), Trouble> {
        let api = self.requests_in(&scene.name.namespace);
        let written = checked::merge(&api, &*scene.request, change).await?;
        self.learn(scene, written);
        Ok(())
    }

    fn learn(&self, scene: &mut Scene, written: AccessRequest) {
        self.index().learn_request(written.clone());
        scene.request = Arc::new(written);
    }

    fn requests_in(&self, namespace: &str) -> Api<AccessRequest> {
        Api::namespaced(self.parts.platform.clone(), namespace)
    }
}

/// What stood in the way in a cluster, for the next decision.
fn note(scene: &mut Scene, result: Result<(), InsideTrouble>) {
    let Err(trouble) = result else { return };
    let is_ready = matches!(scene.target, Target::Shoot { is_ready: true, .. });
    scene.hitch = Some(trouble.hitch(is_ready));
}

/// The kubeconfig of a request by OpenID Connect.
fn login_text(scene: &Scene, reached: &Reached) -> Option<String> {
    let (cluster, oidc) = (scene.request.spec.cluster_ref.as_ref()?, scene.request.spec.oidc.as_ref()?);
    let ca = ca_of(reached);
    let login = login(cluster, &parts(reached, ca.as_deref()), &oidc.provider);
    Some(format!("{login:#}\n"))
}

fn ca_of(reached: &Reached) -> Option<String> {
    reached.ca.as_ref().map(|ca| BASE64_STANDARD.encode(ca))
}

fn parts<'a>(reached: &'a Reached, ca: Option<&'a str>) -> Parts<'a> {
    Parts {
        cluster: "cluster",
        server: &reached.server,
        tls_server_name: reached.tls_server_name.as_deref(),
        ca,
        namespace: None,
    }
}

/// How the rotation of the Shoot's own credentials stands: it ends tokens.
async fn rotation_of(scene: &Scene) -> Result<String, TargetTrouble> {
    let Some(way) = &scene.way else { return Ok(String::new()) };
    let shoots: Api<Shoot> = Api::namespaced(way.garden.clone(), &way.namespace);
    let shoot = call(|| format!("read Shoot {}", way.shoot), shoots.get_opt(&way.shoot)).await?;
    match shoot {
        Some(shoot) => Ok(rotation(&shoot)),
        None => Err(TargetTrouble::NoShoot { shoot: way.shoot.clone() }),
    }
}
