//! ValidatingAdmissionPolicies: what their expressions see, and what comes of what they say.
//!
//! A policy is for the whole cluster, so each of these is about one namespace, or one name, only. A real server takes up to a
//! second until a policy works: the first request of a case asks for something that its policy denies until it is denied.

use super::shared::*;
use crate::script::*;
use serde_json::{Value, json};

pub const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
pub const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";

/// Adds fields to an object, and to objects within it.
pub fn with(mut object: Value, more: Value) -> Value {
    fn add(object: &mut Value, more: Value) {
        match (object, more) {
            (Value::Object(fields), Value::Object(more)) => {
                for (name, value) in more {
                    add(fields.entry(name).or_insert(Value::Null), value);
                }
            }
            (object, more) => *object = more,
        }
    }
    add(&mut object, more);
    object
}

pub fn rule(group: &str, resources: Value, operations: Value) -> Value {
    json!({ "apiGroups": [group], "apiVersions": ["v1"], "operations": operations, "resources": resources })
}

/// A policy about ConfigMaps in the namespace of the case, which also denies everything that is called `probe`.
pub fn policy(validations: Vec<Value>) -> Value {
    let probe =
        json!({ "expression": "object == null || object.metadata.name != 'probe'", "message": "works" });
    let validations: Vec<Value> = std::iter::once(probe).chain(validations).collect();
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": { "name": "{ns}" },
        "spec": {
            "matchConstraints": {
                "resourceRules": [rule("", json!(["configmaps"]), json!(["*"]))],
                "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": "{ns}" } }
            },
            "validations": validations
        }
    })
}

pub fn binding(actions: Value) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": "{ns}" }, "spec": { "policyName": "{ns}", "validationActions": actions }
    })
}

/// Waits until the policy works.
fn probed() -> Step {
    create(format!("{CONFIG_MAPS}?dryRun=All"), config_map("probe", json!({}))).until_code(422)
}

/// A case with a policy that works.
fn policed(name: &str, policy: Value, steps: impl IntoIterator<Item = Step>) -> Case {
    let first = [create(POLICIES, policy), create(BINDINGS, binding(json!(["Deny"]))), probed()];
    case(format!("policy::{name}"), first.into_iter().chain(steps))
}

/// A validation that never holds, and says this.
fn says(expression: &str) -> Value {
    json!({ "expression": "false", "message": "failed", "messageExpression": expression })
}

/// A validation that wants this.
fn wants(expression: &str) -> Value {
    json!({ "expression": expression })
}

fn map(name: &str) -> Value {
    config_map(name, json!({ "k": "v" }))
}

fn of(name: &str) -> String {
    format!("{CONFIG_MAPS}/{name}")
}

pub fn cases() -> Vec<Case> {
    let mut all = refusals();
    all.extend(variables());
    all.extend(expressions());
    all.extend(authorizer());
    all.extend(params());
    all.extend(matching());
    all.extend(writes());
    all.extend(subresources());
    all
}

