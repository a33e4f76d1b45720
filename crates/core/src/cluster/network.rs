//! The ranges of nodes, pods and services, and how that of the nodes is cut for zones.

use super::{
    config::ProviderDefaults,
    problem::{Findings, Problem},
    scene::Scene,
};
use allotment_api::{
    gardener::ShootNetworking,
    kyma::{Networking, Provider},
};
use ipnet::Ipv4Net;
use std::net::Ipv4Addr;

/// The sizes that a range of nodes may have: clouds take no larger network than a /16, and of a /24 each of eight zones
/// gets 32 addresses.
pub const NODE_PREFIXES: std::ops::RangeInclusive<u8> = 16..=24;

/// The most zones that a range is cut for.
pub const MAX_ZONES: usize = 8;

/// The smallest subnet that AWS makes.
const AWS_SMALLEST: u8 = 28;

/// Where the ranges stand in a Cluster.
const FIELD: &str = "spec.infrastructure.networking";

/// The ranges of a Shoot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ranges {
    pub nodes: Ipv4Net,
    pub pods: Ipv4Net,
    pub services: Ipv4Net,
}

/// The subnets of a zone on AWS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AwsSubnets {
    /// Of the nodes.
    pub workers: Ipv4Net,
    /// Of load balancers that the world reaches.
    pub public: Ipv4Net,
    /// Of load balancers that only the network reaches.
    pub internal: Ipv4Net,
}

/// The subnets of the nth zone on AWS, as Kyma cuts them: the first three zones get a quarter of the range each (half of it
/// for nodes), the others share the last quarter. `None` where there is no room for an nth zone.
pub fn aws_subnets(nodes: Ipv4Net, zone: usize) -> Option<AwsSubnets> {
    let prefix = nodes.prefix_len();
    let (workers, [public, internal]) = if zone < 3 {
        let quarter = nth(nodes, prefix + 2, zone)?;
        let rest = nth(quarter, prefix + 3, 1)?;
        (nth(quarter, prefix + 3, 0)?, [nth(rest, prefix + 4, 0)?, nth(rest, prefix + 4, 1)?])
    } else if zone < MAX_ZONES {
        let quarter = nth(nodes, prefix + 2, 3)?;
        let size = (prefix + 6).min(AWS_SMALLEST);
        let piece = |n: usize| nth(quarter, size, 3 * (zone - 3) + n);
        (piece(0)?, [piece(1)?, piece(2)?])
    } else {
        return None;
    };
    Some(AwsSubnets { workers, public, internal })
}

/// The subnet of the nth zone where a zone has one: an eighth of the range.
pub fn zone_subnet(nodes: Ipv4Net, zone: usize) -> Option<Ipv4Net> {
    nth(nodes, nodes.prefix_len() + 3, zone)
}

/// The nth subnet of this size.
fn nth(range: Ipv4Net, prefix: u8, n: usize) -> Option<Ipv4Net> {
    range.subnets(prefix).ok()?.nth(n)
}

/// Whether two ranges have an address in common.
pub fn overlap(one: Ipv4Net, other: Ipv4Net) -> bool {
    one.contains(&other) || other.contains(&one)
}

/// A range and where it was said.
struct Said {
    name: &'static str,
    field: String,
    range: Ipv4Net,
}

