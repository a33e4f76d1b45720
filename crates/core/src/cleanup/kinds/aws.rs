//! AWS. Order: load balancers and machines, their storage and addresses, the network from the inside to the outside.

use super::{CountKind, Kind, Prepare, Scope, Table, Treatment, When};
use crate::cleanup::attribute::*;

const AUTO_SCALING_GROUP: &str = "AutoScalingGroup";
const LOAD_BALANCER: &str = "LoadBalancer";
const LOAD_BALANCER_V2: &str = "LoadBalancerV2";
const TARGET_GROUP: &str = "TargetGroup";
const LAUNCH_TEMPLATE: &str = "LaunchTemplate";
const SPOT_REQUEST: &str = "SpotInstanceRequest";
const INSTANCE: &str = "Instance";
const NAT_GATEWAY: &str = "NatGateway";
const VPC_ENDPOINT: &str = "VpcEndpoint";
const MOUNT_TARGET: &str = "MountTarget";
const FILE_SYSTEM: &str = "FileSystem";
const PEERING: &str = "VpcPeeringConnection";
const VPN_CONNECTION: &str = "VpnConnection";
const VPN_GATEWAY: &str = "VpnGateway";
const CUSTOMER_GATEWAY: &str = "CustomerGateway";
const IMAGE: &str = "Image";
const SNAPSHOT: &str = "Snapshot";
const VOLUME: &str = "Volume";
const INTERFACE: &str = "NetworkInterface";
const ELASTIC_IP: &str = "ElasticIp";
const GROUP_RULE: &str = "SecurityGroupRule";
const SECURITY_GROUP: &str = "SecurityGroup";
const EGRESS_GATEWAY: &str = "EgressOnlyInternetGateway";
const INTERNET_GATEWAY: &str = "InternetGateway";
const ROUTE_TABLE: &str = "RouteTable";
const SUBNET: &str = "Subnet";
const NETWORK_ACL: &str = "NetworkAcl";
const VPC: &str = "Vpc";
const DHCP: &str = "DhcpOptions";
const KEY_PAIR: &str = "KeyPair";
const INSTANCE_PROFILE: &str = "InstanceProfile";
const ROLE: &str = "Role";

type Rules = &'static [(When, Treatment)];

/// A subnet or VPC that another account shares with this one shows up in lists, and is not ours.
const FOREIGN: (When, Treatment) = (When::Foreign(OWNER), Treatment::Keep("it belongs to another account"));
const MANAGED_BY_AWS: (When, Treatment) =
    (When::Is(MANAGED, &["true"]), Treatment::Leaving("a service of AWS manages it and removes it"));
const WITH_ITS_VPC: Treatment = Treatment::GoesWith { attribute: NETWORK, kind: VPC };

const fn regional(
    name: &'static str,
    wave: u8,
    list: &'static [&'static str],
    delete: &'static [&'static str],
) -> Kind {
    Kind { name, scope: Scope::Regional, wave, after: &[], list, delete, rules: &[], prepare: &[] }
}

/// The rules of a kind whose deletion takes time.
const SLOW: Rules = &[
    (When::Is(STATE, &["deleted", "terminated"]), Treatment::Gone),
    (When::Is(STATE, &["deleting", "shutting-down"]), Treatment::Leaving("it is being deleted")),
];

pub(super) static TABLE: Table = Table { kinds: KINDS, counts: COUNTS };