fn refusals() -> Vec<Case> {
    let named = |name: &str, more: Value| {
        with(json!({ "expression": format!("object == null || object.metadata.name != '{name}'") }), more)
    };
    let reasons = ["Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge"];
    let mut validations: Vec<Value> =
        reasons.iter().map(|reason| named(&reason.to_lowercase(), json!({ "reason": reason }))).collect();
    validations.push(named("message", json!({ "message": "  words of its own  " })));
    validations.push(named(
        "made",
        json!({ "message": "m", "messageExpression": "'made of ' + object.metadata.name" }),
    ));
    validations.push(named("blank", json!({ "message": "m", "messageExpression": "'  '" })));
    validations.push(named("lines", json!({ "message": "m", "messageExpression": "'a\\nb'" })));
    validations.push(named("broken", json!({ "message": "m", "messageExpression": "'a' + object.missing" })));
    validations.push(named("plain", json!({})));
    let tried = |name: &str, code: u16| create(CONFIG_MAPS, map(name)).is(code);
    vec![
        policed(
            "denies_for_its_reason",
            policy(validations),
            [
                tried("unauthorized", 401),
                tried("forbidden", 403),
                tried("invalid", 422),
                tried("requestentitytoolarge", 413),
                tried("message", 422),
                tried("made", 422),
                tried("blank", 422),
                tried("lines", 422),
                tried("broken", 422),
                tried("plain", 422),
                tried("other", 201),
            ],
        ),
        case(
            "policy::warns",
            [
                create(
                    POLICIES,
                    policy(vec![wants("object.metadata.name != 'a'"), says("'twice'"), says("'twice'")]),
                ),
                create(BINDINGS, binding(json!(["Warn", "Audit"]))),
                create(format!("{CONFIG_MAPS}?dryRun=All"), map("probe")).until(Until::Warned),
                create(CONFIG_MAPS, map("a")).is(201),
                merge(of("a"), json!({ "data": { "k": "w" } })),
                create(CONFIG_MAPS, map("a")).is(409),
            ],
        ),
        case(
            "policy::audits_without_a_word",
            [
                create(POLICIES, policy(vec![wants("object.metadata.name != 'a'")])),
                create(
                    BINDINGS,
                    with(binding(json!(["Audit"])), json!({ "metadata": { "name": "{ns}-audit" } })),
                ),
                create(
                    BINDINGS,
                    with(
                        binding(json!(["Deny", "Audit"])),
                        json!({ "spec": { "matchResources": { "objectSelector": { "matchLabels": { "strict": "yes" } } } } }),
                    ),
                ),
                create(
                    format!("{CONFIG_MAPS}?dryRun=All"),
                    with(map("probe"), json!({ "metadata": { "labels": { "strict": "yes" } } })),
                )
                .until_code(422),
                create(CONFIG_MAPS, map("a")).is(201),
                merge(of("a"), json!({ "metadata": { "labels": { "strict": "yes" } } })).is(422),
            ],
        ),
        policed(
            "goes_with_its_binding",
            policy(vec![]),
            [
                delete(format!("{BINDINGS}/{{ns}}")),
                create(format!("{CONFIG_MAPS}?dryRun=All"), map("probe")).until_code(201),
                create(BINDINGS, binding(json!(["Deny"]))),
                create(format!("{CONFIG_MAPS}?dryRun=All"), map("probe")).until_code(422),
                delete(format!("{POLICIES}/{{ns}}")),
                create(format!("{CONFIG_MAPS}?dryRun=All"), map("probe")).until_code(201),
            ],
        ),
        policed(
            "can_be_changed",
            policy(vec![]),
            [
                create(CONFIG_MAPS, map("a")),
                merge(
                    format!("{POLICIES}/{{ns}}"),
                    json!({ "spec": { "validations": [says("'changed'")] } }),
                ),
                create(format!("{CONFIG_MAPS}?dryRun=All"), map("b")).until_code(422),
                merge(of("a"), json!({ "data": { "k": "w" } })).is(422),
            ],
        ),
    ]
}

const REQUEST: &str = "[request.operation, request.name, request.namespace, request.kind.group, request.kind.version, \
    request.kind.kind, request.resource.group, request.resource.version, request.resource.resource, \
    request.requestKind.kind, request.requestResource.resource, string(has(request.subResource)), \
    string(has(request.requestSubResource)), request.userInfo.username, request.userInfo.groups.join('+'), \
    string(has(request.userInfo.uid)), string(request.dryRun), request.options.kind, request.options.apiVersion, \
    string(size(request.options))].join(' ')";

const OPTIONS: &str = "[request.options.kind, string(size(request.options)), \
    has(request.options.fieldManager) ? request.options.fieldManager : '-', \
    has(request.options.fieldValidation) ? request.options.fieldValidation : '-', \
    has(request.options.dryRun) ? request.options.dryRun.join('+') : '-', \
    has(request.options.propagationPolicy) ? request.options.propagationPolicy : '-', \
    has(request.options.gracePeriodSeconds) ? string(request.options.gracePeriodSeconds) : '-', \
    has(request.options.preconditions) ? request.options.preconditions.uid : '-'].join(' ')";

