//! ValidatingAdmissionPolicies and their bindings as objects: defaults, refusals, generations, tables.

use super::*;

/// A policy that never works: nothing binds it.
fn spec(more: Value) -> Value {
    with(policy(vec![]), json!({ "spec": more }))
}

/// A policy with this instead of its validations.
fn validations(list: Value) -> Value {
    spec(json!({ "validations": list }))
}

fn refused(policy: Value) -> Step {
    create(format!("{POLICIES}?dryRun=All"), policy).is(422)
}

fn unbound(more: Value) -> Step {
    create(format!("{BINDINGS}?dryRun=All"), with(binding(json!(["Deny"])), json!({ "spec": more }))).is(422)
}

pub fn cases() -> Vec<Case> {
    let mut all = objects();
    all.extend(wrong());
    all.extend(compilation());
    all.extend(rights());
    all
}

fn objects() -> Vec<Case> {
    let one = format!("{POLICIES}/{{ns}}");
    let bound = format!("{BINDINGS}/{{ns}}");
    vec![
        case(
            "policy_kind::has_defaults",
            [
                create(POLICIES, spec(json!({
                    "matchConstraints": { "namespaceSelector": null, "excludeResourceRules": [rule("", json!(["secrets"]), json!(["CREATE"]))] },
                    "matchConditions": [], "auditAnnotations": [{ "key": "a", "valueExpression": "'x'" }],
                    "validations": [{ "expression": "true", "message": "", "messageExpression": "" }]
                }))),
                get(one.clone()),
                create(BINDINGS, with(binding(json!(["Audit"])), json!({ "spec": {
                    "matchResources": { "resourceRules": [rule("", json!(["nothing"]), json!(["CREATE"]))] },
                    "paramRef": { "name": "p", "parameterNotFoundAction": "Allow" }
                } }))),
                get(bound.clone()),
            ],
        ),
        case(
            "policy_kind::counts_generations",
            [
                create(POLICIES, spec(json!({}))).save("version", "/metadata/resourceVersion"),
                merge(one.clone(), json!({ "metadata": { "labels": { "a": "b" } } })),
                merge(one.clone(), json!({ "spec": { "failurePolicy": "Ignore" } })),
                merge(one.clone(), json!({})),
                merge(format!("{one}/status"), json!({ "spec": { "failurePolicy": "Fail" }, "status": { "observedGeneration": 2 } })),
                get(format!("{one}/status")),
                update(one.clone(), spec(json!({}))).is(422),
                update(one.clone(), with(spec(json!({})), json!({ "metadata": { "resourceVersion": "{version}" } }))).is(409),
                delete(one.clone()),
                get(one.clone()).is(404),
                update(one.clone(), with(spec(json!({})), json!({ "metadata": { "resourceVersion": "{version}" } }))).is(404),
            ],
        ),
        case(
            "policy_kind::binding_counts_generations",
            [
                create(BINDINGS, binding(json!(["Audit"]))),
                merge(bound.clone(), json!({ "metadata": { "labels": { "a": "b" } } })),
                merge(bound.clone(), json!({ "spec": { "validationActions": ["Warn"] } })),
                merge(format!("{bound}/status"), json!({})).is(404),
                delete(bound.clone()),
            ],
        ),
        case(
            "policy_kind::is_applied",
            [
                apply(one.clone(), "one", spec(json!({ "variables": [{ "name": "a", "expression": "1" }], "matchConditions": [{ "name": "m", "expression": "true" }] }))),
                apply(one.clone(), "two", json!({
                    "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": { "name": "{ns}" },
                    "spec": { "variables": [{ "name": "b", "expression": "2" }] }
                })),
                apply(one.clone(), "two", json!({
                    "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": { "name": "{ns}" },
                    "spec": { "variables": [{ "name": "a", "expression": "2" }] }
                }))
                .is(409),
                apply(one.clone(), "two", json!({
                    "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": { "name": "{ns}" },
                    "spec": { "matchConstraints": { "matchPolicy": "Exact" } }
                }))
                .is(409),
                strategic(one.clone(), json!({ "spec": { "variables": [{ "name": "c", "expression": "3" }] } })),
                apply(bound, "one", binding(json!(["Audit"]))),
            ],
        ),
        case(
            "policy_kind::is_shown_in_a_table",
            [
                create(POLICIES, spec(json!({ "paramKind": { "apiVersion": "{group}/v1", "kind": "Widget" } }))),
                get(one).accept("application/json;as=Table;v=v1;g=meta.k8s.io").ignore("/body/rows/0/cells/3"),
                create(BINDINGS, with(binding(json!(["Audit"])), json!({ "spec": { "paramRef": { "name": "p", "namespace": "n", "parameterNotFoundAction": "Allow" } } }))),
                create(BINDINGS, with(binding(json!(["Audit"])), json!({ "metadata": { "name": "{ns}-2" }, "spec": { "paramRef": { "selector": { "matchLabels": { "a": "b" } }, "parameterNotFoundAction": "Allow" } } }))),
                create(BINDINGS, with(binding(json!(["Audit"])), json!({ "metadata": { "name": "{ns}-3" } }))),
                create(BINDINGS, with(binding(json!(["Audit"])), json!({ "metadata": { "name": "{ns}-4" }, "spec": { "paramRef": { "name": "p", "parameterNotFoundAction": "Allow" } } }))),
                get(format!("{BINDINGS}/{{ns}}")).accept("application/json;as=Table;v=v1;g=meta.k8s.io").ignore("/body/rows/0/cells/3"),
                get(format!("{BINDINGS}/{{ns}}-2")).accept("application/json;as=Table;v=v1;g=meta.k8s.io").ignore("/body/rows/0/cells/3"),
                get(format!("{BINDINGS}/{{ns}}-3")).accept("application/json;as=Table;v=v1;g=meta.k8s.io").ignore("/body/rows/0/cells/3"),
                get(format!("{BINDINGS}/{{ns}}-4")).accept("application/json;as=Table;v=v1;g=meta.k8s.io").ignore("/body/rows/0/cells/3"),
            ],
        ),
        case("policy_kind::is_listed", [get(format!("{POLICIES}?fieldSelector=metadata.name={{ns}}")), get(format!("{BINDINGS}?labelSelector=none={{ns}}"))]),
        case(
            "policy_kind::of_another_type",
            [
                create(POLICIES, spec(json!({ "failurePolicy": 1 }))).is(400),
                create(POLICIES, spec(json!({ "validations": [{ "expression": true }] }))).is(400),
                create(BINDINGS, with(binding(json!([1])), json!({}))).is(400),
                create(format!("{POLICIES}?fieldValidation=Strict"), spec(json!({ "other": 1 }))).is(400),
            ],
        ),
    ]
}

