//! Answers as Google's services give them.

use crate::server::Reply;
use bytes::Bytes;
use http::{Response, StatusCode, header::CONTENT_TYPE};
use serde_json::{Value, json};

/// A status and a body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn ok(body: Value) -> Self {
        Self { status: 200, body }
    }

    pub(crate) fn into_reply(self) -> Reply {
        let mut response = Response::new(Bytes::from(self.body.to_string()));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
        response.into()
    }
}

/// An error of Compute Engine.
pub(crate) fn refused(status: u16, reason: &str, message: &str) -> Answer {
    let body = json!({ "error": {
        "code": status,
        "message": message,
        "errors": [{ "message": message, "domain": "global", "reason": reason }],
    } });
    Answer { status, body }
}

/// An error of a newer service.
pub(crate) fn refused_with_info(status: u16, code: &str, reason: &str, metadata: Value) -> Answer {
    let info = json!({
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason,
        "domain": "googleapis.com",
        "metadata": metadata,
    });
    let body = json!({ "error": { "code": status, "message": reason, "status": code, "details": [info] } });
    Answer { status, body }
}
