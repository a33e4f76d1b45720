//! AccessRequests, until their provider has them.

use super::platform::{Fault, Platform, condition, create, delete, gone, patch, phase, that};
use allotment_api::openmcp::AccessRequest;
use allotment_operator::{openmcp::generic::Operator, runtime::controller::Controller as _};
use allotment_testing::{Landscape, Outcome};
use kube::{ResourceExt, api::PostParams};
use serde_json::{Value, json};
use std::{sync::atomic::Ordering, time::Duration};

const PROVIDER: &str = "clusters.openmcp.cloud/provider";
const PROFILE: &str = "clusters.openmcp.cloud/profile";

async fn started(landscape: &Landscape) -> Result<(Platform, Operator), Fault> {
    let mut platform = Platform::new(landscape).await?;
    let operator = Operator::new(platform.parts("p"));
    let running = operator.clone();
    platform.run(async move { running.run_as_leader().await });
    Ok((platform, operator))
}

async fn ask(platform: &Platform, metadata: Value, spec: Value) -> Result<AccessRequest, Fault> {
    let mut spec = spec;
    spec["token"] = json!({});
    create(&platform.access_requests(), metadata, spec).await
}

/// Waits until it says this about itself, and returns how.
async fn because(platform: &Platform, name: &str, phase_is: &str, reason: &str) -> Result<String, Fault> {
    let is = |request: &AccessRequest| {
        phase(request) == phase_is && condition(request, "Resolved").is_some_and(|it| it.1 == reason)
    };
    let request = that(&platform.access_requests(), name, &format!("is {phase_is} {reason}"), is).await?;
    Ok(condition(&request, "Resolved").unwrap().2)
}

async fn handed_over(platform: &Platform, name: &str) -> Result<AccessRequest, Fault> {
    that(&platform.access_requests(), name, "is handed over", |request| {
        phase(request) == "Pending" && condition(request, "Resolved").is_some_and(|it| it.1 == "HandedOver")
    })
    .await
}

pub async fn o9_what_is_missing_is_told_and_what_comes_is_noticed_at_once(landscape: Landscape) -> Outcome {
    let (platform, operator) = started(&landscape).await?;
    ask(&platform, json!({ "name": "nothing" }), json!({})).await?;
    let why = because(&platform, "nothing", "Denied", "ConfigurationProblem").await?;
    assert!(why.contains("spec.clusterRef") && why.contains("spec.requestRef"), "{why}");

    ask(&platform, json!({ "name": "a" }), json!({ "requestRef": platform.here("r") })).await?;
    let why = because(&platform, "a", "Pending", "InvalidReference").await?;
    assert!(why.contains("ClusterRequest") && why.contains("is not there"), "{why}");
    // Each of these is noticed by itself: nothing is tried again meanwhile.
    platform.granted("r", "c").await?;
    let is = |request: &AccessRequest| {
        condition(request, "Resolved").is_some_and(|it| it.2.starts_with("Cluster "))
    };
    that(&platform.access_requests(), "a", "waits for its Cluster", is).await?;
    let profile = format!("{}.p.x", platform.plot.namespace);
    platform.cluster("c", &profile).await?;
    let is = |request: &AccessRequest| {
        condition(request, "Resolved").is_some_and(|it| it.2.contains("ClusterProfile"))
    };
    that(&platform.access_requests(), "a", "waits for its profile", is).await?;
    platform.profile("p", "x").await?;
    let request = handed_over(&platform, "a").await?;
    assert_eq!(request.labels().get(PROFILE), Some(&profile));
    assert_eq!(json!(request.spec.cluster_ref), platform.here("c"));
    let status = request.status.as_ref().unwrap();
    assert_eq!(Some(status.common.observed_generation), request.metadata.generation);
    // A second look writes nothing.
    let before = platform.access_requests().get("a").await?.resource_version();
    operator.resync();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(platform.access_requests().get("a").await?.resource_version(), before);
    Ok(())
}

