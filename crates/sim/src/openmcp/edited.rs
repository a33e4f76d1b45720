//! Once it is calm: people take back what they changed and what cannot be had.

use super::{
    Realm,
    read::{CLUSTER_CONFIG, number, text},
};
use crate::stage::{
    edit::{changed, take_back},
    world::World,
};
use serde_json::Value;

/// The versions of Kubernetes that CloudProfiles have.
const VERSIONS: [&str; 3] = ["", "1.34", "1.35"];

/// Whether there was anything to take back.
pub(super) fn look(world: &World) -> bool {
    let mut is_busy = false;
    for (kind, is_wrong) in KINDS {
        for (key, object) in changed(world, kind) {
            is_busy |= is_wrong(&object) && take_back(world, &key);
        }
    }
    is_busy
}

type IsWrong = fn(&Value) -> bool;

const KINDS: [(&str, IsWrong); 5] = [
    // Whoever runs the platform has them work in the end.
    ("Landscape", |_| true),
    ("ProviderConfig", |_| true),
    ("ClusterConfig", |_| true),
    ("Cluster", |cluster| {
        let configs = cluster.pointer("/spec/clusterConfigs").and_then(Value::as_array);
        let mut configs = configs.into_iter().flatten();
        !VERSIONS.contains(&text(cluster, "/spec/kubernetes/version"))
            || configs.any(|config| text(config, "/name") != CLUSTER_CONFIG)
    }),
    // Whose time is over goes, and is not at rest before.
    ("AccessRequest", |request| {
        let is_answered =
            number(request, "/status/observedGeneration") == number(request, "/metadata/generation");
        let is_denied = is_answered && text(request, "/status/phase") == "Denied";
        is_denied || request.pointer("/spec/ttl").is_some()
    }),
];

/// Somebody is about to change an object.
pub(crate) fn announce(realm: &Realm, kind: &str, object: &Value, to: &Value) {
    let mut sight = realm.sight();
    match kind {
        // Whoever has a Cluster reconciled whose Shoot is missing gets another one.
        "Cluster" if to == "reconcile" => {
            sight.estate.forced.insert(text(object, "/metadata/uid").to_owned());
        }
        "ClusterConfig" | "ProviderConfig" => sight.is_reshaped = true,
        _ => (),
    }
}
