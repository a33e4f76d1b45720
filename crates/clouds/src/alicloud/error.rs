//! What a refusal of Alibaba Cloud means. Every service has codes of its own; the parts of their names are alike.

use crate::{Refusal, http::Response};
use allotment_core::cleanup::{clean_code, clean_message};
use http::StatusCode;
use serde_json::Value;
use std::time::Duration;

/// The code and message of an error, as they came.
pub(super) struct AlicloudError {
    pub(super) code: String,
    message: String,
}

/// Credentials without a right, by RAM; `Forbidden` stands for a missing right only if nothing follows it.
const DENIED: &[&str] = &[
    "NoPermission",
    "Forbidden",
    "Forbidden.RAM",
    "Forbidden.RAMUser",
    "Forbidden.SubUser",
    "Forbidden.NoPermission",
    "Forbbiden.SubUser",
    "UnauthorizedOperation",
    "AccessDenied",
    "NotAuthorized",
    "Forbidden.AccessDenied",
];

/// Credentials that are not accepted. Messages to these repeat the string that was signed.
const NOT_ACCEPTED: &[&str] = &[
    "InvalidAccessKeyId",
    "InvalidAccessKey",
    "SignatureDoesNotMatch",
    "IncompleteSignature",
    "InvalidSecurityToken",
    "MissingSecurityToken",
    "MissingAccessKeyId",
    "SignatureNonceUsed",
    "InvalidTimeStamp",
    "Forbidden.AccessKeyDisabled",
];

/// A signature with a wrong time.
pub(super) const SKEWED: &str = "InvalidTimeStamp.Expired";

/// Parts of the codes with which something that uses the item, or its state, stands against a deletion.
const BLOCKED: &[&str] = &[
    "DependencyViolation",
    "InUse",
    "Conflict",
    "LastTokenProcessing",
    "OtherSubnetProcessing",
    "ResourceInConfiguring",
    "SnapshotCreatedImage",
    "SnapshotCreatedDisk",
    "TaskProcessing",
    "HasAssociat",
    "ActionInProgress",
];

const LOCKED: &[&str] = &["DeletionProtection", "DeleteProtection", "Locked", "LockReason"];

/// Something is wrong with the request, and no item is missing.
const NOT_GONE: &[&str] =
    &["InvalidRegionId", "InvalidApi", "InvalidAction", "InvalidProduct", "InvalidVersion"];

impl AlicloudError {
    /// Reads the body that all services have in common.
    pub(super) fn read(response: &Response) -> Self {
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let field = |names: [&str; 2]| {
            let found = names.iter().find_map(|name| body.get(name).and_then(Value::as_str));
            found.unwrap_or_default().to_owned()
        };
        Self { code: field(["Code", "code"]), message: field(["Message", "message"]) }
    }

    /// The refusal. `action` is the permission that the call needs.
    pub(super) fn refusal(self, response: &Response, action: &str) -> Refusal {
        let Self { code, message } = self;
        let has = |parts: &[&str]| parts.iter().any(|part| code.contains(part));
        let begins = |starts: &[&str]| starts.iter().any(|start| code.starts_with(start));
        let says = |words: &str| message.to_ascii_lowercase().contains(words);
        let bounded = clean_code(&code, response.status.as_u16());
        if begins(NOT_ACCEPTED) {
            let message = "the cloud does not accept the credentials or their signature".to_owned();
            return Refusal::Other { code: bounded, message };
        }
        if code.starts_with("Throttling") || response.status == StatusCode::TOO_MANY_REQUESTS {
            return Refusal::Throttled { after: retry_after(response) };
        }
        if DENIED.contains(&code.as_str()) || code.starts_with("NoPermission.") {
            return Refusal::Denied { code: bounded, action: action.to_owned() };
        }
        if has(LOCKED) {
            return Refusal::Locked { code: bounded, by: clean_message(&message) };
        }
        if code == "ChargeTypeViolation" {
            let by = "a subscription that is paid in advance".to_owned();
            return Refusal::Locked { code: bounded, by };
        }
        let is_missing = has(&["NotFound", "NotExist", "NOT_EXIST"]);
        if is_missing && !begins(NOT_GONE) {
            return Refusal::Gone;
        }
        if has(BLOCKED) || is_in_state(&code) || says("in use") || says("dependent resource") {
            return Refusal::Blocked { code: bounded, by: clean_message(&message) };
        }
        if response.status.is_server_error() || has(&["ServiceUnavailable", "InternalError", "SystemBusy"]) {
            return Refusal::Transient { why: bounded };
        }
        Refusal::Other { code: bounded, message: clean_message(&message) }
    }
}

