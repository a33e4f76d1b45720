//! Get and list: selectors, versions, pages.

use super::shared::*;
use crate::script::*;
use serde_json::json;

pub fn cases() -> Vec<Case> {
    let mut all = label_selectors();
    all.extend(field_selectors());
    all.extend(versions());
    all.extend(pages());
    all
}

fn labelled(name: &str, labels: serde_json::Value) -> Step {
    create(
        CONFIG_MAPS,
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "labels": labels } }),
    )
}

fn label_selectors() -> Vec<Case> {
    let rows = [
        ("equals", "x=1", 200),
        ("equals_twice", "x==1", 200),
        ("not_equals", "x!=1", 200),
        ("in", "x in (1,2)", 200),
        ("not_in", "x notin (1,2)", 200),
        ("exists", "y", 200),
        ("does_not_exist", "!y", 200),
        ("several", "x=1,y", 200),
        ("prefixed", "example.com/z=1", 200),
        ("greater", "x>1", 200),
        ("less", "x<2", 200),
        ("empty_value", "e=", 200),
        ("empty_in", "x in ()", 200),
        ("spaces", " x = 1 ", 200),
        ("broken_operator", "x===1", 400),
        ("broken_key", "-x=1", 400),
        ("broken_value", "x=not valid", 400),
        ("broken_list", "x in (1", 400),
        ("broken_comma", "x=1,,y", 400),
        ("invalid_value", "x=-1-", 400),
        ("no_list", "x in 1", 400),
        ("two_words", "x y", 400),
        ("odd_lists", "x in (,1,,2)", 200),
        ("greater_than_text", "x>abc", 400),
    ];
    rows.into_iter()
        .map(|(name, selector, code)| {
            case(
                format!("label_selector::{name}"),
                [
                    labelled("a", json!({ "x": "1", "y": "1" })),
                    labelled("b", json!({ "x": "2", "example.com/z": "1" })),
                    labelled("c", json!({ "y": "2", "e": "" })),
                    get(format!("{CONFIG_MAPS}?labelSelector={selector}")).is(code),
                ],
            )
        })
        .collect()
}

fn field_selectors() -> Vec<Case> {
    let rows = [
        ("name", CONFIG_MAPS, "metadata.name=a", 200),
        ("not_name", CONFIG_MAPS, "metadata.name!=a", 200),
        ("namespace", CONFIG_MAPS, "metadata.namespace={ns}", 200),
        ("other_namespace", CONFIG_MAPS, "metadata.namespace=other", 200),
        ("unknown", CONFIG_MAPS, "data.k=v", 400),
        ("two", CONFIG_MAPS, "metadata.name=a,metadata.namespace={ns}", 200),
        ("broken", CONFIG_MAPS, "metadata.name", 400),
        ("custom", WIDGETS, "spec.color=red", 200),
        ("custom_not", WIDGETS, "spec.color!=red", 200),
        ("custom_missing", WIDGETS, "spec.color=", 200),
        ("custom_integer", WIDGETS, "spec.size=1", 200),
        ("custom_name", WIDGETS, "metadata.name=a", 200),
        ("custom_unknown", WIDGETS, "spec.title=x", 400),
        ("secret_type", SECRETS, "type=Opaque", 200),
        ("namespace_phase", NAMESPACES, "status.phase=Active,metadata.name={ns}", 200),
        ("event_object", EVENTS, "involvedObject.name=a,reason!=x", 200),
        ("event_unknown", EVENTS, "message=a", 400),
        ("definition_name", DEFINITIONS, "metadata.name=widgets.{group}", 200),
        ("lease_unknown", LEASES, "spec.holderIdentity=a", 400),
    ];
    rows.into_iter()
        .map(|(name, path, selector, code)| {
            case(
                format!("field_selector::{name}"),
                [
                    create(CONFIG_MAPS, config_map("a", json!({}))),
                    create(CONFIG_MAPS, config_map("b", json!({}))),
                    create(WIDGETS, widget("a", json!({ "color": "red" }))),
                    create(WIDGETS, widget("b", json!({ "color": "blue", "size": 2 }))),
                    create(WIDGETS, widget("c", json!({}))),
                    create(SECRETS, secret("a", json!({}))),
                    get(format!("{path}?fieldSelector={selector}")).is(code),
                ],
            )
        })
        .collect()
}

