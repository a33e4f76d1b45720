//! What makes a schema structural: every field has a type and a place of its own, and combinations only say more
//! about values that are described elsewhere.

use super::Pattern;
use super::registration::{as_true, child, keyed, text};
use crate::error::{FieldError, FieldErrorKind};
use serde_json::{Value, json};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// What a real server cannot even read as structural.
pub(super) fn unsupported(prefix: &str, schema: &Value) -> Option<FieldError> {
    let found = first_unsupported(schema)?;
    Some(FieldError::new(prefix, FieldErrorKind::Invalid, "", found))
}

fn first_unsupported(schema: &Value) -> Option<String> {
    let filled = |name: &str| {
        schema.get(name).is_some_and(|value| match value {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
            _ => true,
        })
    };
    let names = [
        ("id", "id"),
        ("$schema", "schema"),
        ("$ref", "$ref"),
        ("patternProperties", "patternProperties"),
        ("dependencies", "dependencies"),
        ("additionalItems", "additionalItems"),
        ("definitions", "definitions"),
    ];
    if let Some((_, name)) = names.iter().find(|(name, _)| filled(name)) {
        return Some(format!("OpenAPIV3Schema '{name}' is not supported"));
    }
    if schema.get("items").is_some_and(Value::is_array) {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
    }
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let words = "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
        return Some(words.to_owned());
    }
    let single = ["items", "additionalProperties", "not"].into_iter().filter_map(|name| schema.get(name));
    let lists =
        ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|name| schema.get(name)?.as_array()).flatten();
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(|f| f.values());
    single.chain(lists).chain(fields).find_map(first_unsupported)
}

/// What keeps a schema from being structural, sorted as a real server sorts it.
pub(super) fn check(prefix: &str, schema: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(prefix, schema, Level::Root, &mut errors);
    complete(prefix, prefix, Some(schema), schema, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

fn required(path: String, why: &str) -> FieldError {
    FieldError::bare(path, FieldErrorKind::Required, why)
}

fn forbidden(path: String, why: &str) -> FieldError {
    FieldError::bare(path, FieldErrorKind::Forbidden, why)
}

fn invalid(path: String, value: impl Into<Value>, why: &str) -> FieldError {
    FieldError::new(path, FieldErrorKind::Invalid, value, why)
}

fn invariants(path: &str, schema: &Value, level: Level, errors: &mut Vec<FieldError>) {
    let type_ = text(schema, "type");
    let embedded = as_true(schema, "x-kubernetes-embedded-resource");
    let preserve = as_true(schema, "x-kubernetes-preserve-unknown-fields");
    let int_or_string = as_true(schema, "x-kubernetes-int-or-string");
    match schema.get("items") {
        None if type_ == "array" => errors.push(required(child(path, "items"), "must be specified")),
        Some(items) => invariants(&child(path, "items"), items, Level::Item, errors),
        None => {}
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        invariants(&keyed(path, "properties", name), property, Level::Field, errors);
    }
    if let Some(values) = schema.get("additionalProperties") {
        let path = child(path, "additionalProperties");
        if level == Level::Root {
            errors.push(forbidden(path.clone(), "must not be used at the root"));
        }
        if values.is_object() {
            invariants(&path, values, Level::Field, errors);
        }
        if embedded {
            errors.push(forbidden(path, "must not be used if x-kubernetes-embedded-resource is set"));
        }
    }
    let why = "must be false if x-kubernetes-int-or-string is true";
    for (name, set) in
        [("x-kubernetes-preserve-unknown-fields", preserve), ("x-kubernetes-embedded-resource", embedded)]
    {
        if int_or_string && set {
            errors.push(invalid(child(path, name), true, why));
        }
    }
    values(path, schema, is_int_or_string(schema), true, errors);
    let at_type = child(path, "type");
    if embedded && type_ != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match type_ {
            "" => required(at_type, why),
            type_ => invalid(at_type, type_, why),
        });
    } else if type_.is_empty() && !int_or_string && !preserve {
        errors.push(required(
            at_type,
            match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            },
        ));
    } else if level == Level::Root && !type_.is_empty() && type_ != "object" {
        errors.push(invalid(at_type, type_, "must be object at the root"));
    }
    let is_resource = level == Level::Root || embedded;
    metadata(path, schema, is_resource, level == Level::Root, errors);
    if embedded && !preserve && properties.is_none_or(|properties| properties.is_empty()) {
        errors.push(required(
            child(path, "properties"),
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        ));
    }
}

