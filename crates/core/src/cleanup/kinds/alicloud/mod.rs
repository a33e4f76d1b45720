//! Alibaba Cloud. Order: load balancers, routes and machines, their storage and addresses, the network from the inside to the
//! outside. Entries of a NAT gateway go before its addresses, and routes before the instances that they lead to: each is
//! refused otherwise.

mod kinds;

use super::{CountKind, Kind, Scope, Table, Treatment, When};
use crate::cleanup::attribute::{CHARGE, GROUP, HOLDER, MANAGED, NETWORK, OWNER, REFERENCED_GROUP, STATE};

pub(super) static TABLE: Table = Table { kinds: kinds::KINDS, counts: COUNTS };

const STACK: &str = "Stack";
const AUTO_PROVISIONING_GROUP: &str = "AutoProvisioningGroup";
const LOAD_BALANCER: &str = "LoadBalancer";
const NETWORK_LOAD_BALANCER: &str = "NetworkLoadBalancer";
const ROUTE_ENTRY: &str = "RouteEntry";
const FLOW_LOG: &str = "FlowLog";
const MIRROR_SESSION: &str = "TrafficMirrorSession";
const VPN_CONNECTION: &str = "VpnConnection";
const SSL_VPN_SERVER: &str = "SslVpnServer";
const IPSEC_SERVER: &str = "IpsecServer";
const INSTANCE: &str = "Instance";
const SERVER_GROUP: &str = "ServerGroup";
const SECURITY_POLICY: &str = "SecurityPolicy";
const ACCESS_CONTROL_LIST: &str = "AccessControlList";
const SERVER_CERTIFICATE: &str = "ServerCertificate";
const CA_CERTIFICATE: &str = "CaCertificate";
const CIPHER_POLICY: &str = "TlsCipherPolicy";
const SNAT_ENTRY: &str = "SnatEntry";
const FORWARD_ENTRY: &str = "ForwardEntry";
const FULL_NAT_ENTRY: &str = "FullNatEntry";
const MIRROR_FILTER: &str = "TrafficMirrorFilter";
const LAUNCH_TEMPLATE: &str = "LaunchTemplate";
const GATEWAY_ENDPOINT: &str = "GatewayEndpoint";
const ROUTER_INTERFACE: &str = "RouterInterface";
const VPN_GATEWAY: &str = "VpnGateway";
const CUSTOMER_GATEWAY: &str = "CustomerGateway";
const COMMAND: &str = "Command";
const DISK: &str = "Disk";
const INTERFACE: &str = "NetworkInterface";
const ELASTIC_IP: &str = "ElasticIp";
const KEY_PAIR: &str = "KeyPair";
const DEPLOYMENT_SET: &str = "DeploymentSet";
const HPC_CLUSTER: &str = "HpcCluster";
const CAPACITY_RESERVATION: &str = "CapacityReservation";
const DEDICATED_HOST: &str = "DedicatedHost";
const NAT_GATEWAY: &str = "NatGateway";
const BANDWIDTH_PACKAGE: &str = "BandwidthPackage";
const HA_VIP: &str = "HaVip";
const IMAGE: &str = "Image";
const SNAPSHOT_GROUP: &str = "SnapshotGroup";
const SNAPSHOT: &str = "Snapshot";
const SNAPSHOT_POLICY: &str = "AutoSnapshotPolicy";
const GROUP_RULE: &str = "SecurityGroupRule";
const NETWORK_ACL: &str = "NetworkAcl";
const ROUTE_TABLE: &str = "RouteTable";
const IPV6_GATEWAY: &str = "Ipv6Gateway";
const IPV4_GATEWAY: &str = "Ipv4Gateway";
const SECURITY_GROUP: &str = "SecurityGroup";
const VSWITCH: &str = "VSwitch";
const VPC: &str = "Vpc";
const PREFIX_LIST: &str = "PrefixList";
const PORT_RANGE_LIST: &str = "PortRangeList";
const VPC_PREFIX_LIST: &str = "VpcPrefixList";
const DHCP_OPTIONS_SET: &str = "DhcpOptionsSet";

