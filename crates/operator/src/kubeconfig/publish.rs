//! Where a kubeconfig goes, and where it is found again.

use super::{Trouble, act::token_in, look::Scene, run::Inner};
use crate::runtime::call::{CallError, call};
use allotment_api::{
    kyma::{KubeconfigRequest, KubeconfigSecretReference},
    names::FIELD_MANAGER,
};
use allotment_core::access::flow::Hitch;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
};
use secrecy::SecretString;
use secrecy::zeroize::Zeroizing;
use serde_json::json;

/// Where the kubeconfig is where nobody says.
const KEY: &str = "kubeconfig";

impl Inner {
    /// The token that is published now, read live: it is not kept.
    pub(super) async fn published_token(&self, scene: &Scene) -> Result<Option<SecretString>, Trouble> {
        let status = scene.request.status.as_ref();
        if let Some(reference) = status.and_then(|status| status.secret_ref.as_ref()) {
            let Some(secret) = self.own_secret(scene, reference).await? else { return Ok(None) };
            let key = reference.key.as_deref().unwrap_or(KEY);
            let text = secret.data.and_then(|mut data| data.remove(key));
            return Ok(text.and_then(|text| token_in(&String::from_utf8_lossy(&text.0))));
        }
        if !scene.has_kubeconfig {
            return Ok(None);
        }
        let (api, name) = (self.requests_in(&scene.name.namespace), &scene.name.name);
        let live = call(|| format!("read KubeconfigRequest {name}"), api.get_opt(name)).await?;
        let text = live.and_then(|live| live.status).and_then(|status| status.kubeconfig).map(Zeroizing::new);
        let text: Option<Zeroizing<Vec<u8>>> =
            text.and_then(|text| BASE64_STANDARD.decode(text.as_bytes()).ok()).map(Zeroizing::new);
        Ok(text.and_then(|text| token_in(&String::from_utf8_lossy(text.as_slice()))))
    }

    /// Puts a kubeconfig into the Secret that the request names, if it names one. False, with a hitch, if somebody else has that
    /// Secret, or we may not write it.
    pub(super) async fn publish_to_secret(&self, scene: &mut Scene, text: &str) -> Result<bool, Trouble> {
        let before = scene.request.status.as_ref().and_then(|status| status.secret_ref.clone());
        if before.is_some() && before != scene.request.spec.secret_ref {
            self.remove_published(scene).await?;
        }
        let Some(reference) = scene.request.spec.secret_ref.clone() else { return Ok(true) };
        let secrets = self.secrets(scene);
        let found =
            call(|| format!("read Secret {}", reference.name), secrets.get_opt(&reference.name)).await;
        let found = match found {
            Err(error) if error.code() == Some(403) => return Ok(shut_out(scene, &error)),
            found => found?,
        };
        if found.is_some_and(|found| !is_owned(&found, &scene.request)) {
            let message = format!(
                "Secret {} is there and does not belong to this request; delete it, or name another one in spec.secretRef",
                reference.name
            );
            scene.hitch = Some(Hitch { reason: "SecretTaken", message, is_gone: false, is_shut: false });
            return Ok(false);
        }
        let key = reference.key.as_deref().unwrap_or(KEY);
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": reference.name, "ownerReferences": [{
                "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": "KubeconfigRequest",
                "name": scene.name.name, "uid": scene.request.uid(), "controller": true, "blockOwnerDeletion": true,
            }]},
            "type": "Opaque",
            "stringData": { key: text },
        });
        let params = PatchParams { force: true, ..PatchParams::apply(FIELD_MANAGER) };
        let patch = Patch::Apply(&secret);
        let written = secrets.patch_metadata(&reference.name, &params, &patch);
        match call(|| format!("write Secret {}", reference.name), written).await {
            Err(error) if error.code() == Some(403) => Ok(shut_out(scene, &error)),
            result => result.map(|_| true).map_err(Trouble::from),
        }
    }

    /// Deletes the Secret that a kubeconfig was put into, if it is the request's own.
    pub(super) async fn remove_published(&self, scene: &Scene) -> Result<(), Trouble> {
        let Some(reference) = scene.request.status.as_ref().and_then(|status| status.secret_ref.clone())
        else {
            return Ok(());
        };
        let Some(secret) = self.own_secret(scene, &reference).await? else { return Ok(()) };
        let only_this = Preconditions { uid: secret.uid(), resource_version: None };
        let params = DeleteParams { preconditions: Some(only_this), ..DeleteParams::default() };
        let name = &reference.name;
        match call(|| format!("delete Secret {name}"), self.secrets(scene).delete(name, &params)).await {
            Err(error) if error.is_not_found() => (),
            result => drop(result?),
        }
        Ok(())
    }

    async fn own_secret(
        &self,
        scene: &Scene,
        reference: &KubeconfigSecretReference,
    ) -> Result<Option<Secret>, Trouble> {
        let (secrets, name) = (self.secrets(scene), &reference.name);
        let found = call(|| format!("read Secret {name}"), secrets.get_opt(name)).await?;
        Ok(found.filter(|found| is_owned(found, &scene.request)))
    }

    fn secrets(&self, scene: &Scene) -> Api<Secret> {
        Api::namespaced(self.control_plane.clone(), &scene.name.namespace)
    }
}

/// The namespace is not open for Secrets: only whoever runs the operators can help, and has to hear of it.
fn shut_out(scene: &mut Scene, error: &CallError) -> bool {
    let message =
        format!("{error}; add {} to rbac.kubeconfigSecretNamespaces of the chart", scene.name.namespace);
    scene.hitch = Some(Hitch { reason: "Forbidden", message, is_gone: false, is_shut: false });
    false
}

fn is_owned(secret: &Secret, request: &KubeconfigRequest) -> bool {
    secret.owner_references().iter().any(|owner| Some(&owner.uid) == request.uid().as_ref())
}
