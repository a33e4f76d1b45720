//! What the oracles make of objects: read in a way of its own, not with the operators' code.

use super::{Realm, garden::ShootName, providers::wiring, sees::Sight};
use allotment_core::{
    check::{Order, Plot},
    openmcp::instance::Instance,
};
use serde_json::Value;

/// Before every word of the Gardener provider.
pub(super) const OWN: &str = "gardener.clusters.openmcp.cloud";

/// The ClusterConfig that Clusters name.
pub(crate) const CLUSTER_CONFIG: &str = "x1";

/// The path of the object that a call is about.
pub(super) fn object_path(path: &str, plural: &str, name: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    // `/api/v1/…` or `/apis/group/version/…`: the group may be called like a kind.
    let skip = if parts.get(1) == Some(&"api") { 3 } else { 4 };
    let end =
        parts.iter().skip(skip).position(|part| *part == plural).map_or(parts.len(), |end| end + skip + 1);
    format!("{}/{name}", parts[..end].join("/"))
}

/// The kind and the name in a path of an object.
pub(super) fn kind_of(path: &str) -> (&str, &str) {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or_default();
    (parts.next().unwrap_or_default(), name)
}

pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn number(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

pub(super) fn is_deleting(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

pub(super) fn has_finalizer(object: &Value, name: &str) -> bool {
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    finalizers.is_some_and(|all| all.iter().any(|one| one == name))
}

pub(super) fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][name].as_str()
}

pub(super) fn label<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object["metadata"]["labels"][name].as_str()
}

/// The provider that the labels of an object name.
pub(super) fn labelled(object: &Value) -> Option<Instance> {
    let part = |name: &str| label(object, &format!("{OWN}/{name}")).map(str::to_owned);
    Some(Instance { environment: part("environment")?, provider: part("provider-name")? })
}

/// The provider whose profile this is, and its ProviderConfig.
pub(super) fn owner_of(profile: &str) -> Option<(Instance, &str)> {
    let mut parts = profile.split('.');
    let (environment, provider, config) = (parts.next()?, parts.next()?, parts.next()?);
    (wiring(config).0 == provider)
        .then(|| (Instance { environment: environment.to_owned(), provider: provider.to_owned() }, config))
}

/// A Cluster, and what its ProviderConfig and its ClusterConfig ask for.
pub(super) fn order_of(realm: &Realm, platform: usize, cluster: &Value, sight: &Sight) -> Order {
    let owner = owner_of(text(cluster, "/spec/profile")).map(|(owner, _)| owner);
    let version = text(cluster, "/spec/kubernetes/version");
    let minor = match version {
        "1.34" | "1.35" => version.split('.').nth(1).and_then(|minor| minor.parse().ok()),
        _ => None,
    };
    let labels = ["clusters.openmcp.cloud/provider", "clusters.openmcp.cloud/k8sversion"];
    let labels: Vec<Option<&str>> = labels.into_iter().map(|name| label(cluster, name)).collect();
    let info = annotation(cluster, "clusters.openmcp.cloud/providerinfo");
    Order {
        uid: text(cluster, "/metadata/uid").to_owned(),
        generation: number(cluster, "/metadata/generation"),
        deleting: is_deleting(cluster),
        held: has_finalizer(cluster, &format!("{OWN}/cluster")),
        // A provider of another platform has nothing to do with it.
        owner: owner.filter(|owner| realm.providers.platform_of(&owner.environment) == platform),
        phase: text(cluster, "/status/phase").to_owned(),
        observed: number(cluster, "/status/observedGeneration"),
        shoot: cluster
            .pointer("/status/providerStatus/shoot/metadata/uid")
            .and_then(Value::as_str)
            .map(str::to_owned),
        told: format!("{} {labels:?} {info:?}", cluster["status"]),
        minor: minor.unwrap_or_default(),
        nodes: sight.nodes_of(platform, cluster),
        // The ClusterConfig says more than any ProviderConfig does.
        bounds: match cluster.pointer("/spec/clusterConfigs/0") {
            _ if sight.is_reshaped => (0, i64::MAX),
            Some(_) => (5, 9),
            None => (1, 4),
        },
    }
}

/// A Shoot.
pub(super) fn plot_of(shoot: &Value, forged: bool) -> Plot {
    let state = text(shoot, "/status/lastOperation/state");
    let conditions = shoot.pointer("/status/conditions").and_then(Value::as_array);
    let is_healthy =
        conditions.is_some_and(|all| !all.is_empty() && all.iter().all(|one| one["status"] == "True"));
    let addresses = shoot.pointer("/status/advertisedAddresses").and_then(Value::as_array);
    let version = text(shoot, "/spec/kubernetes/version");
    Plot {
        uid: text(shoot, "/metadata/uid").to_owned(),
        owner: labelled(shoot),
        cluster: label(shoot, &format!("{OWN}/cluster-uid")).map(str::to_owned),
        deleting: is_deleting(shoot),
        ready: state == "Succeeded"
            && text(shoot, "/status/lastOperation/type") != "Delete"
            && number(shoot, "/status/observedGeneration") == number(shoot, "/metadata/generation")
            && is_healthy
            && addresses.is_some_and(|all| !all.is_empty()),
        given_up: state == "Failed",
        minor: version.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or_default(),
        nodes: number(shoot, "/spec/provider/workers/0/maximum"),
        forged,
    }
}

/// Which Shoot a path in a garden leads to.
pub(super) fn shoot_name(garden: usize, path: &str) -> ShootName {
    let parts: Vec<&str> = path.split('/').collect();
    let namespace = parts.iter().position(|part| *part == "namespaces").and_then(|at| parts.get(at + 1));
    (garden, namespace.copied().unwrap_or_default().to_owned(), kind_of(path).1.to_owned())
}

pub(super) fn plot_name((garden, namespace, name): &ShootName) -> String {
    format!("g{garden}/{namespace}/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_about_one_object() {
        let clusters = "/apis/clusters.openmcp.cloud/v1alpha1/namespaces/default/clusters";
        for (path, plural, expected) in [
            (format!("{clusters}/k1/status"), "clusters", format!("{clusters}/k1")),
            (clusters.to_owned(), "clusters", format!("{clusters}/k1")),
            (
                "/api/v1/namespaces/a/secrets/k1".to_owned(),
                "secrets",
                "/api/v1/namespaces/a/secrets/k1".to_owned(),
            ),
        ] {
            assert_eq!(object_path(&path, plural, "k1"), expected);
        }
        assert_eq!(kind_of(&format!("{clusters}/k1")), ("clusters", "k1"));
    }
}
