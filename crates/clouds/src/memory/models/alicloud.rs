//! Alibaba Cloud: regions in which somebody used a default VPC have one.

use crate::memory::{
    GOES_WITH_HOLDER, HOLDS, Nature,
    model::{Codes, Model, Permissions, States, Witness},
    shoot::{Shoot, item, named, ordinary},
};
use allotment_core::cleanup::{
    Cloud as CloudName, CloudAccountId, Item, Place,
    attribute::{CHARGE, DEFAULT, GROUP, HOLDER, MANAGED, NETWORK, REFERENCED_GROUP, STATE, VARIETY},
};
use std::time::Duration;

pub(in crate::memory) static MODEL: Model = Model {
    cloud: CloudName::Alicloud,
    codes: Codes {
        revoked: "InvalidAccessKeyId.NotFound",
        denied: "Forbidden.RAM",
        no_account: "InvalidAccessKeyId.NotFound",
        no_place: "InvalidRegionId.NotFound",
        blocked: "DependencyViolation",
        blocked_globally: "DependencyViolation",
        managed: "OperationDenied.ServiceManaged",
        inseparable: "OperationDenied",
    },
    permissions: Permissions { identify: "sts:GetCallerIdentity", places: "ecs:DescribeRegions" },
    states: States {
        leaving: "Deleting",
        leaving_of: &[("Stack", "DELETE_IN_PROGRESS")],
        gone_of: &[],
        shown_when_gone: Duration::ZERO,
        held: &[("NetworkInterface", "InUse", "Available"), ("Disk", "In_use", "Available")],
    },
    witness: Witness::Names { tags_of: "" },
    in_same_network: &[],
    principal: |account| format!("acs:ram::{account}:user/gardener"),
    of_account: |_| Vec::new(),
    of_place: items_of_place,
    of_shoot: leftovers,
};

/// The attributes by which items refer to others.
const VSWITCH: &str = "vSwitch";
const GROUPS: &str = "groups";
const ADDRESS: &str = "address";
const NEXT_HOP: &str = "nextHop";
const ACCESS_LIST: &str = "accessList";
const SERVER_GROUP: &str = "serverGroup";

const INSTANCE_TAKES: Duration = Duration::from_secs(30);
const NAT_GATEWAY_TAKES: Duration = Duration::from_secs(40);
/// The interface of a load balancer goes after it, so one pass of deletions is not enough.
const BALANCER_INTERFACE_TAKES: Duration = Duration::from_secs(150);

fn items_of_place(account: &CloudAccountId, place: &Place) -> Vec<Item> {
    let id = |prefix: &str| format!("{prefix}-{account}-{place}");
    vec![
        item("Vpc", place, id("vpc")).with(DEFAULT, "true").with(STATE, "Available"),
        item("VSwitch", place, id("vsw")).with(DEFAULT, "true").with(NETWORK, id("vpc")),
        system_table(place, id("vtb"), &id("vpc")),
    ]
}

/// Every VPC comes with one, which goes with it.
fn system_table(place: &Place, id: String, vpc: &str) -> Item {
    item("RouteTable", place, id).with(NETWORK, vpc).with(VARIETY, "System").with(STATE, "Available")
}

fn leftovers(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    [network(shoot), groups(shoot), gateway(shoot), machine(shoot), balancers(shoot)].concat()
}

fn in_vpc(shoot: &Shoot<'_>, kind: &'static str, prefix: &str) -> Item {
    shoot.tagged(kind, shoot.id(prefix)).with(NETWORK, shoot.id("vpc"))
}

/// The route of a node's pods keeps the node, and the table that it is in.
fn network(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    ordinary(vec![
        shoot.tagged("Vpc", shoot.id("vpc")).with(STATE, "Available"),
        in_vpc(shoot, "VSwitch", "vsw-nodes").with(STATE, "Available"),
        in_vpc(shoot, "VSwitch", "vsw-public").with(STATE, "Available"),
        system_table(shoot.place, shoot.id("vtb"), &shoot.id("vpc")),
        shoot
            .item("RouteEntry", shoot.id("rte-pods"))
            .with(HOLDER, shoot.id("vtb"))
            .with(NEXT_HOP, shoot.id("i"))
            .with(STATE, "Available"),
        named(shoot.tagged("KeyPair", shoot.name("ssh-publickey")), shoot.name("ssh-publickey")),
    ])
}

