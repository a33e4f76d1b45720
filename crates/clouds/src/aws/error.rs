//! What a refusal of AWS means.

use crate::{Refusal, http::Response};
use allotment_core::cleanup::{clean_code, clean_message};
use http::{StatusCode, header::RETRY_AFTER};
use std::time::Duration;

/// The code and message of an error, as they came.
pub(super) struct AwsError {
    pub(super) code: String,
    pub(super) message: String,
}

/// Codes of a request that is well, at a time when it is not wanted.
pub(super) const THROTTLED: &[&str] = &[
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "TooManyRequestsException",
    "TooManyRequests",
    "SlowDown",
];

const DENIED: &[&str] =
    &["UnauthorizedOperation", "AccessDenied", "AccessDeniedException", "Client.UnauthorizedOperation"];

const LOCKED: &[&str] =
    &["SnapshotLocked", "ResourceLocked", "OperationNotPermitted", "OperationNotPermittedException"];

/// Codes of a signature with a wrong time.
pub(super) const SKEWED: &[&str] =
    &["RequestTimeTooSkewed", "RequestExpired", "SignatureDoesNotMatch", "InvalidSignatureException"];

/// Codes of session keys that have ended; EC2 has the same one for a wrong time.
pub(super) const EXPIRED: &[&str] = &["ExpiredToken", "ExpiredTokenException", "RequestExpired"];

/// Codes of credentials that are not accepted. Messages to these repeat the request, with the session token.
const NOT_ACCEPTED: &[&str] = &[
    "AuthFailure",
    "InvalidClientTokenId",
    "InvalidAccessKeyId",
    "UnrecognizedClientException",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidToken",
    "IncompleteSignature",
    "MissingAuthenticationToken",
    "OptInRequired",
];

impl AwsError {
    /// Reads XML of all protocols, and JSON.
    pub(super) fn read(response: &Response) -> Self {
        let body = String::from_utf8_lossy(&response.body);
        if let Ok(document) = roxmltree::Document::parse(&body) {
            let first = |name: &str| {
                let found = document.descendants().find(|node| node.tag_name().name() == name);
                found.and_then(|node| node.text()).unwrap_or_default().trim().to_owned()
            };
            return Self { code: first("Code"), message: first("Message") };
        }
        let json: serde_json::Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let field = |names: &[&str]| {
            let found = names.iter().find_map(|name| json.get(name).and_then(serde_json::Value::as_str));
            found.unwrap_or_default().to_owned()
        };
        let header = response.headers.get("x-amzn-errortype").and_then(|value| value.to_str().ok());
        let code = header.map_or_else(|| field(&["ErrorCode", "__type", "code"]), str::to_owned);
        let code = code.split([':', '#']).next_back().unwrap_or_default().to_owned();
        Self { code, message: field(&["Message", "message"]) }
    }

    /// The refusal. `action` is the permission that the call needs.
    pub(super) fn refusal(self, response: &Response, action: &str) -> Refusal {
        let Self { code, message } = self;
        let is = |codes: &[&str]| codes.contains(&code.as_str());
        let says = |words: &str| message.to_ascii_lowercase().contains(words);
        let bounded = clean_code(&code, response.status.as_u16());
        if is(THROTTLED) || response.status == StatusCode::TOO_MANY_REQUESTS {
            return Refusal::Throttled { after: retry_after(response) };
        }
        if code.ends_with("NotFound") || code.contains("NotFound.") || code == "NoSuchEntity" {
            return Refusal::Gone;
        }
        if code == "ValidationError" && says("not found") {
            return Refusal::Gone;
        }
        if is(DENIED) {
            return Refusal::Denied { code: bounded, action: action.to_owned() };
        }
        if is_blocked(&code) || says("in use") || says("dependent object") {
            return Refusal::Blocked { code: bounded, by: clean_message(&message) };
        }
        if is(LOCKED) {
            return Refusal::Locked { code: bounded, by: clean_message(&message) };
        }
        if response.status.is_server_error() || code == "RequestTimeTooSkewed" {
            return Refusal::Transient { why: bounded };
        }
        if is(NOT_ACCEPTED) || is(SKEWED) {
            let message = "the cloud does not accept the credentials or their signature".to_owned();
            return Refusal::Other { code: bounded, message };
        }
        Refusal::Other { code: bounded, message: clean_message(&message) }
    }
}

