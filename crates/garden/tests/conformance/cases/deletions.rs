//! Delete, its preconditions and policies, finalizers, and the garbage collector.

use super::shared::*;
use crate::script::*;
use serde_json::{Value, json};

fn at(name: &str) -> String {
    format!("{CONFIG_MAPS}/{name}")
}

fn owned(name: &str, owners: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "ownerReferences": owners } })
}

fn owner(name: &str, uid: &str, blocks: bool) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "blockOwnerDeletion": blocks })
}

fn held(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "finalizers": ["example.com/held"] } })
}

pub fn cases() -> Vec<Case> {
    let mut all = options();
    all.extend(finalizers());
    all.extend(garbage());
    all.extend(more_garbage());
    all
}

fn options() -> Vec<Case> {
    let made = || {
        create(CONFIG_MAPS, config_map("a", json!({})))
            .save("uid", "/metadata/uid")
            .save("version", "/metadata/resourceVersion")
    };
    vec![
        case(
            "delete::both_preconditions",
            [
                made(),
                delete_with(at("a"), json!({ "preconditions": { "uid": "{uid}", "resourceVersion": "1" } }))
                    .is(409),
                delete_with(
                    at("a"),
                    json!({ "preconditions": { "uid": "{uid}", "resourceVersion": "{version}" } }),
                ),
            ],
        ),
        case(
            "delete::options_with_their_kind",
            [
                made(),
                delete_with(
                    at("a"),
                    json!({ "kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "propagationPolicy": "Background" }),
                ),
            ],
        ),
        case(
            "delete::options_in_the_query",
            [
                made(),
                delete(format!("{}?propagationPolicy=Foreground", at("a"))),
                get(at("a")).until_code(404),
            ],
        ),
        case(
            "delete::refuses_unknown_policies",
            [
                made(),
                delete_with(at("a"), json!({ "propagationPolicy": "Sideways" })).is(422),
                delete_with(at("a"), json!({ "propagationPolicy": "Orphan", "orphanDependents": true }))
                    .is(422),
                delete_with(at("a"), json!({ "dryRun": ["Some"] })).is(422),
                delete_with(at("a"), json!({ "gracePeriodSeconds": -1 })),
            ],
        ),
        case(
            "delete::refuses_options_of_another_kind",
            [
                made(),
                delete_with(at("a"), json!({ "kind": "ConfigMap", "apiVersion": "v1" })).is(400),
                raw("DELETE", at("a"), JSON, "not json").is(400),
            ],
        ),
        case(
            "delete::dry_run_in_the_body",
            [made(), delete_with(at("a"), json!({ "dryRun": ["All"] })), get(at("a"))],
        ),
        case(
            "delete::of_a_custom_resource_tells_of_it",
            [
                create(WIDGETS, widget("a", json!({}))),
                delete(format!("{WIDGETS}/a")),
                create(GADGETS, gadget("{ns}-a", json!({}))),
                delete(format!("{GADGETS}/{{ns}}-a")),
            ],
        ),
        case(
            "delete::and_create_again_is_another_object",
            [
                made(),
                delete(at("a")),
                made(),
                delete_with(at("a"), json!({ "preconditions": { "uid": "{uid}" } })),
            ],
        ),
        case(
            "delete::many_with_options",
            [
                made(),
                create(CONFIG_MAPS, held("b")),
                create(CONFIG_MAPS, config_map("c", json!({}))),
                delete_with(
                    format!("{CONFIG_MAPS}?fieldSelector=metadata.name!=kube-root-ca.crt&dryRun=All"),
                    json!({}),
                ),
                delete(format!("{CONFIG_MAPS}?fieldSelector=metadata.name!=kube-root-ca.crt")),
                get(format!("{CONFIG_MAPS}?fieldSelector=metadata.name!=kube-root-ca.crt")),
                delete(format!("{CONFIG_MAPS}?labelSelector=nobody=has")),
            ],
        ),
        case(
            "delete::many_custom_resources",
            [
                create(WIDGETS, widget("a", json!({ "color": "red" }))),
                create(WIDGETS, widget("b", json!({ "color": "blue" }))),
                delete(format!("{WIDGETS}?fieldSelector=spec.color=red")),
                get(WIDGETS),
                delete(WIDGETS),
                get(WIDGETS),
                delete("/apis/{group}/v1/widgets").is(404),
            ],
        ),
    ]
}

fn finalizers() -> Vec<Case> {
    vec![
        case("finalizers::hold_until_removed_by_json_patch", [
            create(CONFIG_MAPS, held("a")),
            delete(at("a")),
            delete(at("a")),
            json_patch(at("a"), json!([{ "op": "test", "path": "/metadata/finalizers/0", "value": "example.com/held" }, { "op": "remove", "path": "/metadata/finalizers/0" }])),
            get(at("a")).is(404),
        ]),
        case("finalizers::hold_until_removed_by_update", [
            create(CONFIG_MAPS, held("a")),
            delete(at("a")),
            create(CONFIG_MAPS, held("a")).is(409),
            update(at("a"), config_map("a", json!({ "k": "last words" }))),
            get(at("a")).is(404),
        ]),
        case("finalizers::may_be_removed_one_by_one", [
            create(WIDGETS, json!({ "apiVersion": "{group}/v1", "kind": "Widget", "metadata": { "name": "a", "finalizers": ["example.com/a", "example.com/b"] } })),
            delete(format!("{WIDGETS}/a")),
            merge(format!("{WIDGETS}/a"), json!({ "metadata": { "finalizers": ["example.com/b"] } })),
            merge(format!("{WIDGETS}/a"), json!({ "metadata": { "finalizers": ["example.com/b", "example.com/c"] } })).is(422),
            merge(format!("{WIDGETS}/a/status"), json!({ "status": { "phase": "Deleting" } })),
            merge(format!("{WIDGETS}/a"), json!({ "metadata": { "finalizers": [] } })),
            get(format!("{WIDGETS}/a")).is(404),
        ]),
        case("finalizers::removed_through_status_do_not_count", [
            create(WIDGETS, json!({ "apiVersion": "{group}/v1", "kind": "Widget", "metadata": { "name": "a", "finalizers": ["example.com/a"] } })),
            delete(format!("{WIDGETS}/a")),
            merge(format!("{WIDGETS}/a/status"), json!({ "metadata": { "finalizers": null }, "status": { "phase": "X" } })),
            get(format!("{WIDGETS}/a")),
        ]),
        case("finalizers::without_a_prefix_draw_a_warning", [
            create(CONFIG_MAPS, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "finalizers": ["plain"] } })).is(422),
            create(WIDGETS, json!({ "apiVersion": "{group}/v1", "kind": "Widget", "metadata": { "name": "a", "finalizers": ["plain"] } })),
        ]),
        case("finalizers::preconditions_on_what_is_already_deleting", [
            create(CONFIG_MAPS, held("a")).save("version", "/metadata/resourceVersion"),
            delete(at("a")),
            delete_with(at("a"), json!({ "preconditions": { "resourceVersion": "{version}" } })).is(409),
            delete_with(at("a"), json!({ "propagationPolicy": "Foreground" })),
            // The garbage collector finds that there is nothing to wait for.
            get(at("a")).until(Until::Count("/metadata/finalizers", 1)),
            merge(at("a"), json!({ "metadata": { "finalizers": null } })),
        ]),
    ]
}

