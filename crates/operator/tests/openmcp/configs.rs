//! Landscapes and ProviderConfigs: what they offer, and what is wrong with them.

use super::{
    gardens::{Stage, Tunnel, template},
    platform::{condition, create, delete, gone, patch, phase, that, until},
};
use allotment_api::gardener::{CloudProfile, NamespacedCloudProfile};
use allotment_testing::{Landscape, Outcome};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api,
    api::{ApiResource, DynamicObject, Patch},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

pub async fn a_config_is_offered_and_withdrawn(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    let profile = stage.ready().await?;
    let garden = that(&stage.landscapes(), &stage.own("l"), "is ready", |it| phase(it) == "Ready").await?;
    let status = garden.status.unwrap();
    assert!(status.api_server.starts_with("https://"), "{}", status.api_server);
    let projects: Vec<&str> = status.projects.iter().map(|project| project.namespace.as_str()).collect();
    assert_eq!(projects, [stage.plot.garden_namespace.as_str()]);
    assert_eq!(status.common.observed_generation, 1);
    let found = stage.profiles().get(&profile).await?;
    assert_eq!(found.spec.provider_ref.name, stage.provider);
    assert_eq!(found.spec.provider_config_ref.name, stage.own("c"));
    assert!(!found.spec.supported_versions.is_empty());
    // What somebody changes in it is put back.
    patch(&stage.profiles(), &profile, json!({ "spec": { "supportedVersions": [] } })).await?;
    that(&stage.profiles(), &profile, "has its versions", |it| it.spec == found.spec).await?;
    // A project that cannot be used says so, and offers nothing.
    let bad = json!({ "spec": { "project": "no-such" } });
    let mut other = serde_json::to_value(stage.configs().get(&stage.own("c")).await?)?["spec"].clone();
    other["project"] = bad["spec"]["project"].clone();
    create(&stage.configs(), json!({ "name": stage.own("d") }), other).await?;
    let is = |it: &_| condition(it, "LandscapeManagement").is_some_and(|it| it.1 == "InvalidProject");
    that(&stage.configs(), &stage.own("d"), "has no project", is).await?;
    assert!(stage.profiles().get_opt(&stage.profile_name("d")).await?.is_none());
    for config in ["c", "d"] {
        delete(&stage.configs(), &stage.own(config)).await?;
        gone(&stage.configs(), &stage.own(config)).await?;
    }
    gone(&stage.profiles(), &profile).await?;
    delete(&stage.landscapes(), &stage.own("l")).await?;
    gone(&stage.landscapes(), &stage.own("l")).await
}

pub async fn g10_g21_a_kubeconfig_that_is_refused_says_why_and_a_changed_secret_is_noticed(
    landscape: Landscape,
) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    let secrets: Api<Secret> = stage.api();
    let access = json!({ "secretRef": stage.here("login") });
    create(&stage.landscapes(), json!({ "name": stage.own("l") }), json!({ "access": access })).await?;
    stage.config("c", "l", &stage.provider, template()).await?;
    let says = |words: &'static str| {
        move |it: &_| {
            condition(it, "GardenClusterAccess")
                .is_some_and(|it| it.1 == "KubeconfigError" && it.2.contains(words))
        }
    };
    that(&stage.landscapes(), &stage.own("l"), "misses its Secret", says("is not there")).await?;
    let mut exec: Value = serde_json::from_str(r#"{"current-context": "c"}"#)?;
    exec["contexts"] = json!([{ "name": "c", "context": { "cluster": "c", "user": "u" } }]);
    exec["clusters"] = json!([{ "name": "c", "cluster": { "server": "https://127.0.0.1:1" } }]);
    exec["users"] =
        json!([{ "name": "u", "user": { "exec": { "command": "touch", "args": ["/tmp/never"] } } }]);
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "login" },
        "stringData": { "kubeconfig": exec.to_string() },
    });
    secrets.create(&Default::default(), &serde_json::from_value(secret)?).await?;
    that(&stage.landscapes(), &stage.own("l"), "is refused", says("names a program to run")).await?;
    // A Cluster of its waits, and nothing falls over.
    let is = |it: &_| condition(it, "LandscapeManagement").is_some_and(|it| it.1 == "UnknownLandscape");
    that(&stage.configs(), &stage.own("c"), "has no Landscape", is).await?;
    // The right one comes, and is taken at once.
    let good = json!({ "stringData": { "kubeconfig": stage.kubeconfig() } });
    patch(&secrets, "login", good).await?;
    that(&stage.landscapes(), &stage.own("l"), "is ready", |it| phase(it) == "Ready").await?;
    that(&stage.configs(), &stage.own("c"), "is ready", |it| phase(it) == "Ready").await?;
    // And a bad one that comes later is told, too.
    patch(&secrets, "login", json!({ "stringData": { "kubeconfig": "nonsense: [" } })).await?;
    that(&stage.landscapes(), &stage.own("l"), "is refused again", says("cannot be read")).await?;
    Ok(())
}

