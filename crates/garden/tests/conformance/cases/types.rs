//! Values of another type than a field has: what is refused, and what is taken as something else.

use super::shared::*;
use crate::script::*;
use serde_json::{Value, json};

/// An object of each kind that a row changes.
fn object(kind: &str) -> (String, Value) {
    let object = |path: &str, api_version: &str, rest: Value| {
        let mut object = json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "{ns}-a" } });
        for (field, value) in rest.as_object().into_iter().flatten() {
            object[field] = value.clone();
        }
        (path.to_owned(), object)
    };
    let rbac = "rbac.authorization.k8s.io/v1";
    match kind {
        "Secret" => object(SECRETS, "v1", json!({})),
        "ServiceAccount" => object(ACCOUNTS, "v1", json!({})),
        "Lease" => object(LEASES, "coordination.k8s.io/v1", json!({ "spec": {} })),
        "Role" => object(
            ROLES,
            rbac,
            json!({ "rules": [{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }] }),
        ),
        "RoleBinding" => {
            object(ROLE_BINDINGS, rbac, json!({ "roleRef": { "kind": "Role", "name": "x" }, "subjects": [] }))
        }
        "Widget" => object(WIDGETS, "{group}/v1", json!({ "spec": {} })),
        _ => object(CONFIG_MAPS, "v1", json!({})),
    }
}

/// A kind, the place of a value in it, the value, and the code.
fn rows() -> Vec<(&'static str, &'static str, Value, u16)> {
    let time = "2020-01-01T00:00:00.000000Z";
    vec![
        ("ConfigMap", "/immutable", json!("yes"), 400),
        ("ConfigMap", "/immutable", json!(null), 201),
        ("ConfigMap", "/data", json!(null), 201),
        ("ConfigMap", "/data", json!({ "k": true }), 400),
        ("ConfigMap", "/binaryData", json!({ "k": 5 }), 400),
        ("ConfigMap", "/binaryData", json!({ "k": null, "l": "aGk=\n" }), 201),
        ("ConfigMap", "/metadata/labels", json!([]), 400),
        ("ConfigMap", "/metadata/labels", json!({ "k": null }), 201),
        ("ConfigMap", "/metadata/finalizers", json!("x"), 400),
        ("ConfigMap", "/metadata/finalizers", json!([5]), 400),
        ("ConfigMap", "/metadata/uid", json!(5), 400),
        ("ConfigMap", "/metadata/generation", json!("5"), 400),
        ("ConfigMap", "/metadata/generation", json!(1.5), 400),
        ("ConfigMap", "/metadata/creationTimestamp", json!("now"), 400),
        ("ConfigMap", "/metadata/creationTimestamp", json!(5), 400),
        ("ConfigMap", "/metadata/ownerReferences", json!([{ "uid": {} }]), 400),
        ("ConfigMap", "/metadata/ownerReferences", json!([{ "controller": "true" }]), 400),
        ("ConfigMap", "/metadata/ownerReferences", json!({}), 400),
        ("ConfigMap", "/metadata/managedFields", json!([{ "operation": 5 }]), 400),
        ("Secret", "/type", json!(5), 400),
        ("Secret", "/stringData", json!({ "k": [] }), 400),
        ("Secret", "/data", json!({ "k": "YQ" }), 400),
        ("Secret", "/data", json!({ "k": "YR==" }), 201),
        ("ServiceAccount", "/secrets", json!([{ "name": 5 }]), 400),
        ("ServiceAccount", "/imagePullSecrets", json!(["x"]), 400),
        ("Lease", "/spec", json!("x"), 400),
        ("Lease", "/spec/leaseDurationSeconds", json!("5"), 400),
        ("Lease", "/spec/leaseDurationSeconds", json!(5_000_000_000_i64), 400),
        ("Lease", "/spec/leaseDurationSeconds", json!(1.5), 400),
        ("Lease", "/spec/renewTime", json!(5), 400),
        ("Lease", "/spec/renewTime", json!("2020-01-01T02:00:00.000000+02:00"), 201),
        ("Lease", "/spec/renewTime", json!("2020-13-01T00:00:00.000000Z"), 400),
        ("Lease", "/spec/renewTime", json!(time), 201),
        ("Role", "/rules", json!({}), 400),
        ("Role", "/rules/0/verbs", json!("get"), 400),
        ("Role", "/rules/0/resources", json!([null]), 201),
        ("RoleBinding", "/roleRef", json!("x"), 400),
        ("RoleBinding", "/subjects", json!([{ "kind": 5 }]), 400),
        ("Widget", "/metadata/annotations", json!({ "k": 5 }), 400),
        ("Widget", "/metadata/ownerReferences", json!([{ "uid": 5 }]), 400),
        ("Widget", "/metadata/deletionGracePeriodSeconds", json!("5"), 400),
    ]
}

/// Puts a value where a pointer leads.
fn put(object: &mut Value, pointer: &str, value: Value) {
    let (above, last) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(above).unwrap()[last] = value;
}

pub fn cases() -> Vec<Case> {
    let mut all: Vec<Case> = Vec::new();
    for kind in ["ConfigMap", "Secret", "ServiceAccount", "Lease", "Role", "RoleBinding", "Widget"] {
        let steps = rows().into_iter().filter(|row| row.0 == kind).map(|(_, pointer, value, code)| {
            let (path, mut changed) = object(kind);
            put(&mut changed, pointer, value);
            create(format!("{path}?dryRun=All"), changed).is(code)
        });
        all.push(case(format!("types::of_a_{}", kind.to_lowercase()), steps));
    }
    let at = || format!("{CONFIG_MAPS}/a");
    let patches = [
        json!({ "metadata": { "labels": ["x"] } }),
        json!({ "metadata": { "finalizers": [5] } }),
        json!({ "metadata": { "creationTimestamp": "now" } }),
        json!({ "metadata": "x" }),
        json!({ "data": ["x"] }),
        json!({ "immutable": "x" }),
        json!({ "binaryData": { "k": "x" } }),
        json!({ "binaryData": { "k": 1.5 } }),
    ];
    let first = || create(CONFIG_MAPS, config_map("a", json!({ "k": "v" })));
    let merged = patches.map(|patch| merge(at(), patch).is(422));
    all.push(case("types::after_a_merge_patch", std::iter::once(first()).chain(merged)));
    let lease = format!("{LEASES}/a");
    all.push(case(
        "types::after_a_strategic_patch",
        [
            first(),
            strategic(at(), json!({ "immutable": "x" })).is(422),
            strategic(at(), json!({ "binaryData": { "k": "x" } })).is(422),
            strategic(at(), json!({ "binaryData": { "k": 1.5 } })).is(422),
            strategic(at(), json!({ "metadata": { "labels": { "x": true } } })).is(422),
            create(LEASES, json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "a" }, "spec": {} })),
            strategic(lease.clone(), json!({ "spec": { "leaseDurationSeconds": "x" } })).is(422),
            strategic(lease.clone(), json!({ "spec": { "leaseDurationSeconds": 1.5 } })).is(422),
            strategic(lease.clone(), json!({ "spec": { "holderIdentity": 5 } })).is(422),
            strategic(lease, json!({ "spec": "x" })).is(422),
        ],
    ));
    all
}
