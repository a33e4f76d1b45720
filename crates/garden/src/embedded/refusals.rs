//! Refusals in the words of gardener-apiserver.

use allotment_apiserver::{
    error::{ApiError, FieldError, FieldErrorKind},
    names::{self, Unit},
};
use serde_json::Value;

pub(super) fn required(field: impl Into<String>, detail: &str) -> FieldError {
    FieldError::bare(field, FieldErrorKind::Required, detail)
}

pub(super) fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> FieldError {
    FieldError::bare(field, FieldErrorKind::Forbidden, detail)
}

pub(super) fn invalid(
    field: impl Into<String>,
    value: impl Into<Value>,
    detail: impl Into<String>,
) -> FieldError {
    FieldError::new(field, FieldErrorKind::Invalid, value, detail)
}

pub(super) fn duplicate(field: impl Into<String>, value: impl Into<Value>) -> FieldError {
    FieldError::new(field, FieldErrorKind::Duplicate, value, "")
}

pub(super) fn too_long(field: impl Into<String>, limit_bytes: usize) -> FieldError {
    let detail = format!("may not be more than {limit_bytes} bytes");
    FieldError::bare(field, FieldErrorKind::TooLong, detail)
}

/// Not one of those that there are; with none at all, they are not listed.
pub(super) fn unsupported<S: AsRef<str>>(
    field: impl Into<String>,
    value: impl Into<Value>,
    supported: &[S],
) -> FieldError {
    let list: Vec<String> = supported.iter().map(|text| format!("{:?}", text.as_ref())).collect();
    let detail = match list.is_empty() {
        true => String::new(),
        false => format!("supported values: {}", list.join(", ")),
    };
    FieldError::new(field, FieldErrorKind::NotSupported, value, detail)
}

/// A field that may not change: nothing if it does not.
pub(super) fn immutable(field: &str, new: Option<&Value>, old: Option<&Value>) -> Option<FieldError> {
    let value = new.cloned().unwrap_or(Value::Null);
    (new != old).then(|| invalid(field, value, "field is immutable"))
}

/// As [`immutable`], for a struct, which Go shows with its fields in an order of their own.
pub(super) fn immutable_struct(
    field: &str,
    new: Option<&Value>,
    old: Option<&Value>,
    show: impl Fn(&Value) -> String,
) -> Option<FieldError> {
    let shown = new.map_or_else(|| "null".to_owned(), show);
    (new != old)
        .then(|| FieldError::bare(field, FieldErrorKind::Invalid, format!("{shown}: field is immutable")))
}

/// Several as one text, as Go's aggregates show them: each one once, in brackets if there are several.
pub(super) fn aggregate(errors: &[FieldError]) -> String {
    let mut unique: Vec<String> = Vec::new();
    for text in errors.iter().map(ToString::to_string) {
        if !unique.contains(&text) {
            unique.push(text);
        }
    }
    match unique.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

/// Several as one text, as the admission plugin for extensions shows them.
pub(super) fn bullets(errors: &[String]) -> String {
    let count = match errors.len() {
        1 => "1 error".to_owned(),
        count => format!("{count} errors"),
    };
    let list: Vec<String> = errors.iter().map(|error| format!("\t* {error}")).collect();
    format!("{count} occurred:\n{}\n\n", list.join("\n"))
}

/// 500 with nothing but words: where a plugin returns an error that is no API error.
pub(super) fn bare_error(message: impl Into<String>) -> ApiError {
    ApiError { code: 500, reason: "", message: message.into(), details: None }
}

/// Checks that a text is a DNS label.
pub(super) fn dns_label(field: &str, text: &str) -> Vec<FieldError> {
    names::label_errors(text, Unit::Bytes).iter().map(|why| invalid(field, text, why)).collect()
}

/// Checks that a text is a DNS subdomain.
pub(super) fn dns_subdomain(field: &str, text: &str) -> Vec<FieldError> {
    names::subdomain_errors(text, Unit::Bytes).iter().map(|why| invalid(field, text, why)).collect()
}

/// Gardener puts two hyphens between the names of project and Shoot.
pub(super) fn consecutive_hyphens(field: &str, name: &str) -> Option<FieldError> {
    name.contains("--").then(|| invalid(field, name, "name may not contain two consecutive hyphens"))
}

/// Checks that a text can follow the slash of a label.
pub(super) fn is_label_name(text: &str) -> bool {
    !text.contains('/') && names::key_errors(text).is_empty()
}
