//! OpenStack: every project has a default security group, and sees the external network of the cloud.

use crate::memory::{
    GOES_WITH_HOLDER, HOLDS, Nature,
    model::{Codes, Model, Permissions, States, Witness},
    shoot::{Shoot, item, named, ordinary},
};
use allotment_core::cleanup::{
    Cloud as CloudName, CloudAccountId, Item, Place,
    attribute::{
        DEVICE_OWNER, EXTERNAL, GROUP, NETWORK, OWNER, PRISTINE, REFERENCED_GROUP, ROUTER, SHARED, STATE,
    },
};
use std::time::Duration;

pub(in crate::memory) static MODEL: Model = Model {
    cloud: CloudName::OpenStack,
    codes: Codes {
        revoked: "Unauthorized",
        denied: "Forbidden",
        no_account: "ProjectNotFound",
        no_place: "EndpointNotFound",
        blocked: "Conflict",
        blocked_globally: "Conflict",
        managed: "ServicePortInUse",
        inseparable: "BadRequest",
    },
    permissions: Permissions { identify: "identity:get_auth_projects", places: "identity:get_auth_catalog" },
    states: States {
        leaving: "deleting",
        leaving_of: &[("LoadBalancer", "PENDING_DELETE")],
        gone_of: &[],
        shown_when_gone: Duration::ZERO,
        held: &[("Volume", "in-use", "available")],
    },
    witness: Witness::Numbers { sums: &[], without_row: &[] },
    in_same_network: &[],
    principal: |account| format!("user-of-{account}"),
    of_account: |_| Vec::new(),
    of_place: items_of_place,
    of_shoot: leftovers,
};

/// The project that owns the external network.
const OPERATORS: &str = "operators-of-the-cloud";

const SUBNET: &str = "subnet";
const PORT: &str = "port";
const SERVER: &str = "server";
const VOLUME: &str = "volume";
const SECURITY_GROUP: &str = "securityGroup";
/// The router interface that a floating IP needs.
const THROUGH: &str = "through";

const SERVER_TAKES: Duration = Duration::from_secs(20);
const BALANCER_TAKES: Duration = Duration::from_secs(30);
/// The port of a load balancer goes after it, so one pass of deletions is not enough.
const BALANCER_PORT_TAKES: Duration = Duration::from_secs(75);

fn items_of_place(account: &CloudAccountId, place: &Place) -> Vec<Item> {
    let id = |prefix: &str| format!("{prefix}-{account}-{place}");
    let network = item("Network", place, format!("external-{place}"))
        .with(OWNER, OPERATORS)
        .with(EXTERNAL, "true")
        .with(SHARED, "true");
    let group = id("sg-default");
    let rule = |prefix: &str| {
        item("SecurityGroupRule", place, id(prefix)).with(GROUP, group.clone()).with(PRISTINE, "true")
    };
    vec![
        named(network, "external"),
        named(item("SecurityGroup", place, group.clone()), "default"),
        rule("rule-default-egress-4"),
        rule("rule-default-egress-6"),
        rule("rule-default-members-4").with(REFERENCED_GROUP, group.clone()),
        rule("rule-default-members-6").with(REFERENCED_GROUP, group.clone()),
    ]
}

fn leftovers(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    [network(shoot), groups(shoot), machine(shoot), balancer(shoot)].concat()
}

fn in_network(shoot: &Shoot<'_>, kind: &'static str, prefix: &str) -> Item {
    shoot.tagged(kind, shoot.id(prefix)).with(NETWORK, shoot.id("net"))
}

/// A port in the subnet of the nodes, held by something that made it.
fn held_port(shoot: &Shoot<'_>, prefix: &str, owner: &str) -> Item {
    in_network(shoot, "Port", prefix)
        .with(SUBNET, shoot.id("subnet"))
        .with(DEVICE_OWNER, owner)
        .with(GOES_WITH_HOLDER, "true")
}

fn network(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let interface = in_network(shoot, "RouterInterface", "interface")
        .with(SUBNET, shoot.id("subnet"))
        .with(ROUTER, shoot.id("router"))
        .with(DEVICE_OWNER, "network:router_interface");
    ordinary(vec![
        named(shoot.tagged("Network", shoot.id("net")), shoot.technical_id),
        named(in_network(shoot, "Subnet", "subnet").with(HOLDS, shoot.id("port-dhcp")), shoot.technical_id),
        held_port(shoot, "port-dhcp", "network:dhcp"),
        named(shoot.tagged("Router", shoot.id("router")), shoot.technical_id),
        interface,
        in_network(shoot, "ShareNetwork", "share-network"),
        named(shoot.tagged("KeyPair", shoot.name("ssh-publickey")), shoot.name("ssh-publickey")),
    ])
}

/// Two security groups that refer to each other.
fn groups(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let (nodes, balancer) = (shoot.id("sg-nodes"), shoot.id("sg-lb"));
    let rule = |prefix: &str, group: &str, other: &str| {
        shoot.item("SecurityGroupRule", shoot.id(prefix)).with(GROUP, group).with(REFERENCED_GROUP, other)
    };
    ordinary(vec![
        named(shoot.tagged("SecurityGroup", nodes.clone()), shoot.technical_id),
        named(shoot.item("SecurityGroup", balancer.clone()), shoot.id("lb-sg")),
        rule("rule-nodes-lb", &nodes, &balancer),
        rule("rule-lb-nodes", &balancer, &nodes),
        rule("rule-nodes-members", &nodes, &nodes),
        rule("rule-nodes-egress", &nodes, ""),
    ])
}

/// A server with its port, its root volume, and the volume of a workload, which stays, with a snapshot.
fn machine(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let (server, data) = (shoot.id("server"), shoot.id("vol-data"));
    let held = ["port-node", "vol-root", "vol-data"].map(|prefix| shoot.id(prefix)).join(",");
    let mut items = ordinary(vec![
        held_port(shoot, "port-node", "compute:nova").with(SECURITY_GROUP, shoot.id("sg-nodes")),
        shoot
            .item("Volume", shoot.id("vol-root"))
            .with(SERVER, server.as_str())
            .with(GOES_WITH_HOLDER, "true"),
        shoot.item("Volume", data.as_str()).with(SERVER, server.as_str()),
        shoot
            .item("VolumeSnapshot", shoot.id("snap-data"))
            .with(VOLUME, data.as_str())
            .with(STATE, "available"),
        shoot.tagged("ServerGroup", shoot.id("server-group")),
    ]);
    let server = shoot.tagged("Server", server).with(STATE, "ACTIVE").with(HOLDS, held);
    items.push((named(server, shoot.name("node")), Nature::slow(SERVER_TAKES)));
    items
}

/// A load balancer of a Service, with an address that leads to it.
fn balancer(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let port = shoot.id("port-lb");
    let balancer = in_network(shoot, "LoadBalancer", "lb")
        .with(SUBNET, shoot.id("subnet"))
        .with(PORT, port.as_str())
        .with(STATE, "ACTIVE")
        .with(HOLDS, port.as_str());
    let address = shoot
        .item("FloatingIp", shoot.id("fip"))
        .with(PORT, port.as_str())
        .with(ROUTER, shoot.id("router"))
        .with(THROUGH, shoot.id("interface"));
    let port = held_port(shoot, "port-lb", "Octavia").with(SECURITY_GROUP, shoot.id("sg-lb"));
    vec![
        (port, Nature::slow(BALANCER_PORT_TAKES)),
        (named(balancer, format!("kube_service_{}_app", shoot.technical_id)), Nature::slow(BALANCER_TAKES)),
        (address, Nature::default()),
    ]
}
