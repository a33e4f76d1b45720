//! The rows of the table.

use super::*;
use crate::cleanup::{
    attribute::{DEFAULT, DHCP_OPTIONS, VARIETY},
    kinds::Prepare,
};

pub(super) const KINDS: &[Kind] = &[
    Kind {
        // Gardener copies encrypted machine images through stacks, which delete the images with them.
        prepare: &[Prepare::DisableProtection],
        ..kind(
            STACK,
            0,
            &[],
            &["ros:DescribeRegions", "ros:ListStacks"],
            &["ros:DeleteStack", "ros:SetDeletionProtection"],
        )
    },
    kind(
        AUTO_PROVISIONING_GROUP,
        0,
        &[],
        &["ecs:DescribeAutoProvisioningGroups"],
        &["ecs:DeleteAutoProvisioningGroup"],
    ),
    Kind {
        rules: BOUGHT,
        prepare: &[Prepare::DisableProtection],
        ..kind(
            LOAD_BALANCER,
            0,
            &[],
            &["slb:DescribeRegions", "slb:DescribeLoadBalancers"],
            &[
                "slb:DeleteLoadBalancer",
                "slb:SetLoadBalancerDeleteProtection",
                "slb:SetLoadBalancerModificationProtection",
            ],
        )
    },
    Kind {
        rules: BOUGHT,
        prepare: &[Prepare::DisableProtection],
        ..kind(
            NETWORK_LOAD_BALANCER,
            0,
            &[],
            &["nlb:DescribeRegions", "nlb:ListLoadBalancers"],
            &["nlb:DeleteLoadBalancer", "nlb:UpdateLoadBalancerProtection"],
        )
    },
    Kind {
        rules: &[
            (
                When::All(&[When::Is(MANAGED, &["true"]), When::InStaying(HOLDER, ROUTE_TABLE)]),
                Treatment::Keep("a transit router manages it, in a route table that stays"),
            ),
            MANAGED_BY_CLOUD,
            GOING,
        ],
        ..kind(
            ROUTE_ENTRY,
            0,
            &[],
            &["vpc:DescribeRouteTableList", "vpc:DescribeRouteEntryList"],
            &["vpc:DeleteRouteEntry"],
        )
    },
    kind(FLOW_LOG, 0, &[], &["vpc:DescribeFlowLogs"], &["vpc:DeleteFlowLog"]),
    kind(MIRROR_SESSION, 0, &[], &["vpc:ListTrafficMirrorSessions"], &["vpc:DeleteTrafficMirrorSession"]),
    kind(VPN_CONNECTION, 0, &[], &["vpc:DescribeVpnConnections"], &["vpc:DeleteVpnConnection"]),
    kind(SSL_VPN_SERVER, 0, &[], &["vpc:DescribeSslVpnServers"], &["vpc:DeleteSslVpnServer"]),
    kind(IPSEC_SERVER, 0, &[], &["vpc:ListIpsecServers"], &["vpc:DeleteIpsecServer"]),
    Kind {
        rules: BOUGHT,
        prepare: &[Prepare::DisableProtection],
        ..kind(
            INSTANCE,
            1,
            // Routes to an instance keep it, and a group starts others in its place.
            &[STACK, AUTO_PROVISIONING_GROUP, ROUTE_ENTRY],
            &["ecs:DescribeInstances"],
            &["ecs:DeleteInstance", "ecs:ModifyInstanceAttribute"],
        )
    },
    kind(
        SERVER_GROUP,
        1,
        &[NETWORK_LOAD_BALANCER],
        &["nlb:DescribeRegions", "nlb:ListServerGroups"],
        &["nlb:DeleteServerGroup"],
    ),
    kind(
        SECURITY_POLICY,
        1,
        &[NETWORK_LOAD_BALANCER],
        &["nlb:DescribeRegions", "nlb:ListSecurityPolicy"],
        &["nlb:DeleteSecurityPolicy"],
    ),
    kind(
        ACCESS_CONTROL_LIST,
        1,
        &[LOAD_BALANCER],
        &["slb:DescribeRegions", "slb:DescribeAccessControlLists"],
        &["slb:DeleteAccessControlList"],
    ),
    kind(
        SERVER_CERTIFICATE,
        1,
        &[LOAD_BALANCER],
        &["slb:DescribeRegions", "slb:DescribeServerCertificates"],
        &["slb:DeleteServerCertificate"],
    ),
    kind(
        CA_CERTIFICATE,
        1,
        &[LOAD_BALANCER],
        &["slb:DescribeRegions", "slb:DescribeCACertificates"],
        &["slb:DeleteCACertificate"],
    ),
    kind(
        CIPHER_POLICY,
        1,
        &[LOAD_BALANCER],
        &["slb:DescribeRegions", "slb:ListTLSCipherPolicies"],
        &["slb:DeleteTLSCipherPolicy"],
    ),
    Kind {
        rules: ENTRIES,
        ..kind(
            SNAT_ENTRY,
            1,
            &[],
            &["vpc:DescribeNatGateways", "vpc:DescribeSnatTableEntries"],
            &["vpc:DeleteSnatEntry"],
        )
    },
    Kind {
        rules: ENTRIES,
        ..kind(
            FORWARD_ENTRY,
            1,
            &[],
            &["vpc:DescribeNatGateways", "vpc:DescribeForwardTableEntries"],
            &["vpc:DeleteForwardEntry"],
        )
    },
    Kind {
        rules: ENTRIES,
        ..kind(
            FULL_NAT_ENTRY,
            1,
            &[],
            &["vpc:DescribeNatGateways", "vpc:ListFullNatEntries"],
            &["vpc:DeleteFullNatEntry"],
        )
    },
    kind(
        MIRROR_FILTER,
        1,
        &[MIRROR_SESSION],
        &["vpc:ListTrafficMirrorFilters"],
        &["vpc:DeleteTrafficMirrorFilter"],
    ),
    kind(
        LAUNCH_TEMPLATE,
        1,
        &[AUTO_PROVISIONING_GROUP],
        &["ecs:DescribeLaunchTemplates"],
        &["ecs:DeleteLaunchTemplate"],
    ),
    Kind {
        prepare: &[Prepare::Disassociate],
        ..kind(
            GATEWAY_ENDPOINT,
            1,
            &[],
            &["vpc:ListVpcGatewayEndpoints"],
            &["vpc:DeleteVpcGatewayEndpoint", "vpc:DissociateRouteTablesFromVpcGatewayEndpoint"],
        )
    },
    Kind {
        rules: BOUGHT,
        prepare: &[Prepare::Detach],
        ..kind(
            ROUTER_INTERFACE,
            1,
            &[ROUTE_ENTRY],
            &["vpc:DescribeRouterInterfaces"],
            &["vpc:DeleteRouterInterface", "vpc:DeactivateRouterInterface"],
        )
    },
    Kind {
        rules: BOUGHT,
        ..kind(
            VPN_GATEWAY,
            1,
            &[VPN_CONNECTION, SSL_VPN_SERVER, IPSEC_SERVER, ROUTE_ENTRY],
            &["vpc:DescribeVpnGateways"],
            &["vpc:DeleteVpnGateway"],
        )
    },
    kind(
        CUSTOMER_GATEWAY,
        1,
        &[VPN_CONNECTION],
        &["vpc:DescribeCustomerGateways"],
        &["vpc:DeleteCustomerGateway"],
    ),
    kind(COMMAND, 1, &[], &["ecs:DescribeCommands"], &["ecs:DeleteCommand"]),
    Kind {
        rules: &[
            GONE,
            GOING,
            PREPAID,
            // A system disk, and a disk that was attached like that, goes with its instance.
            (
                When::All(&[When::StartsWith(HOLDER, &["i-"]), When::Is(VARIETY, &["withInstance"])]),
                Treatment::GoesWith { attribute: HOLDER, kind: INSTANCE },
            ),
        ],
        ..kind(DISK, 2, &[INSTANCE], &["ecs:DescribeDisks"], &["ecs:DeleteDisk"])
    },
    Kind {
        rules: &[
            GOING,
            MANAGED_BY_CLOUD,
            (
                When::All(&[When::StartsWith(HOLDER, &["i-"]), When::Is(VARIETY, &["Primary"])]),
                Treatment::GoesWith { attribute: HOLDER, kind: INSTANCE },
            ),
            (
                When::IsNot(STATE, &["Available"]),
                Treatment::Leaving("it is attached, and free once its holder is gone"),
            ),
        ],
        ..kind(
            INTERFACE,
            2,
            &[INSTANCE, LOAD_BALANCER, NETWORK_LOAD_BALANCER, VPN_GATEWAY, MIRROR_SESSION],
            &["ecs:DescribeNetworkInterfaces"],
            &["ecs:DeleteNetworkInterface"],
        )
    },
    Kind {
        rules: BOUGHT,
        prepare: &[Prepare::DisableProtection, Prepare::Disassociate],
        ..kind(
            ELASTIC_IP,
            2,
            &[INSTANCE, LOAD_BALANCER, NETWORK_LOAD_BALANCER, SNAT_ENTRY, FORWARD_ENTRY],
            &["vpc:DescribeEipAddresses"],
            &[
                "vpc:ReleaseEipAddress",
                "vpc:UnassociateEipAddress",
                "vpc:RemoveCommonBandwidthPackageIp",
                "vpc:DeletionProtection",
            ],
        )
    },
    kind(KEY_PAIR, 2, &[INSTANCE, LAUNCH_TEMPLATE], &["ecs:DescribeKeyPairs"], &["ecs:DeleteKeyPairs"]),
    kind(DEPLOYMENT_SET, 2, &[INSTANCE], &["ecs:DescribeDeploymentSets"], &["ecs:DeleteDeploymentSet"]),
    kind(HPC_CLUSTER, 2, &[INSTANCE], &["ecs:DescribeHpcClusters"], &["ecs:DeleteHpcCluster"]),
    Kind {
        rules: BOUGHT,
        ..kind(
            CAPACITY_RESERVATION,
            2,
            &[INSTANCE],
            &["ecs:DescribeCapacityReservations"],
            &["ecs:ReleaseCapacityReservation"],
        )
    },
    Kind {
        rules: BOUGHT,
        ..kind(DEDICATED_HOST, 2, &[INSTANCE], &["ecs:DescribeDedicatedHosts"], &["ecs:ReleaseDedicatedHost"])
    },
    Kind {
        rules: BOUGHT,
        prepare: &[Prepare::DisableProtection],
        ..kind(
            NAT_GATEWAY,
            3,
            &[SNAT_ENTRY, FORWARD_ENTRY, FULL_NAT_ENTRY, ELASTIC_IP, ROUTE_ENTRY],
            &["vpc:DescribeNatGateways"],
            &["vpc:DeleteNatGateway", "vpc:DeletionProtection"],
        )
    },
    Kind {
        rules: BOUGHT,
        prepare: &[Prepare::DisableProtection],
        ..kind(
            BANDWIDTH_PACKAGE,
            3,
            &[ELASTIC_IP, NETWORK_LOAD_BALANCER],
            &["vpc:DescribeCommonBandwidthPackages"],
            &["vpc:DeleteCommonBandwidthPackage", "vpc:DeletionProtection"],
        )
    },
    kind(HA_VIP, 3, &[INSTANCE, ELASTIC_IP, ROUTE_ENTRY], &["vpc:DescribeHaVips"], &["vpc:DeleteHaVip"]),
    kind(IMAGE, 3, &[STACK, INSTANCE, LAUNCH_TEMPLATE], &["ecs:DescribeImages"], &["ecs:DeleteImage"]),
    kind(SNAPSHOT_GROUP, 3, &[INSTANCE], &["ecs:DescribeSnapshotGroups"], &["ecs:DeleteSnapshotGroup"]),
    kind(SNAPSHOT, 4, &[IMAGE, SNAPSHOT_GROUP], &["ecs:DescribeSnapshots"], &["ecs:DeleteSnapshot"]),
    kind(
        SNAPSHOT_POLICY,
        4,
        &[DISK],
        &["ecs:DescribeAutoSnapshotPolicyEx"],
        &["ecs:DeleteAutoSnapshotPolicy"],
    ),
    Kind {
        rules: GROUP_RULES,
        ..kind(
            GROUP_RULE,
            4,
            &[],
            &["ecs:DescribeSecurityGroups", "ecs:DescribeSecurityGroupAttribute"],
            &["ecs:RevokeSecurityGroup", "ecs:RevokeSecurityGroupEgress"],
        )
    },
    Kind {
        prepare: &[Prepare::Disassociate],
        ..kind(
            NETWORK_ACL,
            4,
            &[],
            &["vpc:DescribeNetworkAcls"],
            &["vpc:DeleteNetworkAcl", "vpc:UnassociateNetworkAcl"],
        )
    },
    Kind {
        rules: &[FOREIGN, GONE, GOING, (When::Is(VARIETY, &["System"]), WITH_ITS_VPC)],
        prepare: &[Prepare::Disassociate],
        ..kind(
            ROUTE_TABLE,
            4,
            &[ROUTE_ENTRY, GATEWAY_ENDPOINT],
            &["vpc:DescribeRouteTableList"],
            &["vpc:DeleteRouteTable", "vpc:UnassociateRouteTable"],
        )
    },
    kind(
        IPV6_GATEWAY,
        4,
        &[ROUTE_ENTRY, NETWORK_LOAD_BALANCER, LOAD_BALANCER],
        &["vpc:DescribeIpv6Gateways"],
        &["vpc:DeleteIpv6Gateway"],
    ),
    kind(IPV4_GATEWAY, 4, &[ROUTE_ENTRY, NAT_GATEWAY], &["vpc:ListIpv4Gateways"], &["vpc:DeleteIpv4Gateway"]),
    kind(
        SECURITY_GROUP,
        5,
        &[GROUP_RULE, INSTANCE, INTERFACE, NETWORK_LOAD_BALANCER],
        &["ecs:DescribeSecurityGroups"],
        &["ecs:DeleteSecurityGroup"],
    ),
    Kind {
        rules: &[
            FOREIGN,
            GONE,
            GOING,
            (When::Is(DEFAULT, &["true"]), Treatment::Keep("default vSwitch of its zone")),
        ],
        ..kind(
            VSWITCH,
            5,
            &[
                INSTANCE,
                INTERFACE,
                LOAD_BALANCER,
                NETWORK_LOAD_BALANCER,
                NAT_GATEWAY,
                VPN_GATEWAY,
                HA_VIP,
                NETWORK_ACL,
                ROUTE_TABLE,
            ],
            &["vpc:DescribeVSwitches"],
            &["vpc:DeleteVSwitch"],
        )
    },
    Kind {
        rules: &[FOREIGN, GONE, GOING, (When::Is(DEFAULT, &["true"]), Treatment::Keep("default VPC"))],
        ..kind(
            VPC,
            6,
            &[
                VSWITCH,
                SECURITY_GROUP,
                ROUTE_TABLE,
                ROUTE_ENTRY,
                NAT_GATEWAY,
                NETWORK_ACL,
                IPV4_GATEWAY,
                IPV6_GATEWAY,
                GATEWAY_ENDPOINT,
                ROUTER_INTERFACE,
                FLOW_LOG,
            ],
            &["vpc:DescribeVpcs"],
            &["vpc:DeleteVpc"],
        )
    },
    kind(PREFIX_LIST, 6, &[SECURITY_GROUP], &["ecs:DescribePrefixLists"], &["ecs:DeletePrefixList"]),
    kind(
        PORT_RANGE_LIST,
        6,
        &[SECURITY_GROUP],
        &["ecs:DescribePortRangeLists"],
        &["ecs:DeletePortRangeList"],
    ),
    kind(VPC_PREFIX_LIST, 6, &[ROUTE_TABLE], &["vpc:ListPrefixLists"], &["vpc:DeleteVpcPrefixList"]),
    Kind {
        rules: &[
            GONE,
            GOING,
            (
                When::UsedByStaying(VPC, DHCP_OPTIONS),
                Treatment::Immovable {
                    because: "a VPC that stays uses it: the next tenant's names would be resolved by it",
                    remedy: "detach it from the VPC (`aliyun vpc DetachDhcpOptionsSetFromVpc`), then it is deleted; or add its id to the keep list",
                },
            ),
        ],
        ..kind(DHCP_OPTIONS_SET, 7, &[VPC], &["vpc:ListDhcpOptionsSets"], &["vpc:DeleteDhcpOptionsSet"])
    },
];
