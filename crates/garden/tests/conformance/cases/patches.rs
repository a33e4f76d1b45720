//! JSON patch, merge patch, strategic merge patch.

use super::shared::*;
use crate::script::*;
use serde_json::{Value, json};

fn at() -> String {
    format!("{CONFIG_MAPS}/a")
}

fn start() -> Step {
    let mut object = config_map("a", json!({ "k": "v", "l": "w", "a/b": "slash" }));
    object["data"].as_object_mut().unwrap().remove("a/b");
    object["metadata"]["labels"] = json!({ "x": "1" });
    object["metadata"]["annotations"] = json!({ "example.com/a": "1" });
    object["metadata"]["finalizers"] = json!(["example.com/a", "example.com/b"]);
    create(CONFIG_MAPS, object)
}

pub fn cases() -> Vec<Case> {
    let mut all = json_cases();
    all.extend(merge_cases());
    all.extend(strategic_cases());
    all.push(case(
        "patch::unknown_content_type",
        [
            start(),
            raw("PATCH", at(), "application/json", "{}").is(415),
            raw("PATCH", at(), "text/plain", "{}").is(415),
            create(WIDGETS, widget("a", json!({}))),
            strategic(format!("{WIDGETS}/a"), json!({ "spec": { "size": 2 } })).is(415),
            merge(format!("{CONFIG_MAPS}/a?force=true"), json!({})).is(422),
        ],
    ));
    let strange = || json!([{ "op": "add", "path": "/metadata/labels/y", "value": "2", "more": 1 }]);
    all.push(case(
        "patch::fields_of_operations_that_mean_nothing",
        [
            start(),
            create(WIDGETS, widget("a", json!({}))),
            json_patch(format!("{CONFIG_MAPS}/a?fieldValidation=Ignore"), strange()),
            json_patch(at(), strange()),
            // It shows the object, whose fields stand in another order.
            json_patch(format!("{CONFIG_MAPS}/a?fieldValidation=Strict"), strange())
                .is(422)
                .ignore("/body/message")
                .ignore("/body/details/causes/0/message"),
            json_patch(
                format!("{WIDGETS}/a"),
                json!([{ "op": "add", "path": "/metadata/labels", "value": {}, "more": 1 }]),
            ),
        ],
    ));
    all.push(case(
        "patch::on_a_custom_resource",
        [
            create(
                WIDGETS,
                widget(
                    "a",
                    json!({ "tags": ["a", "b"], "ports": [{ "port": 1 }], "nested": { "first": "1" } }),
                ),
            ),
            json_patch(
                format!("{WIDGETS}/a"),
                json!([{ "op": "add", "path": "/spec/tags/-", "value": "c" }]),
            ),
            json_patch(
                format!("{WIDGETS}/a"),
                json!([{ "op": "replace", "path": "/spec/ports/0/name", "value": "n" }]),
            ),
            merge(format!("{WIDGETS}/a"), json!({ "spec": { "ports": [{ "port": 2 }], "nested": null } })),
            merge(format!("{WIDGETS}/a"), json!({ "spec": { "unknown": 1 } })),
        ],
    ));
    all.push(case(
        "patch::version_as_a_precondition",
        [
            start().save("version", "/metadata/resourceVersion"),
            merge(at(), json!({ "metadata": { "resourceVersion": "{version}" }, "data": { "k": "1" } })),
            merge(at(), json!({ "metadata": { "resourceVersion": "{version}" }, "data": { "k": "2" } }))
                .is(409),
            merge(at(), json!({ "metadata": { "resourceVersion": "" }, "data": { "k": "3" } })),
            merge(at(), json!({ "metadata": { "resourceVersion": null }, "data": { "k": "4" } })),
            json_patch(at(), json!([{ "op": "replace", "path": "/metadata/resourceVersion", "value": "1" }]))
                .is(409),
            json_patch(
                at(),
                json!([{ "op": "test", "path": "/metadata/resourceVersion", "value": "{version}" }]),
            )
            .is(422),
        ],
    ));
    all
}

