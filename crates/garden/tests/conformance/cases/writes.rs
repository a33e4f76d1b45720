//! Create, update and the rules about what a client may say.

use super::shared::*;
use crate::script::*;
use serde_json::{Value, json};

pub fn cases() -> Vec<Case> {
    let mut all = creation();
    all.extend(updates());
    all.extend(unknown_fields());
    all.extend(status_and_generation());
    all
}

fn with_metadata(mut object: Value, field: &str, value: Value) -> Value {
    object["metadata"][field] = value;
    object
}

fn creation() -> Vec<Case> {
    let plain = || config_map("a", json!({ "k": "v" }));
    vec![
        case("create::generates_names", [
            create(CONFIG_MAPS, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "some-" } }))
                .save("name", "/metadata/name"),
            get(format!("{CONFIG_MAPS}/{{name}}")),
            create(WIDGETS, json!({ "apiVersion": "{group}/v1", "kind": "Widget", "metadata": { "generateName": "some-" } })),
            create(CONFIG_MAPS, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "own", "generateName": "some-" } })),
            create(CONFIG_MAPS, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "own", "generateName": "some-" } })).is(409),
            create(CONFIG_MAPS, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "Not Valid!" } })).is(422),
        ]),
        case("create::cuts_a_long_generated_name", [
            create(CONFIG_MAPS, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "x".repeat(80) } }))
                .ignore("/body/metadata/name"),
        ]),
        case("create::refuses_a_resource_version", [
            create(CONFIG_MAPS, with_metadata(plain(), "resourceVersion", json!("1"))).is(500),
        ]),
        case("create::ignores_what_the_server_sets", [
            create(CONFIG_MAPS, with_metadata(plain(), "uid", json!("00000000-0000-0000-0000-000000000000"))),
            create(WIDGETS, with_metadata(widget("a", json!({})), "generation", json!(7))),
            create(CONFIG_MAPS, with_metadata(config_map("b", json!({})), "creationTimestamp", json!("2001-01-01T00:00:00Z"))),
            create(CONFIG_MAPS, with_metadata(config_map("c", json!({})), "deletionTimestamp", json!("2001-01-01T00:00:00Z"))),
            create(CONFIG_MAPS, with_metadata(config_map("d", json!({})), "selfLink", json!("/x"))),
        ]),
        case("create::needs_its_namespace", [
            create("/api/v1/namespaces/{ns}-none/configmaps", plain()).is(404),
            create("/apis/{group}/v1/namespaces/{ns}-none/widgets", widget("a", json!({}))).is(404),
            get("/api/v1/namespaces/{ns}-none/configmaps"),
            get("/api/v1/namespaces/{ns}-none/configmaps/a").is(404),
        ]),
        case("create::wants_the_namespace_of_the_path", [
            create(CONFIG_MAPS, with_metadata(plain(), "namespace", json!("other"))).is(400),
            create(WIDGETS, with_metadata(widget("a", json!({})), "namespace", json!("other"))).is(400),
            create("/api/v1/configmaps", with_metadata(plain(), "namespace", json!("{ns}"))).is(405),
        ]),
        case("create::wants_the_kind_of_the_path", [
            create(CONFIG_MAPS, json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" } })).is(400),
            create(CONFIG_MAPS, json!({ "apiVersion": "v2", "kind": "ConfigMap", "metadata": { "name": "a" } })).is(400),
            create(CONFIG_MAPS, json!({ "metadata": { "name": "a" } })),
            create(WIDGETS, json!({ "apiVersion": "{group}/v1", "kind": "Gadget", "metadata": { "name": "a" } })).is(422),
            create(WIDGETS, json!({ "apiVersion": "{group}/v2", "kind": "Widget", "metadata": { "name": "a" } })).is(400),
            create(WIDGETS, json!({ "metadata": { "name": "a" } })).is(400),
        ]),
        case("create::notes_the_field_manager", [
            create(format!("{CONFIG_MAPS}?fieldManager=somebody"), plain()),
            merge(format!("{CONFIG_MAPS}/a?fieldManager=else"), json!({ "data": { "l": "w" } })),
            create(format!("{CONFIG_MAPS}?fieldManager={}", "x".repeat(129)), config_map("b", json!({}))).is(422),
        ]),
        case("create::keeps_owner_references", [
            create(CONFIG_MAPS, plain()).save("uid", "/metadata/uid"),
            create(CONFIG_MAPS, with_metadata(config_map("b", json!({})), "ownerReferences", json!([
                { "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "{uid}", "controller": true, "blockOwnerDeletion": true }
            ]))),
            create(CONFIG_MAPS, with_metadata(config_map("c", json!({})), "ownerReferences", json!([
                { "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "{uid}", "controller": true },
                { "apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": "{uid}", "controller": true }
            ]))).is(422),
        ]),
        case("create::in_a_cluster", [
            create(GADGETS, gadget("{ns}-a", json!({ "any": { "thing": [1, 2.5, null, true] } }))),
            get(format!("{GADGETS}/{{ns}}-a")),
            create(GADGETS, with_metadata(gadget("{ns}-b", json!({})), "namespace", json!("{ns}"))),
            create("/apis/{group}/v1/namespaces/{ns}/gadgets", gadget("{ns}-c", json!({}))).is(404),
        ]),
    ]
}

fn updates() -> Vec<Case> {
    vec![
        case("update::without_a_change_keeps_the_version", [
            create(CONFIG_MAPS, config_map("a", json!({ "k": "v" }))),
            update(format!("{CONFIG_MAPS}/a"), config_map("a", json!({ "k": "v" }))),
            merge(format!("{CONFIG_MAPS}/a"), json!({ "data": { "k": "v" } })),
            get(format!("{CONFIG_MAPS}/a")),
        ]),
        case("update::keeps_what_the_server_set", [
            create(CONFIG_MAPS, config_map("a", json!({ "k": "v" }))),
            update(format!("{CONFIG_MAPS}/a"), with_metadata(config_map("a", json!({})), "creationTimestamp", json!("2001-01-01T00:00:00Z"))).is(200),
            update(format!("{CONFIG_MAPS}/a"), with_metadata(config_map("a", json!({})), "deletionTimestamp", json!("2001-01-01T00:00:00Z"))).is(422),
            merge(format!("{CONFIG_MAPS}/a"), json!({ "metadata": { "generation": 5, "uid": null } })),
            merge(format!("{CONFIG_MAPS}/a"), json!({ "metadata": { "uid": "00000000-0000-0000-0000-000000000000" } })).is(422),
            merge(format!("{CONFIG_MAPS}/a"), json!({ "metadata": { "name": "b" } })).is(400),
            merge(format!("{CONFIG_MAPS}/a"), json!({ "metadata": { "namespace": "b" } })).is(400),
            merge(format!("{CONFIG_MAPS}/a"), json!({ "kind": "Secret" })).is(422),
        ]),
        case("update::refuses_a_version_that_is_not_one", [
            create(CONFIG_MAPS, config_map("a", json!({ "k": "v" }))),
            update(format!("{CONFIG_MAPS}/a"), with_metadata(config_map("a", json!({})), "resourceVersion", json!("abc"))).is(500),
        ]),
        case("update::takes_the_name_from_the_path", [
            create(CONFIG_MAPS, config_map("a", json!({ "k": "v" }))),
            update(format!("{CONFIG_MAPS}/a"), json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {} })).is(400),
            update(CONFIG_MAPS, config_map("a", json!({}))).is(405),
            create(format!("{CONFIG_MAPS}/a"), config_map("a", json!({}))).is(405),
            merge(CONFIG_MAPS, json!({})).is(405),
        ]),
        case("update::managed_fields_can_be_cleared", [
            create(CONFIG_MAPS, config_map("a", json!({ "k": "v" }))),
            merge(format!("{CONFIG_MAPS}/a"), json!({ "metadata": { "managedFields": [{}] } })),
            merge(format!("{CONFIG_MAPS}/a"), json!({ "data": { "l": "w" } })),
        ]),
        case("update::moves_ownership_of_fields", [
            create(format!("{CONFIG_MAPS}?fieldManager=one"), config_map("a", json!({ "k": "v", "l": "w" }))),
            update(format!("{CONFIG_MAPS}/a?fieldManager=two"), config_map("a", json!({ "k": "changed", "l": "w" }))),
            update(format!("{CONFIG_MAPS}/a?fieldManager=three"), config_map("a", json!({ "k": "changed" }))),
        ]),
        case("update::creates_a_lease_that_is_missing", [
            update(format!("{LEASES}/a"), json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "a" }, "spec": { "holderIdentity": "x" } })).is(201),
            update(format!("{LEASES}/b"), json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "b", "resourceVersion": "5" }, "spec": { "holderIdentity": "x" } })).is(201),
            update(format!("{LEASES}/b"), json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "b", "uid": "00000000-0000-0000-0000-000000000000" } })).is(409),
        ]),
    ]
}

