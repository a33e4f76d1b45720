//! What a client sent, read.

mod duplicates;
mod fit;
pub(crate) mod protobuf;
mod shape;
mod text;

use crate::{
    apply::go,
    error::{ApiError, FieldError, FieldErrorKind},
    meta, patch,
    resource::Resource,
    server::Call,
};
pub(crate) use duplicates::duplicates;
use fit::{Fitting, Reader};
use serde_json::{Map, Value};

/// The type that a real server reads first.
pub(crate) const VERSION_AND_KIND: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// Why a body is not an object of its kind.
#[derive(Debug)]
pub(crate) enum Wrong {
    /// Not even its kind can be told.
    Unrecognized(String),
    /// It says that it is of this kind and version, and does not fit.
    Unfit { kind: String, version: String, why: String },
    /// It is refused for another reason.
    Refused(ApiError),
}

/// The object that a create or an update sent.
pub(crate) fn read_body(call: &Call) -> Result<Value, ApiError> {
    read_as(call, &call.resource)
}

/// The same for a subresource that has a kind of its own.
pub(crate) fn read_as(call: &Call, resource: &Resource) -> Result<Value, ApiError> {
    let read = match media_type(call) {
        "application/json" | "" => parse(&call.body),
        "application/yaml" => parse_yaml(&call.body),
        // What a definition has added is in JSON only.
        protobuf::MEDIA_TYPE if resource.defined.is_none() => match protobuf::read(&call.body) {
            Ok(object) => Ok(object),
            Err(protobuf::Unread::Malformed(why)) => Err(why),
            Err(protobuf::Unread::UnknownKind(version, kind)) => {
                Err(format!("no kind {kind:?} is registered for version {version:?}"))
            }
        },
        _ => {
            return Err(ApiError::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json, application/yaml, application/vnd.kubernetes.protobuf",
            ));
        }
    };
    let wrong = match read {
        Ok(mut object) => {
            match recognize(&mut object, resource, |_| String::from_utf8_lossy(&call.body).into_owned()) {
                Ok(()) => return Ok(object),
                Err(wrong) => wrong,
            }
        }
        Err(why) => Wrong::Unrecognized(why),
    };
    Err(match wrong {
        Wrong::Unrecognized(why) => ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): {why} ({})",
            resource.kind,
            summary(&call.body)
        )),
        Wrong::Unfit { kind, version, why } => ApiError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {}: {why}",
            resource.kind
        )),
        Wrong::Refused(error) => error,
    })
}

/// What a JSON patch or a merge patch made of an object, read again.
pub(crate) fn read_patched(mut patched: Value, old: &Value, resource: &Resource) -> Result<Value, ApiError> {
    let show = |patched: &Value| shown(patched, old, resource);
    match recognize(&mut patched, resource, show) {
        Ok(()) => Ok(patched),
        Err(Wrong::Unrecognized(why) | Wrong::Unfit { why, .. }) => Err(refused_patch(show(&patched), why)),
        Err(Wrong::Refused(error)) => Err(error),
    }
}

/// What a strategic merge patch made of an object.
pub(crate) fn read_merged(mut merged: Value, patch: &Value, resource: &Resource) -> Result<Value, ApiError> {
    fit(&mut merged, resource, Reader::Map).map_err(|why| refused_patch(go::plain(patch), why))?;
    Ok(merged)
}

/// 422: what a patch made of an object is not one.
pub(crate) fn refused_patch(shown: String, why: String) -> ApiError {
    let error = FieldError::new("patch", FieldErrorKind::Invalid, shown, why);
    ApiError::invalid("", "", "", vec![error])
}

/// The object that a server-side apply sent.
pub(crate) fn read_applied(call: &Call) -> Result<Value, ApiError> {
    let refuse = |why: String| ApiError::bad_request(format!("error decoding YAML: {why}"));
    let value = parse_yaml(&call.body).map_err(refuse)?;
    if !value.is_object() {
        return Err(refuse("the patch is not an object".to_owned()));
    }
    Ok(value)
}

/// What the body of a request is said to be.
pub(crate) fn media_type(call: &Call) -> &str {
    call.content_type.split(';').next().unwrap_or_default().trim()
}

fn parse(body: &[u8]) -> Result<Value, String> {
    patch::read(body).map_err(|why| format!("couldn't get version/kind; json parse error: {why}"))
}

fn parse_yaml(body: &[u8]) -> Result<Value, String> {
    // JSON is YAML, and quicker read as what it is.
    if let Ok(value) = serde_json::from_slice(body) {
        return Ok(value);
    }
    let refuse = |why: String| format!("error converting YAML to JSON: yaml: {why}");
    let text = std::str::from_utf8(body).map_err(|_| refuse("invalid leading UTF-8 octet".to_owned()))?;
    serde_saphyr::from_str(text).map_err(|error| {
        let why = error.to_string();
        refuse(match why.contains("Depth {") || why.contains("recursion limit") {
            // As deep as we read; a real server goes on for a while, and then says this.
            true => "exceeded max depth of 10000".to_owned(),
            false => why.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned(),
        })
    })
}

/// What a refusal shows of a body: its beginning.
fn summary(body: &[u8]) -> String {
    const LIMIT_BYTES: usize = 30;
    let more = if body.len() > LIMIT_BYTES { " ..." } else { "" };
    let start = &body[..body.len().min(LIMIT_BYTES)];
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(start).into_owned() + more,
        Some(_) => start.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + more,
    }
}