fn wrong() -> Vec<Case> {
    let rules = |rule: Value| spec(json!({ "matchConstraints": { "resourceRules": [rule] } }));
    let good = || rule("", json!(["configmaps"]), json!(["CREATE"]));
    vec![
        case(
            "policy_kind::wants_its_fields",
            [
                refused(with(spec(json!({})), json!({ "spec": null }))),
                refused(spec(json!({ "matchConstraints": null }))),
                refused(spec(json!({ "matchConstraints": { "resourceRules": null } }))),
                refused(spec(
                    json!({ "matchConstraints": { "matchPolicy": "Other" }, "failurePolicy": "Other" }),
                )),
                refused(validations(json!([]))),
                refused(validations(
                    json!([{ "expression": " ", "message": " ", "messageExpression": " ", "reason": "Other" }]),
                )),
                refused(validations(json!([{ "expression": "true", "message": "a\nb" }]))),
                refused(spec(
                    json!({ "auditAnnotations": [{ "key": "a b", "valueExpression": "" }, { "key": "a b", "valueExpression": "true" }] }),
                )),
                refused(with(spec(json!({})), json!({ "metadata": { "name": "Not_ok" } }))),
                refused(spec(
                    json!({ "matchConstraints": { "namespaceSelector": { "matchLabels": { "a b": "c d" }, "matchExpressions": [{ "key": "k", "operator": "In" }] } } }),
                )),
            ],
        ),
        case(
            "policy_kind::wants_rules_that_make_sense",
            [
                refused(rules(json!({}))),
                refused(rules(with(
                    good(),
                    json!({ "operations": ["*", "CREATE"], "apiGroups": ["*", ""], "apiVersions": ["*", "v1"] }),
                ))),
                refused(rules(with(
                    good(),
                    json!({ "operations": ["OTHER"], "apiVersions": [""], "scope": "Other" }),
                ))),
                refused(rules(with(good(), json!({ "resources": ["*", "configmaps"] })))),
                refused(rules(with(good(), json!({ "resources": ["*/*", "configmaps"] })))),
                refused(rules(with(
                    good(),
                    json!({ "resources": ["configmaps/*", "configmaps/status", "*/scale", "a/scale", ""] }),
                ))),
                refused(rules(with(good(), json!({ "resourceNames": ["a/b", "c", "c"] })))),
            ],
        ),
        case(
            "policy_kind::wants_conditions_and_variables_that_make_sense",
            [
                refused(spec(
                    json!({ "matchConditions": [{ "name": "", "expression": "" }, { "name": "a b", "expression": "true" }] }),
                )),
                refused(spec(
                    json!({ "matchConditions": [{ "name": "a", "expression": "true" }, { "name": "a", "expression": "1" }] }),
                )),
                refused(spec(
                    json!({ "variables": [{ "name": "", "expression": "" }, { "name": "a-b", "expression": "1" }, { "name": "for", "expression": "1" }] }),
                )),
                refused(spec(json!({ "paramKind": { "apiVersion": "", "kind": "" } }))),
                refused(spec(json!({ "paramKind": { "apiVersion": "a/b/c", "kind": "a b" } }))),
                refused(spec(json!({ "paramKind": { "apiVersion": "A b/V1", "kind": "Kind" } }))),
                refused(spec(json!({ "paramKind": { "apiVersion": "group/", "kind": "Kind" } }))),
            ],
        ),
        case(
            "policy_kind::wants_bindings_that_make_sense",
            [
                unbound(json!({ "policyName": "", "validationActions": [] })),
                unbound(
                    json!({ "policyName": "Not_ok", "validationActions": ["Deny", "Warn", "Warn", "Other"] }),
                ),
                unbound(json!({ "paramRef": {} })),
                unbound(
                    json!({ "paramRef": { "name": "a/b", "selector": {}, "parameterNotFoundAction": "Other" } }),
                ),
                unbound(
                    json!({ "paramRef": { "selector": { "matchExpressions": [{ "key": "k", "operator": "Other" }] }, "parameterNotFoundAction": "Deny" } }),
                ),
                unbound(json!({ "matchResources": { "resourceRules": [{}], "matchPolicy": "Other" } })),
            ],
        ),
    ]
}