pub async fn g9_a_garden_that_hangs_holds_up_no_other(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    // It takes connections, and says nothing.
    let hole = TcpListener::bind("127.0.0.1:0").await?;
    let server = format!("https://{}", hole.local_addr()?);
    let kubeconfig = json!({
        "current-context": "c",
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
        "clusters": [{ "name": "c", "cluster": { "server": server } }],
        "users": [{ "name": "u", "user": { "token": "t" } }],
    });
    for number in 0..4 {
        let name = stage.own(&format!("hole-{number}"));
        let access = json!({ "inline": kubeconfig.to_string() });
        create(&stage.landscapes(), json!({ "name": name }), json!({ "access": access })).await?;
        stage.config(&format!("h-{number}"), &format!("hole-{number}"), &stage.provider, template()).await?;
    }
    let profile = stage.ready().await?;
    stage.cluster("a", &profile).await?;
    stage.cluster_ready("a").await?;
    let is = |it: &_| condition(it, "GardenClusterAccess").is_some_and(|it| it.0 == "False");
    that(&stage.landscapes(), &stage.own("hole-0"), "does not answer", is).await?;
    Ok(())
}

pub async fn g8_a_restart_beside_a_garden_that_is_away_takes_nothing_back(landscape: Landscape) -> Outcome {
    let mut stage = Stage::new(&landscape).await?;
    let kubeconfig: Value = serde_saphyr::from_str(&stage.kubeconfig())?;
    let server = kubeconfig["clusters"][0]["cluster"]["server"].as_str().unwrap().to_owned();
    let mut tunnel = Tunnel::to(&server).await?;
    let inline = kubeconfig.to_string().replace(&server, &format!("https://{}", tunnel.address));
    let spec = json!({ "access": { "inline": inline } });
    create(&stage.landscapes(), json!({ "name": stage.own("l") }), spec).await?;
    stage.config("c", "l", &stage.provider, template()).await?;
    that(&stage.configs(), &stage.own("c"), "is ready", |it| phase(it) == "Ready").await?;
    stage.cluster("a", &stage.profile_name("c")).await?;
    stage.cluster_ready("a").await?;
    stage.crash();
    tunnel.cut();
    stage.restart();
    let is = |it: &_| {
        condition(it, "GardenClusterAccess").is_some_and(|it| it.1 == "GardenClusterInteractionProblem")
    };
    let garden = that(&stage.landscapes(), &stage.own("l"), "is away", is).await?;
    assert_eq!(garden.status.unwrap().projects.len(), 1, "what is known of it stays");
    stage.cluster("b", &stage.profile_name("c")).await?;
    let is = |it: &_| {
        condition(it, "LandscapeManagement").is_some_and(|it| it.1 == "GardenClusterInteractionProblem")
    };
    that(&stage.clusters(), "b", "waits for it", is).await?;
    assert_eq!(phase(&stage.clusters().get("a").await?), "Ready");
    assert_eq!(phase(&stage.configs().get(&stage.own("c")).await?), "Ready");
    tunnel.open().await?;
    stage.cluster_ready("b").await?;
    // Cut while it runs: what is ready stays so, and it is told where it belongs.
    tunnel.cut();
    stage.operator.resync();
    let mark = json!({ "metadata": { "annotations": { "openmcp.cloud/operation": "reconcile" } } });
    patch(&stage.landscapes(), &stage.own("l"), mark.clone()).await?;
    let is = |it: &_| condition(it, "GardenClusterAccess").is_some_and(|it| it.0 == "False");
    that(&stage.landscapes(), &stage.own("l"), "is away again", is).await?;
    assert_eq!(phase(&stage.clusters().get("a").await?), "Ready");
    tunnel.open().await?;
    that(&stage.landscapes(), &stage.own("l"), "is back", |it| phase(it) == "Ready").await?;
    Ok(())
}

pub async fn g12_g22_deletion_waits_for_who_refers_and_goes_on_by_itself(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    let profile = stage.ready().await?;
    stage.cluster("a", &profile).await?;
    stage.cluster_ready("a").await?;
    delete(&stage.landscapes(), &stage.own("l")).await?;
    delete(&stage.configs(), &stage.own("c")).await?;
    let waits = |type_: &'static str, word: &'static str| {
        move |it: &_| {
            condition(it, type_).is_some_and(|it| it.1 == "WaitingForDeletion" && it.2.contains(word))
        }
    };
    that(&stage.configs(), &stage.own("c"), "waits for the Cluster", waits("ClusterProfileManagement", "/a"))
        .await?;
    let is = |it: &_| condition(it, "LandscapeManagement").is_some_and(|it| it.1 == "WaitingForDeletion");
    let garden = that(&stage.landscapes(), &stage.own("l"), "waits for the ProviderConfig", is).await?;
    assert_eq!(phase(&garden), "Terminating");
    // Both are still used: the Cluster is looked after, and goes.
    let is = |it: &_| it == "Ready";
    assert!(is(&phase(&stage.clusters().get("a").await?)));
    delete(&stage.clusters(), "a").await?;
    gone(&stage.clusters(), "a").await?;
    gone(&stage.configs(), &stage.own("c")).await?;
    gone(&stage.landscapes(), &stage.own("l")).await?;
    gone(&stage.profiles(), &profile).await
}

