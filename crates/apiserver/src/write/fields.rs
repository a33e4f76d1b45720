//! Fields that a kind does not have, or that are there twice: dropped, warned about or refused, as the client wants it.

use crate::{
    body::duplicates,
    error::{ApiError, FieldError, FieldErrorKind},
    planted::Planted,
    request::Verb,
    schema,
    server::{Call, Server},
};
use serde_json::Value;

/// How unknown fields are dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

impl FieldValidation {
    pub(super) fn of(call: &Call) -> Result<Self, ApiError> {
        match call.query.get("fieldValidation") {
            None | Some("Warn") => Ok(Self::Warn),
            Some("Ignore") => Ok(Self::Ignore),
            Some("Strict") => Ok(Self::Strict),
            Some(other) => {
                let supported = "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"";
                let error =
                    FieldError::new("fieldValidation", FieldErrorKind::NotSupported, other, supported);
                Err(ApiError::invalid("meta.k8s.io", call.verb.options(), "", vec![error]))
            }
        }
    }
}

impl Server {
    /// Takes out what is unknown, and refuses or warns as the client wants it.
    pub(super) fn check_unknown(
        &self,
        call: &Call,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), ApiError> {
        if self.has(Planted::UnknownFieldsKept) {
            return Ok(());
        }
        let texts = unknown_fields(call, object);
        match FieldValidation::of(call)? {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => texts.into_iter().for_each(|text| {
                if !warnings.contains(&text) {
                    warnings.push(text);
                }
            }),
            FieldValidation::Strict => {
                let all: Vec<String> = warnings.drain(..).chain(texts).collect();
                if !all.is_empty() {
                    return Err(strict_refusal(call, object, &all));
                }
            }
        }
        Ok(())
    }
}

/// Takes out what is unknown, and says what it was.
pub(super) fn unknown_fields(call: &Call, object: &mut Value) -> Vec<String> {
    let mut unknown = schema::prune(&call.resource.schema, object);
    let of_metadata =
        object.get_mut("metadata").map(|metadata| schema::prune(schema::object_meta(), metadata));
    let of_metadata = of_metadata.into_iter().flatten().map(|path| format!("metadata.{path}"));
    if call.resource.is_custom() {
        unknown = of_metadata.chain(unknown).collect();
    } else {
        unknown.extend(of_metadata);
        unknown.sort();
    }
    unknown.iter().map(|path| format!("unknown field {path:?}")).collect()
}

/// The fields that a body has more than once.
pub(super) fn repeated_fields(call: &Call) -> Result<Vec<String>, ApiError> {
    if FieldValidation::of(call)? == FieldValidation::Ignore {
        return Ok(Vec::new());
    }
    Ok(duplicates(&call.body).iter().map(|path| format!("duplicate field {path:?}")).collect())
}

/// Unknown fields, where the client wants to hear of them.
pub(super) fn strict_refusal(call: &Call, object: &Value, texts: &[String]) -> ApiError {
    let why = format!("strict decoding error: {}", texts.join(", "));
    if call.verb == Verb::Patch {
        let error = FieldError::new("patch", FieldErrorKind::Invalid, object.to_string(), why);
        return ApiError::invalid("", "", "", vec![error]);
    }
    let (kind, version) = (&call.resource.kind, &call.resource.version);
    ApiError::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
}
