//! Server-side apply: who owns what, and what happens when two disagree.

use super::shared::*;
use crate::script::*;
use serde_json::{Value, json};

fn cm() -> String {
    format!("{CONFIG_MAPS}/a")
}

fn w() -> String {
    format!("{WIDGETS}/a")
}

fn by(manager: &str, spec: Value) -> Step {
    apply(w(), manager, widget("a", spec))
}

fn by_force(manager: &str, spec: Value) -> Step {
    apply_by_force(w(), manager, widget("a", spec))
}

pub fn cases() -> Vec<Case> {
    let mut all = config_maps();
    all.extend(lists());
    all.extend(maps_and_transitions());
    all
}

fn config_maps() -> Vec<Case> {
    let data = |data: Value| config_map("a", data);
    vec![
        case("apply::removes_what_is_no_longer_applied", [
            apply(cm(), "one", data(json!({ "k": "1", "l": "1" }))).is(201),
            apply(cm(), "two", data(json!({ "m": "2" }))),
            apply(cm(), "one", data(json!({ "k": "1" }))),
            apply(cm(), "one", json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } })),
        ]),
        case("apply::shares_what_is_agreed_on", [
            apply(cm(), "one", data(json!({ "k": "1" }))).is(201),
            apply(cm(), "two", data(json!({ "k": "1" }))),
            apply(cm(), "one", data(json!({}))),
            apply(cm(), "two", data(json!({}))),
        ]),
        case("apply::names_the_conflicts", [
            apply(cm(), "one", data(json!({ "k": "1", "l": "1" }))).is(201),
            apply(cm(), "two", data(json!({ "k": "2", "l": "2" }))).is(409),
            merge(format!("{}?fieldManager=three", cm()), json!({ "data": { "l": "3" } })),
            apply(cm(), "two", data(json!({ "k": "2", "l": "2" }))).is(409),
            apply_by_force(cm(), "two", data(json!({ "k": "2", "l": "2" }))),
        ]),
        case("apply::after_an_update_by_the_same_manager", [
            create(format!("{CONFIG_MAPS}?fieldManager=one"), data(json!({ "k": "1" }))),
            apply(cm(), "one", data(json!({ "k": "2" }))).is(409),
            apply_by_force(cm(), "one", data(json!({ "k": "2" }))),
            update(format!("{}?fieldManager=one", cm()), data(json!({ "k": "3" }))),
        ]),
        case("apply::without_a_change_keeps_the_version", [
            apply(cm(), "one", data(json!({ "k": "1" }))).is(201),
            apply(cm(), "one", data(json!({ "k": "1" }))),
            get(cm()),
        ]),
        case("apply::needs_a_manager", [
            raw("PATCH", cm(), APPLY_PATCH, data(json!({})).to_string()).is(422),
            raw("PATCH", format!("{}?fieldManager=", cm()), APPLY_PATCH, data(json!({})).to_string()).is(422),
        ]),
        case("apply::understands_yaml", [
            raw("PATCH", format!("{}?fieldManager=one", cm()), APPLY_PATCH, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: |\n    two\n    lines\n").is(201),
            raw("PATCH", format!("{}?fieldManager=one", cm()), APPLY_PATCH, "a: [").is(400)
                .differs("/body/message", "YAML that is not well-formed is refused in the words of another parser"),
        ]),
        case("apply::wants_an_object_that_fits", [
            apply(cm(), "one", json!({ "metadata": { "name": "a" } })).is(400),
            apply(cm(), "one", json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" } })).is(400),
            apply(cm(), "one", config_map("b", json!({}))).is(400),
            apply(cm(), "one", json!({ "apiVersion": "v1", "kind": "ConfigMap" })).is(400),
            apply(cm(), "one", json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "managedFields": [{ "manager": "x" }] } })).is(400),
        ]),
        case("apply::wants_a_matching_uid", [
            apply(cm(), "one", json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "uid": "00000000-0000-0000-0000-000000000000" } })).is(409),
            apply(cm(), "one", data(json!({ "k": "1" }))).is(201).save("uid", "/metadata/uid"),
            apply(cm(), "one", json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "uid": "00000000-0000-0000-0000-000000000000" } })).is(422),
            apply(cm(), "one", json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "uid": "{uid}" } })),
        ]),
        case("apply::wants_a_matching_version", [
            apply(cm(), "one", json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "resourceVersion": "1" } })).is(201),
            apply(cm(), "one", data(json!({ "k": "1" }))).save("version", "/metadata/resourceVersion"),
            apply(cm(), "one", json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "resourceVersion": "{version}" }, "data": { "k": "2" } })),
            apply(cm(), "one", json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "resourceVersion": "{version}" }, "data": { "k": "3" } })).is(409),
        ]),
        case("apply::owns_metadata", [
            apply(cm(), "one", json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "labels": { "x": "1" }, "annotations": { "x": "1" }, "finalizers": ["example.com/one"] } })).is(201),
            apply(cm(), "two", json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "labels": { "x": "2" }, "finalizers": ["example.com/two"] } })).is(409),
            apply(cm(), "two", json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "labels": { "y": "2" }, "finalizers": ["example.com/two"] } })),
            apply(cm(), "one", json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } })),
        ]),
        case("apply::owner_references_are_keyed_by_uid", [
            create(CONFIG_MAPS, config_map("b", json!({}))).save("uid", "/metadata/uid"),
            create(CONFIG_MAPS, config_map("c", json!({}))).save("other", "/metadata/uid"),
            apply(cm(), "one", json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "ownerReferences": [{ "apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": "{uid}" }] } })).is(201),
            apply(cm(), "two", json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "ownerReferences": [{ "apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "{other}" }] } })),
            apply(cm(), "one", json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } })),
        ]),
        case("apply::a_secret_with_string_data", [
            apply(format!("{SECRETS}/a"), "one", secret("a", json!({ "k": "v" }))).is(201),
            apply(format!("{SECRETS}/a"), "one", secret("a", json!({ "l": "v" }))),
        ]),
    ]
}

