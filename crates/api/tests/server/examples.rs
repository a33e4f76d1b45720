//! The examples, of which three define the product.

use allotment_api::kyma::{Cluster, KubeconfigRequest, SubscriptionRequest};
use allotment_testing::{Kubectl, Landscape, Outcome};
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, path::Path};

const CLUSTER: &str = include_str!("../../../../examples/cluster-with-bad-issuer.yaml");
const SUBSCRIPTION_REQUEST: &str = include_str!("../../../../examples/subscription-request.yaml");

/// Every example of our kinds, by the name of its file: a new one is tried without being listed anywhere.
fn all() -> Result<BTreeMap<String, String>, std::io::Error> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut all = BTreeMap::new();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            all.insert(path.display().to_string(), fs::read_to_string(&path)?);
        }
    }
    assert!(all.len() >= 12, "{:?}", all.keys());
    Ok(all)
}

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
    for (file, example) in all()? {
        let said = kubectl.run(&["apply", "-f", "-"], &example)?;
        assert!(said.ok && !said.err.contains("Warning"), "{file}: {}{}", said.out, said.err);
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
    for (number, example) in all()?.into_values().enumerate() {
        let mut object: Value = serde_saphyr::from_str(&example)?;
        object["metadata"]["name"] = json!(format!("round-{number}"));
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
