//! Who asks about Clusters is told, and nothing is written.

use super::world::{Ran, World, until};
use allotment_api::{gardener::Shoot, kyma::ClusterPhase};
use kube::{Api, ResourceExt, api::PostParams};
use serde_json::{Value, json};
use std::fs;

const CLUSTERS: &str = "{providers: {aws: {cloudProfile: aws}}}";

async fn ask(world: &World, args: &[&str]) -> Ran {
    world.ask_about(&[&["cluster"], args].concat()).await
}

/// Asks with another configuration than the one that is in force.
async fn diff_with(world: &World, change: (&str, &str), args: &[&str]) -> Ran {
    let config = fs::read_to_string(world.config()).unwrap();
    assert!(config.contains(change.0), "{config}");
    let new = world.file("new.yaml", &config.replace(change.0, change.1));
    let kubeconfig = world.control_plane_kubeconfig();
    let diff = ["cluster", "diff", "--config", &new, "--kubeconfig", &kubeconfig];
    world.allotment(&[&diff, args].concat()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_cluster_waits_for_and_what_would_change_is_told() {
    let world = World::new().await;
    world.configure_clusters(CLUSTERS);
    let (_gardenlet, _process) = (world.gardenlet(), world.run("one"));
    world.ask_for_cluster("c", "ga-1").await;
    let shoot = world.cluster_in("c", ClusterPhase::Ready).await.status.unwrap().shoot_name.unwrap();

    let told = ask(&world, &["explain", "c", "-n", "tenants"]).await;
    assert_eq!(told.code, 0, "{}", told.stderr);
    for words in [
        "tenants/c, Ready",
        "nothing, it is as asked for: cluster running",
        "aws-01, of ga-1 (SubscriptionRequest c-",
        "Create Succeeded, 100 %",
        "ClusterProvisioned  True    Ready",
    ] {
        assert!(told.stdout.contains(words), "no {words} in {}", told.stdout);
    }
    let told = ask(&world, &["explain", "c", "-n", "tenants", "-o", "json"]).await.json();
    assert_eq!(told["waitsFor"]["what"], "nothing");
    assert_eq!((&told["account"]["binding"], &told["shoot"]["name"]), (&json!("aws-01"), &json!(shoot)));
    let mut bad = world.cluster("bad", "ga-1");
    bad["spec"]["infrastructure"]["machineType"] = json!("m5.huge");
    let bad = serde_json::from_value(bad).unwrap();
    world.clusters().create(&PostParams::default(), &bad).await.unwrap();
    world.cluster_in("bad", ClusterPhase::Invalid).await;
    let told = ask(&world, &["explain", "bad", "-n", "tenants"]).await.stdout;
    assert!(told.contains("a person: spec.infrastructure.machineType: "), "{told}");
    assert_eq!(ask(&world, &["explain", "nobody", "-n", "tenants"]).await.code, 1);

    let before = world.whole_shoot(&shoot).await;
    let same = ask(&world, &["diff", "-A"]).await;
    assert_eq!(same.code, 0, "{} {}", same.stdout, same.stderr);
    assert!(
        same.stdout.contains(&format!("tenants/c (Shoot {shoot}): nothing would change")),
        "{}",
        same.stdout
    );
    assert!(same.stdout.contains("tenants/bad: it has no Shoot yet"), "{}", same.stdout);

    let ssh = (CLUSTERS, "{providers: {aws: {cloudProfile: aws}}, defaults: {sshAccess: true}}");
    let told = diff_with(&world, ssh, &["c", "-n", "tenants"]).await;
    let line = "spec.provider.workersSettings.sshAccess.enabled: false -> true";
    assert_eq!(told.code, 1);
    assert_eq!(told.stdout, format!("tenants/c (Shoot {shoot})\n  {line}\n1 Cluster, 1 would change\n"));
    let told = diff_with(&world, ssh, &["-A", "-o", "json"]).await.json();
    let all = told["clusters"].as_array().unwrap().clone();
    let c = all.iter().find(|line| line["name"] == "c").unwrap();
    assert_eq!(c["changes"][0]["after"], true, "{told}");
    let gone = (CLUSTERS, "{providers: {gcp: {cloudProfile: gcp}}}");
    let told = diff_with(&world, gone, &["c", "-n", "tenants"]).await;
    assert!(told.code == 1 && told.stdout.contains("it would not be rolled out: "), "{}", told.stdout);
    assert_eq!(world.whole_shoot(&shoot).await, before, "nothing was written");
    assert_eq!(ask(&world, &["diff", "c", "-A"]).await.code, 2);
}

/// A Shoot that somebody made by hand, with its account.
async fn older(world: &World, account: &str) -> Shoot {
    let text = include_str!("../../../../landscape/manifests/shoots/aws.yaml");
    let mut shoot: Value = serde_saphyr::from_str(text).unwrap();
    shoot["metadata"] = json!({ "name": "older", "namespace": "garden-kyma" });
    shoot["spec"]["credentialsBindingName"] = json!(account);
    let api: Api<Shoot> = Api::namespaced(world.garden(), "garden-kyma");
    world.plant_shoot(shoot).await;
    until("the Shoot has grown", async || {
        let shoot = api.get("older").await.map_err(|error| error.to_string())?;
        let operation = shoot.status.as_ref().and_then(|status| status.last_operation.as_ref());
        if operation.is_some_and(|operation| operation.progress == 100) {
            Ok(())
        } else {
            Err(format!("{operation:?}"))
        }
    })
    .await;
    api.get("older").await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shoot_that_exists_is_taken_over() {
    let world = World::new().await;
    world.configure_clusters(CLUSTERS);
    let (_gardenlet, _process) = (world.gardenlet(), world.run("one"));
    world.ask("first", "ga-1").await;
    assert_eq!(world.bound("first").await, "aws-01");
    let shoot = older(&world, "aws-01").await;

    let theirs = world.file("theirs.yaml", &world.cluster("theirs", "ga-2").to_string());
    let refused = ask(&world, &["adopt", "-f", &theirs, "--shoot", "older", "--yes"]).await;
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("account aws-01 is held by ga-1"), "{}", refused.stderr);
    let refused = ask(&world, &["adopt", "-f", &theirs, "--shoot", "nothing", "--yes"]).await;
    assert!(refused.stderr.contains("there is no Shoot nothing"), "{}", refused.stderr);
    let mut mistyped = world.cluster("mistyped", "ga-1");
    mistyped["spec"]["infrastructure"]["volme"] = json!({ "size": "90Gi" });
    let mistyped = world.file("mistyped.yaml", &mistyped.to_string());
    let refused = ask(&world, &["adopt", "-f", &mistyped, "--shoot", "older", "--yes"]).await;
    assert!(refused.stderr.contains("unknown field \"spec.infrastructure.volme\""), "{}", refused.stderr);

    let mut own = world.cluster("own", "ga-1");
    own["spec"]["infrastructure"]["numberOfZones"] = json!(3);
    let own = world.file("own.yaml", &own.to_string());
    let shown = ask(&world, &["adopt", "-f", &own, "--shoot", "older"]).await;
    assert_eq!(shown.code, 1);
    assert!(shown.stderr.contains("nothing is done without --yes"), "{}", shown.stderr);
    assert!(
        shown.stdout.contains(
            "metadata.labels[allotment.dev/subscription-request]: + \"the-UID-of-its-SubscriptionRequest\""
        ),
        "{}",
        shown.stdout
    );
    assert!(world.clusters().get_opt("own").await.unwrap().is_none());
    assert!(
        world.whole_shoot("older").await["metadata"]["labels"]["allotment.dev/subscription-request"]
            .is_null()
    );

    let taken = ask(&world, &["adopt", "-f", &own, "--shoot", "older", "--yes"]).await;
    assert_eq!(taken.code, 0, "{} {}", taken.stdout, taken.stderr);
    assert!(taken.stdout.contains("Cluster tenants/own has adopted the Shoot"), "{}", taken.stdout);
    let cluster = world.cluster_in("own", ClusterPhase::Ready).await;
    let status = cluster.status.clone().unwrap();
    assert_eq!((status.shoot_name.as_deref(), status.shoot_uid), (Some("older"), shoot.uid()));
    let again = ask(&world, &["adopt", "own", "-n", "tenants", "--shoot", "older", "--yes"]).await;
    assert!(again.code == 0 && again.stdout.contains("already"), "{} {}", again.stdout, again.stderr);
}
