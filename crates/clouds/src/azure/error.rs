//! What a refusal of Azure means.

use crate::{Refusal, http::Response};
use allotment_core::cleanup::{clean_code, clean_message, kinds::azure_id};
use http::{StatusCode, header::RETRY_AFTER};
use serde_json::Value;
use std::{collections::BTreeSet, time::Duration};

/// The code and message of an error, as they came, with what its details are about.
#[derive(Default)]
pub(super) struct AzureError {
    code: String,
    message: String,
    /// Items that the details name, and their codes and messages.
    details: Vec<(String, String)>,
}

/// So many blockers are named.
const MOST_BLOCKERS: usize = 3;

/// Codes of a subscription that is not registered with a provider, so that nothing of it can be there.
const UNREGISTERED: &[&str] = &["MissingSubscriptionRegistration", "SubscriptionNotRegistered"];

/// The code of a cloud of Azure that does not have a provider. That of a type is no such proof: a version of the API that was
/// retired has it, too.
const NOT_OFFERED: &str = "InvalidResourceNamespace";

impl AzureError {
    /// Reads a body: `{"error": {…}}`, or the same without the envelope.
    pub(super) fn read(body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        Self::of(body.get("error").unwrap_or(&body))
    }

    /// Reads an error.
    pub(super) fn of(error: &Value) -> Self {
        let text = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let details = error.get("details").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let details = details.iter().map(|detail| (text(detail, "target"), text(detail, "message")));
        Self { code: text(error, "code"), message: text(error, "message"), details: details.collect() }
    }

    /// The same without anything that repeats a secret.
    pub(super) fn without_secrets(self, secrets: &[&str]) -> Self {
        let repeats = |text: &str| secrets.iter().any(|secret| !secret.is_empty() && text.contains(secret));
        if repeats(&self.message) || self.details.iter().any(|(target, why)| repeats(target) || repeats(why))
        {
            return Self {
                code: if repeats(&self.code) { String::new() } else { self.code },
                ..Self::default()
            };
        }
        self
    }