fn is_blocked(code: &str) -> bool {
    let parts =
        ["InUse", "DependencyViolation", "DeleteConflict", "HasDependen", "IncorrectState", "InProgress"];
    parts.iter().any(|part| code.contains(part)) || code == "IncorrectInstanceState" || code == "InvalidState"
}

pub(super) fn retry_after(response: &Response) -> Option<Duration> {
    let value = response.headers.get(RETRY_AFTER)?.to_str().ok()?;
    value.parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderMap;

    fn refused(status: u16, body: &str) -> Refusal {
        let status = StatusCode::from_u16(status).unwrap();
        let response = Response { status, headers: HeaderMap::new(), body: body.to_owned().into() };
        AwsError::read(&response).refusal(&response, "ec2:DeleteVpc")
    }

    fn ec2(status: u16, code: &str, message: &str) -> Refusal {
        let error = format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>");
        refused(status, &format!("<Response><Errors>{error}</Errors></Response>"))
    }

    #[test]
    fn codes_mean_what_they_do() {
        let cases: &[(u16, &str, &str, &str)] = &[
            (400, "DependencyViolation", "resource sg-1 has a dependent object", "blocked"),
            (400, "InvalidIPAddress.InUse", "in use", "blocked"),
            (400, "InvalidParameterValue", "Network interface 'eni-1' is currently in use.", "blocked"),
            (409, "DeleteConflict", "must delete policies first", "blocked"),
            (503, "RequestLimitExceeded", "Request limit exceeded.", "throttled"),
            (400, "Throttling", "Rate exceeded", "throttled"),
            (
                403,
                "UnauthorizedOperation",
                "You are not authorized",
                "denied (UnauthorizedOperation): ec2:DeleteVpc",
            ),
            (400, "InvalidVpcID.NotFound", "no", "not found"),
            (404, "NoSuchEntity", "no", "not found"),
            (400, "ValidationError", "AutoScalingGroup name not found - x", "not found"),
            (400, "OperationNotPermitted", "may not be terminated", "locked"),
            (500, "InternalError", "oops", "transient"),
            (502, "", "", "transient failure: HTTP502"),
            (401, "AuthFailure", "not able to validate", "refused (AuthFailure)"),
        ];
        for (status, code, message, expected) in cases {
            let refusal = ec2(*status, code, message).to_string();
            assert!(refusal.starts_with(expected), "{code}: {refusal}");
        }
        let json = refused(409, r#"{"ErrorCode":"FileSystemInUse","Message":"has mount targets"}"#);
        assert_eq!(
            json,
            Refusal::Blocked { code: "FileSystemInUse".to_owned(), by: "has mount targets".to_owned() }
        );
    }

    #[test]
    fn a_refused_signature_repeats_nothing_of_the_request() {
        let message = "The request signature we calculated does not match. The Canonical String for this request should \
            have been\n'POST\n/\n\nhost:ec2.eu-central-1.amazonaws.com\nx-amz-date:20261117T120000Z\n\
            x-amz-security-token:IQoJb3JpZ2luX2VjEHUaCXVzLWVhc3QtMSJHMEUCIQDsecretsecretsecretsecretsecretsecretsecret\n\n\
            host;x-amz-date\ne3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'";
        let refusal = ec2(403, "SignatureDoesNotMatch", message);
        for printed in [refusal.to_string(), format!("{refusal:?}")] {
            assert!(!printed.contains("IQoJ") && !printed.contains("e3b0c442"), "{printed}");
            assert!(printed.contains("SignatureDoesNotMatch"));
            assert!(printed.len() < 400, "{printed}");
        }
        assert!(refusal.missing().is_none(), "no permission is missing, so nothing can be assumed absent");
    }
}
