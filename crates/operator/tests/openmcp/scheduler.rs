//! ClusterRequests, and the Clusters that they get.

use super::platform::{Fault, Platform, condition, create, delete, gone, patch, phase, that, until};
use allotment_api::openmcp::{Cluster, ClusterRequest};
use allotment_core::openmcp::schedule::Scheduler;
use allotment_operator::{openmcp::scheduler::Operator, runtime::controller::Controller as _};
use allotment_testing::{Landscape, Outcome};
use kube::{Api, ResourceExt, api::ListParams};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

const TENANT: &str = "request.clusters.openmcp.cloud/";

/// A scheduler at work: exclusive Clusters for `mcp`, shared ones for `workload`, three to a Cluster.
async fn started(landscape: &Landscape) -> Result<(Platform, Operator), Fault> {
    let mut platform = Platform::new(landscape).await?;
    let config: Scheduler = serde_json::from_value(json!({
        "scope": "Namespaced",
        "purposeMappings": {
            "mcp": { "template": { "spec": { "profile": "p", "tenancy": "Exclusive" } } },
            "workload": { "tenancyCount": 3, "template": { "spec": { "profile": "p", "tenancy": "Shared" } } },
            "platform": { "template": { "spec": { "profile": "p", "tenancy": "Shared" } } },
        },
    }))?;
    assert_eq!(config.check(), Vec::<String>::new());
    let operator = Operator::new(platform.parts("p"), config);
    let running = operator.clone();
    platform.run(async move { running.run_as_leader().await });
    Ok((platform, operator))
}

async fn ask(platform: &Platform, name: &str, purpose: &str) -> Result<ClusterRequest, Fault> {
    create(&platform.cluster_requests(), json!({ "name": name }), json!({ "purpose": purpose })).await
}

/// Waits until it has a Cluster, and returns its name.
async fn granted(platform: &Platform, name: &str) -> Result<String, Fault> {
    let request =
        that(&platform.cluster_requests(), name, "is granted", |request| phase(request) == "Granted").await?;
    Ok(request.status.unwrap().cluster.unwrap().name)
}

fn tenants(cluster: &Cluster) -> usize {
    cluster.finalizers().iter().filter(|name| name.starts_with(TENANT)).count()
}

async fn all(api: &Api<Cluster>) -> Result<BTreeMap<String, usize>, Fault> {
    let list = api.list(&ListParams::default()).await?;
    Ok(list.iter().map(|cluster| (cluster.name_any(), tenants(cluster))).collect())
}

pub async fn an_exclusive_cluster_comes_and_goes_with_its_request(landscape: Landscape) -> Outcome {
    let (platform, operator) = started(&landscape).await?;
    let request = ask(&platform, "r", "mcp").await?;
    let name = granted(&platform, "r").await?;
    let cluster = platform.clusters().get(&name).await?;
    assert_eq!(cluster.finalizers(), [format!("{TENANT}{}", request.uid().unwrap())]);
    assert_eq!(
        (cluster.spec.profile.as_str(), cluster.spec.purposes.as_slice()),
        ("p", &["mcp".to_owned()][..])
    );
    // A second look writes nothing.
    operator.resync();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(platform.clusters().get(&name).await?.resource_version(), cluster.resource_version());
    delete(&platform.cluster_requests(), "r").await?;
    gone(&platform.cluster_requests(), "r").await?;
    gone(&platform.clusters(), &name).await
}

pub async fn o1_o2_what_a_request_brings_reaches_its_cluster_and_no_other(landscape: Landscape) -> Outcome {
    let (platform, _operator) = started(&landscape).await?;
    let key = "metadata.open-control-plane.io/team";
    let metadata = json!({ "name": "one", "labels": { key: "a", "other": "b" } });
    create::<ClusterRequest>(&platform.cluster_requests(), metadata, json!({ "purpose": "mcp" })).await?;
    let one = granted(&platform, "one").await?;
    ask(&platform, "two", "mcp").await?;
    let two = granted(&platform, "two").await?;
    let (one, two) = (platform.clusters().get(&one).await?, platform.clusters().get(&two).await?);
    assert_eq!(one.labels().get(key).map(String::as_str), Some("a"));
    assert!(!one.labels().contains_key("other") && !two.labels().contains_key(key));
    // Its Cluster has no annotations.
    let bring = json!({ "metadata": { "annotations": { key: "c" } } });
    patch(&platform.cluster_requests(), "two", bring).await?;
    that(&platform.clusters(), &two.name_any(), "has the annotation", |it| {
        it.annotations().contains_key(key)
    })
    .await?;
    Ok(())
}

pub async fn o3_a_name_that_is_taken_is_waited_for(landscape: Landscape) -> Outcome {
    let (platform, _operator) = started(&landscape).await?;
    ask(&platform, "r", "mcp").await?;
    let name = granted(&platform, "r").await?;
    // Two other requests have it, the first of which is long gone.
    let others = json!({ "metadata": { "finalizers": [format!("{TENANT}stale"), format!("{TENANT}live")] } });
    patch(&platform.clusters(), &name, others).await?;
    let is = |request: &ClusterRequest| {
        condition(request, "Scheduled").is_some_and(|it| it.1 == "ClusterConflict")
    };
    that(&platform.cluster_requests(), "r", "has a conflict", is).await?;
    let cluster = platform.clusters().get(&name).await?;
    assert_eq!(tenants(&cluster), 2);
    patch(&platform.clusters(), &name, json!({ "metadata": { "finalizers": null } })).await?;
    granted(&platform, "r").await?;
    let is = |cluster: &Cluster| tenants(cluster) == 1;
    that(&platform.clusters(), &name, "is its own again", is).await?;
    Ok(())
}