    /// Why the account cannot have the kind, if that is what the error says.
    pub(super) fn absence(code: &str) -> Option<&'static str> {
        if UNREGISTERED.contains(&code) {
            return Some("the subscription is not registered with the resource provider");
        }
        (code == NOT_OFFERED).then_some("this cloud of Azure does not offer the resource provider")
    }

    /// The refusal. `permission` is the one that the call needs; `own` is the id of the item, which is no blocker.
    pub(super) fn refusal(self, response: &Response, permission: &str, own: &str) -> Refusal {
        let code = clean_code(&self.code, response.status.as_u16());
        match response.status {
            StatusCode::TOO_MANY_REQUESTS => Refusal::Throttled { after: retry_after(response) },
            // A parent that is not there has no children either; a service that is not there is no item.
            StatusCode::NOT_FOUND if !is_about_types(&code) => Refusal::Gone,
            StatusCode::UNAUTHORIZED => {
                Refusal::Other { code, message: "Resource Manager does not accept the token".to_owned() }
            }
            status if status.is_server_error() => Refusal::Transient { why: code },
            status => self.by_code(status, code, permission, own),
        }
    }

    /// The refusal of an operation that was accepted and failed later: there is no status, only the code.
    pub(super) fn late(self, permission: &str, own: &str) -> Refusal {
        let code = clean_code(&self.code, StatusCode::CONFLICT.as_u16());
        let is_passing =
            ["InternalServerError", "InternalError", "ServerTimeout", "OperationTimedOut", "Canceled"];
        if is_passing.contains(&code.as_str()) {
            return Refusal::Transient { why: code };
        }
        self.by_code(StatusCode::CONFLICT, code, permission, own)
    }

    fn by_code(self, status: StatusCode, code: String, permission: &str, own: &str) -> Refusal {
        let by = self.blocker(own);
        let is = |words: &[&str]| words.iter().any(|word| code.contains(word));
        match code.as_str() {
            "ScopeLocked" | "DenyAssignmentAuthorizationFailed" => Refusal::Locked { code, by },
            "ReadOnlyDisabledSubscription" | "SubscriptionDisabled" | "SubscriptionNotActive" => {
                Refusal::Locked { code, by: "the subscription is disabled".to_owned() }
            }
            // A policy that a tenant assigned goes later in the same pass.
            "RequestDisallowedByPolicy" | "RequestDisallowedByAzure" => Refusal::Blocked { code, by },
            _ if AzureError::absence(&code).is_some() || is_about_types(&code) => {
                Refusal::Other { code, message: clean_message(&self.message) }
            }
            _ if status == StatusCode::FORBIDDEN => {
                Refusal::Denied { action: self.action().unwrap_or(permission).to_owned(), code }
            }
            _ if status == StatusCode::CONFLICT || status == StatusCode::PRECONDITION_FAILED => {
                Refusal::Blocked { code, by }
            }
            _ if is(&["InUse", "CannotBeDeleted", "CannotDelete", "NotAllowed", "AnotherOperation"]) => {
                Refusal::Blocked { code, by }
            }
            _ => Refusal::Other { code, message: clean_message(&self.message) },
        }
    }

    /// The permission that is missing, in Azure's own words.
    fn action(&self) -> Option<&str> {
        let (_, rest) = self.message.split_once("perform action '")?;
        let (action, _) = rest.split_once('\'')?;
        let is_action = |char: char| char.is_ascii_alphanumeric() || "./*_-".contains(char);
        (action.len() <= 120 && action.chars().all(is_action)).then_some(action)
    }

    /// The ids in the details and the message, else the message itself. Ids are longer than any word that a message may have.
    fn blocker(&self, own: &str) -> String {
        let targets = self.details.iter().map(|(target, _)| target.as_str());
        let reasons = self.details.iter().map(|(_, why)| why.as_str());
        let ids: BTreeSet<String> = targets
            .chain(std::iter::once(self.message.as_str()))
            .chain(reasons)
            .flat_map(ids_in)
            .filter(|id| !own.starts_with(id.as_str()))
            .collect();
        if ids.is_empty() {
            return clean_message(&self.message);
        }
        let more = ids.len().saturating_sub(MOST_BLOCKERS);
        let named: Vec<String> = ids.into_iter().take(MOST_BLOCKERS).collect();
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{rest}", named.join(", "))
    }
}

/// Whether a code is about a provider, a type or a location, and about no item.
pub(super) fn is_about_types(code: &str) -> bool {
    let codes = [
        "InvalidResourceNamespace",
        "InvalidResourceType",
        "NoRegisteredProviderFound",
        "LocationNotAvailable",
    ];
    codes.iter().any(|known| code.starts_with(known))
}

/// The ids of Azure in a text, in the form in which they are compared.
fn ids_in(text: &str) -> impl Iterator<Item = String> + '_ {
    let is_end = |char: char| char.is_whitespace() || "'\"`,;\\".contains(char);
    let words = text.split(is_end).map(|word| word.trim_end_matches(['.', ')', ']']));
    words.filter(|word| word.to_ascii_lowercase().starts_with("/subscriptions/")).filter_map(azure_id)
}