/// `fieldValidation` on a built-in and on a custom kind.
fn unknown_fields() -> Vec<Case> {
    let mut all = Vec::new();
    for (mode, code) in [("Strict", 400), ("Warn", 201), ("Ignore", 201)] {
        for (kind, path) in [("configmap", CONFIG_MAPS), ("widget", WIDGETS)] {
            let object = |extra: Value| {
                let mut object = if kind == "configmap" {
                    config_map("a", json!({}))
                } else {
                    widget("a", json!({ "bogus": { "deep": 1 }, "size": 1 }))
                };
                object.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
                object["metadata"]["alsoBogus"] = json!(1);
                object
            };
            let path = |query: &str| format!("{path}?fieldValidation={query}");
            let changed = if code == 400 { 422 } else { 200 };
            let at = path(mode).replace('?', "/b?");
            let plain = if kind == "configmap" { config_map("b", json!({})) } else { widget("b", json!({})) };
            all.push(case(
                format!("field_validation::{}_{kind}", mode.to_lowercase()),
                [
                    create(path(mode), object(json!({ "bogus": 1 }))).is(code),
                    create(path("Ignore"), plain),
                    merge(at.clone(), json!({ "bogus": 1, "spec": { "bogus": 2 } })).is(changed),
                    apply(at, "one", {
                        let mut object = object(json!({ "bogus": 1 }));
                        object["metadata"]["name"] = json!("b");
                        object
                    })
                    .is(500)
                    // A real server names one of the fields or all, as it comes.
                    .ignore("/body/message"),
                ],
            ));
        }
    }
    let twice = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1","k":"2"}}"#;
    let twice_custom =
        r#"{"apiVersion":"{group}/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":1,"size":2}}"#;
    all.push(case(
        "field_validation::duplicate_keys",
        [
            raw("POST", format!("{CONFIG_MAPS}?fieldValidation=Strict"), JSON, twice).is(400),
            raw("POST", format!("{WIDGETS}?fieldValidation=Strict"), JSON, twice_custom).is(400),
            raw("POST", CONFIG_MAPS, JSON, twice),
            raw("POST", WIDGETS, JSON, twice_custom),
        ],
    ));
    all.push(case(
        "field_validation::unknown_mode",
        [
            create(format!("{CONFIG_MAPS}?fieldValidation=Sometimes"), config_map("a", json!({}))).is(422),
            create(CONFIG_MAPS, config_map("a", json!({}))),
            merge(format!("{CONFIG_MAPS}/a?fieldValidation=Sometimes"), json!({})).is(422),
        ],
    ));
    all
}

