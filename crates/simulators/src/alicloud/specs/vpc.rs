//! VPC.

use super::{NUMBERED, Paging, Spec, TOKEN, Tags, spec};

const fn vpc(
    kind: &'static str,
    id: [&'static str; 2],
    create: &'static str,
    list: [&'static str; 2],
    pages: Paging,
    delete: &'static str,
) -> Spec {
    spec("vpc", kind, id, create, list, pages, delete).tags(Tags::Short).fixed(&[("Status", "Available")])
}

/// A kind of newer calls.
const fn listed(
    kind: &'static str,
    id: [&'static str; 2],
    create: &'static str,
    list: [&'static str; 2],
    delete: &'static str,
) -> Spec {
    vpc(kind, id, create, list, TOKEN, delete).tags(Tags::Plain)
}

pub(super) static SPECS: &[Spec] = &[
    vpc("Vpc", ["vpc-", "VpcId"], "CreateVpc", ["DescribeVpcs", "Vpcs/Vpc"], NUMBERED, "DeleteVpc")
        .copy(&["VpcName", "CidrBlock"]),
    vpc(
        "VSwitch",
        ["vsw-", "VSwitchId"],
        "CreateVSwitch",
        ["DescribeVSwitches", "VSwitches/VSwitch"],
        NUMBERED,
        "DeleteVSwitch",
    )
    .copy(&["VSwitchName", "VpcId", "ZoneId"]),
    vpc(
        "RouteTable",
        ["vtb-", "RouteTableId"],
        "CreateRouteTable",
        ["DescribeRouteTableList", "RouterTableList/RouterTableListType"],
        NUMBERED,
        "DeleteRouteTable",
    )
    .copy(&["RouteTableName", "VpcId"])
    .fixed(&[("Status", "Available"), ("RouteTableType", "Custom")]),
    vpc(
        "RouteEntry",
        ["rte-", "RouteEntryId"],
        "CreateRouteEntry",
        ["DescribeRouteEntryList", "RouteEntrys/RouteEntry"],
        Paging::Token("MaxResult"),
        "DeleteRouteEntry",
    )
    .copy(&["RouteTableId", "DestinationCidrBlock", "NextHopId", "RouteEntryName"])
    .fixed(&[("Status", "Available"), ("Type", "Custom")])
    .tags(Tags::None)
    .needs("RouteTableId"),
    vpc(
        "NatGateway",
        ["ngw-", "NatGatewayId"],
        "CreateNatGateway",
        ["DescribeNatGateways", "NatGateways/NatGateway"],
        NUMBERED,
        "DeleteNatGateway",
    )
    .copy(&["Name", "VpcId", "VSwitchId", "NetworkType"])
    .fixed(&[("Status", "Available"), ("InstanceChargeType", "PostPaid")])
    .tags(Tags::Long),
    vpc(
        "SnatEntry",
        ["snat-", "SnatEntryId"],
        "CreateSnatEntry",
        ["DescribeSnatTableEntries", "SnatTableEntries/SnatTableEntry"],
        NUMBERED,
        "DeleteSnatEntry",
    )
    .copy(&["SnatTableId", "SnatIp", "SourceVSwitchId", "SnatEntryName"])
    .tags(Tags::None)
    .needs("NatGatewayId"),
    vpc(
        "ForwardEntry",
        ["fwd-", "ForwardEntryId"],
        "CreateForwardEntry",
        ["DescribeForwardTableEntries", "ForwardTableEntries/ForwardTableEntry"],
        NUMBERED,
        "DeleteForwardEntry",
    )
    .copy(&["ForwardTableId", "ExternalIp", "ForwardEntryName"])
    .tags(Tags::None)
    .needs("NatGatewayId"),
    vpc(
        "FullNatEntry",
        ["fullnat-", "FullNatEntryId"],
        "CreateFullNatEntry",
        ["ListFullNatEntries", "FullNatEntries"],
        TOKEN,
        "DeleteFullNatEntry",
    )
    .copy(&["FullNatTableId", "FullNatEntryName"])
    .fixed(&[("FullNatEntryStatus", "Available")])
    .state("FullNatEntryStatus")
    .tags(Tags::None)
    .needs("NatGatewayId"),
    vpc(
        "ElasticIp",
        ["eip-", "AllocationId"],
        "AllocateEipAddress",
        ["DescribeEipAddresses", "EipAddresses/EipAddress"],
        NUMBERED,
        "ReleaseEipAddress",
    )
    .copy(&["Name"])
    .fixed(&[
        ("Status", "Available"),
        ("ChargeType", "PostPaid"),
        ("InstanceId", ""),
        ("InstanceType", ""),
        ("BandwidthPackageId", ""),
    ]),
    vpc(
        "BandwidthPackage",
        ["cbwp-", "BandwidthPackageId"],
        "CreateCommonBandwidthPackage",
        ["DescribeCommonBandwidthPackages", "CommonBandwidthPackages/CommonBandwidthPackage"],
        NUMBERED,
        "DeleteCommonBandwidthPackage",
    )
    .copy(&["Name"])
    .fixed(&[("Status", "Available"), ("InstanceChargeType", "PostPaid")]),
    vpc(
        "Ipv6Gateway",
        ["ipv6gw-", "Ipv6GatewayId"],
        "CreateIpv6Gateway",
        ["DescribeIpv6Gateways", "Ipv6Gateways/Ipv6Gateway"],
        NUMBERED,
        "DeleteIpv6Gateway",
    )
    .copy(&["Name", "VpcId"]),
    vpc(
        "HaVip",
        ["havip-", "HaVipId"],
        "CreateHaVip",
        ["DescribeHaVips", "HaVips/HaVip"],
        NUMBERED,
        "DeleteHaVip",
    )
    .copy(&["Name", "VSwitchId"]),
    vpc(
        "NetworkAcl",
        ["nacl-", "NetworkAclId"],
        "CreateNetworkAcl",
        ["DescribeNetworkAcls", "NetworkAcls/NetworkAcl"],
        NUMBERED,
        "DeleteNetworkAcl",
    )
    .copy(&["NetworkAclName", "VpcId"]),
    vpc(
        "VpnGateway",
        ["vpn-", "VpnGatewayId"],
        "CreateVpnGateway",
        ["DescribeVpnGateways", "VpnGateways/VpnGateway"],
        NUMBERED,
        "DeleteVpnGateway",
    )
    .copy(&["Name", "VpcId", "VSwitchId"])
    .fixed(&[("Status", "active"), ("ChargeType", "POSTPAY")]),
    vpc(
        "VpnConnection",
        ["vco-", "VpnConnectionId"],
        "CreateVpnConnection",
        ["DescribeVpnConnections", "VpnConnections/VpnConnection"],
        NUMBERED,
        "DeleteVpnConnection",
    )
    .copy(&["Name", "VpnGatewayId", "CustomerGatewayId"])
    .fixed(&[("State", "active")])
    .state("State")
    .tags(Tags::None),
    vpc(
        "CustomerGateway",
        ["cgw-", "CustomerGatewayId"],
        "CreateCustomerGateway",
        ["DescribeCustomerGateways", "CustomerGateways/CustomerGateway"],
        NUMBERED,
        "DeleteCustomerGateway",
    )
    .copy(&["Name", "IpAddress"]),
    vpc(
        "SslVpnServer",
        ["vss-", "SslVpnServerId"],
        "CreateSslVpnServer",
        ["DescribeSslVpnServers", "SslVpnServers/SslVpnServer"],
        NUMBERED,
        "DeleteSslVpnServer",
    )
    .copy(&["Name", "VpnGatewayId"])
    .tags(Tags::None),
    vpc(
        "IpsecServer",
        ["iss-", "IpsecServerId"],
        "CreateIpsecServer",
        ["ListIpsecServers", "IpsecServers"],
        TOKEN,
        "DeleteIpsecServer",
    )
    .copy(&["IpSecServerName=IpsecServerName", "VpnGatewayId"])
    .tags(Tags::None),
    vpc(
        "FlowLog",
        ["fl-", "FlowLogId"],
        "CreateFlowLog",
        ["DescribeFlowLogs", "FlowLogs/FlowLog"],
        NUMBERED,
        "DeleteFlowLog",
    )
    .copy(&["FlowLogName", "ResourceId"]),
    vpc(
        "RouterInterface",
        ["ri-", "RouterInterfaceId"],
        "CreateRouterInterface",
        ["DescribeRouterInterfaces", "RouterInterfaceSet/RouterInterfaceType"],
        NUMBERED,
        "DeleteRouterInterface",
    )
    .copy(&["Name", "RouterId"])
    .fixed(&[("Status", "Active"), ("ChargeType", "AfterPay")])
    .tags(Tags::None),
    listed(
        "DhcpOptionsSet",
        ["dopt-", "DhcpOptionsSetId"],
        "CreateDhcpOptionsSet",
        ["ListDhcpOptionsSets", "DhcpOptionsSets"],
        "DeleteDhcpOptionsSet",
    )
    .copy(&["DhcpOptionsSetName"]),
    listed(
        "Ipv4Gateway",
        ["ipv4gw-", "Ipv4GatewayId"],
        "CreateIpv4Gateway",
        ["ListIpv4Gateways", "Ipv4GatewayModels"],
        "DeleteIpv4Gateway",
    )
    .copy(&["Ipv4GatewayName", "VpcId"]),
    listed(
        "GatewayEndpoint",
        ["vpce-", "EndpointId"],
        "CreateVpcGatewayEndpoint",
        ["ListVpcGatewayEndpoints", "Endpoints"],
        "DeleteVpcGatewayEndpoint",
    )
    .copy(&["EndpointName", "VpcId"])
    .fixed(&[("EndpointStatus", "Created")])
    .state("EndpointStatus"),
    listed(
        "TrafficMirrorFilter",
        ["tmf-", "TrafficMirrorFilterId"],
        "CreateTrafficMirrorFilter",
        ["ListTrafficMirrorFilters", "TrafficMirrorFilters"],
        "DeleteTrafficMirrorFilter",
    )
    .copy(&["TrafficMirrorFilterName"])
    .fixed(&[("TrafficMirrorFilterStatus", "Created")])
    .state("TrafficMirrorFilterStatus"),
    listed(
        "TrafficMirrorSession",
        ["tms-", "TrafficMirrorSessionId"],
        "CreateTrafficMirrorSession",
        ["ListTrafficMirrorSessions", "TrafficMirrorSessions"],
        "DeleteTrafficMirrorSession",
    )
    .copy(&["TrafficMirrorSessionName", "TrafficMirrorFilterId"])
    .fixed(&[("TrafficMirrorSessionStatus", "Created")])
    .state("TrafficMirrorSessionStatus"),
    listed(
        "VpcPrefixList",
        ["vpl-", "PrefixListId"],
        "CreateVpcPrefixList",
        ["ListPrefixLists", "PrefixLists"],
        "DeleteVpcPrefixList",
    )
    .copy(&["PrefixListName"]),
];
