//! The definitions as the contract has them. Beside: its rules at work, and the examples of its documentation.

mod examples;
mod rules;

use super::*;
use crate::condition;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use schemars::SchemaGenerator;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::LazyLock};

/// The definitions as they are installed, without the words for people and the bounds that we add, by kind.
static DEFINITIONS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let bare = |crd: CustomResourceDefinition| {
        let kind = crd.spec.names.kind.clone();
        let mut crd = serde_json::to_value(crd).unwrap();
        drop_descriptions(&mut crd);
        (kind, crd)
    };
    as_upstream().into_iter().map(bare).collect()
});

fn drop_descriptions(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, field| name != "description" || !field.is_string());
            fields.values_mut().for_each(drop_descriptions);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_descriptions),
        _ => {}
    }
}

/// Everything but the schema: names, scope, columns, selectable fields, subresources, labels.
pub(in crate::openmcp) fn surface(kind: &str) -> Value {
    let mut crd = DEFINITIONS[kind].clone();
    crd["spec"]["versions"][0].as_object_mut().unwrap().remove("schema");
    assert_eq!(crd["metadata"]["labels"], json!({ names::label::TARGET_CLUSTER: names::purpose::PLATFORM }));
    crd["spec"].take()
}

/// The schema of `spec` or `status`.
pub(in crate::openmcp) fn schema_of(kind: &str, part: &str) -> Value {
    let schema = root_schema(kind);
    assert_eq!(schema["required"], json!(["spec"]));
    schema["properties"][part].clone()
}

fn root_schema(kind: &str) -> &'static Value {
    &DEFINITIONS[kind]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
}

/// The fields of every status, and those of one kind.
pub(in crate::openmcp) fn status_properties(own: Value) -> Value {
    // Through the type of Kubernetes, which turns every bound into a float.
    let conditions = condition::list(&mut SchemaGenerator::default()).to_value();
    let conditions: JSONSchemaProps = serde_json::from_value(conditions).unwrap();
    let mut conditions = serde_json::to_value(conditions).unwrap();
    drop_descriptions(&mut conditions);
    let mut properties = json!({
        "observedGeneration": { "type": "integer", "format": "int64" },
        "phase": { "type": "string" },
        "conditions": conditions,
    });
    properties.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
    properties
}

pub(in crate::openmcp) fn local_reference() -> Value {
    json!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": { "name": { "type": "string", "default": "", "maxLength": 253 } },
    })
}

pub(in crate::openmcp) fn reference() -> Value {
    json!({
        "type": "object",
        "required": ["name", "namespace"],
        "properties": {
            "name": { "type": "string", "maxLength": 253 },
            "namespace": { "type": "string", "maxLength": 63 },
        },
    })
}

/// A schema with a rule.
pub(in crate::openmcp) fn ruled(mut schema: Value, rule: &str, message: &str) -> Value {
    schema["x-kubernetes-validations"] = json!([{ "rule": rule, "message": message }]);
    schema
}

#[test]
fn the_contract_comes_before_the_gardener_provider() {
    let names: Vec<String> = crds().into_iter().map(|crd| crd.metadata.name.unwrap()).collect();
    let expected = [
        "clusterprofiles.clusters.openmcp.cloud",
        "clusters.clusters.openmcp.cloud",
        "clusterrequests.clusters.openmcp.cloud",
        "accessrequests.clusters.openmcp.cloud",
        "landscapes.gardener.clusters.openmcp.cloud",
        "providerconfigs.gardener.clusters.openmcp.cloud",
        "clusterconfigs.gardener.clusters.openmcp.cloud",
    ];
    assert_eq!(names, expected);
}

#[test]
fn cluster_profile_is_defined_as_in_the_contract() {
    let surface_expected = json!({
        "group": "clusters.openmcp.cloud",
        "scope": "Cluster",
        "names": {
            "kind": "ClusterProfile", "plural": "clusterprofiles", "singular": "clusterprofile",
            "shortNames": ["cprof", "profile"],
        },
        "versions": [{
            "name": "v1alpha1", "served": true, "storage": true,
            "additionalPrinterColumns": [
                { "name": "Provider", "type": "string", "jsonPath": ".spec.providerRef.name" },
                { "name": "Config", "type": "string", "jsonPath": ".spec.providerConfigRef.name" },
            ],
            "selectableFields": [
                { "jsonPath": ".spec.providerRef.name" },
                { "jsonPath": ".spec.providerConfigRef.name" },
            ],
        }],
    });
    assert_eq!(surface("ClusterProfile"), surface_expected);
    let spec = json!({
        "type": "object",
        "required": ["providerConfigRef", "providerRef", "supportedVersions"],
        "properties": {
            "providerRef": local_reference(),
            "providerConfigRef": local_reference(),
            "supportedVersions": { "type": "array", "items": {
                "type": "object",
                "required": ["version"],
                "properties": {
                    "version": { "type": "string", "minLength": 5 },
                    "deprecated": { "type": "boolean" },
                },
            } },
        },
    });
    assert_eq!(schema_of("ClusterProfile", "spec"), spec);
    assert_eq!(schema_of("ClusterProfile", "status"), Value::Null);
}

