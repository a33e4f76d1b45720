//! The leftovers of a Shoot.

use super::{
    GOES_WITH_HOLDER, HOLDS, Nature,
    pristine::{item, named, parts_of_vpc},
};
use allotment_core::cleanup::{
    Item, Place,
    attribute::{CLUSTER, DHCP_OPTIONS, GROUP, MANAGED, NETWORK, REFERENCED_GROUP, STATE},
};
use std::time::Duration;

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

/// Everything that Gardener leaves in an account if a Shoot is deleted by force, with its workload's leftovers. Ids follow
/// from the technical id.
pub fn leftovers_of_shoot(technical_id: &str, place: &Place) -> Vec<(Item, Nature)> {
    let shoot = Leftovers { technical_id, place };
    let mut items = shoot.network();
    items.extend(shoot.groups());
    items.extend(shoot.gateway());
    items.extend(shoot.machine());
    items.extend(shoot.balancer());
    items.extend(shoot.identity());
    items
}

struct Leftovers<'a> {
    technical_id: &'a str,
    place: &'a Place,
}

impl Leftovers<'_> {
    fn id(&self, prefix: &str) -> String {
        format!("{prefix}-{}", self.technical_id)
    }

    fn vpc(&self) -> String {
        self.id("vpc")
    }

    fn item(&self, kind: &'static str, id: impl Into<String>) -> Item {
        item(kind, self.place, id)
    }

    /// An item with the tag that Gardener sets.
    fn tagged(&self, kind: &'static str, id: impl Into<String>) -> Item {
        self.item(kind, id).with(CLUSTER, self.technical_id)
    }

    fn network(&self) -> Vec<(Item, Nature)> {
        let in_vpc = |kind, prefix: &str| self.tagged(kind, self.id(prefix)).with(NETWORK, self.vpc());
        let mut items = vec![
            self.tagged("DhcpOptions", self.id("dopt")),
            self.tagged("Vpc", self.vpc()).with(DHCP_OPTIONS, self.id("dopt")).with(STATE, "available"),
            in_vpc("InternetGateway", "igw"),
            in_vpc("Subnet", "subnet-nodes"),
            in_vpc("Subnet", "subnet-private"),
            in_vpc("Subnet", "subnet-public"),
            in_vpc("RouteTable", "rtb-private"),
            in_vpc("RouteTable", "rtb-public"),
        ];
        items.extend(parts_of_vpc(self.place, &self.vpc(), self.technical_id));
        ordinary(items)
    }

    /// Two security groups that refer to each other.
    fn groups(&self) -> Vec<(Item, Nature)> {
        let (nodes, balancer) = (self.id("sg-nodes"), self.id("sg-elb"));
        let group = |id: &str| self.tagged("SecurityGroup", id).with(NETWORK, self.vpc());
        let rule = |prefix: &str, group: &str, other: &str| {
            self.item("SecurityGroupRule", self.id(prefix)).with(GROUP, group).with(REFERENCED_GROUP, other)
        };
        ordinary(vec![
            named(group(&nodes), format!("{}-nodes", self.technical_id)),
            named(group(&balancer), self.id("k8s-elb")),
            rule("sgr-nodes-elb", &nodes, &balancer),
            rule("sgr-elb-nodes", &balancer, &nodes),
            rule("sgr-nodes-members", &nodes, &nodes),
            rule("sgr-nodes-egress", &nodes, ""),
        ])
    }

    fn gateway(&self) -> Vec<(Item, Nature)> {
        let (address, interface) = (self.id("eipalloc"), self.id("eni-nat"));
        let gateway = self
            .tagged("NatGateway", self.id("nat"))
            .with(NETWORK, self.vpc())
            .with(SUBNET, self.id("subnet-public"))
            .with(STATE, "available")
            .with(HOLDS, format!("{address},{interface}"));
        vec![
            (self.tagged("ElasticIp", address), Nature::default()),
            (self.managed_interface(interface, "subnet-public"), Nature::default()),
            (gateway, Nature::slow(NAT_GATEWAY_TAKES)),
        ]
    }

    /// An instance with its interface, its root volume, and the volume of a workload, which stays, with a snapshot.
    fn machine(&self) -> Vec<(Item, Nature)> {
        let (interface, root, data) = (self.id("eni-node"), self.id("vol-root"), self.id("vol-data"));
        let placed = |item: Item| {
            item.with(NETWORK, self.vpc())
                .with(SUBNET, self.id("subnet-nodes"))
                .with(GROUPS, self.id("sg-nodes"))
        };
        let instance = placed(self.tagged("Instance", self.id("i")))
            .with(STATE, "running")
            .with(HOLDS, [interface.as_str(), &root, &data].join(","));
        let mut items = ordinary(vec![
            placed(self.tagged("NetworkInterface", interface)).with(GOES_WITH_HOLDER, "true"),
            self.tagged("Volume", root).with(GOES_WITH_HOLDER, "true"),
            self.tagged("Volume", data),
            self.tagged("Snapshot", self.id("snap-data")).with(STATE, "completed"),
        ]);
        items.push((named(instance, self.id("node")), Nature::slow(INSTANCE_TAKES)));
        items
    }

    /// A classic load balancer. AWS has its tags in another service, and none on its interface.
    fn balancer(&self) -> Vec<(Item, Nature)> {
        let (name, interface) = (self.id("elb"), self.id("eni-elb"));
        let balancer = self
            .item("LoadBalancer", name.clone())
            .with(NETWORK, self.vpc())
            .with(SUBNET, self.id("subnet-public"))
            .with(GROUPS, self.id("sg-elb"))
            .with(HOLDS, interface.clone());
        let interface = self.managed_interface(interface, "subnet-public").with(GROUPS, self.id("sg-elb"));
        vec![(interface, Nature::slow(BALANCER_INTERFACE_TAKES)), (named(balancer, name), Nature::default())]
    }

    fn managed_interface(&self, id: String, subnet: &str) -> Item {
        self.item("NetworkInterface", id)
            .with(NETWORK, self.vpc())
            .with(SUBNET, self.id(subnet))
            .with(MANAGED, "true")
            .with(GOES_WITH_HOLDER, "true")
    }

    /// The role and the instance profile of the nodes, and their key.
    fn identity(&self) -> Vec<(Item, Nature)> {
        let nodes = format!("{}-nodes", self.technical_id);
        let global = |kind: &'static str| named(item(kind, &Place::GLOBAL, nodes.clone()), nodes.clone());
        let key = self.tagged("KeyPair", self.id("key"));
        ordinary(vec![
            named(key, format!("{}-ssh-publickey", self.technical_id)),
            global("InstanceProfile").with(ROLES, nodes.clone()),
            global("Role"),
        ])
    }
}

fn ordinary(items: Vec<Item>) -> Vec<(Item, Nature)> {
    items.into_iter().map(|item| (item, Nature::default())).collect()
}
