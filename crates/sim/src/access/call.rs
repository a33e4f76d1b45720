//! What a call of the kubeconfig operator is.

use crate::stage::call::Side;
use allotment_api::names::finalizer;
use http::Method;
use serde_json::Value;

pub(crate) fn reading(side: Side, plural: &str, name: &str, query: &str) -> &'static str {
    let watch = query.contains("watch=");
    match (plural, name.is_empty()) {
        ("leases", _) => "read kubeconfig lease",
        ("kubeconfigrequests", true) if watch => "watch accesses",
        ("kubeconfigrequests", true) => "list accesses",
        ("kubeconfigrequests", false) => "read access",
        ("clusters", _) if watch => "watch targets",
        ("clusters", _) => "list targets",
        ("shoots", true) if watch => "watch rotations",
        ("shoots", true) => "list rotations",
        ("shoots", false) => "read target",
        ("accesslocks", _) if watch => "watch access locks",
        ("accesslocks", _) => "list access locks",
        ("secrets", _) if side == Side::ControlPlane => "read published",
        ("secrets", _) => "look for tokens",
        _ if watch => "watch other things",
        _ => "look for parts",
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
    match plural {
        "leases" => "kubeconfig lease",
        "events" => "kubeconfig event",
        "kubeconfigrequests" if sub == Some("status") => "access status",
        "kubeconfigrequests" => match body["metadata"]["finalizers"].as_array() {
            Some(names) if names.iter().any(|name| name == finalizer::KUBECONFIG) => "hold access",
            Some(_) => "let access go",
            None => "unmark access",
        },
        "shoots" => WAY,
        "serviceaccounts" if sub == Some("token") => "token",
        "namespaces" => "make namespace",
        "secrets" if side == Side::ControlPlane && deletes => "take published back",
        "secrets" if side == Side::ControlPlane => "publish to secret",
        "secrets" if deletes => "end token",
        "secrets" => "bind token",
        _ if deletes => "take part away",
        _ => "make part",
    }
}

/// The way into a Shoot: a POST that changes nothing.
pub(crate) const WAY: &str = "ask for way";

/// The state that matters to a call.
pub(crate) fn state_of(phase: Option<&str>) -> &'static str {
    match phase {
        Some("Issued") => "Issued",
        Some("Revoked") => "Revoked",
        _ => "Pending",
    }
}
