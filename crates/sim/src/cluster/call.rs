//! What a call of the cluster operator is.

use crate::stage::call::Call;
use allotment_api::{gardener::names::CONFIRM_DELETION, names::finalizer};
use allotment_core::check::{Fleet, Stage};
use http::Method;
use serde_json::Value;

pub(crate) fn reading(plural: &str, name: &str, query: &str) -> &'static str {
    let watch = query.contains("watch=");
    match (plural, name.is_empty()) {
        ("leases", _) => "read cluster lease",
        ("clusters", true) if watch => "watch clusters",
        ("clusters", true) => "list clusters",
        ("clusters", false) => "read cluster",
        ("subscriptionrequests", true) if watch => "watch own requests",
        ("subscriptionrequests", true) => "list own requests",
        ("subscriptionrequests", false) => "read own request",
        ("shoots", true) if watch => "watch own shoots",
        ("shoots", true) if query.contains("%3D") => "look for own shoot",
        ("shoots", true) => "list own shoots",
        ("shoots", false) => "read shoot",
        ("cloudprofiles", _) if watch => "watch profiles",
        ("cloudprofiles", _) => "list profiles",
        ("credentialsbindings", _) => "read account",
        ("accesslocks", _) if watch => "watch cluster locks",
        ("accesslocks", _) => "list cluster locks",
        ("configmaps", true) => "look for maps",
        ("configmaps", false) => "read map",
        ("shootadoptions", _) if watch => "watch adoptions",
        ("shootadoptions", _) => "list adoptions",
        ("clusterrolebindings", true) => "look for grants",
        ("clusterrolebindings", false) => "read grant",
        _ if watch => "watch other things",
        _ => "list other things",
    }
}

pub(crate) fn writing(method: &Method, plural: &str, sub: Option<&str>, body: &Value) -> &'static str {
    let metadata = &body["metadata"];
    let deletes = *method == Method::DELETE;
    match plural {
        "leases" => "cluster lease",
        "events" => "cluster event",
        "clusters" if sub == Some("status") => "cluster status",
        "clusters" => match metadata["finalizers"].as_array() {
            Some(names) if names.iter().any(|name| name == finalizer::CLUSTER) => "hold",
            Some(_) => "let go",
            None => "unmark",
        },
        "subscriptionrequests" if deletes => "give back",
        "subscriptionrequests" if *method == Method::POST => "ask",
        "subscriptionrequests" => "let request go",
        "shoots" if sub == Some("adminkubeconfig") => ADMIN,
        "shoots" if deletes => "delete shoot",
        "shoots" if body.get("spec").is_none() && metadata["annotations"].get(CONFIRM_DELETION).is_some() => {
            "confirm deletion"
        }
        "shoots" if body.get("spec").is_none() && metadata.get("labels").is_some() => "release shoot",
        "shoots" if body.get("spec").is_none() => "retry",
        "shoots" if metadata.get("resourceVersion").is_none() => "create shoot",
        "shoots" => "update shoot",
        "configmaps" if deletes => "remove map",
        "configmaps" => "map",
        "shootadoptions" => "adoption status",
        "clusterrolebindings" if deletes => "revoke",
        "clusterrolebindings" => "grant",
        _ => "other write",
    }
}

/// It is a POST, and changes nothing.
pub(crate) const ADMIN: &str = "admin kubeconfig";

/// The state that matters to a call.
pub(crate) fn state_of(operation: &str, fleet: &Fleet, call: &Call) -> &'static str {
    let stage = || match fleet.shoots.get(&call.name).map(|stand| stand.stage) {
        None => "none",
        Some(Stage::Working) => "working",
        Some(Stage::Done) => "done",
        Some(Stage::GivenUp) => "given up",
    };
    match operation {
        "create shoot" => {
            let wish = fleet.clusters.values().find(|wish| wish.shoot_name == call.name);
            if wish.is_some_and(|wish| wish.shoot_uid.is_some()) { "again" } else { "first" }
        }
        "update shoot" | "confirm deletion" | "delete shoot" => stage(),
        "read shoot" if fleet.shoots.contains_key(&call.name) => "there",
        "read shoot" => "none",
        "cluster status" => match call.phase.as_deref() {
            Some("Pending") => "Pending",
            Some("Waiting") => "Waiting",
            Some("Creating") => "Creating",
            Some("Ready") => "Ready",
            Some("Updating") => "Updating",
            Some("Unhealthy") => "Unhealthy",
            Some("Invalid") => "Invalid",
            Some("Blocked") => "Blocked",
            Some("Failed") => "Failed",
            Some("Deleting") => "Deleting",
            _ => "none",
        },
        _ => "any",
    }
}
