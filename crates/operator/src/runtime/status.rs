//! The one way in which operators write the status of an object.
//!
//! A status is written as a merge patch of the difference between the status that was read and the one that is wanted. A merge
//! patch removes only what it names, so every field that is gone is named, at any depth: a field that stayed behind would make
//! the status differ from the wanted one for ever, and whatever depends on it would be done again and again. A replacement of
//! the whole status would not do: it drops fields that this version does not know, and it would need the kubeconfig of a
//! KubeconfigRequest, which no cache keeps. UID and resourceVersion have the server refuse a difference to any other state.

use super::call::{CallError, call};
use kube::{
    Api, Resource, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use std::fmt::Debug;

/// The difference between two statuses.
#[derive(Clone, PartialEq)]
pub struct StatusChange(Map<String, Value>);

impl StatusChange {
    /// What has to change in the status that was read to make it the wanted one.
    pub fn between<S: Serialize>(before: Option<&S>, after: &S) -> Self {
        Self(difference(&fields_of(before.map(|before| json!(before))), &fields_of(Some(json!(after)))))
    }

    /// Sets a field that the compared statuses do not have; none removes it.
    pub fn set(&mut self, field: &str, value: Option<&str>) {
        self.0.insert(field.to_owned(), json!(value));
    }

    /// Adds all that another difference changes.
    pub fn add(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Removes no field inside a field: a fault that tests plant (`planted`).
    pub(crate) fn keep_nested(&mut self) {
        fn keep(value: &mut Value) {
            if let Value::Object(fields) = value {
                fields.retain(|_, value| !value.is_null());
                fields.values_mut().for_each(keep);
            }
        }
        self.0.values_mut().for_each(keep);
        self.0.retain(|_, value| !value.as_object().is_some_and(Map::is_empty));
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Writes a difference to the status of an object, as it was read. Returns the object as the server has it then; none if nothing
/// changes.
pub async fn write_status<K>(api: &Api<K>, object: &K, change: &StatusChange) -> Result<Option<K>, CallError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    if change.is_empty() {
        return Ok(None);
    }
    let name = object.name_any();
    let patch = json!({ "metadata": identity(object.meta()), "status": change.0 });
    let what = || format!("write the status of {} {name}", K::kind(&()));
    call(what, api.patch_status(&name, &PatchParams::default(), &Patch::Merge(&patch))).await.map(Some)
}

/// What makes a write conditional on the object being this one, and as it was.
pub fn identity(metadata: &ObjectMeta) -> Value {
    json!({ "uid": metadata.uid, "resourceVersion": metadata.resource_version })
}

fn fields_of(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// The merge patch that makes one object of another.
fn difference(before: &Map<String, Value>, after: &Map<String, Value>) -> Map<String, Value> {
    let is_there = |value: &&Value| !value.is_null();
    let mut change = Map::new();
    for (name, wanted) in after.iter().filter(|(_, value)| !value.is_null()) {
        match (before.get(name).filter(is_there), wanted) {
            (Some(known), wanted) if known == wanted => (),
            (Some(Value::Object(known)), Value::Object(wanted)) => {
                let inner = difference(known, wanted);
                // They may differ only in how they say that something is not there.
                if !inner.is_empty() {
                    change.insert(name.clone(), Value::Object(inner));
                }
            }
            (_, wanted) => drop(change.insert(name.clone(), wanted.clone())),
        }
    }
    for (name, _) in before.iter().filter(|(_, value)| !value.is_null()) {
        if after.get(name).filter(is_there).is_none() {
            change.insert(name.clone(), Value::Null);
        }
    }
    change
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a server makes of a merge patch.
    fn merge(target: &mut Value, patch: &Value) {
        let Value::Object(patch) = patch else {
            *target = patch.clone();
            return;
        };
        if !target.is_object() {
            *target = json!({});
        }
        let target = target.as_object_mut().unwrap();
        for (name, value) in patch {
            match value {
                Value::Null => drop(target.remove(name)),
                value => merge(target.entry(name.clone()).or_insert(Value::Null), value),
            }
        }
    }

    #[test]
    fn a_server_has_the_wanted_status_afterwards_whatever_it_was() {
        let statuses = [
            json!({}),
            json!({ "phase": "Ready" }),
            json!({ "secretRef": { "name": "a" } }),
            json!({ "secretRef": { "name": "a", "key": "k" } }),
            json!({ "secretRef": { "name": "b", "key": "k", "deep": { "one": 1, "two": 2 } } }),
            json!({ "secretRef": { "name": "b", "deep": { "two": 2 } }, "list": [{ "a": 1, "b": 2 }] }),
            json!({ "secretRef": {}, "list": [{ "a": 1 }] }),
            json!({ "secretRef": "text", "list": [] }),
        ];
        for before in &statuses {
            for after in &statuses {
                let change = StatusChange::between(Some(before), after);
                assert_eq!(change.is_empty(), before == after, "{before} {after}");
                let mut found = before.clone();
                merge(&mut found, &Value::Object(change.0));
                assert_eq!(&found, after, "{before}");
            }
        }
    }

    #[test]
    fn only_what_changes_is_sent_and_unknown_fields_stay() {
        let before = json!({ "phase": "Ready", "nested": { "own": 1, "gone": 2 } });
        let change =
            StatusChange::between(Some(&before), &json!({ "phase": "Ready", "nested": { "own": 1 } }));
        assert_eq!(Value::Object(change.0.clone()), json!({ "nested": { "gone": null } }));
        let mut found = json!({ "phase": "Ready", "nested": { "own": 1, "gone": 2, "theirs": 3 }, "new": 4 });
        merge(&mut found, &Value::Object(change.0));
        assert_eq!(found, json!({ "phase": "Ready", "nested": { "own": 1, "theirs": 3 }, "new": 4 }));
    }

    #[test]
    fn null_and_missing_are_the_same() {
        let change = StatusChange::between(Some(&json!({ "a": null })), &json!({ "b": null }));
        assert!(change.is_empty());
        assert!(StatusChange::between::<Value>(None, &json!({})).is_empty());
    }
}
