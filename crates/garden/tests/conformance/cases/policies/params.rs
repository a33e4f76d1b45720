//! Parameters. They are of custom kinds: a real server stops watching a kind that no policy needs any more, and never begins
//! again with one that is built in.

use super::*;

pub fn params() -> Vec<Case> {
    let of_widgets = |more: Value| {
        with(
            policy(vec![
                json!({
                    "expression": "params == null || object.metadata.name != params.spec.title", "message": "failed",
                    "messageExpression": "object.metadata.name + ' is forbidden by ' + params.metadata.name + ' ' + params.kind + ' ' + params.apiVersion"
                }),
                wants("params != null || object.metadata.name != 'without'"),
            ]),
            with(json!({ "spec": { "paramKind": { "apiVersion": "{group}/v1", "kind": "Widget" } } }), more),
        )
    };
    let bound = |param: Value| with(binding(json!(["Deny"])), json!({ "spec": { "paramRef": param } }));
    let forbids = |name: &str, what: &str| {
        with(widget(name, json!({ "title": what })), json!({ "metadata": { "labels": { "param": "{ns}" } } }))
    };
    let probe = |words: &'static str| {
        create(format!("{CONFIG_MAPS}?dryRun=All"), map("probe")).until_code(422).until(Until::Says(words))
    };
    vec![
        case(
            "policy::has_a_parameter",
            [
                create(WIDGETS, forbids("p", "aa")),
                create(POLICIES, of_widgets(json!({}))),
                create(
                    BINDINGS,
                    bound(json!({ "name": "p", "namespace": "{ns}", "parameterNotFoundAction": "Deny" })),
                ),
                probe("works"),
                create(CONFIG_MAPS, map("aa")).is(422),
                create(CONFIG_MAPS, map("bb")),
                merge(format!("{WIDGETS}/p"), json!({ "spec": { "title": "cc" } })),
                create(format!("{CONFIG_MAPS}?dryRun=All"), map("cc")).until_code(422),
                create(CONFIG_MAPS, map("aa")),
            ],
        ),
        case(
            "policy::has_a_parameter_in_the_namespace_of_the_object",
            [
                create(WIDGETS, forbids("p", "aa")),
                create(POLICIES, of_widgets(json!({}))),
                create(BINDINGS, bound(json!({ "name": "p", "parameterNotFoundAction": "Allow" }))),
                probe("works"),
                create(CONFIG_MAPS, map("aa")).is(422),
                create(CONFIG_MAPS, map("bb")),
            ],
        ),
        case(
            "policy::has_parameters_by_label",
            [
                create(WIDGETS, forbids("p", "aa")),
                create(WIDGETS, forbids("q", "bb")),
                create(POLICIES, of_widgets(json!({}))),
                create(
                    BINDINGS,
                    bound(
                        json!({ "selector": { "matchLabels": { "param": "{ns}" } }, "namespace": "{ns}", "parameterNotFoundAction": "Deny" }),
                    ),
                ),
                probe("works"),
                create(CONFIG_MAPS, map("aa")).is(422),
                create(CONFIG_MAPS, map("bb")).is(422),
                create(CONFIG_MAPS, map("cc")),
            ],
        ),
        case(
            "policy::denies_without_its_parameter",
            [
                create(POLICIES, of_widgets(json!({}))),
                create(
                    BINDINGS,
                    bound(
                        json!({ "name": "missing", "namespace": "{ns}", "parameterNotFoundAction": "Deny" }),
                    ),
                ),
                probe("no params found"),
                create(CONFIG_MAPS, map("aa")).is(422),
            ],
        ),
        case(
            "policy::denies_without_any_parameter",
            [
                create(POLICIES, of_widgets(json!({}))),
                create(
                    BINDINGS,
                    bound(
                        json!({ "selector": {}, "namespace": "{ns}-none", "parameterNotFoundAction": "Deny" }),
                    ),
                ),
                probe("no params found"),
            ],
        ),
        case(
            "policy::ignores_a_missing_parameter_if_it_fails_open",
            [
                create(POLICIES, of_widgets(json!({ "spec": { "failurePolicy": "Ignore" } }))),
                create(
                    BINDINGS,
                    bound(
                        json!({ "name": "missing", "namespace": "{ns}", "parameterNotFoundAction": "Deny" }),
                    ),
                ),
                create(
                    BINDINGS,
                    with(binding(json!(["Deny"])), json!({ "metadata": { "name": "{ns}-other" } })),
                ),
                probe("works"),
                create(CONFIG_MAPS, map("aa")),
            ],
        ),
        case(
            "policy::does_not_work_without_its_parameter_if_that_is_allowed",
            [
                create(POLICIES, of_widgets(json!({}))),
                create(
                    BINDINGS,
                    bound(json!({ "name": "p", "namespace": "{ns}", "parameterNotFoundAction": "Allow" })),
                ),
                create(WIDGETS, forbids("p", "aa")),
                probe("works"),
                delete(format!("{WIDGETS}/p")),
                create(format!("{CONFIG_MAPS}?dryRun=All"), map("probe")).until_code(201),
                create(CONFIG_MAPS, map("aa")),
            ],
        ),
        case(
            "policy::has_no_parameter_without_a_reference",
            [
                create(POLICIES, of_widgets(json!({}))),
                create(BINDINGS, binding(json!(["Deny"]))),
                probe("works"),
                create(CONFIG_MAPS, map("aa")),
                create(CONFIG_MAPS, map("without")).is(422),
            ],
        ),
        case(
            "policy::has_a_parameter_of_the_cluster",
            [
                create(
                    GADGETS,
                    with(
                        gadget("{ns}", json!({ "most": 1 })),
                        json!({ "metadata": { "labels": { "case": "{ns}" } } }),
                    ),
                ),
                create(
                    POLICIES,
                    with(
                        policy(vec![json!({
                            "expression": "size(object.data) <= params.spec.most",
                            "messageExpression": "'at most ' + string(params.spec.most)"
                        })]),
                        json!({ "spec": { "paramKind": { "apiVersion": "{group}/v1", "kind": "Gadget" } } }),
                    ),
                ),
                create(BINDINGS, bound(json!({ "name": "{ns}", "parameterNotFoundAction": "Deny" }))),
                create(format!("{CONFIG_MAPS}?dryRun=All"), config_map("x", json!({ "a": "", "b": "" })))
                    .is(422)
                    .until(Until::Code(422))
                    .until(Until::Says("at most 1")),
                create(CONFIG_MAPS, map("aa")),
                delete(format!("{GADGETS}/{{ns}}")),
                probe("no params found"),
            ],
        ),
        case(
            "policy::cannot_have_a_parameter_of_the_cluster_in_a_namespace",
            [
                create(
                    POLICIES,
                    with(
                        policy(vec![]),
                        json!({ "spec": { "paramKind": { "apiVersion": "{group}/v1", "kind": "Gadget" } } }),
                    ),
                ),
                create(
                    BINDINGS,
                    bound(json!({ "name": "{ns}", "namespace": "{ns}", "parameterNotFoundAction": "Allow" })),
                ),
                probe("must not be provided"),
            ],
        ),
        case(
            "policy::of_an_unknown_kind_of_parameter",
            [
                create(
                    POLICIES,
                    with(
                        policy(vec![]),
                        json!({ "spec": { "paramKind": { "apiVersion": "{ns}.example.com/v1", "kind": "Nothing" } } }),
                    ),
                ),
                create(BINDINGS, bound(json!({ "name": "{ns}", "parameterNotFoundAction": "Allow" }))),
                create(format!("{CONFIG_MAPS}?dryRun=All"), map("aa")).until_code(422),
            ],
        ),
    ]
}
