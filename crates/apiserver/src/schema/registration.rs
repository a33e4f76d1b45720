//! What a real server refuses in a schema besides its structure: keywords, list types, defaults.

use super::cel::{CompiledRules, field_path};
use super::path::Path;
use super::{Schema, embedded, prune, validation};
use crate::error::{FieldError, FieldErrorKind};
use serde_json::Value;

/// `a.b`, or `b` at the root.
pub(super) fn child(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// `a.properties[b]`.
pub(super) fn keyed(path: &str, name: &str, key: &str) -> String {
    format!("{}[{key}]", child(path, name))
}

pub(super) fn text<'a>(schema: &'a Value, name: &str) -> &'a str {
    schema.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn as_true(schema: &Value, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}

fn forbidden(path: String, why: impl Into<String>) -> FieldError {
    FieldError::bare(path, FieldErrorKind::Forbidden, why)
}

fn required(path: String, why: &str) -> FieldError {
    FieldError::bare(path, FieldErrorKind::Required, why)
}

fn invalid(path: String, value: impl Into<Value>, why: &str) -> FieldError {
    FieldError::new(path, FieldErrorKind::Invalid, value, why)
}

/// A value that cannot be read as what it should be. The real server refuses it when it decodes the CRD.
pub(super) fn wrong_types(path: &str, schema: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    collect_wrong_types(path, schema, &mut errors);
    errors
}

fn collect_wrong_types(path: &str, schema: &Value, errors: &mut Vec<FieldError>) {
    let Value::Object(fields) = schema else {
        errors.push(FieldError::new(path, FieldErrorKind::TypeInvalid, schema.clone(), "must be an object"));
        return;
    };
    for (name, value) in fields {
        let path = child(path, name);
        let expected = match name.as_str() {
            "type"
            | "format"
            | "pattern"
            | "description"
            | "title"
            | "id"
            | "$schema"
            | "$ref"
            | "x-kubernetes-list-type"
            | "x-kubernetes-map-type" => ("string", value.is_string()),
            "minimum" | "maximum" | "multipleOf" => ("number", value.is_number()),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
                ("integer", value.is_i64() || value.is_u64())
            }
            "exclusiveMinimum"
            | "exclusiveMaximum"
            | "uniqueItems"
            | "nullable"
            | "x-kubernetes-embedded-resource"
            | "x-kubernetes-int-or-string"
            | "x-kubernetes-preserve-unknown-fields" => ("boolean", value.is_boolean()),
            "enum"
            | "required"
            | "allOf"
            | "anyOf"
            | "oneOf"
            | "x-kubernetes-list-map-keys"
            | "x-kubernetes-validations" => ("array", value.is_array()),
            "properties" | "not" => ("object", value.is_object()),
            _ => ("", true),
        };
        if !expected.1 && !value.is_null() {
            let why = format!("must be of type {}", expected.0);
            errors.push(FieldError::new(path, FieldErrorKind::TypeInvalid, value.clone(), why));
            continue;
        }
        match (name.as_str(), value) {
            ("items" | "additionalProperties" | "not", Value::Object(_)) => {
                collect_wrong_types(&path, value, errors);
            }
            ("properties", Value::Object(properties)) => properties
                .iter()
                .for_each(|(key, schema)| collect_wrong_types(&format!("{path}[{key}]"), schema, errors)),
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => schemas
                .iter()
                .enumerate()
                .for_each(|(at, schema)| collect_wrong_types(&format!("{path}[{at}]"), schema, errors)),
            _ => {}
        }
    }
}

/// What may not be said of the object itself.
pub(super) fn root(path: &str, schema: &Value) -> Vec<FieldError> {
    match as_true(schema, "nullable") {
        true => vec![forbidden(child(path, "nullable"), "nullable cannot be true at the root")],
        false => Vec::new(),
    }
}

/// Defaults must be values that the schema takes.
pub(super) fn defaults(path: &str, schema: &Schema) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check_defaults(path, schema, &mut errors);
    errors
}

