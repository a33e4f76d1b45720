//! Once it is calm: people take back what they are told is wrong.

use super::{changed, take_back};
use crate::stage::world::{By, World, path_of};
use http::Method;
use serde_json::{Value, json};

/// Tokens live longer than any run lasts, as those of whoever asks: one that is due is rotated, which is not quiet.
const LIFE_SECONDS: u64 = 7200;

/// Why a KubeconfigRequest is not served until somebody changes it.
const UNSERVED: [&str; 4] = ["NamespaceMissing", "SecretTaken", "NameTaken", "Forbidden"];

/// Looks at the Clusters and KubeconfigRequests that people changed; whether there was anything to take back.
pub(crate) fn look(world: &World) -> bool {
    let mut is_busy = false;
    for (key, cluster) in changed(world, "Cluster") {
        if is_answered(&cluster) && reason(&cluster, "ClusterProvisioned") == "Invalid" {
            is_busy |= take_back(world, &key);
        }
    }
    for (key, request) in changed(world, "KubeconfigRequest") {
        let phase = request["status"]["phase"].as_str().unwrap_or_default();
        let is_unserved = UNSERVED.contains(&reason(&request, "Ready"));
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

/// Whether the status is about what is asked for now.
fn is_answered(object: &Value) -> bool {
    object["status"]["observedGeneration"] == object["metadata"]["generation"]
}

/// Why a condition is as it is.
fn reason<'a>(object: &'a Value, condition: &str) -> &'a str {
    let mut all = object["status"]["conditions"].as_array().into_iter().flatten();
    all.find(|one| one["type"] == condition).and_then(|one| one["reason"].as_str()).unwrap_or_default()
}