pub async fn o8_labels_that_were_there_are_verified(landscape: Landscape) -> Outcome {
    let (platform, _operator) = started(&landscape).await?;
    let profile = platform.profile("p", "x").await?;
    platform.cluster("c", &profile).await?;
    let metadata = json!({ "name": "a", "labels": { PROVIDER: "q", PROFILE: profile } });
    ask(&platform, metadata, json!({ "clusterRef": platform.here("c") })).await?;
    let why = because(&platform, "a", "Denied", "ConfigurationProblem").await?;
    assert!(why.contains("\"q\"") && why.contains("\"p\""), "{why}");
    patch(&platform.access_requests(), "a", json!({ "metadata": { "labels": { PROVIDER: "p" } } })).await?;
    because(&platform, "a", "Pending", "HandedOver").await?;
    // Whoever changes them later is found out as well.
    patch(&platform.access_requests(), "a", json!({ "metadata": { "labels": { PROVIDER: "q" } } })).await?;
    because(&platform, "a", "Denied", "ConfigurationProblem").await?;
    Ok(())
}

pub async fn a_request_is_deleted_when_its_time_is_over(landscape: Landscape) -> Outcome {
    let (platform, operator) = started(&landscape).await?;
    let profile = platform.profile("p", "x").await?;
    platform.cluster("c", &profile).await?;
    let spec = |ttl: &str| json!({ "clusterRef": platform.here("c"), "ttl": ttl });
    ask(&platform, json!({ "name": "bad" }), spec("soon")).await?;
    let why = because(&platform, "bad", "Denied", "ConfigurationProblem").await?;
    assert!(why.contains("spec.ttl"), "{why}");
    ask(&platform, json!({ "name": "short" }), spec("2s")).await?;
    ask(&platform, json!({ "name": "long" }), spec("1h30m")).await?;
    gone(&platform.access_requests(), "short").await?;
    handed_over(&platform, "long").await?;
    platform.ahead.store(2 * 3600, Ordering::Relaxed);
    operator.resync();
    gone(&platform.access_requests(), "long").await
}

pub async fn g20_a_profile_whose_name_is_too_long_for_a_label_is_handed_over(
    landscape: Landscape,
) -> Outcome {
    let (platform, _operator) = started(&landscape).await?;
    let profile = platform.profile("p", &"x".repeat(80)).await?;
    platform.cluster("c", &profile).await?;
    ask(&platform, json!({ "name": "a".repeat(100) }), json!({ "clusterRef": platform.here("c") })).await?;
    let request = handed_over(&platform, &"a".repeat(100)).await?;
    let label = request.labels().get(PROFILE).unwrap();
    assert!(label.len() == 63 && profile.starts_with(&label[..40]), "{label}");
    Ok(())
}

pub async fn annotations_are_obeyed_and_a_denial_of_the_provider_stays(landscape: Landscape) -> Outcome {
    let (platform, _operator) = started(&landscape).await?;
    let profile = platform.profile("p", "x").await?;
    platform.cluster("c", &profile).await?;
    let mark = |value: Value| json!({ "metadata": { "annotations": { "openmcp.cloud/operation": value } } });
    let metadata = json!({ "name": "a", "annotations": { "openmcp.cloud/operation": "ignore" } });
    ask(&platform, metadata, json!({ "clusterRef": platform.here("c") })).await?;
    ask(&platform, json!({ "name": "b" }), json!({ "clusterRef": platform.here("c") })).await?;
    handed_over(&platform, "b").await?;
    let api = platform.access_requests();
    assert_eq!(api.get("a").await?.status, None);
    patch(&api, "a", mark(Value::Null)).await?;
    handed_over(&platform, "a").await?;
    // What the provider denies is not handed over again and again.
    let denied = json!({ "status": { "phase": "Denied", "observedGeneration": 1 } });
    let params = kube::api::PatchParams::default();
    api.patch_status("b", &params, &kube::api::Patch::Merge(&denied)).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(phase(&api.get("b").await?), "Denied");
    patch(&api, "b", mark(json!("reconcile"))).await?;
    let request = handed_over(&platform, "b").await?;
    assert!(!request.annotations().contains_key("openmcp.cloud/operation"));
    delete(&api, "b").await
}

pub async fn the_examples_are_accepted_and_handed_over(landscape: Landscape) -> Outcome {
    let (platform, _operator) = started(&landscape).await?;
    let profile = platform.profile("p", "x").await?;
    platform.cluster("c", &profile).await?;
    platform.granted("my-request", "c").await?;
    for example in include_str!("../../../../examples/openmcp/access-request.yaml").split("\n---\n") {
        let example: Value = serde_saphyr::from_str(&example.replace("team-a", &platform.plot.namespace))?;
        let request: AccessRequest = serde_json::from_value(example)?;
        let request = platform.access_requests().create(&PostParams::default(), &request).await?;
        handed_over(&platform, &request.name_any()).await?;
    }
    Ok(())
}
