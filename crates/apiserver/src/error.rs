//! Refusals, with the codes, reasons and words of a real server.

use serde_json::{Value, json};
use std::fmt;

/// A refusal. It becomes a `Status` object on the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    /// The HTTP status code.
    pub code: u16,
    /// The word for machines.
    pub reason: &'static str,
    /// The words for people.
    pub message: String,
    /// What it is about, if that is known.
    pub details: Option<Box<Details>>,
}

/// What a refusal is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// The name of the object.
    pub name: Option<String>,
    /// Its group.
    pub group: Option<String>,
    /// Its kind, or (as with "not found") the plural of it.
    pub kind: Option<String>,
    /// Its UID.
    pub uid: Option<String>,
    /// What exactly is wrong, one entry per field.
    pub causes: Vec<Cause>,
    /// When to try again.
    pub retry_after_seconds: Option<u32>,
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The word for machines: `FieldValueInvalid`, `FieldManagerConflict`, …
    pub reason: &'static str,
    /// The words for people.
    pub message: String,
    /// The path of the field.
    pub field: String,
}

/// The plural of a kind with its group, as refusals name it: `configmaps`, `shoots.core.gardener.cloud`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupResource<'a> {
    /// The group; empty for the core group.
    pub group: &'a str,
    /// The plural.
    pub resource: &'a str,
}

impl fmt::Display for GroupResource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group {
            "" => f.write_str(self.resource),
            group => write!(f, "{}.{group}", self.resource),
        }
    }
}

impl ApiError {
    fn new(code: u16, reason: &'static str, message: String) -> Self {
        Self { code, reason, message, details: None }
    }

    fn about(mut self, what: GroupResource<'_>, name: &str) -> Self {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        self.details = Some(Box::new(Details {
            name: some(name),
            group: some(what.group),
            kind: some(what.resource),
            ..Details::default()
        }));
        self
    }

    /// 404: there is no such object.
    pub fn not_found(what: GroupResource<'_>, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{what} {name:?} not found")).about(what, name)
    }

    /// 404: there is no such path.
    pub(crate) fn no_such_path() -> Self {
        let mut error =
            Self::new(404, "NotFound", "the server could not find the requested resource".to_owned());
        error.details = Some(Box::default());
        error
    }

    /// 404: no part of the server answers for such paths, so there is no `Status` either.
    pub(crate) fn page_not_found() -> Self {
        Self::new(404, "", "404 page not found\n".to_owned())
    }

    /// Whether it is said in plain text.
    pub(crate) fn is_plain(&self) -> bool {
        self.code == 404 && self.reason.is_empty()
    }

    /// 409: there is one already.
    pub fn already_exists(what: GroupResource<'_>, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{what} {name:?} already exists")).about(what, name)
    }

    /// 409: there is one already, although the name was to be generated.
    pub(crate) fn no_name_left(what: GroupResource<'_>, name: &str) -> Self {
        let mut error = Self::already_exists(what, name);
        error.message += ", the server was not able to generate a unique name for the object";
        if let Some(details) = &mut error.details {
            details.retry_after_seconds = Some(1);
        }
        error
    }

    /// 409: somebody was faster, or a precondition does not hold.
    pub fn conflict(what: GroupResource<'_>, name: &str, why: impl fmt::Display) -> Self {
        Self::new(409, "Conflict", format!("Operation cannot be fulfilled on {what} {name:?}: {why}"))
            .about(what, name)
    }

    /// 409: the object was changed since it was read.
    pub fn modified(what: GroupResource<'_>, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(what, name, why)
    }

    /// 406: nothing is served in a form that the client takes.
    pub(crate) fn not_acceptable(message: impl Into<String>) -> Self {
        Self::new(406, "NotAcceptable", message.into())
    }

    /// 409: fields belong to other managers.
    pub(crate) fn apply_conflict(causes: Vec<Cause>, message: String) -> Self {
        let mut error = Self::new(409, "Conflict", message);
        error.details = Some(Box::new(Details { causes, ..Details::default() }));
        error
    }

    /// 422: fields are wrong. `group` and `kind` are those of the object.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: Vec<FieldError>) -> Self {
        let qualified = GroupResource { group, resource: kind };
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let text = match texts.as_slice() {
            [one] => one.clone(),
            // As Go prints a list of errors: each one once, in brackets if there are several.
            many => {
                let mut unique: Vec<&String> = Vec::new();
                for text in many {
                    if !unique.contains(&text) {
                        unique.push(text);
                    }
                }
                match unique.as_slice() {
                    [one] => (*one).clone(),
                    unique => format!(
                        "[{}]",
                        unique.iter().map(|text| text.as_str()).collect::<Vec<_>>().join(", ")
                    ),
                }
            }
        };
        let mut error = Self::new(422, "Invalid", format!("{qualified} {name:?} is invalid: {text}"))
            .about(qualified, name);
        if let Some(details) = &mut error.details {
            details.causes = errors.iter().map(FieldError::cause).collect();
        }
        error
    }

    /// 400: the request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message.into())
    }

    /// 401: nobody we know.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized".to_owned())
    }

    /// 403: somebody we know, who may not.
    pub fn forbidden(what: GroupResource<'_>, name: &str, why: impl fmt::Display) -> Self {
        let message = match name {
            "" => format!("{what} is forbidden: {why}"),
            name => format!("{what} {name:?} is forbidden: {why}"),
        };
        Self::new(403, "Forbidden", message).about(what, name)
    }

    /// 405: nobody does that here.
    pub(crate) fn no_such_method() -> Self {
        let message = "the server does not allow this method on the requested resource".to_owned();
        let mut error = Self::new(405, "MethodNotAllowed", message);
        error.details = Some(Box::default());
        error
    }

    /// 405: not with this verb.
    pub fn method_not_allowed(what: GroupResource<'_>, action: &str) -> Self {
        let message = format!("{action} is not supported on resources of kind {:?}", what.to_string());
        Self::new(405, "MethodNotAllowed", message).about(what, "")
    }

    /// 410: the history does not go back that far.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message.into())
    }

    /// 413: more than a server takes.
    pub(crate) fn too_large(message: impl fmt::Display) -> Self {
        Self::new(413, "RequestEntityTooLarge", format!("Request entity too large: {message}"))
    }

    /// 415: in a form that is not understood.
    pub(crate) fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message.into())
    }

    /// 429: too often.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        let mut error = Self::new(429, "TooManyRequests", message.into());
        error.details =
            Some(Box::new(Details { retry_after_seconds: Some(retry_after_seconds), ..Details::default() }));
        error
    }

    /// 500: our own fault.
    pub fn internal(why: impl fmt::Display) -> Self {
        let mut error = Self::new(500, "InternalError", format!("Internal error occurred: {why}"));
        let cause = Cause { reason: "", message: why.to_string(), field: String::new() };
        error.details = Some(Box::new(Details { causes: vec![cause], ..Details::default() }));
        error
    }

    /// 503: not now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(503, "ServiceUnavailable", message.into())
    }

    /// 504: not in time.
    pub fn timeout(message: impl fmt::Display) -> Self {
        Self::new(504, "Timeout", format!("Timeout: {message}"))
    }

    /// The `Status` object that goes over the wire.
    pub fn to_status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message,
        });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if let Some(details) = &self.details {
            status["details"] = details.to_json();
        }
        status["code"] = json!(self.code);
        status
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}