/// `IncorrectVpcStatus`, `IncorrectStatus.NatGateway`, and `IncorretSnatEntryStatus`, which is really written like that.
fn is_in_state(code: &str) -> bool {
    (code.starts_with("Incorrect") || code.starts_with("Incorret") || code.contains("IncorrectStatus"))
        && (code.contains("Status") || code.contains("State"))
}

/// In milliseconds, in a header of its own.
fn retry_after(response: &Response) -> Option<Duration> {
    let value = response.headers.get("x-acs-retry-after")?.to_str().ok()?;
    value.parse().ok().filter(|milliseconds| *milliseconds > 0).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderMap;
    use serde_json::json;

    fn refused(status: u16, code: &str, message: &str) -> Refusal {
        let status = StatusCode::from_u16(status).unwrap();
        let body = json!({ "RequestId": "r", "HostId": "h", "Code": code, "Message": message });
        let response = Response { status, headers: HeaderMap::new(), body: body.to_string().into() };
        AlicloudError::read(&response).refusal(&response, "vpc:DeleteVpc")
    }

    #[test]
    fn codes_mean_what_they_do() {
        let cases: &[(u16, &str, &str)] = &[
            (400, "DependencyViolation.VSwitch", "blocked (DependencyViolation.VSwitch): m"),
            (400, "IncorretSnatEntryStatus", "blocked"),
            (403, "IncorrectInstanceStatus", "blocked"),
            (403, "IncorrectInstanceStatus.Initializing", "blocked"),
            (400, "IncorrectStatus.NatGateway", "blocked"),
            (400, "DeleteVSwitch.IncorrectStatus.cbnStatus", "blocked"),
            (400, "TaskConflict", "blocked"),
            (409, "OperationConflict", "blocked"),
            (400, "LastTokenProcessing", "blocked"),
            (400, "ResourceInUse.serverGroup", "blocked"),
            (400, "Throttling", "throttled"),
            (400, "Throttling.User", "throttled"),
            (400, "Throttling.Api", "throttled"),
            (400, "Throttling.DeepPageSkip", "throttled"),
            (429, "FlowLimit", "throttled"),
            (403, "NoPermission", "denied (NoPermission): vpc:DeleteVpc"),
            (403, "Forbidden.RAM", "denied (Forbidden.RAM): vpc:DeleteVpc"),
            (403, "InvalidOperation.DeletionProtection", "locked"),
            (403, "InstanceLockedForSecurity", "locked"),
            (403, "ChargeTypeViolation", "locked (ChargeTypeViolation): a subscription"),
            (404, "InvalidVpcID.NotFound", "not found"),
            (404, "ResourceNotFound.loadBalancer", "not found"),
            (404, "InvalidRegionId.NotFound", "refused (InvalidRegionId.NotFound)"),
            (404, "InvalidAction.NotFound", "refused"),
            (404, "InvalidAccessKeyId.NotFound", "refused (InvalidAccessKeyId.NotFound): the cloud does not"),
            (400, "SignatureNonceUsed", "refused"),
            (500, "InternalError", "transient"),
            (503, "ServiceUnavailable", "transient"),
            (502, "", "transient failure: HTTP502"),
            (400, "InvalidParameter", "refused (InvalidParameter): m"),
        ];
        for (status, code, expected) in cases {
            let refusal = refused(*status, code, "m").to_string();
            assert!(refusal.starts_with(expected), "{code}: {refusal}");
        }
    }

    #[test]
    fn a_refused_signature_repeats_nothing_of_the_request() {
        let message = "Specified signature is not matched with our calculation. server string to sign is:ACS3-HMAC-SHA256\n\
            e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 LTAI5tExampleExample";
        for code in ["SignatureDoesNotMatch", "InvalidAccessKeyId.NotFound", "InvalidTimeStamp.Expired"] {
            let refusal = refused(400, code, message);
            let printed = format!("{refusal} {refusal:?}");
            assert!(!printed.contains("e3b0c442") && !printed.contains("LTAI"), "{printed}");
            assert!(
                refusal.missing().is_none(),
                "no permission is missing, so nothing can be assumed absent"
            );
        }
    }
}
