use super::*;
use serde_json::Value;

#[test]
fn groups_are_those_of_the_definitions() {
    let mut groups: Vec<String> = all().into_iter().map(|crd| crd.spec.group).collect();
    groups.dedup();
    assert_eq!(groups, GROUPS);
}

/// Looks at every schema below a value and calls `visit` with its path.
fn walk(value: &Value, path: &str, visit: &mut impl FnMut(&str, &Value)) {
    visit(path, value);
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| walk(field, &format!("{path}/{name}"), visit));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, item)| walk(item, &format!("{path}/{n}"), visit));
        }
        _ => {}
    }
}

#[test]
fn no_definition_has_what_servers_warn_about() {
    for crd in all() {
        let name = crd.metadata.name.clone().unwrap();
        walk(&serde_json::to_value(&crd).unwrap(), &name, &mut |path, value| {
            let meant = path.ends_with("/enforcedShootExtensions/nullable");
            assert!(meant || !path.ends_with("/nullable"), "{path} is nullable");
            assert!(!value.is_null(), "{path} is null");
            if path.ends_with("/format") {
                assert!(!value.as_str().unwrap_or_default().starts_with("uint"), "{path} is {value}");
            }
        });
    }
}

#[test]
fn every_field_is_explained() {
    for crd in all() {
        let name = crd.metadata.name.clone().unwrap();
        walk(&serde_json::to_value(&crd).unwrap(), &name, &mut |path, value| {
            let parent = path.rsplit('/').nth(1);
            if parent == Some("properties") && !path.contains("/openAPIV3Schema/properties/metadata") {
                assert!(value.get("description").is_some(), "{path} has no description for kubectl explain");
            }
        });
    }
}

/// Whoever may write an object, or is read for one, cannot fill it with megabytes. Objects with fields of others' kinds
/// (`shootTemplate`) have the size of the request as their bound.
#[test]
fn every_text_list_and_map_has_a_bound() {
    let mut unbounded = Vec::new();
    for crd in all() {
        let name = crd.metadata.name.clone().unwrap();
        walk(&serde_json::to_value(&crd).unwrap(), &name, &mut |path, schema| {
            let Some(kind) = schema.get("type").and_then(Value::as_str) else { return };
            let has = |key: &str| schema.get(key).is_some();
            let is_bounded = match kind {
                "string" => {
                    has("maxLength") || has("enum") || schema.get("format") == Some(&"date-time".into())
                }
                "array" => has("maxItems"),
                "object" => !has("additionalProperties") || has("maxProperties"),
                _ => true,
            };
            // `apiVersion` and `kind` are the server's.
            let is_ours = path.contains("/openAPIV3Schema/properties/spec")
                || path.contains("/openAPIV3Schema/properties/status");
            if is_ours && !is_bounded {
                unbounded.push(
                    path.replace("/properties/", ".")
                        .replace("/additionalProperties", "{}")
                        .replace("/items", "[]"),
                );
            }
        });
    }
    assert!(unbounded.is_empty(), "without a bound:\n{}", unbounded.join("\n"));
}
