//! The calls of the cleanup operator.

use allotment_api::names::{annotation, pool};
use serde_json::Value;

/// A live read of a pool entry.
pub(crate) const LIVE_ENTRY: &str = "read live entry";

pub(crate) fn reading(plural: &str, name: &str, query: &str) -> &'static str {
    let watch = query.contains("watch=");
    match plural {
        "leases" => "read cleanup lease",
        "configmaps" => "read ledger of fence",
        "secrets" => "read credentials",
        "credentialsbindings" if watch => "watch pool",
        "credentialsbindings" if name.is_empty() => "list pool",
        "credentialsbindings" => LIVE_ENTRY,
        "shoots" if watch => "watch shoots of pool",
        "shoots" if query.contains("limit=1&") || query.ends_with("limit=1") => "newest shoot of pool",
        "shoots" => "list shoots of pool",
        _ if watch => "watch other pools",
        _ => "list other pools",
    }
}

pub(crate) fn writing(plural: &str, body: &Value) -> &'static str {
    let metadata = &body["metadata"];
    match plural {
        "leases" => "cleanup lease",
        "events" => "cleanup event",
        "credentialsbindings" if metadata["labels"].get(pool::DIRTY).is_some() => "free account",
        "credentialsbindings" => match metadata["annotations"].get(annotation::CLEANUP_STUCK) {
            Some(Value::Null) => "unstick account",
            Some(_) => "stick account",
            None => "other write",
        },
        _ => "other write",
    }
}
