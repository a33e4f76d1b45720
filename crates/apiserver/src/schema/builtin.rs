//! Schemas of the kinds that are built in: their fields are those of `k8s-openapi`, how their lists and maps are
//! merged stands here.

use super::{ListType, Schema, Type};
use crate::policy;
use k8s_openapi::api::{admissionregistration, coordination, core, events, rbac};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// The schema of a kind that is built in, for pruning and merging; what its values must be is not in it.
pub(crate) fn builtin(group: &str, kind: &str) -> Option<&'static Schema> {
    static KINDS: LazyLock<Vec<(&str, &str, Schema)>> = LazyLock::new(kinds);
    KINDS.iter().find(|known| known.0 == group && known.1 == kind).map(|(_, _, schema)| schema)
}

/// The schema of `metadata`.
pub(crate) fn object_meta() -> &'static Schema {
    static OBJECT_META: LazyLock<Schema> = LazyLock::new(schema_of::<ObjectMeta>);
    &OBJECT_META
}

fn kinds() -> Vec<(&'static str, &'static str, Schema)> {
    let rbac_group = "rbac.authorization.k8s.io";
    vec![
        ("", "ConfigMap", schema_of::<core::v1::ConfigMap>()),
        ("", "Secret", schema_of::<core::v1::Secret>()),
        ("", "Namespace", schema_of::<core::v1::Namespace>()),
        ("", "ServiceAccount", schema_of::<core::v1::ServiceAccount>()),
        ("", "Event", schema_of::<core::v1::Event>()),
        ("events.k8s.io", "Event", schema_of::<events::v1::Event>()),
        ("coordination.k8s.io", "Lease", schema_of::<coordination::v1::Lease>()),
        (rbac_group, "Role", schema_of::<rbac::v1::Role>()),
        (rbac_group, "RoleBinding", schema_of::<rbac::v1::RoleBinding>()),
        (rbac_group, "ClusterRole", schema_of::<rbac::v1::ClusterRole>()),
        (rbac_group, "ClusterRoleBinding", schema_of::<rbac::v1::ClusterRoleBinding>()),
        ("apiextensions.k8s.io", "CustomResourceDefinition", schema_of::<CustomResourceDefinition>()),
        (
            policy::GROUP,
            "ValidatingAdmissionPolicy",
            schema_of::<admissionregistration::v1::ValidatingAdmissionPolicy>(),
        ),
        (
            policy::GROUP,
            "ValidatingAdmissionPolicyBinding",
            schema_of::<admissionregistration::v1::ValidatingAdmissionPolicyBinding>(),
        ),
    ]
}

fn schema_of<T: JsonSchema>() -> Schema {
    let root = SchemaGenerator::default().into_root_schema_for::<T>();
    let definitions = root.get("$defs").cloned().unwrap_or(Value::Null);
    let name = T::schema_name();
    let mut schema = Schema::from_trusted(&resolved(root.as_value(), &definitions, &name));
    merge_as_upstream(&mut schema);
    schema
}

/// References replaced by what they refer to, and only the shape kept.
fn resolved(schema: &Value, definitions: &Value, name: &str) -> Value {
    // It contains itself, and the schema of a schema is checked when a CRD is registered.
    if name.ends_with("JSONSchemaProps") || name.ends_with(".FieldsV1") {
        return json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    }
    if name.ends_with("IntOrString") {
        return json!({"x-kubernetes-int-or-string": true});
    }
    let reference = schema.get("$ref").or_else(|| schema.pointer("/allOf/0/$ref")).and_then(Value::as_str);
    if let Some(name) = reference.and_then(|reference| reference.strip_prefix("#/$defs/")) {
        return resolved(definitions.get(name).unwrap_or(&Value::Null), definitions, name);
    }
    let mut shape = Map::new();
    match schema.get("type") {
        Some(Value::Array(types)) => {
            shape.extend(
                types.iter().find(|type_| *type_ != "null").map(|type_| ("type".to_owned(), type_.clone())),
            );
        }
        Some(type_) => {
            shape.insert("type".to_owned(), type_.clone());
        }
        None => {
            shape.insert("x-kubernetes-preserve-unknown-fields".to_owned(), json!(true));
        }
    }
    for name in ["items", "additionalProperties"] {
        if let Some(below) = schema.get(name).filter(|below| below.is_object()) {
            shape.insert(name.to_owned(), resolved(below, definitions, ""));
        }
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let properties: Map<String, Value> = properties
            .iter()
            .map(|(name, property)| (name.clone(), resolved(property, definitions, "")))
            .collect();
        shape.insert("properties".to_owned(), properties.into());
    }
    // Types that are referred to and merged as one value are told by their names.
    let atomic = [
        "OwnerReference",
        "ObjectReference",
        "LocalObjectReference",
        "RoleRef",
        "Subject",
        "LabelSelector",
        "MatchResources",
        "NamedRuleWithOperations",
        "ParamKind",
        "ParamRef",
        "Variable",
    ];
    if atomic.iter().any(|atomic| name.rsplit('.').next() == Some(*atomic)) {
        shape.insert("x-kubernetes-map-type".to_owned(), json!("atomic"));
    }
    Value::Object(shape)
}

/// Lists that are not merged as one value. All others of these kinds are.
fn merge_as_upstream(schema: &mut Schema) {
    if schema.properties.contains_key("managedFields") {
        list(schema, "ownerReferences", ListType::Map(vec!["uid".to_owned()]));
        list(schema, "finalizers", ListType::Set);
    }
    if let Some(metadata) = schema.properties.get_mut("metadata") {
        merge_as_upstream(metadata);
    }
    if schema.properties.contains_key("imagePullSecrets") {
        list(schema, "secrets", ListType::Map(vec!["name".to_owned()]));
    }
    if let Some(spec) = schema.properties.get_mut("spec")
        && spec.properties.contains_key("matchConstraints")
    {
        list(spec, "matchConditions", ListType::Map(vec!["name".to_owned()]));
        list(spec, "variables", ListType::Map(vec!["name".to_owned()]));
    }
    if let Some(spec) = schema.properties.get_mut("spec") {
        list(spec, "validationActions", ListType::Set);
    }
    if let Some(status) = schema.properties.get_mut("status") {
        list(status, "conditions", ListType::Map(vec!["type".to_owned()]));
    }
}

fn list(schema: &mut Schema, name: &str, list_type: ListType) {
    if let Some(list) = schema.properties.get_mut(name).filter(|list| list.type_ == Some(Type::Array)) {
        list.list_type = list_type;
    }
}
