//! CustomResourceDefinitions at run time: what is accepted, and what becomes of the objects.

use super::shared::*;
use crate::script::*;
use serde_json::{Value, json};

fn at(plural: &str) -> String {
    format!("{DEFINITIONS}/{plural}.{{ns}}.example.com")
}

fn thing(name: &str, version: &str, fields: Value) -> Value {
    let mut object = json!({ "apiVersion": format!("{{ns}}.example.com/{version}"), "kind": "Thing", "metadata": { "name": name } });
    object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    object
}

fn spec_of(properties: Value) -> Value {
    json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": properties } } })
}

fn things(properties: Value) -> Value {
    definition("things", "Thing", spec_of(properties))
}

/// A definition, and the wait until it is served.
fn served(definition: Value) -> [Step; 3] {
    [
        create(DEFINITIONS, definition),
        get(at("things"))
            .until(Until::Is("/status/conditions/1/status", json!("True")))
            .save("version", "/metadata/resourceVersion"),
        get(objects_of("things")).until_code(200),
    ]
}

fn case_with(name: &str, definition: Value, steps: Vec<Step>) -> Case {
    case(name, served(definition).into_iter().chain(steps))
}

pub fn cases() -> Vec<Case> {
    let mut all = lives();
    all.extend(versions());
    all.extend(changes());
    all.extend(refused());
    all.extend(refused_schemas());
    all.extend(rules());
    all
}

fn lives() -> Vec<Case> {
    let objects = || objects_of("things");
    vec![
        case_with(
            "definitions::warn_of_formats_that_nobody_checks",
            things(json!({ "a": { "type": "string", "format": "colour" } })),
            vec![
                json_patch(
                    at("things"),
                    json!([{
                        "op": "add",
                        "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b",
                        "value": { "type": "array", "items": { "type": "string", "format": "smell" } },
                    }]),
                ),
                merge(at("things"), json!({ "metadata": { "labels": { "a": "b" } } })),
            ],
        ),
        case_with(
            "definitions::serve_and_go",
            things(json!({ "a": { "type": "string" } })),
            vec![
                create(objects(), thing("a", "v1", json!({ "spec": { "a": "x", "b": "pruned" } }))),
                get(objects()),
                delete(at("things")).ignore("/body/metadata").ignore("/body/status"),
                get(at("things")).until_code(404),
                get(objects()).until_code(404),
            ],
        ),
        case_with(
            "definitions::come_back_empty",
            things(json!({})),
            vec![
                create(objects(), thing("a", "v1", json!({}))),
                delete(at("things")).ignore("/body"),
                get(at("things")).until_code(404),
                create(DEFINITIONS, things(json!({}))),
                get(objects()).until_code(200),
            ],
        ),
        case_with(
            "definitions::wait_for_held_objects",
            things(json!({})),
            vec![
                create(
                    objects(),
                    thing(
                        "a",
                        "v1",
                        json!({ "metadata": { "name": "a", "finalizers": ["example.com/held"] } }),
                    ),
                ),
                delete(at("things")).ignore("/body"),
                get(format!("{}/a", objects())).until(Until::There("/metadata/deletionTimestamp")),
                get(at("things")).ignore("/body"),
                create(objects(), thing("b", "v1", json!({}))).is(403),
                merge(format!("{}/a", objects()), json!({ "metadata": { "finalizers": null } })),
                get(at("things")).until_code(404),
            ],
        ),
        case(
            "definitions::are_established",
            [
                create(DEFINITIONS, things(json!({}))),
                get(at("things")).until(Until::Is("/status/conditions/1/status", json!("True"))),
                get("/apis/{ns}.example.com/v1")
                    .until_code(200)
                    .ignore("/body/resources/0/storageVersionHash"),
                get("/apis/{ns}.example.com").until_code(200),
            ],
        ),
        case(
            "definitions::names_are_taken",
            [
                create(DEFINITIONS, things(json!({}))),
                get(at("things")).until(Until::Is("/status/conditions/1/status", json!("True"))),
                create(DEFINITIONS, definition("others", "Thing", json!({ "type": "object" }))),
                get(at("others")).until(Until::Is("/status/conditions/0/status", json!("False"))),
            ],
        ),
    ]
}

