//! Projects.

use super::{
    facts::Facts,
    json::{at, items, put, text},
    kinds::CORE,
    refusals::{consecutive_hyphens, dns_label, immutable, immutable_struct, invalid, too_long},
    shoot::must_be_confirmed,
};
use allotment_apiserver::{
    error::{ApiError, FieldError},
    extension::Write,
};
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
        return status(write);
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
    if let Some(old) = write.old {
        errors.extend(kept(write.new, old));
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

/// What of a project may not change.
fn kept(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let shown = |subject: &Value| {
        let fields = ["kind", "apiGroup", "name", "namespace"];
        let fields = fields.iter().filter_map(|field| Some(format!("{field:?}:{}", subject.get(field)?)));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    };
    let [creator, namespace, owner] = ["createdBy", "namespace", "owner"]
        .map(|field| (at(new, &format!("/spec/{field}")), at(old, &format!("/spec/{field}"))));
    if creator.1.is_some() {
        errors.extend(immutable_struct("spec.createdBy", creator.0, creator.1, shown));
    }
    if namespace.1.is_some() {
        errors.extend(immutable("spec.namespace", namespace.0, namespace.1));
    }
    if owner.1.is_some() && owner.0.is_none() {
        errors.push(invalid("spec.owner", Value::Null, "owner cannot be reset"));
    }
    errors
}

/// A phase is never taken back.
fn status(write: &Write<'_>) -> Result<(), ApiError> {
    let phase = |project: &Value| text(project, "/status/phase").to_owned();
    match write.old.map(phase) {
        Some(before) if !before.is_empty() && phase(write.new).is_empty() => {
            let error = invalid("status.phase", "", "phase cannot be updated to an empty string");
            Err(ApiError::invalid(CORE, "Project", text(write.new, "/metadata/name"), vec![error]))
        }
        _ => Ok(()),
    }
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