/// Two security groups that refer to each other.
fn groups(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let (nodes, others) = (shoot.id("sg-nodes"), shoot.id("sg-others"));
    let rule = |prefix: &str, group: &str, other: &str| {
        shoot.item("SecurityGroupRule", shoot.id(prefix)).with(GROUP, group).with(REFERENCED_GROUP, other)
    };
    ordinary(vec![
        named(in_vpc(shoot, "SecurityGroup", "sg-nodes"), shoot.name("sg")),
        in_vpc(shoot, "SecurityGroup", "sg-others"),
        rule("sgr-nodes-others", &nodes, &others),
        rule("sgr-others-nodes", &others, &nodes),
        rule("sgr-nodes-egress", &nodes, ""),
    ])
}

/// The entry keeps the address, and the address keeps the gateway.
fn gateway(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let (gateway, address) = (shoot.id("ngw"), shoot.id("eip"));
    let interface = in_vpc(shoot, "NetworkInterface", "eni-nat")
        .with(VSWITCH, shoot.id("vsw-public"))
        .with(MANAGED, "true")
        .with(GOES_WITH_HOLDER, "true");
    let entry = shoot
        .tagged("SnatEntry", shoot.id("snat"))
        .with(HOLDER, gateway.as_str())
        .with(ADDRESS, address.as_str())
        .with(STATE, "Available");
    let address = shoot
        .item("ElasticIp", address)
        .with(HOLDER, gateway.as_str())
        .with(CHARGE, "PostPaid")
        .with(STATE, "InUse");
    let gateway = in_vpc(shoot, "NatGateway", "ngw")
        .with(VSWITCH, shoot.id("vsw-public"))
        .with(CHARGE, "PostPaid")
        .with(STATE, "Available")
        .with(HOLDS, shoot.id("eni-nat"));
    let mut items = ordinary(vec![interface, entry, address]);
    items.push((gateway, Nature::slow(NAT_GATEWAY_TAKES)));
    items
}

/// An instance with its interface and system disk, and the disk of a workload, which stays, with a snapshot.
fn machine(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let instance = shoot.id("i");
    let held = ["eni-node", "d-system", "d-data"].map(|prefix| shoot.id(prefix)).join(",");
    let placed = |item: Item| item.with(VSWITCH, shoot.id("vsw-nodes")).with(GROUPS, shoot.id("sg-nodes"));
    let disk = |prefix: &str| {
        let disk = shoot.tagged("Disk", shoot.id(prefix));
        disk.with(HOLDER, instance.as_str()).with(CHARGE, "PostPaid")
    };
    let interface = placed(in_vpc(shoot, "NetworkInterface", "eni-node"));
    let mut items = ordinary(vec![
        interface.with(HOLDER, instance.as_str()).with(VARIETY, "Primary"),
        disk("d-system").with(VARIETY, "withInstance"),
        disk("d-data"),
        shoot.item("Snapshot", shoot.id("s-data")).with(STATE, "accomplished"),
    ]);
    let machine = placed(in_vpc(shoot, "Instance", "i"))
        .with(CHARGE, "PostPaid")
        .with(STATE, "Running")
        .with(HOLDS, held);
    items.push((named(machine, shoot.name("node")), Nature::slow(INSTANCE_TAKES)));
    items
}

/// A classic load balancer with its access control list, and one of the network, which holds an interface.
fn balancers(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let classic = shoot
        .tagged("LoadBalancer", shoot.id("lb"))
        .with(CHARGE, "PayOnDemand")
        .with(ACCESS_LIST, shoot.id("acl"));
    let of_network = in_vpc(shoot, "NetworkLoadBalancer", "nlb")
        .with(VSWITCH, shoot.id("vsw-public"))
        .with(SERVER_GROUP, shoot.id("sgp"))
        .with(STATE, "Active")
        .with(HOLDS, shoot.id("eni-nlb"));
    let interface = in_vpc(shoot, "NetworkInterface", "eni-nlb")
        .with(VSWITCH, shoot.id("vsw-public"))
        .with(MANAGED, "true")
        .with(GOES_WITH_HOLDER, "true");
    let mut items = ordinary(vec![
        classic,
        shoot.item("AccessControlList", shoot.id("acl")),
        of_network,
        in_vpc(shoot, "ServerGroup", "sgp"),
    ]);
    items.push((interface, Nature::slow(BALANCER_INTERFACE_TAKES)));
    items
}
