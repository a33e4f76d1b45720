//! What a call of a provider's process is.

use super::read::OWN;
use crate::stage::{
    call::{Call, Side},
    world::World,
};
use http::Method;
use serde_json::Value;

/// It is a POST, and changes nothing.
pub(crate) const ADMIN: &str = "ask for admin";

/// So is this: what a login may do.
pub(crate) const RIGHTS: &str = "ask for rights";

pub(crate) fn reading(side: Side, plural: &str, name: &str, query: &str) -> &'static str {
    let watch = query.contains("watch=");
    if side == Side::Shoot {
        return if name.is_empty() { "look for inside parts" } else { "read inside part" };
    }
    match (plural, name.is_empty()) {
        ("leases", _) => "read provider lease",
        ("clusters", true) if watch => "watch orders",
        ("clusters", true) => "list orders",
        ("clusters", false) => "read order",
        ("clusterconfigs", _) if watch => "watch patches",
        ("clusterconfigs", _) => "list patches",
        ("landscapes", _) if watch => "watch landscapes",
        ("landscapes", _) => "list landscapes",
        ("providerconfigs", _) if watch => "watch configs",
        ("providerconfigs", _) => "list configs",
        ("clusterprofiles", _) if watch => "watch offers",
        ("clusterprofiles", _) => "list offers",
        ("accessrequests", _) if watch => "watch entries",
        ("accessrequests", _) => "list entries",
        ("clusterrequests", _) if watch => "watch bookings",
        ("clusterrequests", _) => "list bookings",
        ("secrets", true) if watch => "watch secrets",
        ("secrets", true) => "list secrets",
        ("secrets", false) => "read secret",
        ("shoots", true) if watch => "watch plots",
        ("shoots", true) => "list plots",
        ("shoots", false) => "read plot",
        ("cloudprofiles", _) if watch => "watch clouds",
        ("cloudprofiles", _) => "list clouds",
        ("accesslocks", _) if watch => "watch entry locks",
        ("accesslocks", _) => "list entry locks",
        ("projects", _) => "read project",
        _ if watch => "watch foreign things",
        _ => "list foreign things",
    }
}

pub(crate) fn writing(
    side: Side,
    method: &Method,
    plural: &str,
    sub: Option<&str>,
    body: &Value,
) -> &'static str {
    let deletes = *method == Method::DELETE;
    let metadata = &body["metadata"];
    if side == Side::Shoot {
        return match (plural, method) {
            ("namespaces", _) => "make inside namespace",
            _ if sub == Some("token") => "inside token",
            (_, &Method::DELETE) => "take inside part",
            (_, &Method::POST) => "make inside part",
            _ => "put inside part back",
        };
    }
    let finalizers = metadata["finalizers"].as_array();
    let holds = finalizers.is_some_and(|all| {
        let is_ours = |name: &str| name.starts_with(OWN) || name == "clusters.openmcp.cloud/request";
        all.iter().filter_map(Value::as_str).any(is_ours)
    });
    let of_metadata = |hold, let_go, unmark| match (finalizers.is_some(), holds) {
        (true, true) => hold,
        (true, false) => let_go,
        (false, _) => unmark,
    };
    match plural {
        "leases" => "provider lease",
        "events" => "provider event",
        "selfsubjectrulesreviews" => RIGHTS,
        "clusters" if sub == Some("status") => "order status",
        "clusters" if deletes => "delete order",
        "clusters" if *method == Method::POST => "make order",
        "clusters" if finalizers.is_some() && metadata.get("labels").is_some() => "claim order",
        "clusters" if metadata.get("labels").is_some() => "label order",
        "clusters" => of_metadata("hold order", "let order go", "unmark order"),
        "landscapes" if sub == Some("status") => "landscape status",
        "landscapes" => of_metadata("hold landscape", "let landscape go", "unmark landscape"),
        "providerconfigs" if sub == Some("status") => "config status",
        "providerconfigs" => of_metadata("hold config", "let config go", "unmark config"),
        "clusterprofiles" if deletes => "withdraw offer",
        "clusterprofiles" => "offer",
        "accessrequests" if sub == Some("status") => "entry status",
        "accessrequests" if deletes => "end entry",
        "accessrequests" if metadata.get("labels").is_some() || body.get("spec").is_some() => "hand over",
        "accessrequests" => of_metadata("hold entry", "let entry go", "unmark entry"),
        "clusterrequests" if sub == Some("status") => "booking status",
        "clusterrequests" => of_metadata("hold booking", "let booking go", "unmark booking"),
        "secrets" if deletes => "clear secret",
        "secrets" => "publish secret",
        "shoots" if sub == Some("adminkubeconfig") => ADMIN,
        "shoots" if deletes => "delete plot",
        "shoots" if body.get("spec").is_none() && is_confirming(metadata) => "confirm plot",
        "shoots" if body.get("spec").is_none() => "retry plot",
        "shoots" if metadata.get("resourceVersion").is_none() => "create plot",
        "shoots" => "update plot",
        _ => "foreign write",
    }
}

fn is_confirming(metadata: &Value) -> bool {
    metadata["annotations"].get("confirmation.gardener.cloud/deletion").is_some()
}

/// The state that matters to a call.
pub(crate) fn state_of(world: &World, call: &Call) -> &'static str {
    let phase = call.phase.as_deref();
    match call.operation {
        "create plot" | "update plot" | "confirm plot" | "delete plot" => stage(world, call),
        "order status" => match phase {
            Some("Ready") => "Ready",
            Some("Terminating") => "Terminating",
            _ => "Progressing",
        },
        "entry status" | "booking status" => match phase {
            Some("Granted") => "Granted",
            Some("Denied") => "Denied",
            _ => "Pending",
        },
        "landscape status" | "config status" if phase == Some("Ready") => "Ready",
        "landscape status" | "config status" => "other",
        _ => "any",
    }
}

/// How far Gardener is with a Shoot.
fn stage(world: &World, call: &Call) -> &'static str {
    let Some(realm) = &world.realm else { return "any" };
    let sight = realm.sight();
    let end = format!("/{}", call.name);
    let plot = sight.estate.plots.iter().find(|(name, _)| name.ends_with(&end)).map(|(_, plot)| plot);
    match plot {
        _ if call.operation == "create plot" => "any",
        Some(plot) if plot.given_up => "given up",
        Some(plot) if plot.ready => "done",
        // Or it was taken away a moment ago.
        _ => "working",
    }
}
