//! Objects as the documentation of the contract and other controllers write them: what is read is what is written.

use crate::openmcp::{
    AccessRequest, Cluster, ClusterProfile, ClusterRequest,
    gardener::{ClusterConfig, Landscape, ProviderConfig},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

fn assert_round_trip<K: Serialize + DeserializeOwned>(object: Value) {
    let read: K = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), object);
}

#[test]
fn cluster_profile_of_the_documentation() {
    assert_round_trip::<ClusterProfile>(json!({
        "apiVersion": "clusters.openmcp.cloud/v1alpha1",
        "kind": "ClusterProfile",
        "metadata": { "name": "default.gardener.mcpd-gcp-large" },
        "spec": {
            "providerConfigRef": { "name": "mcpd-gcp-large" },
            "providerRef": { "name": "gardener" },
            "supportedVersions": [
                { "version": "1.33.3" },
                { "deprecated": true, "version": "1.33.2" },
                { "version": "1.32.7" },
                { "deprecated": true, "version": "1.32.6" },
                { "deprecated": true, "version": "1.32.5" },
                { "deprecated": true, "version": "1.32.4" },
                { "deprecated": true, "version": "1.32.3" },
                { "deprecated": true, "version": "1.32.2" },
            ],
        },
    }));
}

#[test]
fn cluster_of_the_documentation() {
    assert_round_trip::<Cluster>(json!({
        "apiVersion": "clusters.openmcp.cloud/v1alpha1",
        "kind": "Cluster",
        "metadata": {
            "annotations": { "clusters.openmcp.cloud/providerinfo": "foobar" },
            "labels": {
                "clusters.openmcp.cloud/k8sversion": "1.31.11",
                "clusters.openmcp.cloud/provider": "gardener",
            },
            "name": "my-cluster",
            "namespace": "my-namespace",
        },
        "spec": {
            "kubernetes": { "version": "1.32.8" },
            "profile": "default.myprovider.myprofile",
            "purposes": ["my-purpose"],
            "tenancy": "Shared",
        },
    }));
}

/// The documentation shows both ways of access in one object, which a server refuses and the types can read.
#[test]
fn access_request_of_the_documentation() {
    let everything = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }]);
    assert_round_trip::<AccessRequest>(json!({
        "apiVersion": "clusters.openmcp.cloud/v1alpha1",
        "kind": "AccessRequest",
        "metadata": {
            "name": "my-access",
            "namespace": "my-namespace",
            "labels": {
                "clusters.openmcp.cloud/provider": "myprovider",
                "clusters.openmcp.cloud/profile": "default.myprovider.myprofile",
            },
        },
        "spec": {
            "clusterRef": { "name": "my-cluster", "namespace": "foo" },
            "requestRef": { "name": "my-request", "namespace": "bar" },
            "token": {
                "permissions": [{ "name": "foo", "namespace": "test", "rules": everything }],
                "roleRefs": [{ "kind": "ClusterRole", "name": "my-clusterrole" }],
            },
            "oidc": {
                "name": "my-oidc-provider",
                "issuer": "https://oidc.example.com",
                "clientID": "my-client-id",
                "usernameClaim": "sub",
                "usernamePrefix": "my-user:",
                "groupsClaim": "group",
                "groupsPrefix": "my-group:",
                "extraScopes": ["foo"],
                "roleBindings": [{
                    "subjects": [{ "kind": "User", "name": "foo" }, { "kind": "Group", "name": "bar" }],
                    "roleRefs": [
                        { "kind": "ClusterRole", "name": "my-cluster-role" },
                        { "kind": "Role", "name": "my-role", "namespace": "default" },
                    ],
                }],
                "roles": [{ "name": "my-admin", "rules": everything }],
            },
        },
    }));
}