fn variables() -> Vec<Case> {
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
                    "oldObject == null ? object.data.k : oldObject.data.k + '>' + (object == null ? 'nothing' : object.data.k)",
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

fn expressions() -> Vec<Case> {
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

fn authorizer() -> Vec<Case> {
    let asks = |name: &str, expression: &str| {
        json!({
            "expression": format!("object == null || object.metadata.name != '{name}' || ({expression})"),
            "message": format!("{name} may not")
        })
    };
    let role = |rules: Value| json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "r" }, "rules": rules });
    let bound = |subject: Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "r" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r" },
            "subjects": [subject, { "kind": "ServiceAccount", "name": "bot", "namespace": "{ns}" }]
        })
    };
    let alice = json!({ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "{ns}-alice" });
    let rules = json!([
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get", "update", "label"] },
        { "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine"], "verbs": ["get"] },
        { "apiGroups": ["{group}"], "resources": ["widgets/status"], "verbs": ["own"] }
    ]);
    let secrets = "authorizer.group('').resource('secrets').namespace(request.namespace)";
    let validations = vec![
        asks(
            "group",
            "authorizer.group('').resource('configmaps').namespace(request.namespace).check('label').allowed()",
        ),
        asks(
            "elsewhere",
            "authorizer.group('').resource('configmaps').namespace('default').check('label').allowed()",
        ),
        asks("cluster", "authorizer.group('').resource('configmaps').check('label').allowed()"),
        asks("name", &format!("{secrets}.name('mine').check('get').allowed()")),
        asks("othername", &format!("{secrets}.name('other').check('get').allowed()")),
        asks(
            "sub",
            "authorizer.group('{group}').resource('widgets').subresource('status').namespace('{ns}').check('own').allowed()",
        ),
        asks(
            "nosub",
            "authorizer.group('{group}').resource('widgets').namespace('{ns}').check('own').allowed()",
        ),
        asks("request", "authorizer.requestResource.check('label').allowed()"),
        asks("requestno", "authorizer.requestResource.check('bind').allowed()"),
        asks("path", "authorizer.path('/healthz').check('get').allowed()"),
        asks("pathno", "authorizer.path('/metrics').check('get').allowed()"),
        asks(
            "account",
            "authorizer.serviceAccount('{ns}', 'bot').group('').resource('configmaps').namespace('{ns}').check('get').allowed()",
        ),
        asks(
            "accountno",
            "authorizer.serviceAccount('{ns}', 'other').group('').resource('configmaps').namespace('{ns}').check('get').allowed()",
        ),
        asks("badaccount", "authorizer.serviceAccount('A', 'bot').path('/healthz').check('get').allowed()"),
        asks("badname", "authorizer.serviceAccount('a', 'B').path('/healthz').check('get').allowed()"),
        asks("nopath", "authorizer.path(' ').check('get').allowed()"),
        asks("noresource", "authorizer.group('').resource('').check('get').allowed()"),
        asks("errored", "authorizer.requestResource.check('bind').errored()"),
        asks("error", "authorizer.requestResource.check('bind').error() != ''"),
        asks(
            "selector",
            &format!("{secrets}.labelSelector('a=b').fieldSelector('c=d').check('get').allowed()"),
        ),
        asks("variable", "variables.may.allowed()"),
        json!({
            "expression": "object.metadata.name != 'reason' || authorizer.requestResource.check('label').reason().contains('RBAC: allowed by RoleBinding \"r/{ns}\"')"
        }),
    ];
    let policy = with(
        policy(validations),
        json!({ "spec": { "variables": [{ "name": "may", "expression": "authorizer.requestResource.check('bind')" }] } }),
    );
    let yes = ["group", "name", "sub", "request", "path", "account", "reason"];
    let no = [
        "elsewhere",
        "cluster",
        "othername",
        "nosub",
        "requestno",
        "pathno",
        "accountno",
        "badaccount",
        "badname",
        "nopath",
        "noresource",
        "errored",
        "error",
        "selector",
        "variable",
    ];
    let tried = |name: &str, code: u16| create(CONFIG_MAPS, map(name)).by_user("{ns}-alice").is(code);
    let asked = yes.iter().map(|name| tried(name, 201)).chain(no.iter().map(|name| tried(name, 422)));
    let mut steps = vec![
        create(ROLES, role(rules)),
        create(ROLE_BINDINGS, bound(alice)),
        get(of("none")).by_user("{ns}-alice").until_code(404),
    ];
    steps.extend(asked);
    // Whoever may do everything may do this.
    steps.extend(
        ["cluster", "requestno", "pathno", "variable"].map(|name| create(CONFIG_MAPS, map(name)).is(201)),
    );
    vec![policed("asks_the_authorizer", policy, steps)]
}

