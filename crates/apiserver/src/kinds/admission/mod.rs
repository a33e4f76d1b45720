//! ValidatingAdmissionPolicies and their bindings, as objects. See [`crate::policy`] for what they do.

mod validation;

pub(crate) use validation::validate;

use crate::meta;
use serde_json::{Value, json};

/// What a policy or a binding means that does not say so.
pub(super) fn default(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    let spec = fields.entry("spec").or_insert_with(|| json!({}));
    drop_empty(spec);
    for field in ["matchConstraints", "matchResources"] {
        if let Some(matching) = spec.get_mut(field).filter(|matching| matching.is_object()) {
            default_matching(matching);
        }
    }
}

/// What a policy means that does not say so, beyond what a binding has too.
pub(super) fn default_policy(object: &mut Value) {
    default(object);
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.entry("failurePolicy").or_insert_with(|| json!("Fail"));
    }
}

fn default_matching(matching: &mut Value) {
    for rules in ["resourceRules", "excludeResourceRules"] {
        for rule in matching.get_mut(rules).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(rule) = rule.as_object_mut() {
                rule.entry("scope").or_insert_with(|| json!("*"));
            }
        }
    }
    if let Some(fields) = matching.as_object_mut() {
        fields.entry("matchPolicy").or_insert_with(|| json!("Equivalent"));
        fields.entry("namespaceSelector").or_insert_with(|| json!({}));
        fields.entry("objectSelector").or_insert_with(|| json!({}));
    }
}

/// Takes out what is empty: it is the same as what is not there.
fn drop_empty(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(drop_empty),
        Value::Object(fields) => {
            fields.values_mut().for_each(drop_empty);
            fields.retain(|field, value| match value {
                Value::Array(items) => !items.is_empty(),
                Value::Object(labels) => field != "matchLabels" || !labels.is_empty(),
                Value::String(text) => {
                    !text.is_empty()
                        || !matches!(field.as_str(), "message" | "messageExpression" | "namespace")
                }
                _ => true,
            });
        }
        _ => {}
    }
}

pub(super) fn prepare_create(object: &mut Value, has_status: bool) {
    meta::metadata(object).insert("generation".into(), json!(1));
    if has_status {
        object["status"] = json!({});
    }
}

pub(super) fn prepare_update(object: &mut Value, old: &Value) {
    if object["spec"] != old["spec"] {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or_default() + 1;
        meta::metadata(object).insert("generation".into(), json!(generation));
    }
}
