//! What the kinds that are built in are made of, in the terms of a real server: it reads bodies into Go types, and names
//! them when something does not fit.

use crate::policy;
use k8s_openapi::api::{
    admissionregistration, authentication, authorization, coordination, core, events, rbac,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;
use std::{collections::BTreeMap, sync::LazyLock};

/// The type of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// `v1.LeaseSpec`, without the version.
    Struct {
        name: String,
        fields: BTreeMap<String, Shape>,
    },
    Map(Box<Shape>),
    List(Box<Shape>),
    /// `string`, or a type that is one.
    Text(&'static str),
    /// In base64.
    Bytes,
    /// `int32` or `int64`.
    Integer(&'static str),
    Number,
    Flag,
    /// In seconds.
    Time,
    /// In microseconds.
    MicroTime,
    /// What is looked at elsewhere, or not at all.
    Anything,
}

/// The shape of a kind that is built in.
pub(super) fn of(group: &str, kind: &str) -> Option<&'static Shape> {
    static KINDS: LazyLock<Vec<(&str, &str, Shape)>> = LazyLock::new(kinds);
    KINDS.iter().find(|known| known.0 == group && known.1 == kind).map(|(_, _, shape)| shape)
}

/// The shape of `metadata`.
pub(super) fn object_meta() -> &'static Shape {
    static OBJECT_META: LazyLock<Shape> = LazyLock::new(shape_of::<ObjectMeta>);
    &OBJECT_META
}

fn kinds() -> Vec<(&'static str, &'static str, Shape)> {
    let (rbac_group, review_group) = ("rbac.authorization.k8s.io", "authorization.k8s.io");
    let login_group = "authentication.k8s.io";
    vec![
        ("", "ConfigMap", shape_of::<core::v1::ConfigMap>()),
        ("", "Secret", shape_of::<core::v1::Secret>()),
        ("", "Namespace", shape_of::<core::v1::Namespace>()),
        ("", "ServiceAccount", shape_of::<core::v1::ServiceAccount>()),
        ("", "Event", shape_of::<core::v1::Event>()),
        ("events.k8s.io", "Event", shape_of::<events::v1::Event>()),
        ("coordination.k8s.io", "Lease", shape_of::<coordination::v1::Lease>()),
        (rbac_group, "Role", shape_of::<rbac::v1::Role>()),
        (rbac_group, "RoleBinding", shape_of::<rbac::v1::RoleBinding>()),
        (rbac_group, "ClusterRole", shape_of::<rbac::v1::ClusterRole>()),
        (rbac_group, "ClusterRoleBinding", shape_of::<rbac::v1::ClusterRoleBinding>()),
        ("apiextensions.k8s.io", "CustomResourceDefinition", shape_of::<CustomResourceDefinition>()),
        (
            policy::GROUP,
            "ValidatingAdmissionPolicy",
            shape_of::<admissionregistration::v1::ValidatingAdmissionPolicy>(),
        ),
        (
            policy::GROUP,
            "ValidatingAdmissionPolicyBinding",
            shape_of::<admissionregistration::v1::ValidatingAdmissionPolicyBinding>(),
        ),
        (review_group, "SelfSubjectAccessReview", shape_of::<authorization::v1::SelfSubjectAccessReview>()),
        (review_group, "SelfSubjectRulesReview", shape_of::<authorization::v1::SelfSubjectRulesReview>()),
        (review_group, "SubjectAccessReview", shape_of::<authorization::v1::SubjectAccessReview>()),
        (review_group, "LocalSubjectAccessReview", shape_of::<authorization::v1::LocalSubjectAccessReview>()),
        (login_group, "SelfSubjectReview", shape_of::<authentication::v1::SelfSubjectReview>()),
        (login_group, "TokenReview", shape_of::<authentication::v1::TokenReview>()),
        (login_group, "TokenRequest", shape_of::<authentication::v1::TokenRequest>()),
    ]
}

fn shape_of<T: JsonSchema>() -> Shape {
    let root = SchemaGenerator::default().into_root_schema_for::<T>();
    let definitions = root.get("$defs").cloned().unwrap_or(Value::Null);
    shape(root.as_value(), &definitions, &T::schema_name())
}

