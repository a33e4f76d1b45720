//! What a live Shoot keeps, and what it does not.

use crate::stage::{Stage, zones};
use allotment_api::{gardener::ShootExtension, kyma::Provider};
use serde_json::{Value, json};

fn version(stage: &Stage) -> String {
    stage.shoot()["spec"]["kubernetes"]["version"].as_str().unwrap().to_owned()
}

#[test]
fn versions_never_go_down() {
    let mut stage = Stage::new(Provider::Aws);
    assert_eq!(version(&stage), "1.36.0", "the newest that is supported, and no preview");
    for (asked, new) in [("1.35", "1.35.4"), ("1.35.1", "1.35.1"), ("1.36.1", "1.36.1")] {
        stage.set("spec.core.kubernetesVersion", json!(asked));
        assert_eq!(version(&stage), new);
    }
    for (live, asked, after) in [
        ("1.35.1", json!(null), "1.35.1"),
        ("1.35.1", json!("1.35"), "1.35.1"),
        ("1.35.1", json!("1.35.4"), "1.35.4"),
        ("1.35.9", json!("1.35.4"), "1.35.9"),
        ("1.35.1", json!("1.34"), "1.35.1"),
        ("1.35.1", json!("1.36"), "1.36.0"),
        ("1.34.2", json!("1.34.2"), "1.34.2"),
    ] {
        let mut stage = Stage::new(Provider::Aws);
        stage.roll_out();
        stage.live.as_mut().unwrap().spec.kubernetes.version = Some(live.to_owned());
        stage.set("spec.core.kubernetesVersion", asked.clone());
        assert_eq!(version(&stage), after, "{live} and {asked}");
    }
    let mut stage = Stage::new(Provider::Aws).with("spec.core.kubernetesVersion", json!("1.34"));
    stage.roll_out();
    stage.set("spec.core.kubernetesVersion", json!("1.36"));
    assert_eq!(
        stage.problem(),
        "spec.core.kubernetesVersion: from 1.34.7 to 1.36 would skip a minor version; allowed: 1.35.4, 1.35.1"
    );
    stage.set("spec.core.kubernetesVersion", json!("1.33"));
    assert_eq!(
        stage.render().unwrap().notes[0].to_string(),
        "spec.core.kubernetesVersion: 1.34.7 runs, and a cluster is never taken down to 1.33"
    );
}

#[test]
fn images_are_gardeners_unless_configured_and_never_go_down() {
    let image =
        |stage: &Stage| stage.shoot()["spec"]["provider"]["workers"][0]["machine"].get("image").cloned();
    let mut stage = Stage::new(Provider::Aws);
    assert_eq!(image(&stage), Some(json!({ "name": "gardenlinux" })));
    let set = |stage: &mut Stage, image: Value| {
        let defaults = stage.clusters.providers.get_mut(&Provider::Aws).unwrap();
        defaults.machine_image = serde_json::from_value(image).unwrap();
    };
    set(&mut stage, json!({ "name": "gardenlinux" }));
    assert_eq!(image(&stage), Some(json!({ "name": "gardenlinux" })));
    set(&mut stage, json!({ "name": "gardenlinux", "version": "1592.17.0" }));
    assert_eq!(image(&stage).unwrap()["version"], "1592.17.0");
    stage.roll_out();
    set(&mut stage, json!({ "name": "gardenlinux", "version": "1877.10.0" }));
    assert_eq!(image(&stage).unwrap()["version"], "1877.10.0");
    stage.roll_out();
    set(&mut stage, json!({ "name": "gardenlinux", "version": "1592.17.0" }));
    assert_eq!(image(&stage).unwrap()["version"], "1877.10.0");
    set(&mut stage, json!({ "name": "suse" }));
    assert_eq!(
        stage.problem(),
        "clusters.providers.aws.machineImage.name: CloudProfile aws has no image suse for amd64"
    );
}

#[test]
fn zones_are_added_and_never_taken_away() {
    for provider in Provider::ALL {
        let mut stage = Stage::new(provider).infrastructure("numberOfZones", json!(1));
        let mut before = zones(&stage.roll_out());
        let mut subnets = Vec::new();
        for number in 2..=3 {
            stage.set("spec.infrastructure.numberOfZones", json!(number));
            let shoot = stage.roll_out();
            let after = zones(&shoot);
            assert_eq!((after.len(), &after[..before.len()]), (number, &before[..]), "{provider}");
            before = after;
            if let Value::Array(list) =
                &shoot["spec"]["provider"]["infrastructureConfig"]["networks"]["zones"]
            {
                assert_eq!(&list[..subnets.len()], &subnets[..]);
                subnets.clone_from(list);
            }
        }
        stage.set("spec.infrastructure.numberOfZones", json!(1));
        assert_eq!(
            stage.problem(),
            "spec.infrastructure.numberOfZones: the cluster is in 3 zones, and zones cannot be taken away from it; allowed: 3"
        );
    }
}

#[test]
fn another_machine_type_must_be_where_the_nodes_are() {
    let mut stage = Stage::new(Provider::Aws).with("spec.core.region", json!("us-east-1"));
    stage.roll_out();
    stage.set("spec.infrastructure.machineType", json!("m5.large"));
    assert_eq!(zones(&stage.shoot()).len(), 3);
    stage.set("spec.infrastructure.machineType", json!("g4dn.xlarge"));
    let problem = stage.problem();
    let begin = "spec.infrastructure.machineType: g4dn.xlarge is not to be had in zone us-east-1c, where the pool has nodes; allowed: m5.large";
    assert!(problem.starts_with(begin) && !problem.ends_with("g4dn.xlarge"), "{problem}");
}

