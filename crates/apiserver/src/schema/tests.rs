mod properties;
mod recorded;

use super::*;
use serde_json::json;

fn schema(value: &Value) -> Schema {
    Schema::from_json(value).unwrap()
}

#[test]
fn expressions_of_formats_compile() {
    assert!(formats::EXPRESSIONS.iter().all(|expression| expression.is_some()));
}

#[test]
fn formats_that_nobody_checks_are_named() {
    let value = json!({"type": "object", "properties": {
        "a": {"type": "integer", "format": "uint8"}, "b": {"type": "string", "format": "date-time"},
        "c": {"type": "array", "items": {"type": "string", "format": "colour"}},
    }});
    assert_eq!(unrecognized_formats(&value), ["colour", "uint8"]);
}

#[test]
fn patterns_are_read_as_go_reads_them() {
    for (pattern, text, matches) in [
        (r"^\d+$", "12", true),
        (r"^\d+$", "١٢", false),
        (r"^\w+$", "ä", false),
        (r"^[\w.-]+$", "a.b-c", true),
        (r"^[[a]+$", "[a", true),
        (r"^[a&&b]+$", "&", true),
        (r"^[]a]+$", "]a", true),
        (r"^[[:alpha:]-]+$", "a-b", true),
        (r"a$", "a\n", false),
        (r"\bfoo\b", "a foo b", true),
        (r"^\Qa.b\E$", "a.b", true),
        (r"^\Qa.b\E$", "axb", false),
    ] {
        assert_eq!(Pattern::new(pattern).unwrap().matches(text), matches, "{pattern} on {text:?}");
    }
}

#[test]
fn builtin_kinds_know_their_fields_and_their_merging() {
    for (group, kind, pointer) in [
        ("", "ConfigMap", "binaryData"),
        ("", "Secret", "stringData"),
        ("", "Namespace", "status"),
        ("", "ServiceAccount", "automountServiceAccountToken"),
        ("", "Event", "involvedObject"),
        ("events.k8s.io", "Event", "regarding"),
        ("coordination.k8s.io", "Lease", "spec"),
        ("rbac.authorization.k8s.io", "Role", "rules"),
        ("rbac.authorization.k8s.io", "RoleBinding", "roleRef"),
        ("rbac.authorization.k8s.io", "ClusterRole", "aggregationRule"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding", "subjects"),
        ("apiextensions.k8s.io", "CustomResourceDefinition", "spec"),
    ] {
        let schema = builtin(group, kind).unwrap();
        assert!(schema.properties.contains_key(pointer), "{kind}.{pointer}");
        assert!(schema.properties["metadata"].properties.contains_key("managedFields"), "{kind}");
    }
    let meta = object_meta();
    let uid = || ListType::Map(vec!["uid".to_owned()]);
    assert_eq!(meta.properties["ownerReferences"].list_type, uid());
    assert!(meta.properties["ownerReferences"].items.as_ref().unwrap().atomic_map);
    assert_eq!(meta.properties["finalizers"].list_type, ListType::Set);
    assert_eq!(meta.properties["managedFields"].list_type, ListType::Atomic);
    let binding = builtin("rbac.authorization.k8s.io", "RoleBinding").unwrap();
    assert_eq!(binding.properties["metadata"].properties["ownerReferences"].list_type, uid());
    assert!(binding.properties["roleRef"].atomic_map);
    assert_eq!(binding.properties["subjects"].list_type, ListType::Atomic);
    let account = builtin("", "ServiceAccount").unwrap();
    assert_eq!(account.properties["secrets"].list_type, ListType::Map(vec!["name".to_owned()]));
    let definition = builtin("apiextensions.k8s.io", "CustomResourceDefinition").unwrap();
    let conditions = &definition.properties["status"].properties["conditions"];
    assert_eq!(conditions.list_type, ListType::Map(vec!["type".to_owned()]));
    assert!(builtin("apps", "Deployment").is_none());
}

#[test]
fn builtin_kinds_are_pruned_like_others() {
    let mut value = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "dat": {}, "data": {"a": "b"}});
    assert_eq!(prune(builtin("", "ConfigMap").unwrap(), &mut value), ["dat"]);
    let mut value = json!({"spec": {"names": {"plurals": "x"}, "versions": [{"schema": {"openAPIV3Schema": {
        "type": "object", "properties": {"spec": {"type": "object"}}}}}]}});
    let definition = builtin("apiextensions.k8s.io", "CustomResourceDefinition").unwrap();
    assert_eq!(prune(definition, &mut value), ["spec.names.plurals"]);
    assert!(value.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec").is_some());
}

#[test]
fn a_value_of_the_wrong_type_in_a_schema_is_refused() {
    let wrong = json!({"type": "object", "properties": {"a": {"type": "string", "maxLength": "5"}}});
    let errors = Schema::from_json_at("spec.versions[0].schema.openAPIV3Schema", &wrong).unwrap_err();
    let path = "spec.versions[0].schema.openAPIV3Schema.properties[a].maxLength";
    assert_eq!(errors[0].to_string(), format!("{path}: Invalid value: \"5\": must be of type integer"));
}

#[test]
fn a_part_is_validated_under_its_own_name() {
    let status = schema(&json!({"type": "object", "properties": {"x": {"type": "string"}}}));
    let errors = validate_at("status", &status, &json!({"x": 5}), None);
    assert_eq!(
        errors[0].to_string(),
        r#"status.x: Invalid value: "integer": x in body must be of type string: "integer""#
    );
}