fn shape(schema: &Value, definitions: &Value, name: &str) -> Shape {
    let reference = schema.get("$ref").or_else(|| schema.pointer("/allOf/0/$ref")).and_then(Value::as_str);
    if let Some(name) = reference.and_then(|reference| reference.strip_prefix("#/$defs/")) {
        return shape(definitions.get(name).unwrap_or(&Value::Null), definitions, name);
    }
    let name = name.rsplit('.').next().unwrap_or_default();
    match name {
        // It contains itself, and is looked at when a definition is registered.
        "JSONSchemaProps" | "FieldsV1" => return Shape::Anything,
        "Time" => return Shape::Time,
        "MicroTime" => return Shape::MicroTime,
        _ => {}
    }
    let below = |key: &str| schema.get(key).filter(|below| below.is_object());
    let word = match schema.get("type") {
        Some(Value::Array(types)) => types.iter().find(|word| *word != "null").and_then(Value::as_str),
        word => word.and_then(Value::as_str),
    };
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    match word.unwrap_or_default() {
        "string" if format == "byte" => Shape::Bytes,
        "string" => Shape::Text("string"),
        "integer" => Shape::Integer(if format == "int32" { "int32" } else { "int64" }),
        "number" => Shape::Number,
        "boolean" => Shape::Flag,
        "array" => Shape::List(Box::new(
            below("items").map_or(Shape::Anything, |items| shape(items, definitions, "")),
        )),
        "object" if schema.get("properties").is_some() => {
            let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
            let fields = properties.map(|(field, schema)| {
                let shape = shape(schema, definitions, "");
                (field.clone(), named_text(name, field).map_or(shape.clone(), |text| renamed(shape, text)))
            });
            Shape::Struct { name: name.to_owned(), fields: fields.collect() }
        }
        "object" => match below("additionalProperties") {
            Some(values) => Shape::Map(Box::new(shape(values, definitions, ""))),
            None => Shape::Anything,
        },
        _ => Shape::Anything,
    }
}

fn renamed(shape: Shape, text: &'static str) -> Shape {
    match shape {
        Shape::List(items) => Shape::List(Box::new(renamed(*items, text))),
        Shape::Text(_) => Shape::Text(text),
        other => other,
    }
}

/// Texts that have a type of their own.
fn named_text(of: &str, field: &str) -> Option<&'static str> {
    Some(match (of, field) {
        ("ObjectMeta" | "OwnerReference" | "ObjectReference" | "BoundObjectReference", "uid") => "types.UID",
        ("ManagedFieldsEntry", "operation") => "v1.ManagedFieldsOperationType",
        ("LabelSelectorRequirement", "operator") => "v1.LabelSelectorOperator",
        ("Secret", "type") => "v1.SecretType",
        ("NamespaceSpec", "finalizers") => "v1.FinalizerName",
        ("NamespaceStatus", "phase") => "v1.NamespacePhase",
        ("NamespaceCondition", "type") => "v1.NamespaceConditionType",
        ("NamespaceCondition", "status") => "v1.ConditionStatus",
        ("ValidatingAdmissionPolicySpec", "failurePolicy") => "v1.FailurePolicyType",
        ("MatchResources", "matchPolicy") => "v1.MatchPolicyType",
        ("NamedRuleWithOperations", "operations") => "v1.OperationType",
        ("NamedRuleWithOperations", "scope") => "v1.ScopeType",
        ("Validation", "reason") => "v1.StatusReason",
        ("ValidatingAdmissionPolicyBindingSpec", "validationActions") => "v1.ValidationAction",
        ("ParamRef", "parameterNotFoundAction") => "v1.ParameterNotFoundActionType",
        ("LeaseSpec", "strategy") => "v1.CoordinatedLeaseStrategy",
        ("CustomResourceDefinitionSpec", "scope") => "v1.ResourceScope",
        ("CustomResourceConversion", "strategy") => "v1.ConversionStrategyType",
        ("CustomResourceDefinitionCondition", "type") => "v1.CustomResourceDefinitionConditionType",
        ("CustomResourceDefinitionCondition", "status") => "v1.ConditionStatus",
        _ => return None,
    })
}

impl Shape {
    /// As Go writes the type.
    pub(super) fn go_name(&self) -> String {
        match self {
            Self::Struct { name, .. } => format!("v1.{name}"),
            Self::Map(values) => format!("map[string]{}", values.go_name()),
            Self::List(items) => format!("[]{}", items.go_name()),
            Self::Text(name) | Self::Integer(name) => (*name).to_owned(),
            Self::Bytes => "[]uint8".to_owned(),
            Self::Number => "float64".to_owned(),
            Self::Flag => "bool".to_owned(),
            Self::Time => "v1.Time".to_owned(),
            Self::MicroTime => "v1.MicroTime".to_owned(),
            Self::Anything => "interface {}".to_owned(),
        }
    }

    /// What stands for nothing in a map or a list.
    pub(super) fn zero(&self) -> Value {
        match self {
            Self::Struct { .. } => Value::Object(serde_json::Map::new()),
            Self::Text(_) | Self::Bytes => Value::from(""),
            Self::Integer(_) | Self::Number => Value::from(0),
            Self::Flag => Value::from(false),
            Self::Map(_) | Self::List(_) | Self::Time | Self::MicroTime | Self::Anything => Value::Null,
        }
    }
}