/// The path of a label or an annotation in a column.
fn column_path(of: &str, key: &str) -> String {
    format!(".metadata.{of}.{}", key.replace('.', r"\."))
}

#[test]
fn cluster_is_defined_as_in_the_contract() {
    let surface_expected = json!({
        "group": "clusters.openmcp.cloud",
        "scope": "Namespaced",
        "names": { "kind": "Cluster", "plural": "clusters", "singular": "cluster" },
        "versions": [{
            "name": "v1alpha1", "served": true, "storage": true, "subresources": { "status": {} },
            "additionalPrinterColumns": [
                { "name": "Purposes", "type": "string", "jsonPath": ".spec.purposes" },
                { "name": "Phase", "type": "string", "jsonPath": ".status.phase" },
                {
                    "name": "Version", "type": "string",
                    "jsonPath": column_path("labels", names::label::K8S_VERSION),
                },
                { "name": "Provider", "type": "string", "jsonPath": column_path("labels", names::label::PROVIDER) },
                { "name": "Profile", "type": "string", "jsonPath": ".spec.profile", "priority": 10 },
                {
                    "name": "Info", "type": "string", "priority": 10,
                    "jsonPath": column_path("annotations", names::annotation::PROVIDER_INFO),
                },
                { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
            ],
            "selectableFields": [{ "jsonPath": ".spec.profile" }],
        }],
    });
    assert_eq!(surface("Cluster"), surface_expected);
    let profile = json!({ "type": "string", "maxLength": 253 });
    let spec = json!({
        "type": "object",
        "required": ["profile", "tenancy"],
        "properties": {
            "profile": ruled(profile, "self == oldSelf", "profile is immutable"),
            "clusterConfigs": { "type": "array", "items": local_reference() },
            "kubernetes": { "type": "object", "properties": { "version": { "type": "string" } } },
            "purposes": { "type": "array", "minItems": 1, "items": { "type": "string" } },
            "tenancy": { "type": "string", "enum": ["Exclusive", "Shared"] },
        },
    });
    assert_eq!(schema_of("Cluster", "spec"), spec);
    let status = json!({
        "type": "object",
        "required": ["observedGeneration", "phase"],
        "properties": status_properties(json!({
            "apiServer": { "type": "string" },
            "providerStatus": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            "endpoints": { "type": "array", "items": {
                "type": "object",
                "required": ["name", "url"],
                "properties": { "name": { "type": "string" }, "url": { "type": "string" } },
            } },
        })),
    });
    assert_eq!(schema_of("Cluster", "status"), status);
}

#[test]
fn cluster_request_is_defined_as_in_the_contract() {
    let surface_expected = json!({
        "group": "clusters.openmcp.cloud",
        "scope": "Namespaced",
        "names": {
            "kind": "ClusterRequest", "plural": "clusterrequests", "singular": "clusterrequest",
            "shortNames": ["cr", "creq"],
        },
        "versions": [{
            "name": "v1alpha1", "served": true, "storage": true, "subresources": { "status": {} },
            "additionalPrinterColumns": [
                { "name": "Purpose", "type": "string", "jsonPath": ".spec.purpose" },
                { "name": "Phase", "type": "string", "jsonPath": ".status.phase" },
                { "name": "Cluster", "type": "string", "jsonPath": ".status.cluster.name" },
                { "name": "Cluster-NS", "type": "string", "jsonPath": ".status.cluster.namespace" },
            ],
            "selectableFields": [{ "jsonPath": ".spec.purpose" }, { "jsonPath": ".status.phase" }],
        }],
    });
    assert_eq!(surface("ClusterRequest"), surface_expected);
    let spec = json!({
        "type": "object",
        "required": ["purpose"],
        "properties": {
            "purpose": { "type": "string", "minLength": 1, "maxLength": 253 },
            "waitForClusterDeletion": { "type": "boolean" },
        },
    });
    assert_eq!(schema_of("ClusterRequest", "spec"), ruled(spec, "self == oldSelf", "spec is immutable"));
    let status = json!({
        "type": "object",
        "required": ["observedGeneration", "phase"],
        "properties": status_properties(json!({
            "cluster": ruled(reference(), "self == oldSelf", "cluster is immutable"),
        })),
    });
    let rule = "!has(oldSelf.cluster) || has(self.cluster)";
    let status = ruled(status, rule, "cluster may not be removed once set");
    assert_eq!(schema_of("ClusterRequest", "status"), status);
}

#[test]
fn access_request_is_defined_as_in_the_contract() {
    let surface_expected = json!({
        "group": "clusters.openmcp.cloud",
        "scope": "Namespaced",
        "names": {
            "kind": "AccessRequest", "plural": "accessrequests", "singular": "accessrequest",
            "shortNames": ["ar", "areq"],
        },
        "versions": [{
            "name": "v1alpha1", "served": true, "storage": true, "subresources": { "status": {} },
            "additionalPrinterColumns": [{ "name": "Phase", "type": "string", "jsonPath": ".status.phase" }],
            "selectableFields": [{ "jsonPath": ".status.phase" }],
        }],
    });
    assert_eq!(surface("AccessRequest"), surface_expected);
    let spec = json!({
        "type": "object",
        "properties": {
            "clusterRef": ruled(reference(), "self == oldSelf", "clusterRef is immutable"),
            "requestRef": ruled(reference(), "self == oldSelf", "requestRef is immutable"),
            "token": { "type": "object", "properties": {
                "permissions": { "type": "array", "items": permissions() },
                "roleRefs": { "type": "array", "items": role_ref() },
            } },
            "oidc": oidc(),
            "ttl": { "type": "string" },
        },
        "x-kubernetes-validations": [
            {
                "rule": "!has(oldSelf.clusterRef) || has(self.clusterRef)",
                "message": "clusterRef may not be removed once set",
            },
            {
                "rule": "!has(oldSelf.requestRef) || has(self.requestRef)",
                "message": "requestRef may not be removed once set",
            },
            {
                "rule": "(has(self.token) && !has(self.oidc)) || (!has(self.token) && has(self.oidc))",
                "message": "exactly one of spec.token or spec.oidc must be set",
            },
        ],
    });
    assert_eq!(schema_of("AccessRequest", "spec"), spec);
    let status = json!({
        "type": "object",
        "required": ["observedGeneration", "phase"],
        "properties": status_properties(json!({ "secretRef": local_reference() })),
    });
    assert_eq!(schema_of("AccessRequest", "status"), status);
}

fn role_ref() -> Value {
    json!({
        "type": "object",
        "required": ["kind", "name"],
        "properties": {
            "name": { "type": "string", "minLength": 1 },
            "namespace": { "type": "string" },
            "kind": { "type": "string", "enum": ["Role", "ClusterRole"] },
        },
    })
}

fn permissions() -> Value {
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    json!({
        "type": "object",
        "required": ["rules"],
        "properties": {
            "name": { "type": "string" },
            "namespace": { "type": "string" },
            "disableAutomaticNamespaceCreation": { "type": "boolean" },
            "rules": { "type": "array", "items": {
                "type": "object",
                "required": ["verbs"],
                "properties": {
                    "apiGroups": texts, "resources": texts, "resourceNames": texts, "nonResourceURLs": texts,
                    "verbs": texts,
                },
            } },
        },
    })
}

fn oidc() -> Value {
    let name = json!({
        "type": "string", "minLength": 1, "maxLength": 253,
        "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    });
    let message = "'system' is a reserved string and may not be used as OIDC provider name";
    let text = json!({ "type": "string" });
    json!({
        "type": "object",
        "required": ["clientID", "issuer", "name", "roleBindings"],
        "properties": {
            "name": ruled(name, "self != \"system\"", message),
            "issuer": { "type": "string", "minLength": 1, "pattern": r"^https?://[^\s/$.?#].[^\s]*$" },
            "clientID": { "type": "string", "minLength": 1 },
            "groupsPrefix": text,
            "groupsClaim": { "type": "string", "default": "groups" },
            "usernamePrefix": text,
            "usernameClaim": { "type": "string", "default": "sub" },
            "extraScopes": { "type": "array", "items": text },
            "roleBindings": { "type": "array", "items": {
                "type": "object",
                "required": ["roleRefs", "subjects"],
                "properties": {
                    "roleRefs": { "type": "array", "items": role_ref() },
                    "subjects": { "type": "array", "items": {
                        "type": "object",
                        "required": ["kind", "name"],
                        "properties": { "apiGroup": text, "kind": text, "name": text, "namespace": text },
                    } },
                },
            } },
            "roles": { "type": "array", "items": permissions() },
        },
    })
}
