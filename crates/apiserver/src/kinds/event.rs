//! The two faces of an Event: `v1`, which is stored, and `events.k8s.io/v1`.

use crate::{
    error::{FieldError, FieldErrorKind},
    meta, names,
};
use serde_json::{Value, json};

/// What the texts of an event may come to, in bytes.
const LIMITS: [(&str, usize); 4] =
    [("reportingInstance", 128), ("action", 128), ("reason", 128), ("message", 1024)];

/// Fields that only have another name: in `v1`, and in `events.k8s.io/v1`.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Fields that are always there.
pub(super) fn default(event: &mut Value, core: bool) {
    let (source, about) = match core {
        true => ("source", "involvedObject"),
        false => ("deprecatedSource", "regarding"),
    };
    let Some(fields) = event.as_object_mut() else { return };
    fields.entry("eventTime").or_insert(Value::Null);
    if core {
        fields.entry("reportingInstance").or_insert_with(|| json!(""));
        fields.entry("reportingComponent").or_insert_with(|| json!(""));
    }
    fields.entry(source).or_insert_with(|| json!({}));
    fields.entry(about).or_insert_with(|| json!({}));
    if !core {
        for time in ["deprecatedFirstTimestamp", "deprecatedLastTimestamp"] {
            fields.entry(time).or_insert(Value::Null);
        }
    } else {
        for time in ["firstTimestamp", "lastTimestamp"] {
            fields.entry(time).or_insert(Value::Null);
        }
    }
}

/// As `events.k8s.io/v1` has it.
pub(crate) fn from_core(event: Value) -> Value {
    let mut event = rename(event, "events.k8s.io/v1", RENAMED);
    if let Some(fields) = event.as_object_mut() {
        for name in ["reportingController", "reportingInstance"] {
            if fields.get(name).is_some_and(|text| text == "") {
                fields.remove(name);
            }
        }
    }
    event
}

/// As `v1` has it.
pub(crate) fn to_core(event: Value) -> Value {
    rename(event, "v1", RENAMED.map(|(core, new)| (new, core)))
}

/// What an event must be. The new group is stricter than the old one.
pub(super) fn validate(new: &Value, old: Option<&Value>, core: bool) -> Vec<FieldError> {
    let as_core = |event: &Value| if core { event.clone() } else { to_core(event.clone()) };
    let (new, old) = (as_core(new), old.map(as_core));
    let mut errors = Vec::new();
    legacy(&new, core, &mut errors);
    if core {
        return errors;
    }
    match old {
        None => {
            series(&new, &mut errors);
            strict(&new, &mut errors);
        }
        Some(old) => {
            if new["series"] != old["series"] {
                series(&new, &mut errors);
            }
            unchanged(&new, &old, &mut errors);
        }
    }
    errors
}

fn text<'a>(event: &'a Value, field: &str) -> &'a str {
    event[field].as_str().unwrap_or_default()
}

fn invalid(field: &str, value: impl Into<Value>, why: impl Into<String>) -> FieldError {
    FieldError::new(field, FieldErrorKind::Invalid, value, why)
}

/// What both groups want.
fn legacy(event: &Value, core: bool, errors: &mut Vec<FieldError>) {
    let namespace = meta::text(event, "namespace");
    let about = meta::text_at(event, "/involvedObject/namespace");
    let is_new = !event["eventTime"].is_null();
    let fits = match (about, is_new) {
        ("", false) => matches!(namespace, "" | "default"),
        ("", true) => matches!(namespace, "default" | "kube-system"),
        (about, false) => about == namespace,
        (_, true) => true,
    };
    if !fits {
        errors.push(invalid("involvedObject.namespace", about, "does not match event.namespace"));
    }
    if !is_new {
        return;
    }
    let field = if core { "reportingComponent" } else { "reportingController" };
    let controller = text(event, "reportingComponent");
    if controller.is_empty() {
        errors.push(FieldError::bare(field, FieldErrorKind::Required, ""));
    }
    errors.extend(names::key_errors(controller).into_iter().map(|why| invalid(field, controller, why)));
    for (field, limit) in LIMITS {
        let length = text(event, field).len();
        if length == 0 && field != "message" {
            errors.push(FieldError::bare(field, FieldErrorKind::Required, ""));
        }
        if length > limit {
            errors.push(invalid(field, "", format!("can have at most {limit} characters")));
        }
    }
}

fn series(event: &Value, errors: &mut Vec<FieldError>) {
    if event["series"].is_null() {
        return;
    }
    if event["series"]["count"].as_i64().unwrap_or_default() < 2 {
        errors.push(invalid("series.count", "", "should be at least 2"));
    }
    if event["series"]["lastObservedTime"].is_null() {
        errors.push(FieldError::bare("series.lastObservedTime", FieldErrorKind::Required, ""));
    }
}

/// What a new event of the new group must be.
fn strict(event: &Value, errors: &mut Vec<FieldError>) {
    if event["eventTime"].is_null() {
        errors.push(FieldError::bare("eventTime", FieldErrorKind::Required, ""));
    }
    let type_ = text(event, "type");
    if !matches!(type_, "Normal" | "Warning") {
        errors.push(invalid("type", "", format!("has invalid value: {type_}")));
    }
    let source = &event["source"];
    for (field, set) in [
        ("firstTimestamp", !event["firstTimestamp"].is_null()),
        ("lastTimestamp", !event["lastTimestamp"].is_null()),
        ("count", event["count"].as_i64().unwrap_or_default() != 0),
        ("source", !text(source, "component").is_empty() || !text(source, "host").is_empty()),
    ] {
        if set {
            errors.push(invalid(field, "", "needs to be unset"));
        }
    }
}

/// Only the series of an event may change.
fn unchanged(new: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    for (field, called) in [
        ("involvedObject", "involvedObject"),
        ("reason", "reason"),
        ("message", "message"),
        ("source", "source"),
        ("firstTimestamp", "firstTimestamp"),
        ("lastTimestamp", "lastTimestamp"),
        ("count", "count"),
        ("reason", "reason"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingComponent", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ] {
        if new[field] != old[field] {
            errors.push(invalid(called, new[field].clone(), "field is immutable"));
        }
    }
}

fn rename(mut event: Value, api_version: &str, names: [(&str, &str); 7]) -> Value {
    if let Some(fields) = event.as_object_mut() {
        for (from, to) in names {
            if let Some(value) = fields.remove(from) {
                fields.insert(to.to_owned(), value);
            }
        }
        fields.insert("apiVersion".to_owned(), json!(api_version));
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_is_the_same() {
        let event = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": { "name": "e" }, "note": "n", "reason": "R",
            "regarding": { "kind": "ConfigMap" }, "reportingController": "c", "eventTime": "t", "action": "A"
        });
        let core = to_core(event.clone());
        assert_eq!(
            (core["message"].as_str(), core["involvedObject"]["kind"].as_str()),
            (Some("n"), Some("ConfigMap"))
        );
        assert_eq!(from_core(core), event);
    }
}
