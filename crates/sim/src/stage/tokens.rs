//! What the oracle sees of tokens: whom they are given to, and what was reason for that.

use super::{
    call::{Call, Side},
    world::{By, World},
};
use allotment_api::names::label;
use allotment_apiserver::ApiServer;
use allotment_core::check::Violation;
use http::Method;
use serde_json::Value;

/// Calls that give a token.
const GIVING: [&str; 2] = ["token", "inside token"];

/// Labels that name the request that a ServiceAccount is for.
const OWNERS: [&str; 4] = [
    label::KUBECONFIG_REQUEST,
    "gardener.clusters.openmcp.cloud/environment",
    "gardener.clusters.openmcp.cloud/managed-by-namespace",
    "gardener.clusters.openmcp.cloud/managed-by-name",
];

/// A request of openMCP: its name says all that is looked at.
fn of_openmcp(name: &str) -> String {
    format!("AccessRequest {name}")
}

impl World {
    /// A call inside a Shoot was answered well.
    pub(crate) fn see_token(&self, server: &ApiServer, call: &Call) {
        if !GIVING.contains(&call.operation) {
            return;
        }
        let path = call.path.trim_end_matches("/token");
        let (_, account) = self.ask_server(server, Method::GET, path, None);
        let labels = &account["metadata"]["labels"];
        let named: Vec<&str> = OWNERS.iter().filter_map(|name| labels[*name].as_str()).collect();
        let request = match named.as_slice() {
            [uid] => (*uid).to_owned(),
            [.., name] => of_openmcp(name),
            [] => return,
        };
        let seconds = self.millis() / 1000;
        let count = self.state().tokens.given(&request, seconds);
        self.found(count.map(|count| Violation::TooManyTokens(request, count)).into_iter().collect());
    }

    /// Something was written that may be a reason to give somebody a token.
    pub(crate) fn see_cause(&self, call: &Call, by: By, object: Option<&Value>) {
        let mut state = self.state();
        match (call.plural.as_str(), call.side) {
            ("kubeconfigrequests", _) if by != By::Operator => {
                if let Some(uid) = object.and_then(|object| object["metadata"]["uid"].as_str()) {
                    state.tokens.changed(uid);
                }
            }
            ("accessrequests", _) if by != By::Operator => state.tokens.changed(&of_openmcp(&call.name)),
            ("secrets", Side::ControlPlane) if by != By::Operator => {
                state.tokens.changed(&of_openmcp(call.name.trim_end_matches(".kubeconfig")));
            }
            // Another Shoot, or another Cluster of that name, is another place.
            ("shoots", _) if call.method != Method::PATCH => state.tokens.disturbed(),
            ("clusters", Side::ControlPlane) if by != By::Operator => state.tokens.disturbed(),
            _ => (),
        }
    }
}
