//! From JSON to a [`Schema`].

use super::{Bounds, ListType, Pattern, Rule, Schema, Type, cel, registration, structural};
use crate::error::FieldError;
use serde_json::{Map, Number, Value};

impl Schema {
    /// Reads `openAPIV3Schema` of a CRD, or refuses it as a real server does: it must be structural, its defaults
    /// must be valid, and its rules must compile. Paths are relative to the schema.
    pub(crate) fn from_json(schema: &Value) -> Result<Self, Vec<FieldError>> {
        Self::from_json_at("", schema)
    }

    /// As [`Schema::from_json`], with paths below `prefix`, such as `spec.versions[0].schema.openAPIV3Schema`. Some
    /// refusals name a second path, so a prefix cannot be put before them afterwards.
    pub(crate) fn from_json_at(prefix: &str, schema: &Value) -> Result<Self, Vec<FieldError>> {
        let mut errors = registration::wrong_types(prefix, schema);
        if !errors.is_empty() {
            return Err(errors);
        }
        let parsed = parse(schema);
        errors.extend(registration::root(prefix, schema));
        let unsupported = structural::unsupported(prefix, schema);
        let mut sound = false;
        if unsupported.is_none() {
            let mut broken = structural::check(prefix, schema);
            if broken.is_empty() {
                broken = registration::defaults(prefix, &parsed);
                sound = broken.is_empty();
            }
            errors.extend(broken);
        }
        let mut keywords = Vec::new();
        registration::keywords(prefix, schema, &mut keywords);
        sound &= keywords.is_empty();
        errors.extend(keywords);
        if sound {
            errors.extend(cel::registration_errors(prefix, &parsed));
        }
        match (errors.is_empty(), unsupported) {
            (true, Some(error)) => Err(vec![error]),
            (true, None) => Ok(parsed),
            (false, _) => Err(errors),
        }
    }

    /// Reads the schema of an extension's kind, which may be less strict than that of a definition.
    pub(crate) fn of_extension(schema: &Value) -> Result<Self, Vec<FieldError>> {
        let errors = registration::wrong_types("", schema);
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut parsed = parse(schema);
        for (field, type_) in
            [("apiVersion", Type::String), ("kind", Type::String), ("metadata", Type::Object)]
        {
            let plain = Self { type_: Some(type_), ..Self::default() };
            parsed.properties.entry(field.to_owned()).or_insert(plain);
        }
        Ok(parsed)
    }

    /// Reads a schema that is known to be good.
    pub(super) fn from_trusted(schema: &Value) -> Self {
        parse(schema)
    }
}

fn parse(schema: &Value) -> Schema {
    let Value::Object(fields) = schema else { return Schema::default() };
    let is_true = |name: &str| fields.get(name) == Some(&Value::Bool(true));
    Schema {
        type_: text(fields, "type").as_deref().and_then(Type::from_name),
        properties: fields
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.clone(), parse(schema)))
            .collect(),
        additional_properties: fields
            .get("additionalProperties")
            .filter(|schema| schema.is_object())
            .map(|schema| Box::new(parse(schema))),
        additional_allowed: fields.get("additionalProperties").and_then(Value::as_bool),
        items: fields.get("items").filter(|schema| schema.is_object()).map(|schema| Box::new(parse(schema))),
        required: texts(fields, "required"),
        default: fields.get("default").filter(|default| !default.is_null()).cloned(),
        nullable: is_true("nullable"),
        preserve_unknown_fields: is_true("x-kubernetes-preserve-unknown-fields"),
        embedded_resource: is_true("x-kubernetes-embedded-resource"),
        int_or_string: is_true("x-kubernetes-int-or-string"),
        list_type: match text(fields, "x-kubernetes-list-type").as_deref() {
            Some("set") => ListType::Set,
            Some("map") => ListType::Map(texts(fields, "x-kubernetes-list-map-keys")),
            _ => ListType::Atomic,
        },
        atomic_map: text(fields, "x-kubernetes-map-type").as_deref() == Some("atomic"),
        bounds: bounds(fields),
        rules: fields
            .get("x-kubernetes-validations")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(rule)
            .collect(),
    }
}

fn bounds(fields: &Map<String, Value>) -> Bounds {
    let number = |name: &str| -> Option<Number> { fields.get(name).and_then(Value::as_number).cloned() };
    let count = |name: &str| fields.get(name).and_then(Value::as_u64);
    let is_true = |name: &str| fields.get(name) == Some(&Value::Bool(true));
    let schemas = |name: &str| -> Vec<Schema> {
        fields.get(name).and_then(Value::as_array).into_iter().flatten().map(parse).collect()
    };
    Bounds {
        enum_: fields.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
        minimum: number("minimum"),
        exclusive_minimum: is_true("exclusiveMinimum"),
        maximum: number("maximum"),
        exclusive_maximum: is_true("exclusiveMaximum"),
        multiple_of: number("multipleOf"),
        min_length: count("minLength"),
        max_length: count("maxLength"),
        // One that does not compile was refused before, or is found not to match anything.
        pattern: text(fields, "pattern").and_then(|pattern| Pattern::new(&pattern).ok()),
        format: text(fields, "format"),
        min_items: count("minItems"),
        max_items: count("maxItems"),
        unique_items: is_true("uniqueItems"),
        min_properties: count("minProperties"),
        max_properties: count("maxProperties"),
        all_of: schemas("allOf"),
        any_of: schemas("anyOf"),
        one_of: schemas("oneOf"),
        not: fields.get("not").filter(|not| not.is_object()).map(|not| Box::new(parse(not))),
    }
}

fn rule(rule: &Value) -> Rule {
    let text = |name: &str| {
        rule.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(ToOwned::to_owned)
    };
    Rule {
        rule: text("rule").unwrap_or_default(),
        message: text("message"),
        message_expression: text("messageExpression"),
        reason: text("reason"),
        field_path: text("fieldPath"),
        optional_old_self: rule.get("optionalOldSelf").and_then(Value::as_bool),
    }
}

/// A text that is not empty.
fn text(fields: &Map<String, Value>, name: &str) -> Option<String> {
    fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(ToOwned::to_owned)
}

fn texts(fields: &Map<String, Value>, name: &str) -> Vec<String> {
    let texts = fields.get(name).and_then(Value::as_array).into_iter().flatten();
    texts.filter_map(Value::as_str).map(ToOwned::to_owned).collect()
}
