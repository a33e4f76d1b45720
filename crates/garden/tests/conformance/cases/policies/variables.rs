//! What expressions see, and what comes of those that fail.

use super::*;

const REQUEST: &str = "[request.operation, request.name, request.namespace, request.kind.group, request.kind.version, \
    request.kind.kind, request.resource.group, request.resource.version, request.resource.resource, \
    request.requestKind.kind, request.requestResource.resource, string(has(request.subResource)), \
    string(has(request.requestSubResource)), request.userInfo.username, request.userInfo.groups.join('+'), \
    string(has(request.userInfo.uid)), string(request.dryRun), string(request.options.kind), string(request.options.apiVersion), \
    string(size(request.options))].join(' ')";

const OPTIONS: &str = "[string(request.options.kind), string(size(request.options)), \
    has(request.options.fieldManager) ? string(request.options.fieldManager) : '-', \
    has(request.options.fieldValidation) ? string(request.options.fieldValidation) : '-', \
    has(request.options.dryRun) ? string(request.options.dryRun[0]) : '-', \
    has(request.options.propagationPolicy) ? string(request.options.propagationPolicy) : '-', \
    has(request.options.gracePeriodSeconds) ? string(request.options.gracePeriodSeconds) : '-', \
    has(request.options.preconditions) ? string(has(request.options.preconditions.uid)) : '-'].join(' ')";