fn params() -> Vec<Case> {
    let of_config_maps = |more: Value| {
        with(
            policy(vec![
                json!({
                    "expression": "params == null || object.metadata.name != params.data.forbidden", "message": "failed",
                    "messageExpression": "object.metadata.name + ' is forbidden by ' + params.metadata.name + ' ' + params.kind + ' ' + params.apiVersion"
                }),
                wants("params != null || object.metadata.name != 'without'"),
            ]),
            with(
                json!({ "spec": {
                "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" },
                // What is a parameter is not looked at.
                "matchConditions": [{ "name": "no-params", "expression": "!('forbidden' in object.data)" }]
            } }),
                more,
            ),
        )
    };
    let bound = |param: Value| with(binding(json!(["Deny"])), json!({ "spec": { "paramRef": param } }));
    let forbids = |name: &str, what: &str| {
        with(
            config_map(name, json!({ "forbidden": what })),
            json!({ "metadata": { "labels": { "param": "{ns}" } } }),
        )
    };
    let probe = |code: u16| create(format!("{CONFIG_MAPS}?dryRun=All"), map("probe")).until_code(code);
    vec![
        case(
            "policy::has_a_parameter",
            [
                create(CONFIG_MAPS, forbids("p", "a")),
                create(POLICIES, of_config_maps(json!({}))),
                create(
                    BINDINGS,
                    bound(json!({ "name": "p", "namespace": "{ns}", "parameterNotFoundAction": "Deny" })),
                ),
                probe(422),
                create(CONFIG_MAPS, map("a")).is(422),
                create(CONFIG_MAPS, map("b")),
                merge(of("p"), json!({ "data": { "forbidden": "c" } })),
                create(format!("{CONFIG_MAPS}?dryRun=All"), map("c")).until_code(422),
                create(CONFIG_MAPS, map("a")),
                delete(of("p")).is(422),
            ],
        ),
        case(
            "policy::has_a_parameter_in_the_namespace_of_the_object",
            [
                create(CONFIG_MAPS, forbids("p", "a")),
                create(POLICIES, of_config_maps(json!({}))),
                create(BINDINGS, bound(json!({ "name": "p", "parameterNotFoundAction": "Allow" }))),
                probe(422),
                create(CONFIG_MAPS, map("a")).is(422),
                create(CONFIG_MAPS, map("b")),
            ],
        ),
        case(
            "policy::has_parameters_by_label",
            [
                create(CONFIG_MAPS, forbids("p", "a")),
                create(CONFIG_MAPS, forbids("q", "b")),
                create(POLICIES, of_config_maps(json!({}))),
                create(
                    BINDINGS,
                    bound(
                        json!({ "selector": { "matchLabels": { "param": "{ns}" } }, "namespace": "{ns}", "parameterNotFoundAction": "Deny" }),
                    ),
                ),
                probe(422),
                create(CONFIG_MAPS, map("a")).is(422),
                create(CONFIG_MAPS, map("b")).is(422),
                create(CONFIG_MAPS, map("c")),
            ],
        ),
        case(
            "policy::denies_without_its_parameter",
            [
                create(POLICIES, of_config_maps(json!({}))),
                create(
                    BINDINGS,
                    bound(
                        json!({ "name": "missing", "namespace": "{ns}", "parameterNotFoundAction": "Deny" }),
                    ),
                ),
                probe(422),
                create(CONFIG_MAPS, map("a")).is(422),
            ],
        ),
        case(
            "policy::denies_without_any_parameter",
            [
                create(POLICIES, of_config_maps(json!({}))),
                create(
                    BINDINGS,
                    bound(
                        json!({ "selector": {}, "namespace": "{ns}-none", "parameterNotFoundAction": "Deny" }),
                    ),
                ),
                probe(422),
            ],
        ),
        case(
            "policy::ignores_a_missing_parameter_if_it_fails_open",
            [
                create(POLICIES, of_config_maps(json!({ "spec": { "failurePolicy": "Ignore" } }))),
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
                probe(422),
                create(CONFIG_MAPS, map("a")),
            ],
        ),
        case(
            "policy::does_not_work_without_its_parameter_if_that_is_allowed",
            [
                create(POLICIES, of_config_maps(json!({}))),
                create(
                    BINDINGS,
                    bound(json!({ "name": "p", "namespace": "{ns}", "parameterNotFoundAction": "Allow" })),
                ),
                create(CONFIG_MAPS, forbids("p", "a")),
                probe(422),
                delete(of("p")),
                probe(201),
                create(CONFIG_MAPS, map("a")),
            ],
        ),
        case(
            "policy::has_no_parameter_without_a_reference",
            [
                create(POLICIES, of_config_maps(json!({}))),
                create(BINDINGS, binding(json!(["Deny"]))),
                probe(422),
                create(CONFIG_MAPS, map("a")),
                create(CONFIG_MAPS, map("without")).is(422),
            ],
        ),
        case(
            "policy::has_a_custom_parameter",
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
                create(CONFIG_MAPS, map("a")),
                delete(format!("{GADGETS}/{{ns}}")),
                create(format!("{CONFIG_MAPS}?dryRun=All"), map("b")).until_code(422),
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
                create(format!("{CONFIG_MAPS}?dryRun=All"), map("a")).until_code(422),
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
                create(format!("{CONFIG_MAPS}?dryRun=All"), map("a")).until_code(422),
            ],
        ),
    ]
}