/// The fields that every object has are what they are.
fn metadata(path: &str, schema: &Value, is_resource: bool, is_root: bool, errors: &mut Vec<FieldError>) {
    let Some(properties) = schema.get("properties") else { return };
    for name in ["kind", "apiVersion"] {
        if let Some(type_) = properties.get(name).filter(|_| is_resource).map(|schema| text(schema, "type"))
            && type_ != "string"
        {
            errors.push(invalid(child(&keyed(path, "properties", name), "type"), type_, "must be string"));
        }
    }
    let Some(metadata) = properties.get("metadata") else { return };
    let path = keyed(path, "properties", "metadata");
    let type_ = text(metadata, "type");
    if is_resource && type_ != "object" {
        errors.push(invalid(child(&path, "type"), type_, "must be object"));
    }
    let only_names = metadata
        .get("properties")
        .and_then(Value::as_object)
        .is_none_or(|properties| properties.keys().all(|name| name == "name" || name == "generateName"));
    let only_known = metadata.as_object().is_none_or(|fields| {
        fields.keys().all(|name| matches!(name.as_str(), "type" | "properties" | "default"))
    });
    if is_root && !(only_names && only_known) {
        errors.push(forbidden(
            path,
            "must not specify anything other than name and generateName, but metadata is implicitly specified",
        ));
    }
}

/// The one combination that may name types.
fn is_int_or_string(schema: &Value) -> bool {
    schema.get("anyOf") == Some(&json!([{"type": "integer"}, {"type": "string"}]))
}

/// Combinations and patterns. `skip` is for the one that may name types, in `anyOf` or in the first of `allOf`.
fn values(path: &str, schema: &Value, skip: bool, spine: bool, errors: &mut Vec<FieldError>) {
    for name in ["anyOf", "allOf", "oneOf"] {
        let schemas = schema.get(name).and_then(Value::as_array).into_iter().flatten();
        for (index, nested) in schemas.enumerate() {
            if name == "anyOf" && skip {
                continue;
            }
            let skip = spine && name == "allOf" && index == 0 && is_int_or_string(nested);
            nested_values(&format!("{}[{index}]", child(path, name)), nested, skip, errors);
        }
    }
    if let Some(not) = schema.get("not") {
        nested_values(&child(path, "not"), not, false, errors);
    }
    let pattern = text(schema, "pattern");
    if !pattern.is_empty()
        && let Err(error) = Pattern::new(pattern)
    {
        let why = format!("must be a valid regular expression, but isn't: {error}");
        errors.push(invalid(child(path, "pattern"), pattern, &why));
    }
}

fn nested_values(path: &str, schema: &Value, skip: bool, errors: &mut Vec<FieldError>) {
    values(path, schema, skip, false, errors);
    if let Some(items) = schema.get("items") {
        nested_values(&child(path, "items"), items, false, errors);
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        nested_values(&keyed(path, "properties", name), property, false, errors);
    }
    let present = |name: &str| {
        schema.get(name).is_some_and(|value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => true,
        })
    };
    for (name, why) in [
        ("type", "must be empty to be structural"),
        ("additionalProperties", "must be undefined to be structural"),
        ("default", "must be undefined to be structural"),
        ("title", "must be empty to be structural"),
        ("description", "must be empty to be structural"),
        ("nullable", "must be false to be structural"),
        ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
        ("x-kubernetes-embedded-resource", "must be false to be structural"),
        ("x-kubernetes-int-or-string", "must be false to be structural"),
        ("x-kubernetes-list-map-keys", "must be empty to be structural"),
        ("x-kubernetes-list-type", "must be undefined to be structural"),
        ("x-kubernetes-map-type", "must be undefined to be structural"),
        ("x-kubernetes-validations", "must be empty to be structural"),
    ] {
        if present(name) {
            errors.push(forbidden(child(path, name), why));
        }
    }
    if schema.pointer("/properties/metadata").is_some() {
        let path = keyed(path, "properties", "metadata");
        errors.push(forbidden(path, "must not be specified in a nested context"));
    }
}

/// What a combination speaks about must be described outside of it.
fn complete(spine: &str, at: &str, schema: Option<&Value>, value: &Value, errors: &mut Vec<FieldError>) {
    if let Some(not) = value.get("not") {
        complete_nested(spine, &child(at, "not"), schema, not, errors);
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        let schemas = value.get(name).and_then(Value::as_array).into_iter().flatten();
        for (index, nested) in schemas.enumerate() {
            complete_nested(spine, &format!("{}[{index}]", child(at, name)), schema, nested, errors);
        }
    }
}

fn complete_nested(
    spine: &str,
    at: &str,
    schema: Option<&Value>,
    value: &Value,
    errors: &mut Vec<FieldError>,
) {
    let Some(schema) = schema else {
        return errors.push(required(spine.to_owned(), &format!("because it is defined in {at}")));
    };
    complete(spine, at, Some(schema), value, errors);
    if let Some(items) = value.get("items") {
        complete_nested(&child(spine, "items"), &child(at, "items"), schema.get("items"), items, errors);
    }
    for (name, property) in value.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let described = schema.get("properties").and_then(|properties| properties.get(name));
        let (spine, at) = (keyed(spine, "properties", name), keyed(at, "properties", name));
        complete_nested(&spine, &at, described, property, errors);
    }
}