fn status_and_generation() -> Vec<Case> {
    let at = || format!("{WIDGETS}/a");
    let status = || format!("{WIDGETS}/a/status");
    vec![
        case(
            "status::is_apart_from_the_spec",
            [
                create(WIDGETS, {
                    let mut object = widget("a", json!({ "color": "red" }));
                    object["status"] = json!({ "phase": "Ignored" });
                    object
                })
                .save("version", "/metadata/resourceVersion"),
                merge(
                    status(),
                    json!({ "status": { "phase": "Set" }, "spec": { "color": "blue" }, "metadata": { "labels": { "l": "m" } } }),
                ),
                merge(at(), json!({ "status": { "phase": "Lost" }, "spec": { "color": "green" } })),
                get(status()),
                json_patch(
                    status(),
                    json!([{ "op": "test", "path": "/status/phase", "value": "Set" }, { "op": "replace", "path": "/status/phase", "value": "Next" }]),
                ),
                apply(
                    status(),
                    "one",
                    json!({ "apiVersion": "{group}/v1", "kind": "Widget", "metadata": { "name": "a" }, "status": { "conditions": [{ "type": "Ready", "status": "True" }] } }),
                ),
                apply(
                    status(),
                    "two",
                    json!({ "apiVersion": "{group}/v1", "kind": "Widget", "metadata": { "name": "a" }, "status": { "conditions": [{ "type": "Fine", "status": "True" }] } }),
                ),
                apply(
                    status(),
                    "one",
                    json!({ "apiVersion": "{group}/v1", "kind": "Widget", "metadata": { "name": "a" }, "status": {} }),
                ),
            ],
        ),
        case(
            "status::update",
            [
                create(WIDGETS, widget("a", json!({ "color": "red" })))
                    .save("version", "/metadata/resourceVersion"),
                update(status(), {
                    let mut object = with_metadata(
                        widget("a", json!({ "color": "blue" })),
                        "resourceVersion",
                        json!("{version}"),
                    );
                    object["status"] = json!({ "phase": "Set", "unknown": 1 });
                    object
                }),
                update(
                    status(),
                    with_metadata(widget("a", json!({})), "resourceVersion", json!("{version}")),
                )
                .is(409),
                update(status(), widget("a", json!({}))).is(422),
                update(
                    format!("{WIDGETS}/b/status"),
                    with_metadata(widget("b", json!({})), "resourceVersion", json!("{version}")),
                )
                .is(404),
                merge(format!("{WIDGETS}/b/status"), json!({})).is(404),
                merge(status(), json!({ "status": { "phase": 5 } })).is(422),
            ],
        ),
        case(
            "status::does_not_exist_for_all",
            [
                create(CONFIG_MAPS, config_map("a", json!({}))),
                get(format!("{CONFIG_MAPS}/a/status")).is(404),
                merge(format!("{CONFIG_MAPS}/a/status"), json!({})).is(404),
                create(GADGETS, gadget("{ns}-a", json!({}))),
                get(format!("{GADGETS}/{{ns}}-a/status")).is(404),
                merge(format!("{GADGETS}/{{ns}}-a"), json!({ "status": { "any": 1 } })),
            ],
        ),
        case(
            "generation::counts_changes_of_the_spec",
            [
                create(WIDGETS, widget("a", json!({ "color": "red" }))),
                merge(at(), json!({ "spec": { "color": "blue" } })),
                merge(at(), json!({ "spec": { "color": "blue" } })),
                merge(at(), json!({ "metadata": { "labels": { "l": "m" } } })),
                merge(status(), json!({ "status": { "phase": "Set" } })),
                apply_by_force(at(), "one", widget("a", json!({ "color": "green" }))),
                merge(at(), json!({ "metadata": { "finalizers": ["example.com/held"] } })),
                delete(at()),
                merge(at(), json!({ "spec": { "color": "red" } })),
            ],
        ),
        case(
            "generation::counts_every_change_without_a_status",
            [
                create(GADGETS, gadget("{ns}-a", json!({ "a": 1 }))),
                merge(format!("{GADGETS}/{{ns}}-a"), json!({ "spec": { "a": 2 } })),
                merge(format!("{GADGETS}/{{ns}}-a"), json!({ "other": 2 })),
                merge(format!("{GADGETS}/{{ns}}-a"), json!({ "metadata": { "annotations": { "l": "m" } } })),
            ],
        ),
        case(
            "generation::is_not_counted_for_config_maps",
            [
                create(CONFIG_MAPS, config_map("a", json!({ "k": "v" }))),
                merge(format!("{CONFIG_MAPS}/a"), json!({ "data": { "k": "w" } })),
            ],
        ),
    ]
}
