//! The usage of quotas. It counts what is there, whatever lists show.

use super::{
    reply::{Answer, refused},
    state::{Key, Project, Resource},
};
use serde_json::{Value, json};

/// Quotas of the project: collections, and whether items of regions count, too.
const PROJECT: &[(&str, &[&str])] = &[
    ("NETWORKS", &["networks"]),
    ("SUBNETWORKS", &["subnetworks"]),
    ("FIREWALLS", &["firewalls"]),
    ("ROUTERS", &["routers"]),
    ("FORWARDING_RULES", &["forwardingRules"]),
    ("TARGET_POOLS", &["targetPools"]),
    ("TARGET_INSTANCES", &["targetInstances"]),
    ("HEALTH_CHECKS", &["healthChecks", "httpHealthChecks", "httpsHealthChecks"]),
    ("BACKEND_SERVICES", &["backendServices"]),
    ("BACKEND_BUCKETS", &["backendBuckets"]),
    ("URL_MAPS", &["urlMaps"]),
    ("TARGET_HTTP_PROXIES", &["targetHttpProxies"]),
    ("TARGET_HTTPS_PROXIES", &["targetHttpsProxies"]),
    ("TARGET_SSL_PROXIES", &["targetSslProxies"]),
    ("TARGET_TCP_PROXIES", &["targetTcpProxies"]),
    ("SSL_CERTIFICATES", &["sslCertificates"]),
    ("SSL_POLICIES", &["sslPolicies"]),
    ("INSTANCE_TEMPLATES", &["instanceTemplates"]),
    ("IMAGES", &["images"]),
    ("MACHINE_IMAGES", &["machineImages"]),
    ("SNAPSHOTS", &["snapshots"]),
    ("TARGET_VPN_GATEWAYS", &["targetVpnGateways"]),
    ("VPN_GATEWAYS", &["vpnGateways"]),
    ("EXTERNAL_VPN_GATEWAYS", &["externalVpnGateways"]),
    ("VPN_TUNNELS", &["vpnTunnels"]),
    ("SECURITY_POLICIES", &["securityPolicies"]),
    ("PACKET_MIRRORINGS", &["packetMirrorings"]),
    ("NETWORK_ENDPOINT_GROUPS", &["networkEndpointGroups"]),
    ("NETWORK_FIREWALL_POLICIES", &["firewallPolicies"]),
    ("INTERCONNECTS", &["interconnects"]),
    ("XPN_SERVICE_PROJECTS", &[]),
];

const REGION: &[(&str, &[&str])] = &[
    ("INSTANCES", &["instances"]),
    ("INSTANCE_GROUPS", &["instanceGroups"]),
    ("INSTANCE_GROUP_MANAGERS", &["instanceGroupManagers"]),
    ("AUTOSCALERS", &["autoscalers"]),
    ("RESOURCE_POLICIES", &["resourcePolicies"]),
    ("RESERVATIONS", &["reservations"]),
    ("NODE_TEMPLATES", &["nodeTemplates"]),
    ("NODE_GROUPS", &["nodeGroups"]),
    ("SERVICE_ATTACHMENTS", &["serviceAttachments"]),
    ("NETWORK_ATTACHMENTS", &["networkAttachments"]),
    ("COMMITMENTS", &["commitments"]),
];

fn usage<'a>(metric: &str, counted: impl Iterator<Item = u64> + 'a) -> Value {
    let sum: u64 = counted.sum();
    json!({ "metric": metric, "limit": 1000.0, "usage": sum as f64 })
}

fn is_external(resource: &Resource) -> bool {
    let is_internal = resource.body["addressType"] == json!("INTERNAL");
    !is_internal && resource.body["purpose"] != json!("NAT_AUTO")
}

pub(crate) fn fingerprint(project: &Project) -> String {
    format!("f{}", project.metadata.iter().map(|entry| entry.to_string().len()).sum::<usize>())
}

