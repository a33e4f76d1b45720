//! What makes an API server a garden.

use super::{
    bindings,
    fields::FieldsError,
    internal_secret,
    json::{labels, remove},
    kinds, kubeconfig, project, set_up, shoot,
};
use allotment_apiserver::{
    ApiError,
    error::FieldErrorKind,
    extension::{Extension, Objects, Resource, Subresource, SubresourceRequest, Write},
    server::Entropy,
};
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};

/// Gardener's kinds, for [`allotment_apiserver::Server::extend`].
pub struct Garden {
    resources: Vec<Resource>,
    /// For the keys of kubeconfigs.
    entropy: Mutex<Entropy>,
}

impl Garden {
    /// A garden that draws keys from this source.
    pub fn new(entropy: Entropy) -> Result<Self, FieldsError> {
        Ok(Self { resources: kinds::resources()?, entropy: Mutex::new(entropy) })
    }
}

impl Extension for Garden {
    fn resources(&self) -> Vec<Resource> {
        self.resources.clone()
    }

    fn subresources(&self, resource: &Resource) -> Vec<Subresource> {
        match (resource.group.as_str(), resource.plural.as_str()) {
            (kinds::CORE, "shoots") => kubeconfig::SUBRESOURCES.to_vec(),
            _ => Vec::new(),
        }
    }

    fn prepare(&self, write: &mut Write<'_>) -> Result<(), ApiError> {
        let ours = |ours: &Resource| ours.kind == write.resource.kind && ours.group == write.resource.group;
        if self.resources.iter().any(ours) {
            well_typed(write)?;
        }
        match (write.resource.group.as_str(), write.resource.plural.as_str(), write.subresource) {
            (kinds::CORE, "shoots", _) => shoot::set_defaults(write.new),
            (kinds::CORE, "cloudprofiles", _) => set_up::set_profile_defaults(write.new),
            (kinds::CORE, "controllerregistrations", _) => set_up::set_registration_defaults(write.new),
            (kinds::CORE, "internalsecrets", _) => encode_texts(write.new),
            _ => {}
        }
        Ok(())
    }

    fn admit(&self, write: &mut Write<'_>, objects: &Objects<'_>) -> Result<(), ApiError> {
        match (write.resource.group.as_str(), write.resource.plural.as_str()) {
            (kinds::CORE, "shoots") => shoot::admit_shoot(write, objects),
            (kinds::CORE, "projects") => project::admit_project(write, objects),
            (kinds::CORE, "cloudprofiles") => {
                set_up::admit_cloud_profile(write)?;
                uncounted(write.new)
            }
            (kinds::CORE, "controllerregistrations") => set_up::admit_controller_registration(write),
            (kinds::CORE, "secretbindings") => {
                bindings::admit_secret_binding(write, objects)?;
                uncounted(write.new)
            }
            (kinds::SECURITY, "credentialsbindings") => {
                bindings::admit_credentials_binding(write, objects)?;
                uncounted(write.new)
            }
            (kinds::CORE, "internalsecrets") => {
                internal_secret::admit(write)?;
                uncounted(write.new)
            }
            _ => Ok(()),
        }
    }

    fn admit_collection(&self, resource: &Resource, chosen: &[Value]) -> Result<(), ApiError> {
        match (resource.group.as_str(), resource.plural.as_str()) {
            (kinds::CORE, "shoots" | "projects") => shoot::all_must_be_confirmed(resource, chosen),
            _ => Ok(()),
        }
    }

    fn warnings(&self, resource: &Resource, object: &Value) -> Vec<String> {
        match (resource.group.as_str(), resource.plural.as_str()) {
            (kinds::CORE, "secretbindings") => vec![bindings::DEPRECATED.to_owned()],
            (kinds::CORE, "shoots") => shoot::warnings(object),
            _ => Vec::new(),
        }
    }

    fn subresource(
        &self,
        request: &SubresourceRequest<'_>,
        objects: &Objects<'_>,
    ) -> Option<Result<Value, ApiError>> {
        let mut entropy = self.entropy.lock().unwrap_or_else(PoisonError::into_inner);
        kubeconfig::answer(request, objects, &mut *entropy)
    }
}

/// Gardener reads objects into structs, so a value of the wrong type is not an invalid object but none at all. The words
/// are close to those of Go, which names its struct too.
fn well_typed(write: &Write<'_>) -> Result<(), ApiError> {
    let Some(error) =
        write.schema_errors().into_iter().find(|error| error.kind == FieldErrorKind::TypeInvalid)
    else {
        return Ok(());
    };
    let in_go = |type_: &str| match type_ {
        "integer" => "number".to_owned(),
        "boolean" => "bool".to_owned(),
        other => other.to_owned(),
    };
    let sent = error.value.as_ref().and_then(Value::as_str).map(in_go).unwrap_or_default();
    let wanted = error
        .detail
        .split("must be of type ")
        .nth(1)
        .and_then(|rest| rest.split(':').next())
        .unwrap_or_default();
    let Resource { kind, version, .. } = write.resource;
    Err(ApiError::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: json: cannot unmarshal {sent} into Go struct field {} of type {}",
        error.field,
        in_go(wanted)
    )))
}

/// Gardener does not count the changes of some kinds, and leaves no empty map of labels behind.
fn uncounted(object: &mut Value) -> Result<(), ApiError> {
    remove(object, "/metadata/generation");
    if labels(object).is_empty() {
        remove(object, "/metadata/labels");
    }
    Ok(())
}

/// Texts of an InternalSecret are kept as those of a Secret are.
fn encode_texts(secret: &mut Value) {
    let texts = secret.as_object_mut().and_then(|fields| fields.remove("stringData"));
    for (name, text) in texts.as_ref().and_then(Value::as_object).into_iter().flatten() {
        let bytes = text.as_str().unwrap_or_default().as_bytes().to_vec();
        secret["data"][name] = json!(ByteString(bytes));
    }
}
