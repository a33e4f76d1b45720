//! Google Cloud: everything of Compute Engine, and the service accounts of Shoots.
//!
//! Order: load balancers from the outside to the inside, groups before their machines, then disks, routers and addresses,
//! and the network last. A group that a backend service uses is refused, and makes its machines anew while it exists, so
//! load balancers go before groups, and groups before machines.
//!
//! Ids are paths without the project and the region, `routers/r` or `europe-west1-b/disks/d`: names are chosen by people,
//! and a name alone would be that of items of any kind.
//!
//! Lists show items of the project only: the network of a Shared VPC, which belongs to its host project, is in none.

mod counts;

use super::{Kind, Prepare, Scope, Table, Treatment, When};
use crate::cleanup::attribute::*;

const NETWORK_KIND: &str = "Network";
const ROUTER_KIND: &str = "Router";

type Rules = &'static [(When, Treatment)];

const DELETING: (When, Treatment) =
    (When::Is(STATE, &["DELETING"]), Treatment::Leaving("it is being deleted"));
const COMMON: Rules = &[DELETING];

/// A kind of Compute Engine: name, scope, wave, resource in permissions to list, the same to delete if it differs.
macro_rules! kind {
    ($name:literal, $scope:ident, $wave:literal, $resource:literal) => {
        kind!($name, $scope, $wave, $resource, $resource)
    };
    ($name:literal, $scope:ident, $wave:literal, $list:literal, $delete:literal) => {
        Kind {
            name: $name,
            scope: Scope::$scope,
            wave: $wave,
            after: &[],
            list: &[concat!("compute.", $list, ".list")],
            delete: &[concat!("compute.", $delete, ".delete")],
            rules: COMMON,
            prepare: &[],
        }
    };
}

pub(super) static TABLE: Table = Table { kinds: KINDS, counts: counts::COUNTS };

const PROXIES: &[&str] =
    &["TargetHttpProxy", "TargetHttpsProxy", "TargetSslProxy", "TargetTcpProxy", "TargetGrpcProxy"];
const REGION_PROXIES: &[&str] = &["RegionTargetHttpProxy", "RegionTargetHttpsProxy", "RegionTargetTcpProxy"];
const FORWARDING_RULES: &[&str] = &["ForwardingRule", "GlobalForwardingRule"];
const BACKEND_SERVICES: &[&str] = &["BackendService", "RegionBackendService"];

