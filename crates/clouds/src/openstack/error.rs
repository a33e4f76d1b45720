//! What a refusal of OpenStack means. Every service has a body of its own.

use crate::{Refusal, http::Response};
use allotment_core::cleanup::{clean_code, clean_message};
use http::{StatusCode, header::RETRY_AFTER};
use serde_json::Value;
use std::{collections::BTreeSet, time::Duration};

/// The code and message of an error, as they came.
pub(super) struct OpenStackError {
    code: String,
    message: String,
}

/// So many blockers are named.
const MOST_BLOCKERS: usize = 5;

/// The length of an id: 32 hexadecimal digits and 4 dashes.
const ID: usize = 36;

/// Words with which services that have no code for it say that something else has to go first.
const BLOCKED: &[&str] = &[
    "must not be",
    "has children",
    "in use",
    "is immutable",
    "invalid state",
    "pending_",
    "dependent",
    "has snapshots",
    "has a snapshot",
    "must be available",
    "status must be",
    "while it is in",
];

impl OpenStackError {
    /// Reads the bodies of all services.
    pub(super) fn read(response: &Response) -> Self {
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let text = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        if let Some(error) = body.get("NeutronError") {
            return Self { code: text(error, "type"), message: text(error, "message") };
        }
        if body.get("faultstring").is_some() {
            return Self { code: String::new(), message: text(&body, "faultstring") };
        }
        if let Some(error) = body.get("error") {
            return Self { code: text(error, "title"), message: text(error, "message") };
        }
        // glance, and whatever fails before a service's own code.
        if body.get("title").is_some() {
            return Self { code: text(&body, "title"), message: text(&body, "message") };
        }
        // nova, cinder and manila: one field, whose name is the code.
        let field =
            body.as_object().filter(|fields| fields.len() == 1).and_then(|fields| fields.iter().next());
        if let Some((code, error)) = field.filter(|(_, error)| error.is_object()) {
            return Self { code: code.clone(), message: text(error, "message") };
        }
        // A proxy: text, or a page.
        let message =
            if body.is_null() { String::from_utf8_lossy(&response.body).into_owned() } else { String::new() };
        Self { code: String::new(), message: message.chars().take(1000).collect() }
    }

    /// The same without anything that repeats a secret. Cleaning a message would keep a password that looks like words.
    pub(super) fn without_secrets(self, secrets: &[&str]) -> Self {
        let repeats = |text: &str| secrets.iter().any(|secret| !secret.is_empty() && text.contains(secret));
        let only_clean = |text: String| if repeats(&text) { String::new() } else { text };
        Self { code: only_clean(self.code), message: only_clean(self.message) }
    }

    /// The refusal. `permission` is the one that the call needs; `own` is the id of the item, which is no blocker.
    pub(super) fn refusal(self, response: &Response, permission: &str, own: &str) -> Refusal {
        let Self { code, message } = self;
        let status = response.status;
        let lower = message.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let bounded = clean_code(&code, status.as_u16());
        match status {
            // nova and cinder throttle with 413.
            StatusCode::TOO_MANY_REQUESTS | StatusCode::PAYLOAD_TOO_LARGE => {
                Refusal::Throttled { after: retry_after(response) }
            }
            StatusCode::NOT_FOUND => Refusal::Gone,
            StatusCode::UNAUTHORIZED => Refusal::Other {
                code: "Unauthorized".to_owned(),
                message: "the service does not accept the token".to_owned(),
            },
            StatusCode::FORBIDDEN | StatusCode::CONFLICT if says(&["is locked", "is protected"]) => {
                Refusal::Locked { code: bounded, by: "it is locked or protected".to_owned() }
            }
            StatusCode::FORBIDDEN => Refusal::Denied { code: bounded, action: permission.to_owned() },
            StatusCode::CONFLICT => Refusal::Blocked { code: bounded, by: blocker(&message, own) },
            StatusCode::BAD_REQUEST if says(BLOCKED) => {
                Refusal::Blocked { code: bounded, by: blocker(&message, own) }
            }
            status if status.is_server_error() => Refusal::Transient { why: bounded },
            _ => Refusal::Other { code: bounded, message: clean_message(&message) },
        }
    }
}