fn matching() -> Vec<Case> {
    let constraints =
        |more: Value| with(policy(vec![says("'matched'")]), json!({ "spec": { "matchConstraints": more } }));
    let labelled =
        |name: &str, value: &str| with(map(name), json!({ "metadata": { "labels": { "l": value } } }));
    let all = |resources: Value| json!([{ "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": resources, "scope": "Namespaced" }]);
    vec![
        policed(
            "matches_operations",
            constraints(json!({ "resourceRules": [rule("", json!(["configmaps"]), json!(["UPDATE"])), with(rule("", json!(["configmaps"]), json!(["CREATE"])), json!({ "resourceNames": ["probe", "named"] }))] })),
            [
                create(CONFIG_MAPS, map("a")),
                create(CONFIG_MAPS, map("named")).is(422),
                merge(of("a"), json!({ "data": { "k": "w" } })).is(422),
                delete(of("a")),
                create(SECRETS, secret("s", json!({}))),
            ],
        ),
        policed(
            "leaves_out_what_is_excluded",
            constraints(json!({
                "resourceRules": all(json!(["*"])),
                "excludeResourceRules": [
                    with(rule("", json!(["configmaps"]), json!(["*"])), json!({ "resourceNames": ["free"] })),
                    rule("", json!(["secrets"]), json!(["*"])),
                    rule("coordination.k8s.io", json!(["*"]), json!(["CREATE"]))
                ]
            })),
            [
                create(CONFIG_MAPS, map("a")).is(422),
                create(CONFIG_MAPS, map("free")),
                create(SECRETS, secret("s", json!({}))),
                create(ACCOUNTS, json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "a" } })).is(422),
                create(LEASES, json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "l" } })),
                merge(format!("{LEASES}/l"), json!({ "spec": { "holderIdentity": "me" } })).is(422),
                create(WIDGETS, widget("w", json!({}))).is(422),
            ],
        ),
        case(
            "policy::matches_labels_of_new_and_old",
            [
                create(
                    POLICIES,
                    constraints(json!({ "objectSelector": { "matchExpressions": [{ "key": "l", "operator": "In", "values": ["yes"] }] } })),
                ),
                create(CONFIG_MAPS, labelled("c", "yes")),
                create(BINDINGS, binding(json!(["Deny"]))),
                create(format!("{CONFIG_MAPS}?dryRun=All"), labelled("probe", "yes")).until_code(422),
                create(CONFIG_MAPS, labelled("a", "no")),
                create(CONFIG_MAPS, labelled("b", "yes")).is(422),
                merge(of("a"), json!({ "metadata": { "labels": { "l": "yes" } } })).is(422),
                merge(of("c"), json!({ "metadata": { "labels": { "l": "no" } } })).is(422),
                delete(of("a")),
            ],
        ),
        policed(
            "matches_scopes",
            constraints(json!({ "resourceRules": [with(rule("", json!(["configmaps", "namespaces"]), json!(["CREATE", "UPDATE"])), json!({ "scope": "Namespaced" }))] })),
            [
                create(CONFIG_MAPS, map("a")).is(422),
                merge(format!("{NAMESPACES}/{{ns}}"), json!({ "metadata": { "labels": { "l": "yes" } } })),
            ],
        ),
        case(
            "policy::matches_what_is_in_no_namespace",
            [
                create(POLICIES, with(policy(vec![says("'matched ' + string(has(request.namespace)) + ' ' + string(namespaceObject == null)")]), json!({ "spec": { "matchConstraints": {
                    "resourceRules": [{ "apiGroups": ["{group}"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["gadgets"], "resourceNames": ["{ns}"], "scope": "Cluster" }]
                } } }))),
                create(BINDINGS, binding(json!(["Deny"]))),
                create(format!("{GADGETS}?dryRun=All"), gadget("{ns}", json!({}))).until_code(422),
                create(GADGETS, gadget("{ns}-other", json!({}))),
            ],
        ),
        case(
            "policy::is_limited_by_its_binding",
            [
                create(POLICIES, policy(vec![says("'matched'")])),
                create(BINDINGS, with(binding(json!(["Deny"])), json!({ "spec": { "matchResources": {
                    "resourceRules": [rule("", json!(["configmaps", "secrets"]), json!(["CREATE"]))],
                    "excludeResourceRules": [with(rule("", json!(["configmaps"]), json!(["CREATE"])), json!({ "resourceNames": ["free"] }))],
                    "objectSelector": { "matchLabels": { "l": "yes" } }
                } } }))),
                create(format!("{CONFIG_MAPS}?dryRun=All"), labelled("probe", "yes")).until_code(422),
                create(CONFIG_MAPS, labelled("a", "no")),
                create(CONFIG_MAPS, labelled("free", "yes")),
                create(CONFIG_MAPS, labelled("b", "yes")).is(422),
                merge(of("free"), json!({ "data": { "k": "w" } })),
                create(SECRETS, with(secret("s", json!({})), json!({ "metadata": { "labels": { "l": "yes" } } }))),
            ],
        ),
        policed(
            "does_not_match_another_namespace",
            constraints(json!({ "resourceRules": [rule("", json!(["configmaps", "namespaces"]), json!(["CREATE"]))] })),
            [
                create(format!("{NAMESPACES}?dryRun=All"), json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "{ns}-2" } })),
                create("/api/v1/namespaces/default/configmaps?dryRun=All", map("{ns}")),
            ],
        ),
        policed(
            "matches_the_other_face_of_a_kind",
            with(
                policy(vec![says(
                    "[request.kind.group, request.requestKind.group, request.resource.group, request.requestResource.group, \
                     object.apiVersion, object.note, string(has(object.message))].join(' ')",
                )]),
                json!({ "spec": { "matchConstraints": { "resourceRules": [
                    rule("", json!(["configmaps"]), json!(["CREATE"])), rule("events.k8s.io", json!(["events"]), json!(["CREATE"]))
                ] } } }),
            ),
            [create(EVENTS, json!({
                "apiVersion": "v1", "kind": "Event", "metadata": { "name": "e" }, "reason": "R", "type": "Normal", "message": "m",
                "involvedObject": { "kind": "ConfigMap", "name": "a", "namespace": "{ns}" }
            })).is(422)],
        ),
        policed(
            "matches_exactly_if_it_says_so",
            constraints(json!({ "matchPolicy": "Exact", "resourceRules": [
                rule("", json!(["configmaps"]), json!(["CREATE"])), rule("events.k8s.io", json!(["events"]), json!(["CREATE"]))
            ] })),
            [create(EVENTS, json!({
                "apiVersion": "v1", "kind": "Event", "metadata": { "name": "e" }, "reason": "R", "type": "Normal", "message": "m",
                "involvedObject": { "kind": "ConfigMap", "name": "a", "namespace": "{ns}" }
            }))],
        ),
        case(
            "policy::does_not_match_policies",
            [
                create(POLICIES, with(policy(vec![says("'matched'")]), json!({ "spec": { "matchConstraints": {
                    "resourceRules": [
                        rule("", json!(["configmaps"]), json!(["CREATE"])),
                        with(rule("admissionregistration.k8s.io", json!(["*"]), json!(["*"])), json!({ "resourceNames": ["{ns}", "{ns}-2"] }))
                    ]
                } } }))),
                create(BINDINGS, binding(json!(["Deny"]))),
                probed(),
                create(POLICIES, with(policy(vec![]), json!({ "metadata": { "name": "{ns}-2" } }))),
                merge(format!("{BINDINGS}/{{ns}}"), json!({ "metadata": { "labels": { "l": "yes" } } })),
                delete(format!("{BINDINGS}/{{ns}}")),
            ],
        ),
    ]
}