/// How long the cloud asks to wait.
pub(super) fn retry_after(response: &Response) -> Option<Duration> {
    let value = response.headers.get(RETRY_AFTER)?.to_str().ok()?;
    value.parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderMap;
    use serde_json::json;

    const OWN: &str = "resourcegroups/g";

    fn refused(status: u16, code: &str, message: &str) -> Refusal {
        let body = json!({ "error": { "code": code, "message": message } }).to_string();
        let status = StatusCode::from_u16(status).unwrap();
        let response = Response { status, headers: HeaderMap::new(), body: body.into() };
        AzureError::read(&response.body).refusal(&response, "X/y/delete", OWN)
    }

    #[test]
    fn codes_and_statuses_tell_what_to_do() {
        let cases = [
            (
                409,
                "ScopeLocked",
                "The scope '/subscriptions/1/resourceGroups/G' cannot perform delete operation because following scope(s) are \
                 locked: '/subscriptions/1/resourceGroups/G/providers/Microsoft.Compute/disks/d'. Please remove the lock",
                "locked (ScopeLocked): resourcegroups/g/providers/microsoft.compute/disks/d",
            ),
            (
                403,
                "AuthorizationFailed",
                "The client 'c' with object id 'o' does not have authorization to perform action \
                 'Microsoft.Authorization/locks/delete' over scope '/subscriptions/1' or the scope is invalid.",
                "denied (AuthorizationFailed): Microsoft.Authorization/locks/delete",
            ),
            (403, "AuthorizationFailed", "no", "denied (AuthorizationFailed): X/y/delete"),
            (
                400,
                "InUseSubnetCannotBeDeleted",
                "Subnet nodes is in use by /subscriptions/1/resourceGroups/h/providers/Microsoft.Network/networkInterfaces/n and \
                 cannot be deleted.",
                "blocked (InUseSubnetCannotBeDeleted): resourcegroups/h/providers/microsoft.network/networkinterfaces/n",
            ),
            (
                409,
                "OperationNotAllowed",
                "Disk d is attached to VM v.",
                "blocked (OperationNotAllowed): Disk d is",
            ),
            (409, "MissingSubscriptionRegistration", "x", "refused (MissingSubscriptionRegistration)"),
            (409, "ReadOnlyDisabledSubscription", "x", "locked (ReadOnlyDisabledSubscription)"),
            (404, "ResourceGroupNotFound", "x", "not found"),
            (404, "InvalidResourceNamespace", "x", "refused (InvalidResourceNamespace)"),
            (404, "InvalidResourceType", "x", "refused (InvalidResourceType)"),
            (429, "TooManyRequests", "x", "throttled"),
            (503, "ServerTimeout", "x", "transient failure: ServerTimeout"),
            (
                400,
                "InvalidApiVersionParameter",
                "The api-version is wrong",
                "refused (InvalidApiVersionParameter)",
            ),
            (
                401,
                "ExpiredAuthenticationToken",
                "eyJ0",
                "refused (ExpiredAuthenticationToken): Resource Manager",
            ),
        ];
        for (status, code, message, expected) in cases {
            let refusal = refused(status, code, message).to_string();
            assert!(refusal.starts_with(expected), "{status} {code}: {refusal}");
        }
    }

    #[test]
    fn a_late_failure_names_what_could_not_be_deleted() {
        let error = json!({
            "code": "ResourceGroupDeletionBlocked",
            "message": "Deletion of resource group 'g' failed as resources with identifiers 'x' could not be deleted.",
            "details": [{
                "target": "/subscriptions/1/resourceGroups/g/providers/Microsoft.Network/routeTables/r",
                "message": "{\"error\":{\"code\":\"InUseRouteTableCannotBeDeleted\"}}",
            }],
        });
        let refusal = AzureError::of(&error).late("X/delete", OWN);
        assert_eq!(refusal.code(), "ResourceGroupDeletionBlocked");
        assert_eq!(refusal.blocked_by(), Some("resourcegroups/g/providers/microsoft.network/routetables/r"));
        let passing = AzureError::of(&json!({ "code": "InternalServerError" })).late("", "");
        assert!(matches!(passing, Refusal::Transient { .. }));
    }

    #[test]
    fn a_message_that_repeats_a_secret_is_dropped() {
        let error =
            AzureError::of(&json!({ "code": "X", "message": "token hush" })).without_secrets(&["hush", ""]);
        assert!(error.message.is_empty() && error.code == "X");
    }
}
