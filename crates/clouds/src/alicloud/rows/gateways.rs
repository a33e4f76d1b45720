//! Ways out of a network.

use super::{
    ASSOCIATIONS, PROTECTED, Row, Source, TOKEN, Under, Value, compute::SERVICE_MANAGED, deed, network::vpc,
    unprotect,
};
use allotment_core::cleanup::attribute::{CHARGE, HOLDER, MANAGED, NETWORK, STATE};

/// The table of an entry.
const TABLE: &str = "table";
/// The tables of a gateway that translates both ends; other gateways do not answer for such entries.
const FULL_NAT_TABLES: &str = "fullNatTables";

const IN_STATE: (&str, Source) = (STATE, Source::Text("Status"));
const IN_VPC: (&str, Source) = (NETWORK, Source::Text("VpcId"));

const fn under_nat(only: Option<&'static str>) -> Option<Under> {
    Some(Under { kind: "NatGateway", parameter: "NatGatewayId", attribute: HOLDER, only })
}

pub(super) static ROWS: &[Row] = &[
    Row {
        under: under_nat(None),
        name: "SnatEntryName",
        attributes: &[IN_STATE, (TABLE, Source::Text("SnatTableId"))],
        ..vpc(
            "SnatEntry",
            "DescribeSnatTableEntries",
            "SnatTableEntries/SnatTableEntry",
            "SnatEntryId",
            &[deed(
                "DeleteSnatEntry",
                &[("SnatTableId", Value::Attribute(TABLE)), ("SnatEntryId", Value::Id)],
            )],
        )
    },
    Row {
        under: under_nat(None),
        name: "ForwardEntryName",
        attributes: &[IN_STATE, (TABLE, Source::Text("ForwardTableId"))],
        ..vpc(
            "ForwardEntry",
            "DescribeForwardTableEntries",
            "ForwardTableEntries/ForwardTableEntry",
            "ForwardEntryId",
            &[deed(
                "DeleteForwardEntry",
                &[("ForwardTableId", Value::Attribute(TABLE)), ("ForwardEntryId", Value::Id)],
            )],
        )
    },
    Row {
        pages: TOKEN,
        under: under_nat(Some(FULL_NAT_TABLES)),
        name: "FullNatEntryName",
        attributes: &[(STATE, Source::Text("FullNatEntryStatus")), (TABLE, Source::Text("FullNatTableId"))],
        ..vpc(
            "FullNatEntry",
            "ListFullNatEntries",
            "FullNatEntries",
            "FullNatEntryId",
            &[deed(
                "DeleteFullNatEntry",
                &[("FullNatTableId", Value::Attribute(TABLE)), ("FullNatEntryId", Value::Id)],
            )],
        )
    },
    Row {
        name: "Name",
        attributes: &[
            IN_STATE,
            IN_VPC,
            (CHARGE, Source::Text("InstanceChargeType")),
            (FULL_NAT_TABLES, Source::All("FullNatTableIds/FullNatTableId")),
            (PROTECTED, Source::Marks(&[("DeletionProtection", "true")], "true")),
        ],
        prepare: &[unprotect(
            "DeletionProtection",
            &[
                ("InstanceId", Value::Id),
                ("Type", Value::Text("NATGW")),
                ("ProtectionEnable", Value::Text("false")),
            ],
        )],
        ..vpc(
            "NatGateway",
            "DescribeNatGateways",
            "NatGateways/NatGateway",
            "NatGatewayId",
            &[deed("DeleteNatGateway", &[("NatGatewayId", Value::Id), ("Force", Value::Text("true"))])],
        )
    },
    Row {
        pages: TOKEN,
        name: "EndpointName",
        attributes: &[
            (STATE, Source::Text("EndpointStatus")),
            IN_VPC,
            (ASSOCIATIONS, Source::All("AssociatedRouteTables")),
        ],
        prepare: &[deed(
            "DissociateRouteTablesFromVpcGatewayEndpoint",
            &[("EndpointId", Value::Id), ("RouteTableIds.1", Value::Each(ASSOCIATIONS))],
        )],
        ..vpc(
            "GatewayEndpoint",
            "ListVpcGatewayEndpoints",
            "Endpoints",
            "EndpointId",
            &[deed("DeleteVpcGatewayEndpoint", &[("EndpointId", Value::Id)])],
        )
    },
    Row {
        name: "Name",
        attributes: &[
            IN_STATE,
            (CHARGE, Source::Text("ChargeType")),
            (NETWORK, Source::Text("VpcInstanceId")),
        ],
        prepare: &[deed("DeactivateRouterInterface", &[("RouterInterfaceId", Value::Id)])],
        ..vpc(
            "RouterInterface",
            "DescribeRouterInterfaces",
            "RouterInterfaceSet/RouterInterfaceType",
            "RouterInterfaceId",
            &[deed("DeleteRouterInterface", &[("RouterInterfaceId", Value::Id)])],
        )
    },
    Row {
        name: "Name",
        attributes: &[IN_STATE, IN_VPC, (CHARGE, Source::Text("ChargeType"))],
        ..vpc(
            "VpnGateway",
            "DescribeVpnGateways",
            "VpnGateways/VpnGateway",
            "VpnGatewayId",
            &[deed("DeleteVpnGateway", &[("VpnGatewayId", Value::Id)])],
        )
    },
    Row {
        name: "Name",
        attributes: &[(STATE, Source::Text("State"))],
        ..vpc(
            "VpnConnection",
            "DescribeVpnConnections",
            "VpnConnections/VpnConnection",
            "VpnConnectionId",
            &[deed("DeleteVpnConnection", &[("VpnConnectionId", Value::Id)])],
        )
    },
    Row {
        name: "Name",
        ..vpc(
            "SslVpnServer",
            "DescribeSslVpnServers",
            "SslVpnServers/SslVpnServer",
            "SslVpnServerId",
            &[deed("DeleteSslVpnServer", &[("SslVpnServerId", Value::Id)])],
        )
    },
    Row {
        pages: super::Pages::Token("MaxResults", "20"),
        name: "IpsecServerName",
        ..vpc(
            "IpsecServer",
            "ListIpsecServers",
            "IpsecServers",
            "IpsecServerId",
            &[deed("DeleteIpsecServer", &[("IpsecServerId", Value::Id)])],
        )
    },
    Row {
        name: "Name",
        ..vpc(
            "CustomerGateway",
            "DescribeCustomerGateways",
            "CustomerGateways/CustomerGateway",
            "CustomerGatewayId",
            &[deed("DeleteCustomerGateway", &[("CustomerGatewayId", Value::Id)])],
        )
    },
    Row {
        name: "Name",
        attributes: &[IN_STATE, IN_VPC, (MANAGED, SERVICE_MANAGED)],
        ..vpc(
            "Ipv6Gateway",
            "DescribeIpv6Gateways",
            "Ipv6Gateways/Ipv6Gateway",
            "Ipv6GatewayId",
            &[deed("DeleteIpv6Gateway", &[("Ipv6GatewayId", Value::Id)])],
        )
    },
    Row {
        pages: TOKEN,
        name: "Ipv4GatewayName",
        attributes: &[IN_STATE, IN_VPC],
        ..vpc(
            "Ipv4Gateway",
            "ListIpv4Gateways",
            "Ipv4GatewayModels",
            "Ipv4GatewayId",
            // The network becomes what it was before the gateway: one whose addresses reach the internet.
            &[deed(
                "DeleteIpv4Gateway",
                &[("Ipv4GatewayId", Value::Id), ("InternetMode", Value::Text("public"))],
            )],
        )
    },
];
