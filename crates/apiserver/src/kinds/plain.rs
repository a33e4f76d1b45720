//! ConfigMaps, Secrets and Leases.

use crate::apply::go;
use crate::error::{FieldError, FieldErrorKind};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

/// What a ConfigMap or Secret may hold.
const DATA_LIMIT_BYTES: usize = 1024 * 1024;

/// A Secret that holds a token of a ServiceAccount.
pub(crate) const ACCOUNT_TOKEN: &str = "kubernetes.io/service-account-token";

/// The annotation that names the ServiceAccount.
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";

const TLS: &str = "kubernetes.io/tls";

/// The longest key of a ConfigMap or Secret.
const KEY_LIMIT_BYTES: usize = 253;

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

/// What a Lease says is there even if it says nothing.
pub(super) fn default_lease(object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.entry("spec").or_insert_with(|| json!({}));
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
    let values = new["data"].as_object().into_iter().flatten().map(|(_, value)| value);
    errors.extend(too_large(values.map(|value| bytes(value).len()).sum(), "data"));
    errors.extend(validate_type(new));
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

fn bytes(value: &Value) -> Vec<u8> {
    // What is not base64 was refused when it was read.
    BASE64_STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default()
}

/// What Secrets of a type that is known must have.
fn validate_type(secret: &Value) -> Vec<FieldError> {
    let required = |field: String| FieldError::bare(field, FieldErrorKind::Required, "");
    let value = |key: &str| secret["data"].get(key);
    let missing = |keys: &[&str]| -> Vec<FieldError> {
        let missing = keys.iter().filter(|key| value(key).is_none());
        missing.map(|key| required(format!("data[{key}]"))).collect()
    };
    match secret["type"].as_str().unwrap_or_default() {
        ACCOUNT_TOKEN if account_of(secret).is_empty() => {
            vec![required(format!("metadata.annotations[{ACCOUNT_NAME}]"))]
        }
        "kubernetes.io/dockercfg" => validate_docker(secret, ".dockercfg"),
        "kubernetes.io/dockerconfigjson" => validate_docker(secret, ".dockerconfigjson"),
        "kubernetes.io/basic-auth" => match missing(&["username", "password"]) {
            // One of them is enough.
            both if both.len() == 2 => both,
            _ => Vec::new(),
        },
        "kubernetes.io/ssh-auth" if value("ssh-privatekey").is_none_or(|key| bytes(key).is_empty()) => {
            vec![required("data[ssh-privatekey]".to_owned())]
        }
        TLS => missing(&["tls.crt", "tls.key"]),
        _ => Vec::new(),
    }
}

fn validate_docker(secret: &Value, key: &str) -> Vec<FieldError> {
    let field = format!("data[{key}]");
    let Some(value) = secret["data"].get(key) else {
        return vec![FieldError::bare(field, FieldErrorKind::Required, "")];
    };
    let why = match crate::patch::read(&bytes(value)) {
        Ok(Value::Object(_) | Value::Null) => return Vec::new(),
        Ok(other) => format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            go::json_word(&other)
        ),
        Err(why) => why,
    };
    vec![FieldError::new(field, FieldErrorKind::Invalid, "<secret contents redacted>", why)]
}

/// The account that a Secret with a token is for.
pub(crate) fn account_of(secret: &Value) -> &str {
    secret["metadata"]["annotations"][ACCOUNT_NAME].as_str().unwrap_or_default()
}

/// What is odd about a Secret, and allowed.
pub(super) fn secret_warnings(secret: &Value) -> Vec<String> {
    if secret["type"] != TLS {
        return Vec::new();
    }
    let lacks_pem =
        |key: &str| !String::from_utf8_lossy(&bytes(&secret["data"][key])).contains("-----BEGIN ");
    let parts = [("tls.crt", "certificate"), ("tls.key", "key")];
    let first = parts.into_iter().find(|(key, _)| lacks_pem(key));
    first.map(|(_, part)| format!("tls: failed to find any PEM data in {part} input")).into_iter().collect()
}

pub(super) fn validate_config_map(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = validate_keys(new, "data");
    errors.extend(validate_keys(new, "binaryData"));
    let mut size = 0;
    for (_, value) in new["binaryData"].as_object().into_iter().flatten() {
        size += bytes(value).len();
    }
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
    // So a real server names the object as a whole.
    errors.extend(too_large(size, "[]"));
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
    let mut errors = Vec::new();
    for (key, _) in object[field].as_object().into_iter().flatten() {
        let mut invalid = |detail: &str| {
            let field = format!("{field}[{key}]");
            errors.push(FieldError::new(field, FieldErrorKind::Invalid, key.as_str(), detail));
        };
        if key.len() > KEY_LIMIT_BYTES {
            invalid(&format!("must be no more than {KEY_LIMIT_BYTES} characters"));
        }
        if !valid(key) {
            invalid(KEY_RULE);
        }
        // Keys become the names of files.
        match key.as_str() {
            "." => invalid("must not be '.'"),
            ".." => invalid("must not be '..'"),
            key if key.starts_with("..") => invalid("must not start with '..'"),
            _ => {}
        }
    }
    errors
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
