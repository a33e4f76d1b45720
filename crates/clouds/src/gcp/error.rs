//! What a refusal of Google Cloud means: that of a call, and that of an operation.

use crate::{Refusal, http::Response};
use allotment_core::cleanup::{clean_code, clean_message};
use http::header::RETRY_AFTER;
use serde_json::Value;
use std::time::Duration;

/// The code of an API that the project does not have.
pub(super) const DISABLED: &str = "SERVICE_DISABLED";

/// An error, as it came.
pub(super) struct GcpError {
    status: u64,
    reason: String,
    message: String,
    /// The permission that IAM names.
    permission: Option<String>,
    after: Option<Duration>,
}

/// Reasons, without case and underscores: calls say `rateLimitExceeded`, operations `RATE_LIMIT_EXCEEDED`.
const THROTTLED: &[&str] = &[
    "ratelimitexceeded",
    "userratelimitexceeded",
    "resourceoperationrateexceeded",
    "resourceexhausted",
    "quotaexceeded",
    "concurrentoperationsquotaexceeded",
];
const NOT_ENABLED: &[&str] = &["accessnotconfigured", "servicedisabled"];
const DENIED: &[&str] = &["forbidden", "permissiondenied", "iampermissiondenied", "permissionserror"];
const BLOCKED: &[&str] = &[
    "resourceinusebyanotherresource",
    "resourceinuse",
    "resourcenotready",
    "operationinprogress",
    "resourceisbeingused",
];
const GONE: &[&str] = &["notfound", "resourcenotfound"];

/// So many blockers are named.
const MOST_BLOCKERS: usize = 5;

impl GcpError {
    /// Reads the body of a refused call.
    pub(super) fn read(response: &Response) -> Self {
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let error = body.get("error").unwrap_or(&Value::Null);
        let details = error.get("details").and_then(Value::as_array);
        let info = details.into_iter().flatten().find(|detail| detail.get("reason").is_some());
        let reason = info
            .and_then(|info| text(info, "/reason"))
            .or_else(|| text(error, "/errors/0/reason"))
            .or_else(|| text(error, "/status"));
        let after = response.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        Self {
            status: u64::from(response.status.as_u16()),
            reason: reason.unwrap_or_default(),
            message: text(error, "/message").unwrap_or_default(),
            permission: info.and_then(|info| text(info, "/metadata/permission")),
            after: after.map(Duration::from_secs),
        }
    }

    /// Reads the result of an operation; none if it succeeded.
    pub(super) fn of_operation(operation: &Value) -> Option<Self> {
        let status = operation.get("httpErrorStatusCode").and_then(Value::as_u64);
        let error = operation.pointer("/error/errors/0");
        if error.is_none() && status.is_none() && operation.get("error").is_none_or(Value::is_null) {
            return None;
        }
        let error = error.unwrap_or(&Value::Null);
        Some(Self {
            status: status.unwrap_or_default(),
            reason: text(error, "/code").unwrap_or_default(),
            message: text(error, "/message")
                .or_else(|| text(operation, "/httpErrorMessage"))
                .unwrap_or_default(),
            permission: None,
            after: None,
        })
    }

    /// The same without anything that repeats a secret.
    pub(super) fn without_secret(self, secret: &str) -> Self {
        let only_clean = |text: String| if text.contains(secret) { String::new() } else { text };
        Self { reason: only_clean(self.reason), message: only_clean(self.message), ..self }
    }

    /// The refusal. `permission` is the one that the call needs.
    pub(super) fn refusal(self, permission: &str) -> Refusal {
        let Self { status, reason, message, permission: named, after } = self;
        let code = clean_code(&reason, u16::try_from(status).unwrap_or_default());
        let plain = reason.replace('_', "").to_ascii_lowercase();
        let is = |reasons: &[&str]| reasons.contains(&plain.as_str());
        let lower = message.to_ascii_lowercase();
        if status == 429 || is(THROTTLED) {
            return Refusal::Throttled { after };
        }
        if is(NOT_ENABLED) {
            let message = "the API is not enabled in the project".to_owned();
            return Refusal::Other { code: DISABLED.to_owned(), message };
        }
        if status == 401 {
            let message = "the service does not accept the token".to_owned();
            return Refusal::Other { code: "Unauthorized".to_owned(), message };
        }
        if lower.contains("protected against deletion") || lower.contains("constraint constraints/") {
            return Refusal::Locked { code, by: clean_message(&message) };
        }
        if is(BLOCKED) || lower.contains("already being used by") {
            return Refusal::Blocked { code, by: blocker(&message) };
        }
        if status == 404 || is(GONE) {
            return Refusal::Gone;
        }
        if is(DENIED) {
            let named = named.or_else(|| permission_in(&message)).map(|named| clean_message(&named));
            return Refusal::Denied { code, action: named.unwrap_or_else(|| permission.to_owned()) };
        }
        // The fingerprint of a read that somebody else overtook.
        if status >= 500 || status == 412 {
            return Refusal::Transient { why: code };
        }
        Refusal::Other { code, message: clean_message(&message) }
    }
}

fn text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// `Required 'compute.disks.list' permission for 'projects/p'`.
fn permission_in(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("Required '")?;
    let (permission, rest) = rest.split_once('\'')?;
    let is_permission =
        permission.len() < 100 && permission.chars().all(|char| char.is_ascii_alphanumeric() || char == '.');
    (is_permission && rest.starts_with(" permission")).then(|| permission.to_owned())
}