#[test]
fn ranges_and_networks_stay_whatever_the_configuration_becomes() {
    for provider in Provider::ALL {
        let mut stage = Stage::new(provider);
        let before = stage.roll_out();
        let defaults = stage.clusters.providers.get_mut(&provider).unwrap();
        defaults.nodes = "10.8.0.0/16".parse().unwrap();
        defaults.pods = "10.32.0.0/13".parse().unwrap();
        defaults.networking = "cilium".to_owned();
        defaults.floating_pool = Some("another".to_owned());
        defaults.load_balancer_provider = Some("another".to_owned());
        defaults.worker_name = "another".to_owned();
        assert_eq!(stage.shoot(), before);
        stage.set("spec.infrastructure.networking", json!({ "nodes": "10.9.0.0/16" }));
        assert_eq!(
            stage.problem(),
            "spec.infrastructure.networking.nodes: 10.9.0.0/16 is not the range of the live Shoot, which cannot change; allowed: 10.250.0.0/16"
        );
    }
}

/// A Shoot whose network others cut: what is there stays, what is new keeps clear of it.
#[test]
fn new_zones_keep_clear_of_foreign_subnets() {
    let mut stage = Stage::new(Provider::Alicloud).infrastructure("numberOfZones", json!(1));
    stage.roll_out();
    let live = stage.live.as_mut().unwrap();
    let config = live.spec.provider.infrastructure_config.as_mut().unwrap();
    config["networks"]["zones"][0]["workers"] = json!("10.250.0.0/18");
    stage.set("spec.infrastructure.numberOfZones", json!(2));
    let shoot = stage.shoot();
    let list = &shoot["spec"]["provider"]["infrastructureConfig"]["networks"]["zones"];
    assert_eq!(list[0]["workers"], "10.250.0.0/18");
    assert_eq!(list[1]["workers"], "10.250.64.0/19");
}

#[test]
fn how_a_control_plane_is_highly_available_stays() {
    let mut stage = Stage::new(Provider::Gcp).infrastructure("highAvailability", json!("node"));
    let before = stage.roll_out();
    stage.set("spec.infrastructure.highAvailability", json!(null));
    assert_eq!(stage.shoot(), before);
    stage.set("spec.infrastructure.highAvailability", json!("zone"));
    assert_eq!(
        stage.problem(),
        "spec.infrastructure.highAvailability: the control plane survives the loss of a node, which cannot change; allowed: node"
    );
}

#[test]
fn removed_pools_are_gone_and_the_order_is_kept() {
    let pool = |name: &str| json!({ "name": name, "machineType": "m6i.large", "autoScalerMin": 1, "autoScalerMax": 3 });
    let names = |stage: &Stage| -> Vec<String> {
        let shoot = stage.shoot();
        let workers = shoot["spec"]["provider"]["workers"].as_array().unwrap();
        workers.iter().map(|worker| worker["name"].as_str().unwrap().to_owned()).collect()
    };
    let mut stage =
        Stage::new(Provider::Aws).infrastructure("additionalWorkers", json!([pool("b"), pool("a")]));
    assert_eq!(names(&stage), ["cpu-worker-0", "b", "a"]);
    stage.roll_out();
    stage.set("spec.infrastructure.additionalWorkers", json!([pool("a")]));
    assert_eq!(names(&stage), ["cpu-worker-0", "a"]);
}

/// What others put into a list that can only be written as a whole stays, and what we no longer want goes.
#[test]
fn lists_are_shared_with_others() {
    let types = |stage: &Stage| -> Vec<String> {
        let shoot = stage.shoot();
        let list = shoot["spec"]["extensions"].as_array().cloned().unwrap_or_default();
        list.iter().map(|entry| entry["type"].as_str().unwrap().to_owned()).collect()
    };
    let foreign = ShootExtension {
        type_: "theirs".to_owned(),
        provider_config: Some(json!({ "a": 1 })),
        disabled: None,
    };
    let mut stage = Stage::new(Provider::Aws);
    stage.roll_out();
    stage.live.as_mut().unwrap().spec.extensions = vec![foreign];
    assert_eq!(types(&stage), [""; 0], "a list that we do not write is not touched");
    stage.set("spec.extensions", json!({ "certService": true, "shootNetworkingFilterDisabled": true }));
    assert_eq!(types(&stage), ["theirs", "shoot-networking-filter", "shoot-cert-service"]);
    stage.roll_out();
    stage.set("spec.extensions", json!({ "certService": true }));
    assert_eq!(types(&stage), ["theirs", "shoot-cert-service"]);
    stage.roll_out();
    stage.set("spec.extensions", json!(null));
    assert_eq!(types(&stage), ["theirs"], "we wrote the list, so we go on writing it for them");
    let before = stage.roll_out();
    assert_eq!(stage.shoot(), before);
    stage.live.as_mut().unwrap().spec.extensions.clear();
    assert_eq!(stage.shoot()["spec"].get("extensions"), None);
    assert_eq!(stage.shoot()["metadata"]["annotations"].as_object().unwrap().len(), 1);
}

#[test]
fn a_live_shoot_is_named_by_its_uid() {
    let mut stage = Stage::new(Provider::Aws);
    assert_eq!(stage.roll_out()["metadata"].get("uid"), None);
    stage.live.as_mut().unwrap().metadata.uid = Some("live-uid".to_owned());
    assert_eq!(stage.shoot()["metadata"]["uid"], "live-uid");
}
