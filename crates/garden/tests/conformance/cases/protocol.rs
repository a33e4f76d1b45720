//! Discovery, paths, and requests that are not well-formed.

use super::shared::*;
use crate::script::*;
use serde_json::json;

pub fn cases() -> Vec<Case> {
    let mut all = discovery();
    all.extend(paths());
    all.extend(malformed());
    all.extend(large());
    all
}

fn discovery() -> Vec<Case> {
    vec![
        case(
            "discovery::groups_of_ours",
            [
                get("/api").ignore("/body/serverAddressByClientCIDRs"),
                get("/apis/coordination.k8s.io"),
                get("/apis/rbac.authorization.k8s.io"),
                get("/apis/events.k8s.io"),
                get("/apis/apiextensions.k8s.io"),
                get("/apis/authorization.k8s.io"),
                get("/apis/authentication.k8s.io"),
                get("/apis/{group}"),
                get("/apis/none.example.com").is(404),
            ],
        ),
        case(
            "discovery::kinds_of_ours",
            [
                get("/apis/coordination.k8s.io/v1").ignore("/body/resources/*/storageVersionHash"),
                get("/apis/rbac.authorization.k8s.io/v1").ignore("/body/resources/*/storageVersionHash"),
                get("/apis/events.k8s.io/v1").ignore("/body/resources/*/storageVersionHash"),
                get("/apis/apiextensions.k8s.io/v1").ignore("/body/resources/*/storageVersionHash"),
                get("/apis/authorization.k8s.io/v1"),
                get("/apis/authentication.k8s.io/v1"),
                get("/apis/{group}/v1").ignore("/body/resources/*/storageVersionHash").in_any_order(),
                get("/apis/{group}/v2").is(404),
            ],
        ),
        case(
            "discovery::anybody_may_look",
            [
                get("/apis/{group}").by_user("eve"),
                get("/apis").by_user("eve").ignore("/body"),
                get("/healthz").by(Who::Nobody),
                get("/readyz").by(Who::Nobody),
                get("/livez").by(Who::Nobody),
                get("/apis").by(Who::Nobody).is(403),
                get("/nothing").by_user("eve").is(403),
            ],
        ),
    ]
}

fn paths() -> Vec<Case> {
    vec![
        case(
            "paths::that_lead_nowhere",
            [
                get("/nothing").is(404),
                get("/api/v1/nothings").is(404),
                get("/api/v2/configmaps").is(404),
                get("/apis/{group}/v1/nothings").is(404),
                get("/apis/none.example.com/v1/things").is(404),
                get(format!("{CONFIG_MAPS}/a/nothing")).is(404),
                get(format!("{WIDGETS}/a/nothing")).is(404),
                get("/api/v1/namespaces/{ns}/namespaces").is(404),
            ],
        ),
        case(
            "paths::list_across_namespaces",
            [
                create(WIDGETS, widget("a", json!({}))),
                get("/apis/{group}/v1/widgets?fieldSelector=metadata.namespace={ns}"),
                get("/api/v1/configmaps?fieldSelector=metadata.namespace={ns},metadata.name=none"),
                get("/apis/{group}/v1/widgets/a").is(404),
            ],
        ),
        case(
            "paths::methods_that_do_not_fit",
            [
                raw("POST", format!("{CONFIG_MAPS}/kube-root-ca.crt"), JSON, "{}").is(405),
                raw("PUT", CONFIG_MAPS, JSON, "{}").is(405),
                raw("PATCH", CONFIG_MAPS, MERGE_PATCH, "{}").is(405),
                raw("OPTIONS", CONFIG_MAPS, JSON, "").is(405),
                raw("PUT", WIDGETS, JSON, "{}").is(400),
            ],
        ),
        case(
            "paths::head_is_not_taken",
            [raw("HEAD", format!("{CONFIG_MAPS}/kube-root-ca.crt"), JSON, "").is(405)],
        ),
        case(
            "paths::accept_what_is_not_there",
            [
                get(CONFIG_MAPS).accept("text/html").is(406),
                get(WIDGETS).accept("text/html").is(406),
                get(format!("{CONFIG_MAPS}/x")).accept("*/*").is(404),
            ],
        ),
    ]
}