pub async fn o4_shared_clusters_are_filled_up_to_their_limit(landscape: Landscape) -> Outcome {
    let (platform, _operator) = started(&landscape).await?;
    // It has the purpose, and is somebody's alone.
    let spec = json!({ "profile": "p", "tenancy": "Exclusive", "purposes": ["workload"] });
    create::<Cluster>(&platform.clusters(), json!({ "name": "alone" }), spec).await?;
    for number in 0..7 {
        ask(&platform, &format!("r{number}"), "workload").await?;
    }
    for number in 0..7 {
        assert_ne!(granted(&platform, &format!("r{number}")).await?, "alone");
    }
    let mut counts: Vec<usize> = all(&platform.clusters()).await?.into_values().collect();
    counts.sort_unstable();
    assert_eq!(counts, [0, 1, 3, 3]);
    // The place of one that goes is taken by the next.
    let left = granted(&platform, "r0").await?;
    delete(&platform.cluster_requests(), "r0").await?;
    gone(&platform.cluster_requests(), "r0").await?;
    assert_eq!(all(&platform.clusters()).await?[&left], 2);
    for name in ["s0", "s1", "s2"] {
        ask(&platform, name, "workload").await?;
        granted(&platform, name).await?;
    }
    assert_eq!(all(&platform.clusters()).await?.len(), 4);
    Ok(())
}

pub async fn o5_a_request_waits_for_the_deletion_of_its_cluster(landscape: Landscape) -> Outcome {
    let (platform, _operator) = started(&landscape).await?;
    let spec = json!({ "purpose": "mcp", "waitForClusterDeletion": true });
    create::<ClusterRequest>(&platform.cluster_requests(), json!({ "name": "r" }), spec).await?;
    let name = granted(&platform, "r").await?;
    // Its provider holds it.
    let mut held = platform.clusters().get(&name).await?.finalizers().to_vec();
    held.push("example.com/provider".to_owned());
    patch(&platform.clusters(), &name, json!({ "metadata": { "finalizers": held } })).await?;
    delete(&platform.cluster_requests(), "r").await?;
    let is = |request: &ClusterRequest| {
        condition(request, "Scheduled").is_some_and(|it| it.1 == "WaitingForClusterDeletion")
    };
    that(&platform.cluster_requests(), "r", "waits", is).await?;
    let cluster = platform.clusters().get(&name).await?;
    assert_eq!(cluster.finalizers(), ["example.com/provider"]);
    patch(&platform.clusters(), &name, json!({ "metadata": { "finalizers": null } })).await?;
    gone(&platform.cluster_requests(), "r").await
}

pub async fn o9_an_unknown_purpose_is_denied(landscape: Landscape) -> Outcome {
    let (platform, _operator) = started(&landscape).await?;
    ask(&platform, "r", "nothing").await?;
    let request =
        that(&platform.cluster_requests(), "r", "is denied", |request| phase(request) == "Denied").await?;
    let (status, reason, message) = condition(&request, "Scheduled").unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ConfigurationProblem"));
    assert!(message.contains("\"nothing\"") && message.contains("workload"), "{message}");
    delete(&platform.cluster_requests(), "r").await?;
    gone(&platform.cluster_requests(), "r").await
}

pub async fn x1_finalizers_of_others_are_never_lost(landscape: Landscape) -> Outcome {
    let (mut platform, _operator) = started(&landscape).await?;
    ask(&platform, "first", "platform").await?;
    let name = granted(&platform, "first").await?;
    // Somebody else writes the same list all the time, each write of the state that they saw.
    let (api, other) = (platform.clusters(), name.clone());
    platform.run(async move {
        for number in 0..20 {
            loop {
                let Ok(cluster) = api.get(&other).await else { continue };
                let mut finalizers = cluster.finalizers().to_vec();
                finalizers.push(format!("example.com/{number}"));
                let change = json!({ "metadata": {
                    "finalizers": finalizers, "resourceVersion": cluster.resource_version(),
                } });
                if patch(&api, &other, change).await.is_ok() {
                    break;
                }
            }
        }
    });
    for number in 0..20 {
        ask(&platform, &format!("r{number}"), "platform").await?;
    }
    for number in 0..20 {
        assert_eq!(granted(&platform, &format!("r{number}")).await?, name);
    }
    let api = platform.clusters();
    until("every finalizer is there", async || {
        let cluster = api.get(&name).await.map_err(|error| error.to_string())?;
        let (ours, theirs) = (tenants(&cluster), cluster.finalizers().len() - tenants(&cluster));
        if (ours, theirs) == (21, 20) { Ok(()) } else { Err(format!("{ours} {theirs}")) }
    })
    .await
}

pub async fn a_cluster_that_is_gone_is_made_anew(landscape: Landscape) -> Outcome {
    let (platform, _operator) = started(&landscape).await?;
    ask(&platform, "r", "mcp").await?;
    let name = granted(&platform, "r").await?;
    let uid = platform.clusters().get(&name).await?.uid();
    patch(&platform.clusters(), &name, json!({ "metadata": { "finalizers": Value::Null } })).await?;
    // Whoever is quicker: the finalizer may be back before the deletion.
    delete(&platform.clusters(), &name).await?;
    patch(&platform.clusters(), &name, json!({ "metadata": { "finalizers": Value::Null } })).await.ok();
    that(&platform.clusters(), &name, "is another one", |cluster| cluster.uid() != uid).await.map(drop)
}