pub fn variables() -> Vec<Case> {
    let only = |name: &str, expression: &str| {
        json!({
            "expression": format!("!has(request.name) || request.name != '{name}'"), "message": "failed",
            "messageExpression": expression
        })
    };
    let alice = Who::As("{ns}-alice".into(), vec!["system:masters".into(), "staff".into()]);
    vec![
        policed(
            "sees_the_request",
            with(
                policy(vec![says(REQUEST)]),
                json!({ "spec": { "matchConditions": [
                { "name": "not-the-first", "expression": "request.operation != 'CREATE' || !('seed' in object.data)" }
            ] } }),
            ),
            [
                create(CONFIG_MAPS, config_map("a", json!({ "seed": "" }))),
                create(CONFIG_MAPS, map("b")).is(422),
                create(CONFIG_MAPS, map("b")).by(alice.clone()).is(422),
                update(of("a"), map("a")).is(422),
                merge(of("a"), json!({ "data": { "k": "w" } })).by(alice).is(422),
                apply(of("c"), "me", map("c")).is(422),
                apply(of("a"), "me", map("a")).is(422),
                delete(of("a")).is(422),
                create(format!("{CONFIG_MAPS}?dryRun=All"), map("b")).is(422),
            ],
        ),
        policed(
            "sees_the_options",
            with(
                policy(vec![says(OPTIONS)]),
                json!({ "spec": { "matchConditions": [
                { "name": "not-the-first", "expression": "request.operation != 'CREATE' || !('seed' in object.data)" }
            ] } }),
            ),
            [
                create(CONFIG_MAPS, config_map("a", json!({ "seed": "" }))).save("uid", "/metadata/uid"),
                create(format!("{CONFIG_MAPS}?fieldManager=me&fieldValidation=Strict"), map("b")).is(422),
                update(format!("{}?dryRun=All&fieldManager=me", of("a")), map("a")).is(422),
                merge(
                    format!("{}?fieldManager=me&fieldValidation=Ignore", of("a")),
                    json!({ "data": { "k": "w" } }),
                )
                .is(422),
                apply_by_force(of("a"), "me", map("a")).is(422),
                apply(of("c"), "me", map("c")).is(422),
                delete(format!("{}?propagationPolicy=Foreground&dryRun=All", of("a"))).is(422),
                delete_with(
                    of("a"),
                    json!({ "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan",
                        "gracePeriodSeconds": 5, "preconditions": { "uid": "{uid}" } }),
                )
                .is(422),
            ],
        ),
        policed(
            "sees_the_object_and_the_old_one",
            policy(vec![
                wants("request.operation == 'CREATE' ? oldObject == null : oldObject != null"),
                wants("request.operation == 'DELETE' ? object == null : object != null"),
                wants(
                    "request.operation != 'CREATE' || object.kind == 'ConfigMap' && object.apiVersion == 'v1'",
                ),
                wants(
                    "request.operation != 'CREATE' || has(object.metadata.uid) && has(object.metadata.managedFields)",
                ),
                only(
                    "wrong",
                    "string(oldObject == null ? object.data.k : oldObject.data.k) + '>' + (object == null ? 'nothing' : string(object.data.k))",
                ),
                json!({ "expression": "object == null || oldObject == null || object.data.k == oldObject.data.k", "message": "k is fixed" }),
                json!({ "expression": "object != null || oldObject.data.k != 'kept'", "message": "kept" }),
            ]),
            [
                create(CONFIG_MAPS, map("a")),
                create(CONFIG_MAPS, map("wrong")).is(422),
                merge(of("a"), json!({ "data": { "k": "w" } })).is(422),
                merge(of("a"), json!({ "data": { "l": "w" } })),
                json_patch(of("a"), json!([{ "op": "remove", "path": "/data/k" }])).is(422),
                strategic(of("a"), json!({ "data": { "k": "x" } })).is(422),
                apply_by_force(of("a"), "me", config_map("a", json!({ "k": "y" }))).is(422),
                create(CONFIG_MAPS, config_map("b", json!({ "k": "kept" }))),
                delete(of("b")).is(422),
                delete(of("a")),
            ],
        ),
        policed(
            "sees_numbers_lists_and_nulls_of_a_custom_object",
            with(
                policy(vec![
                    wants("object.kind != 'Widget' || !has(object.spec.size) || object.spec.size * 2 < 20"),
                    wants("object.kind != 'Widget' || !has(object.spec.ratio) || object.spec.ratio < 2.0"),
                    wants(
                        "object.kind != 'Widget' || !has(object.spec.tags) || object.spec.tags.all(t, t.startsWith('t'))",
                    ),
                    wants(
                        "object.kind != 'Widget' || !has(object.spec.settings) || object.spec.settings.?a.?b.orValue('none') == 'none'",
                    ),
                    json!({
                        "expression": "object.kind != 'Widget' || !has(object.spec.map)", "message": "failed",
                        "messageExpression": "string(object.spec.size) + ' ' + object.apiVersion.split('/')[1] + ' ' + object.spec.map['a-b'] + ' ' + string(has(object.status))"
                    }),
                ]),
                json!({ "spec": { "matchConstraints": { "resourceRules": [
                    rule("", json!(["configmaps"]), json!(["CREATE"])),
                    { "apiGroups": ["{group}"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["widgets"] }
                ] } } }),
            ),
            [
                create(
                    WIDGETS,
                    widget(
                        "a",
                        json!({ "size": 9, "ratio": 1.5, "tags": ["t1", "t2"], "settings": { "a": null } }),
                    ),
                ),
                create(WIDGETS, widget("b", json!({ "size": 10 }))).is(422),
                create(WIDGETS, widget("b", json!({ "ratio": 2 }))).is(422),
                create(WIDGETS, widget("b", json!({ "tags": ["t", "x"] }))).is(422),
                create(WIDGETS, widget("b", json!({ "settings": { "a": { "b": "some" } } }))).is(422),
                create(WIDGETS, widget("b", json!({ "map": { "a-b": "c" } }))).is(422),
                create(WIDGETS, widget("b", json!({ "map": {} }))).is(422),
                apply(format!("{WIDGETS}/c"), "me", widget("c", json!({ "size": 11 }))).is(422),
                merge(format!("{WIDGETS}/a"), json!({ "spec": { "size": 11 } })).is(422),
            ],
        ),
        policed(
            "sees_the_namespace",
            with(
                policy(vec![
                    json!({
                        "expression": "object.kind != 'ConfigMap' || object.metadata.name != 'a'", "message": "failed",
                        "messageExpression": "namespaceObject.metadata.name + ' ' + namespaceObject.metadata.labels['tenant'] + ' ' + \
                            namespaceObject.status.phase + ' ' + namespaceObject.spec.finalizers.join('+') + ' ' + \
                            string(has(namespaceObject.metadata.annotations)) + ' ' + string(has(namespaceObject.metadata.UID))"
                    }),
                    wants(
                        "object.kind != 'ConfigMap' || namespaceObject.metadata.labels['tenant'] != 'none'",
                    ),
                    wants("object.kind != 'Namespace' || namespaceObject == null"),
                    json!({ "expression": "object.kind != 'Namespace' || request.namespace != request.name", "message": "a namespace is in itself" }),
                ]),
                json!({ "spec": { "matchConstraints": { "resourceRules": [
                    rule("", json!(["configmaps"]), json!(["CREATE"])),
                    { "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["namespaces"] }
                ] }, "matchConditions": [{ "name": "not-the-first", "expression": "object.kind != 'Namespace' || 'tenant' in oldObject.metadata.labels" }] } }),
            ),
            [
                merge(format!("{NAMESPACES}/{{ns}}"), json!({ "metadata": { "labels": { "tenant": "x" } } })),
                create(format!("{CONFIG_MAPS}?dryRun=All"), map("a"))
                    .is(422)
                    .until(Until::Code(422))
                    .until(Until::Says("x Active")),
                create(CONFIG_MAPS, map("b")),
                merge(
                    format!("{NAMESPACES}/{{ns}}"),
                    json!({ "metadata": { "labels": { "tenant": "none" } } }),
                )
                .is(422),
            ],
        ),
        policed(
            "declares_variables",
            with(
                policy(vec![
                    wants("variables.doubled > 2 || !variables.plain"),
                    json!({ "expression": "!variables.plain || variables.all == ['a', 'b']", "messageExpression": "'all: ' + variables.all.join('+') + ' ' + string(variables.doubled)" }),
                    wants("object.metadata.name != 'broken' || variables.broken == 'x'"),
                    wants("object.metadata.name != 'indirect' || variables.indirect"),
                ]),
                json!({ "spec": { "variables": [
                    { "name": "plain", "expression": "object.metadata.name == 'plain'" },
                    { "name": "size", "expression": "size(object.data)" },
                    { "name": "doubled", "expression": "variables.size * 2" },
                    { "name": "all", "expression": "object.data.map(k, k)" },
                    { "name": "broken", "expression": "object.missing.field" },
                    { "name": "indirect", "expression": "variables.broken == 'x'" }
                ] } }),
            ),
            [
                create(CONFIG_MAPS, map("a")),
                create(CONFIG_MAPS, map("plain")).is(422),
                create(CONFIG_MAPS, map("broken")).is(422),
                create(CONFIG_MAPS, map("indirect")).is(422),
            ],
        ),
    ]
}

pub fn expressions() -> Vec<Case> {
    let failing = |failure: &str| {
        with(
            policy(vec![
                wants("object.metadata.name != 'key' || object.missing.field == 'x'"),
                wants("object.metadata.name != 'index' || [1, 2][size(object.data) + 4] == 1"),
                wants("object.metadata.name != 'overload' || object.data.k < 5"),
                wants("object.metadata.name != 'division' || 1 / (size(object.data) - 1) == 1"),
                wants("object.metadata.name != 'null' || oldObject.metadata.name == 'x'"),
                wants("object.metadata.name != 'has' || !has(oldObject.metadata)"),
                wants("object.metadata.name != 'nested' || has(object.missing.field)"),
                wants("object.metadata.name != 'text' || object.metadata.name.size2 == 'x'"),
                wants("object.metadata.name != 'number' || int(object.data.k) == 1"),
                wants("object.metadata.name != 'escaped' || object.metadata.__namespace__ == 'x'"),
                wants("object.metadata.name != 'denied' || object.data.k == 'w'"),
                wants("object.metadata.name != 'both' || object.data.k == 'w' || object.missing == 'x'"),
                wants("object.metadata.name != 'either' || object.data.k == 'v' || object.missing == 'x'"),
            ]),
            json!({ "spec": { "failurePolicy": failure } }),
        )
    };
    let names = [
        "key", "index", "overload", "division", "null", "has", "nested", "text", "number", "escaped",
        "denied", "both", "either",
    ];
    let tried = |name: &&str, denied: &[&str]| {
        create(CONFIG_MAPS, map(name)).is(if denied.contains(name) { 422 } else { 201 })
    };
    let all_but: Vec<&str> = names.into_iter().filter(|name| !matches!(*name, "has" | "either")).collect();
    vec![
        policed(
            "fails_closed",
            failing("Fail"),
            names.iter().map(|name| tried(name, &all_but)).collect::<Vec<_>>(),
        ),
        policed(
            "fails_open_if_it_says_so",
            failing("Ignore"),
            names.iter().map(|name| tried(name, &["denied"])).collect::<Vec<_>>(),
        ),
        policed(
            "has_match_conditions",
            with(
                policy(vec![says("'matched'")]),
                json!({ "spec": { "matchConditions": [
                    { "name": "name", "expression": "object.metadata.name.startsWith('m') || object.metadata.name == 'probe'" },
                    { "name": "broken", "expression": "object.metadata.name != 'mbroken' || object.missing == 'x'" },
                    { "name": "broken-too", "expression": "object.metadata.name != 'mbroken' || object.gone == 'x'" },
                    { "name": "not", "expression": "object.metadata.name != 'mnot'" }
                ] } }),
            ),
            [
                create(CONFIG_MAPS, map("other")),
                create(CONFIG_MAPS, map("m")).is(422),
                create(CONFIG_MAPS, map("mnot")),
                create(CONFIG_MAPS, map("mbroken")).is(422),
            ],
        ),
        policed(
            "ignores_broken_match_conditions_if_it_says_so",
            with(
                policy(vec![says("'matched'")]),
                json!({ "spec": { "failurePolicy": "Ignore", "matchConditions": [
                    { "name": "broken", "expression": "object.metadata.name != 'broken' || object.missing == 'x'" }
                ] } }),
            ),
            [create(CONFIG_MAPS, map("broken")), create(CONFIG_MAPS, map("other")).is(422)],
        ),
    ]
}
