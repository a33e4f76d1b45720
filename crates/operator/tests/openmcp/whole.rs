//! All controllers together: from a ProviderConfig to a kubeconfig, and back.

use super::{
    access::rules,
    desk::code,
    gardens::Stage,
    platform::{Fault, create, delete, gone, phase, that, until},
};
use allotment_api::openmcp::{AccessRequest, ClusterRequest};
use allotment_operator::{
    openmcp::{access, generic, scheduler},
    runtime::controller::Controller as _,
};
use allotment_testing::{Landscape, Outcome, client};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{Api, Client, ResourceExt, api::ListParams, config::Kubeconfig};
use serde_json::json;

/// Everything runs, and there is a profile.
async fn started(landscape: &Landscape) -> Result<Stage, Fault> {
    let mut stage = Stage::new(landscape).await?;
    let profile = stage.ready().await?;
    let config = serde_json::from_value(json!({
        "scope": "Namespaced",
        "purposeMappings": { "mcp": { "template": { "spec": { "profile": profile, "tenancy": "Exclusive" } } } },
    }))?;
    let parts = stage.platform.parts(&stage.provider);
    let (landscapes, generic) = (parts.landscapes.clone(), generic::Operator::new(parts.clone()));
    let scheduler = scheduler::Operator::new(parts.clone(), config);
    let access = access::Operator::new(parts, access::Settings::default());
    stage.platform.run(async move {
        tokio::join!(
            landscapes.follow(),
            generic.run_as_leader(),
            scheduler.run_as_leader(),
            access.run_as_leader(),
        );
    });
    Ok(stage)
}

/// Asks for a cluster and for access to it at once, and waits for both.
async fn ordered(stage: &Stage) -> Result<(String, Client), Fault> {
    create::<AccessRequest>(
        &stage.access_requests(),
        json!({ "name": "a" }),
        json!({
            "requestRef": stage.here("r"),
            "token": { "permissions": [{ "rules": rules("namespaces", &["list"]) }] },
        }),
    )
    .await?;
    let spec = json!({ "purpose": "mcp", "waitForClusterDeletion": true });
    create::<ClusterRequest>(&stage.cluster_requests(), json!({ "name": "r" }), spec).await?;
    that(&stage.access_requests(), "a", "is granted", |it| phase(it) == "Granted").await?;
    let request = stage.cluster_requests().get("r").await?;
    let cluster = request.status.unwrap().cluster.unwrap().name;
    stage.cluster_ready(&cluster).await?;
    let secret = stage.api::<Secret>().get("a.kubeconfig").await?;
    let kubeconfig = String::from_utf8(secret.data.unwrap().remove("kubeconfig").unwrap().0)?;
    Ok((cluster, client(Kubeconfig::from_yaml(&kubeconfig)?).await?))
}

pub async fn a_request_becomes_a_cluster_and_a_kubeconfig_and_all_of_it_goes(
    landscape: Landscape,
) -> Outcome {
    let stage = started(&landscape).await?;
    let (cluster, holder) = ordered(&stage).await?;
    until("the kubeconfig works", async || {
        match code(Api::<Namespace>::all(holder.clone()).list(&ListParams::default()).await) {
            200 => Ok(()),
            code => Err(code.to_string()),
        }
    })
    .await?;
    assert_eq!(code(Api::<Secret>::all(holder.clone()).list(&ListParams::default()).await), 403);
    let shoot = stage.shoot_of(&cluster).await?.name_any();
    delete(&stage.access_requests(), "a").await?;
    gone(&stage.access_requests(), "a").await?;
    delete(&stage.cluster_requests(), "r").await?;
    gone(&stage.cluster_requests(), "r").await?;
    // It waited for its Cluster, and that for its Shoot.
    assert!(stage.clusters().get_opt(&cluster).await?.is_none());
    assert!(stage.plot.shoots().get_opt(&shoot).await?.is_none());
    Ok(())
}

pub async fn everything_goes_in_the_wrong_order_too(landscape: Landscape) -> Outcome {
    let stage = started(&landscape).await?;
    let (cluster, _) = ordered(&stage).await?;
    let shoot = stage.shoot_of(&cluster).await?.name_any();
    // What configures it goes first, then the cluster, and who has access to it last.
    delete(&stage.landscapes(), &stage.own("l")).await?;
    delete(&stage.configs(), &stage.own("c")).await?;
    delete(&stage.cluster_requests(), "r").await?;
    gone(&stage.cluster_requests(), "r").await?;
    assert!(stage.plot.shoots().get_opt(&shoot).await?.is_none());
    gone(&stage.configs(), &stage.own("c")).await?;
    gone(&stage.landscapes(), &stage.own("l")).await?;
    delete(&stage.access_requests(), "a").await?;
    gone(&stage.access_requests(), "a").await?;
    gone(&stage.api::<Secret>(), "a.kubeconfig").await
}