/// The ids in a message, else the message itself. A list of ids without spaces is one long word, which no message may have.
fn blocker(message: &str, own: &str) -> String {
    let is_id = |word: &&str| word.len() == ID && word.bytes().filter(|byte| *byte == b'-').count() == 4;
    let words = message.split(|char: char| !(char.is_ascii_hexdigit() || char == '-'));
    let ids: BTreeSet<&str> = words.filter(is_id).filter(|id| *id != own).collect();
    if ids.is_empty() {
        return clean_message(message);
    }
    let what = if message.contains("ports is") { "ports " } else { "" };
    let more = ids.len().saturating_sub(MOST_BLOCKERS);
    let named: Vec<&str> = ids.into_iter().take(MOST_BLOCKERS).collect();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{what}{}{rest}", named.join(", "))
}

fn retry_after(response: &Response) -> Option<Duration> {
    let value = response.headers.get(RETRY_AFTER)?.to_str().ok()?;
    value.parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderMap;
    use serde_json::json;

    const NETWORK: &str = "11111111-1111-4111-8111-111111111111";
    const PORTS: [&str; 2] = ["22222222-2222-4222-8222-222222222222", "33333333-3333-4333-8333-333333333333"];

    fn refused(status: u16, body: &str) -> Refusal {
        let status = StatusCode::from_u16(status).unwrap();
        let response = Response { status, headers: HeaderMap::new(), body: body.to_owned().into() };
        OpenStackError::read(&response).refusal(&response, "delete_network", NETWORK)
    }

    #[test]
    fn the_body_of_every_service_is_understood() {
        let neutron = |kind: &str, message: &str| {
            json!({ "NeutronError": { "type": kind, "message": message, "detail": "" } }).to_string()
        };
        let nova = |code: &str, message: &str| json!({ code: { "code": 1, "message": message } }).to_string();
        let octavia = |message: &str| {
            json!({ "faultcode": "Client", "faultstring": message, "debuginfo": null }).to_string()
        };
        let volume = "Invalid volume: Volume status must be available or error and must not be migrating, attached, belong \
            to a group, have snapshots, awaiting a transfer.";
        let cases = [
            (
                409,
                neutron("SubnetInUse", "One or more ports have an IP allocation"),
                "blocked (SubnetInUse): One or",
            ),
            (409, neutron("SecurityGroupInUse", "Security Group x in use."), "blocked (SecurityGroupInUse)"),
            (
                403,
                neutron("PolicyNotAuthorized", "rule:delete_network is disallowed"),
                "denied (PolicyNotAuthorized): delete_network",
            ),
            (404, neutron("NetworkNotFound", "no"), "not found"),
            (400, nova("badRequest", volume), "blocked (badRequest): Invalid volume"),
            (400, nova("badRequest", "Invalid input"), "refused (badRequest): Invalid input"),
            (409, nova("conflictingRequest", "Instance x is locked"), "locked (conflictingRequest)"),
            (409, nova("conflictingRequest", "Cannot 'delete' while it is in task_state x"), "blocked"),
            (413, nova("overLimit", "This request was rate-limited."), "throttled"),
            (403, nova("forbidden", "Policy doesn't allow x"), "denied (forbidden): delete_network"),
            (
                409,
                octavia("Invalid state PENDING_CREATE of loadbalancer resource x"),
                "blocked (HTTP409): Invalid state PENDING_CREATE",
            ),
            (
                400,
                octavia("Validation failure: Cannot delete Load Balancer x - it has children"),
                "blocked (HTTP400)",
            ),
            (403, "<html>Image x is protected and cannot be deleted.</html>".to_owned(), "locked (HTTP403)"),
            (
                403,
                json!({ "message": "Image x is protected and cannot be deleted.<br />", "title": "Forbidden" })
                    .to_string(),
                "locked (Forbidden)",
            ),
            (503, "<html>down</html>".to_owned(), "transient failure: HTTP503"),
            (
                401,
                json!({ "error": { "title": "Unauthorized", "message": "gAAAAtoken" } }).to_string(),
                "refused (Unauthorized): the service",
            ),
        ];
        for (status, body, expected) in cases {
            let refusal = refused(status, &body).to_string();
            assert!(refusal.starts_with(expected), "{body}: {refusal}");
        }
    }

    #[test]
    fn the_blockers_are_named_and_the_item_itself_is_none() {
        let message = format!(
            "Unable to complete operation on network {NETWORK}. There are one or more ports still in use on the network, \
             id for these ports is: {}.",
            PORTS.join(",")
        );
        let body = json!({ "NeutronError": { "type": "NetworkInUse", "message": message, "detail": "" } });
        let refusal = refused(409, &body.to_string());
        assert_eq!(refusal.blocked_by(), Some(format!("ports {}, {}", PORTS[0], PORTS[1]).as_str()));
        assert_eq!(refusal.code(), "NetworkInUse");
    }
}
