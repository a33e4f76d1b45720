//! Projects, CloudProfiles and ControllerRegistrations: what a garden is set up with.

use super::{
    facts::Facts,
    json::{at, items, labels, put, text},
    kinds::CORE,
    refusals::{consecutive_hyphens, dns_label, immutable, invalid, too_long},
    shoot::{is_expired, must_be_confirmed},
};
use allotment_apiserver::{error::ApiError, extension::Write};
use serde_json::{Value, json};

/// With the name of a Shoot, the name of a project becomes part of the names of resources in the cloud.
const NAME_LIMIT_BYTES: usize = 10;
const RESERVED: [&str; 3] =
    ["gardener-system-seed-lease", "gardener-system-shoot-issuer", "gardener-system-public"];

/// Decides about a write to a Project.
pub fn admit_project(write: &mut Write<'_>, facts: &dyn Facts) -> Result<(), ApiError> {
    if write.verb == "delete" {
        return must_be_confirmed(write);
    }
    if !write.subresource.is_empty() {
        return Ok(());
    }
    if write.old.is_none() {
        owner(write);
    }
    let name = text(write.new, "/metadata/name").to_owned();
    let mut errors = write.metadata_errors();
    if name.len() > NAME_LIMIT_BYTES {
        errors.push(too_long("metadata.name", NAME_LIMIT_BYTES));
    }
    errors.extend(consecutive_hyphens("metadata.name", &name));
    let namespace = at(write.new, "/spec/namespace");
    let field = "spec.namespace";
    if let Some(namespace) = namespace.and_then(Value::as_str) {
        if RESERVED.contains(&namespace) {
            let detail = format!("Project namespaces [{}] are reserved by Gardener", RESERVED.join(", "));
            errors.push(invalid(field, namespace, detail));
        } else {
            if namespace != "garden" && !namespace.starts_with("garden-") {
                errors.push(invalid(field, namespace, "must start with garden-"));
            }
            errors.extend(dns_label(field, namespace));
        }
    }
    if let Some(before) = write.old.and_then(|old| at(old, "/spec/namespace")) {
        errors.extend(immutable(field, namespace, Some(before)));
    }
    if !errors.is_empty() {
        return Err(ApiError::invalid(CORE, "Project", &name, errors));
    }
    let taken = namespace.is_some_and(|namespace| {
        facts.list(CORE, "projects", None).iter().any(|other| {
            at(other, "/spec/namespace") == Some(namespace) && text(other, "/metadata/name") != name
        })
    });
    if taken {
        let why =
            format!("namespace {:?} is already used by another project", text(write.new, "/spec/namespace"));
        return Err(ApiError::forbidden(write.resource.group_resource(), &name, why));
    }
    Ok(())
}

/// Who makes a project owns it.
fn owner(write: &mut Write<'_>) {
    let account =
        write.user.name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    let subject = match account {
        Some((namespace, name)) => json!({ "kind": "ServiceAccount", "name": name, "namespace": namespace }),
        None => json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": write.user.name }),
    };
    put(write.new, "/spec/createdBy", subject.clone());
    let owner = at(write.new, "/spec/owner").cloned().unwrap_or(subject);
    put(write.new, "/spec/owner", owner.clone());
    let mut members = items(write.new, "/spec/members").to_vec();
    if !members.iter().any(|member| member["kind"] == owner["kind"] && member["name"] == owner["name"]) {
        let mut member = owner;
        member["role"] = json!("admin");
        member["roles"] = json!(["owner"]);
        members.push(member);
    }
    put(write.new, "/spec/members", json!(members));
    put(write.new, "/status", json!({}));
}

/// A new CloudProfile loses versions that have expired already; every one gets the label of its provider.
pub fn admit_cloud_profile(write: &mut Write<'_>) {
    if write.verb == "delete" {
        return;
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
    }
}