fn writes() -> Vec<Case> {
    let fixed = || {
        policy(vec![
            json!({ "expression": "object == null || !has(object.data) || !('bad' in object.data)", "message": "bad" }),
        ])
    };
    let bad = || json!({ "data": { "bad": "" } });
    let kept = || {
        policy(vec![
            json!({ "expression": "object != null || !has(oldObject.metadata.labels) || oldObject.metadata.labels['keep'] != 'yes'", "message": "kept",
        "messageExpression": "'kept ' + oldObject.metadata.name + (has(request.name) ? ' by name' : ' among all')" }),
        ])
    };
    let labelled =
        |name: &str, value: &str| with(map(name), json!({ "metadata": { "labels": { "keep": value } } }));
    vec![
        policed(
            "denies_every_way_to_write",
            fixed(),
            [
                create(CONFIG_MAPS, map("a")),
                create(CONFIG_MAPS, config_map("b", json!({ "bad": "" }))).is(422),
                create(CONFIG_MAPS, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "g-" }, "data": { "bad": "" } }))
                    .is(422)
                    .ignore("/body/message")
                    .ignore("/body/details"),
                update(of("a"), config_map("a", json!({ "bad": "" }))).is(422),
                merge(of("a"), bad()).is(422),
                strategic(of("a"), bad()).is(422),
                json_patch(of("a"), json!([{ "op": "add", "path": "/data/bad", "value": "" }])).is(422),
                apply(of("a"), "me", config_map("a", json!({ "bad": "" }))).is(422),
                apply(of("new"), "me", config_map("new", json!({ "bad": "" }))).is(422),
                get(of("a")),
                get(of("new")).is(404),
            ],
        ),
        policed(
            "speaks_before_what_is_there_and_after_what_is_wrong",
            fixed(),
            [
                create(CONFIG_MAPS, map("a")),
                create(CONFIG_MAPS, config_map("a", json!({ "bad": "" }))).is(422),
                create(CONFIG_MAPS, config_map("a", json!({ "bad": "", "not ok": "" }))).is(422),
                update(of("none"), config_map("none", json!({ "bad": "" }))).is(404),
                update(of("a"), with(config_map("a", json!({ "bad": "" })), json!({ "metadata": { "resourceVersion": "1" } }))).is(409),
                create(CONFIG_MAPS, config_map("a", json!({ "bad": "" }))).by_user("{ns}-nobody").is(403),
            ],
        ),
        policed(
            "denies_a_write_that_changes_nothing",
            with(fixed(), json!({ "spec": { "matchConditions": [{ "name": "c", "expression": "request.operation != 'CREATE' || object.metadata.name == 'probe'" }] } })),
            [
                create(CONFIG_MAPS, config_map("a", json!({ "bad": "" }))),
                merge(of("a"), json!({})).is(422),
                delete(of("a")),
            ],
        ),
        policed(
            "denies_the_removal_of_the_last_finalizer",
            policy(vec![json!({ "expression": "object == null || !has(object.metadata.deletionTimestamp) || has(object.metadata.finalizers)", "message": "held" })]),
            [
                create(CONFIG_MAPS, with(map("a"), json!({ "metadata": { "finalizers": ["example.com/a"] } }))),
                delete(of("a")),
                merge(of("a"), json!({ "metadata": { "finalizers": null } })).is(422),
                delete(format!("{BINDINGS}/{{ns}}")),
                create(format!("{CONFIG_MAPS}?dryRun=All"), map("probe")).until_code(201),
                merge(of("a"), json!({ "metadata": { "finalizers": null } })),
            ],
        ),
        policed(
            "denies_deletions",
            kept(),
            [
                create(CONFIG_MAPS, labelled("a", "yes")),
                delete(of("a")).is(422),
                delete(format!("{}?dryRun=All", of("a"))).is(422),
                delete_with(of("a"), json!({ "preconditions": { "uid": "other" } })).is(409),
                delete(of("none")).is(404),
                delete(format!("{CONFIG_MAPS}?labelSelector=keep=yes")).is(422),
                get(of("a")),
                merge(of("a"), json!({ "metadata": { "labels": { "keep": "no" } } })),
                delete(of("a")),
            ],
        ),
        case(
            "policy::denies_deletions_of_custom_objects",
            [
                create(POLICIES, with(kept(), json!({ "spec": { "matchConstraints": { "resourceRules": [
                    rule("", json!(["configmaps"]), json!(["CREATE"])),
                    { "apiGroups": ["{group}"], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["widgets"] }
                ] } } }))),
                create(BINDINGS, binding(json!(["Deny"]))),
                probed(),
                create(WIDGETS, with(widget("a", json!({})), json!({ "metadata": { "labels": { "keep": "yes" } } }))),
                create(WIDGETS, widget("b", json!({}))),
                delete(format!("{WIDGETS}/a")).is(422),
                delete(format!("{WIDGETS}/b")),
                delete(format!("{WIDGETS}?labelSelector=keep")).is(422),
                get(format!("{WIDGETS}/a")),
            ],
        ),
        policed(
            "does_not_see_reviews",
            with(policy(vec![says("'matched'")]), json!({ "spec": { "matchConstraints": { "resourceRules": [
                rule("", json!(["configmaps"]), json!(["CREATE"])),
                { "apiGroups": ["authorization.k8s.io"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*"] }
            ] } } })),
            [create(
                "/apis/authorization.k8s.io/v1/namespaces/{ns}/localsubjectaccessreviews",
                json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview", "metadata": { "namespace": "{ns}" },
                    "spec": { "user": "u", "resourceAttributes": { "namespace": "{ns}", "verb": "get", "resource": "configmaps" } } }),
            )
            .ignore("/body/metadata")],
        ),
    ]
}