fn versions() -> Vec<Case> {
    let made =
        || create(CONFIG_MAPS, config_map("a", json!({}))).save("version", "/metadata/resourceVersion");
    let list = |query: &str| get(format!("{CONFIG_MAPS}?{query}"));
    vec![
        case(
            "version::any",
            [
                made(),
                list("resourceVersion=0&fieldSelector=metadata.name=a").until(Until::Count("/items", 1)),
            ],
        ),
        case(
            "version::not_older_than",
            [
                made(),
                list("resourceVersion={version}"),
                list("resourceVersion={version}&resourceVersionMatch=NotOlderThan"),
                get(format!("{CONFIG_MAPS}/a?resourceVersion={{version}}")),
                get(format!("{CONFIG_MAPS}/a?resourceVersion=0")).until_code(200),
            ],
        ),
        case(
            "version::exact",
            [
                made(),
                create(CONFIG_MAPS, config_map("b", json!({}))),
                list("resourceVersion={version}&resourceVersionMatch=Exact"),
                list("resourceVersion={version}&limit=10"),
            ],
        ),
        case(
            "version::exact_shows_the_past",
            [
                made(),
                merge(format!("{CONFIG_MAPS}/a"), json!({ "data": { "k": "new" } })),
                create(CONFIG_MAPS, config_map("b", json!({}))).save("later", "/metadata/resourceVersion"),
                delete(format!("{CONFIG_MAPS}/a")),
                list("resourceVersion={version}&resourceVersionMatch=Exact"),
                list("resourceVersion={later}&resourceVersionMatch=Exact"),
            ],
        ),
        case(
            "version::match_needs_a_version",
            [
                list("resourceVersionMatch=Exact").is(422),
                list("resourceVersion=0&resourceVersionMatch=Exact").is(422),
                list("resourceVersion=1&resourceVersionMatch=Sometimes").is(422),
                list("resourceVersionMatch=NotOlderThan").is(422),
            ],
        ),
        case(
            "version::not_a_number",
            [
                list("resourceVersion=abc").is(400),
                get(format!("{CONFIG_MAPS}/kube-root-ca.crt?resourceVersion=abc")).is(500),
            ],
        ),
        case(
            "version::in_the_future",
            [
                list("resourceVersion=999999999").is(504).ignore("/body/details/retryAfterSeconds"),
                list("resourceVersion=999999999&resourceVersionMatch=Exact").is(504),
            ],
        ),
    ]
}

fn pages() -> Vec<Case> {
    let many = || ["a", "b", "c", "d", "e"].map(|name| labelled(name, json!({ "x": "1" })));
    let list = |query: &str| get(format!("{CONFIG_MAPS}?labelSelector=x=1&{query}"));
    let with_many = |rest: Vec<Step>| many().into_iter().chain(rest).collect::<Vec<_>>();
    vec![
        case(
            "pages::follow_each_other",
            with_many(vec![
                list("limit=2").save("continue", "/metadata/continue"),
                list("limit=2&continue={continue}").save("continue", "/metadata/continue"),
                list("limit=2&continue={continue}"),
            ]),
        ),
        case(
            "pages::count_the_rest_without_a_selector",
            with_many(vec![
                get(format!("{CONFIG_MAPS}?limit=2")).save("continue", "/metadata/continue"),
                get(format!("{CONFIG_MAPS}?limit=2&continue={{continue}}")),
                get(format!("{CONFIG_MAPS}?limit=100")),
            ]),
        ),
        case(
            "pages::show_the_past",
            with_many(vec![
                list("limit=2").save("continue", "/metadata/continue"),
                delete(format!("{CONFIG_MAPS}/c")),
                labelled("cc", json!({ "x": "1" })),
                list("limit=10&continue={continue}"),
            ]),
        ),
        case(
            "pages::of_custom_resources",
            vec![
                create(WIDGETS, widget("a", json!({}))),
                create(WIDGETS, widget("b", json!({}))),
                create(WIDGETS, widget("c", json!({}))),
                get(format!("{WIDGETS}?limit=1")).save("continue", "/metadata/continue"),
                get(format!("{WIDGETS}?limit=5&continue={{continue}}")),
            ],
        ),
        case(
            "pages::token_that_is_not_one",
            vec![
                get(format!("{CONFIG_MAPS}?limit=1&continue=abc")).is(400),
                get(format!("{CONFIG_MAPS}?limit=-1")).is(200),
                get(format!("{CONFIG_MAPS}?limit=abc")).is(400),
            ],
        ),
        case(
            "pages::token_with_a_version",
            with_many(vec![
                list("limit=2").save("continue", "/metadata/continue"),
                list("limit=2&continue={continue}&resourceVersion=5").is(400),
                list("limit=2&continue={continue}&resourceVersionMatch=Exact").is(422),
            ]),
        ),
        case(
            "pages::order_is_by_name",
            with_many(vec![
                get(format!("{CONFIG_MAPS}?labelSelector=x")),
                get("/apis/{group}/v1/widgets?labelSelector=nobody"),
            ]),
        ),
    ]
}
