//! The types that Kubernetes itself has, as OpenAPI describes them.

use k8s_openapi::api::{
    admissionregistration, authentication, authorization, coordination, core, events, rbac,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::LazyLock};

/// Schemas by the names that Kubernetes gives them.
pub(super) type Schemas = BTreeMap<String, Value>;

/// Where references lead.
pub(super) const PLACE: &str = "#/components/schemas/";

/// What every object has.
pub(super) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// What an admission policy says.
const POLICY_SPEC: &str = "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicySpec";

/// What a binding of one says.
const BINDING_SPEC: &str = "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec";

/// The types of the kinds that every cluster has, and what they are made of.
pub(super) fn types() -> &'static Schemas {
    static TYPES: LazyLock<Schemas> = LazyLock::new(collect);
    &TYPES
}

/// What the type of a kind that every cluster has is called.
pub(super) fn name(group: &str, version: &str, kind: &str) -> Option<String> {
    let name = match group {
        "apiextensions.k8s.io" => {
            format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}.{kind}")
        }
        "" => format!("io.k8s.api.core.{version}.{kind}"),
        group => format!("io.k8s.api.{}.{version}.{kind}", group.split('.').next().unwrap_or_default()),
    };
    types().contains_key(&name).then_some(name)
}

fn collect() -> Schemas {
    let mut generator = SchemaGenerator::new(SchemaSettings::openapi3());
    generator.subschema_for::<core::v1::ConfigMap>();
    generator.subschema_for::<core::v1::Secret>();
    generator.subschema_for::<core::v1::Namespace>();
    generator.subschema_for::<core::v1::ServiceAccount>();
    generator.subschema_for::<core::v1::Event>();
    generator.subschema_for::<events::v1::Event>();
    generator.subschema_for::<coordination::v1::Lease>();
    generator.subschema_for::<rbac::v1::Role>();
    generator.subschema_for::<rbac::v1::RoleBinding>();
    generator.subschema_for::<rbac::v1::ClusterRole>();
    generator.subschema_for::<rbac::v1::ClusterRoleBinding>();
    generator.subschema_for::<CustomResourceDefinition>();
    generator.subschema_for::<admissionregistration::v1::ValidatingAdmissionPolicy>();
    generator.subschema_for::<admissionregistration::v1::ValidatingAdmissionPolicyBinding>();
    generator.subschema_for::<authorization::v1::SelfSubjectAccessReview>();
    generator.subschema_for::<authorization::v1::SelfSubjectRulesReview>();
    generator.subschema_for::<authorization::v1::SubjectAccessReview>();
    generator.subschema_for::<authorization::v1::LocalSubjectAccessReview>();
    generator.subschema_for::<authentication::v1::SelfSubjectReview>();
    generator.subschema_for::<authentication::v1::TokenReview>();
    generator.subschema_for::<authentication::v1::TokenRequest>();
    let mut types: Schemas = generator.take_definitions(true).into_iter().collect();
    say_what_is_required(&mut types);
    say_what_there_is(&mut types);
    merge_as_upstream(&mut types);
    types
}

/// Our source has a type for what is always there, which is not to say that a client must write it.
fn say_what_is_required(types: &mut Schemas) {
    for (name, schema) in types {
        let Some(fields) = schema.as_object_mut() else { continue };
        let left_out = match name.as_str() {
            "io.k8s.api.core.v1.Event" => continue,
            "io.k8s.api.core.v1.LocalObjectReference" => "name",
            _ => "metadata",
        };
        if name == "io.k8s.api.events.v1.Event" {
            fields.insert("required".to_owned(), json!(["eventTime"]));
        }
        if let Some(required) = fields.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|field| field != left_out);
            if required.is_empty() {
                fields.remove("required");
            }
        }
    }
}

/// Words that our source leaves open.
fn say_what_there_is(types: &mut Schemas) {
    let rule = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ValidationRule";
    let reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    for (name, field, words) in [
        ("io.k8s.api.core.v1.NamespaceStatus", "phase", &["Active", "Terminating"][..]),
        (rule, "reason", &reasons[..]),
    ] {
        if let Some(schema) = types.get_mut(name).and_then(|schema| schema["properties"].get_mut(field)) {
            schema["enum"] = json!(words);
        }
    }
}

/// How clients merge lists into one another; all others they replace.
fn merge_as_upstream(types: &mut Schemas) {
    for (name, field, key) in [
        (OBJECT_META, "finalizers", None),
        (OBJECT_META, "ownerReferences", Some("uid")),
        ("io.k8s.api.core.v1.ServiceAccount", "secrets", Some("name")),
        ("io.k8s.api.core.v1.ServiceAccount", "imagePullSecrets", None),
        ("io.k8s.api.core.v1.NamespaceStatus", "conditions", Some("type")),
        (POLICY_SPEC, "matchConditions", Some("name")),
        (POLICY_SPEC, "variables", Some("name")),
        (BINDING_SPEC, "validationActions", None),
    ] {
        let Some(list) = types.get_mut(name).and_then(|schema| schema["properties"].get_mut(field)) else {
            continue;
        };
        let is_merged = field != "imagePullSecrets";
        list["x-kubernetes-list-type"] = match (is_merged, key) {
            (false, _) => json!("atomic"),
            (true, None) => json!("set"),
            (true, Some(_)) => json!("map"),
        };
        if is_merged {
            list["x-kubernetes-patch-strategy"] = json!("merge");
        }
        if let Some(key) = key {
            list["x-kubernetes-list-map-keys"] = json!([key]);
            list["x-kubernetes-patch-merge-key"] = json!(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_stand_alone_and_lead_somewhere() {
        fn look(value: &Value) {
            match value {
                Value::Object(fields) => {
                    if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                        assert!(types().contains_key(reference.strip_prefix(PLACE).unwrap()), "{reference}");
                        assert_eq!(fields.len(), 1, "{value}");
                    }
                    fields.values().for_each(look);
                }
                Value::Array(list) => list.iter().for_each(look),
                _ => {}
            }
        }
        types().values().for_each(look);
        assert_eq!(types()[OBJECT_META]["properties"]["finalizers"]["x-kubernetes-patch-strategy"], "merge");
    }
}
