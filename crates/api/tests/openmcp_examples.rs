//! The examples of `examples/openmcp` fit each other, so that whoever applies one after the other gets a cluster and access to it.

#![allow(clippy::unwrap_used, reason = "an example that cannot be read fails the test")]

use allotment_api::openmcp::{AccessRequest, Cluster, ClusterRequest};
use serde::de::DeserializeOwned;
use serde_json::Value;

const LANDSCAPE: &str = include_str!("../../../examples/openmcp/landscape.yaml");
const CLUSTER: &str = include_str!("../../../examples/openmcp/cluster.yaml");
const SCHEDULER: &str = include_str!("../../../examples/openmcp/scheduler.yaml");
const CLUSTER_REQUEST: &str = include_str!("../../../examples/openmcp/cluster-request.yaml");
const ACCESS_REQUEST: &str = include_str!("../../../examples/openmcp/access-request.yaml");

fn all<T: DeserializeOwned>(text: &str) -> Vec<T> {
    text.split("\n---\n").map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

/// What the ProviderConfig of the examples is offered as, in the environment that docs/openmcp.md starts it in.
fn profile() -> String {
    let configs: Vec<Value> = all(LANDSCAPE);
    let config = configs.iter().find(|object| object["kind"] == "ProviderConfig").unwrap();
    let name = |value: &Value| value.as_str().unwrap().to_owned();
    format!("prod.{}.{}", name(&config["spec"]["providerRef"]["name"]), name(&config["metadata"]["name"]))
}

#[test]
fn clusters_have_a_profile_that_the_examples_make() {
    let cluster: Cluster = serde_saphyr::from_str(CLUSTER.split("\n---\n").next().unwrap()).unwrap();
    assert_eq!(cluster.spec.profile, profile());
    let scheduler: Value = serde_saphyr::from_str(SCHEDULER).unwrap();
    for (purpose, mapping) in scheduler["scheduler"]["purposeMappings"].as_object().unwrap() {
        assert_eq!(mapping["template"]["spec"]["profile"], profile(), "{purpose}");
    }
}

#[test]
fn access_is_asked_for_to_a_cluster_that_is_asked_for() {
    let [request]: [ClusterRequest; 1] = all(CLUSTER_REQUEST).try_into().unwrap();
    let scheduler: Value = serde_saphyr::from_str(SCHEDULER).unwrap();
    assert!(scheduler["scheduler"]["purposeMappings"].get(&request.spec.purpose).is_some());
    for access in all::<AccessRequest>(ACCESS_REQUEST) {
        let reference = access.spec.request_ref.unwrap();
        assert_eq!(Some(reference.name), request.metadata.name);
        assert_eq!(Some(reference.namespace), request.metadata.namespace);
    }
}
