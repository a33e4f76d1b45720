//! What holds for any Cluster.

use crate::stage::{Stage, profile, zones};
use allotment_api::{gardener::Shoot, kyma::Provider};
use ipnet::Ipv4Net;
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};

fn stages() -> impl Strategy<Value = Stage> {
    let pools = prop::collection::btree_set("[a-z]{1,6}", 0..4);
    (select(&Provider::ALL[..]), any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1..=3_i32, 16..=24_u8, pools)
        .prop_flat_map(|(provider, region, machine, number, prefix, pools)| {
            let profile = profile(provider);
            let region = region.get(&profile.regions).name.clone();
            let machine = machine.get(&profile.machine_types).name.clone();
            let uid = "[0-9a-f]{8}";
            let switches = any::<[Option<bool>; 3]>();
            (uid, switches, any::<bool>()).prop_map(move |(uid, [filter, certificates, names], oidc)| {
                let pools: Vec<Value> = pools
                    .iter()
                    .map(|name| json!({ "name": name, "machineType": machine, "autoScalerMin": 0, "autoScalerMax": 2 }))
                    .collect();
                let mut stage = Stage::new(provider)
                    .with("metadata.uid", json!(uid))
                    .with("spec.core.region", json!(region))
                    .with("spec.extensions", json!({
                        "shootNetworkingFilterDisabled": filter, "certService": certificates, "dnsService": names,
                    }))
                    .infrastructure("numberOfZones", json!(number))
                    .infrastructure("networking", json!({ "nodes": format!("10.250.0.0/{prefix}") }))
                    .infrastructure("additionalWorkers", json!(pools));
                if oidc {
                    stage.set("spec.oidcConfig", json!({ "issuerURL": "https://i.example.org", "clientID": "c" }));
                }
                stage
            })
        })
}

/// All ranges that stand in a value.
fn ranges(value: &Value) -> Vec<Ipv4Net> {
    match value {
        Value::String(text) => text.parse().into_iter().collect(),
        Value::Array(list) => list.iter().flat_map(ranges).collect(),
        Value::Object(map) => map.values().flat_map(ranges).collect(),
        _ => Vec::new(),
    }
}

/// What a garden fills in that nobody asked for.
fn filled_in(shoot: &Value) -> Shoot {
    let mut shoot = shoot.clone();
    shoot["metadata"]["uid"] = json!("uid");
    shoot["metadata"]["labels"]["shoot.gardener.cloud/status"] = json!("healthy");
    shoot["spec"]["maintenance"]["timeWindow"] = json!({ "begin": "010000+0000", "end": "020000+0000" });
    shoot["spec"]["seedName"] = json!("seed");
    for worker in shoot["spec"]["provider"]["workers"].as_array_mut().unwrap() {
        worker["machine"]["image"] = json!({ "name": "gardenlinux", "version": "1877.10.0" });
    }
    serde_json::from_value(shoot).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Rendering again gives the same, from nothing and from what the garden made of it.
    #[test]
    fn rendering_is_idempotent(mut stage in stages()) {
        let Ok(rendered) = stage.render() else { return Ok(()) };
        prop_assert_eq!(&stage.render().unwrap(), &rendered);
        stage.live = Some(filled_in(&rendered.shoot));
        let mut again = stage.shoot();
        again["metadata"].as_object_mut().unwrap().remove("uid");
        prop_assert_eq!(again, rendered.shoot);
    }

    /// The subnets of the provider are in the range of the nodes and touch neither each other nor pods and services, and
    /// every pool is in zones that have one.
    #[test]
    fn networks_are_sound(mut stage in stages(), more in 1..=3_i32) {
        if stage.render().is_err() { return Ok(()) }
        stage.roll_out();
        stage.set("spec.infrastructure.numberOfZones", json!(more));
        let Ok(rendered) = stage.render() else { return Ok(()) };
        let spec = &rendered.shoot["spec"];
        let range = |name: &str| spec["networking"][name].as_str().unwrap().parse::<Ipv4Net>().unwrap();
        let networks = &spec["provider"]["infrastructureConfig"]["networks"];
        let list = networks["zones"].as_array().cloned().unwrap_or_default();
        let subnets: Vec<Ipv4Net> = list.iter().flat_map(ranges).collect();
        for (n, subnet) in subnets.iter().enumerate() {
            prop_assert!(range("nodes").contains(subnet));
            for other in subnets[..n].iter().chain([&range("pods"), &range("services")]) {
                prop_assert!(!subnet.contains(other) && !other.contains(subnet));
            }
        }
        if !list.is_empty() {
            let names: Vec<String> = list.iter().map(|zone| zone["name"].to_string().replace('"', "")).collect();
            for worker in spec["provider"]["workers"].as_array().unwrap() {
                for zone in worker["zones"].as_array().unwrap() {
                    prop_assert!(names.iter().any(|name| zone == name.as_str()), "{} of {:?}", zone, names);
                }
            }
        }
        if spec["provider"]["type"] == "gcp" {
            let zone = &spec["provider"]["controlPlaneConfig"]["zone"];
            prop_assert!(zones(&rendered.shoot).iter().any(|name| zone == name.as_str()));
        }
    }
}
