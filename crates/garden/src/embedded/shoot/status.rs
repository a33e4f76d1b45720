//! The status of a Shoot: what the gardenlet says of it.

use super::super::{
    json::{at, fill, items, text},
    refusals::{duplicate, immutable, invalid, required},
};
use super::{mutate, refuse};
use allotment_apiserver::{
    error::{ApiError, FieldError},
    extension::Write,
};
use serde_json::{Value, json};

/// The status of a Shoot that nobody has said anything about.
pub(super) fn empty() -> Value {
    json!({ "gardener": { "id": "", "name": "", "version": "" }, "hibernated": false, "technicalID": "", "uid": "" })
}

/// Decides about a new status.
pub(super) fn admit(write: &mut Write<'_>) -> Result<(), ApiError> {
    let Some(old) = write.old else { return Ok(()) };
    // A write to the status may change labels, but not these.
    mutate::extension_labels(write.new);
    fill(write.new, &json!({ "status": empty() }));
    let mut errors = Vec::new();
    for field in ["uid", "technicalID", "clusterIdentity"] {
        let pointer = format!("/status/{field}");
        if !text(old, &pointer).is_empty() {
            errors.extend(immutable(&format!("status.{field}"), at(write.new, &pointer), at(old, &pointer)));
        }
    }
    errors.extend(addresses(write.new));
    refuse(write, errors)
}

fn addresses(shoot: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut names = Vec::new();
    for (n, address) in items(shoot, "/status/advertisedAddresses").iter().enumerate() {
        let path = format!("status.advertisedAddresses[{n}]");
        match text(address, "/name") {
            "" => errors.push(required(format!("{path}.name"), "field must not be empty")),
            name if names.contains(&name) => errors.push(duplicate(format!("{path}.name"), name)),
            name => {
                names.push(name);
                errors.extend(look_at(&format!("{path}.url"), text(address, "/url")));
            }
        }
    }
    errors
}

fn look_at(field: &str, url: &str) -> Vec<FieldError> {
    const FORM: &str = "; desired format: https://host[:port]";
    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = rest.split_once("://").unwrap_or(("", rest));
    let authority = if scheme.is_empty() { "" } else { rest.split('/').next().unwrap_or_default() };
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let mut errors = Vec::new();
    for (wrong, value, detail) in [
        (scheme != "https", scheme, "'https' is the only allowed URL scheme"),
        (host.is_empty(), host, "host must be provided"),
        (!user.is_empty(), user, "user information is not permitted in the URL"),
        (!fragment.is_empty(), fragment, "fragments are not permitted in the URL"),
        (!query.is_empty(), query, "query parameters are not permitted in the URL"),
    ] {
        if wrong {
            errors.push(invalid(field, value, format!("{detail}{FORM}")));
        }
    }
    errors
}