type Rule = (When, Treatment);

/// A VPC or vSwitch that another account shares with this one shows up in lists, and is not ours.
const FOREIGN: Rule = (When::Foreign(OWNER), Treatment::Keep("it belongs to another account"));
const MANAGED_BY_CLOUD: Rule = (
    When::Is(MANAGED, &["true"]),
    Treatment::Leaving("a service of Alibaba Cloud manages it and removes it"),
);

/// Most kinds disappear from the lists with their deletion, and only some have a state for it; naming it here makes a wave
/// wait for the others, too.
const GONE: Rule = (When::Is(STATE, &["Deleted", "deleted", "Released", "DELETE_COMPLETE"]), Treatment::Gone);
const GOING: Rule = (
    When::Is(STATE, &["Deleting", "deleting", "Releasing", "DELETE_IN_PROGRESS"]),
    Treatment::Leaving("it is being deleted"),
);

/// Subscriptions are paid in advance, and no call ends them before their time.
const PREPAID: Rule = (
    When::Is(CHARGE, &["PrePaid", "PrePay", "Prepaid", "PREPAY"]),
    Treatment::Immovable {
        because: "it is a subscription that is paid in advance, and cannot be deleted",
        remedy: "convert it to pay-as-you-go or have it refunded in the console, or wait until it expires; then it is deleted",
    },
);

/// Rules of a kind whose items are bought.
const BOUGHT: &[Rule] = &[FOREIGN, GONE, GOING, MANAGED_BY_CLOUD, PREPAID];

/// Rules of a kind whose deletion takes time.
const SLOW: &[Rule] = &[FOREIGN, GONE, GOING, MANAGED_BY_CLOUD];

/// Entries of a gateway. Gardener adds its own to a gateway that somebody brought, under the name of the Shoot.
const ENTRIES: &[Rule] = &[
    GOING,
    (When::StartsWith(crate::cleanup::attribute::CLUSTER, &["shoot--"]), Treatment::Delete),
    (When::InStayingUnnamed(HOLDER, NAT_GATEWAY), Treatment::Delete),
    (When::InStaying(HOLDER, NAT_GATEWAY), Treatment::Keep("it belongs to a NAT gateway that stays")),
];

/// There are no default groups with rules of their own, so every rule of a group that stays is in the baseline, or somebody
/// added it.
const GROUP_RULES: &[Rule] = &[
    (When::InStayingUnnamed(GROUP, SECURITY_GROUP), Treatment::Delete),
    (When::InStaying(GROUP, SECURITY_GROUP), Treatment::Keep("it belongs to a security group that stays")),
    // Two groups that refer to each other keep each other for ever.
    (When::Differ(GROUP, REFERENCED_GROUP), Treatment::Delete),
    (When::Always, Treatment::GoesWith { attribute: GROUP, kind: SECURITY_GROUP }),
];

const WITH_ITS_VPC: Treatment = Treatment::GoesWith { attribute: NETWORK, kind: VPC };

const fn kind(
    name: &'static str,
    wave: u8,
    after: &'static [&'static str],
    list: &'static [&'static str],
    delete: &'static [&'static str],
) -> Kind {
    Kind { name, scope: Scope::Regional, wave, after, list, delete, rules: SLOW, prepare: &[] }
}

const fn count(name: &'static str, permission: &'static str, of: &'static [&'static str]) -> CountKind {
    CountKind { name, scope: Scope::Regional, permission, of, optional: false }
}

/// Load balancers, NAT and VPN gateways, databases, file systems, containers and functions in a network hold interfaces, also those
/// without a row here. Both counts name what they saw. Gardener's policy allows nothing that would show more.
const COUNTS: &[CountKind] = &[
    count("network-interfaces", "ecs:DescribeNetworkInterfaces", &[INTERFACE]),
    count("own-vpcs", "vpc:DescribeVpcs", &[VPC]),
];
