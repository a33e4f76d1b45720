//! `shootTemplate`.

use crate::stage::Stage;
use allotment_api::kyma::Provider;
use serde_json::{Value, json};

fn with(template: Value) -> Stage {
    Stage::new(Provider::Aws).with("spec.shootTemplate", template)
}

#[test]
fn it_is_a_merge_patch() {
    let shoot = with(json!({
        "metadata": { "labels": { "team": "blue" }, "annotations": { "note": "x" } },
        "spec": {
            "purpose": null,
            "kubernetes": { "kubelet": { "maxPods": 200 } },
            "maintenance": { "confineSpecUpdateRollout": true },
            "provider": { "workers": [{ "name": "cpu-worker-0", "priority": 5, "machine": { "type": "m5.large" } }] },
            "extensions": [{ "type": "shoot-oidc-service" }],
        },
    }))
    .with("spec.extensions.certService", json!(true))
    .shoot();
    assert_eq!(shoot["metadata"]["labels"]["team"], "blue");
    assert_eq!(shoot["metadata"]["labels"]["allotment.dev/subscription-request"], "request-uid");
    let spec = &shoot["spec"];
    assert_eq!(spec.get("purpose"), None);
    assert_eq!(spec["kubernetes"]["kubelet"]["maxPods"], 200);
    assert_eq!(spec["kubernetes"]["version"], "1.36.0");
    assert_eq!(spec["maintenance"]["autoUpdate"]["kubernetesVersion"], true);
    let worker = &spec["provider"]["workers"][0];
    assert_eq!((&worker["priority"], &worker["machine"]["type"]), (&json!(5), &json!("m5.large")));
    assert_eq!(worker["machine"]["architecture"], "amd64");
    let types: Vec<&Value> =
        spec["extensions"].as_array().unwrap().iter().map(|entry| &entry["type"]).collect();
    assert_eq!(types, ["shoot-cert-service", "shoot-oidc-service"]);
}

#[test]
fn what_it_may_not_touch_is_told() {
    for (template, field) in [
        (json!({ "apiVersion": "v1" }), "apiVersion"),
        (json!({ "metadata": { "name": "other" } }), "metadata.name"),
        (json!({ "metadata": { "namespace": "other" } }), "metadata.namespace"),
        (json!({ "metadata": { "finalizers": ["x"] } }), "metadata.finalizers"),
        (json!({ "metadata": { "ownerReferences": [] } }), "metadata.ownerReferences"),
        (
            json!({ "metadata": { "labels": { "allotment.dev/subscription-request": "x" } } }),
            "metadata.labels",
        ),
        (json!({ "metadata": { "labels": null } }), "metadata.labels"),
        (json!({ "metadata": { "annotations": { "allotment.dev/other": "x" } } }), "metadata.annotations"),
        (
            json!({ "metadata": { "annotations": { "gardener.cloud/operation": "reconcile" } } }),
            "metadata.annotations",
        ),
        (json!({ "spec": { "credentialsBindingName": "other" } }), "spec.credentialsBindingName"),
        (json!({ "spec": { "credentialsBindingName": null } }), "spec.credentialsBindingName"),
        (json!({ "spec": { "secretBindingName": "other" } }), "spec.secretBindingName"),
        (json!({ "spec": { "provider": { "type": "gcp" } } }), "spec.provider.type"),
        (json!({ "spec": { "region": "other" } }), "spec.region"),
        (json!({ "spec": { "cloudProfile": { "name": "other" } } }), "spec.cloudProfile"),
        (json!({ "spec": { "cloudProfileName": "other" } }), "spec.cloudProfileName"),
        (json!({ "spec": { "seedName": "other" } }), "spec.seedName"),
        (json!({ "spec": { "kubernetes": { "version": "1.30.0" } } }), "spec.kubernetes.version"),
        (json!({ "status": {} }), "status"),
        (json!({ "spec": { "extensions": null } }), "spec.extensions"),
        (json!({ "spec": { "provider": { "workers": [{ "name": "x" }] } } }), "spec.provider.workers[x]"),
        (
            json!({ "spec": { "provider": { "workers": [{ "name": "cpu-worker-0", "zones": ["a"] }] } } }),
            "spec.provider.workers[cpu-worker-0].zones",
        ),
        (json!({ "spec": { "provider": { "workers": 1 } } }), "spec.provider.workers"),
    ] {
        let problems = with(template.clone()).problems();
        let fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_str()).collect();
        assert_eq!(fields, [format!("spec.shootTemplate.{field}")], "{template}");
    }
    // The same value again is not touched.
    with(json!({ "kind": "Shoot", "spec": { "region": "eu-central-1" } })).shoot();
}