/// The items that a message names behind "used by", in words: a path is one long word, which no message may have.
fn blocker(message: &str) -> String {
    let named = message.split_once("used by").map_or("", |(_, rest)| rest);
    let paths = named.split(['\'', ',']).filter(|part| part.contains('/'));
    let items: Vec<String> = paths.take(MOST_BLOCKERS).map(|path| clean_message(&in_words(path))).collect();
    if items.is_empty() { clean_message(message) } else { items.join(", ") }
}

/// `projects/p/regions/r/routers/x` is `routers x in r`.
fn in_words(path: &str) -> String {
    let segments: Vec<&str> = path.trim().split('/').filter(|segment| !segment.is_empty()).collect();
    let after = |word: &str| {
        let place = segments.iter().position(|segment| *segment == word)?;
        segments.get(place + 1).copied()
    };
    let place = after("regions").or_else(|| after("zones"));
    let place = place.map(|place| format!(" in {place}")).unwrap_or_default();
    match segments.as_slice() {
        [.., collection, name] => format!("{collection} {name}{place}"),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, StatusCode};
    use serde_json::json;

    fn refused(status: u16, error: &Value) -> Refusal {
        let response = Response {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: json!({ "error": error }).to_string().into(),
        };
        GcpError::read(&response).refusal("compute.networks.delete")
    }

    fn compute(status: u16, reason: &str, message: &str) -> Refusal {
        refused(status, &json!({ "code": status, "message": message, "errors": [{ "reason": reason }] }))
    }

    #[test]
    fn reasons_mean_what_they_do() {
        let cases: &[(u16, &str, &str, &str)] = &[
            (403, "rateLimitExceeded", "Rate Limit Exceeded", "throttled"),
            (429, "", "", "throttled"),
            (
                403,
                "forbidden",
                "Required 'compute.disks.list' permission for 'projects/p'",
                "denied (forbidden): compute.disks.list",
            ),
            (403, "forbidden", "no", "denied (forbidden): compute.networks.delete"),
            (403, "accessNotConfigured", "has not been used", "refused (SERVICE_DISABLED)"),
            (403, "billingDisabled", "closed", "refused (billingDisabled): closed"),
            (403, "", "", "refused (HTTP403)"),
            (404, "notFound", "was not found", "not found"),
            (400, "resourceNotReady", "is not ready", "blocked (resourceNotReady): is not ready"),
            (412, "conditionNotMet", "Supplied fingerprint does not match", "transient"),
            (412, "conditionNotMet", "Constraint constraints/compute.x violated", "locked (conditionNotMet)"),
            (503, "backendError", "", "transient failure: backendError"),
            (401, "authError", "Invalid Credentials", "refused (Unauthorized)"),
            (400, "invalid", "Invalid value", "refused (invalid): Invalid value"),
        ];
        for (status, reason, message, expected) in cases {
            let refusal = compute(*status, reason, message).to_string();
            assert!(refusal.starts_with(expected), "{reason}: {refusal}");
        }
    }

    #[test]
    fn the_reason_that_iam_gives_counts_before_the_status() {
        let info = json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "IAM_PERMISSION_DENIED",
            "metadata": { "permission": "iam.serviceAccounts.list" },
        });
        let denied =
            refused(403, &json!({ "status": "PERMISSION_DENIED", "message": "no", "details": [info] }));
        assert_eq!(denied.missing(), Some("iam.serviceAccounts.list"));
        let disabled = json!({ "reason": "SERVICE_DISABLED", "metadata": { "consumer": "projects/1" } });
        let disabled = refused(403, &json!({ "status": "PERMISSION_DENIED", "details": [disabled] }));
        assert_eq!((disabled.code(), disabled.missing()), (DISABLED, None));
    }

    #[test]
    fn an_operation_that_failed_names_what_blocks_it() {
        let message = "The network resource 'projects/pool-17/global/networks/shoot--p--c' is already being used by \
            'projects/pool-17/global/firewalls/k8s-b3baa8b865bd5710-node-http-hc'";
        let operation = json!({
            "status": "DONE", "httpErrorStatusCode": 400,
            "error": { "errors": [{ "code": "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", "message": message }] },
        });
        let refusal = GcpError::of_operation(&operation).unwrap().refusal("compute.networks.delete");
        assert_eq!(
            refusal.to_string(),
            "blocked (RESOURCE_IN_USE_BY_ANOTHER_RESOURCE): firewalls k8s-b3baa8b865bd5710-node-http-hc"
        );
        assert!(GcpError::of_operation(&json!({ "status": "DONE" })).is_none());
        assert!(GcpError::of_operation(&json!({ "status": "DONE", "httpErrorStatusCode": 500 })).is_some());
        let regional = "used by 'projects/p/regions/europe-west1/forwardingRules/a1b2'";
        assert_eq!(blocker(regional), "forwardingRules a1b2 in europe-west1");
    }

    #[test]
    fn a_message_that_repeats_the_token_is_dropped() {
        let body =
            json!({ "error": { "message": "bad token ya29.hush", "errors": [{ "reason": "invalid" }] } });
        let (status, headers) = (StatusCode::BAD_REQUEST, HeaderMap::new());
        let response = Response { status, headers, body: body.to_string().into() };
        let refusal = GcpError::read(&response).without_secret("ya29.hush").refusal("x");
        assert_eq!(refusal.to_string(), "refused (invalid)");
    }
}
