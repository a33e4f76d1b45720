//! What a call of the subscription operator is, in the words of the claim protocol.

use allotment_api::names::{annotation, finalizer, pool};
use serde_json::Value;

pub(crate) fn reading(plural: &str, name: &str, query: &str) -> &'static str {
    let watch = query.contains("watch=");
    match plural {
        "leases" => "read lease",
        "configmaps" => "read identity",
        "namespaces" if name == "kube-system" => "read control plane",
        "subscriptionrequests" if watch => "watch requests",
        "subscriptionrequests" if name.is_empty() => "list requests",
        "subscriptionrequests" => "read request",
        "credentialsbindings" if watch => "watch entries",
        "credentialsbindings" if name.is_empty() => "list entries",
        "credentialsbindings" => "read entry",
        "shoots" if watch => "watch shoots",
        "shoots" if query.contains("labelSelector=") => "look for shoot",
        "shoots" if query.contains("limit=1&") || query.ends_with("limit=1") => "newest shoot",
        "shoots" => "list shoots",
        _ if watch => "watch others",
        _ => "list others",
    }
}

pub(crate) fn writing(plural: &str, status: bool, body: &Value) -> &'static str {
    let metadata = &body["metadata"];
    match plural {
        "leases" => "lease",
        "events" => "event",
        "configmaps" => "identity",
        "subscriptionrequests" if status && body["status"]["phase"] == "Denied" => "deny",
        "subscriptionrequests" if status => "publish",
        "subscriptionrequests" => {
            let ours = |name: &Value| name == finalizer::SUBSCRIPTION;
            match metadata["finalizers"].as_array() {
                Some(names) if names.iter().any(ours) => "finalizer",
                _ => "finalizer off",
            }
        }
        "credentialsbindings" if metadata["labels"].get(pool::TENANT_NAME).is_some() => "tenant label",
        "credentialsbindings" if metadata["labels"].get(pool::DIRTY).is_some() => "dirty label",
        "credentialsbindings" => match metadata["annotations"].get(annotation::QUARANTINE) {
            Some(Value::Null) => "lift",
            Some(_) => "quarantine",
            None => "other write",
        },
        _ => "other write",
    }
}
