//! Kubeconfigs of clusters that their tenants brought: these stay when their Cluster goes.

use super::{
    desk::{Desk, client_of, code, reads_config_maps},
    stage::until,
};
use allotment_api::gardener::KubeconfigAccess;
use allotment_testing::{Landscape, Outcome};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, api::PostParams};
use serde_json::json;

pub async fn a_grant_leaves_a_cluster_that_the_tenant_brought_with_its_cluster(
    landscape: Landscape,
) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let plot = &desk.play.stage.plot;
    let kubeconfig = plot.kubeconfig(&desk.shoot, KubeconfigAccess::Admin).await?;
    let secrets: Api<Secret> = Api::namespaced(plot.landscape.control_plane.clone(), &plot.namespace);
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "brought" },
        "stringData": { "kubeconfig": serde_json::to_string(&kubeconfig)? },
    });
    secrets.create(&PostParams::default(), &serde_json::from_value(secret)?).await?;
    desk.play
        .create("guest", |cluster| {
            cluster["spec"] = json!({ "byoc": { "kubeconfigSecretRef": { "name": "brought" } } });
        })
        .await?;
    let mut spec = reads_config_maps();
    spec["cluster"] = json!("guest");
    let request = desk.ask("one", spec).await?;
    let client = client_of(&desk.issued("one").await?).await?;
    assert_eq!(code(&client).await, 200);
    assert!(!desk.left_of(&request).await?.is_empty());
    desk.play.delete("guest").await?;
    desk.play.gone("guest").await?;
    until("nothing of it is left", async || {
        let left = desk.left_of(&request).await.map_err(|error| error.to_string())?;
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await?;
    until("its token is refused", async || match code(&client).await {
        401 => Ok(()),
        code => Err(code.to_string()),
    })
    .await?;
    Ok(())
}
