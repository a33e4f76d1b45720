//! `shootTemplate`: a merge patch (RFC 7386) over the rendered Shoot, for what a Cluster has no field for.
//!
//! Two things differ from a plain merge patch. Worker pools are found by their name and patched one by one, and entries of
//! lists that several parties write into are added instead of replacing the list.
//!
//! What a template may change depends on who writes it: [`fields`] is the table of every field, and [`check`] judges a change by
//! it. openMCP's ClusterConfigs are judged by the same table.

pub(crate) mod check;
mod coverage;
mod fields;
pub(crate) mod references;

pub use coverage::{Coverage, coverage};
pub use references::AllowedReference;

pub(crate) use check::RESERVED;
pub(crate) use fields::{Class, Kind, all as fields};

use super::{
    lists::{List, Wanted},
    problem::Findings,
};
use check::{Judge, Writer};
use references::Rights;
use serde_json::{Map, Value};

/// Gardener takes these off once it has done what they say, so applying them would never come to an end.
const OPERATIONS: [&str; 2] = ["gardener.cloud/operation", "shoot.gardener.cloud/tasks"];

/// Our labels and annotations.
const PREFIX: &str = "allotment.dev/";

/// Puts the template over a Shoot, and its entries of shared lists with the others.
pub(super) fn apply(
    template: &Value,
    rights: &Rights<'_>,
    shoot: &mut Value,
    wanted: &mut Wanted,
    findings: &mut Findings,
) {
    let judge = Judge { writer: Writer::Template, rights };
    let mut patch = template.clone();
    for list in List::ALL {
        for entry in take_list(&mut patch, list, findings) {
            judge.entry(&list.name(), &entry, findings);
            wanted.put(list, entry);
        }
    }
    let pools = patch.pointer_mut("/spec/provider").and_then(Value::as_object_mut);
    let pools = pools.and_then(|provider| provider.remove("workers"));
    let before = shoot.clone();
    merge(shoot, &patch);
    match pools {
        None => (),
        Some(Value::Array(pools)) => pools.iter().for_each(|pool| patch_pool(shoot, pool, findings)),
        Some(_) => {
            let what = "must be a list of pools to patch, by name";
            findings.problem(Writer::Template.problem("spec.provider.workers", what));
        }
    }
    judge.shoot(&before, shoot, findings);
    check_keys(&before, shoot, findings);
}

/// Takes the entries of a list out of a Shoot, to be written with those of others.
pub(crate) fn take_list(patch: &mut Value, list: List, findings: &mut Findings) -> Vec<Value> {
    let (last, above) = match list.path() {
        [last] => (last, "/spec".to_owned()),
        [above @ .., last] => (last, format!("/spec/{}", above.join("/"))),
        [] => return Vec::new(),
    };
    let entries = patch.pointer_mut(&above).and_then(Value::as_object_mut).and_then(|map| map.remove(*last));
    match entries {
        None => Vec::new(),
        Some(Value::Array(entries)) => entries,
        Some(_) => {
            let path = format!("spec.{}", list.name());
            let what = "must be a list; its entries are added to those of others";
            findings.problem(Writer::Template.problem(&path, what));
            Vec::new()
        }
    }
}

/// Labels and annotations that nobody may set, the platform included.
fn check_keys(before: &Value, after: &Value, findings: &mut Findings) {
    for kind in ["labels", "annotations"] {
        let pointer = format!("/metadata/{kind}");
        let ours = |shoot: &Value| {
            let all = shoot.pointer(&pointer).and_then(Value::as_object).cloned().unwrap_or_default();
            all.into_iter().filter(|(key, _)| key.starts_with(PREFIX)).collect::<Map<String, Value>>()
        };
        if ours(before) != ours(after) {
            let what = format!("may not touch what begins with {PREFIX}: it is the operator's");
            findings.problem(Writer::Template.problem(&format!("metadata.{kind}"), what));
        }
    }
    for key in OPERATIONS {
        if after["metadata"]["annotations"].get(key).is_some() {
            let what = format!("may not set {key}: Gardener removes it, and it would be set again for ever");
            findings.problem(Writer::Template.problem("metadata.annotations", what));
        }
    }
}

fn patch_pool(shoot: &mut Value, patch: &Value, findings: &mut Findings) {
    let workers = shoot.pointer_mut("/spec/provider/workers").and_then(Value::as_array_mut);
    let mut workers = workers.into_iter().flatten();
    let name = patch["name"].as_str().unwrap_or_default();
    let path = format!("spec.provider.workers[{name}]");
    match workers.find(|worker| worker["name"] == name) {
        Some(worker) => merge(worker, patch),
        None => {
            let what = "is not a pool of this Cluster; use spec.infrastructure.additionalWorkers";
            findings.problem(Writer::Template.problem(&path, what));
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
