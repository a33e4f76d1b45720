//! What a client sent, read.

use crate::{error::ApiError, server::Call};
use serde_json::Value;

pub(crate) fn read_body(call: &Call) -> Result<Value, ApiError> {
    let media_type = call.content_type.split(';').next().unwrap_or_default().trim();
    let object = match media_type {
        "application/json" | "" => from_json(&call.body)?,
        "application/yaml" => from_yaml(&call.body)?,
        other => {
            return Err(ApiError::unsupported_media_type(format!(
                "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml (not {other})"
            )));
        }
    };
    if !object.is_object() {
        return Err(ApiError::bad_request(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal into Go value of type struct (not {object})"
        )));
    }
    for field in ["apiVersion", "kind"] {
        // A body may leave out what the path says already; kubectl never does.
        if object.get(field).is_some_and(|value| !value.is_string()) {
            return Err(ApiError::bad_request(format!("couldn't get version/kind: {field} is not a string")));
        }
    }
    Ok(object)
}

pub(crate) fn read_patch(call: &Call) -> Result<Value, ApiError> {
    let value =
        if call.content_type.contains("yaml") { from_yaml(&call.body)? } else { from_json(&call.body)? };
    if !value.is_object() {
        return Err(ApiError::bad_request("error decoding patch: the patch is not an object"));
    }
    Ok(value)
}

fn from_json(body: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        ApiError::bad_request(format!("couldn't get version/kind; json parse error: {error}"))
    })
}

fn from_yaml(body: &[u8]) -> Result<Value, ApiError> {
    // JSON is YAML, and quicker read as what it is.
    if let Ok(value) = serde_json::from_slice(body) {
        return Ok(value);
    }
    let text =
        std::str::from_utf8(body).map_err(|_| ApiError::bad_request("error decoding YAML: not UTF-8"))?;
    serde_saphyr::from_str(text)
        .map_err(|error| ApiError::bad_request(format!("error decoding YAML: {error}")))
}

pub(crate) fn unsupported_patch(call: &Call) -> ApiError {
    let supported = match call.resource.is_custom() {
        true => "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        false => {
            "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml"
        }
    };
    ApiError::unsupported_media_type(format!(
        "the body of the request was in an unknown format - accepted media types include: {supported}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nested_too_deep_is_refused() {
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        assert_eq!(from_json(deep.as_bytes()).unwrap_err().code, 400);
        assert_eq!(from_yaml(deep.as_bytes()).unwrap_err().code, 400);
        let block: String = (0..10_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        assert_eq!(from_yaml(block.as_bytes()).unwrap_err().code, 400);
    }

    #[test]
    fn aliases_do_not_blow_up() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = vec![format!("*a{}", level - 1); 9].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{before}]\n"));
        }
        assert_eq!(from_yaml(bomb.as_bytes()).unwrap_err().code, 400);
    }
}
