//! ValidatingAdmissionPolicies: what their expressions see, and what comes of what they say.
//!
//! A policy is for the whole cluster, so each of these is about one namespace, or one name, only. A real server takes up to a
//! second until a policy works: the first request of a case asks for something that its policy denies until it is denied.

mod authorizer;
mod kinds;
mod matching;
mod params;
mod variables;
mod writes;

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
    all.extend(variables::variables());
    all.extend(variables::expressions());
    all.extend(authorizer::authorizer());
    all.extend(params::params());
    all.extend(matching::matching());
    all.extend(writes::writes());
    all.extend(writes::subresources());
    all.extend(kinds::cases());
    all
}

fn refusals() -> Vec<Case> {
    let named = |name: &str, more: Value| {
        with(json!({ "expression": format!("object == null || object.metadata.name != '{name}'") }), more)
    };
    let reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
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
