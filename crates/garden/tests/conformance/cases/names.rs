//! Names, and what else has to be written as one: keys and values of labels, annotations, finalizers, selectors.

use super::shared::*;
use crate::script::*;
use serde_json::{Value, json};

/// What may be a key and what may not.
fn keys() -> Vec<(String, bool)> {
    let long = |count: usize| "x".repeat(count);
    vec![
        (long(63), true),
        (long(64), false),
        ("a.b_c-D".to_owned(), true),
        ("-a".to_owned(), false),
        ("a-".to_owned(), false),
        ("ä".to_owned(), false),
        ("/a".to_owned(), false),
        ("example.com/".to_owned(), false),
        ("example.com/a".to_owned(), true),
        ("Example.com/a".to_owned(), false),
        ("example..com/a".to_owned(), false),
        (format!("{}/a", long(253)), true),
        (format!("{}/a", long(254)), false),
        (format!("{}/{}", long(254), long(64)), false),
        ("a/b/c".to_owned(), false),
    ]
}

fn with(field: &str, value: Value) -> Value {
    let mut object = config_map("a", json!({}));
    object["metadata"][field] = value;
    object
}

/// Tried without being kept, so that one case can try many.
fn attempt(object: Value, fine: bool) -> Step {
    create(format!("{CONFIG_MAPS}?dryRun=All"), object).is(if fine { 201 } else { 422 })
}

pub fn cases() -> Vec<Case> {
    let long = |count: usize| "x".repeat(count);
    let names = [
        (long(253), true),
        (long(254), false),
        ("a.b-c".to_owned(), true),
        ("A".to_owned(), false),
        ("a_b".to_owned(), false),
        (".a".to_owned(), false),
        ("a..b".to_owned(), false),
        (format!("{}-", long(300)), false),
    ];
    let values = [
        (String::new(), true),
        (long(63), true),
        (long(64), false),
        ("a_b.C-1".to_owned(), true),
        ("-a".to_owned(), false),
        (format!("-{}", long(64)), false),
        ("a b".to_owned(), false),
    ];
    vec![
        case("names::of_objects", names.iter().map(|(name, fine)| attempt(config_map(name, json!({})), *fine))),
        case(
            "names::of_namespaces",
            [long(63), long(64), "A".to_owned(), "a.b".to_owned(), "a-".to_owned(), "-".to_owned()].map(|name| {
                let fine = name.len() == 63;
                let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
                create(format!("{NAMESPACES}?dryRun=All"), namespace).is(if fine { 201 } else { 422 })
            }),
        ),
        case(
            "names::to_generate",
            [("a-", true), ("a", true), ("Ab-", false), ("-", false), ("a.", false), ("a..", false)].map(|(prefix, fine)| {
                let mut object = with("generateName", json!(prefix));
                object["metadata"].as_object_mut().unwrap().remove("name");
                attempt(object, fine)
            }),
        ),
        case("names::of_labels", keys().into_iter().map(|(key, fine)| attempt(with("labels", json!({ key: "" })), fine))),
        case(
            "names::of_annotations",
            keys().into_iter().map(|(key, fine)| attempt(with("annotations", json!({ key.clone(): "" })), fine || key.starts_with('E'))),
        ),
        case(
            "names::of_finalizers",
            keys().into_iter().map(|(key, fine)| attempt(with("finalizers", json!([key])), fine && key.contains('/'))),
        ),
        case(
            "names::of_label_values",
            values.iter().map(|(value, fine)| attempt(with("labels", json!({ "k": value })), *fine)),
        ),
        case(
            "names::in_selectors",
            [
                (format!("{}=a", long(64)), false),
                (format!("k={}", long(64)), false),
                (format!("k={}", long(63)), true),
                ("k=-a".to_owned(), false),
                ("Example.com/a=b".to_owned(), false),
                (format!("{}/{}", long(254), long(64)), false),
                ("a/b/c".to_owned(), false),
                ("k in (a,-b,-c)".to_owned(), false),
            ]
            .map(|(selector, fine)| {
                let selector = selector.replace(' ', "%20");
                get(format!("{CONFIG_MAPS}?labelSelector={selector}")).is(if fine { 200 } else { 400 })
            }),
        ),
        case(
            "names::in_roles",
            keys().into_iter().map(|(key, _)| {
                let role = json!({
                    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "{ns}-names" },
                    "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { key: "-" } }] }
                });
                create(format!("{CLUSTER_ROLES}?dryRun=All"), role).is(422)
            }),
        ),
    ]
}
