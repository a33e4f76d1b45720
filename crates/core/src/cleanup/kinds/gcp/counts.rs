//! The usage of quotas, of the project and of each region.
//!
//! A number of the project counts the items of all regions, too. Some numbers are gigabytes or processors: items that stay
//! by the baseline explain them, since the baseline remembers the number; an item that only `keep` names explains one.

use crate::cleanup::kinds::{CountKind, Scope};

const PROJECT_PERMISSION: &str = "compute.projects.get";
const REGION_PERMISSION: &str = "compute.regions.get";

const fn project(name: &'static str, of: &'static [&'static str]) -> CountKind {
    CountKind { name, scope: Scope::Global, permission: PROJECT_PERMISSION, of, optional: false }
}

const fn region(name: &'static str, of: &'static [&'static str]) -> CountKind {
    CountKind { name, scope: Scope::Regional, permission: REGION_PERMISSION, of, optional: false }
}

/// A quota that not every project or region reports.
const fn optional(count: CountKind) -> CountKind {
    CountKind { optional: true, ..count }
}

pub(super) const COUNTS: &[CountKind] = &[
    project("project.NETWORKS", &["Network"]),
    project("project.SUBNETWORKS", &["Subnetwork"]),
    project("project.FIREWALLS", &["Firewall"]),
    project("project.ROUTES", &["Route"]),
    project("project.ROUTERS", &["Router"]),
    project("project.FORWARDING_RULES", &["ForwardingRule", "GlobalForwardingRule"]),
    project("project.TARGET_POOLS", &["TargetPool"]),
    project("project.TARGET_INSTANCES", &["TargetInstance"]),
    project(
        "project.HEALTH_CHECKS",
        &["HealthCheck", "RegionHealthCheck", "HttpHealthCheck", "HttpsHealthCheck"],
    ),
    project("project.BACKEND_SERVICES", &["BackendService", "RegionBackendService"]),
    project("project.BACKEND_BUCKETS", &["BackendBucket", "RegionBackendBucket"]),
    project("project.URL_MAPS", &["UrlMap", "RegionUrlMap"]),
    project("project.TARGET_HTTP_PROXIES", &["TargetHttpProxy", "RegionTargetHttpProxy"]),
    project("project.TARGET_HTTPS_PROXIES", &["TargetHttpsProxy", "RegionTargetHttpsProxy"]),
    project("project.TARGET_SSL_PROXIES", &["TargetSslProxy"]),
    project("project.TARGET_TCP_PROXIES", &["TargetTcpProxy", "RegionTargetTcpProxy"]),
    project("project.SSL_CERTIFICATES", &["SslCertificate", "RegionSslCertificate"]),
    project("project.INSTANCE_TEMPLATES", &["InstanceTemplate", "RegionInstanceTemplate"]),
    project("project.IMAGES", &["Image"]),
    project("project.SNAPSHOTS", &["Snapshot", "RegionSnapshot"]),
    project("project.STATIC_ADDRESSES", &["Address", "GlobalAddress"]),
    project(
        "project.IN_USE_ADDRESSES",
        &["Address", "GlobalAddress", "Instance", "ForwardingRule", "GlobalForwardingRule", "Router"],
    ),
    project("project.TARGET_VPN_GATEWAYS", &["TargetVpnGateway"]),
    project("project.VPN_TUNNELS", &["VpnTunnel"]),
    optional(project("project.VPN_GATEWAYS", &["VpnGateway"])),
    optional(project("project.EXTERNAL_VPN_GATEWAYS", &["ExternalVpnGateway"])),
    optional(project("project.SSL_POLICIES", &["SslPolicy", "RegionSslPolicy"])),
    optional(project("project.SECURITY_POLICIES", &["SecurityPolicy", "RegionSecurityPolicy"])),
    optional(project("project.PACKET_MIRRORINGS", &["PacketMirroring"])),
    optional(project(
        "project.NETWORK_ENDPOINT_GROUPS",
        &["NetworkEndpointGroup", "GlobalNetworkEndpointGroup"],
    )),
    optional(project(
        "project.NETWORK_FIREWALL_POLICIES",
        &["NetworkFirewallPolicy", "RegionNetworkFirewallPolicy"],
    )),
    optional(project("project.GLOBAL_INTERNAL_ADDRESSES", &["GlobalAddress"])),
    optional(project("project.STATIC_BYOIP_ADDRESSES", &["Address", "GlobalAddress"])),
    optional(project("project.MACHINE_IMAGES", &["MachineImage"])),
    optional(project("project.CPUS_ALL_REGIONS", &["Instance"])),
    optional(project("project.GPUS_ALL_REGIONS", &["Instance"])),
    // Kinds without a row.
    optional(project("project.INTERCONNECTS", &[])),
    optional(project("project.PUBLIC_ADVERTISED_PREFIXES", &[])),
    optional(project("project.PUBLIC_DELEGATED_PREFIXES", &[])),
    optional(project("project.XPN_SERVICE_PROJECTS", &[])),
    region("region.CPUS", &["Instance", "Reservation"]),
    region("region.INSTANCES", &["Instance"]),
    region("region.DISKS_TOTAL_GB", &["Disk"]),
    region("region.SSD_TOTAL_GB", &["Disk"]),
    region("region.STATIC_ADDRESSES", &["Address"]),
    region("region.IN_USE_ADDRESSES", &["Address", "Instance", "ForwardingRule", "Router"]),
    region("region.INSTANCE_GROUPS", &["InstanceGroup"]),
    region("region.INSTANCE_GROUP_MANAGERS", &["InstanceGroupManager"]),
    optional(region("region.REGIONAL_INSTANCE_GROUP_MANAGERS", &["InstanceGroupManager"])),
    optional(region("region.AUTOSCALERS", &["Autoscaler"])),
    optional(region("region.REGIONAL_AUTOSCALERS", &["Autoscaler"])),
    optional(region("region.LOCAL_SSD_TOTAL_GB", &["Instance", "Reservation"])),
    optional(region("region.PREEMPTIBLE_CPUS", &["Instance"])),
    optional(region("region.HDB_TOTAL_GB", &["Disk", "StoragePool"])),
    optional(region("region.INTERNAL_ADDRESSES", &["Address"])),
    optional(region("region.STATIC_EXTERNAL_IPV6_ADDRESS_RANGES", &["Address"])),
    optional(region("region.RESERVATIONS", &["Reservation"])),
    optional(region("region.NODE_GROUPS", &["NodeGroup"])),
    optional(region("region.NODE_TEMPLATES", &["NodeTemplate"])),
    optional(region("region.RESOURCE_POLICIES", &["ResourcePolicy"])),
    optional(region("region.NETWORK_ATTACHMENTS", &["NetworkAttachment"])),
    optional(region("region.SERVICE_ATTACHMENTS", &["ServiceAttachment"])),
    optional(region("region.IN_PLACE_SNAPSHOTS", &["InstantSnapshot"])),
    optional(region("region.INTERCONNECT_ATTACHMENTS_PER_REGION", &["InterconnectAttachment"])),
    optional(region("region.SECURITY_POLICIES_PER_REGION", &["RegionSecurityPolicy"])),
    // Nobody can delete a commitment.
    optional(region("region.COMMITMENTS", &[])),
];