/// The project, with its quotas.
pub(crate) fn project(project: &Project) -> Value {
    let of = |collections: &'static [&str]| {
        let is_one = move |key: &&Key| collections.contains(&key.collection.as_str());
        project.resources.keys().filter(is_one).map(|_| 1)
    };
    let mut quotas: Vec<Value> =
        PROJECT.iter().map(|(metric, collections)| usage(metric, of(collections))).collect();
    // Routes of subnetworks do not count.
    let routes = project.resources.iter().filter(|(key, resource)| {
        key.collection == "routes" && resource.body["routeType"] != json!("SUBNET")
    });
    quotas.push(usage("ROUTES", routes.map(|_| 1)));
    let addresses = |scope: Option<&'static str>| {
        project.resources.iter().filter(move |(key, resource)| {
            key.collection == "addresses"
                && scope.is_none_or(|scope| key.scope == scope)
                && is_external(resource)
        })
    };
    quotas.push(usage("STATIC_ADDRESSES", addresses(None).map(|_| 1)));
    quotas.push(usage("IN_USE_ADDRESSES", project.resources.iter().filter_map(in_use_addresses)));
    json!({
        "kind": "compute#project",
        "id": project.compute_id,
        "name": project.id,
        "selfLink": format!("https://www.googleapis.com/compute/v1/projects/{}", project.id),
        "commonInstanceMetadata": {
            "kind": "compute#metadata", "fingerprint": fingerprint(project), "items": project.metadata,
        },
        "quotas": quotas,
        "defaultServiceAccount": "1-compute@developer.gserviceaccount.com",
    })
}

/// External addresses that an item has.
fn in_use_addresses((key, resource): (&Key, &Resource)) -> Option<u64> {
    let is_external = match key.collection.as_str() {
        "instances" => resource.body.pointer("/networkInterfaces/0/accessConfigs/0").is_some(),
        "forwardingRules" => resource.body["loadBalancingScheme"] == json!("EXTERNAL"),
        "addresses" => resource.body["purpose"] == json!("NAT_AUTO"),
        _ => false,
    };
    is_external.then_some(1)
}

/// A region, with its quotas.
pub(crate) fn region(project: &Project, region: &str) -> Answer {
    if !project.regions.iter().any(|known| known == region) {
        return refused(404, "notFound", "The region was not found");
    }
    let is_here = |key: &Key| {
        key.scope == format!("regions/{region}") || key.scope.starts_with(&format!("zones/{region}-"))
    };
    let here = || project.resources.iter().filter(|(key, _)| is_here(key));
    let mut quotas: Vec<Value> = REGION
        .iter()
        .map(|(metric, collections)| {
            let is_one = |(key, _): &(&Key, &Resource)| collections.contains(&key.collection.as_str());
            usage(metric, here().filter(is_one).map(|_| 1))
        })
        .collect();
    let gigabytes = |is_ssd: bool| {
        let disks = here().filter(|(key, _)| key.collection == "disks");
        disks.filter_map(move |(_, resource)| {
            let kind = resource.body["type"].as_str().unwrap_or_default();
            let size = resource.body["sizeGb"].as_str().and_then(|size| size.parse::<u64>().ok());
            (kind.ends_with("pd-ssd") == is_ssd).then(|| size.unwrap_or(10))
        })
    };
    quotas.push(usage("DISKS_TOTAL_GB", gigabytes(false)));
    quotas.push(usage("SSD_TOTAL_GB", gigabytes(true)));
    quotas.push(usage("CPUS", here().filter(|(key, _)| key.collection == "instances").map(|_| 4)));
    let addresses = here().filter(|(key, resource)| key.collection == "addresses" && is_external(resource));
    quotas.push(usage("STATIC_ADDRESSES", addresses.map(|_| 1)));
    quotas.push(usage("IN_USE_ADDRESSES", here().filter_map(in_use_addresses)));
    let zones = ["b", "c"].map(|zone| project.url(&format!("zones/{region}-{zone}")));
    let mut body = json!({
        "kind": "compute#region", "name": region, "status": "UP", "zones": zones, "quotas": quotas,
        "selfLink": project.url(&format!("regions/{region}")),
    });
    if project.controls.without_quotas.contains(region) {
        body["quotas"] = json!([]);
        body["quotaStatusWarning"] = json!({ "code": "QUOTA_INFO_UNAVAILABLE", "message": "try again" });
    }
    Answer::ok(body)
}