fn compilation() -> Vec<Case> {
    let one = |expression: &str| refused(validations(json!([{ "expression": expression }])));
    let said = |expression: &str| {
        refused(validations(json!([{ "expression": "true", "messageExpression": expression }])))
    };
    vec![
        case(
            "policy_kind::does_not_compile",
            [
                one("object.spec.x >"),
                one("other == 1"),
                one("object.spec.x"),
                one("1 + 'a' == 2"),
                one("request.other == ''"),
                one("request.userInfo.other == ''"),
                one("request.operation == 1"),
                one("namespaceObject.metadata.uid == ''"),
                one("params.x == 1"),
                one("variables.x == 1"),
                one("'text'"),
                one("authorizer.other == 1"),
                one("authorizer.group('').check('get').allowed()"),
                one("authorizer.requestResource.check('get')"),
                one("oldSelf == self"),
                one("object.spec.matches('(')"),
                one("object.all(x, x == 1) && has(object)"),
                said("object.metadata.name"),
                said("1"),
                said("authorizer.requestResource.check('get').reason()"),
                said("'a' +"),
                refused(spec(
                    json!({ "matchConditions": [{ "name": "a", "expression": "variables.x" }], "variables": [{ "name": "x", "expression": "true" }] }),
                )),
                refused(spec(
                    json!({ "variables": [{ "name": "x", "expression": "1" }], "validations": [{ "expression": "variables.x == 'a'" }, { "expression": "variables.y" }] }),
                )),
                refused(spec(
                    json!({ "variables": [{ "name": "x", "expression": "variables.y" }, { "name": "y", "expression": "true" }] }),
                )),
                refused(spec(json!({ "auditAnnotations": [{ "key": "a", "valueExpression": "1" }] }))),
                refused(spec(json!({ "matchConditions": [{ "name": "a", "expression": "object.x" }] }))),
            ],
        ),
        case(
            "policy_kind::compiles",
            [create(
                format!("{POLICIES}?dryRun=All"),
                spec(json!({
                    "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" },
                    "matchConditions": [{ "name": "a", "expression": " params.data.x == request.name " }],
                    "variables": [
                        { "name": "list", "expression": "['a']" }, { "name": "map", "expression": "{'a': 1}" },
                        { "name": "any", "expression": "object.spec" }, { "name": "decision", "expression": "authorizer.requestResource.check('get')" }
                    ],
                    "auditAnnotations": [{ "key": "a", "valueExpression": "'x' + object.metadata.name" }, { "key": "b", "valueExpression": "null" }],
                    "validations": [
                        { "expression": "variables.list[0] == 'a' && variables.map.a == 1 && variables.any.x == 1 && variables.decision.allowed()" },
                        { "expression": "request.options.fieldManager == 'x' || request.userInfo.extra['a'][0] == 'b'" },
                        { "expression": "object.spec.?x.orValue(1) == 1 && size(object.metadata.?labels.orValue({})) > 0" },
                        { "expression": "quantity(object.spec.x).isGreaterThan(quantity('1')) && isURL(object.spec.y)" },
                        { "expression": "namespaceObject.metadata.labels['a'] == 'b' && namespaceObject.metadata.creationTimestamp < timestamp('2020-01-01T00:00:00Z')" }
                    ]
                })),
            )],
        ),
    ]
}

