//! What the extension of each provider wants to know: `infrastructureConfig` and `controlPlaneConfig`. gardener-apiserver
//! does not look into them, so what the providers' own validation asks for is seen to here.
//!
//! Of a live Shoot everything stays that cannot change: networks, the subnets of zones, and with them their order. Zones are
//! added at the end.

mod alicloud;
mod aws;
mod azure;
mod gcp;
mod openstack;

use super::{
    network::overlap,
    problem::{Findings, Problem},
    scene::Scene,
};
use allotment_api::kyma::Provider;
use ipnet::Ipv4Net;
use serde_json::{Value, json};

pub(super) use aws::worker_config;

/// What the provider's extension wants to know.
pub(super) struct Configs {
    pub infrastructure: Value,
    pub control_plane: Value,
}

/// What a provider's configuration is made of.
pub(super) struct Ground<'a> {
    pub scene: &'a Scene<'a>,
    /// The range of the nodes.
    pub nodes: Ipv4Net,
    /// The zones of all pools, those of the first pool first.
    pub zones: &'a [String],
}

/// The configuration for the provider.
pub(super) fn configs(ground: &Ground<'_>, findings: &mut Findings) -> Option<Configs> {
    let result = match ground.scene.provider {
        Provider::Aws => aws::configs(ground),
        Provider::Azure => azure::configs(ground),
        Provider::Gcp => Ok(gcp::configs(ground)),
        Provider::Openstack => openstack::configs(ground),
        Provider::Alicloud => alicloud::configs(ground),
    };
    findings.take(result)
}

impl Ground<'_> {
    /// A value of the live infrastructureConfig.
    fn live(&self, pointer: &str) -> Option<&Value> {
        self.scene.live?.provider.infrastructure_config.as_ref()?.pointer(pointer)
    }

    /// A value of the live controlPlaneConfig.
    fn live_control_plane(&self, pointer: &str) -> Option<&Value> {
        self.scene.live?.provider.control_plane_config.as_ref()?.pointer(pointer)
    }

    /// A value of the live infrastructureConfig, else a new one.
    fn keep(&self, pointer: &str, new: Value) -> Value {
        self.live(pointer).cloned().unwrap_or(new)
    }

    /// An object of this kind of the provider's, with these fields.
    fn object(&self, kind: &str, fields: Value) -> Value {
        let provider = self.scene.provider;
        let version = format!("{provider}.provider.extensions.gardener.cloud/v1alpha1");
        let mut object = json!({ "apiVersion": version, "kind": kind });
        if let (Value::Object(object), Value::Object(fields)) = (&mut object, fields) {
            object.extend(fields);
        }
        object
    }

    /// The list of zones with their subnets: the live ones as they are, then the new ones, each in the first place that
    /// none of the others takes.
    fn zone_list(
        &self,
        subnets: [&str; 3],
        entry: impl Fn(&str, usize) -> Option<Value>,
    ) -> Result<Vec<Value>, Problem> {
        let live = self.live("/networks/zones").and_then(Value::as_array);
        let mut list: Vec<Value> = live.cloned().unwrap_or_default();
        let mut place = 0;
        for zone in self.zones {
            if list.iter().any(|entry| name(entry) == *zone) {
                continue;
            }
            list.push(loop {
                let entry = entry(zone, place).ok_or_else(|| self.no_room(place))?;
                place += 1;
                if !list.iter().any(|other| touch(other, &entry, subnets)) {
                    break entry;
                }
            });
        }
        Ok(list)
    }

    fn no_room(&self, most: usize) -> Problem {
        let what =
            format!("{} has room for {most} zones, and {} are asked for", self.nodes, self.zones.len());
        Problem::new("spec.infrastructure.networking.nodes", what).allowed(["a larger range, or fewer zones"])
    }
}

/// The name of a zone in a list; on Azure it is a number.
fn name(entry: &Value) -> String {
    match &entry["name"] {
        Value::String(name) => name.clone(),
        other => other.to_string(),
    }
}

/// Whether two zones have subnets that overlap.
fn touch(one: &Value, other: &Value, subnets: [&str; 3]) -> bool {
    let ranges = |entry: &Value| {
        let ranges = subnets.iter().filter_map(|field| entry[*field].as_str()?.parse().ok());
        ranges.collect::<Vec<Ipv4Net>>()
    };
    let others = ranges(other);
    ranges(one).iter().any(|one| others.iter().any(|other| overlap(*one, *other)))
}
