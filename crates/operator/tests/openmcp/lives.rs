//! Clusters, from their profile to their end.

use super::{
    gardens::{Stage, template},
    platform::{condition, create, delete, gone, patch, phase, that, until},
};
use allotment_api::openmcp::Cluster;
use allotment_testing::{Failure, Landscape, Outcome, Script};
use kube::ResourceExt;
use serde_json::{Value, json};

const UID: &str = "gardener.clusters.openmcp.cloud/cluster-uid";
const ENVIRONMENT: &str = "gardener.clusters.openmcp.cloud/environment";

fn management(cluster: &Cluster, reason: &str) -> bool {
    condition(cluster, "ShootManagement").is_some_and(|it| it.1 == reason)
}

pub async fn g1_a_cluster_lives_from_its_profile_to_its_end(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    let profile = stage.ready().await?;
    // Gardener takes its time, until it was seen to be at work.
    stage.script("a", Script { hold_at: Some(50), ..Script::default() });
    stage.cluster("a", &profile).await?;
    let progressing =
        that(&stage.clusters(), "a", "is being made", |it| management(it, "ShootProgressing")).await?;
    assert_eq!(phase(&progressing), "Progressing");
    stage.script("a", Script::default());
    let cluster = stage.cluster_ready("a").await?;
    let status = json!(cluster.status);
    assert!(!status.to_string().contains("kubeconfig"), "{status}");
    assert!(status["apiServer"].as_str().unwrap().starts_with("https://"), "{status}");
    let endpoints = status["endpoints"].as_array().unwrap();
    assert!(endpoints.iter().any(|it| it["name"] == "apiserver-external"), "{status}");
    assert_eq!(status["observedGeneration"], json!(cluster.metadata.generation));
    let shoot = stage.shoot_of("a").await?;
    assert_eq!(shoot.labels().get(UID), cluster.uid().as_ref());
    assert_eq!(shoot.labels()["team"], "a");
    assert_eq!(cluster.labels()["clusters.openmcp.cloud/provider"], stage.provider);
    assert_eq!(
        cluster.labels().get("clusters.openmcp.cloud/k8sversion"),
        shoot.spec.kubernetes.version.as_ref()
    );
    // A second look writes nothing.
    let before = stage.settled("a").await?;
    stage.operator.resync();
    assert_eq!(stage.settled("a").await?, before);
    delete(&stage.clusters(), "a").await?;
    gone(&stage.clusters(), "a").await?;
    assert!(stage.plot.shoots().get_opt(&shoot.name_any()).await?.is_none());
    Ok(())
}

