//! Every region, every number of zones, every machine type.

use crate::stage::{Stage, zones};
use allotment_api::kyma::Provider;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Every combination there is renders, into zones of the region that have the machine type, or says what there is.
#[test]
fn zones_are_those_that_have_the_machine_type() {
    let mut rendered = 0;
    for provider in Provider::ALL {
        let profile = crate::stage::profile(provider);
        for region in &profile.regions {
            for machine in profile.machine_types.iter().filter(|machine| machine.usable != Some(false)) {
                let fitting: Vec<&str> = region
                    .zones
                    .iter()
                    .filter(|zone| !zone.unavailable_machine_types.contains(&machine.name))
                    .map(|zone| zone.name.as_str())
                    .collect();
                for number in 1..=8 {
                    let stage = Stage::new(provider)
                        .with("spec.core.region", json!(region.name))
                        .infrastructure("machineType", json!(machine.name))
                        .infrastructure("numberOfZones", json!(number));
                    if number <= fitting.len() {
                        let zones = zones(&stage.shoot());
                        assert_eq!(zones.len(), number, "{provider} {} {}", region.name, machine.name);
                        assert!(zones.iter().all(|zone| fitting.contains(&zone.as_str())), "{zones:?}");
                        rendered += 1;
                    } else if fitting.is_empty() && provider == Provider::Azure && number == 1 {
                        let shoot = stage.shoot();
                        assert_eq!(shoot["spec"]["provider"]["workers"][0].get("zones"), None);
                        assert_eq!(shoot["spec"]["provider"]["infrastructureConfig"]["zoned"], false);
                    } else {
                        let problem = stage.problem();
                        assert!(
                            problem.starts_with("spec.infrastructure.numberOfZones: region"),
                            "{problem}"
                        );
                    }
                }
            }
        }
    }
    assert!(rendered > 500, "{rendered}");
}

/// Clusters with one zone do not all go to the same one.
#[test]
fn clusters_are_spread_over_zones() {
    let mut used = BTreeSet::new();
    for n in 0..20 {
        let stage = Stage::new(Provider::Aws)
            .with("metadata.uid", json!(format!("uid-{n}")))
            .infrastructure("numberOfZones", json!(1));
        used.extend(zones(&stage.shoot()));
    }
    assert_eq!(used.len(), 3, "{used:?}");
}

/// A further pool goes where the first one is, as far as its machines do; the first one goes where both can.
#[test]
fn a_further_pool_goes_where_its_machines_are() {
    let pool = json!({ "name": "gpu", "machineType": "g4dn.xlarge", "autoScalerMin": 0, "autoScalerMax": 2 });
    let with = |number: i32, pool: &Value| {
        let stage = Stage::new(Provider::Aws)
            .with("spec.core.region", json!("us-east-1"))
            .infrastructure("numberOfZones", json!(number))
            .infrastructure("additionalWorkers", json!([pool]));
        let shoot = stage.shoot();
        let workers = &shoot["spec"]["provider"]["workers"];
        (workers[0]["zones"].clone(), workers[1].clone())
    };
    let both = json!(["us-east-1a", "us-east-1b"]);
    assert_eq!(with(2, &pool).0, both);
    let (first, second) = with(3, &pool);
    assert_eq!(first.as_array().unwrap().len(), 3);
    assert_eq!(second["zones"], both);
    assert_eq!(second["systemComponents"]["allow"], true);
    // It may have zones of its own; they become zones of the network, at the end.
    let mut own = pool;
    own["zones"] = json!(["us-east-1a", "us-east-1b"]);
    own["autoScalerMax"] = json!(1);
    let stage = Stage::new(Provider::Aws)
        .with("spec.core.region", json!("us-east-1"))
        .infrastructure("numberOfZones", json!(1))
        .infrastructure("zones", json!(["us-east-1c"]))
        .infrastructure("additionalWorkers", json!([own]));
    let shoot = stage.shoot();
    let zones = shoot["spec"]["provider"]["infrastructureConfig"]["networks"]["zones"].as_array().unwrap();
    let names: Vec<&str> = zones.iter().filter_map(|zone| zone["name"].as_str()).collect();
    assert_eq!(names, ["us-east-1c", "us-east-1a", "us-east-1b"]);
    // One node cannot be in two zones, so Gardener's own components do not go there.
    assert_eq!(shoot["spec"]["provider"]["workers"][1]["systemComponents"]["allow"], false);
}

#[test]
fn architectures_follow_the_machine_type() {
    let shoot = Stage::new(Provider::Aws).infrastructure("machineType", json!("m7g.large")).shoot();
    assert_eq!(shoot["spec"]["provider"]["workers"][0]["machine"]["architecture"], "arm64");
}

#[test]
fn the_name_of_a_shoot_fits_the_project() {
    use allotment_api::kyma::Cluster;
    use allotment_core::cluster::shoot_name;
    let cluster = |stage: Stage| serde_json::from_value::<Cluster>(stage.cluster).unwrap();
    let derived = shoot_name(&cluster(Stage::new(Provider::Aws)), "kyma-test-x").unwrap();
    assert_eq!(derived.len(), 9, "{derived}");
    let named = Stage::new(Provider::Aws).with("spec.core.shootName", json!("a-rather-long-name"));
    let problem = shoot_name(&cluster(named), "kyma").unwrap_err().to_string();
    assert_eq!(
        problem,
        "spec.core.shootName: a-rather-long-name is too long in project kyma; allowed: at most 17 characters"
    );
}