fn versions() -> Vec<Case> {
    let two = || {
        let mut definition = things(json!({ "a": { "type": "string" } }));
        definition["spec"]["versions"] = json!([
            { "name": "v1beta1", "served": true, "storage": false, "deprecated": true, "schema": { "openAPIV3Schema": spec_of(json!({ "a": { "type": "string" } })) } },
            { "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": spec_of(json!({ "a": { "type": "string", "default": "d" } })) } },
            { "name": "v2", "served": false, "storage": false, "schema": { "openAPIV3Schema": spec_of(json!({})) } }
        ]);
        definition
    };
    let old = "/apis/{ns}.example.com/v1beta1/namespaces/{ns}/things";
    vec![
        case_with(
            "definitions::several_versions",
            two(),
            vec![
                create(old, thing("a", "v1beta1", json!({ "spec": {} }))),
                get(format!("{}/a", objects_of("things"))),
                merge(format!("{}/a", objects_of("things")), json!({ "spec": { "a": "new" } })),
                get(format!("{old}/a")),
                get("/apis/{ns}.example.com/v2/namespaces/{ns}/things").is(404),
                get("/apis/{ns}.example.com").until(Until::Count("/versions", 2)),
                apply(
                    format!("{old}/a"),
                    "one",
                    thing("a", "v1beta1", json!({ "spec": { "a": "applied" } })),
                )
                .is(409),
            ],
        ),
        case_with(
            "definitions::a_version_is_no_longer_served",
            two(),
            vec![
                json_patch(
                    at("things"),
                    json!([{ "op": "replace", "path": "/spec/versions/0/served", "value": false }]),
                ),
                get(old).until_code(404),
                // A real server makes its storage anew, and asks to try again until it has.
                get(objects_of("things")).until_code(200),
            ],
        ),
    ]
}

fn changes() -> Vec<Case> {
    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let a = || format!("{}/a", objects_of("things"));
    vec![
        case_with(
            "definitions::a_new_schema_counts_at_once",
            things(json!({ "a": { "type": "string" } })),
            vec![
                create(objects_of("things"), thing("a", "v1", json!({ "spec": { "a": "x" } }))),
                json_patch(
                    at("things"),
                    json!([{ "op": "add", "path": format!("{schema}/b"), "value": { "type": "integer", "default": 7 } }]),
                ),
                get(a()).until(Until::Is("/spec/b", json!(7))),
                json_patch(
                    at("things"),
                    json!([{ "op": "replace", "path": format!("{schema}/a"), "value": { "type": "string", "maxLength": 0 } }]),
                ),
                create(objects_of("things"), thing("b", "v1", json!({ "spec": { "a": "x" } })))
                    .until_code(422),
            ],
        ),
        case_with(
            "definitions::ratcheting_lets_old_faults_be",
            things(json!({ "a": { "type": "string" }, "b": { "type": "string" } })),
            vec![
                create(
                    objects_of("things"),
                    thing("a", "v1", json!({ "spec": { "a": "too long", "b": "x" } })),
                ),
                json_patch(
                    at("things"),
                    json!([{ "op": "replace", "path": format!("{schema}/a"), "value": { "type": "string", "maxLength": 2 } }]),
                ),
                create(objects_of("things"), thing("b", "v1", json!({ "spec": { "a": "too long" } })))
                    .until_code(422),
                merge(a(), json!({ "spec": { "b": "y" } })),
                merge(a(), json!({ "spec": { "a": "still too long" } })).is(422),
            ],
        ),
        case_with(
            "definitions::a_field_is_pruned_when_written",
            things(json!({ "a": { "type": "string" } })),
            vec![
                create(objects_of("things"), thing("a", "v1", json!({ "spec": { "a": "x" } }))),
                json_patch(at("things"), json!([{ "op": "remove", "path": format!("{schema}/a") }])),
                get(a()).until(Until::Gone("/spec/a")),
                merge(a(), json!({ "metadata": { "labels": { "l": "m" } } })),
            ],
        ),
        case_with(
            "definitions::what_may_not_change",
            things(json!({})),
            vec![
                merge(at("things"), json!({ "spec": { "scope": "Cluster" } })).is(422),
                merge(at("things"), json!({ "spec": { "group": "other.example.com" } })).is(422),
                merge(at("things"), json!({ "spec": { "names": { "plural": "others" } } })).is(422),
                merge(
                    at("things"),
                    json!({ "spec": { "names": { "kind": "Other", "listKind": "OtherList" } } }),
                )
                .is(422),
            ],
        ),
        case_with(
            "definitions::status_subresource_is_added",
            things(json!({})),
            vec![
                create(objects_of("things"), thing("a", "v1", json!({ "status": { "x": 1 } }))),
                get(format!("{}/status", a())).is(404),
                json_patch(
                    at("things"),
                    json!([
                        { "op": "add", "path": "/spec/versions/0/subresources", "value": { "status": {} } },
                        { "op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/status", "value": { "type": "object", "properties": { "x": { "type": "integer" } } } }
                    ]),
                ),
                get(format!("{}/status", a())).until_code(200),
                merge(format!("{}/status", a()), json!({ "status": { "x": 2 } }))
                    .until(Until::Is("/status/x", json!(2)))
                    .ignore("/body/metadata"),
            ],
        ),
        case_with(
            "definitions::defaults_are_read_into_old_objects",
            things(json!({ "a": { "type": "string" } })),
            vec![
                create(objects_of("things"), thing("a", "v1", json!({ "spec": {} }))),
                json_patch(
                    at("things"),
                    json!([{ "op": "replace", "path": format!("{schema}/a"), "value": { "type": "string", "default": "later" } }]),
                ),
                get(a()).until(Until::Is("/spec/a", json!("later"))),
                merge(a(), json!({ "metadata": { "labels": { "l": "m" } } })),
            ],
        ),
    ]
}

