//! Networks and everything in them.

use super::{Deed, Row, Source, UNSIZED, Value, deed, ec2, pages};
use allotment_core::cleanup::attribute::{
    DEFAULT, DHCP_OPTIONS, GROUP, MANAGED, NETWORK, OWNER, REFERENCED_GROUP, STATE,
};

/// The ids of associations to dissolve.
const ASSOCIATIONS: &str = "associations";
/// The networks that a gateway is attached to.
const ATTACHED_TO: &str = "attachedTo";
/// Whether a rule is for traffic that leaves.
pub(in crate::aws) const EGRESS: &str = "egress";
pub(in crate::aws) const PROTOCOL: &str = "protocol";
pub(in crate::aws) const CIDR: &str = "cidr";

const VPC: (&str, Source) = (NETWORK, Source::Text("vpcId"));
const OWNED: (&str, Source) = (OWNER, Source::Text("ownerId"));
const IN_STATE: (&str, Source) = (STATE, Source::Text("state"));

const fn revoke(action: &'static str, egress: &'static str) -> Deed {
    Deed {
        only: Some((EGRESS, egress)),
        ..deed(action, &[("GroupId", Value::Attribute(GROUP)), ("SecurityGroupRuleId.1", Value::Id)])
    }
}

pub(super) static ROWS: &[Row] = &[
    Row {
        attributes: &[IN_STATE, VPC],
        ..ec2(
            "NatGateway",
            "DescribeNatGateways",
            "natGatewaySet/item",
            "natGatewayId",
            &[deed("DeleteNatGateway", &[("NatGatewayId", Value::Id)])],
        )
    },
    Row {
        attributes: &[IN_STATE, VPC, (MANAGED, Source::Any("requesterManaged", "true"))],
        ..ec2(
            "VpcEndpoint",
            "DescribeVpcEndpoints",
            "vpcEndpointSet/item",
            "vpcEndpointId",
            &[deed("DeleteVpcEndpoints", &[("VpcEndpointId.1", Value::Id)])],
        )
    },
    Row {
        attributes: &[(STATE, Source::Text("status/code"))],
        // The other side asks, and nobody here accepted: then it can only be rejected.
        unlock: &[deed("RejectVpcPeeringConnection", &[("VpcPeeringConnectionId", Value::Id)])],
        ..ec2(
            "VpcPeeringConnection",
            "DescribeVpcPeeringConnections",
            "vpcPeeringConnectionSet/item",
            "vpcPeeringConnectionId",
            &[deed("DeleteVpcPeeringConnection", &[("VpcPeeringConnectionId", Value::Id)])],
        )
    },
    Row {
        pages: UNSIZED,
        attributes: &[IN_STATE],
        ..ec2(
            "VpnConnection",
            "DescribeVpnConnections",
            "vpnConnectionSet/item",
            "vpnConnectionId",
            &[deed("DeleteVpnConnection", &[("VpnConnectionId", Value::Id)])],
        )
    },
    Row {
        pages: UNSIZED,
        attributes: &[IN_STATE, (ATTACHED_TO, Source::All("attachments/item/vpcId"))],
        prepare: &[deed(
            "DetachVpnGateway",
            &[("VpnGatewayId", Value::Id), ("VpcId", Value::Each(ATTACHED_TO))],
        )],
        ..ec2(
            "VpnGateway",
            "DescribeVpnGateways",
            "vpnGatewaySet/item",
            "vpnGatewayId",
            &[deed("DeleteVpnGateway", &[("VpnGatewayId", Value::Id)])],
        )
    },
    Row {
        pages: UNSIZED,
        attributes: &[IN_STATE],
        ..ec2(
            "CustomerGateway",
            "DescribeCustomerGateways",
            "customerGatewaySet/item",
            "customerGatewayId",
            &[deed("DeleteCustomerGateway", &[("CustomerGatewayId", Value::Id)])],
        )
    },
    Row {
        with: &[("IncludeManagedResources", "true")],
        attributes: &[
            VPC,
            OWNED,
            (STATE, Source::Text("status")),
            (MANAGED, Source::Any("requesterManaged", "true")),
        ],
        ..ec2(
            "NetworkInterface",
            "DescribeNetworkInterfaces",
            "networkInterfaceSet/item",
            "networkInterfaceId",
            &[deed("DeleteNetworkInterface", &[("NetworkInterfaceId", Value::Id)])],
        )
    },
    Row {
        pages: UNSIZED,
        name: "publicIp",
        attributes: &[
            (ASSOCIATIONS, Source::All("associationId")),
            (MANAGED, Source::Exists("serviceManaged")),
        ],
        prepare: &[deed("DisassociateAddress", &[("AssociationId", Value::Each(ASSOCIATIONS))])],
        ..ec2(
            "ElasticIp",
            "DescribeAddresses",
            "addressesSet/item",
            "allocationId",
            &[deed("ReleaseAddress", &[("AllocationId", Value::Id)])],
        )
    },
    Row {
        attributes: &[
            (GROUP, Source::Text("groupId")),
            (REFERENCED_GROUP, Source::Text("referencedGroupInfo/groupId")),
            (EGRESS, Source::Text("isEgress")),
            (PROTOCOL, Source::Text("ipProtocol")),
            (CIDR, Source::All("cidrIpv4")),
            (CIDR, Source::All("cidrIpv6")),
        ],
        ..ec2(
            "SecurityGroupRule",
            "DescribeSecurityGroupRules",
            "securityGroupRuleSet/item",
            "securityGroupRuleId",
            &[revoke("RevokeSecurityGroupIngress", "false"), revoke("RevokeSecurityGroupEgress", "true")],
        )
    },
    Row {
        name: "groupName",
        attributes: &[VPC, OWNED],
        ..ec2(
            "SecurityGroup",
            "DescribeSecurityGroups",
            "securityGroupInfo/item",
            "groupId",
            &[deed("DeleteSecurityGroup", &[("GroupId", Value::Id)])],
        )
    },
    Row {
        pages: pages("255"),
        attributes: &[(NETWORK, Source::Text("attachmentSet/item/vpcId"))],
        ..ec2(
            "EgressOnlyInternetGateway",
            "DescribeEgressOnlyInternetGateways",
            "egressOnlyInternetGatewaySet/item",
            "egressOnlyInternetGatewayId",
            &[deed("DeleteEgressOnlyInternetGateway", &[("EgressOnlyInternetGatewayId", Value::Id)])],
        )
    },
    Row {
        attributes: &[OWNED, (NETWORK, Source::Text("attachmentSet/item/vpcId"))],
        prepare: &[deed(
            "DetachInternetGateway",
            &[("InternetGatewayId", Value::Id), ("VpcId", Value::Attribute(NETWORK))],
        )],
        ..ec2(
            "InternetGateway",
            "DescribeInternetGateways",
            "internetGatewaySet/item",
            "internetGatewayId",
            &[deed("DeleteInternetGateway", &[("InternetGatewayId", Value::Id)])],
        )
    },
    Row {
        attributes: &[VPC, OWNED, (DEFAULT, Source::Text("defaultForAz"))],
        ..ec2(
            "Subnet",
            "DescribeSubnets",
            "subnetSet/item",
            "subnetId",
            &[deed("DeleteSubnet", &[("SubnetId", Value::Id)])],
        )
    },
    Row {
        pages: pages("100"),
        attributes: &[
            VPC,
            OWNED,
            (DEFAULT, Source::Any("associationSet/item/main", "true")),
            (ASSOCIATIONS, Source::All("associationSet/item/routeTableAssociationId")),
        ],
        prepare: &[deed("DisassociateRouteTable", &[("AssociationId", Value::Each(ASSOCIATIONS))])],
        ..ec2(
            "RouteTable",
            "DescribeRouteTables",
            "routeTableSet/item",
            "routeTableId",
            &[deed("DeleteRouteTable", &[("RouteTableId", Value::Id)])],
        )
    },
    Row {
        attributes: &[VPC, OWNED, (DEFAULT, Source::Text("default"))],
        ..ec2(
            "NetworkAcl",
            "DescribeNetworkAcls",
            "networkAclSet/item",
            "networkAclId",
            &[deed("DeleteNetworkAcl", &[("NetworkAclId", Value::Id)])],
        )
    },
    Row {
        attributes: &[
            OWNED,
            (DEFAULT, Source::Text("isDefault")),
            (DHCP_OPTIONS, Source::Text("dhcpOptionsId")),
            (STATE, Source::Text("state")),
        ],
        ..ec2("Vpc", "DescribeVpcs", "vpcSet/item", "vpcId", &[deed("DeleteVpc", &[("VpcId", Value::Id)])])
    },
    Row {
        attributes: &[OWNED],
        ..ec2(
            "DhcpOptions",
            "DescribeDhcpOptions",
            "dhcpOptionsSet/item",
            "dhcpOptionsId",
            &[deed("DeleteDhcpOptions", &[("DhcpOptionsId", Value::Id)])],
        )
    },
];