fn rights() -> Vec<Case> {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "{ns}" },
        "rules": [
            { "apiGroups": ["admissionregistration.k8s.io"], "resources": ["validatingadmissionpolicies", "validatingadmissionpolicybindings"], "verbs": ["create"] },
            { "apiGroups": ["{group}"], "resources": ["widgets"], "verbs": ["get"] }
        ]
    });
    let bound = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": "{ns}" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "{ns}" },
        "subjects": [{ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "{ns}-alice" }]
    });
    let of = |kind: &str| spec(json!({ "paramKind": { "apiVersion": "{group}/v1", "kind": kind } }));
    let refers = |policy: &str| {
        with(
            binding(json!(["Audit"])),
            json!({ "metadata": { "name": policy }, "spec": { "policyName": policy, "paramRef": { "name": "p", "namespace": "{ns}", "parameterNotFoundAction": "Allow" } } }),
        )
    };
    vec![case(
        "policy_kind::parameters_must_be_readable",
        [
            create(CLUSTER_ROLES, role),
            create(CLUSTER_ROLE_BINDINGS, bound),
            create(POLICIES, of("Widget")).by_user("{ns}-bob").is(403),
            create(POLICIES, of("Widget")).by_user("{ns}-alice").until_code(201),
            create(POLICIES, with(of("Gadget"), json!({ "metadata": { "name": "{ns}-2" } })))
                .by_user("{ns}-alice")
                .is(422),
            create(POLICIES, with(of("Gadget"), json!({ "metadata": { "name": "{ns}-2" } }))),
            create(BINDINGS, refers("{ns}")).by_user("{ns}-alice"),
            create(BINDINGS, refers("{ns}-2")).by_user("{ns}-alice").is(422),
            create(BINDINGS, refers("{ns}-3")).by_user("{ns}-alice").is(422),
        ],
    )]
}
