//! Watch: what is told, in which order, and how it ends.

use super::shared::*;
use crate::script::*;
use serde_json::json;

fn from_here(selector: &str) -> [Step; 2] {
    [
        get(format!("{CONFIG_MAPS}?{selector}")).save("from", "/metadata/resourceVersion"),
        watch("w", &format!("{CONFIG_MAPS}?{selector}&resourceVersion={{from}}")),
    ]
}

fn made(name: &str) -> Step {
    create(CONFIG_MAPS, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "labels": { "x": "1" } } }))
        .save("version", "/metadata/resourceVersion")
}

pub fn cases() -> Vec<Case> {
    let mut all = changes();
    all.extend(beginnings());
    all.extend(endings());
    all
}

fn changes() -> Vec<Case> {
    let list = |steps: Vec<Step>| from_here("labelSelector=x").into_iter().chain(steps).collect::<Vec<_>>();
    vec![
        case(
            "watch::tells_changes_in_order",
            list(vec![
                made("a"),
                made("b"),
                merge(format!("{CONFIG_MAPS}/a"), json!({ "data": { "k": "1" } })),
                merge(format!("{CONFIG_MAPS}/a"), json!({ "data": { "k": "1" } })),
                delete(format!("{CONFIG_MAPS}/b")),
                made("b"),
                collect("w", 5),
            ]),
        ),
        case(
            "watch::selectors_turn_changes_into_comings_and_goings",
            list(vec![
                create(CONFIG_MAPS, config_map("a", json!({}))),
                merge(format!("{CONFIG_MAPS}/a"), json!({ "metadata": { "labels": { "x": "1" } } })),
                merge(format!("{CONFIG_MAPS}/a"), json!({ "data": { "k": "1" } })),
                merge(format!("{CONFIG_MAPS}/a"), json!({ "metadata": { "labels": { "x": null } } })),
                delete(format!("{CONFIG_MAPS}/a")),
                collect("w", 3),
            ]),
        ),
        case(
            "watch::a_deletion_that_is_held",
            list(vec![
                create(
                    CONFIG_MAPS,
                    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "labels": { "x": "1" }, "finalizers": ["example.com/held"] } }),
                ),
                delete(format!("{CONFIG_MAPS}/a")),
                merge(format!("{CONFIG_MAPS}/a"), json!({ "metadata": { "finalizers": null } })),
                collect("w", 3),
            ]),
        ),
        case(
            "watch::dry_runs_are_not_told",
            list(vec![
                create(format!("{CONFIG_MAPS}?dryRun=All"), config_map("a", json!({}))),
                made("a"),
                delete(format!("{CONFIG_MAPS}/a?dryRun=All")),
                collect("w", 1),
            ]),
        ),
        case(
            "watch::deletecollection",
            list(vec![
                made("a"),
                made("b"),
                delete(format!("{CONFIG_MAPS}?labelSelector=x")),
                collect("w", 4),
            ]),
        ),
        case(
            "watch::custom_resources_by_field",
            vec![
                get(WIDGETS).save("from", "/metadata/resourceVersion"),
                watch("w", &format!("{WIDGETS}?fieldSelector=spec.color=red&resourceVersion={{from}}")),
                create(WIDGETS, widget("a", json!({ "color": "red" }))),
                merge(format!("{WIDGETS}/a/status"), json!({ "status": { "phase": "P" } })),
                merge(format!("{WIDGETS}/a"), json!({ "spec": { "color": "blue" } })),
                merge(format!("{WIDGETS}/a"), json!({ "spec": { "color": "red" } })),
                delete(format!("{WIDGETS}/a")),
                collect("w", 5),
            ],
        ),
        case(
            "watch::all_namespaces",
            vec![
                create(WIDGETS, {
                    let mut object = widget("a", json!({}));
                    object["metadata"]["labels"] = json!({ "of": "{ns}" });
                    object
                }),
                get("/apis/{group}/v1/widgets?labelSelector=of={ns}")
                    .save("from", "/metadata/resourceVersion"),
                watch("w", "/apis/{group}/v1/widgets?labelSelector=of={ns}&resourceVersion={from}"),
                merge(format!("{WIDGETS}/a"), json!({ "spec": { "size": 2 } })),
                collect("w", 1),
            ],
        ),
        case(
            "watch::one_object",
            vec![
                made("a"),
                made("b"),
                get(format!("{CONFIG_MAPS}?fieldSelector=metadata.name=a"))
                    .save("from", "/metadata/resourceVersion"),
                watch("w", &format!("{CONFIG_MAPS}?fieldSelector=metadata.name=a&resourceVersion={{from}}")),
                merge(format!("{CONFIG_MAPS}/b"), json!({ "data": { "k": "1" } })),
                merge(format!("{CONFIG_MAPS}/a"), json!({ "data": { "k": "1" } })),
                collect("w", 1),
            ],
        ),
        case(
            "watch::one_object_by_its_path_is_only_read",
            vec![made("a"), get(format!("{CONFIG_MAPS}/a?watch=true&resourceVersion={{version}}"))],
        ),
        case(
            "watch::the_old_path",
            vec![
                made("a"),
                watch(
                    "w",
                    "/api/v1/watch/namespaces/{ns}/configmaps?labelSelector=x&resourceVersion={version}",
                ),
                merge(format!("{CONFIG_MAPS}/a"), json!({ "data": { "k": "1" } })),
                collect("w", 1),
            ],
        ),
    ]
}

