//! Networks and load balancers.

use super::{Row, Source, row};
use crate::openstack::services::{LOAD_BALANCER, NETWORK as NEUTRON};
use allotment_core::cleanup::attribute::{
    DEVICE_OWNER, EXTERNAL, GROUP, NETWORK, OWNER, REFERENCED_GROUP, SHARED, STATE,
};

/// The router of an interface.
pub(in crate::openstack) const ROUTER: &str = "router";
/// The subnet of the first address.
pub(in crate::openstack) const SUBNET: &str = "subnet";
const PORT: &str = "port";
const SECURITY_GROUP: &str = "securityGroup";
const DEVICE: &str = "device";

/// How ports of interfaces begin: with and without DVR and high availability.
const INTERFACES: &[&str] = &["network:router_interface", "network:ha_router_replicated_interface"];

const OWN: (&str, Source) = (OWNER, Source::At("/project_id"));
const OF_PROJECT: &[&str] = &["project_id=$"];

/// A kind of neutron, of which the lists show those of other projects, too.
const fn neutron(
    kind: &'static str,
    list: &'static str,
    items: &'static str,
    delete: &'static str,
    extension: &'static str,
) -> Row {
    Row { queries: OF_PROJECT, attributes: &[OWN], extension, ..row(kind, &NEUTRON, list, items, delete) }
}

pub(super) static ROWS: &[Row] = &[
    Row {
        queries: OF_PROJECT,
        attributes: &[
            OWN,
            (STATE, Source::At("/provisioning_status")),
            (NETWORK, Source::At("/vip_network_id")),
            (SUBNET, Source::At("/vip_subnet_id")),
            (PORT, Source::At("/vip_port_id")),
        ],
        ..row(
            "LoadBalancer",
            &LOAD_BALANCER,
            "/lbaas/loadbalancers",
            "loadbalancers",
            "/lbaas/loadbalancers/$?cascade=true",
        )
    },
    Row {
        name: "/floating_ip_address",
        attributes: &[OWN, (PORT, Source::At("/port_id")), (ROUTER, Source::At("/router_id"))],
        ..neutron("FloatingIp", "/floatingips", "floatingips", "/floatingips/$", "router")
    },
    Row {
        queries: &["project_id=$&device_owner=network:router_interface&\
            device_owner=network:router_interface_distributed&\
            device_owner=network:ha_router_replicated_interface"],
        attributes: &[
            OWN,
            (NETWORK, Source::At("/network_id")),
            (ROUTER, Source::At("/device_id")),
            (SUBNET, Source::At("/fixed_ips/0/subnet_id")),
            (DEVICE_OWNER, Source::At("/device_owner")),
        ],
        // Neutron refuses to delete it as a port.
        ..neutron("RouterInterface", "/ports", "ports", "", "router")
    },
    neutron("Router", "/routers", "routers", "/routers/$", "router"),
    // Subports are released with their trunk.
    Row {
        attributes: &[OWN, (PORT, Source::At("/port_id"))],
        ..neutron("Trunk", "/trunks", "trunks", "/trunks/$", "trunk")
    },
    Row {
        attributes: &[
            OWN,
            (NETWORK, Source::At("/network_id")),
            (DEVICE_OWNER, Source::At("/device_owner")),
            (DEVICE, Source::At("/device_id")),
            (SUBNET, Source::At("/fixed_ips/0/subnet_id")),
            (SECURITY_GROUP, Source::At("/security_groups/0")),
        ],
        except: Some((DEVICE_OWNER, INTERFACES)),
        ..neutron("Port", "/ports", "ports", "/ports/$", "")
    },
    Row {
        attributes: &[OWN, (NETWORK, Source::At("/network_id"))],
        ..neutron("Subnet", "/subnets", "subnets", "/subnets/$", "")
    },
    // Those of others, too: rules ask whether the network of a port stays.
    Row {
        queries: &[""],
        attributes: &[
            OWN,
            (EXTERNAL, Source::At("/router:external")),
            (SHARED, Source::At("/shared")),
            (STATE, Source::At("/status")),
        ],
        ..neutron("Network", "/networks", "networks", "/networks/$", "")
    },
    Row {
        name: "",
        attributes: &[
            OWN,
            (GROUP, Source::At("/security_group_id")),
            (REFERENCED_GROUP, Source::At("/remote_group_id")),
        ],
        ..neutron(
            "SecurityGroupRule",
            "/security-group-rules",
            "security_group_rules",
            "/security-group-rules/$",
            "security-group",
        )
    },
    neutron("SecurityGroup", "/security-groups", "security_groups", "/security-groups/$", "security-group"),
];
