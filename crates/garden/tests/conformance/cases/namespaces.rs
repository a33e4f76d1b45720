//! The life of a namespace.

use super::shared::*;
use crate::script::*;
use serde_json::{Value, json};

fn own(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
}

const OTHER: &str = "/api/v1/namespaces/{ns}-n";

pub fn cases() -> Vec<Case> {
    let in_other = |plural: &str| format!("{OTHER}/{plural}");
    let made = || create(NAMESPACES, own("{ns}-n"));
    vec![
        case("namespaces::begin_with_an_account_and_a_bundle", [
            made(),
            get(in_other("serviceaccounts")).until(Until::Count("/items", 1)).ignore("/body/items/0/metadata/managedFields"),
            get(in_other("configmaps")).until(Until::Count("/items", 1)).ignore("/body/items/0/metadata/managedFields"),
        ]),
        case("namespaces::take_everything_with_them", [
            made(),
            create(in_other("configmaps"), config_map("a", json!({}))),
            create(in_other("secrets"), secret("a", json!({}))),
            create("/apis/{group}/v1/namespaces/{ns}-n/widgets", widget("a", json!({}))),
            delete(OTHER),
            get(OTHER).until_code(404),
            get(in_other("configmaps")).until(Until::Count("/items", 0)),
            get("/apis/{group}/v1/namespaces/{ns}-n/widgets").until(Until::Count("/items", 0)),
            create(in_other("configmaps"), config_map("a", json!({}))).is(404),
        ]),
        case("namespaces::wait_for_finalizers", [
            made(),
            create(in_other("configmaps"), json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "finalizers": ["example.com/held"] } })),
            delete(OTHER),
            get(in_other("configmaps/a")).until(Until::There("/metadata/deletionTimestamp")),
            get(OTHER).until(Until::Is("/status/phase", json!("Terminating"))).ignore("/body/status/conditions").ignore("/body/metadata"),
            create(in_other("configmaps"), config_map("b", json!({}))).is(403),
            create("/apis/{group}/v1/namespaces/{ns}-n/widgets", widget("b", json!({}))).is(403),
            apply(in_other("configmaps/c"), "one", config_map("c", json!({}))).is(403),
            merge(in_other("configmaps/a"), json!({ "data": { "k": "still" } })),
            merge(in_other("configmaps/a"), json!({ "metadata": { "finalizers": null } })),
            get(OTHER).until_code(404),
        ]),
        case("namespaces::may_be_deleted_twice", [
            made(),
            create(in_other("configmaps"), json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "finalizers": ["example.com/held"] } })),
            delete(OTHER),
            get(in_other("configmaps/a")).until(Until::There("/metadata/deletionTimestamp")),
            delete(OTHER).ignore("/body/status/conditions").ignore("/body/metadata"),
            create(NAMESPACES, own("{ns}-n")).is(409),
            merge(in_other("configmaps/a"), json!({ "metadata": { "finalizers": null } })),
            get(OTHER).until_code(404),
            create(NAMESPACES, own("{ns}-n")),
        ]),
        case("namespaces::some_may_not_be_deleted", [
            delete("/api/v1/namespaces/kube-system").is(403),
            delete("/api/v1/namespaces/default").is(403),
        ]),
        case("namespaces::are_labelled_with_their_name", [
            create(NAMESPACES, json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "{ns}-n", "labels": { "x": "1" } } })),
            merge(OTHER, json!({ "metadata": { "labels": { "kubernetes.io/metadata.name": "other" } } })),
            merge(OTHER, json!({ "metadata": { "labels": null } })),
            get(format!("{NAMESPACES}?labelSelector=kubernetes.io/metadata.name={{ns}}-n")),
        ]),
        case("namespaces::finalizers_of_their_own", [
            made(),
            update(format!("{OTHER}/finalize"), json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "{ns}-n" }, "spec": { "finalizers": ["kubernetes", "example.com/held"] } })),
            merge(OTHER, json!({ "spec": { "finalizers": [] } })),
            delete(OTHER),
            get(OTHER).until(Until::Is("/spec/finalizers", json!(["example.com/held"]))).ignore("/body/status/conditions").ignore("/body/metadata"),
            update(format!("{OTHER}/finalize"), json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "{ns}-n" }, "spec": {} })).ignore("/body"),
            get(OTHER).until_code(404),
        ]),
        case("namespaces::status", [
            made(),
            get(format!("{OTHER}/status")),
            merge(format!("{OTHER}/status"), json!({ "status": { "conditions": [{ "type": "Fine", "status": "True" }] } })),
        ]),
        case("namespaces::names", [
            create(NAMESPACES, own("{ns}.dotted")).is(422),
            create(NAMESPACES, own(&"x".repeat(64))).is(422),
            create(NAMESPACES, json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "generateName": "{ns}-" } })).save("name", "/metadata/name"),
            get("/api/v1/namespaces/{name}"),
            get("/api/v1/namespaces/{ns}-none").is(404),
        ]),
    ]
}
