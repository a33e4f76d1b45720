//! The definitions as the Gardener provider has them. Their rules and examples are with those of the contract.

use crate::openmcp::tests::{local_reference, reference, ruled, schema_of, status_properties, surface};
use serde_json::{Value, json};

fn any_object() -> Value {
    json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

fn extensions() -> Value {
    json!({ "type": "array", "items": {
        "type": "object",
        "required": ["type"],
        "properties": {
            "type": { "type": "string" },
            "providerConfig": any_object(),
            "disabled": { "type": "boolean" },
        },
    } })
}

#[test]
fn landscape_is_defined_as_in_the_provider() {
    let surface_expected = json!({
        "group": "gardener.clusters.openmcp.cloud",
        "scope": "Cluster",
        "names": {
            "kind": "Landscape", "plural": "landscapes", "singular": "landscape", "shortNames": ["gpls"],
        },
        "versions": [{
            "name": "v1alpha1", "served": true, "storage": true, "subresources": { "status": {} },
            "additionalPrinterColumns": [
                { "name": "Phase", "type": "string", "jsonPath": ".status.phase" },
                { "name": "APIServer", "type": "string", "jsonPath": ".status.apiServer" },
            ],
            "selectableFields": [{ "jsonPath": ".status.phase" }],
        }],
    });
    assert_eq!(surface("Landscape"), surface_expected);
    let spec = json!({
        "type": "object",
        "required": ["access"],
        "properties": { "access": {
            "type": "object",
            "properties": { "inline": { "type": "string" }, "secretRef": reference() },
        } },
    });
    assert_eq!(schema_of("Landscape", "spec"), spec);
    let status = json!({
        "type": "object",
        "required": ["apiServer", "observedGeneration", "phase"],
        "properties": status_properties(json!({
            "apiServer": { "type": "string" },
            "projects": { "type": "array", "items": {
                "type": "object",
                "required": ["name", "namespace"],
                "properties": { "name": { "type": "string" }, "namespace": { "type": "string" } },
            } },
        })),
    });
    assert_eq!(schema_of("Landscape", "status"), status);
}

#[test]
fn provider_config_is_defined_as_in_the_provider() {
    let surface_expected = json!({
        "group": "gardener.clusters.openmcp.cloud",
        "scope": "Cluster",
        "names": {
            "kind": "ProviderConfig", "plural": "providerconfigs", "singular": "providerconfig",
            "shortNames": ["gpcfg"],
        },
        "versions": [{
            "name": "v1alpha1", "served": true, "storage": true, "subresources": { "status": {} },
            "additionalPrinterColumns": [{ "name": "Phase", "type": "string", "jsonPath": ".status.phase" }],
        }],
    });
    assert_eq!(surface("ProviderConfig"), surface_expected);
    let mut nullable_extensions = extensions();
    nullable_extensions["nullable"] = json!(true);
    let spec = json!({
        "type": "object",
        "required": ["landscapeRef", "project", "providerRef", "shootTemplate"],
        "properties": {
            "providerRef": ruled(local_reference(), "self == oldSelf", "providerRef is immutable"),
            "landscapeRef": local_reference(),
            "project": { "type": "string", "minLength": 1 },
            "shootTemplate": any_object(),
            "enforcedShootExtensions": nullable_extensions,
        },
    });
    assert_eq!(schema_of("ProviderConfig", "spec"), spec);
    let status = json!({
        "type": "object",
        "required": ["observedGeneration", "phase"],
        "properties": status_properties(json!({})),
    });
    assert_eq!(schema_of("ProviderConfig", "status"), status);
}

#[test]
fn cluster_config_is_defined_as_in_the_provider() {
    let surface_expected = json!({
        "group": "gardener.clusters.openmcp.cloud",
        "scope": "Namespaced",
        "names": {
            "kind": "ClusterConfig", "plural": "clusterconfigs", "singular": "clusterconfig",
            "shortNames": ["gccfg"],
        },
        "versions": [{ "name": "v1alpha1", "served": true, "storage": true }],
    });
    assert_eq!(surface("ClusterConfig"), surface_expected);
    let spec = json!({
        "type": "object",
        "properties": {
            "patchOptions": { "type": "object", "properties": {
                "ignoreMissingOnRemove": { "type": "boolean" },
                "createMissingOnAdd": { "type": "boolean" },
            } },
            "patches": { "type": "array", "items": {
                "type": "object",
                "required": ["op", "path"],
                "properties": {
                    "op": { "type": "string", "enum": ["test", "remove", "add", "replace", "move", "copy"] },
                    "path": { "type": "string" },
                    "value": { "x-kubernetes-preserve-unknown-fields": true },
                    "from": { "type": "string" },
                },
            } },
            "extensions": extensions(),
            "resources": { "type": "array", "items": {
                "type": "object",
                "required": ["name", "resourceRef"],
                "properties": {
                    "name": { "type": "string" },
                    "resourceRef": {
                        "type": "object",
                        "x-kubernetes-map-type": "atomic",
                        "required": ["kind", "name"],
                        "properties": {
                            "kind": { "type": "string" },
                            "name": { "type": "string" },
                            "apiVersion": { "type": "string" },
                        },
                    },
                },
            } },
        },
    });
    assert_eq!(schema_of("ClusterConfig", "spec"), spec);
    assert_eq!(schema_of("ClusterConfig", "status"), Value::Null);
}
