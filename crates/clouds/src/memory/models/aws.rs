//! AWS: every region of a new account has a default VPC, and every VPC comes with parts.

use crate::memory::{
    GOES_WITH_HOLDER, HOLDS, Nature,
    model::{Codes, Model, Permissions, States, Witness},
    shoot::{Shoot, item, named, ordinary},
};
use allotment_core::cleanup::{
    Cloud as CloudName, CloudAccountId, Item, Place,
    attribute::{CLUSTER, DEFAULT, DHCP_OPTIONS, GROUP, MANAGED, NETWORK, PRISTINE, REFERENCED_GROUP, STATE},
};
use std::time::Duration;

pub(in crate::memory) static MODEL: Model = Model {
    cloud: CloudName::Aws,
    codes: Codes {
        revoked: "AuthFailure",
        denied: "UnauthorizedOperation",
        no_account: "InvalidClientTokenId",
        no_place: "OptInRequired",
        blocked: "DependencyViolation",
        blocked_globally: "DeleteConflict",
        managed: "OperationNotPermitted",
        inseparable: "CannotDelete",
    },
    permissions: Permissions { identify: "sts:GetCallerIdentity", places: "ec2:DescribeRegions" },
    states: States {
        leaving: "deleting",
        leaving_of: &[("Instance", "shutting-down"), ("AutoScalingGroup", "Delete in progress")],
        gone_of: &[("Instance", "terminated"), ("NatGateway", "deleted")],
        // AWS shows a terminated instance for about an hour. No settle time is longer, so second listings see it.
        shown_when_gone: Duration::from_secs(3600),
        held: &[("NetworkInterface", "in-use", "available"), ("Volume", "in-use", "available")],
    },
    witness: Witness::Names { tags_of: "ec2:" },
    // An internet gateway cannot be detached from a network with mapped public addresses.
    in_same_network: &[("NatGateway", "InternetGateway")],
    principal: |account| format!("arn:aws:iam::{account}:user/gardener"),
    of_account: items_of_account,
    of_place: items_of_place,
    of_shoot: leftovers,
};

/// The zones with a default subnet: more than one page.
const ZONES: [&str; 3] = ["a", "b", "c"];

/// The subnet of an item.
const SUBNET: &str = "subnet";
/// The security groups of an item.
const GROUPS: &str = "groups";
/// The roles of an instance profile.
const ROLES: &str = "roles";

/// An instance without a shutdown hook.
const INSTANCE_TAKES: Duration = Duration::from_secs(45);
const NAT_GATEWAY_TAKES: Duration = Duration::from_secs(60);
/// The interfaces of a load balancer go later than everything else, so one pass of deletions is not enough.
const BALANCER_INTERFACE_TAKES: Duration = Duration::from_secs(90);

fn items_of_account(_: &CloudAccountId) -> Vec<Item> {
    let name = "OrganizationAccountAccessRole";
    vec![named(item("Role", &Place::GLOBAL, name), name)]
}

fn items_of_place(account: &CloudAccountId, place: &Place) -> Vec<Item> {
    let suffix = format!("{account}-{place}");
    let id = |prefix: &str| format!("{prefix}-{suffix}");
    let vpc = id("vpc");
    let mut items = vec![
        item("DhcpOptions", place, id("dopt")),
        item("Vpc", place, vpc.clone())
            .with(DEFAULT, "true")
            .with(STATE, "available")
            .with(DHCP_OPTIONS, id("dopt")),
        item("InternetGateway", place, id("igw")).with(NETWORK, vpc.clone()),
    ];
    items.extend(ZONES.map(|zone| {
        item("Subnet", place, id(&format!("subnet-{zone}"))).with(NETWORK, vpc.clone()).with(DEFAULT, "true")
    }));
    items.extend(parts_of_vpc(place, &vpc, &suffix));
    items
}

/// The items that every VPC comes with, and that go with it.
pub(in crate::memory) fn parts_of_vpc(place: &Place, vpc: &str, suffix: &str) -> Vec<Item> {
    let id = |prefix: &str| format!("{prefix}-{suffix}");
    let group = id("sg-default");
    let rule = |prefix: &str| {
        item("SecurityGroupRule", place, id(prefix)).with(GROUP, group.clone()).with(PRISTINE, "true")
    };
    vec![
        item("RouteTable", place, id("rtb-main")).with(NETWORK, vpc).with(DEFAULT, "true"),
        item("NetworkAcl", place, id("acl-default")).with(NETWORK, vpc).with(DEFAULT, "true"),
        named(item("SecurityGroup", place, group.clone()).with(NETWORK, vpc), "default"),
        rule("sgr-default-egress"),
        rule("sgr-default-members").with(REFERENCED_GROUP, group.clone()),
    ]
}

fn leftovers(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    [network(shoot), groups(shoot), gateway(shoot), machine(shoot), balancer(shoot), identity(shoot)].concat()
}

fn vpc(shoot: &Shoot<'_>) -> String {
    shoot.id("vpc")
}

