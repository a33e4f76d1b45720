//! Ranges, and how they are cut.

use crate::stage::Stage;
use allotment_api::kyma::Provider;
use allotment_core::cluster::network::{aws_subnets, overlap, zone_subnet};
use ipnet::Ipv4Net;
use proptest::prelude::*;
use serde_json::json;

fn range(text: &str) -> Ipv4Net {
    text.parse().unwrap()
}

/// As Kyma cuts it, so that a Shoot of Kyma's can be taken over.
#[test]
fn the_first_zones_are_those_of_kyma() {
    let cut = |zone| {
        let subnets = aws_subnets(range("10.250.0.0/16"), zone).unwrap();
        [subnets.workers, subnets.public, subnets.internal].map(|net| net.to_string())
    };
    assert_eq!(cut(0), ["10.250.0.0/19", "10.250.32.0/20", "10.250.48.0/20"]);
    assert_eq!(cut(1), ["10.250.64.0/19", "10.250.96.0/20", "10.250.112.0/20"]);
    assert_eq!(cut(2), ["10.250.128.0/19", "10.250.160.0/20", "10.250.176.0/20"]);
    assert_eq!(cut(3), ["10.250.192.0/22", "10.250.196.0/22", "10.250.200.0/22"]);
    assert_eq!(cut(7), ["10.250.240.0/22", "10.250.244.0/22", "10.250.248.0/22"]);
}

/// AWS makes no subnet smaller than a /28, so small ranges have room for fewer zones.
#[test]
fn small_ranges_have_room_for_fewer_zones() {
    for (prefix, most) in [(16, 8), (20, 8), (22, 8), (23, 5), (24, 4)] {
        let nodes = range(&format!("10.250.0.0/{prefix}"));
        assert_eq!((0..9).take_while(|zone| aws_subnets(nodes, *zone).is_some()).count(), most, "/{prefix}");
        assert_eq!((0..9).take_while(|zone| zone_subnet(nodes, *zone).is_some()).count(), 8, "/{prefix}");
    }
}

/// A region with eight zones, as none of the landscapes has.
fn eight_zones(provider: Provider, number: usize, nodes: &str) -> Stage {
    let mut stage = Stage::new(provider)
        .infrastructure("numberOfZones", json!(number))
        .infrastructure("networking", json!({ "nodes": nodes }));
    let region = stage.profile.regions[0].clone();
    stage.set("spec.core.region", json!(region.name));
    stage.profile.regions[0].zones = (1..=8)
        .map(|n| {
            let mut zone = region.zones[0].clone();
            zone.name = n.to_string();
            zone.unavailable_machine_types.clear();
            zone
        })
        .collect();
    stage
}

#[test]
fn every_size_and_number_of_zones_is_cut_or_told() {
    for provider in Provider::ALL {
        for prefix in 16..=24 {
            for number in 1..=8 {
                let stage = eight_zones(provider, number, &format!("10.128.0.0/{prefix}"));
                let fits =
                    provider != Provider::Aws || number <= 4 || prefix <= 22 || prefix == 23 && number == 5;
                if fits {
                    stage.shoot();
                    continue;
                }
                let room = if prefix == 23 { 5 } else { 4 };
                assert_eq!(
                    stage.problem(),
                    format!(
                        "spec.infrastructure.networking.nodes: 10.128.0.0/{prefix} has room for {room} zones, and \
                         {number} are asked for; allowed: a larger range, or fewer zones"
                    )
                );
            }
        }
        for prefix in [8, 12, 15, 25, 28, 32] {
            let problem = eight_zones(
                provider,
                1,
                &format!("10.128.0.0/{prefix}").replace(
                    ".128",
                    match prefix {
                        8 => ".0",
                        _ => ".128",
                    },
                ),
            )
            .problems()[0]
                .to_string();
            assert!(
                problem.ends_with("is too large or too small for nodes; allowed: /16 to /24"),
                "{problem}"
            );
        }
    }
}

proptest! {
    /// The subnets of a range are inside of it, and none touches another.
    #[test]
    fn subnets_are_inside_and_apart(address in any::<u32>(), prefix in 16_u8..=24) {
        let nodes = Ipv4Net::new(address.into(), prefix).unwrap().trunc();
        let aws: Vec<Ipv4Net> = (0..8)
            .filter_map(|zone| aws_subnets(nodes, zone))
            .flat_map(|subnets| [subnets.workers, subnets.public, subnets.internal])
            .collect();
        let others: Vec<Ipv4Net> = (0..8).filter_map(|zone| zone_subnet(nodes, zone)).collect();
        for subnets in [aws, others] {
            for (n, subnet) in subnets.iter().enumerate() {
                prop_assert!(nodes.contains(subnet), "{} is not in {}", subnet, nodes);
                prop_assert!(subnet.prefix_len() <= 28);
                for other in &subnets[..n] {
                    prop_assert!(!overlap(*subnet, *other), "{} and {}", subnet, other);
                }
            }
        }
    }
}
