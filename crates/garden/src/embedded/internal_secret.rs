//! InternalSecrets, which keep the rules of Secrets.

use super::{
    json::{at, is_true, text},
    kinds::CORE,
    refusals::{forbidden, immutable, invalid, required},
};
use allotment_apiserver::{error::ApiError, extension::Write};
use serde_json::Value;

const KEY_RULE: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/// Decides about a write.
pub(super) fn admit(write: &mut Write<'_>) -> Result<(), ApiError> {
    if write.verb == "delete" {
        return Ok(());
    }
    let mut errors = Vec::new();
    if let Some(old) = write.old {
        if text(write.new, "/type").is_empty()
            && let Some(type_) = at(old, "/type")
        {
            write.new["type"] = type_.clone();
        }
        errors.extend(immutable("type", at(write.new, "/type"), at(old, "/type")));
        let words = "field is immutable when `immutable` is set";
        if is_true(old, "/immutable") && !is_true(write.new, "/immutable") {
            errors.push(forbidden("immutable", words));
        }
        if is_true(old, "/immutable") && at(write.new, "/data") != at(old, "/data") {
            errors.push(forbidden("data", words));
        }
    }
    errors.extend(write.metadata_errors());
    let data = at(write.new, "/data").and_then(Value::as_object);
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    for (key, _) in data.into_iter().flatten().filter(|(key, _)| !key.chars().all(allowed)) {
        errors.push(invalid(format!("data[{key}]"), key.as_str(), KEY_RULE));
    }
    if text(write.new, "/type") == "kubernetes.io/tls" {
        let missing = |key: &&str| data.is_none_or(|data| !data.contains_key(*key));
        errors.extend(
            ["tls.crt", "tls.key"]
                .iter()
                .filter(|key| missing(key))
                .map(|key| required(format!("data[{key}]"), "")),
        );
    }
    match errors.is_empty() {
        true => Ok(()),
        false => Err(ApiError::invalid(CORE, "InternalSecret", text(write.new, "/metadata/name"), errors)),
    }
}
