//! Networks, their parts, and their addresses.

use super::{
    ASSOCIATIONS, Deed, MODIFICATION_PROTECTED, PROTECTED, Pages, Row, Source, TOKEN, Under, VPC, Value,
    compute::SERVICE_MANAGED, deed, row, unprotect,
};
use allotment_core::cleanup::attribute::{
    CHARGE, DEFAULT, DHCP_OPTIONS, HOLDER, MANAGED, NETWORK, OWNER, STATE, VARIETY,
};

/// The bandwidth package that an address is in.
const PACKAGE: &str = "package";

const IN_STATE: (&str, Source) = (STATE, Source::Text("Status"));
const IN_VPC: (&str, Source) = (NETWORK, Source::Text("VpcId"));
const OWNED: (&str, Source) = (OWNER, Source::Text("OwnerId"));

pub(super) const fn vpc(
    kind: &'static str,
    list: &'static str,
    items: &'static str,
    id: &'static str,
    delete: &'static [Deed],
) -> Row {
    row(&VPC, kind, list, items, id, delete)
}

pub(super) static ROWS: &[Row] = &[
    Row {
        pages: Pages::Token("MaxResult", "100"),
        with: &[("RouteEntryType", "Custom")],
        under: Some(Under { kind: "RouteTable", parameter: "RouteTableId", attribute: HOLDER, only: None }),
        name: "RouteEntryName",
        attributes: &[IN_STATE, (MANAGED, Source::Marks(&[("ServiceType", "TR")], "true"))],
        ..vpc(
            "RouteEntry",
            "DescribeRouteEntryList",
            "RouteEntrys/RouteEntry",
            "RouteEntryId",
            &[deed("DeleteRouteEntry", &[("RouteEntryId", Value::Id)])],
        )
    },
    Row {
        name: "FlowLogName",
        attributes: &[IN_STATE],
        ..vpc(
            "FlowLog",
            "DescribeFlowLogs",
            "FlowLogs/FlowLog",
            "FlowLogId",
            &[deed("DeleteFlowLog", &[("FlowLogId", Value::Id)])],
        )
    },
    Row {
        pages: TOKEN,
        name: "TrafficMirrorSessionName",
        attributes: &[(STATE, Source::Text("TrafficMirrorSessionStatus"))],
        ..vpc(
            "TrafficMirrorSession",
            "ListTrafficMirrorSessions",
            "TrafficMirrorSessions",
            "TrafficMirrorSessionId",
            &[deed("DeleteTrafficMirrorSession", &[("TrafficMirrorSessionId", Value::Id)])],
        )
    },
    Row {
        pages: TOKEN,
        name: "TrafficMirrorFilterName",
        attributes: &[(STATE, Source::Text("TrafficMirrorFilterStatus"))],
        ..vpc(
            "TrafficMirrorFilter",
            "ListTrafficMirrorFilters",
            "TrafficMirrorFilters",
            "TrafficMirrorFilterId",
            &[deed("DeleteTrafficMirrorFilter", &[("TrafficMirrorFilterId", Value::Id)])],
        )
    },
    Row {
        pages: Pages::Numbered("100"),
        name: "Name",
        attributes: &[
            IN_STATE,
            (CHARGE, Source::Text("ChargeType")),
            (HOLDER, Source::Text("InstanceId")),
            (VARIETY, Source::Text("InstanceType")),
            (MANAGED, SERVICE_MANAGED),
            (PACKAGE, Source::Text("BandwidthPackageId")),
            (PROTECTED, Source::Marks(&[("DeletionProtection", "true")], "true")),
        ],
        prepare: &[
            unprotect(
                "DeletionProtection",
                &[
                    ("InstanceId", Value::Id),
                    ("Type", Value::Text("EIP")),
                    ("ProtectionEnable", Value::Text("false")),
                ],
            ),
            deed(
                "UnassociateEipAddress",
                &[
                    ("AllocationId", Value::Id),
                    ("InstanceId", Value::Attribute(HOLDER)),
                    ("InstanceType", Value::Attribute(VARIETY)),
                    ("Force", Value::Text("true")),
                ],
            ),
            deed(
                "RemoveCommonBandwidthPackageIp",
                &[("BandwidthPackageId", Value::Attribute(PACKAGE)), ("IpInstanceId", Value::Id)],
            ),
        ],
        ..vpc(
            "ElasticIp",
            "DescribeEipAddresses",
            "EipAddresses/EipAddress",
            "AllocationId",
            &[deed("ReleaseEipAddress", &[("AllocationId", Value::Id)])],
        )
    },
    Row {
        name: "Name",
        attributes: &[
            IN_STATE,
            (CHARGE, Source::Text("InstanceChargeType")),
            (MANAGED, SERVICE_MANAGED),
            (PROTECTED, Source::Marks(&[("DeletionProtection", "true")], "true")),
        ],
        prepare: &[unprotect(
            "DeletionProtection",
            &[
                ("InstanceId", Value::Id),
                ("Type", Value::Text("CBWP")),
                ("ProtectionEnable", Value::Text("false")),
            ],
        )],
        ..vpc(
            "BandwidthPackage",
            "DescribeCommonBandwidthPackages",
            "CommonBandwidthPackages/CommonBandwidthPackage",
            "BandwidthPackageId",
            &[deed(
                "DeleteCommonBandwidthPackage",
                &[("BandwidthPackageId", Value::Id), ("Force", Value::Text("true"))],
            )],
        )
    },
    Row {
        name: "Name",
        attributes: &[IN_STATE, IN_VPC],
        ..vpc(
            "HaVip",
            "DescribeHaVips",
            "HaVips/HaVip",
            "HaVipId",
            &[deed("DeleteHaVip", &[("HaVipId", Value::Id)])],
        )
    },
    Row {
        name: "NetworkAclName",
        attributes: &[IN_STATE, IN_VPC, (ASSOCIATIONS, Source::All("Resources/Resource/ResourceId"))],
        prepare: &[deed(
            "UnassociateNetworkAcl",
            &[
                ("NetworkAclId", Value::Id),
                ("Resource.1.ResourceId", Value::Each(ASSOCIATIONS)),
                ("Resource.1.ResourceType", Value::Text("VSwitch")),
            ],
        )],
        ..vpc(
            "NetworkAcl",
            "DescribeNetworkAcls",
            "NetworkAcls/NetworkAcl",
            "NetworkAclId",
            &[deed("DeleteNetworkAcl", &[("NetworkAclId", Value::Id)])],
        )
    },
    Row {
        name: "RouteTableName",
        attributes: &[
            IN_STATE,
            IN_VPC,
            (VARIETY, Source::Text("RouteTableType")),
            (ASSOCIATIONS, Source::All("VSwitchIds/VSwitchId")),
        ],
        prepare: &[deed(
            "UnassociateRouteTable",
            &[("RouteTableId", Value::Id), ("VSwitchId", Value::Each(ASSOCIATIONS))],
        )],
        ..vpc(
            "RouteTable",
            "DescribeRouteTableList",
            "RouterTableList/RouterTableListType",
            "RouteTableId",
            &[deed("DeleteRouteTable", &[("RouteTableId", Value::Id)])],
        )
    },
    Row {
        name: "VSwitchName",
        attributes: &[IN_STATE, IN_VPC, OWNED, (DEFAULT, Source::Text("IsDefault"))],
        ..vpc(
            "VSwitch",
            "DescribeVSwitches",
            "VSwitches/VSwitch",
            "VSwitchId",
            &[deed("DeleteVSwitch", &[("VSwitchId", Value::Id)])],
        )
    },
    Row {
        name: "VpcName",
        attributes: &[
            IN_STATE,
            OWNED,
            (DEFAULT, Source::Text("IsDefault")),
            (DHCP_OPTIONS, Source::Text("DhcpOptionsSetId")),
        ],
        ..vpc("Vpc", "DescribeVpcs", "Vpcs/Vpc", "VpcId", &[deed("DeleteVpc", &[("VpcId", Value::Id)])])
    },
    Row {
        pages: TOKEN,
        name: "PrefixListName",
        attributes: &[IN_STATE],
        ..vpc(
            "VpcPrefixList",
            "ListPrefixLists",
            "PrefixLists",
            "PrefixListId",
            &[deed("DeleteVpcPrefixList", &[("PrefixListId", Value::Id)])],
        )
    },
    Row {
        pages: TOKEN,
        name: "DhcpOptionsSetName",
        attributes: &[IN_STATE],
        ..vpc(
            "DhcpOptionsSet",
            "ListDhcpOptionsSets",
            "DhcpOptionsSets",
            "DhcpOptionsSetId",
            &[deed("DeleteDhcpOptionsSet", &[("DhcpOptionsSetId", Value::Id)])],
        )
    },
];

/// Whether the console protects an item from being changed, and so from being deleted there.
pub(super) const fn modifiable(action: &'static str, parameters: &'static [(&'static str, Value)]) -> Deed {
    Deed { only: Some((MODIFICATION_PROTECTED, "true")), ..deed(action, parameters) }
}
