//! What is particular about ConfigMaps, Secrets, ServiceAccounts, Events and Leases.

use super::shared::*;
use crate::script::*;
use serde_json::{Value, json};

fn typed(name: &str, kind: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "type": kind, "data": data })
}

pub fn cases() -> Vec<Case> {
    let mut all = config_maps();
    all.extend(secrets());
    all.extend(events());
    all.extend(leases());
    all
}

fn config_maps() -> Vec<Case> {
    let object = |fields: Value| {
        let mut object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
        object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        object
    };
    vec![
        case(
            "config_maps::keys",
            [
                // One at a time: a real server goes through them in the order of a Go map.
                create(CONFIG_MAPS, object(json!({ "data": { "bad key": "1" } }))).is(422),
                create(CONFIG_MAPS, object(json!({ "data": { "": "2" } }))).is(422),
                create(CONFIG_MAPS, object(json!({ "data": { "..": "1" } }))).is(422),
                create(CONFIG_MAPS, object(json!({ "data": { ".ok-1_A": "1" } }))),
            ],
        ),
        case(
            "config_maps::binary_data",
            [
                create(
                    CONFIG_MAPS,
                    object(json!({ "binaryData": { "k": "AAECAw==" }, "data": { "l": "" } })),
                ),
                create(CONFIG_MAPS, object(json!({ "binaryData": { "k": "not base64!" } }))).is(400),
                merge(format!("{CONFIG_MAPS}/a"), json!({ "data": { "k": "both" } })).is(422),
            ],
        ),
        case(
            "config_maps::values_are_text",
            [
                create(CONFIG_MAPS, object(json!({ "data": { "k": 1 } }))).is(400),
                create(CONFIG_MAPS, object(json!({ "data": { "k": null } }))),
                create(CONFIG_MAPS, object(json!({ "data": ["k"] }))).is(400),
            ],
        ),
        case(
            "config_maps::immutable",
            [
                create(CONFIG_MAPS, object(json!({ "immutable": true, "data": { "k": "v" } }))),
                merge(format!("{CONFIG_MAPS}/a"), json!({ "data": { "k": "w" } })).is(422),
                merge(format!("{CONFIG_MAPS}/a"), json!({ "immutable": false })).is(422),
                merge(
                    format!("{CONFIG_MAPS}/a"),
                    json!({ "immutable": null, "binaryData": { "x": "AA==" } }),
                )
                .is(422),
                merge(format!("{CONFIG_MAPS}/a"), json!({ "metadata": { "labels": { "l": "m" } } })),
            ],
        ),
        case(
            "config_maps::empty_fields",
            [
                create(CONFIG_MAPS, object(json!({ "data": {}, "binaryData": {} }))),
                merge(
                    format!("{CONFIG_MAPS}/a"),
                    json!({ "data": { "k": "v" }, "metadata": { "labels": {}, "annotations": {} } }),
                ),
                merge(format!("{CONFIG_MAPS}/a"), json!({ "data": { "k": null } })),
            ],
        ),
    ]
}

fn secrets() -> Vec<Case> {
    vec![
        case(
            "secrets::string_data_becomes_data",
            [
                create(SECRETS, secret("a", json!({ "k": "v", "l": "ü" }))),
                merge(format!("{SECRETS}/a"), json!({ "stringData": { "k": "new" } })),
                update(
                    format!("{SECRETS}/a"),
                    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" }, "data": { "k": "eA==" }, "stringData": { "k": "wins" } }),
                ),
            ],
        ),
        case(
            "secrets::the_type_stays",
            [
                create(SECRETS, typed("a", "example.com/own", json!({}))),
                merge(format!("{SECRETS}/a"), json!({ "type": "Opaque" })).is(422),
            ],
        ),
        case(
            "secrets::not_base64",
            [create(SECRETS, typed("a", "Opaque", json!({ "k": "not base64!" }))).is(400)],
        ),
        case("secrets::keys", [create(SECRETS, typed("a", "Opaque", json!({ "bad key": "eA==" }))).is(422)]),
        case(
            "secrets::immutable",
            [
                create(
                    SECRETS,
                    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" }, "immutable": true, "data": { "k": "eA==" } }),
                ),
                merge(format!("{SECRETS}/a"), json!({ "stringData": { "k": "w" } })).is(422),
                merge(format!("{SECRETS}/a"), json!({ "immutable": false })).is(422),
            ],
        ),
        case(
            "secrets::known_types_want_their_keys",
            [
                create(SECRETS, typed("a", "kubernetes.io/tls", json!({}))).is(422),
                create(SECRETS, typed("a", "kubernetes.io/basic-auth", json!({}))).is(422),
                create(SECRETS, typed("a", "kubernetes.io/ssh-auth", json!({}))).is(422),
                create(
                    SECRETS,
                    typed("a", "kubernetes.io/dockerconfigjson", json!({ ".dockerconfigjson": "e30=" })),
                ),
                create(SECRETS, typed("b", "kubernetes.io/dockerconfigjson", json!({}))).is(422),
                create(SECRETS, typed("b", "kubernetes.io/service-account-token", json!({}))).is(422),
                create(SECRETS, typed("c", "kubernetes.io/tls", json!({ "tls.crt": "", "tls.key": "" }))),
            ],
        ),
    ]
}