fn lists() -> Vec<Case> {
    vec![
        case(
            "apply::merges_map_lists_by_key",
            [
                by("one", json!({ "ports": [{ "port": 1, "name": "a" }] })).is(201),
                by(
                    "two",
                    json!({ "ports": [{ "port": 2, "name": "b" }, { "port": 1, "protocol": "UDP", "name": "u" }] }),
                ),
                by("two", json!({ "ports": [{ "port": 1, "name": "c" }] })).is(409),
                by("one", json!({ "ports": [{ "port": 3 }, { "port": 1, "name": "a" }] })),
                by("one", json!({ "ports": [] })),
                by("two", json!({})),
            ],
        ),
        case(
            "apply::refuses_a_key_twice",
            [
                by("one", json!({ "ports": [{ "port": 1 }, { "port": 1, "protocol": "TCP" }] })).is(500),
                by("one", json!({ "ports": [{ "name": "no key" }] })).is(422),
                by("one", json!({ "tags": ["a", "a"] })).is(500),
            ],
        ),
        case(
            "apply::merges_set_lists",
            [
                by("one", json!({ "tags": ["a", "b"] })).is(201),
                by("two", json!({ "tags": ["c", "b"] })),
                by("one", json!({ "tags": ["a"] })),
                by("two", json!({})),
            ],
        ),
        case(
            "apply::keeps_the_order_of_lists",
            [
                by("one", json!({ "tags": ["c", "a"] })).is(201),
                by("two", json!({ "tags": ["b", "a"] })),
                by("one", json!({ "tags": ["a", "c"] })),
            ],
        ),
    ]
}

fn maps_and_transitions() -> Vec<Case> {
    vec![
        case("apply::takes_atomic_maps_whole", [
            by("one", json!({ "atomic": { "first": "1" } })).is(201),
            by("two", json!({ "atomic": { "second": "2" } })).is(409),
            by_force("two", json!({ "atomic": { "second": "2" } })),
            by("one", json!({ "atomic": { "first": "1" } })).is(409),
        ]),
        case("apply::merges_granular_maps", [
            by("one", json!({ "nested": { "first": "1" }, "map": { "x": "1" } })).is(201),
            by("two", json!({ "nested": { "second": "2" }, "map": { "y": "2" } })),
            by("one", json!({ "nested": {}, "map": {} })),
            // What is left of the map when nobody owns anything in it is null, which its type does not allow.
            by("two", json!({})).is(422),
        ]),
        case("apply::does_not_own_defaults", [
            by("one", json!({ "color": "red", "nested": {} })).is(201),
            by("two", json!({ "size": 5 })),
            by("one", json!({ "color": "red" })),
        ]),
        case("apply::unstructured_settings", [
            by("one", json!({ "settings": { "a": { "b": [1, 2] }, "c": 1 } })).is(201),
            by("two", json!({ "settings": { "d": 2 } })),
            by("two", json!({ "settings": { "a": { "b": [3] } } })).is(409),
            by("one", json!({ "settings": { "c": 1 } })),
        ]),
        case("apply::int_or_string", [
            by("one", json!({ "limit": 5 })).is(201),
            by("two", json!({ "limit": "5" })).is(409),
            by_force("two", json!({ "limit": "50%" })),
        ]),
        case("apply::wrong_type", [
            by("one", json!({ "size": "text" })).is(500),
            by("one", json!({ "ports": {} })).is(500),
            by("one", json!({ "tags": [1] })).is(500),
        ]),
        case("apply::nulls", [
            by("one", json!({ "title": null, "perhaps": null, "size": null })).is(422),
            by("one", json!({ "perhaps": null, "size": null })).is(201),
            by("two", json!({ "nested": null })).is(422),
        ]),
        case("apply::to_a_cluster_without_schema", [
            apply(format!("{GADGETS}/{{ns}}-a"), "one", gadget("{ns}-a", json!({ "list": [{ "name": "a" }], "map": { "k": 1 } }))).is(201),
            apply(format!("{GADGETS}/{{ns}}-a"), "two", gadget("{ns}-a", json!({ "list": [{ "name": "b" }] }))).is(409),
            apply(format!("{GADGETS}/{{ns}}-a"), "two", gadget("{ns}-a", json!({ "map": { "l": 2 } }))),
        ]),
        case("apply::while_deleting", [
            create(CONFIG_MAPS, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "finalizers": ["example.com/held"] } })),
            delete(cm()),
            apply(cm(), "one", config_map("a", json!({ "k": "1" }))),
            apply(cm(), "one", json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "finalizers": ["example.com/other"] } })).is(422),
            json_patch(cm(), json!([{ "op": "remove", "path": "/metadata/finalizers/0" }])),
            get(cm()).is(404),
        ]),
        case("apply::subresource_status_is_its_own_manager", [
            by("one", json!({ "color": "red" })).is(201),
            apply(format!("{}/status", w()), "one", json!({ "apiVersion": "{group}/v1", "kind": "Widget", "metadata": { "name": "a" }, "status": { "phase": "P" } })),
            by("one", json!({ "color": "blue" })),
            apply(format!("{WIDGETS}/b/status"), "one", json!({ "apiVersion": "{group}/v1", "kind": "Widget", "metadata": { "name": "b" }, "status": {} })).is(404),
        ]),
    ]
}