const KINDS: &[Kind] = &[
    Kind {
        rules: &[(When::StartsWith(STATE, &["Delete"]), Treatment::Leaving("it is being deleted"))],
        ..regional(
            AUTO_SCALING_GROUP,
            0,
            &["autoscaling:DescribeAutoScalingGroups"],
            &["autoscaling:DeleteAutoScalingGroup"],
        )
    },
    Kind {
        rules: &[(When::Is(STATE, &["cancelled", "closed", "failed", "completed"]), Treatment::Gone)],
        ..regional(
            SPOT_REQUEST,
            0,
            &["ec2:DescribeSpotInstanceRequests"],
            &["ec2:CancelSpotInstanceRequests"],
        )
    },
    regional(
        LOAD_BALANCER,
        0,
        &["elasticloadbalancing:DescribeLoadBalancers"],
        &["elasticloadbalancing:DeleteLoadBalancer"],
    ),
    Kind {
        prepare: &[Prepare::DisableProtection],
        ..regional(
            LOAD_BALANCER_V2,
            0,
            &["elasticloadbalancing:DescribeLoadBalancers"],
            &["elasticloadbalancing:DeleteLoadBalancer", "elasticloadbalancing:ModifyLoadBalancerAttributes"],
        )
    },
    Kind {
        after: &[LOAD_BALANCER_V2, AUTO_SCALING_GROUP],
        ..regional(
            TARGET_GROUP,
            1,
            &["elasticloadbalancing:DescribeTargetGroups"],
            &["elasticloadbalancing:DeleteTargetGroup"],
        )
    },
    Kind {
        after: &[AUTO_SCALING_GROUP],
        rules: &[MANAGED_BY_AWS],
        ..regional(LAUNCH_TEMPLATE, 1, &["ec2:DescribeLaunchTemplates"], &["ec2:DeleteLaunchTemplate"])
    },
    Kind {
        // An instance that is deleted first comes back from its group.
        after: &[AUTO_SCALING_GROUP, SPOT_REQUEST],
        rules: SLOW,
        prepare: &[Prepare::DisableProtection],
        ..regional(
            INSTANCE,
            1,
            &["ec2:DescribeInstances"],
            &["ec2:TerminateInstances", "ec2:ModifyInstanceAttribute"],
        )
    },
    Kind { rules: SLOW, ..regional(NAT_GATEWAY, 1, &["ec2:DescribeNatGateways"], &["ec2:DeleteNatGateway"]) },
    Kind {
        rules: &[
            (When::Is(STATE, &["deleted", "Deleted"]), Treatment::Gone),
            (When::Is(STATE, &["deleting", "Deleting"]), Treatment::Leaving("it is being deleted")),
            MANAGED_BY_AWS,
        ],
        ..regional(VPC_ENDPOINT, 1, &["ec2:DescribeVpcEndpoints"], &["ec2:DeleteVpcEndpoints"])
    },
    Kind {
        rules: SLOW,
        ..regional(
            MOUNT_TARGET,
            1,
            &["elasticfilesystem:DescribeFileSystems", "elasticfilesystem:DescribeMountTargets"],
            &["elasticfilesystem:DeleteMountTarget"],
        )
    },
    Kind {
        after: &[MOUNT_TARGET],
        rules: SLOW,
        ..regional(
            FILE_SYSTEM,
            2,
            &["elasticfilesystem:DescribeFileSystems"],
            &["elasticfilesystem:DeleteFileSystem"],
        )
    },
    Kind {
        rules: &[
            (When::Is(STATE, &["deleted", "rejected", "failed", "expired"]), Treatment::Gone),
            (When::Is(STATE, &["deleting"]), Treatment::Leaving("it is being deleted")),
        ],
        ..regional(
            PEERING,
            1,
            &["ec2:DescribeVpcPeeringConnections"],
            &["ec2:DeleteVpcPeeringConnection", "ec2:RejectVpcPeeringConnection"],
        )
    },
    Kind {
        rules: SLOW,
        ..regional(VPN_CONNECTION, 1, &["ec2:DescribeVpnConnections"], &["ec2:DeleteVpnConnection"])
    },
    Kind {
        after: &[VPN_CONNECTION],
        rules: SLOW,
        prepare: &[Prepare::Detach],
        ..regional(
            VPN_GATEWAY,
            2,
            &["ec2:DescribeVpnGateways"],
            &["ec2:DeleteVpnGateway", "ec2:DetachVpnGateway"],
        )
    },
    Kind {
        after: &[VPN_CONNECTION],
        rules: SLOW,
        ..regional(CUSTOMER_GATEWAY, 2, &["ec2:DescribeCustomerGateways"], &["ec2:DeleteCustomerGateway"])
    },
    Kind {
        after: &[LAUNCH_TEMPLATE],
        rules: &[(When::Is(STATE, &["deregistered"]), Treatment::Gone)],
        prepare: &[Prepare::DisableProtection],
        ..regional(
            IMAGE,
            2,
            &["ec2:DescribeImages"],
            &["ec2:DeregisterImage", "ec2:DisableImageDeregistrationProtection"],
        )
    },
    Kind { after: &[IMAGE], ..regional(SNAPSHOT, 3, &["ec2:DescribeSnapshots"], &["ec2:DeleteSnapshot"]) },
    Kind {
        after: &[INSTANCE],
        rules: &[
            (When::Is(STATE, &["deleted"]), Treatment::Gone),
            (When::Is(STATE, &["deleting"]), Treatment::Leaving("it is being deleted")),
        ],
        ..regional(VOLUME, 3, &["ec2:DescribeVolumes"], &["ec2:DeleteVolume"])
    },
    Kind {
        after: &[INSTANCE, NAT_GATEWAY, VPC_ENDPOINT, LOAD_BALANCER, LOAD_BALANCER_V2, MOUNT_TARGET],
        rules: &[
            FOREIGN,
            (
                When::Is(MANAGED, &["true"]),
                Treatment::Leaving("a load balancer, gateway or service holds it and removes it"),
            ),
            (
                When::IsNot(STATE, &["available"]),
                Treatment::Leaving("it is attached, and free once its holder is gone"),
            ),
        ],
        ..regional(INTERFACE, 3, &["ec2:DescribeNetworkInterfaces"], &["ec2:DeleteNetworkInterface"])
    },
    Kind {
        after: &[NAT_GATEWAY, INSTANCE, LOAD_BALANCER_V2, INTERFACE],
        rules: &[MANAGED_BY_AWS],
        prepare: &[Prepare::Disassociate],
        ..regional(
            ELASTIC_IP,
            4,
            &["ec2:DescribeAddresses"],
            &["ec2:ReleaseAddress", "ec2:DisassociateAddress"],
        )
    },
    Kind {
        rules: &[
            FOREIGN,
            (
                When::All(&[When::Is(PRISTINE, &["true"]), When::InStaying(GROUP, SECURITY_GROUP)]),
                Treatment::Keep("every new default security group has it"),
            ),
            // Tenants add rules to the default group of the default VPC.
            (When::InStayingUnnamed(GROUP, SECURITY_GROUP), Treatment::Delete),
            (
                When::InStaying(GROUP, SECURITY_GROUP),
                Treatment::Keep("it belongs to a security group that stays"),
            ),
            // Two groups that refer to each other keep each other for ever.
            (When::Differ(GROUP, REFERENCED_GROUP), Treatment::Delete),
            (When::Always, Treatment::GoesWith { attribute: GROUP, kind: SECURITY_GROUP }),
        ],
        ..regional(
            GROUP_RULE,
            4,
            &["ec2:DescribeSecurityGroupRules"],
            &["ec2:RevokeSecurityGroupIngress", "ec2:RevokeSecurityGroupEgress"],
        )
    },
    Kind {
        after: &[GROUP_RULE, INTERFACE, INSTANCE, LOAD_BALANCER, LOAD_BALANCER_V2],
        rules: &[FOREIGN, (When::Named(&["default"]), WITH_ITS_VPC)],
        ..regional(SECURITY_GROUP, 5, &["ec2:DescribeSecurityGroups"], &["ec2:DeleteSecurityGroup"])
    },
    regional(
        EGRESS_GATEWAY,
        5,
        &["ec2:DescribeEgressOnlyInternetGateways"],
        &["ec2:DeleteEgressOnlyInternetGateway"],
    ),
    Kind {
        after: &[ELASTIC_IP, NAT_GATEWAY],
        rules: &[
            FOREIGN,
            (When::InBaseline(NETWORK, VPC), Treatment::Delete),
            (When::InStaying(NETWORK, VPC), Treatment::Keep("it belongs to a VPC that stays")),
        ],
        prepare: &[Prepare::Detach],
        ..regional(
            INTERNET_GATEWAY,
            5,
            &["ec2:DescribeInternetGateways"],
            &["ec2:DeleteInternetGateway", "ec2:DetachInternetGateway"],
        )
    },
    Kind {
        after: &[INTERFACE, NAT_GATEWAY],
        rules: &[FOREIGN, (When::Is(DEFAULT, &["true"]), Treatment::Keep("default subnet of its zone"))],
        ..regional(SUBNET, 6, &["ec2:DescribeSubnets"], &["ec2:DeleteSubnet"])
    },
    Kind {
        after: &[VPC_ENDPOINT],
        rules: &[FOREIGN, (When::Is(DEFAULT, &["true"]), WITH_ITS_VPC)],
        prepare: &[Prepare::Disassociate],
        ..regional(
            ROUTE_TABLE,
            6,
            &["ec2:DescribeRouteTables"],
            &["ec2:DeleteRouteTable", "ec2:DisassociateRouteTable"],
        )
    },
    Kind {
        // An ACL in use is refused; its subnets go first.
        after: &[SUBNET],
        rules: &[FOREIGN, (When::Is(DEFAULT, &["true"]), WITH_ITS_VPC)],
        ..regional(NETWORK_ACL, 7, &["ec2:DescribeNetworkAcls"], &["ec2:DeleteNetworkAcl"])
    },
    Kind {
        after: &[
            SUBNET,
            ROUTE_TABLE,
            NETWORK_ACL,
            SECURITY_GROUP,
            INTERNET_GATEWAY,
            EGRESS_GATEWAY,
            VPN_GATEWAY,
            PEERING,
            VPC_ENDPOINT,
            NAT_GATEWAY,
            INSTANCE,
        ],
        rules: &[FOREIGN, (When::Is(DEFAULT, &["true"]), Treatment::Keep("default VPC"))],
        ..regional(VPC, 8, &["ec2:DescribeVpcs"], &["ec2:DeleteVpc"])
    },
    Kind {
        after: &[VPC],
        rules: &[
            FOREIGN,
            (
                When::UsedByBaseline(VPC, DHCP_OPTIONS),
                Treatment::Immovable {
                    because: "a VPC of the baseline uses it, and it is not in the baseline: the next tenant's names would be resolved by it",
                    remedy: "associate the former DHCP options with the VPC (`aws ec2 associate-dhcp-options`); then it is deleted",
                },
            ),
            (When::UsedByStaying(VPC, DHCP_OPTIONS), Treatment::Keep("a VPC that stays uses it")),
        ],
        ..regional(DHCP, 9, &["ec2:DescribeDhcpOptions"], &["ec2:DeleteDhcpOptions"])
    },
    regional(KEY_PAIR, 1, &["ec2:DescribeKeyPairs"], &["ec2:DeleteKeyPair"]),
    Kind {
        after: &[INSTANCE],
        scope: Scope::ByName { suffix: "-nodes" },
        prepare: &[Prepare::RemoveRoles],
        ..regional(
            INSTANCE_PROFILE,
            8,
            &["iam:GetInstanceProfile"],
            &["iam:DeleteInstanceProfile", "iam:RemoveRoleFromInstanceProfile"],
        )
    },
    Kind {
        after: &[INSTANCE_PROFILE],
        scope: Scope::ByName { suffix: "-nodes" },
        rules: &[
            (When::OurPrincipal(PRINCIPAL), Treatment::Keep("the credentials are of this role")),
            (When::Named(&["OrganizationAccountAccessRole"]), Treatment::Keep("the organization needs it")),
            (
                When::NamedLike(&["AWSServiceRole", "AWSReservedSSO_", "AWSControlTower", "stacksets-"]),
                Treatment::Keep("AWS or the organization made it"),
            ),
        ],
        prepare: &[Prepare::RemovePolicies],
        ..regional(
            ROLE,
            9,
            &["iam:GetRole"],
            &[
                "iam:DeleteRole",
                "iam:ListAttachedRolePolicies",
                "iam:DetachRolePolicy",
                "iam:ListRolePolicies",
                "iam:DeleteRolePolicy",
            ],
        )
    },
];

const fn count(name: &'static str, permission: &'static str, of: &'static [&'static str]) -> CountKind {
    let scope = Scope::Regional;
    CountKind { name, scope, permission, of, optional: false }
}

/// Tags cover every kind of EC2, also those without a row here, and load balancers, databases, file systems and functions
/// in a network hold interfaces. Both name what they saw, so that a kind without a row is named, too.
const COUNTS: &[CountKind] = &[
    count("tagged-resources", "ec2:DescribeTags", &[]),
    count("network-interfaces", "ec2:DescribeNetworkInterfaces", &[INTERFACE]),
    count("own-vpcs", "ec2:DescribeVpcs", &[VPC]),
    CountKind { scope: Scope::Global, ..count("roles", "iam:GetRole", &[ROLE]) },
    CountKind {
        scope: Scope::Global,
        ..count("instance-profiles", "iam:GetInstanceProfile", &[INSTANCE_PROFILE])
    },
];
