//! `shootTemplate`: a merge patch (RFC 7386) over the rendered Shoot, for what a Cluster has no field for.
//!
//! Two things differ from a plain merge patch. Worker pools are found by their name and patched one by one, and entries of
//! lists that several parties write into are added instead of replacing the list.

use super::{
    lists::{List, Wanted},
    problem::{Findings, Problem},
};
use serde_json::{Map, Value};

const FIELD: &str = "spec.shootTemplate";

/// What a template may not touch, and why or what to do instead.
const PROTECTED: [(&str, &str); 18] = [
    ("/apiVersion", "it is a Shoot"),
    ("/kind", "it is a Shoot"),
    ("/metadata/name", "use spec.core.shootName"),
    ("/metadata/namespace", "the garden project decides"),
    ("/metadata/generateName", "use spec.core.shootName"),
    ("/metadata/uid", "it tells this Shoot from others"),
    ("/metadata/resourceVersion", "the operator decides"),
    ("/metadata/finalizers", "they are others' to set"),
    ("/metadata/ownerReferences", "the Shoot has no owner in the garden"),
    ("/spec/credentialsBindingName", "the account comes from the SubscriptionRequest"),
    ("/spec/secretBindingName", "the account comes from the SubscriptionRequest"),
    ("/spec/provider/type", "use spec.infrastructure.provider"),
    ("/spec/region", "use spec.core.region"),
    ("/spec/cloudProfile", "the configuration decides"),
    ("/spec/cloudProfileName", "the configuration decides"),
    ("/spec/seedName", "the scheduler decides"),
    ("/spec/kubernetes/version", "use spec.core.kubernetesVersion"),
    ("/status", "it is Gardener's"),
];

/// Gardener takes these off once it has done what they say, so applying them would never come to an end.
const OPERATIONS: [&str; 2] = ["gardener.cloud/operation", "shoot.gardener.cloud/tasks"];

/// Our labels and annotations.
const PREFIX: &str = "allotment.dev/";

/// Puts the template over a Shoot, and its entries of shared lists with the others.
pub(super) fn apply(template: &Value, shoot: &mut Value, wanted: &mut Wanted, findings: &mut Findings) {
    let mut patch = template.clone();
    for list in List::ALL {
        take_list(&mut patch, list, wanted, findings);
    }
    let pools = patch.pointer_mut("/spec/provider").and_then(Value::as_object_mut);
    let pools = pools.and_then(|provider| provider.remove("workers"));
    let before = shoot.clone();
    merge(shoot, &patch);
    check(&before, shoot, findings);
    match pools {
        None => (),
        Some(Value::Array(pools)) => pools.iter().for_each(|pool| patch_pool(shoot, pool, findings)),
        Some(_) => {
            findings.problem(problem("spec.provider.workers", "must be a list of pools to patch, by name"));
        }
    }
}

fn problem(path: &str, what: impl Into<String>) -> Problem {
    Problem::new(format!("{FIELD}.{path}"), what)
}

/// Takes the entries of a list out of a Shoot, to be written with those of others.
pub(crate) fn take_list(patch: &mut Value, list: List, wanted: &mut Wanted, findings: &mut Findings) {
    let (last, above) = match list.path() {
        [last] => (last, "/spec".to_owned()),
        [above @ .., last] => (last, format!("/spec/{}", above.join("/"))),
        [] => return,
    };
    let entries = patch.pointer_mut(&above).and_then(Value::as_object_mut).and_then(|map| map.remove(*last));
    match entries {
        None => (),
        Some(Value::Array(entries)) => entries.into_iter().for_each(|entry| wanted.put(list, entry)),
        Some(_) => {
            let path = format!("spec.{}", list.name());
            findings.problem(problem(&path, "must be a list; its entries are added to those of others"));
        }
    }
}

fn check(before: &Value, after: &Value, findings: &mut Findings) {
    for (pointer, instead) in PROTECTED {
        if before.pointer(pointer) != after.pointer(pointer) {
            let path = pointer.trim_start_matches('/').replace('/', ".");
            findings.problem(problem(&path, format!("may not be touched: {instead}")));
        }
    }
    for kind in ["labels", "annotations"] {
        let pointer = format!("/metadata/{kind}");
        let ours = |shoot: &Value| {
            let all = shoot.pointer(&pointer).and_then(Value::as_object).cloned().unwrap_or_default();
            all.into_iter().filter(|(key, _)| key.starts_with(PREFIX)).collect::<Map<String, Value>>()
        };
        if ours(before) != ours(after) {
            let what = format!("may not touch what begins with {PREFIX}: it is the operator's");
            findings.problem(problem(&format!("metadata.{kind}"), what));
        }
    }
    for key in OPERATIONS {
        if after["metadata"]["annotations"].get(key).is_some() {
            let what = format!("may not set {key}: Gardener takes it off, and it would be set for ever");
            findings.problem(problem("metadata.annotations", what));
        }
    }
}

fn patch_pool(shoot: &mut Value, patch: &Value, findings: &mut Findings) {
    let workers = shoot.pointer_mut("/spec/provider/workers").and_then(Value::as_array_mut);
    let mut workers = workers.into_iter().flatten();
    let name = patch["name"].as_str().unwrap_or_default();
    let path = format!("spec.provider.workers[{name}]");
    let Some(worker) = workers.find(|worker| worker["name"] == name) else {
        findings.problem(problem(
            &path,
            "is not a pool of this Cluster; use spec.infrastructure.additionalWorkers",
        ));
        return;
    };
    let before = worker.clone();
    merge(worker, patch);
    for (key, instead) in [("zones", "use zones of the pool"), ("name", "it is how the pool is found")] {
        if before.get(key) != worker.get(key) {
            findings.problem(problem(&format!("{path}.{key}"), format!("may not be touched: {instead}")));
        }
    }
}

/// RFC 7386.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}