/// Every row: a name, a patch, and what the real server says.
fn json_cases() -> Vec<Case> {
    let rows: Vec<(&str, Value, u16)> = vec![
        ("add", json!([{ "op": "add", "path": "/data/new", "value": "n" }]), 200),
        ("add_over", json!([{ "op": "add", "path": "/data/k", "value": "n" }]), 200),
        (
            "add_at_index",
            json!([{ "op": "add", "path": "/metadata/finalizers/1", "value": "example.com/c" }]),
            200,
        ),
        (
            "add_at_end",
            json!([{ "op": "add", "path": "/metadata/finalizers/-", "value": "example.com/c" }]),
            200,
        ),
        (
            "add_beyond_end",
            json!([{ "op": "add", "path": "/metadata/finalizers/7", "value": "example.com/c" }]),
            422,
        ),
        ("add_under_nothing", json!([{ "op": "add", "path": "/binaryData/k", "value": "bg==" }]), 422),
        ("remove", json!([{ "op": "remove", "path": "/data/k" }]), 200),
        ("remove_whole", json!([{ "op": "remove", "path": "/data" }]), 200),
        ("remove_missing", json!([{ "op": "remove", "path": "/data/none" }]), 422),
        ("remove_item", json!([{ "op": "remove", "path": "/metadata/finalizers/0" }]), 200),
        ("replace", json!([{ "op": "replace", "path": "/data", "value": { "z": "1" } }]), 200),
        ("replace_missing", json!([{ "op": "replace", "path": "/data/none", "value": "1" }]), 200),
        ("move", json!([{ "op": "move", "from": "/data/k", "path": "/data/moved" }]), 200),
        ("move_missing", json!([{ "op": "move", "from": "/data/none", "path": "/data/moved" }]), 422),
        ("copy", json!([{ "op": "copy", "from": "/data/k", "path": "/data/copied" }]), 200),
        ("test_true", json!([{ "op": "test", "path": "/data/k", "value": "v" }]), 200),
        (
            "test_false",
            json!([{ "op": "test", "path": "/data/k", "value": "other" }, { "op": "remove", "path": "/data/k" }]),
            422,
        ),
        ("test_missing", json!([{ "op": "test", "path": "/data/none", "value": "v" }]), 422),
        ("test_missing_is_null", json!([{ "op": "test", "path": "/data/none", "value": null }]), 200),
        (
            "test_finalizer",
            json!([
                { "op": "test", "path": "/metadata/finalizers/0", "value": "example.com/a" },
                { "op": "remove", "path": "/metadata/finalizers/0" }
            ]),
            200,
        ),
        (
            "escaped",
            json!([{ "op": "replace", "path": "/metadata/annotations/example.com~1a", "value": "2" }]),
            200,
        ),
        ("unknown_operation", json!([{ "op": "destroy", "path": "/data/k" }]), 422),
        ("no_path", json!([{ "op": "remove" }]), 422),
        ("not_an_array", json!({ "op": "remove", "path": "/data/k" }), 400),
        ("empty", json!([]), 200),
        ("wrong_type", json!([{ "op": "replace", "path": "/data/k", "value": 5 }]), 422),
        (
            "whole",
            json!([{ "op": "replace", "path": "", "value": { "apiVersion": "v1", "kind": "ConfigMap" } }]),
            400,
        ),
        ("index_is_not_one", json!([{ "op": "remove", "path": "/metadata/finalizers/x" }]), 422),
    ];
    rows.into_iter()
        .map(|(name, patch, code)| {
            case(format!("json_patch::{name}"), [start(), json_patch(at(), patch).is(code)])
        })
        .collect()
}

fn merge_cases() -> Vec<Case> {
    let rows: Vec<(&str, Value, u16)> = vec![
        ("sets_and_removes", json!({ "data": { "k": null, "n": "1" }, "metadata": { "labels": null } }), 200),
        ("removes_what_is_missing", json!({ "data": { "none": null } }), 200),
        ("replaces_lists", json!({ "metadata": { "finalizers": ["example.com/c"] } }), 200),
        ("empty", json!({}), 200),
        ("wrong_type", json!({ "data": "text" }), 422),
        ("wrong_value", json!({ "data": { "k": 1 } }), 422),
        ("not_an_object", json!(["k"]), 400),
        ("null_metadata", json!({ "metadata": null }), 400),
        ("unknown_field", json!({ "unknown": 1 }), 200),
    ];
    rows.into_iter()
        .map(|(name, patch, code)| {
            case(format!("merge_patch::{name}"), [start(), merge(at(), patch).is(code)])
        })
        .collect()
}

fn strategic_cases() -> Vec<Case> {
    let rows: Vec<(&str, Value, u16)> = vec![
        ("merges_maps", json!({ "data": { "n": "1" } }), 200),
        ("removes", json!({ "data": { "k": null } }), 200),
        ("merges_finalizers", json!({ "metadata": { "finalizers": ["example.com/c"] } }), 200),
        ("replaces_by_directive", json!({ "data": { "$patch": "replace", "n": "1" } }), 200),
        ("deletes_by_directive", json!({ "data": { "$patch": "delete" } }), 200),
        (
            "deletes_from_a_primitive_list",
            json!({ "metadata": { "$deleteFromPrimitiveList/finalizers": ["example.com/a"] } }),
            200,
        ),
        ("retains_keys", json!({ "data": { "$retainKeys": ["k"], "k": "1" } }), 200),
        ("wrong_type", json!({ "data": { "k": 1 } }), 422),
        ("unknown_directive", json!({ "data": { "$patch": "destroy" } }), 500),
    ];
    let mut all: Vec<Case> = rows
        .into_iter()
        .map(|(name, patch, code)| {
            case(format!("strategic_patch::{name}"), [start(), strategic(at(), patch).is(code)])
        })
        .collect();
    // Both are there: the garbage collector would take out one that is not.
    let owner =
        |name: &str, uid: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid });
    all.push(case(
        "strategic_patch::merges_owners_by_uid",
        [
            start(),
            create(CONFIG_MAPS, config_map("b", json!({}))).save("uid", "/metadata/uid"),
            create(CONFIG_MAPS, config_map("c", json!({}))).save("other", "/metadata/uid"),
            strategic(at(), json!({ "metadata": { "ownerReferences": [owner("b", "{uid}")] } })),
            strategic(at(), json!({ "metadata": { "ownerReferences": [owner("c", "{other}")] } })),
            strategic(
                at(),
                json!({ "metadata": { "ownerReferences": [{ "uid": "{uid}", "controller": true }] } }),
            ),
            strategic(
                at(),
                json!({ "metadata": { "ownerReferences": [{ "$patch": "delete", "uid": "{uid}" }] } }),
            ),
        ],
    ));
    all
}
