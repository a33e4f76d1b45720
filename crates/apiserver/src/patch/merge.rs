//! Merge patch, RFC 7386.

use super::{Decoding, must_be_object, read};
use crate::apply::go;
use crate::error::ApiError;
use serde_json::{Map, Value};

/// Reads the body of a request.
pub(crate) fn decode(body: &[u8], decoding: Decoding) -> Result<Value, ApiError> {
    let invalid = || ApiError::bad_request("Invalid JSON Patch");
    let refuse = |why: String| match decoding {
        Decoding::Lenient => invalid(),
        Decoding::Checked => ApiError::bad_request(format!("error decoding patch: {why}")),
    };
    match read(body).map_err(refuse)? {
        patch @ Value::Object(_) => Ok(patch),
        Value::Null => Err(invalid()),
        patch @ Value::Array(_) if decoding == Decoding::Lenient => Ok(patch),
        other => Err(refuse(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            go::json_word(&other)
        ))),
    }
}

/// The object with the patch applied.
pub(crate) fn apply(target: &Value, patch: &Value) -> Result<Value, ApiError> {
    must_be_object(match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => Value::Object(merge(target.clone(), patch)),
        (_, patch) => without_nulls(patch),
    })
}

fn merge(mut target: Map<String, Value>, patch: &Map<String, Value>) -> Map<String, Value> {
    for (name, patch) in patch {
        let merged = match (target.remove(name), patch) {
            (_, Value::Null) => continue,
            (Some(Value::Object(fields)), Value::Object(patch)) => Value::Object(merge(fields, patch)),
            // A real server keeps the nulls of a list that replaces an object.
            (Some(Value::Object(_)), patch) => patch.clone(),
            (_, patch) => without_nulls(patch),
        };
        target.insert(name.clone(), merged);
    }
    target
}

/// The value without the fields that are null; items of lists stay.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), without_nulls(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        value => value.clone(),
    }
}