impl Details {
    fn to_json(&self) -> Value {
        let Self { name, group, kind, uid, causes, retry_after_seconds } = self;
        let mut details = json!({});
        for (key, value) in [("name", name), ("group", group), ("kind", kind), ("uid", uid)] {
            if let Some(value) = value {
                details[key] = json!(value);
            }
        }
        if !causes.is_empty() {
            details["causes"] = causes.iter().map(Cause::to_json).collect();
        }
        if let Some(seconds) = retry_after_seconds {
            details["retryAfterSeconds"] = json!(seconds);
        }
        details
    }
}

impl Cause {
    fn to_json(&self) -> Value {
        let Self { reason, message, field } = self;
        let mut cause = json!({});
        for (key, value) in [("reason", *reason), ("message", message), ("field", field)] {
            if !value.is_empty() {
                cause[key] = json!(value);
            }
        }
        cause
    }
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// The path of the field: `spec.rules[0].verbs`, `metadata.labels`.
    pub field: String,
    /// In what way it is wrong.
    pub kind: FieldErrorKind,
    /// The value, where the message shows it.
    pub value: Option<Value>,
    /// More words.
    pub detail: String,
}

/// In what way a field is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// It is missing.
    Required,
    /// It is there twice.
    Duplicate,
    /// It is malformed.
    Invalid,
    /// It is of another type.
    TypeInvalid,
    /// It is not one of those that there are.
    NotSupported,
    /// It may not be there, or not now.
    Forbidden,
    /// It is too long; the value is not shown.
    TooLong,
    /// It has too many items.
    TooMany,
    /// It names what is not there.
    NotFound,
    /// It could not be looked at.
    Internal,
}

impl FieldErrorKind {
    /// The words for people, and the word for machines.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Required => ("Required value", "FieldValueRequired"),
            Self::Duplicate => ("Duplicate value", "FieldValueDuplicate"),
            Self::Invalid => ("Invalid value", "FieldValueInvalid"),
            Self::TypeInvalid => ("Invalid value", "FieldValueTypeInvalid"),
            Self::NotSupported => ("Unsupported value", "FieldValueNotSupported"),
            Self::Forbidden => ("Forbidden", "FieldValueForbidden"),
            Self::TooLong => ("Too long", "FieldValueTooLong"),
            Self::TooMany => ("Too many", "FieldValueTooMany"),
            Self::NotFound => ("Not found", "FieldValueNotFound"),
            Self::Internal => ("Internal error", "InternalError"),
        }
    }

    fn shows_value(self) -> bool {
        !matches!(self, Self::Required | Self::Forbidden | Self::TooLong | Self::Internal)
    }
}

impl FieldError {
    /// An error that shows the value.
    pub fn new(
        field: impl Into<String>,
        kind: FieldErrorKind,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self { field: field.into(), kind, value: Some(value.into()), detail: detail.into() }
    }

    /// An error without a value.
    pub fn bare(field: impl Into<String>, kind: FieldErrorKind, detail: impl Into<String>) -> Self {
        Self { field: field.into(), kind, value: None, detail: detail.into() }
    }

    /// The message without the path.
    pub fn body(&self) -> String {
        let mut text = self.kind.words().0.to_owned();
        if let Some(value) = self.value.as_ref().filter(|_| self.kind.shows_value()) {
            text = format!("{text}: {value}");
        }
        if !self.detail.is_empty() {
            text = format!("{text}: {}", self.detail);
        }
        text
    }

    /// The entry of a `Status`.
    pub fn cause(&self) -> Cause {
        Cause { reason: self.kind.words().1, message: self.body(), field: self.field.clone() }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}