fn check_defaults(path: &str, schema: &Schema, errors: &mut Vec<FieldError>) {
    if let Some(default) = &schema.default {
        errors.extend(check_default(&child(path, "default"), schema, default));
    }
    if let Some(items) = &schema.items {
        check_defaults(&child(path, "items"), items, errors);
    }
    for (name, property) in &schema.properties {
        check_defaults(&keyed(path, "properties", name), property, errors);
    }
}

fn check_default(path: &str, schema: &Schema, default: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut pruned = default.clone();
    if !prune_value(schema, &mut pruned).is_empty() {
        errors.push(invalid(path.to_owned(), default.clone(), "must not have unknown fields"));
    }
    let mut wrong = Vec::new();
    embedded::check(schema, &Path::at(path), default, &mut wrong);
    if wrong.is_empty() {
        wrong = validation::values(path, schema, default, None);
    }
    if wrong.is_empty()
        && let Ok(rules) = CompiledRules::for_part(schema)
    {
        wrong = rules.check_at(path, default, Some(default));
        if wrong.is_empty() {
            wrong = rules.check_at(path, default, None);
        }
    }
    errors.extend(wrong);
    errors
}

/// Prunes a value that is not an object of its own: its `metadata` is a field like others.
fn prune_value(schema: &Schema, value: &mut Value) -> Vec<String> {
    // A list of one is pruned as its item, and is no resource.
    let wrapper = Schema { items: Some(Box::new(schema.clone())), ..Schema::default() };
    let mut list = Value::Array(vec![value.clone()]);
    prune(&wrapper, &mut list)
}

/// What the keywords of a schema may not be; rules are looked at only as texts.
pub(super) fn keywords(path: &str, schema: &Value, errors: &mut Vec<FieldError>) {
    Walk { default_forbidden: None, in_metadata: false }.keywords(path, schema, true, errors);
}

#[derive(Clone)]
struct Walk {
    default_forbidden: Option<String>,
    in_metadata: bool,
}

impl Walk {
    fn keywords(&self, path: &str, schema: &Value, is_root: bool, errors: &mut Vec<FieldError>) {
        if !schema.is_object() {
            return;
        }
        self.standard(path, schema, errors);
        if as_true(schema, "uniqueItems") {
            let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            errors.push(forbidden(child(path, "uniqueItems"), why));
        }
        let properties = schema.get("properties").and_then(Value::as_object).filter(|p| !p.is_empty());
        if let Some(values) = schema.get("additionalProperties").filter(|values| !values.is_null()) {
            let at = child(path, "additionalProperties");
            if properties.is_some() && *values != Value::Bool(true) {
                errors
                    .push(forbidden(at.clone(), "additionalProperties and properties are mutual exclusive"));
            }
            let mut walk = self.clone();
            if self.in_metadata {
                let why = "inside additionalProperties applying to object metadata";
                walk.default_forbidden = Some(why.to_owned());
            }
            walk.keywords(&at, values, false, errors);
        }
        for (name, property) in properties.into_iter().flatten() {
            let mut walk = self.clone();
            let embedded = as_true(schema, "x-kubernetes-embedded-resource");
            if (is_root || embedded) && matches!(name.as_str(), "metadata" | "kind" | "apiVersion") {
                walk.in_metadata = true;
                if is_root {
                    walk.default_forbidden = Some(format!("in top-level {name}"));
                }
            }
            walk.keywords(&keyed(path, "properties", name), property, false, errors);
        }
        if let Some(not) = schema.get("not") {
            self.keywords(&child(path, "not"), not, false, errors);
        }
        for name in ["allOf", "oneOf", "anyOf"] {
            let schemas = schema.get(name).and_then(Value::as_array).into_iter().flatten();
            for (index, nested) in schemas.enumerate() {
                self.keywords(&format!("{}[{index}]", child(path, name)), nested, false, errors);
            }
        }
        if let Some(items) = schema.get("items") {
            self.keywords(&child(path, "items"), items, false, errors);
        }
        extensions(path, schema, errors);
        rule_texts(path, schema, errors);
    }

