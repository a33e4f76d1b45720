//! Every rule of both groups, with an object that it accepts and one that it refuses. `crates/apiserver` and the real server
//! have the last word on CEL; here a wrong rule is found in milliseconds.

use super::root_schema;
use crate::openmcp::crds;
use kube::core::cel::Validator;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A write, and what is said to it: nothing, or `field: message` for each rule that it breaks.
struct Case {
    kind: &'static str,
    old: Option<Value>,
    new: Value,
    refusals: &'static [&'static str],
}

fn create(kind: &'static str, new: Value, refusals: &'static [&'static str]) -> Case {
    Case { kind, old: None, new, refusals }
}

fn update(kind: &'static str, old: Value, new: Value, refusals: &'static [&'static str]) -> Case {
    Case { kind, old: Some(old), new, refusals }
}

fn cases() -> Vec<Case> {
    [cluster(), cluster_request(), access_request(), oidc_name(), provider_config()]
        .into_iter()
        .flatten()
        .collect()
}

fn cluster() -> Vec<Case> {
    let spec = |profile: &str, tenancy: &str| json!({ "spec": { "profile": profile, "tenancy": tenancy } });
    vec![
        create("Cluster", spec("a", "Shared"), &[]),
        update("Cluster", spec("a", "Shared"), spec("a", "Exclusive"), &[]),
        update("Cluster", spec("a", "Shared"), spec("b", "Shared"), &["spec.profile: profile is immutable"]),
    ]
}

fn cluster_request() -> Vec<Case> {
    let spec = json!({ "purpose": "mcp" });
    let with = |cluster: Option<Value>| {
        let mut status = json!({ "observedGeneration": 1, "phase": "Granted" });
        if let Some(cluster) = cluster {
            status["cluster"] = cluster;
        }
        json!({ "spec": spec, "status": status })
    };
    let one = json!({ "name": "one", "namespace": "a" });
    let other = json!({ "name": "other", "namespace": "a" });
    vec![
        update("ClusterRequest", json!({ "spec": spec }), json!({ "spec": spec }), &[]),
        update(
            "ClusterRequest",
            json!({ "spec": spec }),
            json!({ "spec": { "purpose": "workload" } }),
            &["spec: spec is immutable"],
        ),
        update(
            "ClusterRequest",
            json!({ "spec": spec }),
            json!({ "spec": { "purpose": "mcp", "waitForClusterDeletion": true } }),
            &["spec: spec is immutable"],
        ),
        update("ClusterRequest", with(None), with(Some(one.clone())), &[]),
        update("ClusterRequest", with(Some(one.clone())), with(Some(one.clone())), &[]),
        update(
            "ClusterRequest",
            with(Some(one.clone())),
            with(Some(other)),
            &["status.cluster: cluster is immutable"],
        ),
        update(
            "ClusterRequest",
            with(Some(one)),
            with(None),
            &["status: cluster may not be removed once set"],
        ),
    ]
}

fn access_request() -> Vec<Case> {
    let one = json!({ "name": "one", "namespace": "a" });
    let other = json!({ "name": "other", "namespace": "a" });
    let oidc =
        json!({ "name": "people", "issuer": "https://id.example.com", "clientID": "id", "roleBindings": [] });
    let neither = json!({ "spec": {} });
    let token = json!({ "spec": { "token": {} } });
    let by_oidc = json!({ "spec": { "oidc": oidc } });
    let both = json!({ "spec": { "token": {}, "oidc": oidc } });
    let cluster = json!({ "spec": { "token": {}, "clusterRef": one } });
    let other_cluster = json!({ "spec": { "token": {}, "clusterRef": other } });
    let request = json!({ "spec": { "token": {}, "requestRef": one } });
    let other_request = json!({ "spec": { "token": {}, "requestRef": other } });
    let both_references = json!({ "spec": { "token": {}, "requestRef": one, "clusterRef": other } });
    const EXACTLY_ONE: &[&str] = &["spec: exactly one of spec.token or spec.oidc must be set"];
    let kind = "AccessRequest";
    vec![
        create(kind, token.clone(), &[]),
        create(kind, by_oidc.clone(), &[]),
        create(kind, neither, EXACTLY_ONE),
        create(kind, both, EXACTLY_ONE),
        update(kind, token.clone(), by_oidc, &[]),
        update(kind, cluster.clone(), cluster.clone(), &[]),
        update(kind, cluster.clone(), other_cluster, &["spec.clusterRef: clusterRef is immutable"]),
        update(kind, cluster, token.clone(), &["spec: clusterRef may not be removed once set"]),
        // What the generic controller does.
        update(kind, request.clone(), both_references, &[]),
        update(kind, request.clone(), other_request, &["spec.requestRef: requestRef is immutable"]),
        update(kind, request, token, &["spec: requestRef may not be removed once set"]),
    ]
}

fn oidc_name() -> Vec<Case> {
    let named = |name: &str| {
        json!({ "spec": { "oidc": {
            "name": name, "issuer": "https://id.example.com", "clientID": "id", "roleBindings": [],
        } } })
    };
    vec![
        create("AccessRequest", named("systems"), &[]),
        create(
            "AccessRequest",
            named("system"),
            &["spec.oidc.name: 'system' is a reserved string and may not be used as OIDC provider name"],
        ),
    ]
}

fn provider_config() -> Vec<Case> {
    let of = |provider: Value, project: &str| {
        json!({ "spec": {
            "providerRef": provider, "landscapeRef": { "name": "canary" }, "project": project,
            "shootTemplate": { "spec": { "region": "eu-west-1" } },
        } })
    };
    let gardener = json!({ "name": "gardener" });
    vec![
        update("ProviderConfig", of(gardener.clone(), "one"), of(gardener.clone(), "other"), &[]),
        // The default is there before the rule is.
        update("ProviderConfig", of(json!({}), "one"), of(json!({ "name": "" }), "one"), &[]),
        update(
            "ProviderConfig",
            of(gardener, "one"),
            of(json!({ "name": "kind" }), "one"),
            &["spec.providerRef: providerRef is immutable"],
        ),
    ]
}

#[test]
fn rules_refuse_what_they_should_and_nothing_else() {
    for Case { kind, old, new, refusals } in cases() {
        let said: Vec<String> = match Validator::new().validate(root_schema(kind), &new, old.as_ref()) {
            Ok(()) => Vec::new(),
            Err(errors) => {
                errors.iter().map(|error| format!("{}: {}", error.field_path, error.message)).collect()
            }
        };
        assert_eq!(said, refusals, "{kind}: {} to {new}", old.unwrap_or_default());
    }
}

#[test]
fn every_rule_refuses_something() {
    let mut messages = BTreeSet::new();
    for crd in crds() {
        collect_messages(&serde_json::to_value(crd).unwrap(), &mut messages);
    }
    let refused: BTreeSet<String> = cases()
        .iter()
        .flat_map(|case| case.refusals)
        .filter_map(|refusal| refusal.split_once(": "))
        .map(|(_, message)| message.to_owned())
        .collect();
    assert_eq!(messages, refused);
}

fn collect_messages(value: &Value, messages: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            let rules = fields.get("x-kubernetes-validations").and_then(Value::as_array);
            messages
                .extend(rules.into_iter().flatten().map(|rule| rule["message"].as_str().unwrap().to_owned()));
            fields.values().for_each(|field| collect_messages(field, messages));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_messages(item, messages)),
        _ => {}
    }
}
