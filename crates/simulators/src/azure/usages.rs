//! The usage of quotas in a location, hidden items included.

use super::{
    Answer,
    error::Fault,
    json,
    read::LOCATIONS,
    state::{Subscription, text, type_of},
};
use http::StatusCode;
use serde_json::{Value, json as document};

/// Names, and the type that each counts; without one it is always zero.
const NETWORK: &[(&str, &str)] = &[
    ("VirtualNetworks", "virtualnetworks"),
    ("StaticPublicIPAddresses", "publicipaddresses"),
    ("NetworkSecurityGroups", "networksecuritygroups"),
    ("PublicIPAddresses", "publicipaddresses"),
    ("PublicIpPrefixes", "publicipprefixes"),
    ("NatGateways", "natgateways"),
    ("NetworkInterfaces", "networkinterfaces"),
    ("PrivateEndpoints", "privateendpoints"),
    ("LoadBalancers", "loadbalancers"),
    ("PrivateLinkServices", "privatelinkservices"),
    ("ApplicationGateways", "applicationgateways"),
    ("RouteTables", "routetables"),
    ("RouteFilters", "routefilters"),
    ("NetworkWatchers", "networkwatchers"),
    ("ApplicationSecurityGroups", "applicationsecuritygroups"),
    ("StandardSkuLoadBalancers", "loadbalancers"),
    ("StandardSkuPublicIpAddresses", "publicipaddresses"),
    ("DnsServersPerVirtualNetwork", ""),
    ("SubnetsPerVirtualNetwork", ""),
];
const COMPUTE: &[(&str, &str)] = &[
    ("availabilitySets", "availabilitysets"),
    ("virtualMachines", "virtualmachines"),
    ("virtualMachineScaleSets", "virtualmachinescalesets"),
    ("cores", ""),
    ("Gallery", "galleries"),
    ("StandardDiskCount", "disks:Standard_LRS"),
    ("PremiumDiskCount", "disks:Premium_LRS"),
    ("StandardSSDDiskCount", "disks:StandardSSD_LRS"),
    ("StandardSnapshotCount", "snapshots"),
    ("PremiumSnapshotCount", ""),
];

impl Subscription {
    pub(super) fn usages(&self, namespace: &str, location: &str) -> Answer {
        let names = match namespace {
            "microsoft.network" => NETWORK,
            "microsoft.compute" => COMPUTE,
            _ => return Err(Fault::new(StatusCode::NOT_FOUND, "InvalidResourceType", "It counts nothing.")),
        };
        let open: Vec<&str> =
            LOCATIONS.iter().copied().filter(|location| !self.controls.closed.contains(*location)).collect();
        if !open.contains(&location) {
            let message = format!(
                "No registered resource provider found for location '{location}' and API version 'x' for type \
                 'locations/usages'. The supported locations are '{}'.",
                open.join(", ")
            );
            return Err(Fault::new(StatusCode::BAD_REQUEST, "NoRegisteredProviderFound", message));
        }
        let found: Vec<Value> = names
            .iter()
            .map(|(name, kind)| {
                document!({
                    "id": format!("{}/providers/{namespace}/locations/{location}/usages/{name}", self.root()),
                    "name": { "value": name, "localizedValue": name }, "unit": "Count", "limit": 1000,
                    "currentValue": self.used(namespace, location, kind),
                })
            })
            .collect();
        Ok(json(StatusCode::OK, &document!({ "value": found })))
    }

    fn used(&self, namespace: &str, location: &str, kind: &str) -> usize {
        let (kind, sku) = kind.split_once(':').unwrap_or((kind, ""));
        let kind = format!("{namespace}/{kind}");
        let is_counted = |key: &str, found: &Value| {
            type_of(key).as_deref() == Some(kind.as_str())
                && text(found, "/location").eq_ignore_ascii_case(location)
                && (sku.is_empty() || text(found, "/sku/name") == sku)
        };
        self.documents.iter().filter(|(key, found)| is_counted(key, found)).count()
    }
}
