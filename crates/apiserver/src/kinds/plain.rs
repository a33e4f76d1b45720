//! ConfigMaps, Secrets and Leases.

use crate::error::{FieldError, FieldErrorKind};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

/// What a ConfigMap or Secret may hold.
const DATA_LIMIT_BYTES: usize = 1024 * 1024;

const KEY_RULE: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/// `stringData` is written, and never read: it goes into `data`.
pub(super) fn default_secret(object: &mut Value) {
    drop_empty(object, &["data", "stringData"]);
    let Some(fields) = object.as_object_mut() else { return };
    if let Some(Value::Object(texts)) = fields.remove("stringData") {
        let data = fields.entry("data").or_insert_with(|| json!({}));
        if let Some(data) = data.as_object_mut() {
            for (key, text) in texts {
                data.insert(key, json!(BASE64_STANDARD.encode(text.as_str().unwrap_or_default())));
            }
        }
    }
    if fields.get("type").and_then(Value::as_str).is_none_or(str::is_empty) {
        fields.insert("type".to_owned(), json!("Opaque"));
    }
}

/// An empty map is the same as none.
pub(super) fn drop_empty(object: &mut Value, names: &[&str]) {
    let Some(fields) = object.as_object_mut() else { return };
    for name in names {
        let empty = match fields.get(*name) {
            Some(Value::Object(map)) => map.is_empty(),
            Some(Value::Null) => true,
            _ => false,
        };
        if empty {
            fields.remove(*name);
        }
    }
}

pub(super) fn validate_secret(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = validate_keys(new, "data");
    let mut size = 0;
    for (key, value) in new["data"].as_object().into_iter().flatten() {
        match BASE64_STANDARD.decode(value.as_str().unwrap_or_default()) {
            Ok(bytes) => size += bytes.len(),
            Err(_) => errors.push(FieldError::new(
                format!("data[{key}]"),
                FieldErrorKind::Invalid,
                "<secret contents redacted>",
                "must be base64",
            )),
        }
    }
    errors.extend(too_large(size, "data"));
    if let Some(old) = old {
        if new["type"] != old["type"] {
            errors.push(FieldError::new(
                "type",
                FieldErrorKind::Invalid,
                new["type"].clone(),
                "field is immutable",
            ));
        }
        errors.extend(validate_immutable(new, old, &["data"]));
    }
    errors
}

pub(super) fn validate_config_map(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = validate_keys(new, "data");
    errors.extend(validate_keys(new, "binaryData"));
    let mut size = 0;
    for (key, value) in new["data"].as_object().into_iter().flatten() {
        size += value.as_str().unwrap_or_default().len();
        if new["binaryData"].get(key).is_some() {
            errors.push(FieldError::new(
                format!("data[{key}]"),
                FieldErrorKind::Invalid,
                key.as_str(),
                "duplicate of key present in binaryData",
            ));
        }
    }
    errors.extend(too_large(size, ""));
    if let Some(old) = old {
        errors.extend(validate_immutable(new, old, &["data", "binaryData"]));
    }
    errors
}

fn validate_keys(object: &Value, field: &str) -> Vec<FieldError> {
    let valid = |key: &str| {
        !key.is_empty()
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    let keys = object[field].as_object().into_iter().flatten().map(|(key, _)| key);
    keys.filter(|key| !valid(key))
        .map(|key| {
            FieldError::new(format!("{field}[{key}]"), FieldErrorKind::Invalid, key.as_str(), KEY_RULE)
        })
        .collect()
}

fn too_large(size: usize, field: &str) -> Option<FieldError> {
    let detail = format!("may not be more than {DATA_LIMIT_BYTES} bytes");
    (size > DATA_LIMIT_BYTES).then(|| FieldError::bare(field, FieldErrorKind::TooLong, detail))
}

fn validate_immutable(new: &Value, old: &Value, fields: &[&str]) -> Vec<FieldError> {
    if old["immutable"] != json!(true) {
        return Vec::new();
    }
    let detail = "field is immutable when `immutable` is set";
    let forbidden = |field: &str| FieldError::bare(field, FieldErrorKind::Forbidden, detail);
    let mut errors = Vec::new();
    if new["immutable"] != json!(true) {
        errors.push(forbidden("immutable"));
    }
    errors.extend(fields.iter().filter(|field| new[**field] != old[**field]).map(|field| forbidden(field)));
    errors
}

pub(super) fn validate_lease(new: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &new["spec"];
    if let Some(seconds) = spec["leaseDurationSeconds"].as_i64().filter(|seconds| *seconds <= 0) {
        errors.push(FieldError::new(
            "spec.leaseDurationSeconds",
            FieldErrorKind::Invalid,
            seconds,
            "must be greater than 0",
        ));
    }
    if let Some(times) = spec["leaseTransitions"].as_i64().filter(|times| *times < 0) {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::new("spec.leaseTransitions", FieldErrorKind::Invalid, times, detail));
    }
    errors
}