pub async fn g2_g3_g24_what_is_asked_for_comes_once_and_goes(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    let profile = stage.ready().await?;
    let versions = stage.profiles().get(&profile).await?.spec.supported_versions;
    let oldest = versions.last().unwrap().version.clone();
    let patches = json!([
        { "op": "add", "path": "/spec/provider/workers/0/taints", "value": [] },
        { "op": "add", "path": "spec.provider.workers[0].taints[-]", "value": { "key": "k", "effect": "NoSchedule" } },
    ]);
    let spec = json!({ "patches": patches, "extensions": [{ "type": "shoot-networking-filter" }] });
    create(&stage.cluster_configs(), json!({ "name": "cc" }), spec).await?;
    let spec = json!({
        "profile": profile, "tenancy": "Exclusive", "kubernetes": { "version": oldest }, "clusterConfigs": [{ "name": "cc" }],
    });
    create(&stage.clusters(), json!({ "name": "a" }), spec).await?;
    stage.cluster_ready("a").await?;
    let shoot = stage.shoot_of("a").await?;
    assert_eq!(shoot.spec.kubernetes.version, Some(oldest));
    let extensions = |shoot: &allotment_api::gardener::Shoot| -> Vec<String> {
        let mut types: Vec<String> = shoot.spec.extensions.iter().map(|it| it.type_.clone()).collect();
        types.sort();
        types
    };
    assert_eq!(extensions(&shoot), ["shoot-networking-filter", "shoot-oidc-service"]);
    assert_eq!(shoot.spec.provider.workers[0].taints.len(), 1);
    for _ in 0..2 {
        let mark = json!({ "metadata": { "annotations": { "openmcp.cloud/operation": "reconcile" } } });
        patch(&stage.clusters(), "a", mark).await?;
        that(&stage.clusters(), "a", "was looked at", |it| {
            it.annotations().get("openmcp.cloud/operation").is_none()
        })
        .await?;
        stage.settled("a").await?;
        assert_eq!(stage.shoot_of("a").await?.spec.provider.workers[0].taints.len(), 1, "not once more");
    }
    // What is no longer asked for goes; what is asked for and cannot be is told.
    patch(&stage.cluster_configs(), "cc", json!({ "spec": { "patches": [], "extensions": [] } })).await?;
    let name = shoot.name_any();
    let is = |shoot: Option<&_>| shoot.is_some_and(|shoot| extensions(shoot) == ["shoot-oidc-service"]);
    let shoot = stage.plot.wait_for_shoot(&name, "has one extension", is).await?.unwrap();
    assert!(shoot.spec.provider.workers[0].taints.is_empty());
    patch(&stage.clusters(), "a", json!({ "spec": { "clusterConfigs": [{ "name": "none" }] } })).await?;
    let is = |it: &_| condition(it, "ClusterConfigurations").is_some_and(|it| it.1 == "InvalidReference");
    that(&stage.clusters(), "a", "misses its ClusterConfig", is).await?;
    let spec = json!({ "profile": profile, "tenancy": "Exclusive", "kubernetes": { "version": "1.2.3" } });
    create(&stage.clusters(), json!({ "name": "b" }), spec).await?;
    that(&stage.clusters(), "b", "cannot be", |it| management(it, "ConfigurationProblem")).await?;
    Ok(())
}

pub async fn g5_g19_environments_and_providers_do_not_touch_each_other(landscape: Landscape) -> Outcome {
    let mut stage = Stage::new(&landscape).await?;
    let profile = stage.ready().await?;
    // The same provider in another environment, and another provider in the same one.
    let (elsewhere, other) = (stage.own("elsewhere"), format!("{}-two", stage.provider));
    let provider = stage.provider.clone();
    stage.start(&provider, &elsewhere);
    let here = stage.plot.namespace.clone();
    stage.start(&other, &here);
    stage.config("d", "l", &other, template()).await?;
    let theirs = format!("{elsewhere}.{provider}.{}", stage.own("c"));
    let others = format!("{here}.{other}.{}", stage.own("d"));
    for profile in [&theirs, &others] {
        let there = || async { stage.profiles().get_opt(profile).await.map_err(|error| error.to_string()) };
        until("the profile is there", async || there().await?.ok_or_else(String::new)).await?;
    }
    // Names of Shoots do not tell environments apart: this is the Shoot of the same Cluster of another platform.
    let collision = allotment_core::openmcp::names::shoot_name(&here, "b");
    let mut foreign = json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": { "name": collision, "labels": {
            ENVIRONMENT: "another-platform", "gardener.clusters.openmcp.cloud/provider-name": provider,
            "gardener.clusters.openmcp.cloud/cluster-name": "b", "gardener.clusters.openmcp.cloud/cluster-namespace": here,
        } },
    });
    foreign["spec"] = template()["spec"].clone();
    stage.plot.shoots().create(&Default::default(), &serde_json::from_value(foreign)?).await?;
    for (name, profile) in [("a", &profile), ("b", &profile), ("c", &theirs), ("d", &others)] {
        stage.cluster(name, profile).await?;
    }
    for (name, environment, provider) in
        [("a", &here, &provider), ("b", &here, &provider), ("c", &elsewhere, &provider), ("d", &here, &other)]
    {
        stage.cluster_ready(name).await?;
        let shoot = stage.shoot_of(name).await?;
        assert_eq!(&shoot.labels()[ENVIRONMENT], environment, "{name}");
        assert_eq!(&shoot.labels()["gardener.clusters.openmcp.cloud/provider-name"], provider, "{name}");
        assert_ne!(shoot.name_any(), collision, "{name}");
    }
    // Each deletes its own, and nothing else; nobody acts on, or answers for, what is another's.
    delete(&stage.clusters(), "b").await?;
    gone(&stage.clusters(), "b").await?;
    let foreign = stage.plot.shoots().get(&collision).await?;
    assert_eq!(foreign.labels()[ENVIRONMENT], "another-platform");
    assert!(foreign.metadata.deletion_timestamp.is_none());
    for name in ["a", "c", "d"] {
        assert!(stage.shoot_of(name).await?.metadata.deletion_timestamp.is_none(), "{name}");
    }
    let mut spec = json!({ "profile": "nobody.at.all", "tenancy": "Exclusive" });
    spec["purposes"] = json!(["x"]);
    let marked = json!({ "name": "e", "annotations": { "openmcp.cloud/operation": "reconcile" } });
    create(&stage.clusters(), marked, spec).await?;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let left = stage.clusters().get("e").await?;
    assert_eq!(left.annotations()["openmcp.cloud/operation"], "reconcile");
    assert!(left.finalizers().is_empty() && left.status.is_none());
    Ok(())
}