const KINDS: &[Kind] = &[
    // What uses others, and nothing uses it.
    kind!("ServiceAttachment", Regional, 0, "serviceAttachments"),
    kind!("PacketMirroring", Regional, 0, "packetMirrorings"),
    kind!("NetworkEdgeSecurityService", Regional, 0, "networkEdgeSecurityServices"),
    kind!("VpnTunnel", Regional, 0, "vpnTunnels"),
    kind!("InterconnectAttachment", Regional, 0, "interconnectAttachments"),
    kind!("Autoscaler", Regional, 0, "autoscalers"),
    kind!("FutureReservation", Regional, 0, "futureReservations"),
    kind!("GlobalVmExtensionPolicy", Global, 0, "globalVmExtensionPolicies"),
    kind!("ZoneVmExtensionPolicy", Regional, 0, "vmExtensionPolicies"),
    kind!("InstantSnapshot", Regional, 0, "instantSnapshots"),
    kind!("RegionSnapshot", Regional, 0, "snapshots"),
    kind!("Snapshot", Global, 0, "snapshots"),
    kind!("Image", Global, 0, "images"),
    kind!("MachineImage", Global, 0, "machineImages"),
    Kind {
        // Keys for all machines, and scripts that all machines run when they start.
        list: &["compute.projects.get"],
        delete: &["compute.projects.setCommonInstanceMetadata"],
        rules: &[(
            When::Is(PRISTINE, &["true"]),
            Treatment::Keep("a default zone, a default region or a login by IAM: it lets nobody in"),
        )],
        ..kind!("ProjectMetadata", Global, 0, "projects")
    },
    // Load balancers, from the outside to the inside.
    Kind {
        after: &["ServiceAttachment", "PacketMirroring", "VpnTunnel"],
        ..kind!("ForwardingRule", Regional, 1, "forwardingRules")
    },
    Kind {
        after: &["ServiceAttachment", "PacketMirroring"],
        ..kind!("GlobalForwardingRule", Global, 1, "globalForwardingRules")
    },
    Kind { after: FORWARDING_RULES, ..kind!("TargetHttpProxy", Global, 2, "targetHttpProxies") },
    Kind { after: FORWARDING_RULES, ..kind!("TargetHttpsProxy", Global, 2, "targetHttpsProxies") },
    Kind { after: FORWARDING_RULES, ..kind!("TargetSslProxy", Global, 2, "targetSslProxies") },
    Kind { after: FORWARDING_RULES, ..kind!("TargetTcpProxy", Global, 2, "targetTcpProxies") },
    Kind { after: FORWARDING_RULES, ..kind!("TargetGrpcProxy", Global, 2, "targetGrpcProxies") },
    Kind {
        after: FORWARDING_RULES,
        ..kind!("RegionTargetHttpProxy", Regional, 2, "targetHttpProxies", "regionTargetHttpProxies")
    },
    Kind {
        after: FORWARDING_RULES,
        ..kind!("RegionTargetHttpsProxy", Regional, 2, "targetHttpsProxies", "regionTargetHttpsProxies")
    },
    Kind {
        after: FORWARDING_RULES,
        ..kind!("RegionTargetTcpProxy", Regional, 2, "targetTcpProxies", "regionTargetTcpProxies")
    },
    Kind { after: FORWARDING_RULES, ..kind!("TargetInstance", Regional, 2, "targetInstances") },
    Kind {
        after: FORWARDING_RULES,
        ..kind!("RegionHealthCheckService", Regional, 2, "regionHealthCheckServices")
    },
    Kind {
        after: &["VpnTunnel", "ForwardingRule"],
        ..kind!("TargetVpnGateway", Regional, 2, "targetVpnGateways")
    },
    Kind { after: &["VpnTunnel"], ..kind!("VpnGateway", Regional, 2, "vpnGateways") },
    Kind { after: &["VpnTunnel"], ..kind!("ExternalVpnGateway", Global, 2, "externalVpnGateways") },
    Kind { after: PROXIES, ..kind!("UrlMap", Global, 3, "urlMaps") },
    Kind { after: REGION_PROXIES, ..kind!("RegionUrlMap", Regional, 3, "urlMaps", "regionUrlMaps") },
    Kind { after: PROXIES, ..kind!("SslCertificate", Global, 3, "sslCertificates") },
    Kind {
        after: REGION_PROXIES,
        ..kind!("RegionSslCertificate", Regional, 3, "sslCertificates", "regionSslCertificates")
    },
    Kind { after: PROXIES, ..kind!("SslPolicy", Global, 3, "sslPolicies") },
    Kind {
        after: REGION_PROXIES,
        ..kind!("RegionSslPolicy", Regional, 3, "sslPolicies", "regionSslPolicies")
    },
    Kind {
        after: &["RegionHealthCheckService"],
        ..kind!("RegionNotificationEndpoint", Regional, 3, "regionNotificationEndpoints")
    },
    Kind {
        after: &["UrlMap", "TargetSslProxy", "TargetTcpProxy", "GlobalForwardingRule"],
        ..kind!("BackendService", Global, 4, "backendServices")
    },
    Kind {
        after: &["RegionUrlMap", "RegionTargetTcpProxy", "ForwardingRule", "RegionHealthCheckService"],
        ..kind!("RegionBackendService", Regional, 4, "backendServices", "regionBackendServices")
    },
    Kind { after: &["UrlMap"], ..kind!("BackendBucket", Global, 4, "backendBuckets") },
    Kind {
        after: &["RegionUrlMap"],
        ..kind!("RegionBackendBucket", Regional, 4, "backendBuckets", "regionBackendBuckets")
    },
    // Machines.
    Kind {
        after: &["Autoscaler", "BackendService", "RegionBackendService"],
        ..kind!("InstanceGroupManager", Regional, 5, "instanceGroupManagers")
    },
    Kind {
        after: &["InstanceGroupManager"],
        delete: &["compute.instances.delete", "compute.instances.setDeletionProtection"],
        prepare: &[Prepare::DisableProtection],
        ..kind!("Instance", Regional, 6, "instances")
    },
    Kind { after: &["InstanceGroupManager"], ..kind!("InstanceTemplate", Global, 6, "instanceTemplates") },
    Kind {
        after: &["InstanceGroupManager"],
        ..kind!("RegionInstanceTemplate", Regional, 6, "instanceTemplates")
    },
    Kind {
        after: &["InstanceGroupManager", "ForwardingRule"],
        ..kind!("TargetPool", Regional, 7, "targetPools")
    },
    Kind {
        after: &["InstanceGroupManager", "BackendService", "RegionBackendService"],
        rules: &[
            DELETING,
            (When::Is(MANAGED, &["true"]), Treatment::Leaving("its instance group manager removes it")),
        ],
        ..kind!("InstanceGroup", Regional, 7, "instanceGroups")
    },
    Kind { after: BACKEND_SERVICES, ..kind!("NetworkEndpointGroup", Regional, 7, "networkEndpointGroups") },
    Kind {
        after: BACKEND_SERVICES,
        ..kind!("GlobalNetworkEndpointGroup", Global, 7, "globalNetworkEndpointGroups")
    },
    Kind {
        after: &["BackendService", "BackendBucket", "NetworkEdgeSecurityService"],
        ..kind!("SecurityPolicy", Global, 7, "securityPolicies")
    },
    Kind {
        after: &["RegionBackendService", "TargetInstance", "NetworkEdgeSecurityService", "Instance"],
        ..kind!("RegionSecurityPolicy", Regional, 7, "securityPolicies", "regionSecurityPolicies")
    },
    Kind { after: &["Instance"], ..kind!("NetworkAttachment", Regional, 7, "networkAttachments") },
    Kind { after: &["Instance", "InstantSnapshot"], ..kind!("Disk", Regional, 7, "disks") },
    Kind { after: &["Instance"], ..kind!("Reservation", Regional, 7, "reservations") },
    Kind { after: &["Instance"], ..kind!("NodeGroup", Regional, 7, "nodeGroups") },
    Kind { after: &["NodeGroup"], ..kind!("NodeTemplate", Regional, 8, "nodeTemplates") },
    Kind { after: &["Disk"], ..kind!("StoragePool", Regional, 8, "storagePools") },
    Kind { after: &["Disk", "Instance"], ..kind!("ResourcePolicy", Regional, 8, "resourcePolicies") },
    Kind { after: &["TargetPool"], ..kind!("HttpHealthCheck", Global, 8, "httpHealthChecks") },
    Kind { after: &["TargetPool"], ..kind!("HttpsHealthCheck", Global, 8, "httpsHealthChecks") },
    Kind {
        after: &["BackendService", "InstanceGroupManager", "TargetPool"],
        ..kind!("HealthCheck", Global, 8, "healthChecks")
    },
    Kind {
        after: &["RegionBackendService", "InstanceGroupManager", "RegionHealthCheckService"],
        ..kind!("RegionHealthCheck", Regional, 8, "healthChecks", "regionHealthChecks")
    },
    // Networks.
    Kind {
        // A NAT is a part of its router. One in a router that somebody brought is all that Gardener made there.
        list: &["compute.routers.list"],
        delete: &["compute.routers.update", "compute.routers.get"],
        rules: &[
            (When::InStayingUnnamed(ROUTER, ROUTER_KIND), Treatment::Delete),
            (
                When::All(&[When::StartsWith(CLUSTER, &["shoot--"]), When::InStaying(ROUTER, ROUTER_KIND)]),
                Treatment::Delete,
            ),
            (When::InStaying(ROUTER, ROUTER_KIND), Treatment::Keep("it belongs to a router that stays")),
            (When::Always, Treatment::GoesWith { attribute: ROUTER, kind: ROUTER_KIND }),
        ],
        ..kind!("RouterNat", Regional, 7, "routers")
    },
    Kind {
        after: &["RouterNat", "VpnTunnel", "InterconnectAttachment"],
        ..kind!("Router", Regional, 8, "routers")
    },
    Kind {
        rules: &[(
            When::All(&[When::Is(PRISTINE, &["true"]), When::InStaying(NETWORK, NETWORK_KIND)]),
            Treatment::Keep("every new default network has it"),
        )],
        ..kind!("Firewall", Global, 8, "firewalls")
    },
    Kind {
        after: &["VpnTunnel", "Instance", "ForwardingRule"],
        rules: &[(
            When::All(&[When::Is(DEFAULT, &["true"]), When::InStaying(NETWORK, NETWORK_KIND)]),
            Treatment::Keep("default route of a network that stays"),
        )],
        ..kind!("Route", Global, 8, "routes")
    },
    Kind {
        after: &["Router", "ForwardingRule", "Instance", "VpnGateway", "TargetVpnGateway"],
        rules: &[
            DELETING,
            (
                When::All(&[When::Is(MANAGED, &["true"]), When::InStaying(ROUTER, ROUTER_KIND)]),
                Treatment::Keep("Cloud NAT of a router that stays holds it"),
            ),
            (When::Is(MANAGED, &["true"]), Treatment::Leaving("Cloud NAT holds it and releases it")),
        ],
        ..kind!("Address", Regional, 9, "addresses")
    },
    Kind { after: &["GlobalForwardingRule"], ..kind!("GlobalAddress", Global, 9, "globalAddresses") },
    Kind {
        delete: &[
            "compute.firewallPolicies.delete",
            "compute.firewallPolicies.update",
            "compute.networks.setFirewallPolicy",
        ],
        prepare: &[Prepare::Disassociate],
        ..kind!("NetworkFirewallPolicy", Global, 9, "firewallPolicies")
    },
    Kind {
        delete: &[
            "compute.regionFirewallPolicies.delete",
            "compute.regionFirewallPolicies.update",
            "compute.networks.setFirewallPolicy",
        ],
        prepare: &[Prepare::Disassociate],
        ..kind!("RegionNetworkFirewallPolicy", Regional, 9, "firewallPolicies")
    },
    Kind {
        // A peering of the default network would lead whoever made it to the next tenant.
        list: &["compute.networks.list"],
        delete: &["compute.networks.removePeering"],
        rules: &[
            (When::InStayingUnnamed(NETWORK, NETWORK_KIND), Treatment::Delete),
            (When::InStaying(NETWORK, NETWORK_KIND), Treatment::Keep("it belongs to a network that stays")),
        ],
        ..kind!("NetworkPeering", Global, 9, "networks")
    },
    Kind {
        after: &[
            "Instance",
            "ForwardingRule",
            "Router",
            "Address",
            "NetworkEndpointGroup",
            "NetworkAttachment",
            "ServiceAttachment",
            "VpnGateway",
        ],
        rules: &[
            DELETING,
            // Nobody can delete it by itself.
            (When::Is(DEFAULT, &["true"]), Treatment::GoesWith { attribute: NETWORK, kind: NETWORK_KIND }),
        ],
        ..kind!("Subnetwork", Regional, 10, "subnetworks")
    },
    Kind {
        after: &[
            "Subnetwork",
            "Firewall",
            "Route",
            "Router",
            "NetworkPeering",
            "NetworkFirewallPolicy",
            "RegionNetworkFirewallPolicy",
            "GlobalAddress",
            "TargetVpnGateway",
            "VpnGateway",
            "Instance",
        ],
        rules: &[
            DELETING,
            // No list shows one. The second guard, for whoever changes that.
            (When::Foreign(OWNER), Treatment::Keep("it belongs to another project")),
            (When::Is(DEFAULT, &["true"]), Treatment::Keep("default network")),
        ],
        ..kind!("Network", Global, 11, "networks")
    },
    Kind {
        after: &["Instance"],
        list: &["iam.serviceAccounts.list"],
        delete: &["iam.serviceAccounts.delete"],
        rules: &[
            (When::OurPrincipal(PRINCIPAL), Treatment::Keep("the credentials are of this service account")),
            (When::Is(DEFAULT, &["true"]), Treatment::Keep("Google made it for a service of the project")),
            (When::NamedLike(&["shoot--"]), Treatment::Delete),
            (
                When::Always,
                Treatment::Immovable {
                    because: "it is no Shoot's, so it may be the landscape's, or somebody's way back in",
                    remedy: "add its email address to the keep list, or delete it by hand",
                },
            ),
        ],
        ..kind!("ServiceAccount", Global, 12, "serviceAccounts")
    },
];