fn network(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let in_vpc = |kind, prefix: &str| shoot.tagged(kind, shoot.id(prefix)).with(NETWORK, vpc(shoot));
    let mut items = vec![
        shoot.tagged("DhcpOptions", shoot.id("dopt")),
        shoot.tagged("Vpc", vpc(shoot)).with(DHCP_OPTIONS, shoot.id("dopt")).with(STATE, "available"),
        in_vpc("InternetGateway", "igw"),
        in_vpc("Subnet", "subnet-nodes"),
        in_vpc("Subnet", "subnet-private"),
        in_vpc("Subnet", "subnet-public"),
        in_vpc("RouteTable", "rtb-private"),
        in_vpc("RouteTable", "rtb-public"),
    ];
    items.extend(parts_of_vpc(shoot.place, &vpc(shoot), shoot.technical_id));
    ordinary(items)
}

/// Two security groups that refer to each other.
fn groups(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let (nodes, balancer) = (shoot.id("sg-nodes"), shoot.id("sg-elb"));
    let group = |id: &str| shoot.tagged("SecurityGroup", id).with(NETWORK, vpc(shoot));
    let rule = |prefix: &str, group: &str, other: &str| {
        shoot.item("SecurityGroupRule", shoot.id(prefix)).with(GROUP, group).with(REFERENCED_GROUP, other)
    };
    ordinary(vec![
        named(group(&nodes), shoot.name("nodes")),
        named(group(&balancer), shoot.id("k8s-elb")),
        rule("sgr-nodes-elb", &nodes, &balancer),
        rule("sgr-elb-nodes", &balancer, &nodes),
        rule("sgr-nodes-members", &nodes, &nodes),
        rule("sgr-nodes-egress", &nodes, ""),
    ])
}

fn gateway(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let (address, interface) = (shoot.id("eipalloc"), shoot.id("eni-nat"));
    let gateway = shoot
        .tagged("NatGateway", shoot.id("nat"))
        .with(NETWORK, vpc(shoot))
        .with(SUBNET, shoot.id("subnet-public"))
        .with(STATE, "available")
        .with(HOLDS, format!("{address},{interface}"));
    vec![
        (shoot.tagged("ElasticIp", address), Nature::default()),
        (managed_interface(shoot, interface, "subnet-public"), Nature::default()),
        (gateway, Nature::slow(NAT_GATEWAY_TAKES)),
    ]
}

/// An instance with its interface, its root volume, and the volume of a workload, which stays, with a snapshot.
fn machine(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let (interface, root, data) = (shoot.id("eni-node"), shoot.id("vol-root"), shoot.id("vol-data"));
    let placed = |item: Item| {
        item.with(NETWORK, vpc(shoot))
            .with(SUBNET, shoot.id("subnet-nodes"))
            .with(GROUPS, shoot.id("sg-nodes"))
    };
    let instance = placed(shoot.tagged("Instance", shoot.id("i")))
        .with(STATE, "running")
        .with(HOLDS, [interface.as_str(), &root, &data].join(","));
    let mut items = ordinary(vec![
        placed(shoot.tagged("NetworkInterface", interface)).with(GOES_WITH_HOLDER, "true"),
        shoot.tagged("Volume", root).with(GOES_WITH_HOLDER, "true"),
        shoot.tagged("Volume", data),
        shoot.tagged("Snapshot", shoot.id("snap-data")).with(STATE, "completed"),
    ]);
    items.push((named(instance, shoot.id("node")), Nature::slow(INSTANCE_TAKES)));
    items
}

/// A classic load balancer. AWS has its tags in another service, and none on its interface.
fn balancer(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let (name, interface) = (shoot.id("elb"), shoot.id("eni-elb"));
    let balancer = shoot
        .item("LoadBalancer", name.clone())
        .with(NETWORK, vpc(shoot))
        .with(SUBNET, shoot.id("subnet-public"))
        .with(GROUPS, shoot.id("sg-elb"))
        .with(HOLDS, interface.clone());
    let interface = managed_interface(shoot, interface, "subnet-public").with(GROUPS, shoot.id("sg-elb"));
    vec![(interface, Nature::slow(BALANCER_INTERFACE_TAKES)), (named(balancer, name), Nature::default())]
}

fn managed_interface(shoot: &Shoot<'_>, id: String, subnet: &str) -> Item {
    shoot
        .item("NetworkInterface", id)
        .with(NETWORK, vpc(shoot))
        .with(SUBNET, shoot.id(subnet))
        .with(MANAGED, "true")
        .with(GOES_WITH_HOLDER, "true")
}

/// The role and the instance profile of the nodes, and their key.
fn identity(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let nodes = shoot.name("nodes");
    let global = |kind: &'static str| named(item(kind, &Place::GLOBAL, nodes.clone()), nodes.clone());
    let key = shoot.item("KeyPair", shoot.id("key")).with(CLUSTER, shoot.technical_id);
    ordinary(vec![
        named(key, shoot.name("ssh-publickey")),
        global("InstanceProfile").with(ROLES, nodes.clone()),
        global("Role"),
    ])
}