/// Every row: a name, and what is put over a good definition.
fn refused() -> Vec<Case> {
    let rows: Vec<(&str, Value)> = vec![
        ("wrong_name", json!({ "metadata": { "name": "others.{ns}.example.com" } })),
        ("no_versions", json!({ "spec": { "versions": [] } })),
        ("wrong_scope", json!({ "spec": { "scope": "World" } })),
        ("bad_group", json!({ "spec": { "group": "Not Valid" } })),
        ("bad_kind", json!({ "spec": { "names": { "kind": "no good", "plural": "things" } } })),
        ("no_kind", json!({ "spec": { "names": { "kind": "", "listKind": "" } } })),
        (
            "two_stored",
            json!({ "spec": { "versions": [
            { "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } },
            { "name": "v2", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } }
        ] } }),
        ),
        (
            "none_stored",
            json!({ "spec": { "versions": [{ "name": "v1", "served": true, "storage": false, "schema": { "openAPIV3Schema": { "type": "object" } } }] } }),
        ),
        ("no_schema", json!({ "spec": { "versions": [{ "name": "v1", "served": true, "storage": true }] } })),
        (
            "bad_version",
            json!({ "spec": { "versions": [{ "name": "V 1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } }] } }),
        ),
        (
            "bad_selectable_field",
            json!({ "spec": { "versions": [{ "name": "v1", "served": true, "storage": true, "selectableFields": [{ "jsonPath": ".spec.none" }], "schema": { "openAPIV3Schema": { "type": "object" } } }] } }),
        ),
    ];
    rows.into_iter()
        .map(|(name, over)| {
            let mut definition = things(json!({}));
            put_over(&mut definition, &over);
            case(
                format!("definitions::refuse_{name}"),
                [get("/api/v1/namespaces/{ns}"), create(DEFINITIONS, definition).is(422)],
            )
        })
        .collect()
}

fn refused_schemas() -> Vec<Case> {
    let rows: Vec<(&str, Value)> = vec![
        ("without_type", json!({ "a": {} })),
        ("of_unknown_type", json!({ "a": { "type": "thing" } })),
        ("with_a_default_that_does_not_fit", json!({ "a": { "type": "string", "default": 1 } })),
        ("with_an_array_without_items", json!({ "a": { "type": "array" } })),
        (
            "with_map_keys_that_are_missing",
            json!({ "a": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": { "type": "object" } } }),
        ),
        (
            "with_map_keys_for_text",
            json!({ "a": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": { "type": "string" } } }),
        ),
        (
            "with_unique_items",
            json!({ "a": { "type": "array", "uniqueItems": true, "items": { "type": "string" } } }),
        ),
        ("with_a_bad_pattern", json!({ "a": { "type": "string", "pattern": "(" } })),
        (
            "with_properties_and_additional",
            json!({ "a": { "type": "object", "properties": { "b": { "type": "string" } }, "additionalProperties": { "type": "string" } } }),
        ),
        ("with_types_inside_any_of", json!({ "a": { "type": "string", "anyOf": [{ "type": "string" }] } })),
    ];
    rows.into_iter()
        .map(|(name, properties)| {
            case(
                format!("definitions::refuse_a_schema_{name}"),
                [get("/api/v1/namespaces/{ns}"), create(DEFINITIONS, things(properties)).is(422)],
            )
        })
        .collect()
}

fn put_over(object: &mut Value, over: &Value) {
    match (object, over) {
        (Value::Object(fields), Value::Object(changes)) => {
            for (key, change) in changes {
                put_over(fields.entry(key.clone()).or_insert(Value::Null), change);
            }
        }
        (object, over) => *object = over.clone(),
    }
}

/// Rules that are refused when they are registered, and rules that work in more than one way.
fn rules() -> Vec<Case> {
    let ruled = |kind: &str, rule: &str| {
        let mut field =
            json!({ "type": kind, "x-kubernetes-validations": [{ "rule": rule, "message": "no" }] });
        if kind == "string" {
            field["maxLength"] = json!(20);
        }
        things(json!({ "a": field }))
    };
    let refused = |name: &str, kind: &str, rule: &str| {
        case(
            format!("cel::refuses_{name}"),
            [get("/api/v1/namespaces/{ns}"), create(DEFINITIONS, ruled(kind, rule)).is(422)],
        )
    };
    let tried = |name: &str, kind: &str, rule: &str, good: Value, bad: Value| {
        case_with(
            &format!("cel::{name}"),
            ruled(kind, rule),
            vec![
                create(objects_of("things"), thing("a", "v1", json!({ "spec": { "a": good } }))),
                create(objects_of("things"), thing("b", "v1", json!({ "spec": { "a": bad } }))).is(422),
            ],
        )
    };
    vec![
        refused("a_syntax_error", "string", "self =="),
        refused("an_unknown_name", "string", "other == 'x'"),
        refused("a_wrong_type", "integer", "self == 'x'"),
        refused("a_rule_that_is_not_a_question", "integer", "self + 1"),
        refused("an_empty_rule", "integer", " "),
        tried(
            "strings",
            "string",
            "self.startsWith('a') && self.size() < 5 && self.matches('^[a-z]+$')",
            json!("abc"),
            json!("b"),
        ),
        tried("integers", "integer", "self % 2 == 0 && self in [2, 4, 6]", json!(4), json!(8)),
        tried(
            "urls",
            "string",
            "isURL(self) && url(self).getScheme() == 'https'",
            json!("https://a"),
            json!("ftp://a"),
        ),
        case_with(
            "cel::lists_and_maps",
            definition(
                "things",
                "Thing",
                spec_of(json!({
                    "l": { "type": "array", "maxItems": 5, "items": { "type": "integer" }, "x-kubernetes-validations": [
                        { "rule": "self.all(x, x > 0)", "message": "all above zero" }, { "rule": "self.exists_one(x, x == 1)", "message": "one one" }
                    ] },
                    "m": { "type": "object", "maxProperties": 5, "additionalProperties": { "type": "string", "maxLength": 5 }, "x-kubernetes-validations": [
                        { "rule": "self.all(k, k != self[k])", "message": "no value is its key" }
                    ] }
                })),
            ),
            vec![
                create(
                    objects_of("things"),
                    thing("a", "v1", json!({ "spec": { "l": [1, 2], "m": { "k": "v" } } })),
                ),
                create(
                    objects_of("things"),
                    thing("b", "v1", json!({ "spec": { "l": [0, 2], "m": { "k": "k" } } })),
                )
                .is(422)
                .in_any_order(),
            ],
        ),
        case_with(
            "cel::optional_old_self",
            definition(
                "things",
                "Thing",
                spec_of(json!({
                    "a": { "type": "integer", "x-kubernetes-validations": [{ "rule": "!oldSelf.hasValue() || self >= oldSelf.value()", "optionalOldSelf": true, "message": "only up" }] }
                })),
            ),
            vec![
                create(objects_of("things"), thing("a", "v1", json!({ "spec": { "a": 2 } }))),
                merge(format!("{}/a", objects_of("things")), json!({ "spec": { "a": 3 } })),
                merge(format!("{}/a", objects_of("things")), json!({ "spec": { "a": 1 } })).is(422),
            ],
        ),
    ]
}