pub async fn g12_what_is_torn_away_by_force_does_not_keep_a_cluster(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    let profile = stage.ready().await?;
    stage.cluster("a", &profile).await?;
    stage.cluster_ready("a").await?;
    // Somebody takes the finalizer off the config, and then the profile away.
    let config = stage.own("c");
    delete(&stage.configs(), &config).await?;
    until("the config is gone by force", async || {
        let none = json!({ "metadata": { "finalizers": [] } });
        let _ = patch(&stage.configs(), &config, none).await;
        match stage.configs().get_opt(&config).await {
            Ok(None) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await?;
    delete(&stage.profiles(), &profile).await?;
    that(&stage.clusters(), "a", "has lost its profile", |it| management(it, "UnknownProfile")).await?;
    let shoot = stage.shoot_of("a").await?.name_any();
    delete(&stage.clusters(), "a").await?;
    gone(&stage.clusters(), "a").await?;
    assert!(stage.plot.shoots().get_opt(&shoot).await?.is_none());
    Ok(())
}

pub async fn g16_g18_what_gardener_says_of_a_shoot_is_told(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    let profile = stage.ready().await?;
    let fail = Failure::with_code("ERR_CONFIGURATION_PROBLEM");
    stage.script("a", Script { fail: Some(fail), ..Script::default() });
    stage.cluster("a", &profile).await?;
    let cluster = that(&stage.clusters(), "a", "has failed", |it| management(it, "ShootFailed")).await?;
    assert_eq!(phase(&cluster), "Progressing");
    // Asked to look again, it asks Gardener to try again.
    stage.script("a", Script { flap_milliseconds: Some(1000), ..Script::default() });
    let mark = json!({ "metadata": { "annotations": { "openmcp.cloud/operation": "reconcile" } } });
    patch(&stage.clusters(), "a", mark).await?;
    // It comes up, and its API server goes and comes: each turn is noticed.
    stage.cluster_ready("a").await?;
    let is = |it: &Cluster| {
        let api_server = condition(it, "Gardener_APIServerAvailable");
        phase(it) == "Progressing" && api_server.is_some_and(|it| it.0 == "False")
    };
    that(&stage.clusters(), "a", "has lost its API server", is).await?;
    stage.cluster_ready("a").await?;
    Ok(())
}

pub async fn g17_a_deletion_ends_whatever_became_of_the_shoot(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    let profile = stage.ready().await?;
    for name in ["a", "b"] {
        stage.cluster(name, &profile).await?;
        stage.cluster_ready(name).await?;
    }
    let confirm =
        json!({ "metadata": { "annotations": { "confirmation.gardener.cloud/deletion": "true" } } });
    for name in ["a", "b"] {
        let shoot = stage.shoot_of(name).await?.name_any();
        patch(&stage.plot.shoots(), &shoot, confirm.clone()).await?;
        delete(&stage.plot.shoots(), &shoot).await?;
    }
    // One is deleted while its Shoot goes, one after it is gone, and is not made anew by itself.
    delete(&stage.clusters(), "a").await?;
    gone(&stage.clusters(), "a").await?;
    that(&stage.clusters(), "b", "misses its Shoot", |it| management(it, "ShootNotFound")).await?;
    assert!(stage.plot.shoots().list(&Default::default()).await?.items.is_empty());
    delete(&stage.clusters(), "b").await?;
    gone(&stage.clusters(), "b").await
}

pub async fn x1_finalizers_of_others_are_never_lost_and_are_waited_for(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    let profile = stage.ready().await?;
    // Somebody else puts finalizers on, with checked writes, while the provider does.
    let names: Vec<String> = (0..6).map(|number| format!("c{number}")).collect();
    for name in &names {
        stage.cluster(name, &profile).await?;
        until("the other's finalizer is on", async || {
            let mut cluster = stage.clusters().get(name).await.map_err(|error| error.to_string())?;
            cluster.finalizers_mut().push("request.clusters.openmcp.cloud/u".to_owned());
            let replaced = stage.clusters().replace(name, &Default::default(), &cluster).await;
            replaced.map(drop).map_err(|error| error.to_string())
        })
        .await?;
    }
    for name in &names {
        let cluster = stage.cluster_ready(name).await?;
        assert_eq!(cluster.finalizers().len(), 2, "{name}: {:?}", cluster.finalizers());
        delete(&stage.clusters(), name).await?;
    }
    let is = |it: &_| condition(it, "ForeignFinalizers").is_some_and(|it| it.1 == "WaitingForDeletion");
    for name in &names {
        let cluster = that(&stage.clusters(), name, "waits for others", is).await?;
        assert_eq!(phase(&cluster), "Terminating");
        assert!(stage.shoot_of(name).await?.metadata.deletion_timestamp.is_none());
        let finalizers = json!({ "metadata": { "finalizers": ["gardener.clusters.openmcp.cloud/cluster"] } });
        patch(&stage.clusters(), name, finalizers).await?;
    }
    for name in &names {
        gone(&stage.clusters(), name).await?;
    }
    Ok(())
}

pub async fn two_leaders_at_once_make_each_shoot_once_and_leave_none(landscape: Landscape) -> Outcome {
    let mut stage = Stage::new(&landscape).await?;
    let (provider, here) = (stage.provider.clone(), stage.plot.namespace.clone());
    stage.start(&provider, &here);
    let profile = stage.ready().await?;
    let names: Vec<String> = (0..6).map(|number| format!("c{number}")).collect();
    for name in &names {
        stage.cluster(name, &profile).await?;
    }
    for name in &names {
        stage.cluster_ready(name).await?;
    }
    let shoots = stage.plot.shoots().list(&Default::default()).await?;
    assert_eq!(shoots.items.len(), names.len());
    for name in &names {
        delete(&stage.clusters(), name).await?;
    }
    for name in &names {
        gone(&stage.clusters(), name).await?;
    }
    assert!(stage.plot.shoots().list(&Default::default()).await?.items.is_empty());
    delete(&stage.configs(), &stage.own("c")).await?;
    gone(&stage.configs(), &stage.own("c")).await?;
    gone(&stage.profiles(), &profile).await
}

pub async fn people_can_have_it_left_alone_or_looked_at(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    let profile = stage.ready().await?;
    stage.cluster("a", &profile).await?;
    stage.cluster_ready("a").await?;
    let mark = |value: Value| json!({ "metadata": { "annotations": { "openmcp.cloud/operation": value } } });
    patch(&stage.clusters(), "a", mark(json!("ignore"))).await?;
    delete(&stage.clusters(), "a").await?;
    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    let left = stage.clusters().get("a").await?;
    assert_eq!(phase(&left), "Ready", "not even a status is written");
    assert!(stage.shoot_of("a").await?.metadata.deletion_timestamp.is_none());
    patch(&stage.clusters(), "a", mark(Value::Null)).await?;
    gone(&stage.clusters(), "a").await
}