fn events() -> Vec<Case> {
    let old = |name: &str, namespace: &str| {
        json!({
            "apiVersion": "v1", "kind": "Event", "metadata": { "name": name }, "type": "Normal", "reason": "R", "message": "m",
            "involvedObject": { "kind": "ConfigMap", "apiVersion": "v1", "namespace": namespace, "name": "a" },
            "source": { "component": "c" }, "count": 1,
            "firstTimestamp": "2020-01-01T00:00:00Z", "lastTimestamp": "2020-01-01T00:00:00Z"
        })
    };
    let new = |name: &str| {
        json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": { "name": name }, "type": "Warning", "reason": "R",
            "note": "n", "action": "Try", "eventTime": "2020-01-01T00:00:00.000000Z",
            "reportingController": "example.com/c", "reportingInstance": "c-1",
            "regarding": { "kind": "ConfigMap", "apiVersion": "v1", "namespace": "{ns}", "name": "a" }
        })
    };
    let without = |field: &str| {
        let mut event = new("b");
        event.as_object_mut().unwrap().remove(field);
        event
    };
    vec![
        case(
            "events::two_groups_one_object",
            [
                create(EVENTS, old("a", "{ns}")),
                get(format!("{NEW_EVENTS}/a")),
                create(NEW_EVENTS, new("b")),
                get(format!("{EVENTS}/b")),
                get(format!("{EVENTS}?fieldSelector=involvedObject.name=a,type=Warning")),
                get(format!("{NEW_EVENTS}?fieldSelector=regarding.name=a")),
                delete(format!("{NEW_EVENTS}/a")),
                get(format!("{EVENTS}/a")).is(404),
            ],
        ),
        case(
            "events::the_old_group_is_lenient",
            [
                create(
                    EVENTS,
                    json!({ "apiVersion": "v1", "kind": "Event", "metadata": { "name": "a" }, "involvedObject": { "namespace": "{ns}" } }),
                ),
                create(EVENTS, old("b", "other")).is(422),
                create(EVENTS, json!({ "apiVersion": "v1", "kind": "Event", "metadata": { "name": "c" } }))
                    .is(422),
            ],
        ),
        case(
            "events::the_new_group_is_strict",
            [
                create(NEW_EVENTS, without("eventTime")).is(422),
                create(NEW_EVENTS, without("reportingController")).is(422),
                create(NEW_EVENTS, without("reportingInstance")).is(422),
                create(NEW_EVENTS, without("action")).is(422),
                create(NEW_EVENTS, without("reason")).is(422),
                create(NEW_EVENTS, without("type")).is(422),
                create(NEW_EVENTS, without("note")),
            ],
        ),
        case(
            "events::series_in_the_new_group",
            [
                create(NEW_EVENTS, new("a")),
                merge(
                    format!("{NEW_EVENTS}/a"),
                    json!({ "series": { "count": 2, "lastObservedTime": "2020-01-01T00:00:01.000000Z" } }),
                ),
                merge(format!("{NEW_EVENTS}/a"), json!({ "note": "changed" })).is(422),
                get(format!("{EVENTS}/a")),
            ],
        ),
        case(
            "events::counted_in_the_old_group",
            [
                create(EVENTS, old("a", "{ns}")),
                merge(
                    format!("{EVENTS}/a"),
                    json!({ "count": 2, "lastTimestamp": "2020-01-01T00:00:05Z", "message": "again" }),
                ),
                json_patch(format!("{EVENTS}/a"), json!([{ "op": "replace", "path": "/count", "value": 3 }])),
            ],
        ),
        case(
            "events::about_the_cluster_are_in_default",
            [
                create("/api/v1/namespaces/default/events", {
                    let mut event = old("{ns}-a", "");
                    event["involvedObject"] = json!({ "kind": "Namespace", "name": "{ns}" });
                    event
                }),
                delete("/api/v1/namespaces/default/events/{ns}-a"),
            ],
        ),
        case(
            "events::watched_through_the_other_group",
            [
                get(NEW_EVENTS).save("from", "/metadata/resourceVersion"),
                watch("w", &format!("{NEW_EVENTS}?resourceVersion={{from}}")),
                create(EVENTS, old("a", "{ns}")),
                merge(format!("{EVENTS}/a"), json!({ "count": 2 })),
                delete(format!("{EVENTS}/a")),
                collect("w", 3),
            ],
        ),
    ]
}

fn leases() -> Vec<Case> {
    let lease = |spec: Value| json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "a" }, "spec": spec });
    vec![
        case("leases::election", [
            create(LEASES, lease(json!({ "holderIdentity": "one", "leaseDurationSeconds": 15, "acquireTime": "2020-01-01T00:00:00.000000Z", "renewTime": "2020-01-01T00:00:00.000000Z", "leaseTransitions": 0 }))).save("version", "/metadata/resourceVersion"),
            update(format!("{LEASES}/a"), {
                let mut object = lease(json!({ "holderIdentity": "two", "leaseDurationSeconds": 15, "leaseTransitions": 1 }));
                object["metadata"]["resourceVersion"] = json!("{version}");
                object
            }),
            update(format!("{LEASES}/a"), {
                let mut object = lease(json!({ "holderIdentity": "three" }));
                object["metadata"]["resourceVersion"] = json!("{version}");
                object
            })
            .is(409),
            apply_by_force(format!("{LEASES}/a"), "kube-rs", lease(json!({ "holderIdentity": "four" }))),
        ]),
        case("leases::limits", [
            create(LEASES, lease(json!({ "leaseDurationSeconds": 0 }))).is(422),
            create(LEASES, lease(json!({ "leaseTransitions": -1 }))).is(422),
            create(LEASES, lease(json!({ "renewTime": "yesterday" }))).is(400),
            create(LEASES, lease(json!({ "renewTime": "2020-01-01T00:00:00Z" }))).is(400),
        ]),
    ]
}
