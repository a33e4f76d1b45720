//! The ClusterProvider, started as openmcp-operator starts it.

use super::world::{PROJECT, Running, TENANTS, World, until};
use allotment_api::openmcp::{
    Cluster, ClusterProfile,
    gardener::{Landscape, ProviderConfig},
};
use k8s_openapi::{
    api::coordination::v1::Lease,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, PostParams},
};
use serde_json::{Value, json};
use std::fs;

const FLAGS: [&str; 3] = ["--environment=prod", "--verbosity=INFO", "--provider-name=gardener"];

async fn openmcp(world: &World, args: &[&str]) -> super::world::Ran {
    let kubeconfig = world.control_plane_kubeconfig();
    world.allotment(&[&["openmcp"], args, &["--kubeconfig", &kubeconfig]].concat()).await
}

fn run(world: &World, pod: &str) -> Running {
    let kubeconfig = world.control_plane_kubeconfig();
    let flags = ["--leader-elect=true", "--metrics-bind-address=:0", "--metrics-secure=false"];
    let more = ["--health-probe-bind-address=127.0.0.1:0", "--kubeconfig"];
    world.run_command(pod, &[&["openmcp", "run"], &FLAGS[..], &flags, &more, &[&kubeconfig]].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn init_installs_what_is_missing_and_can_be_repeated() {
    let world = World::new().await;
    let crds: Api<CustomResourceDefinition> = Api::all(world.control_plane());
    for name in ["clusters.clusters.openmcp.cloud", "landscapes.gardener.clusters.openmcp.cloud"] {
        crds.delete(name, &DeleteParams::default()).await.unwrap();
        until("it is gone", async || match crds.get_opt(name).await {
            Ok(None) => Ok(()),
            other => Err(format!("{other:?}")),
        })
        .await;
    }
    let ran = openmcp(&world, &[&["init"], &FLAGS[..]].concat()).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for line in [
        "clusters.clusters.openmcp.cloud: installed",
        "accessrequests.clusters.openmcp.cloud: is there, and is left as it is",
        "landscapes.gardener.clusters.openmcp.cloud: installed",
        "providerconfigs.gardener.clusters.openmcp.cloud: up to date",
    ] {
        assert!(ran.stderr.contains(line), "no {line:?} in {}", ran.stderr);
    }
    for name in ["clusters.clusters.openmcp.cloud", "clusterconfigs.gardener.clusters.openmcp.cloud"] {
        let crd = crds.get(name).await.unwrap();
        assert_eq!(crd.labels()["openmcp.cloud/cluster"], "platform", "{name}");
    }
    let before = crds.list(&Default::default()).await.unwrap();
    let ran = openmcp(&world, &[&["init"], &FLAGS[..]].concat()).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let after = crds.list(&Default::default()).await.unwrap();
    let versions = |list: &kube::api::ObjectList<CustomResourceDefinition>| -> Vec<_> {
        list.iter().map(|crd| (crd.name_any(), crd.resource_version())).collect()
    };
    assert_eq!(versions(&before), versions(&after), "nothing is written");
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_are_those_of_the_contract() {
    let world = World::new().await;
    for (args, code, words) in [
        (vec!["run", "--environment=", "--provider-name=p"], 1, "--environment is empty"),
        (vec!["run", "--environment=e", "--provider-name="], 1, "--provider-name is empty"),
        (vec!["init", "--environment=", "--provider-name=p"], 1, "--environment is empty"),
        (vec!["run", "--provider-name=p"], 2, "--environment"),
        (vec!["run", "--environment=e", "--provider-name=p", "--verbosity=loud"], 2, "loud"),
        (
            vec!["run", "--environment=e", "--provider-name=p", "--metrics-secure=true"],
            1,
            "--metrics-secure=false",
        ),
        (vec!["run", "--environment=e", "--provider-name=p", "--controllers=nothing"], 2, "nothing"),
        (
            vec!["run", "--environment=e", "--provider-name=p", "--metrics-bind-address=nowhere"],
            1,
            "cannot listen",
        ),
    ] {
        let ran = openmcp(&world, &args).await;
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_provider_runs_as_openmcp_operator_starts_it_and_hands_over() {
    let world = World::new().await;
    let _gardenlet = world.gardenlet();
    let (one, two) = (run(&world, "one"), run(&world, "two"));
    let platform = world.control_plane();
    let create = async |object: Value, api: Api<kube::api::DynamicObject>| {
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    };
    let text =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/openmcp/landscape.yaml"))
            .unwrap();
    let [mut landscape, mut config] = documents(&text);
    let kubeconfig = fs::read_to_string(world.garden_kubeconfig()).unwrap();
    landscape["spec"]["access"] = json!({ "inline": kubeconfig });
    config["spec"]["project"] = json!(PROJECT.trim_start_matches("garden-"));
    config["spec"]["shootTemplate"]["spec"]["credentialsBindingName"] = json!("aws-01");
    create(landscape, Api::all_with(platform.clone(), &kube::api::ApiResource::erase::<Landscape>(&())))
        .await;
    create(config, Api::all_with(platform.clone(), &kube::api::ApiResource::erase::<ProviderConfig>(&())))
        .await;
    let profiles: Api<ClusterProfile> = Api::all(platform.clone());
    let name = "prod.gardener.aws-small";
    until("the profile is there", async || profiles.get(name).await.map_err(|error| error.to_string())).await;
    let clusters: Api<Cluster> = Api::namespaced(platform.clone(), TENANTS);
    let ready = async |name: &str| {
        until("the Cluster is ready", async || {
            let cluster = clusters.get(name).await.map_err(|error| error.to_string())?;
            let status = json!(cluster.status);
            if status["phase"] == "Ready" { Ok(cluster) } else { Err(status.to_string()) }
        })
        .await
    };
    let cluster = |name: &str| -> Cluster {
        serde_json::from_value(json!({
            "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "Cluster", "metadata": { "name": name },
            "spec": { "profile": "prod.gardener.aws-small", "tenancy": "Exclusive" },
        }))
        .unwrap()
    };
    clusters.create(&PostParams::default(), &cluster("a")).await.unwrap();
    ready("a").await;
    // Each controller has a Lease of its own; whoever leads hands over when told to stop.
    let leases: Api<Lease> = Api::namespaced(platform, "default");
    let names: Vec<String> =
        leases.list(&Default::default()).await.unwrap().iter().map(ResourceExt::name_any).collect();
    for controller in ["cluster", "accessrequest"] {
        assert!(
            names.iter().any(|name| name.starts_with(&format!("allotment-openmcp-{controller}-"))),
            "{names:?}"
        );
    }
    let lease = names.iter().find(|name| name.starts_with("allotment-openmcp-cluster-")).unwrap();
    let holder = leases.get(lease).await.unwrap().spec.unwrap().holder_identity.unwrap();
    let (leads, stands_by) = if holder.starts_with("one") { (one, two) } else { (two, one) };
    assert!(leads.stop().await.success());
    clusters.create(&PostParams::default(), &cluster("b")).await.unwrap();
    ready("b").await;
    clusters.delete("a", &DeleteParams::default()).await.unwrap();
    until("the Cluster is gone", async || match clusters.get_opt("a").await {
        Ok(None) => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    assert!(!stands_by.log().contains(&kubeconfig[kubeconfig.len() / 2..][..40]), "no secrets in the log");
}

/// The documents of an example.
fn documents<const N: usize>(text: &str) -> [Value; N] {
    let all: Vec<Value> = text.split("\n---\n").map(|text| serde_saphyr::from_str(text).unwrap()).collect();
    all.try_into().unwrap()
}
