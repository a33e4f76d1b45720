//! The ClusterProvider, started as openmcp-operator starts it.

use super::world::{PROJECT, Running, TENANTS, World, until};
use allotment_api::openmcp::{
    Cluster, ClusterProfile,
    gardener::{Landscape, ProviderConfig},
};
use allotment_testing::{Search, every_object, in_objects};
use k8s_openapi::{
    api::{coordination::v1::Lease, core::v1::Secret},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, PostParams},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, process::Command};

const PROFILE: &str = "prod.gardener.aws-small";

const FLAGS: [&str; 3] = ["--environment=prod", "--verbosity=INFO", "--provider-name=gardener"];

async fn openmcp(world: &World, args: &[&str]) -> super::world::Ran {
    let kubeconfig = world.control_plane_kubeconfig();
    world.allotment(&[&["openmcp"], args, &["--kubeconfig", &kubeconfig]].concat()).await
}

fn run(world: &World, pod: &str, otherwise: impl FnOnce(&mut Command)) -> Running {
    let kubeconfig = world.control_plane_kubeconfig();
    let flags = ["--leader-elect=true", "--metrics-bind-address=:0", "--metrics-secure=false"];
    let more = ["--health-probe-bind-address=127.0.0.1:0", "--kubeconfig"];
    let args = [&["openmcp", "run"], &FLAGS[..], &flags, &more, &[&kubeconfig]].concat();
    world.run_command(pod, &args, otherwise)
}

/// A Landscape whose login is in a Secret, and a ProviderConfig, as in the examples.
async fn configure(world: &World) {
    let platform = world.control_plane();
    let login = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "garden-login" },
        "stringData": { "kubeconfig": fs::read_to_string(world.garden_kubeconfig()).unwrap() },
    });
    let secrets: Api<Secret> = Api::namespaced(platform.clone(), TENANTS);
    secrets.create(&PostParams::default(), &serde_json::from_value(login).unwrap()).await.unwrap();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/openmcp/landscape.yaml");
    let [mut landscape, mut config] = documents(&fs::read_to_string(example).unwrap());
    landscape["spec"]["access"]["secretRef"]["namespace"] = json!(TENANTS);
    config["spec"]["project"] = json!(PROJECT.trim_start_matches("garden-"));
    config["spec"]["shootTemplate"]["spec"]["credentialsBindingName"] = json!("aws-01");
    let landscapes: Api<Landscape> = Api::all(platform.clone());
    landscapes.create(&PostParams::default(), &serde_json::from_value(landscape).unwrap()).await.unwrap();
    let configs: Api<ProviderConfig> = Api::all(platform.clone());
    configs.create(&PostParams::default(), &serde_json::from_value(config).unwrap()).await.unwrap();
    let profiles: Api<ClusterProfile> = Api::all(platform);
    let there = async || profiles.get(PROFILE).await.map(drop).map_err(|error| error.to_string());
    until("the profile is there", there).await;
}

/// Makes a Cluster, and waits until it is ready.
async fn make(world: &World, name: &str) {
    let clusters: Api<Cluster> = Api::namespaced(world.control_plane(), TENANTS);
    let cluster = json!({
        "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "Cluster", "metadata": { "name": name },
        "spec": { "profile": PROFILE, "tenancy": "Exclusive" },
    });
    clusters.create(&PostParams::default(), &serde_json::from_value(cluster).unwrap()).await.unwrap();
    until("the Cluster is ready", async || {
        let status = json!(clusters.get(name).await.map_err(|error| error.to_string())?.status);
        if status["phase"] == "Ready" { Ok(()) } else { Err(status.to_string()) }
    })
    .await;
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
        (vec!["run", "--environment=Prod 1", "--provider-name=p"], 1, "--environment=Prod 1 cannot be part"),
        (vec!["init", "--environment=e", "--provider-name=P"], 1, "--provider-name=P cannot be part"),
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
    let (one, two) = (run(&world, "one", |_| ()), run(&world, "two", |_| ()));
    configure(&world).await;
    make(&world, "a").await;
    // Each controller has a Lease of its own; whoever leads hands over when told to stop.
    let leases: Api<Lease> = Api::namespaced(world.control_plane(), "default");
    let all = leases.list(&Default::default()).await.unwrap();
    let names: Vec<String> = all.iter().map(ResourceExt::name_any).collect();
    let of = |controller: &str| {
        let prefix = format!("allotment-openmcp-{controller}-");
        names.iter().find(|name| name.starts_with(&prefix)).unwrap_or_else(|| panic!("{names:?}"))
    };
    of("accessrequest");
    let holder = leases.get(of("cluster")).await.unwrap().spec.unwrap().holder_identity.unwrap();
    let (leads, _stands_by) = if holder.starts_with("one") { (one, two) } else { (two, one) };
    assert!(leads.stop().await.success());
    make(&world, "b").await;
    let clusters: Api<Cluster> = Api::namespaced(world.control_plane(), TENANTS);
    clusters.delete("a", &DeleteParams::default()).await.unwrap();
    until("the Cluster is gone", async || match clusters.get_opt("a").await {
        Ok(None) => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g21_the_login_to_a_garden_is_written_nowhere() {
    let world = World::new().await;
    let _gardenlet = world.gardenlet();
    let home = world.folder().join("home");
    fs::create_dir(&home).unwrap();
    let process = run(&world, "one", |command| {
        command.current_dir(&home).env("HOME", &home).env("TMPDIR", &home).env("RUST_LOG", "trace");
    });
    configure(&world).await;
    make(&world, "a").await;
    let kubeconfig: Value =
        serde_json::from_str(&fs::read_to_string(world.garden_kubeconfig()).unwrap()).unwrap();
    let user = kubeconfig["users"][0]["user"].as_object().unwrap().clone();
    let secret = user.get("client-key-data").or(user.get("token")).unwrap().as_str().unwrap();
    let search = Search::of([secret, "PRIVATE KEY", "client-key-data"]);
    let objects = every_object(&world.control_plane()).await.unwrap();
    let found = in_objects(&search, &objects).unwrap();
    let places: BTreeSet<&str> =
        found.iter().filter_map(|line| line.split_once(':')).map(|(place, _)| place).collect();
    assert_eq!(
        places,
        BTreeSet::from(["Secret tenants/garden-login"]),
        "where the user put it, and nowhere else"
    );
    assert!(process.log().contains("TRACE"));
    assert_eq!(search.in_text(&process.log()), None);
    assert!(process.stop().await.success());
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0, "no file is written");
}

/// The documents of an example.
fn documents<const N: usize>(text: &str) -> [Value; N] {
    let all: Vec<Value> = text.split("\n---\n").map(|text| serde_saphyr::from_str(text).unwrap()).collect();
    all.try_into().unwrap()
}