/// Sees whether an object is of its kind, and makes it so where it can. `show` tells what it was read from.
fn recognize(object: &mut Value, resource: &Resource, show: impl Fn(&Value) -> String) -> Result<(), Wrong> {
    // What is null is an object without fields, for Go.
    if object.is_null() {
        *object = Value::Object(Map::new());
    }
    if !object.is_object() {
        return Err(Wrong::Unrecognized(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type {VERSION_AND_KIND}",
            go::json_word(object)
        )));
    }
    for field in ["apiVersion", "kind"] {
        let value = &object[field];
        if !value.is_string() && !value.is_null() {
            return Err(Wrong::Unrecognized(format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go struct field .{field} of type string",
                go::json_word(value)
            )));
        }
    }
    check_kind(object, resource, show)?;
    fit(object, resource, Reader::Json).map_err(|why| Wrong::Unfit {
        kind: resource.kind.clone(),
        version: resource.version.clone(),
        why,
    })
}

/// Makes the fields of an object what they are on a real server, as far as we know what that is.
fn fit(object: &mut Value, resource: &Resource, reader: Reader) -> Result<(), String> {
    if let Some(shape) = shape::of(&resource.group, &resource.kind).filter(|_| resource.defined.is_none()) {
        return Fitting::new(reader).fit(object, shape);
    }
    let Some(metadata) = object.get_mut("metadata") else { return Ok(()) };
    match resource.defined.is_some() {
        true => Fitting::new(reader).fit(metadata, shape::object_meta()),
        false => Fitting::below(reader, &resource.kind, "metadata").fit(metadata, shape::object_meta()),
    }
}

/// Checks that a body is of the kind that the path names. A kind that is built in may leave it out.
fn check_kind(object: &Value, resource: &Resource, show: impl Fn(&Value) -> String) -> Result<(), Wrong> {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default();
    let (wanted, expected) = (&resource.kind, resource.api_version());
    if resource.defined.is_some() {
        for (field, value) in [("Kind", kind), ("apiVersion", api_version)] {
            if value.is_empty() {
                let why = format!("Object '{field}' is missing in '{}'", show(object));
                return Err(Wrong::Unrecognized(why));
            }
        }
        if api_version != expected {
            return Err(Wrong::Refused(ApiError::bad_request(format!(
                "the API version in the data ({api_version}) does not match the expected API version ({expected})"
            ))));
        }
        if kind != wanted {
            let error = FieldError::new("kind", FieldErrorKind::Invalid, kind, format!("must be {wanted}"));
            let name = meta::text(object, "name");
            return Err(Wrong::Refused(ApiError::invalid(&resource.group, kind, name, vec![error])));
        }
        return Ok(());
    }
    let unfit =
        |why: String| Err(Wrong::Unfit { kind: kind.to_owned(), version: api_version.to_owned(), why });
    let api_version = if api_version.is_empty() { &expected } else { api_version };
    let kind = if kind.is_empty() { wanted } else { kind };
    if (api_version, kind) == (&expected, wanted) {
        return Ok(());
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    if version == "v1" && shape::of(group, kind).is_some() {
        let group = match resource.group.as_str() {
            "" => "core",
            group => group.split('.').next().unwrap_or_default(),
        };
        return unfit(format!("converting ({version}.{kind}) to ({group}.{wanted}): unknown conversion"));
    }
    unfit(format!(
        "no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\""
    ))
}

/// An object after a patch as a refusal shows it: fields are in the order of their names where the patch has been, and in
/// the order in which Go declares them where it has not.
pub(crate) fn shown(patched: &Value, old: &Value, resource: &Resource) -> String {
    let Value::Object(fields) = patched else { return go::json(patched) };
    let parts = fields.iter().map(|(name, value)| {
        let text = match name.as_str() {
            "metadata" if resource.defined.is_none() => shown_metadata(value, &old["metadata"]),
            _ => go::json(value),
        };
        format!("{}:{text}", go::json(&Value::from(name.as_str())))
    });
    format!("{{{}}}", parts.collect::<Vec<_>>().join(","))
}

fn shown_metadata(metadata: &Value, old: &Value) -> String {
    const FIELDS: [&str; 15] = [
        "name",
        "generateName",
        "namespace",
        "selfLink",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
        "managedFields",
    ];
    const MANAGER: [&str; 7] =
        ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"];
    let Value::Object(fields) = metadata else { return go::json(metadata) };
    let by_name: Vec<&str> = fields.keys().map(String::as_str).collect();
    let order = if metadata == old { FIELDS.as_slice() } else { by_name.as_slice() };
    go::in_order(metadata, order, |field, value| match field {
        _ if old.get(field) != Some(value) => go::json(value),
        "ownerReferences" => go::owners(value),
        "managedFields" => go::in_order_each(value, &MANAGER),
        _ => go::json(value),
    })
}

pub(crate) fn unsupported_patch(call: &Call) -> ApiError {
    if call.resource.defined.is_some() {
        return ApiError::unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include: \
             application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        );
    }
    // Refused before anybody looks at what is asked for.
    let mut error = ApiError::unsupported_media_type("415: Unsupported Media Type");
    error.details = Some(Box::default());
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nested_too_deep_is_refused() {
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        assert!(parse(deep.as_bytes()).unwrap_err().ends_with("exceeded max depth"));
        assert!(parse_yaml(deep.as_bytes()).unwrap_err().ends_with("exceeded max depth of 10000"));
        let block: String = (0..10_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        assert!(parse_yaml(block.as_bytes()).is_err());
    }

    #[test]
    fn aliases_do_not_blow_up() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = vec![format!("*a{}", level - 1); 9].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{before}]\n"));
        }
        assert!(parse_yaml(bomb.as_bytes()).is_err());
    }
}