fn malformed() -> Vec<Case> {
    let bodies = [
        ("not_json", "this is not json"),
        ("cut_off", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"na"#),
        ("empty", ""),
        ("array", "[]"),
        ("number", "5"),
        ("null", "null"),
        ("trailing", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}} {}"#),
        ("wrong_metadata", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":[]}"#),
        ("wrong_name", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":5}}"#),
        ("wrong_kind", r#"{"apiVersion":"v1","kind":5}"#),
        (
            "control_character",
            "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\u{1}\"}}",
        ),
    ];
    let mut all: Vec<Case> = bodies
        .iter()
        .map(|(name, body)| {
            let code = if *name == "null" { 422 } else { 400 };
            case(format!("malformed::{name}"), [raw("POST", CONFIG_MAPS, JSON, *body).is(code)])
        })
        .collect();
    all.push(case(
        "malformed::custom_resources",
        bodies.iter().map(|(_, body)| {
            raw(
                "POST",
                WIDGETS,
                JSON,
                body.replace("\"v1\"", "\"{group}/v1\"").replace("ConfigMap", "Widget"),
            )
            .is(400)
        }),
    ));
    all.push(case(
        "malformed::content_types",
        [
            raw("POST", CONFIG_MAPS, "text/plain", "{}").is(415),
            raw(
                "POST",
                CONFIG_MAPS,
                "application/json; charset=utf-8",
                r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#,
            ),
            raw(
                "POST",
                CONFIG_MAPS,
                "application/yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n",
            ),
            raw(
                "POST",
                WIDGETS,
                "application/yaml",
                "apiVersion: {group}/v1\nkind: Widget\nmetadata:\n  name: b\n",
            ),
        ],
    ));
    all.push(case(
        "malformed::queries",
        [
            get(format!("{CONFIG_MAPS}?limit=x")).is(400),
            get(format!("{CONFIG_MAPS}?timeoutSeconds=x")).is(400),
            get(format!("{CONFIG_MAPS}?unknown=x")).ignore("/body/items/0/metadata/managedFields"),
            create(format!("{CONFIG_MAPS}?dryRun=Some"), config_map("a", json!({}))).is(422),
        ],
    ));
    all.push(case(
        "malformed::patches",
        [
            create(CONFIG_MAPS, config_map("a", json!({}))),
            raw("PATCH", format!("{CONFIG_MAPS}/a"), MERGE_PATCH, "{").is(400),
            raw("PATCH", format!("{CONFIG_MAPS}/a"), JSON_PATCH, "[{").is(400),
            raw("PATCH", format!("{CONFIG_MAPS}/a"), STRATEGIC_PATCH, "{").is(400),
            raw("PATCH", format!("{CONFIG_MAPS}/a"), MERGE_PATCH, "").is(400),
        ],
    ));
    all
}

fn large() -> Vec<Case> {
    let deep = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    let text = |size: usize| {
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a"}},"data":{{"k":"{}"}}}}"#,
            "x".repeat(size)
        )
    };
    let nested = |levels: usize| {
        format!(
            r#"{{"apiVersion":"{{group}}/v1","kind":"Widget","metadata":{{"name":"a"}},"spec":{{"settings":{}}}}}"#,
            deep(levels)
        )
    };
    vec![
        case("large::four_megabytes", [raw("POST", CONFIG_MAPS, JSON, text(4 * 1024 * 1024)).is(413), get(format!("{CONFIG_MAPS}/a")).is(404)]),
        case("large::more_than_a_config_map_may_hold", [raw("POST", CONFIG_MAPS, JSON, text(1024 * 1024 + 1)).is(422), raw("POST", CONFIG_MAPS, JSON, text(1024 * 1024)).ignore("/body/data")]),
        case("large::ten_thousand_levels", [raw("POST", CONFIG_MAPS, JSON, deep(10_001)).is(400), raw("POST", WIDGETS, JSON, nested(10_001)).is(400)]),
        case("large::ten_thousand_levels_in_a_patch", [
            create(WIDGETS, widget("a", json!({}))),
            raw("PATCH", format!("{WIDGETS}/a"), MERGE_PATCH, deep(10_001)).is(400),
            raw("PATCH", format!("{WIDGETS}/a"), JSON_PATCH, format!("[{}]", deep(10_001))).is(400),
            raw("PATCH", format!("{WIDGETS}/a?fieldManager=one"), APPLY_PATCH, deep(10_001)).is(400),
        ]),
        case("large::ten_thousand_lists", [raw("POST", CONFIG_MAPS, JSON, format!("{}{}", "[".repeat(10_001), "]".repeat(10_001))).is(400)]),
        case("large::annotations", [create(CONFIG_MAPS, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "annotations": { "k": "x".repeat(256 * 1024 + 1) } } })).is(422)]),
    ]
}
