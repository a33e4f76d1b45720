//! What most cases work with.

use serde_json::{Value, json};

pub const CONFIG_MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
pub const SECRETS: &str = "/api/v1/namespaces/{ns}/secrets";
pub const ACCOUNTS: &str = "/api/v1/namespaces/{ns}/serviceaccounts";
pub const EVENTS: &str = "/api/v1/namespaces/{ns}/events";
pub const NEW_EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/{ns}/events";
pub const NAMESPACES: &str = "/api/v1/namespaces";
pub const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases";
pub const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles";
pub const ROLE_BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings";
pub const CLUSTER_ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
pub const CLUSTER_ROLE_BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
pub const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub const WIDGETS: &str = "/apis/{group}/v1/namespaces/{ns}/widgets";
pub const GADGETS: &str = "/apis/{group}/v1/gadgets";

pub fn config_map(name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data })
}

pub fn secret(name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": data })
}

pub fn widget(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "{group}/v1", "kind": "Widget", "metadata": { "name": name }, "spec": spec })
}

pub fn gadget(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "{group}/v1", "kind": "Gadget", "metadata": { "name": name }, "spec": spec })
}

/// A definition of one version in a group of the case's own.
pub fn definition(plural: &str, kind: &str, schema: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{{ns}}.example.com") },
        "spec": {
            "group": "{ns}.example.com", "scope": "Namespaced",
            "names": { "plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List") },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }]
        }
    })
}

/// The path of the objects of such a definition.
pub fn objects_of(plural: &str) -> String {
    format!("/apis/{{ns}}.example.com/v1/namespaces/{{ns}}/{plural}")
}

/// Definitions that are there for all cases.
pub fn definitions() -> Vec<Value> {
    let names = |plural: &str, kind: &str| json!({ "plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List"), "shortNames": [&plural[..3]], "categories": ["all"] });
    let definition = |plural: &str, kind: &str, scope: &str, version: Value| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.{{group}}") },
            "spec": { "group": "{group}", "scope": scope, "names": names(plural, kind), "versions": [version] }
        })
    };
    let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    vec![
        definition(
            "widgets",
            "Widget",
            "Namespaced",
            json!({
                "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": widget_schema() },
                "subresources": { "status": {} },
                "selectableFields": [{ "jsonPath": ".spec.color" }, { "jsonPath": ".spec.size" }]
            }),
        ),
        definition(
            "gadgets",
            "Gadget",
            "Cluster",
            json!({
                "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": anything }
            }),
        ),
    ]
}

fn widget_schema() -> Value {
    let text = json!({ "type": "string" });
    let ports = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": { "type": "object", "required": ["port"], "properties": {
            "port": { "type": "integer" }, "protocol": { "type": "string", "default": "TCP" }, "name": text
        } }
    });
    let range = json!({
        "type": "object", "properties": {
            "low": { "type": "integer", "minimum": 0, "maximum": 100 }, "high": { "type": "integer", "minimum": 0, "maximum": 100 },
            "unit": { "type": "string", "maxLength": 10 }
        },
        "x-kubernetes-validations": [{
            "rule": "!has(self.low) || !has(self.high) || self.low <= self.high",
            "messageExpression": "has(self.unit) ? 'low is above high in ' + self.unit : 'low is above high'",
            "message": "not a range",
            "fieldPath": ".low", "reason": "FieldValueInvalid"
        }]
    });
    let spec = json!({
        "type": "object",
        "properties": {
            "size": { "type": "integer", "default": 1, "minimum": 0, "maximum": 100 },
            "color": { "type": "string", "enum": ["red", "green", "blue"] },
            "title": { "type": "string", "maxLength": 10, "minLength": 2, "pattern": "^[a-z]+$" },
            "tags": { "type": "array", "x-kubernetes-list-type": "set", "maxItems": 4, "items": text },
            "ports": ports,
            "map": { "type": "object", "maxProperties": 3, "additionalProperties": text },
            "settings": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            "limit": { "x-kubernetes-int-or-string": true },
            "nested": { "type": "object", "properties": {
                "first": text, "second": text, "third": { "type": "string", "default": "3" }
            } },
            "atomic": { "type": "object", "x-kubernetes-map-type": "atomic", "properties": { "first": text, "second": text } },
            "when": { "type": "string", "format": "date-time" },
            "ratio": { "type": "number", "multipleOf": 0.5 },
            "flag": { "type": "boolean" },
            "perhaps": { "type": "string", "nullable": true, "default": "yes" },
            "fixed": { "type": "string", "maxLength": 20, "x-kubernetes-validations": [{ "rule": "self == oldSelf", "message": "fixed may not change" }] },
            "range": range
        },
        "x-kubernetes-validations": [{ "rule": "has(self.fixed) || !has(oldSelf.fixed)", "message": "fixed may not be removed" }]
    });
    let condition = json!({ "type": "object", "required": ["type"], "properties": { "type": text, "status": text, "reason": text } });
    json!({
        "type": "object",
        "properties": {
            "spec": spec,
            "status": { "type": "object", "properties": {
                "phase": text, "observedGeneration": { "type": "integer" },
                "conditions": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], "items": condition }
            } }
        }
    })
}