pub async fn g13_a_profile_that_is_gone_is_in_nobodys_way(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    let profile = stage.ready().await?;
    delete(&stage.profiles(), &profile).await?;
    until("the profile is back", async || match stage.profiles().get_opt(&profile).await {
        Ok(Some(_)) => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await?;
    // Both at once: whichever is first.
    delete(&stage.configs(), &stage.own("c")).await?;
    let _ = delete(&stage.profiles(), &profile).await;
    gone(&stage.configs(), &stage.own("c")).await?;
    gone(&stage.profiles(), &profile).await
}

pub async fn a_project_can_have_a_cloud_profile_of_its_own(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    let kind = ApiResource::erase::<NamespacedCloudProfile>(&());
    let clouds: Api<DynamicObject> =
        Api::namespaced_with(stage.plot.landscape.garden.clone(), &stage.plot.garden_namespace, &kind);
    let cloud = json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "NamespacedCloudProfile", "metadata": { "name": "own" },
        "spec": { "parent": { "kind": "CloudProfile", "name": "aws" } },
    });
    clouds.create(&Default::default(), &serde_json::from_value(cloud)?).await?;
    // Gardener's controllers would merge it with its parent; there are none here.
    let parents: Api<CloudProfile> = Api::all(stage.plot.landscape.garden.clone());
    let spec = json!({
        "type": "aws", "machineTypes": [], "machineImages": [], "regions": [],
        "kubernetes": { "versions": [parents.get("aws").await?.spec.kubernetes.versions.first()] },
    });
    let status = json!({ "status": { "cloudProfileSpec": spec } });
    clouds.patch_status("own", &Default::default(), &Patch::Merge(&status)).await?;
    let mut template = template();
    template["spec"]["cloudProfile"] = json!({ "kind": "NamespacedCloudProfile", "name": "own" });
    stage.landscape("l").await?;
    stage.config("c", "l", &stage.provider, template).await?;
    let is = |it: &_| condition(it, "CloudProfile").is_some_and(|it| it.0 == "True");
    that(&stage.configs(), &stage.own("c"), "has its CloudProfile", is).await?;
    let there =
        async || stage.profiles().get(&stage.profile_name("c")).await.map_err(|error| error.to_string());
    let profile = until("the profile is there", there).await?;
    assert!(profile.spec.supported_versions.len() <= 1, "{:?}", profile.spec);
    Ok(())
}

pub async fn g14_g15_profiles_follow_their_cloud_profile(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    // All of it, and not only what we know of one.
    let kind = ApiResource::erase::<CloudProfile>(&());
    let clouds: Api<DynamicObject> = Api::all_with(stage.plot.landscape.garden.clone(), &kind);
    let name = stage.own("cloud");
    let mut template = template();
    template["spec"]["cloudProfile"]["name"] = json!(name);
    stage.landscape("l").await?;
    stage.config("c", "l", &stage.provider, template).await?;
    let is = |it: &_| condition(it, "CloudProfile").is_some_and(|it| it.1 == "UnknownCloudProfile");
    that(&stage.configs(), &stage.own("c"), "misses its CloudProfile", is).await?;
    let mut cloud = serde_json::to_value(clouds.get("aws").await?)?;
    cloud["metadata"] = json!({ "name": name });
    cloud["spec"]["kubernetes"]["versions"] = json!([
        { "version": "1.35.4" },
        { "version": "1.34.3", "classification": "deprecated" },
        { "version": "1.36.0", "classification": "preview" },
    ]);
    clouds.create(&Default::default(), &serde_json::from_value(cloud)?).await?;
    that(&stage.configs(), &stage.own("c"), "is ready", |it| phase(it) == "Ready").await?;
    let profile = stage.profile_name("c");
    let versions = |wanted: Value| {
        move |it: &allotment_api::openmcp::ClusterProfile| json!(it.spec.supported_versions) == wanted
    };
    let two = json!([{ "version": "1.35.4" }, { "version": "1.34.3", "deprecated": true }]);
    that(&stage.profiles(), &profile, "has two versions", versions(two)).await?;
    let fewer = json!([{ "version": "1.35.4" }, { "version": "1.36.0", "classification": "supported" }]);
    let change = json!({ "spec": { "kubernetes": { "versions": fewer } } });
    clouds.patch(&name, &Default::default(), &Patch::Merge(&change)).await?;
    let two = json!([{ "version": "1.36.0" }, { "version": "1.35.4" }]);
    that(&stage.profiles(), &profile, "follows", versions(two)).await?;
    delete(&stage.configs(), &stage.own("c")).await?;
    gone(&stage.configs(), &stage.own("c")).await?;
    clouds.delete(&name, &Default::default()).await?;
    Ok(())
}
