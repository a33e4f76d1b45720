//! The life of a Shoot.

use super::{FIRST_WRITE, SHOOTS, confirmed, shoot, shoot_with, succeeded};
use crate::script::*;
use serde_json::{Value, json};

pub fn cases() -> Vec<Case> {
    let mut all = written();
    all.extend(applied());
    all.extend(deleted());
    all.extend(status());
    all.extend(watched());
    all
}

fn path(name: &str) -> String {
    format!("{SHOOTS}/{name}")
}

/// With the hour of its maintenance: a garden picks one anew for every update that leaves it out.
fn timed(mut shoot: Value) -> Value {
    shoot["spec"]["maintenance"] = json!({ "timeWindow": { "begin": "220500+0000", "end": "230500+0000" } });
    shoot
}

fn with_version(mut shoot: Value) -> Value {
    shoot["metadata"]["resourceVersion"] = json!("{rv}");
    timed(shoot)
}

fn written() -> Vec<Case> {
    vec![
        case(
            "garden::shoot_is_created_and_read",
            [
                create(SHOOTS, shoot("a")),
                get(path("a")),
                get(SHOOTS),
                get(path("b")).is(404),
                create(SHOOTS, shoot("a")).is(409),
            ],
        ),
        case(
            "garden::shoot_versions_are_completed",
            [
                create(SHOOTS, shoot_with("a", "/spec/kubernetes/version", json!("1.34"))),
                create(
                    SHOOTS,
                    shoot_with(
                        "b",
                        "/spec/provider/workers/0/machine/image",
                        json!({ "name": "gardenlinux" }),
                    ),
                ),
            ],
        ),
        case(
            "garden::shoot_name_is_generated",
            [create(SHOOTS, {
                let mut shoot = shoot("");
                shoot["metadata"] = json!({ "generateName": "s-" });
                shoot
            })],
        ),
        case(
            "garden::shoot_dry_run_keeps_nothing",
            [create(format!("{SHOOTS}?dryRun=All"), shoot("a")), get(path("a")).is(404)],
        ),
        case(
            "garden::shoot_update_wants_a_version",
            [
                create(SHOOTS, timed(shoot("a"))).save("rv", "/metadata/resourceVersion"),
                update(path("a"), shoot("a")).is(422),
                update(path("a"), with_version(shoot_with("a", "/spec/purpose", json!("testing")))),
                update(path("a"), with_version(shoot_with("a", "/spec/purpose", json!("production"))))
                    .is(409),
                update(path("b"), shoot("b")).is(404),
            ],
        ),
        case(
            "garden::shoot_merge_patch",
            [
                create(SHOOTS, shoot("a")),
                merge(path("a"), json!({ "spec": { "hibernation": { "enabled": true } } })),
                merge(path("a"), json!({ "spec": { "hibernation": { "enabled": true } } })),
                merge(path("a"), json!({ "spec": { "hibernation": null } })),
                merge(
                    path("a"),
                    json!({ "metadata": { "labels": { "own": "label" }, "annotations": { "own": "note" } } }),
                ),
                merge(
                    path("a"),
                    json!({ "metadata": { "labels": { "provider.extensions.gardener.cloud/aws": null } } }),
                ),
                merge(path("b"), json!({})).is(404),
            ],
        ),
        case(
            "garden::shoot_json_patch",
            [
                create(SHOOTS, shoot("a")),
                json_patch(
                    path("a"),
                    json!([
                        { "op": "replace", "path": "/spec/provider/workers/0/maximum", "value": 21 },
                        { "op": "add", "path": "/metadata/labels/x", "value": "y" },
                    ]),
                ),
                json_patch(path("a"), json!([{ "op": "remove", "path": "/spec/none" }])).is(422),
            ],
        ),
        case(
            "garden::shoot_strategic_patch_merges_workers_by_name",
            [
                create(SHOOTS, shoot("a")),
                strategic(
                    path("a"),
                    json!({ "spec": { "provider": { "workers": [{ "name": "cpu-worker-0", "maximum": 30 }] } } }),
                ),
            ],
        ),
        case(
            "garden::shoot_operation_counts_and_is_taken",
            [
                create(SHOOTS, shoot("a")),
                merge(
                    path("a"),
                    json!({ "metadata": { "annotations": { "gardener.cloud/operation": "reconcile" } } }),
                ),
                merge(
                    format!("{}/status", path("a")),
                    json!({ "status": { "lastOperation": succeeded("Create") } }),
                ),
                merge(
                    path("a"),
                    json!({ "metadata": { "annotations": { "gardener.cloud/operation": "reconcile" } } }),
                ),
                merge(
                    path("a"),
                    json!({ "metadata": { "annotations": { "gardener.cloud/operation": "dance" } } }),
                )
                .is(422),
            ],
        ),
        case(
            "garden::shoot_in_other_forms",
            [
                create(SHOOTS, shoot("a")),
                get(path("a")).accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
                get(SHOOTS).accept("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
            ],
        ),
    ]
}

fn applied() -> Vec<Case> {
    let two = || {
        let mut two = shoot("a");
        let mut added = two["spec"]["provider"]["workers"][0].clone();
        added["name"] = json!("other");
        two["spec"]["provider"]["workers"] = json!([two["spec"]["provider"]["workers"][0], added]);
        two
    };
    let purpose = |value: &str| json!({ "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot", "metadata": { "name": "a" }, "spec": { "purpose": value } });
    vec![
        case(
            "garden::shoot_apply_creates_and_repeats",
            [
                apply(path("a"), "first", shoot("a")),
                apply(path("a"), "first", shoot("a")).differs("/body/metadata/resourceVersion", FIRST_WRITE),
                get(path("a")).differs("/body/metadata/resourceVersion", FIRST_WRITE),
            ],
        ),
        case(
            "garden::shoot_apply_adds_and_removes_workers",
            [
                apply(path("a"), "first", shoot("a")),
                apply(path("a"), "first", two()),
                apply(path("a"), "first", shoot("a")),
            ],
        ),
        case(
            "garden::shoot_apply_conflicts",
            [
                apply(path("a"), "first", shoot("a")),
                apply(path("a"), "second", purpose("testing")).is(409),
                apply_by_force(path("a"), "second", purpose("testing")),
                apply(path("a"), "first", shoot("a")).is(409),
            ],
        ),
        case(
            "garden::shoot_apply_after_create",
            [
                create(SHOOTS, shoot("a")),
                apply(path("a"), "second", purpose("production")),
                apply(path("a"), "second", purpose("testing")).is(409),
            ],
        ),
        case(
            "garden::shoot_apply_refuses_unknown_fields",
            [apply(
                format!("{}?fieldValidation=Strict", path("a")),
                "first",
                shoot_with("a", "/spec/colour", json!("red")),
            )
            .is(500)],
        ),
    ]
}

fn deleted() -> Vec<Case> {
    vec![
        case("garden::shoot_deletion_is_confirmed", [
            create(SHOOTS, shoot("a")),
            delete(path("a")).is(403),
            merge(path("a"), confirmed()),
            delete(path("a")),
            get(path("a")).is(404),
            delete(path("a")).is(404),
        ]),
        case("garden::shoot_deletion_of_all_is_confirmed", [
            create(SHOOTS, shoot("a")),
            create(SHOOTS, shoot("b")),
            merge(path("a"), confirmed()),
            delete(SHOOTS).is(500),
            get(format!("{SHOOTS}?fieldSelector=metadata.name=b")),
        ]),
        case("garden::shoot_deletion_waits_for_the_finalizer", [
            create(SHOOTS, shoot("a")),
            merge(path("a"), json!({ "metadata": { "finalizers": ["gardener"], "annotations": confirmed()["metadata"]["annotations"] } })),
            merge(format!("{}/status", path("a")), json!({ "status": { "technicalID": "shoot--x--a", "lastOperation": succeeded("Create") } })),
            delete(path("a")),
            merge(path("a"), json!({ "spec": { "purpose": "testing" } })).is(422),
            merge(path("a"), json!({ "metadata": { "labels": { "still": "here" } } })),
            merge(path("a"), json!({ "metadata": { "finalizers": null } })).is(403),
            merge(format!("{}/status", path("a")), json!({ "status": { "lastOperation": succeeded("Delete") } })),
            merge(path("a"), json!({ "metadata": { "finalizers": null } })),
            get(path("a")).is(404),
        ]),
        case("garden::shoot_deletion_with_preconditions", [
            create(SHOOTS, {
                let mut shoot = shoot("a");
                shoot["metadata"]["annotations"] = confirmed()["metadata"]["annotations"].clone();
                shoot
            })
            .save("uid", "/metadata/uid"),
            delete_with(path("a"), json!({ "preconditions": { "uid": "00000000-0000-0000-0000-000000000000" } })).is(409),
            delete_with(path("a"), json!({ "preconditions": { "uid": "{uid}" } })),
        ]),
        case("garden::shoot_deletion_is_not_forced", [
            create(SHOOTS, shoot("a")),
            merge(path("a"), json!({ "metadata": { "annotations": { "confirmation.gardener.cloud/force-deletion": "true" } } })).is(422),
            create(SHOOTS, {
                let mut shoot = shoot("b");
                shoot["metadata"]["finalizers"] = json!(["gardener"]);
                shoot
            })
            .is(422),
        ]),
    ]
}

fn status() -> Vec<Case> {
    let status = || format!("{}/status", path("a"));
    let address =
        |url: &str| json!({ "status": { "advertisedAddresses": [{ "name": "external", "url": url }] } });
    vec![
        case(
            "garden::shoot_status_is_written_apart",
            [
                create(SHOOTS, shoot_with("a", "/status", json!({ "technicalID": "not-mine" }))),
                merge(
                    status(),
                    json!({ "spec": { "purpose": "testing" }, "status": { "technicalID": "shoot--x--a", "observedGeneration": 1 } }),
                ),
                merge(
                    path("a"),
                    json!({ "status": { "technicalID": "other" }, "metadata": { "labels": { "a": "b" } } }),
                ),
                get(status()),
            ],
        ),
        case(
            "garden::shoot_status_keeps_its_identity",
            [
                create(SHOOTS, shoot("a")),
                merge(
                    status(),
                    json!({ "status": { "technicalID": "shoot--x--a", "uid": "00000000-0000-0000-0000-000000000001" } }),
                ),
                merge(status(), json!({ "status": { "technicalID": "shoot--x--b" } })).is(422),
                merge(status(), json!({ "status": { "uid": "00000000-0000-0000-0000-000000000002" } }))
                    .is(422),
            ],
        ),
        case(
            "garden::shoot_status_addresses_are_checked",
            [
                create(SHOOTS, shoot("a")),
                merge(status(), address("https://api.example.com")),
                merge(status(), address("http://api.example.com")).is(422),
                merge(status(), address("https://me@api.example.com?x=y")).is(422),
            ],
        ),
        case(
            "garden::shoot_status_is_updated",
            [
                create(SHOOTS, timed(shoot("a"))).save("rv", "/metadata/resourceVersion"),
                update(
                    status(),
                    with_version(shoot_with(
                        "a",
                        "/status",
                        json!({
                            "conditions": [{
                                "type": "APIServerAvailable", "status": "Progressing", "reason": "r", "message": "m",
                                "lastTransitionTime": "2024-01-01T00:00:00Z", "lastUpdateTime": "2024-01-01T00:00:00Z",
                            }],
                            "lastErrors": [{ "description": "d", "codes": ["ERR_INFRA_QUOTA_EXCEEDED"] }],
                            "lastOperation": succeeded("Create"), "gardener": { "id": "i", "name": "n", "version": "1" }, "hibernated": false,
                        }),
                    )),
                ),
                get(path("a")),
            ],
        ),
        case(
            "garden::shoot_status_is_applied",
            [
                create(SHOOTS, shoot("a")),
                apply(
                    status(),
                    "gardenlet",
                    json!({
                        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot", "metadata": { "name": "a" },
                        "status": { "observedGeneration": 1, "lastOperation": succeeded("Create") },
                    }),
                ),
            ],
        ),
    ]
}

fn watched() -> Vec<Case> {
    vec![
        case(
            "garden::shoot_watch_tells_a_life",
            [
                get(SHOOTS).save("rv", "/metadata/resourceVersion"),
                watch("all", &format!("{SHOOTS}?resourceVersion={{rv}}")),
                create(SHOOTS, shoot("a")),
                merge(path("a"), json!({ "spec": { "purpose": "testing" } })),
                merge(format!("{}/status", path("a")), json!({ "status": { "observedGeneration": 2 } })),
                merge(path("a"), json!({ "spec": { "purpose": "testing" } })),
                merge(path("a"), confirmed()),
                delete(path("a")),
                collect("all", 5),
            ],
        ),
        case(
            "garden::shoot_watch_with_a_selector",
            [
                get(SHOOTS).save("rv", "/metadata/resourceVersion"),
                watch("mine", &format!("{SHOOTS}?labelSelector=owner=me&resourceVersion={{rv}}")),
                create(SHOOTS, shoot("a")),
                create(SHOOTS, shoot("b")),
                merge(path("a"), json!({ "metadata": { "labels": { "owner": "me" } } })),
                merge(path("a"), json!({ "spec": { "purpose": "testing" } })),
                merge(path("a"), json!({ "metadata": { "labels": { "owner": "you" } } })),
                collect("mine", 3),
            ],
        ),
    ]
}
