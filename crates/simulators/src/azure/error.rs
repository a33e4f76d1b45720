//! Errors as Resource Manager writes them.

use super::json;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header::RETRY_AFTER};
use serde_json::{Value, json as document};

/// A refused request.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) status: StatusCode,
    pub(super) code: String,
    pub(super) message: String,
    pub(super) details: Vec<Value>,
}

impl Fault {
    pub(super) fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        Self { status, code: code.to_owned(), message: message.into(), details: Vec::new() }
    }

    /// The error without its envelope.
    pub(super) fn error(&self) -> Value {
        let mut error = document!({ "code": self.code, "message": self.message });
        if !self.details.is_empty() {
            error["details"] = Value::Array(self.details.clone());
        }
        error
    }

    pub(super) fn into_response(self) -> Response<Bytes> {
        let mut response = json(self.status, &document!({ "error": self.error() }));
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("0"));
        }
        response
    }
}
