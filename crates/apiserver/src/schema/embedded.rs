//! Embedded resources: an object inside an object says what it is.

use super::Schema;
use super::path::Path;
use crate::error::{FieldError, FieldErrorKind};
use serde_json::Value;

/// Refuses embedded resources that do not say what they are. The object itself is not looked at: `resource` is false
/// for it.
pub(super) fn check(schema: &Schema, path: &Path<'_>, value: &Value, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            if schema.embedded_resource {
                check_type(path, value, errors);
            }
            for (name, value) in fields {
                if let Some(property) = schema.properties.get(name) {
                    check(property, &path.field(name), value, errors);
                } else if let Some(values) = &schema.additional_properties {
                    check(values, &path.key(name), value, errors);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for (index, item) in items.iter().enumerate() {
                check(schema, &path.index(index), item, errors);
            }
        }
        _ => {}
    }
}

fn check_type(path: &Path<'_>, value: &Value, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        if value.get(name).is_none() {
            errors.push(FieldError::bare(path.field(name).to_field(), FieldErrorKind::Required, ""));
        }
    }
    for name in ["apiVersion", "kind", "metadata"] {
        let Some(value) = value.get(name) else { continue };
        let why = match (name, value) {
            ("metadata", Value::Object(_)) => None,
            ("metadata", _) => Some("json: cannot unmarshal into Go value of type v1.ObjectMeta".to_owned()),
            (_, Value::String(text)) if text.is_empty() => Some("must not be empty".to_owned()),
            ("apiVersion", Value::String(text)) => {
                (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}"))
            }
            (_, Value::String(text)) => wrong_kind(text),
            _ => Some("must be a string".to_owned()),
        };
        if let Some(why) = why {
            let path = path.field(name).to_field();
            errors.push(FieldError::new(path, FieldErrorKind::Invalid, value.clone(), why));
        }
    }
}

fn wrong_kind(kind: &str) -> Option<String> {
    let lower = kind.to_lowercase();
    let label = lower.starts_with(|c: char| c.is_ascii_lowercase())
        && lower.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && lower.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    let mut why = Vec::new();
    if lower.len() > 63 {
        why.push("must be no more than 63 characters");
    }
    if !label {
        why.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
        );
    }
    (!why.is_empty()).then(|| format!("may have mixed case, but should otherwise match: {}", why.join(",")))
}