fn garbage() -> Vec<Case> {
    let parent = || create(CONFIG_MAPS, config_map("parent", json!({}))).save("uid", "/metadata/uid");
    let child = |blocks: bool| create(CONFIG_MAPS, owned("child", json!([owner("parent", "{uid}", blocks)])));
    vec![
        case(
            "garbage::background",
            [
                parent(),
                child(false),
                delete_with(at("parent"), json!({ "propagationPolicy": "Background" })),
                get(at("parent")).is(404),
                get(at("child")).until_code(404),
            ],
        ),
        case(
            "garbage::background_by_default",
            [parent(), child(true), delete(at("parent")), get(at("child")).until_code(404)],
        ),
        case(
            "garbage::foreground_waits_for_dependents",
            [
                parent(),
                create(CONFIG_MAPS, {
                    let mut object = owned("child", json!([owner("parent", "{uid}", true)]));
                    object["metadata"]["finalizers"] = json!(["example.com/held"]);
                    object
                }),
                delete_with(at("parent"), json!({ "propagationPolicy": "Foreground" })),
                get(at("child")).until(Until::There("/metadata/deletionTimestamp")),
                get(at("parent")),
                merge(at("child"), json!({ "metadata": { "finalizers": null } })),
                get(at("parent")).until_code(404),
            ],
        ),
        case(
            "garbage::orphans",
            [
                parent(),
                child(true),
                delete_with(at("parent"), json!({ "propagationPolicy": "Orphan" })),
                get(at("parent")).until_code(404),
                get(at("child")),
            ],
        ),
        case(
            "garbage::orphans_the_old_way",
            [
                parent(),
                child(true),
                delete_with(at("parent"), json!({ "orphanDependents": true })),
                get(at("parent")).until_code(404),
                get(at("child")),
            ],
        ),
        case(
            "garbage::across_kinds",
            [
                create(WIDGETS, widget("parent", json!({}))).save("uid", "/metadata/uid"),
                create(
                    SECRETS,
                    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "child", "ownerReferences": [{ "apiVersion": "{group}/v1", "kind": "Widget", "name": "parent", "uid": "{uid}" }] } }),
                ),
                // The collector has to learn of a kind that is new; that takes it a while.
                delete(format!("{WIDGETS}/parent")),
                get(format!("{SECRETS}/child")).until_code(404),
            ],
        ),
    ]
}

