//! Once it is calm: people take back what they are told is wrong.

use super::{changed, take_back};
use crate::stage::{
    call::Side,
    world::{By, World, path_of},
};
use http::Method;
use serde_json::{Value, json};

/// Tokens live longer than any run lasts, as those of whoever asks: one that is due is rotated, which is not quiet.
const LIFE_SECONDS: u64 = 7200;

/// Why a KubeconfigRequest is not served until somebody changes it.
const UNSERVED: [&str; 4] = ["NamespaceMissing", "SecretTaken", "NameTaken", "Forbidden"];

/// What a request that is still served is told to change. Any other trouble is not people's to put right.
const REMEDIES: [&str; 2] = ["set spec.role.createNamespace", "name another one in spec.secretRef"];

/// Looks at the Clusters and KubeconfigRequests that people changed; whether there was anything to take back.
pub(crate) fn look(world: &World) -> bool {
    let mut is_busy = give_up(world);
    for (key, cluster) in changed(world, "Cluster") {
        if is_invalid(&cluster) {
            is_busy |= take_back(world, &key);
        }
    }
    for (key, request) in changed(world, "KubeconfigRequest") {
        let phase = request["status"]["phase"].as_str().unwrap_or_default();
        let told = text(&request, "Ready", "message");
        let is_told = REMEDIES.iter().any(|remedy| told.contains(remedy));
        let is_unserved = is_told || UNSERVED.contains(&reason(&request, "Ready"));
        if is_answered(&request) && (phase == "Denied" || is_unserved) {
            is_busy |= take_back(world, &key);
        }
        if request["spec"]["expiration"].as_u64().is_some_and(|seconds| seconds < LIFE_SECONDS) {
            let longer = json!({ "spec": { "expiration": LIFE_SECONDS } });
            let path = path_of("kubeconfigrequests", &key.2);
            path.map(|path| world.act(By::Other, Method::PATCH, &path, Some(&longer)));
            is_busy = true;
        }
    }
    is_busy
}

/// What can be set once and is wrong cannot be taken back: people delete the Cluster.
fn give_up(world: &World) -> bool {
    let spoiled = world.state().edits.taken_back.clone();
    if spoiled.is_empty() {
        return false;
    }
    let names: Vec<String> = {
        let state = world.state();
        let all = state.eyes.fleet.clusters.iter().filter(|(_, wish)| spoiled.contains(&wish.uid));
        all.filter(|(_, wish)| !wish.deleting && wish.is_valid).map(|(name, _)| name.clone()).collect()
    };
    let mut is_busy = false;
    for path in names.iter().filter_map(|name| path_of("clusters", name)) {
        let (_, cluster) = world.ask(Side::ControlPlane, Method::GET, &path, None);
        if is_invalid(&cluster) {
            world.act(By::Other, Method::DELETE, &path, None);
            is_busy = true;
        }
    }
    is_busy
}

/// Whether the operator says of what is asked for now that it cannot be had.
fn is_invalid(cluster: &Value) -> bool {
    is_answered(cluster) && reason(cluster, "ClusterProvisioned") == "Invalid"
}

/// Whether the status is about what is asked for now.
fn is_answered(object: &Value) -> bool {
    object["status"]["observedGeneration"] == object["metadata"]["generation"]
}

/// Why a condition is as it is.
fn reason<'a>(object: &'a Value, condition: &str) -> &'a str {
    text(object, condition, "reason")
}

fn text<'a>(object: &'a Value, condition: &str, field: &str) -> &'a str {
    let mut all = object["status"]["conditions"].as_array().into_iter().flatten();
    all.find(|one| one["type"] == condition).and_then(|one| one[field].as_str()).unwrap_or_default()
}