fn beginnings() -> Vec<Case> {
    let two = |rest: Vec<Step>| [made("a"), made("b")].into_iter().chain(rest).collect::<Vec<_>>();
    vec![
        case(
            "watch::without_a_version_begins_with_what_is_there",
            two(vec![
                watch("w", &format!("{CONFIG_MAPS}?labelSelector=x")),
                collect("w", 2),
                delete(format!("{CONFIG_MAPS}/a")),
                collect("w", 1),
            ]),
        ),
        case(
            "watch::from_zero_begins_with_what_is_there",
            two(vec![
                get(format!("{CONFIG_MAPS}?labelSelector=x&resourceVersion=0"))
                    .until(Until::Count("/items", 2)),
                watch("w", &format!("{CONFIG_MAPS}?labelSelector=x&resourceVersion=0")),
                collect("w", 2),
            ]),
        ),
        case(
            "watch::from_a_version_tells_what_followed",
            vec![
                made("a"),
                merge(format!("{CONFIG_MAPS}/a"), json!({ "data": { "k": "1" } })),
                delete(format!("{CONFIG_MAPS}/a")),
                watch("w", &format!("{CONFIG_MAPS}?resourceVersion={{version}}")),
                collect("w", 2),
            ],
        ),
        case(
            "watch::initial_events_end_with_a_bookmark",
            two(vec![
                watch(
                    "w",
                    &format!(
                        "{CONFIG_MAPS}?labelSelector=x&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
                    ),
                ),
                collect("w", 3),
                merge(format!("{CONFIG_MAPS}/a"), json!({ "data": { "k": "1" } })),
                collect("w", 1),
            ]),
        ),
        case(
            "watch::initial_events_of_nothing",
            vec![
                watch(
                    "w",
                    &format!(
                        "{WIDGETS}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
                    ),
                ),
                collect("w", 1),
            ],
        ),
        case(
            "watch::no_initial_events",
            two(vec![
                watch(
                    "w",
                    &format!(
                        "{CONFIG_MAPS}?labelSelector=x&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion={{version}}"
                    ),
                ),
                merge(format!("{CONFIG_MAPS}/a"), json!({ "data": { "k": "1" } })),
                collect("w", 1),
            ]),
        ),
        case(
            "watch::initial_events_of_custom_resources",
            vec![
                create(WIDGETS, widget("a", json!({}))),
                watch(
                    "w",
                    &format!(
                        "{WIDGETS}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
                    ),
                ),
                collect("w", 2),
            ],
        ),
        case(
            "watch::initial_events_want_their_match",
            vec![
                watch("w", &format!("{CONFIG_MAPS}?sendInitialEvents=true&allowWatchBookmarks=true")).is(422),
                watch("w", &format!("{CONFIG_MAPS}?resourceVersionMatch=NotOlderThan&resourceVersion=1"))
                    .is(422),
                watch(
                    "w",
                    &format!(
                        "{CONFIG_MAPS}?sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1"
                    ),
                )
                .is(422),
                get(format!("{CONFIG_MAPS}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan"))
                    .is(422),
            ],
        ),
        case(
            "watch::limit_is_ignored",
            two(vec![watch("w", &format!("{CONFIG_MAPS}?labelSelector=x&limit=1")), collect("w", 2)]),
        ),
    ]
}

fn endings() -> Vec<Case> {
    vec![
        case(
            "watch::ends_after_its_time",
            vec![
                made("a"),
                watch("w", &format!("{CONFIG_MAPS}?labelSelector=x&timeoutSeconds=1")),
                collect("w", 2),
            ],
        ),
        case(
            "watch::bookmarks_come_before_the_end",
            vec![
                made("a"),
                watch(
                    "w",
                    &format!(
                        "{CONFIG_MAPS}?labelSelector=x&timeoutSeconds=3&allowWatchBookmarks=true&resourceVersion={{version}}"
                    ),
                ),
                // How many come in three seconds is the server's business; that the last word is a bookmark is not.
                collect("w", 2),
            ],
        ),
        case(
            "watch::from_a_version_long_gone",
            vec![watch("w", &format!("{CONFIG_MAPS}?resourceVersion=1")), collect("w", 2)],
        ),
        case(
            "watch::custom_resources_from_a_version_long_gone",
            vec![watch("w", &format!("{WIDGETS}?resourceVersion=1")), collect("w", 2)],
        ),
        case(
            "watch::refusals",
            vec![
                get("/api/v1/namespaces/{ns}"),
                watch("w", &format!("{CONFIG_MAPS}?resourceVersion=abc")).is(500),
                watch("w", &format!("{CONFIG_MAPS}?labelSelector=-x")).is(400),
                watch("w", &format!("{CONFIG_MAPS}?fieldSelector=data.k=1")).is(400),
                watch("w", "/apis/{group}/v1/namespaces/{ns}/nothings").is(404),
            ],
        ),
    ]
}