fn more_garbage() -> Vec<Case> {
    vec![
        case(
            "garbage::two_owners_keep_a_child",
            [
                create(CONFIG_MAPS, config_map("one", json!({}))).save("one", "/metadata/uid"),
                create(CONFIG_MAPS, config_map("two", json!({}))).save("two", "/metadata/uid"),
                create(
                    CONFIG_MAPS,
                    owned("child", json!([owner("one", "{one}", false), owner("two", "{two}", false)])),
                ),
                delete(at("one")),
                get(at("child")).until(Until::Count("/metadata/ownerReferences", 1)),
                delete(at("two")),
                get(at("child")).until_code(404),
            ],
        ),
        case(
            "garbage::an_owner_that_never_was",
            [
                create(
                    CONFIG_MAPS,
                    owned("child", json!([owner("nobody", "00000000-0000-0000-0000-000000000000", false)])),
                ),
                get(at("child")).until_code(404),
            ],
        ),
        case(
            "garbage::an_owner_with_another_uid",
            [
                create(CONFIG_MAPS, config_map("parent", json!({}))),
                create(
                    CONFIG_MAPS,
                    owned("child", json!([owner("parent", "00000000-0000-0000-0000-000000000000", false)])),
                ),
                get(at("child")).until_code(404),
                get(at("parent")),
            ],
        ),
        case(
            "garbage::grandchildren",
            [
                create(CONFIG_MAPS, config_map("a", json!({}))).save("a", "/metadata/uid"),
                create(CONFIG_MAPS, owned("b", json!([owner("a", "{a}", false)]))).save("b", "/metadata/uid"),
                create(CONFIG_MAPS, owned("c", json!([owner("b", "{b}", false)]))),
                delete(at("a")),
                get(at("c")).until_code(404),
                get(at("b")).is(404),
            ],
        ),
        case(
            "garbage::grandchildren_in_the_foreground",
            [
                create(CONFIG_MAPS, config_map("a", json!({}))).save("a", "/metadata/uid"),
                create(CONFIG_MAPS, owned("b", json!([owner("a", "{a}", true)]))).save("b", "/metadata/uid"),
                create(CONFIG_MAPS, owned("c", json!([owner("b", "{b}", true)]))),
                delete_with(at("a"), json!({ "propagationPolicy": "Foreground" })),
                get(at("a")).until_code(404),
                get(at("b")).is(404),
                get(at("c")).is(404),
            ],
        ),
        case(
            "garbage::foreground_does_not_wait_for_those_who_do_not_block",
            [
                create(CONFIG_MAPS, config_map("a", json!({}))).save("a", "/metadata/uid"),
                create(CONFIG_MAPS, {
                    let mut object = owned("b", json!([owner("a", "{a}", false)]));
                    object["metadata"]["finalizers"] = json!(["example.com/held"]);
                    object
                }),
                delete_with(at("a"), json!({ "propagationPolicy": "Foreground" })),
                get(at("a")).until_code(404),
                get(at("b")).until(Until::There("/metadata/deletionTimestamp")),
                merge(at("b"), json!({ "metadata": { "finalizers": null } })),
            ],
        ),
    ]
}
