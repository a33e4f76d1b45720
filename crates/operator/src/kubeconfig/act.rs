//! The steps, as far as they are about the request.

use super::{
    Trouble,
    index::Known,
    inside::{self, Ended, Taken},
    look::{Next, Scene},
    run::Inner,
};
use crate::{
    planted::Planted,
    runtime::{
        call::{CallError, call},
        events::Tone,
        status::{StatusChange, identity, write_status},
    },
    target::{Key, Reached, TargetTrouble},
};
use allotment_api::{
    kyma::{Cluster, KubeconfigRequest, KubeconfigRequestStatus, TokenState, TokenStatus},
    names::{annotation, finalizer},
};
use allotment_core::{
    access::{
        flow::{Decision, Hitch, Step, Token, issued},
        grant::{Grant, Parts, kubeconfig, place},
    },
    marks::{FINALIZER_RESTORED, HOLDS},
    text::without_addresses,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use std::time::Duration;

impl Inner {
    /// Takes a step, and puts what came of it on the scene. What goes wrong in a cluster is a hitch, which the status tells.
    pub(super) async fn act(&self, scene: &mut Scene, decision: &Decision) -> Result<Next, Trouble> {
        match &decision.step {
            Step::Hold => {
                let mut finalizers = scene.request.finalizers().to_vec();
                finalizers.push(finalizer::KUBECONFIG.to_owned());
                self.patch_request(scene, json!({ "finalizers": finalizers })).await?;
                if self.index().take_unheld(&scene.name) {
                    self.recorder.warn_once(&*scene.request, FINALIZER_RESTORED, HOLDS).await;
                }
            }
            Step::Record => {
                let asks = decision.status.tokens.iter().any(|token| token.state == TokenState::Asked);
                if asks && self.planted.has(Planted::TokenWrittenDownLater) {
                    let mut request = (*scene.request).clone();
                    request.status = Some(decision.status.clone());
                    scene.request = request.into();
                } else {
                    self.write_status(scene, &decision.status, None).await?;
                }
                scene.turn_to_place();
            }
            Step::Grant(grant) => {
                let made = self.grant(scene, grant).await;
                self.note(scene, made);
            }
            Step::Issue { grant, secret, seconds } => {
                match self.issue(scene, grant, secret, *seconds).await {
                    Err(Trouble::Target(trouble)) => self.note(scene, Err(trouble)),
                    result => result?,
                }
            }
            Step::End { secrets, is_urgent } => {
                let ended = self.end(scene, secrets, *is_urgent).await;
                scene.is_ended = matches!(ended, Ok(true));
                scene.is_waiting = matches!(ended, Ok(false));
                self.note(scene, ended.map(drop));
            }
            Step::Unmark => {
                self.patch_request(scene, json!({ "annotations": { annotation::ROTATE: "false" } })).await?;
            }
            Step::Withdraw(grant) => {
                let withdrawn = self.withdraw(scene, grant).await?;
                scene.is_withdrawn = matches!(withdrawn, Ok(true));
                scene.is_waiting = matches!(withdrawn, Ok(false));
                self.note(scene, withdrawn.map(drop));
            }
            Step::Clear => {
                self.remove_published(scene).await?;
                let was_revoked = decision.status.phase;
                self.write_status(scene, &decision.status, Some(None)).await?;
                self.minting.taken_back(&scene.name);
                scene.turn_to_place();
                self.say_cleared(scene, was_revoked).await;
            }
            Step::LetGo => {
                self.remove_published(scene).await?;
                self.swept().remove(&scene.name);
                self.minting.taken_back(&scene.name);
                let finalizers: Vec<&String> =
                    scene.request.finalizers().iter().filter(|name| *name != finalizer::KUBECONFIG).collect();
                match self.patch_request(scene, json!({ "finalizers": finalizers })).await {
                    Err(Trouble::Call(error)) if error.is_not_found() => (),
                    result => result?,
                }
                return Ok(Next::Nothing);
            }
            Step::Rest => return Ok(Next::Publish),
        }
        Ok(Next::Decide)
    }

    /// Reaches the cluster, once a look.
    async fn reach(&self, scene: &mut Scene) -> Result<Reached, TargetTrouble> {
        if let Some(reached) = &scene.reached {
            return Ok(reached.clone());
        }
        if scene.cluster.is_none() && self.planted.has(Planted::GoneWithCluster) {
            return Err(TargetTrouble::NoShoot { shoot: scene.request.spec.cluster.clone() });
        }
        // What is written there is where the grant is, and it is not made elsewhere before it is gone from there.
        let Some(key) = scene.place().or_else(|| scene.cluster.as_deref().map(key_of)) else {
            return Err(TargetTrouble::NoShoot { shoot: scene.request.spec.cluster.clone() });
        };
        let reached = self.targets.reach(&key).await?;
        scene.place = Some(place(&reached.server, reached.ca.as_deref()));
        scene.reached = Some(reached.clone());
        Ok(reached)
    }

    /// The same, to grant something: only in a Shoot that is the Cluster's own.
    async fn reach_own(&self, scene: &mut Scene) -> Result<Reached, TargetTrouble> {
        if scene.reached.is_none()
            && let Some(key) = scene.place().or_else(|| scene.cluster.as_deref().map(key_of))
        {
            self.check_ownership(scene, &key).await?;
        }
        self.reach(scene).await
    }

    async fn grant(&self, scene: &mut Scene, grant: &Grant) -> Result<(), TargetTrouble> {
        let reached = self.reach_own(scene).await?;
        let tokens = scene.request.status.as_ref().map(|status| status.tokens.as_slice()).unwrap_or_default();
        // Before the first token there is nothing that would have to go.
        let is_first = matches!(tokens, [only] if only.state == TokenState::Asked);
        // What is made from now on is not what was taken away.
        self.ended().remove(&scene.name);
        self.swept().remove(&scene.name);
        inside::grant(&reached, grant, is_first).await?;
        scene.is_granted = true;
        self.has_looked(scene);
        Ok(())
    }

    async fn issue(
        &self,
        scene: &mut Scene,
        grant: &Grant,
        secret: &str,
        seconds: i64,
    ) -> Result<(), Trouble> {
        let reached = self.reach_own(scene).await?;
        let is_leaked =
            scene.request.annotations().get(annotation::ROTATE).is_some_and(|value| value == "true");
        if is_leaked {
            scene.leaked = self.published_token(scene).await?;
        }
        if is_leaked && self.planted.has(Planted::OldTokenEndedFirst) {
            let old = scene.request.status.iter().flat_map(|status| &status.tokens);
            let old = old.filter(|token| token.state == TokenState::Published);
            let old: Vec<String> = old.map(|token| token.secret.clone()).collect();
            inside::delete_tokens(&reached, grant, &old).await?;
        }
        let given = self.mint(scene, &reached, grant, (secret, seconds)).await?;
        let end = given.end;
        let cluster = scene.cluster.as_ref().map(|cluster| cluster.name_any()).unwrap_or_default();
        let ca = reached.ca.as_ref().map(|ca| BASE64_STANDARD.encode(ca));
        let parts = Parts {
            cluster: &cluster,
            server: &reached.server,
            tls_server_name: reached.tls_server_name.as_deref(),
            ca: ca.as_deref(),
            namespace: grant.namespace.as_deref(),
        };
        let text = Zeroizing::new(kubeconfig(&parts, &grant.name, given.token.expose_secret()));
        let here = place(&reached.server, reached.ca.as_deref());
        let token = Token { secret, issued: given.issued, end, place: &here };
        let status = issued(&scene.view(self), &token);
        let was_published = scene.view(self).is_published;
        let has_ending = status.tokens.iter().any(|token| token.state == TokenState::Ending);
        if !self.publish_to_secret(scene, &text).await? {
            return Ok(());
        }
        let in_status = scene
            .request
            .spec
            .secret_ref
            .is_none()
            .then(|| Zeroizing::new(BASE64_STANDARD.encode(text.as_str())));
        self.write_status(scene, &status, Some(in_status.as_ref().map(|text| text.as_str()))).await?;
        self.minting.published(&scene.name);
        let reason = if was_published { "KubeconfigRotated" } else { "KubeconfigIssued" };
        tracing::info!(request = %scene.name, %end, "{reason}");
        self.recorder.say(&*scene.request, Tone::Normal, reason, &format!("valid until {end}")).await;
        if is_leaked && !has_ending {
            // There was none before that could have leaked.
            self.patch_request(scene, json!({ "annotations": { annotation::ROTATE: "false" } })).await?;
        }
        Ok(())
    }

    /// Returns whether it is done: a server believes a token for some seconds after it is gone, and no worker waits for that.
    async fn end(
        &self,
        scene: &mut Scene,
        secrets: &[String],
        is_urgent: bool,
    ) -> Result<bool, TargetTrouble> {
        let reached = self.reach(scene).await?;
        let (grant, _) = Grant::of(&scene.request);
        if !is_urgent {
            inside::delete_tokens(&reached, &grant, secrets).await?;
            return Ok(true);
        }
        let taken = Taken::Tokens(secrets.to_vec());
        if self.taken(scene).as_ref() != Some(&taken) {
            let was_any = inside::delete_tokens(&reached, &grant, secrets).await?;
            let token = scene.leaked.take();
            self.remember_end(scene, taken, token, was_any);
        }
        self.is_refused(scene, &reached).await
    }

    /// The outer result is about the control plane, the inner one as with [`Inner::end`].
    async fn withdraw(
        &self,
        scene: &mut Scene,
        grant: &Grant,
    ) -> Result<Result<bool, TargetTrouble>, Trouble> {
        let is_ended = self.taken(scene) == Some(Taken::All);
        let token = if is_ended { None } else { self.published_token(scene).await? };
        let withdrawn = async {
            let has_tokens = scene.request.status.as_ref().is_some_and(|status| !status.tokens.is_empty());
            let swept = if is_ended { Ok(false) } else { self.sweep(scene, grant).await };
            // Without tokens the status leads nowhere: the sweep is all there is.
            if !has_tokens {
                if swept? {
                    self.remember_end(scene, Taken::All, token, true);
                }
                let is_forgotten = self.ended().get(&scene.name).is_none_or(Ended::is_forgotten);
                if is_forgotten {
                    self.ended().remove(&scene.name);
                }
                return Ok(is_forgotten);
            }
            let reached = self.reach(scene).await?;
            if !is_ended {
                let was_any = inside::withdraw(&reached, grant).await?;
                self.mark_swept(scene, &reached.key);
                // A Shoot that does not answer, and that the status does not name, delays a lock only.
                if self.index().is_locked(&scene.request, scene.cluster.as_deref()) {
                    swept?;
                }
                self.remember_end(scene, Taken::All, token, was_any);
            }
            self.is_refused(scene, &reached).await
        };
        Ok(match withdrawn.await {
            // What leads into a Shoot is kept for some minutes, and with one that is gone there is nothing left to be done.
            Err(trouble @ TargetTrouble::Unreachable { .. }) => match self.confirm(scene).await {
                Err(gone @ (TargetTrouble::NoShoot { .. } | TargetTrouble::OtherShoot { .. })) => Err(gone),
                _ => Err(trouble),
            },
            withdrawn => withdrawn,
        })
    }

    /// Deletes the objects of a request from the Shoots that were made for its Cluster and that the status does not name: a forged
    /// status names another place, or none. Returns whether there were any.
    async fn sweep(&self, scene: &Scene, grant: &Grant) -> Result<bool, TargetTrouble> {
        let mut was_anything = false;
        for place in scene.places.iter().filter(|place| scene.place().as_ref() != Some(place)) {
            match self.targets.reach(place).await {
                Ok(reached) => was_anything |= inside::withdraw(&reached, grant).await?,
                Err(TargetTrouble::NoShoot { .. } | TargetTrouble::OtherShoot { .. }) => (),
                Err(trouble) => return Err(trouble),
            }
            self.mark_swept(scene, place);
        }
        Ok(was_anything)
    }

    fn mark_swept(&self, scene: &Scene, place: &Key) {
        self.swept().entry(scene.name.clone()).or_default().insert(place.clone());
    }

    /// Asks the garden whether the cluster is still there.
    async fn confirm(&self, scene: &Scene) -> Result<(), TargetTrouble> {
        match &scene.reached {
            Some(reached) => self.targets.confirm(&reached.key).await,
            None => Ok(()),
        }
    }

    /// Remembers what was taken out of the cluster. Where nothing was there any more, an earlier process took it: the status says when.
    fn remember_end(&self, scene: &Scene, taken: Taken, token: Option<SecretString>, was_any: bool) {
        let ago = if was_any { None } else { self.ended_ago(scene, &taken) };
        self.ended().insert(scene.name.clone(), Ended::ago(taken, ago.unwrap_or_default(), token));
    }

    /// How long ago the last of these tokens went, as the status has it; none if it does not say so of all.
    fn ended_ago(&self, scene: &Scene, taken: &Taken) -> Option<Duration> {
        let is_meant = |token: &&TokenStatus| match taken {
            Taken::All => true,
            Taken::Tokens(secrets) => secrets.contains(&token.secret),
        };
        let tokens = scene.request.status.as_ref()?.tokens.iter().filter(is_meant);
        let ends: Option<Vec<Timestamp>> =
            tokens.map(|token| token.ended_at.as_ref().map(|ended| ended.0)).collect();
        let last = ends?.into_iter().max()?;
        Duration::try_from(self.clock.now().duration_since(last)).ok()
    }

    /// What was taken out of the cluster, and may still be believed there.
    fn taken(&self, scene: &Scene) -> Option<Taken> {
        self.ended().get(&scene.name).map(|ended| ended.taken.clone())
    }

    /// Whether the cluster no longer believes what was ended.
    async fn is_refused(&self, scene: &Scene, reached: &Reached) -> Result<bool, TargetTrouble> {
        let Some(ended) = self.ended().get(&scene.name).cloned() else { return Ok(true) };
        let is_time_over = ended.is_forgotten() || self.planted.has(Planted::OneServerForAll);
        let is_refused = self.planted.has(Planted::EndedIsRefused)
            || (is_time_over && inside::is_refused(&self.targets, reached, &ended).await?);
        if is_refused {
            self.ended().remove(&scene.name);
        }
        Ok(is_refused)
    }

    async fn say_cleared(&self, scene: &Scene, phase: Option<allotment_api::kyma::KubeconfigPhase>) {
        use allotment_api::kyma::KubeconfigPhase;
        let (tone, reason, note) = match phase {
            Some(KubeconfigPhase::Revoked) => {
                (Tone::Normal, "KubeconfigRevoked", "the grant is gone, and its tokens are refused")
            }
            Some(KubeconfigPhase::Denied) => (
                Tone::Warning,
                "PolicyDenied",
                "no policy allows it any more; it has expired and was taken back",
            ),
            _ => return,
        };
        self.recorder.say(&*scene.request, tone, reason, note).await;
    }

    /// Writes the status, if it says something else. The kubeconfig is left as it is, set, or taken away.
    pub(super) async fn write_status(
        &self,
        scene: &mut Scene,
        status: &KubeconfigRequestStatus,
        kubeconfig: Option<Option<&str>>,
    ) -> Result<(), Trouble> {
        // No cache keeps a kubeconfig: neither status has the field.
        let mut change = StatusChange::between(scene.request.status.as_ref(), status);
        if self.planted.has(Planted::TokenWrittenDownLater) {
            // The server has not seen the status that this is compared with.
            change.add(StatusChange::between(None, status));
        }
        if self.planted.has(Planted::StatusFieldsStayBehind) {
            change.keep_nested();
        }
        match kubeconfig {
            Some(text @ Some(_)) => change.set("kubeconfig", text),
            Some(None) if scene.has_kubeconfig => change.set("kubeconfig", None),
            Some(None) | None => (),
        }
        let api = self.requests_in(&scene.name.namespace);
        let written = write_status(&api, &*scene.request, &change).await?;
        written.into_iter().for_each(|written| self.learn(scene, written));
        Ok(())
    }

    async fn patch_request(&self, scene: &mut Scene, change: Value) -> Result<(), Trouble> {
        let mut metadata = identity(&scene.request.metadata);
        if let (Some(all), Value::Object(change)) = (metadata.as_object_mut(), change) {
            all.extend(change);
        }
        let patch = json!({ "metadata": metadata });
        let (api, name) = (self.requests_in(&scene.name.namespace), scene.name.name.clone());
        let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let what = || format!("change the metadata of KubeconfigRequest {name}");
        let written = call(what, api.patch(&name, &params, &patch)).await?;
        self.learn(scene, written);
        Ok(())
    }

    fn learn(&self, scene: &mut Scene, mut written: KubeconfigRequest) {
        let woken = self.index().learn_request(written.clone());
        woken.into_iter().filter(|name| *name != scene.name).for_each(|name| self.wake(name));
        let has_kubeconfig = written.status.as_mut().and_then(|status| status.kubeconfig.take()).is_some();
        written.metadata.managed_fields = None;
        scene.learn(Known { request: written.into(), has_kubeconfig });
    }

    /// What stood in the way in a cluster, for the next decision.
    fn note(&self, scene: &mut Scene, result: Result<(), TargetTrouble>) {
        let Err(trouble) = result else { return };
        let reason = match &trouble {
            TargetTrouble::NoShoot { .. } | TargetTrouble::OtherShoot { .. } => "ClusterGone",
            TargetTrouble::NotReady { .. } => "ClusterNotReady",
            TargetTrouble::Taken { .. } => "NameTaken",
            TargetTrouble::Call(error) if error.lacks_namespace() => "NamespaceMissing",
            TargetTrouble::Call(error) if matches!(**error, CallError::Foreign { .. }) => "Unreachable",
            TargetTrouble::Call(error) if error.category() == "forbidden" => "Forbidden",
            _ => "Unreachable",
        };
        let message = match &trouble {
            TargetTrouble::Call(error) if error.lacks_namespace() => {
                let cause = match **error {
                    CallError::Foreign { .. } => "the namespace is not there".to_owned(),
                    _ => trouble.to_string(),
                };
                format!("{cause}; create it, or set spec.role.createNamespace")
            }
            // Words of whoever brought the cluster are not hidden from them.
            TargetTrouble::Refused { .. } | TargetTrouble::NoClient { .. } => trouble.to_string(),
            _ => without_addresses(&trouble.to_string()),
        };
        let is_shut = matches!(trouble, TargetTrouble::NoSecret { .. } | TargetTrouble::NoSecretKey { .. });
        let is_gone = reason == "ClusterGone" || self.planted.has(Planted::SilentIsGone);
        scene.hitch = Some(Hitch { reason, message, is_gone, is_shut });
    }

    pub(super) fn requests_in(&self, namespace: &str) -> Api<KubeconfigRequest> {
        Api::namespaced(self.control_plane.clone(), namespace)
    }
}

/// The way into a cluster.
fn key_of(cluster: &Cluster) -> Key {
    match &cluster.spec.byoc {
        Some(byoc) => Key::byoc(cluster.namespace().unwrap_or_default(), &byoc.kubeconfig_secret_ref),
        None => {
            let status = cluster.status.as_ref();
            let part = |part: Option<&String>| part.cloned().unwrap_or_default();
            Key::shoot(
                part(status.and_then(|status| status.shoot_name.as_ref())),
                part(status.and_then(|status| status.shoot_uid.as_ref())),
            )
        }
    }
}

/// A token, as it stands in a kubeconfig of ours.
pub(super) fn token_in(text: &str) -> Option<SecretString> {
    let all: Value = serde_json::from_str(text).ok()?;
    all.pointer("/users/0/user/token")?.as_str().map(SecretString::from)
}