#[test]
fn a_status_is_one_level_deep() {
    let condition = json!({
        "type": "Meta", "status": "True", "observedGeneration": 3, "reason": "Meta_True", "message": "",
        "lastTransitionTime": "2026-11-15T09:00:00Z",
    });
    assert_round_trip::<Cluster>(json!({
        "apiVersion": "clusters.openmcp.cloud/v1alpha1",
        "kind": "Cluster",
        "metadata": { "name": "my-cluster", "namespace": "my-namespace" },
        "spec": { "profile": "p", "tenancy": "Exclusive", "clusterConfigs": [{ "name": "extra" }] },
        "status": {
            "observedGeneration": 3,
            "phase": "Ready",
            "conditions": [condition],
            "providerStatus": { "shoot": { "metadata": { "name": "s-fphxsdub" } } },
            "endpoints": [{ "name": "external", "url": "https://api.example.com" }],
        },
    }));
    assert_round_trip::<ClusterRequest>(json!({
        "apiVersion": "clusters.openmcp.cloud/v1alpha1",
        "kind": "ClusterRequest",
        "metadata": { "name": "my-request", "namespace": "bar" },
        "spec": { "purpose": "mcp", "waitForClusterDeletion": false },
        "status": {
            "observedGeneration": 1, "phase": "Granted",
            "cluster": { "name": "my-cluster", "namespace": "foo" },
        },
    }));
    assert_round_trip::<Landscape>(json!({
        "apiVersion": "gardener.clusters.openmcp.cloud/v1alpha1",
        "kind": "Landscape",
        "metadata": { "name": "canary" },
        "spec": { "access": { "secretRef": { "name": "garden", "namespace": "openmcp-system" } } },
        "status": {
            "observedGeneration": 1, "phase": "Ready", "apiServer": "https://garden.example.com",
            "projects": [{ "name": "one", "namespace": "garden-one" }],
        },
    }));
}

#[test]
fn no_extensions_is_not_the_same_as_none_named() {
    let config = |spec: Value| -> ProviderConfig {
        let mut object = json!({
            "apiVersion": "gardener.clusters.openmcp.cloud/v1alpha1",
            "kind": "ProviderConfig",
            "metadata": { "name": "large" },
            "spec": {
                "providerRef": { "name": "gardener" }, "landscapeRef": { "name": "canary" }, "project": "one",
                "shootTemplate": { "spec": { "anything": [1, { "goes": null }] } },
            },
        });
        object["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        if !object["spec"]["enforcedShootExtensions"].is_null() {
            assert_round_trip::<ProviderConfig>(object.clone());
        }
        serde_json::from_value(object).unwrap()
    };
    let enforced = |spec| config(spec).spec.enforced_shoot_extensions.map(|extensions| extensions.len());
    assert_eq!(enforced(json!({})), None);
    assert_eq!(enforced(json!({ "enforcedShootExtensions": null })), None);
    assert_eq!(enforced(json!({ "enforcedShootExtensions": [] })), Some(0));
    assert_eq!(enforced(json!({ "enforcedShootExtensions": [{ "type": "shoot-dns-service" }] })), Some(1));
}

#[test]
fn cluster_config_carries_gardeners_own_forms() {
    assert_round_trip::<ClusterConfig>(json!({
        "apiVersion": "gardener.clusters.openmcp.cloud/v1alpha1",
        "kind": "ClusterConfig",
        "metadata": { "name": "extra", "namespace": "my-namespace" },
        "spec": {
            "patchOptions": { "createMissingOnAdd": true },
            "patches": [
                { "op": "add", "path": "/spec/tolerations/-", "value": { "key": "a" } },
                { "op": "replace", "path": "spec.region", "value": "eu-west-1" },
                { "op": "test", "path": "/spec/hibernation/enabled", "value": false },
                { "op": "move", "path": "/spec/a", "from": "/spec/b" },
            ],
            "extensions": [
                { "type": "shoot-dns-service", "providerConfig": { "kind": "DNSConfig" }, "disabled": false },
            ],
            "resources": [
                { "name": "dns", "resourceRef": { "kind": "Secret", "name": "dns", "apiVersion": "v1" } },
            ],
        },
    }));
}

#[test]
fn an_inline_kubeconfig_is_not_printed() {
    let landscape: Landscape = serde_json::from_value(json!({
        "apiVersion": "gardener.clusters.openmcp.cloud/v1alpha1",
        "kind": "Landscape",
        "metadata": { "name": "canary" },
        "spec": { "access": { "inline": "token: hunter2" } },
    }))
    .unwrap();
    let printed = format!("{landscape:?}");
    assert!(printed.contains("[redacted]") && !printed.contains("hunter2"), "{printed}");
}