/// Decides on the ranges: those of the live Shoot stay, since they cannot change; a new one gets what the Cluster asks for,
/// else what the configuration says.
pub(super) fn ranges(scene: &Scene<'_>, findings: &mut Findings) -> Option<Ranges> {
    let asked = scene.infrastructure.networking.clone().unwrap_or_default();
    let live = scene.live.and_then(|live| live.networking.clone()).unwrap_or_default();
    let Networking { nodes, pods, services, dual_stack: _ } = asked;
    let ShootNetworking { nodes: live_nodes, pods: live_pods, services: live_services, .. } = live;
    let defaults = scene.defaults;
    let mut decide = |name, asked: Option<String>, live: Option<String>, default| {
        let (asked, live) = (asked.as_deref(), live.as_deref());
        findings.take(range(scene.provider, name, asked, live, default))
    };
    let nodes = decide("nodes", nodes, live_nodes, defaults.nodes);
    let pods = decide("pods", pods, live_pods, defaults.pods);
    let services = decide("services", services, live_services, defaults.services);
    let said = [nodes?, pods?, services?];
    if scene.live.is_none() {
        check(&said, scene.provider, findings);
    }
    let [nodes, pods, services] = said.map(|said| said.range);
    Some(Ranges { nodes, pods, services })
}

fn range(
    provider: Provider,
    name: &'static str,
    asked: Option<&str>,
    live: Option<&str>,
    default: Ipv4Net,
) -> Result<Said, Problem> {
    let field = format!("{FIELD}.{name}");
    let asked = asked.map(|text| parse(&field, text)).transpose()?;
    let Some(live) = live else {
        return Ok(match asked {
            Some(range) => Said { name, field, range },
            None => {
                Said { name, field: format!("clusters.providers.{provider}.{name}"), range: default.trunc() }
            }
        });
    };
    let live = parse(&field, live)?;
    match asked {
        Some(asked) if asked != live => {
            let what = format!("{asked} is not the range of the live Shoot, which cannot change");
            Err(Problem::new(field, what).allowed([live]))
        }
        _ => Ok(Said { name, field, range: live }),
    }
}

fn parse(field: &str, text: &str) -> Result<Ipv4Net, Problem> {
    let range: Ipv4Net = text
        .parse()
        .map_err(|_| Problem::new(field, format!("{text:?} is not an IPv4 range such as 10.250.0.0/16")))?;
    if range.trunc() == range {
        return Ok(range);
    }
    Err(Problem::new(field, format!("{range} is not the beginning of its range")).allowed([range.trunc()]))
}

/// Checks the ranges of the configuration, which a new Shoot of the provider has unless its Cluster asks for others.
pub(super) fn check_defaults(provider: Provider, defaults: &ProviderDefaults, findings: &mut Findings) {
    let said = |name, default| range(provider, name, None, None, default);
    let ProviderDefaults { nodes, pods, services, .. } = *defaults;
    let said = [said("nodes", nodes), said("pods", pods), said("services", services)];
    if let [Ok(nodes), Ok(pods), Ok(services)] = said {
        check(&[nodes, pods, services], provider, findings);
    }
}

fn check(said: &[Said; 3], provider: Provider, findings: &mut Findings) {
    for (n, this @ Said { name, field, range }) in said.iter().enumerate() {
        if *name == "nodes" && !NODE_PREFIXES.contains(&range.prefix_len()) {
            let what = format!("{range} is too large or too small for nodes");
            findings.problem(Problem::new(field, what).allowed(["/16 to /24"]));
        }
        for other in said[..n].iter().filter(|other| overlap(*range, other.range)) {
            // Whoever chose a range can choose another one; the defaults are the platform's.
            let is_of_cluster = |said: &Said| said.field.starts_with("spec.");
            let is_others = is_of_cluster(other) && !is_of_cluster(this);
            let (said, met) = if is_others { (other, this) } else { (this, other) };
            let what = format!("{} overlaps {} of the {}", said.range, met.range, met.name);
            findings.problem(Problem::new(&said.field, what));
        }
        // The cloud's own addresses: gardener-apiserver lets it pass, and the cluster would never come up.
        let reserved = Ipv4Net::new_assert(Ipv4Addr::new(100, 64, 0, 0), 10);
        if provider == Provider::Alicloud && *name != "nodes" && overlap(*range, reserved) {
            let what = format!("{range} overlaps {reserved}, which alicloud keeps for itself");
            findings.problem(Problem::new(field, what));
        }
    }
}
