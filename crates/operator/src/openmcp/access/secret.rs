//! The Secret with the kubeconfig. What is not secret about it is in its annotations too, so that a restart reads none.

use super::{index::issued, look::Scene, run::Inner, trouble::Trouble};
use crate::{openmcp::ObjectName, runtime::call::call};
use allotment_api::{
    names::FIELD_MANAGER,
    openmcp::{
        AccessRequest,
        gardener::names::{annotation, label},
        names::secret_key,
    },
};
use allotment_core::openmcp::{
    access::Issued,
    names::{label_value, secret_name},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, Preconditions},
};
use secrecy::zeroize::Zeroizing;
use serde_json::{Map, Value, json};

/// Who has the Secret of a request.
pub(super) enum Published {
    /// Nobody, or nothing that can be read is in it.
    Nothing,
    /// The request, and this was issued.
    Own(Issued),
    /// Somebody else.
    Anothers,
}

/// The name of the Secret of a request.
pub(super) fn name_of(request: &ObjectName) -> ObjectName {
    ObjectName { namespace: request.namespace.clone(), name: secret_name(&request.name) }
}

impl Inner {
    /// Reads live who has the Secret of a request. The follower may lag behind what this process, or another one, wrote a moment ago:
    /// without this look, a second token would be asked for.
    pub(super) async fn published(&self, scene: &Scene) -> Result<Published, Trouble> {
        let (secrets, name) = (self.secrets(scene), name_of(&scene.name));
        let found = call(|| format!("read Secret {name}"), secrets.get_metadata_opt(&name.name)).await?;
        let Some(found) = found else { return Ok(Published::Nothing) };
        if !is_owned(&found.metadata, &scene.request) {
            return Ok(Published::Anothers);
        }
        self.index().learn_secret(&found);
        Ok(issued(&found.metadata).map_or(Published::Nothing, Published::Own))
    }

    /// Writes the Secret.
    pub(super) async fn publish(&self, scene: &mut Scene, text: &str, issued: Issued) -> Result<(), Trouble> {
        let (secrets, name) = (self.secrets(scene), name_of(&scene.name));
        let instance = &self.parts.settings.instance;
        let seconds = |time: jiff::Timestamp| time.as_second().to_string();
        let mut annotations = json!({
            annotation::SHOOT_UID: issued.shoot,
            annotation::MADE_FOR: issued.made_for,
            annotation::CREATED: seconds(issued.created),
        });
        let encoded = Zeroizing::new(BASE64_STANDARD.encode(text));
        let mut data = Map::from_iter([(secret_key::KUBECONFIG.to_owned(), json!(*encoded))]);
        if let Some(expires) = issued.expires {
            annotations[annotation::EXPIRES] = json!(seconds(expires));
            let mut put =
                |key: &str, time| data.insert(key.to_owned(), json!(BASE64_STANDARD.encode(seconds(time))));
            put(secret_key::CREATION_TIMESTAMP, issued.created);
            put(secret_key::EXPIRATION_TIMESTAMP, expires);
        }
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": name.name,
                "labels": {
                    label::PROVIDER_NAME: label_value(&instance.provider),
                    label::ENVIRONMENT: label_value(&instance.environment),
                },
                "annotations": annotations,
                "ownerReferences": [{
                    "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "AccessRequest",
                    "name": scene.name.name, "uid": scene.request.uid(), "controller": true, "blockOwnerDeletion": true,
                }],
            },
            "type": "Opaque",
            "data": Value::Object(data),
        });
        let params = PatchParams { force: true, ..PatchParams::apply(FIELD_MANAGER) };
        let patch = Patch::Apply(&secret);
        let written = secrets.patch_metadata(&name.name, &params, &patch);
        let written = call(|| format!("write Secret {name}"), written).await?;
        self.index().learn_secret(&written);
        scene.secret = Some(issued);
        Ok(())
    }

    /// Deletes the Secret, if it is the request's own.
    pub(super) async fn clear(&self, scene: &mut Scene) -> Result<(), Trouble> {
        let (secrets, name) = (self.secrets(scene), name_of(&scene.name));
        let found = call(|| format!("read Secret {name}"), secrets.get_metadata_opt(&name.name)).await?;
        if let Some(found) = found.filter(|found| is_owned(&found.metadata, &scene.request)) {
            let only_this = Preconditions { uid: found.metadata.uid, resource_version: None };
            let params = DeleteParams { preconditions: Some(only_this), ..DeleteParams::default() };
            match call(|| format!("delete Secret {name}"), secrets.delete(&name.name, &params)).await {
                Err(error) if error.is_not_found() => (),
                result => drop(result?),
            }
        }
        self.index().forget_secret(&name);
        scene.secret = None;
        Ok(())
    }

    fn secrets(&self, scene: &Scene) -> Api<Secret> {
        Api::namespaced(self.parts.platform.clone(), &scene.name.namespace)
    }
}

fn is_owned(secret: &ObjectMeta, request: &AccessRequest) -> bool {
    secret.owner_references.iter().flatten().any(|owner| Some(&owner.uid) == request.metadata.uid.as_ref())
}
