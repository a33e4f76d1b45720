//! The three examples that define the product.

use allotment_api::kyma::{Cluster, KubeconfigRequest, SubscriptionRequest};
use allotment_testing::{Kubectl, Landscape, Outcome};
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

const CLUSTER: &str = include_str!("../../../../examples/cluster-with-bad-issuer.yaml");
const GOOD_CLUSTER: &str = include_str!("../../../../examples/cluster.yaml");
const SUBSCRIPTION_REQUEST: &str = include_str!("../../../../examples/subscription-request.yaml");
const KUBECONFIG_REQUEST: &str = include_str!("../../../../examples/kubeconfig-request.yaml");

/// The namespaces that the examples name, and a kubectl.
async fn prepared(landscape: &Landscape) -> Result<Kubectl, Box<dyn std::error::Error + Send + Sync>> {
    landscape.install_crds().await?;
    let namespaces = Api::<Namespace>::all(landscape.control_plane.clone());
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "cluster-operator" } });
    namespaces
        .patch("cluster-operator", &PatchParams::apply("test").force(), &Patch::Apply(namespace))
        .await?;
    Ok(Kubectl::new(&landscape.kubectl, &landscape.control_plane_kubeconfig))
}

pub(crate) async fn are_accepted_as_they_are(landscape: Landscape) -> Outcome {
    let kubectl = prepared(&landscape).await?;
    for example in [CLUSTER, GOOD_CLUSTER, SUBSCRIPTION_REQUEST, KUBECONFIG_REQUEST] {
        let said = kubectl.run(&["apply", "-f", "-"], example)?;
        assert!(said.ok && !said.err.contains("Warning"), "{}{}", said.out, said.err);
    }
    let cluster = Api::<Cluster>::namespaced(landscape.control_plane.clone(), "cluster-operator");
    let cluster = cluster.get("example-cluster").await?;
    assert_eq!(cluster.spec.infrastructure.unwrap().number_of_zones, 3);
    let request = Api::<KubeconfigRequest>::namespaced(landscape.control_plane.clone(), "default");
    assert_eq!(request.get("example-cluster.compass-operator").await?.spec.expiration, 3600);
    Ok(())
}

pub(crate) async fn may_select_shared(landscape: Landscape) -> Outcome {
    let kubectl = prepared(&landscape).await?;
    let shared = CLUSTER
        .replace("\"globalaccount:abcd-0001\"", "\"shared\"")
        .replace("example-cluster", "shared-cluster");
    assert!(shared.contains("\"shared\" #"));
    kubectl.apply(&shared)?;
    kubectl.apply(
        &SUBSCRIPTION_REQUEST
            .replace("\"abcd-0001\"", "shared")
            .replace("name: subscription-request", "name: shared"),
    )
}

/// What we read of an example and write back is what a server keeps of it: no field is lost or renamed on the way.
pub(crate) async fn survive_a_strict_server_unchanged(landscape: Landscape) -> Outcome {
    let kubectl = prepared(&landscape).await?;
    for (example, name) in
        [(CLUSTER, "round-cluster"), (SUBSCRIPTION_REQUEST, "round-sub"), (KUBECONFIG_REQUEST, "round-kube")]
    {
        let mut object: Value = serde_saphyr::from_str(example)?;
        object["metadata"]["name"] = json!(name);
        object.as_object_mut().unwrap().remove("status");
        let ours = match object["kind"].as_str() {
            Some("Cluster") => serde_json::to_value(serde_json::from_value::<Cluster>(object.clone())?)?,
            Some("SubscriptionRequest") => {
                serde_json::to_value(serde_json::from_value::<SubscriptionRequest>(object.clone())?)?
            }
            _ => serde_json::to_value(serde_json::from_value::<KubeconfigRequest>(object.clone())?)?,
        };
        assert_eq!(ours["spec"], object["spec"]);
        let said = kubectl.run(
            &["create", "--dry-run=server", "--validate=strict", "-o", "json", "-f", "-"],
            &ours.to_string(),
        )?;
        assert!(said.ok, "{}", said.err);
        let kept: Value = serde_json::from_str(&said.out)?;
        assert_eq!(kept["spec"], object["spec"]);
    }
    Ok(())
}