    fn standard(&self, path: &str, schema: &Value, errors: &mut Vec<FieldError>) {
        const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
        let type_ = text(schema, "type");
        if !type_.is_empty() && !TYPES.contains(&type_) {
            errors.push(not_supported(child(path, "type"), type_, &TYPES));
        }
        if let Some(why) = self.default_forbidden.as_ref().filter(|_| schema.get("default").is_some()) {
            errors.push(forbidden(child(path, "default"), format!("must not be set {why}")));
        }
        for name in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
            if schema.get(name).is_some_and(|value| !value.is_null()) {
                errors.push(forbidden(child(path, name), format!("{name} is not supported")));
            }
        }
        if type_ == "null" {
            let why = "type cannot be set to null, use nullable as an alternative";
            errors.push(forbidden(child(path, "type"), why));
        }
        if schema.get("items").is_some_and(Value::is_array) {
            errors.push(forbidden(child(path, "items"), "items must be a schema object and not an array"));
        }
        let embedded = "x-kubernetes-embedded-resource";
        if self.in_metadata && as_true(schema, embedded) {
            errors.push(forbidden(child(path, embedded), "must not be used inside of resource meta"));
        }
    }
}

fn not_supported(path: String, value: &str, supported: &[&str]) -> FieldError {
    let names: Vec<String> = supported.iter().map(|name| format!("{name:?}")).collect();
    let detail = format!("supported values: {}", names.join(", "));
    FieldError::new(path, FieldErrorKind::NotSupported, value, detail)
}

fn extensions(path: &str, schema: &Value, errors: &mut Vec<FieldError>) {
    let type_ = text(schema, "type");
    let given = |name: &str| schema.get(name).and_then(Value::as_str);
    let (list, map) = (given("x-kubernetes-list-type"), given("x-kubernetes-map-type"));
    let preserve = "x-kubernetes-preserve-unknown-fields";
    if schema.get(preserve) == Some(&Value::Bool(false)) {
        errors.push(invalid(child(path, preserve), false, "must be true or undefined"));
    }
    let mut of_type = |wanted: &str, keyword: &str| {
        let why = format!("must be {wanted} if {keyword} is specified");
        errors.push(match type_ {
            "" => required(child(path, "type"), &why),
            type_ => invalid(child(path, "type"), type_, &why),
        });
    };
    if map.is_some() && type_ != "object" {
        of_type("object", "x-kubernetes-map-type");
    }
    if list.is_some() && type_ != "array" {
        of_type("array", "x-kubernetes-list-type");
    }
    if let Some(map) = map.filter(|map| !matches!(*map, "atomic" | "granular")) {
        errors.push(not_supported(child(path, "x-kubernetes-map-type"), map, &["atomic", "granular"]));
    }
    if type_ == "array" && list == Some("set") {
        set_of_atoms(path, schema, errors);
    }
    if let Some(list) = list.filter(|list| !matches!(*list, "atomic" | "set" | "map")) {
        errors.push(not_supported(child(path, "x-kubernetes-list-type"), list, &["atomic", "set", "map"]));
    }
    let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
    let keys: Vec<&str> = keys.into_iter().flatten().filter_map(Value::as_str).collect();
    if !keys.is_empty() && list != Some("map") {
        let (path, why) =
            (child(path, "x-kubernetes-list-type"), "must be map if x-kubernetes-list-map-keys is non-empty");
        errors.push(match list {
            None => required(path, why),
            Some(list) => invalid(path, list, why),
        });
    }
    if list == Some("map") {
        list_map(path, schema, &keys, errors);
    }
    if matches!(list, Some("map" | "set")) {
        unique_items(path, schema, list.unwrap_or_default(), &keys, errors);
    }
}

fn set_of_atoms(path: &str, schema: &Value, errors: &mut Vec<FieldError>) {
    let Some(items) = schema.get("items") else { return };
    let (keyword, wrong) = match text(items, "type") {
        "array" => {
            ("x-kubernetes-list-type", !matches!(text(items, "x-kubernetes-list-type"), "" | "atomic"))
        }
        "object" => ("x-kubernetes-map-type", text(items, "x-kubernetes-map-type") != "atomic"),
        _ => return,
    };
    if wrong {
        let shown = items.get("x-kubernetes-list-type").cloned().unwrap_or(Value::Null);
        let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
        errors.push(invalid(child(&child(path, "items"), keyword), shown, why));
    }
}