fn subresources() -> Vec<Case> {
    let of_widgets = |resources: Value| {
        with(
            policy(vec![json!({
                "expression": "object.kind != 'Widget' || !has(object.status) || !has(object.status.phase) || object.status.phase != 'Bad'",
                "message": "failed",
                "messageExpression": "request.subResource + ' ' + request.requestSubResource + ' ' + request.kind.kind + ' ' + string(has(oldObject.status))"
            })]),
            json!({ "spec": { "matchConstraints": { "resourceRules": [
                rule("", json!(["configmaps"]), json!(["CREATE"])),
                { "apiGroups": ["{group}"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": resources }
            ] } } }),
        )
    };
    let status = |phase: &str| json!({ "status": { "phase": phase } });
    vec![
        policed(
            "sees_the_status",
            of_widgets(json!(["widgets/status"])),
            [
                create(WIDGETS, widget("a", json!({}))),
                merge(format!("{WIDGETS}/a/status"), status("Bad")).is(422),
                merge(format!("{WIDGETS}/a/status"), status("Good")),
                apply_by_force(format!("{WIDGETS}/a/status"), "me", with(widget("a", json!({})), status("Bad"))).is(422),
                merge(format!("{WIDGETS}/a"), json!({ "spec": { "size": 3 } })),
            ],
        ),
        policed(
            "does_not_see_the_status_of_a_rule_without",
            of_widgets(json!(["widgets"])),
            [
                create(WIDGETS, widget("a", json!({}))),
                merge(format!("{WIDGETS}/a/status"), status("Bad")),
                merge(format!("{WIDGETS}/a"), json!({ "spec": { "size": 3 } })).is(422).ignore("/body"),
            ],
        ),
        policed(
            "sees_all_subresources",
            of_widgets(json!(["widgets/*"])),
            [create(WIDGETS, widget("a", json!({}))), merge(format!("{WIDGETS}/a/status"), status("Bad")).is(422)],
        ),
        policed(
            "sees_requests_for_tokens",
            with(
                policy(vec![json!({
                    "expression": "object.kind != 'TokenRequest' || object.spec.expirationSeconds <= 3600", "message": "failed",
                    "messageExpression": "request.name + ' ' + request.subResource + ' ' + request.kind.group + ' ' + request.kind.kind + ' ' + request.resource.resource + ' ' + string(object.spec.expirationSeconds)"
                })]),
                json!({ "spec": { "matchConstraints": { "resourceRules": [
                    rule("", json!(["configmaps", "serviceaccounts/token"]), json!(["CREATE"]))
                ] } } }),
            ),
            [
                create(format!("{ACCOUNTS}/default/token"), json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "expirationSeconds": 7200 } })).is(422),
                create(format!("{ACCOUNTS}/default/token"), json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "expirationSeconds": 3600 } })).ignore("/body"),
            ],
        ),
    ]
}
