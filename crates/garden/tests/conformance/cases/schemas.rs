//! Custom resources under a structural schema: defaults, pruning, validation, rules in CEL.

use super::shared::*;
use crate::script::*;
use serde_json::{Value, json};

fn at() -> String {
    format!("{WIDGETS}/a")
}

pub fn cases() -> Vec<Case> {
    let mut all = validation();
    all.extend(changes());
    all.extend(rules());
    all
}

/// Every row: a name, a spec, and what the real server says.
fn validation() -> Vec<Case> {
    let rows: Vec<(&str, Value, u16)> = vec![
        ("defaults", json!({ "nested": {} }), 201),
        ("defaults_in_lists", json!({ "ports": [{ "port": 1 }] }), 201),
        ("no_spec", Value::Null, 201),
        (
            "prunes",
            json!({ "unknown": 1, "nested": { "unknown": 2, "first": "1" }, "settings": { "kept": 3 } }),
            201,
        ),
        ("prunes_in_lists", json!({ "ports": [{ "port": 1, "unknown": 2 }] }), 201),
        ("null_of_a_default", json!({ "size": null, "perhaps": null }), 201),
        ("null_of_no_default", json!({ "title": null }), 201),
        ("too_small", json!({ "size": -1 }), 422),
        ("too_large", json!({ "size": 101 }), 422),
        ("not_in_enum", json!({ "color": "purple" }), 422),
        ("too_long", json!({ "title": "abcdefghijk" }), 422),
        ("too_short", json!({ "title": "a" }), 422),
        ("pattern", json!({ "title": "ABC" }), 422),
        ("wrong_type", json!({ "size": "1" }), 422),
        (
            "wrong_types",
            json!({ "size": 1.5, "flag": "true", "tags": "a", "nested": [], "map": { "k": 1 } }),
            422,
        ),
        ("integral_float", json!({ "size": 2.0 }), 201),
        ("set_twice", json!({ "tags": ["a", "b", "a"] }), 422),
        ("set_too_many", json!({ "tags": ["a", "b", "c", "d", "e"] }), 422),
        ("map_list_twice", json!({ "ports": [{ "port": 1 }, { "port": 1, "protocol": "TCP" }] }), 422),
        ("map_list_key_missing", json!({ "ports": [{ "name": "x" }] }), 422),
        ("too_many_properties", json!({ "map": { "a": "1", "b": "2", "c": "3", "d": "4" } }), 422),
        ("int_or_string", json!({ "limit": "50%" }), 201),
        ("neither_int_nor_string", json!({ "limit": 1.5 }), 422),
        ("date_time", json!({ "when": "2020-01-01T00:00:00Z" }), 201),
        ("not_a_date_time", json!({ "when": "yesterday" }), 422),
        ("multiple", json!({ "ratio": 1.5 }), 201),
        ("not_a_multiple", json!({ "ratio": 1.25 }), 422),
        ("several_errors", json!({ "size": 500, "color": "no", "title": "X", "when": "y" }), 422),
        ("large_integer", json!({ "settings": { "n": 9_007_199_254_740_993_i64, "f": 1e300 } }), 201),
    ];
    rows.into_iter()
        .map(|(name, spec, code)| {
            let mut object = widget("a", spec);
            if object["spec"].is_null() {
                object.as_object_mut().unwrap().remove("spec");
            }
            case(
                format!("schema::{name}"),
                [
                    create(WIDGETS, object).is(code).in_any_order(),
                    get(at()).is(if code == 201 { 200 } else { 404 }),
                ],
            )
        })
        .collect()
}

fn changes() -> Vec<Case> {
    let made = |spec: Value| create(WIDGETS, widget("a", spec)).save("version", "/metadata/resourceVersion");
    vec![
        case("schema::checked_on_every_change", [
            made(json!({ "color": "red" })),
            merge(at(), json!({ "spec": { "color": "purple" } })).is(422),
            json_patch(at(), json!([{ "op": "replace", "path": "/spec/size", "value": 1000 }])).is(422),
            apply(at(), "one", widget("a", json!({ "title": "X" }))).is(422),
            update(at(), {
                let mut object = widget("a", json!({ "when": "x" }));
                object["metadata"]["resourceVersion"] = json!("{version}");
                object
            })
            .is(422),
            get(at()),
        ]),
        case("schema::defaults_come_back", [
            made(json!({ "size": 5, "nested": { "first": "1", "third": "own" } })),
            merge(at(), json!({ "spec": { "size": null, "nested": { "third": null } } })),
            merge(at(), json!({ "spec": { "nested": null } })),
            merge(at(), json!({ "spec": null })),
        ]),
        case("schema::status_is_checked_apart", [
            made(json!({})),
            merge(format!("{}/status", at()), json!({ "status": { "observedGeneration": "x" } })).is(422),
            merge(format!("{}/status", at()), json!({ "status": { "conditions": [{ "status": "True" }] } })).is(422),
            merge(format!("{}/status", at()), json!({ "status": { "conditions": [{ "type": "A" }, { "type": "A" }] } })).is(422),
            merge(format!("{}/status", at()), json!({ "status": { "unknown": 1, "phase": "P" } })),
        ]),
        case("schema::metadata_is_the_servers_business", [
            create(WIDGETS, json!({ "apiVersion": "{group}/v1", "kind": "Widget", "metadata": { "name": "a", "labels": { "x": 1 } } })).is(400),
            create(WIDGETS, json!({ "apiVersion": "{group}/v1", "kind": "Widget", "metadata": "text" })).is(400),
            create(WIDGETS, json!({ "apiVersion": "{group}/v1", "kind": "Widget", "metadata": { "name": "x".repeat(300) } })).is(422),
        ]),
    ]
}

fn rules() -> Vec<Case> {
    let made = |spec: Value| create(WIDGETS, widget("a", spec));
    vec![
        case(
            "cel::rule_with_a_message_expression",
            [
                made(json!({ "range": { "low": 2, "high": 1, "unit": "meters" } })).is(422),
                made(json!({ "range": { "low": 2, "high": 1 } })).is(422),
                made(json!({ "range": { "low": 1, "high": 2 } })),
                merge(at(), json!({ "spec": { "range": { "low": 3 } } })).is(422),
                merge(at(), json!({ "spec": { "range": { "low": 2 } } })),
            ],
        ),
        case(
            "cel::transition_rule",
            [
                made(json!({ "fixed": "a" })),
                merge(at(), json!({ "spec": { "fixed": "b" } })).is(422),
                merge(at(), json!({ "spec": { "size": 2 } })),
                merge(at(), json!({ "spec": { "fixed": null } })).is(422),
                apply_by_force(at(), "one", widget("a", json!({ "fixed": "c" }))).is(422),
                json_patch(at(), json!([{ "op": "replace", "path": "/spec/fixed", "value": "c" }])).is(422),
            ],
        ),
        case(
            "cel::transition_rule_does_not_see_creation",
            [
                made(json!({})),
                merge(at(), json!({ "spec": { "fixed": "first" } })),
                merge(at(), json!({ "spec": { "fixed": "second" } })).is(422),
                delete(at()),
                made(json!({ "fixed": "second" })),
            ],
        ),
        case(
            "cel::together_with_the_schema",
            [
                made(json!({ "size": 500, "range": { "low": 2, "high": 1 } })).is(422),
                made(json!({ "range": { "low": 200, "high": 1 } })).is(422),
            ],
        ),
    ]
}