fn list_map(path: &str, schema: &Value, keys: &[&str], errors: &mut Vec<FieldError>) {
    let at_keys = child(path, "x-kubernetes-list-map-keys");
    if keys.is_empty() {
        errors.push(required(at_keys.clone(), "must not be empty if x-kubernetes-list-type is map"));
    }
    let at_items = child(path, "items");
    let Some(items) = schema.get("items") else {
        errors.push(required(at_items, "must have a schema if x-kubernetes-list-type is map"));
        return;
    };
    let type_ = text(items, "type");
    if type_ != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(invalid(child(&at_items, "type"), type_, why));
        return;
    }
    for (at, key) in keys.iter().enumerate() {
        match items.get("properties").and_then(|properties| properties.get(key)) {
            Some(property) if matches!(text(property, "type"), "array" | "object") => {
                let path = child(&keyed(&at_items, "properties", key), "type");
                let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.push(invalid(path, type_, why));
            }
            Some(_) => {}
            None => {
                let why = "entries must all be names of item properties";
                errors.push(invalid(at_keys.clone(), keys.to_vec(), why));
            }
        }
        if keys[..at].contains(key) {
            errors.push(invalid(at_keys.clone(), keys.to_vec(), "must not contain duplicate entries"));
        }
    }
}

fn unique_items(path: &str, schema: &Value, list: &str, keys: &[&str], errors: &mut Vec<FieldError>) {
    let Some(items) = schema.get("items").filter(|items| items.is_object()) else { return };
    let at_items = child(path, "items");
    if as_true(items, "nullable") {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {list}");
        errors.push(forbidden(child(&at_items, "nullable"), why));
    }
    if list != "map" {
        return;
    }
    let required_names = items.get("required").and_then(Value::as_array);
    for key in keys {
        let Some(property) = items.get("properties").and_then(|properties| properties.get(key)) else {
            continue;
        };
        let is_required = required_names.is_some_and(|names| names.iter().any(|name| name == key));
        let at = keyed(&at_items, "properties", key);
        if !is_required && property.get("default").is_none() {
            errors.push(required(
                child(&at, "default"),
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ));
        }
        if as_true(property, "nullable") {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(forbidden(child(&at, "nullable"), why));
        }
    }
}

fn rule_texts(path: &str, schema: &Value, errors: &mut Vec<FieldError>) {
    const REASONS: [&str; 4] =
        ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
    for (index, rule) in rules.enumerate() {
        let path = format!("{}[{index}]", child(path, "x-kubernetes-validations"));
        let (text_, message) = (text(rule, "rule").trim(), text(rule, "message"));
        let has_break = |text: &str| text.contains(['\n', '\r']);
        if text_.is_empty() {
            errors.push(required(child(&path, "rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            errors.push(invalid(child(&path, "message"), message, "must be non-empty if specified"));
        } else if has_break(message.trim()) {
            errors.push(invalid(child(&path, "message"), message, "must not contain line breaks"));
        } else if has_break(text_) && message.is_empty() {
            let why = "message must be specified if rule contains line breaks";
            errors.push(required(child(&path, "message"), why));
        }
        let expression = text(rule, "messageExpression");
        if !expression.is_empty() && expression.trim().is_empty() {
            let why = "messageExpression must be non-empty if specified";
            errors.push(required(child(&path, "messageExpression"), why));
        }
        if let Some(reason) = rule.get("reason").and_then(Value::as_str).filter(|r| !REASONS.contains(r)) {
            errors.push(not_supported(child(&path, "reason"), reason, &REASONS));
        }
        let field = text(rule, "fieldPath");
        let at = child(&path, "fieldPath");
        if !field.is_empty() && field.trim().is_empty() {
            errors.push(invalid(at.clone(), field, "must be non-empty if specified"));
        }
        if has_break(field) {
            errors.push(invalid(at.clone(), field, "must not contain line breaks"));
        }
        if !field.is_empty() && field_path::resolve(field, &Schema::from_trusted(schema)).is_err() {
            errors.push(invalid(at, field, "must be a valid path"));
        }
    }
}
