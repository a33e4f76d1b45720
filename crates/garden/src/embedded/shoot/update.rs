//! What may change about a Shoot (422).

use super::super::{
    json::{at, text, texts},
    refusals::{forbidden, immutable, invalid},
};
use super::{form, version::Version, worker, workers};
use allotment_apiserver::error::FieldError;
use serde_json::Value;

/// How many changes a refusal lists at most.
const SHOWN: usize = 10;

/// Checks a change.
pub(super) fn check(shoot: &Value, old: &Value) -> Vec<FieldError> {
    if !text(shoot, "/metadata/deletionTimestamp").is_empty() && shoot["spec"] != old["spec"] {
        let mut changes = Vec::new();
        differences("", &shoot["spec"], &old["spec"], &mut changes);
        changes.truncate(SHOWN);
        let detail = format!(
            "cannot update shoot spec if deletion timestamp is set. Requested changes: {}",
            changes.join(",")
        );
        return vec![forbidden("spec", detail)];
    }
    let mut errors = Vec::new();
    errors.extend(fixed(shoot, old, "spec.region"));
    errors.extend(form::cloud_profile(shoot));
    errors.extend(bindings(shoot, old));
    let version = |shoot| text(shoot, "/spec/kubernetes/version");
    errors.extend(versions("spec.kubernetes.version", version(shoot), version(old), true));
    let path = "spec.provider.workers";
    match (workers(shoot).is_empty(), workers(old).is_empty()) {
        (true, false) => {
            let detail = "cannot switch from a Shoot with workers to a workerless Shoot";
            errors.push(forbidden(path, detail));
            return errors;
        }
        (false, true) => {
            let detail = "cannot switch from a workerless Shoot to a Shoot with workers";
            errors.push(forbidden(path, detail));
            return errors;
        }
        _ => {}
    }
    errors.extend(fixed(shoot, old, "spec.provider.type"));
    for (n, new) in workers(shoot).iter().enumerate() {
        let of_worker = |worker| text(worker, "/kubernetes/version");
        let before = worker(old, text(new, "/name")).unwrap_or(new);
        let (own, own_before) = (of_worker(new), of_worker(before));
        let is = if own.is_empty() { version(shoot) } else { own };
        let was = if own_before.is_empty() { version(old) } else { own_before };
        errors.extend(versions(&format!("{path}[{n}].kubernetes.version"), is, was, false));
    }
    errors.extend(networking(shoot, old));
    let scheduler = at(shoot, "/spec/schedulerName");
    if scheduler != at(old, "/spec/schedulerName") {
        let value = scheduler.cloned().unwrap_or(Value::Null);
        errors.push(invalid("spec.schedulerName", value, "field is immutable"));
    }
    errors
}

fn fixed(shoot: &Value, old: &Value, field: &str) -> Option<FieldError> {
    let pointer = format!("/{}", field.replace('.', "/"));
    immutable(field, at(shoot, &pointer), at(old, &pointer))
}

fn bindings(shoot: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let credentials = text(shoot, "/spec/credentialsBindingName");
    if at(old, "/spec/credentialsBindingName").is_some() && credentials.is_empty() {
        errors.push(forbidden("spec.credentialsBindingName", "the field cannot be unset"));
    }
    let secret = |shoot| at(shoot, "/spec/secretBindingName").is_some();
    let migrates = secret(old) && !secret(shoot) && !credentials.is_empty();
    if !migrates {
        errors.extend(fixed(shoot, old, "spec.secretBindingName"));
    }
    errors
}

fn versions(field: &str, new: &str, old: &str, one_by_one: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (Some(new), Some(old)) = (Version::parse(new), Version::parse(old)) else { return errors };
    if new < old {
        errors.push(forbidden(field, "kubernetes version downgrade is not supported"));
    }
    if one_by_one && (new.major, new.minor) >= (old.major, old.minor + 2) {
        errors.push(forbidden(field, "kubernetes version upgrade cannot skip a minor version"));
    }
    errors
}

fn networking(shoot: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    errors.extend(fixed(shoot, old, "spec.networking.type"));
    for field in ["pods", "services"] {
        if at(old, &format!("/spec/networking/{field}")).is_some() {
            errors.extend(fixed(shoot, old, &format!("spec.networking.{field}")));
        }
    }
    let families = |shoot| texts(shoot, "/spec/networking/ipFamilies");
    let (new, was) = (families(shoot), families(old));
    let one_and_both = (["IPv4"].as_slice(), ["IPv4", "IPv6"].as_slice());
    let allowed = new == was
        || (was.as_slice(), new.as_slice()) == one_and_both
        || (new.as_slice(), was.as_slice()) == one_and_both;
    if !allowed {
        let detail = format!(
            "unsupported IP family update: oldIPFamilies=[{}], newIPFamilies=[{}]",
            was.join(" "),
            new.join(" ")
        );
        errors.push(forbidden("spec.networking.ipFamilies", detail));
    }
    errors
}

/// What differs, in words close to those of Go, which has its own names and its own order for fields.
fn differences(path: &str, new: &Value, old: &Value, found: &mut Vec<String>) {
    let child = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            let names: std::collections::BTreeSet<&String> = new.keys().chain(old.keys()).collect();
            for name in names {
                let mut letters = name.chars();
                let upper = letters.next().map(|first| first.to_ascii_uppercase()).into_iter();
                let upper: String = upper.chain(letters).collect();
                let of = |fields: &serde_json::Map<String, Value>| {
                    fields.get(name).cloned().unwrap_or(Value::Null)
                };
                differences(&child(&upper), &of(new), &of(old), found);
            }
        }
        (Value::Array(new), Value::Array(old)) if new.len() == old.len() => {
            for (n, (new, old)) in new.iter().zip(old).enumerate() {
                differences(&child(&format!("slice[{n}]")), new, old, found);
            }
        }
        (new, old) if new != old => {
            let shown = |value: &Value| match value {
                Value::Null => "<nil pointer>".to_owned(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            found.push(format!("{path}: {} != {}", shown(new), shown(old)));
        }
        _ => {}
    }
}
