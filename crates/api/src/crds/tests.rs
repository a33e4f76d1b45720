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
