//! CloudProfiles and ControllerRegistrations: what a garden is set up with.

use super::{
    json::{items, labels, put, put_default, text},
    kinds::CORE,
    refusals::{dns_label, invalid, required, unsupported},
    shoot::is_expired,
};
use allotment_apiserver::{
    error::{ApiError, FieldError},
    extension::Write,
};
use serde_json::{Value, json};

/// The kinds of extensions, in an order that Go chooses anew each time.
const EXTENSION_KINDS: [&str; 12] = [
    "BackupBucket",
    "BackupEntry",
    "Bastion",
    "ContainerRuntime",
    "ControlPlane",
    "DNSRecord",
    "Extension",
    "Infrastructure",
    "Network",
    "OperatingSystemConfig",
    "SelfHostedShootExposure",
    "Worker",
];

/// Puts in what is missing in a CloudProfile, beyond what its table of fields says.
pub(super) fn set_profile_defaults(profile: &mut Value) {
    let images = profile.pointer_mut("/spec/machineImages").and_then(Value::as_array_mut);
    for image in images.into_iter().flatten() {
        let versions = image.get_mut("versions").and_then(Value::as_array_mut);
        for version in versions.into_iter().flatten() {
            put_default(version, "/cri", json!([{ "name": "containerd" }]));
            put_default(version, "/architectures", json!(["amd64"]));
        }
    }
}

/// Puts in what is missing in a ControllerRegistration.
pub(super) fn set_registration_defaults(registration: &mut Value) {
    let resources = registration.pointer_mut("/spec/resources").and_then(Value::as_array_mut);
    for resource in resources.into_iter().flatten().filter(|resource| text(resource, "/kind") == "Extension")
    {
        put_default(resource, "/clusterCompatibility", json!(["shoot"]));
        put_default(resource, "/reconcileTimeout", json!("3m0s"));
        for (when, default) in [
            ("reconcile", "AfterKubeAPIServer"),
            ("delete", "BeforeKubeAPIServer"),
            ("migrate", "BeforeKubeAPIServer"),
        ] {
            put_default(resource, &format!("/lifecycle/{when}"), json!(default));
        }
    }
}

/// A new CloudProfile loses versions that have expired already; every one gets the label of its provider.
pub fn admit_cloud_profile(write: &mut Write<'_>) -> Result<(), ApiError> {
    if write.verb == "delete" || !write.subresource.is_empty() {
        return Ok(());
    }
    let provider = format!("provider.extensions.gardener.cloud/{}", text(write.new, "/spec/type"));
    let labels = labels(write.new);
    labels.retain(|name, _| !name.starts_with("provider.extensions.gardener.cloud/"));
    labels.insert(provider, json!("true"));
    if write.old.is_none() {
        let now = write.now;
        let keep = |versions: Option<&mut Value>| {
            if let Some(versions) = versions.and_then(Value::as_array_mut) {
                versions.retain(|version| !is_expired(version, now));
            }
        };
        keep(write.new.pointer_mut("/spec/kubernetes/versions"));
        for image in write.new["spec"]["machineImages"].as_array_mut().into_iter().flatten() {
            keep(image.get_mut("versions"));
        }
        put(write.new, "/status", json!({}));
    }
    let mut errors = write.metadata_errors();
    errors.extend(profile(write.new));
    refuse(write, errors)
}

fn refuse(write: &Write<'_>, errors: Vec<FieldError>) -> Result<(), ApiError> {
    match errors.is_empty() {
        true => Ok(()),
        false => {
            Err(ApiError::invalid(CORE, &write.resource.kind, text(write.new, "/metadata/name"), errors))
        }
    }
}

/// What nobody could make a Shoot without.
fn profile(profile: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if text(profile, "/spec/type").is_empty() {
        errors.push(required("spec.type", "must provide a provider type"));
    }
    if items(profile, "/spec/kubernetes/versions").is_empty() {
        let field = "spec.kubernetes.versions";
        errors.push(required(field, "must provide at least one Kubernetes version"));
        errors.push(invalid(
            field,
            "",
            "failed to determine the latest kubernetes version from the cloud profile",
        ));
    }
    for (field, words) in
        [("machineImages", "machine image"), ("machineTypes", "machine type"), ("regions", "region")]
    {
        if items(profile, &format!("/spec/{field}")).is_empty() {
            errors.push(required(format!("spec.{field}"), &format!("must provide at least one {words}")));
        }
    }
    errors
}

/// Decides about a write to a ControllerRegistration.
pub(super) fn admit_controller_registration(write: &mut Write<'_>) -> Result<(), ApiError> {
    if write.verb == "delete" {
        return Ok(());
    }
    let mut errors = dns_label("metadata.name", text(write.new, "/metadata/name"));
    errors.extend(write.metadata_errors().into_iter().filter(|error| error.field != "metadata.name"));
    for (n, resource) in items(write.new, "/spec/resources").iter().enumerate() {
        let path = format!("spec.resources[{n}]");
        let kind = text(resource, "/kind");
        if kind.is_empty() {
            errors.push(required(format!("{path}.kind"), "field is required"));
        }
        if !EXTENSION_KINDS.contains(&kind) {
            errors.push(unsupported(format!("{path}.kind"), kind, &EXTENSION_KINDS));
        }
        if text(resource, "/type").is_empty() {
            errors.push(required(format!("{path}.type"), "field is required"));
        }
    }
    refuse(write, errors)
}
