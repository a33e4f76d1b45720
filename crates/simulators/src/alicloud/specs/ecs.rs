//! ECS. Instances, rules of security groups and snapshots of groups are made in `machines`.

use super::{NUMBERED, Paging, Spec, TOKEN, Tags, spec};

const fn ecs(
    kind: &'static str,
    id: [&'static str; 2],
    create: &'static str,
    list: [&'static str; 2],
    pages: Paging,
    delete: &'static str,
) -> Spec {
    spec("ecs", kind, id, create, list, pages, delete)
}

pub(super) static SPECS: &[Spec] = &[
    ecs(
        "Instance",
        ["i-", "InstanceId"],
        "-",
        ["DescribeInstances", "Instances/Instance"],
        TOKEN,
        "DeleteInstance",
    ),
    ecs("Disk", ["d-", "DiskId"], "CreateDisk", ["DescribeDisks", "Disks/Disk"], TOKEN, "DeleteDisk")
        .copy(&["DiskName", "Size", "ZoneId"])
        .fixed(&[
            ("Status", "Available"),
            ("Type", "data"),
            ("DiskChargeType", "PostPaid"),
            ("InstanceId", ""),
        ]),
    ecs(
        "Snapshot",
        ["s-", "SnapshotId"],
        "CreateSnapshot",
        ["DescribeSnapshots", "Snapshots/Snapshot"],
        TOKEN,
        "DeleteSnapshot",
    )
    .copy(&["SnapshotName", "DiskId=SourceDiskId"])
    .fixed(&[("Status", "accomplished")]),
    ecs(
        "Image",
        ["m-", "ImageId"],
        "CreateImage",
        ["DescribeImages", "Images/Image"],
        NUMBERED,
        "DeleteImage",
    )
    .copy(&["ImageName", "SnapshotId"])
    .fixed(&[("Status", "Available"), ("ImageOwnerAlias", "self")]),
    ecs(
        "KeyPair",
        ["", "KeyPairName"],
        "ImportKeyPair",
        ["DescribeKeyPairs", "KeyPairs/KeyPair"],
        NUMBERED,
        "DeleteKeyPairs",
    )
    .copy(&["KeyPairName"])
    .fixed(&[("CreationTime", "2026-11-17T12:00:00Z"), ("KeyPairFingerPrint", "ab12")])
    .by("KeyPairNames"),
    ecs(
        "NetworkInterface",
        ["eni-", "NetworkInterfaceId"],
        "CreateNetworkInterface",
        ["DescribeNetworkInterfaces", "NetworkInterfaceSets/NetworkInterfaceSet"],
        TOKEN,
        "DeleteNetworkInterface",
    )
    .copy(&["NetworkInterfaceName", "VSwitchId"])
    .fixed(&[("Status", "Available"), ("Type", "Secondary"), ("InstanceId", "")]),
    ecs(
        "LaunchTemplate",
        ["lt-", "LaunchTemplateId"],
        "CreateLaunchTemplate",
        ["DescribeLaunchTemplates", "LaunchTemplateSets/LaunchTemplateSet"],
        NUMBERED,
        "DeleteLaunchTemplate",
    )
    .copy(&["LaunchTemplateName"]),
    ecs(
        "AutoProvisioningGroup",
        ["apg-", "AutoProvisioningGroupId"],
        "CreateAutoProvisioningGroup",
        ["DescribeAutoProvisioningGroups", "AutoProvisioningGroups/AutoProvisioningGroup"],
        NUMBERED,
        "DeleteAutoProvisioningGroup",
    )
    .copy(&["AutoProvisioningGroupName"])
    .fixed(&[("State", "active")])
    .state("State"),
    ecs(
        "AutoSnapshotPolicy",
        ["sp-", "AutoSnapshotPolicyId"],
        "CreateAutoSnapshotPolicy",
        ["DescribeAutoSnapshotPolicyEx", "AutoSnapshotPolicies/AutoSnapshotPolicy"],
        NUMBERED,
        "DeleteAutoSnapshotPolicy",
    )
    .copy(&["autoSnapshotPolicyName=AutoSnapshotPolicyName"])
    .fixed(&[("Status", "Normal")])
    .by("autoSnapshotPolicyId"),
    ecs(
        "SecurityGroup",
        ["sg-", "SecurityGroupId"],
        "CreateSecurityGroup",
        ["DescribeSecurityGroups", "SecurityGroups/SecurityGroup"],
        TOKEN,
        "DeleteSecurityGroup",
    )
    .copy(&["SecurityGroupName", "VpcId"]),
    ecs(
        "SecurityGroupRule",
        ["sgr-", "SecurityGroupRuleId"],
        "-",
        ["DescribeSecurityGroupAttribute", "Permissions/Permission"],
        TOKEN,
        "-",
    )
    .needs("SecurityGroupId"),
    ecs(
        "DeploymentSet",
        ["ds-", "DeploymentSetId"],
        "CreateDeploymentSet",
        ["DescribeDeploymentSets", "DeploymentSets/DeploymentSet"],
        NUMBERED,
        "DeleteDeploymentSet",
    )
    .copy(&["DeploymentSetName"]),
    ecs(
        "Command",
        ["c-", "CommandId"],
        "CreateCommand",
        ["DescribeCommands", "Commands/Command"],
        TOKEN,
        "DeleteCommand",
    )
    .copy(&["Name"]),
    ecs(
        "HpcCluster",
        ["hpc-", "HpcClusterId"],
        "CreateHpcCluster",
        ["DescribeHpcClusters", "HpcClusters/HpcCluster"],
        NUMBERED,
        "DeleteHpcCluster",
    )
    .copy(&["Name"])
    .tags(Tags::None),
    ecs(
        "CapacityReservation",
        ["crp-", "PrivatePoolOptionsId"],
        "CreateCapacityReservation",
        ["DescribeCapacityReservations", "CapacityReservationSet/CapacityReservationItem"],
        TOKEN,
        "ReleaseCapacityReservation",
    )
    .copy(&["PrivatePoolOptions.Name=PrivatePoolOptionsName"])
    .fixed(&[("Status", "Active"), ("InstanceChargeType", "PostPaid")])
    .by("PrivatePoolOptions.Id"),
    ecs(
        "DedicatedHost",
        ["dh-", "DedicatedHostId"],
        "-",
        ["DescribeDedicatedHosts", "DedicatedHosts/DedicatedHost"],
        TOKEN,
        "ReleaseDedicatedHost",
    ),
    ecs(
        "PrefixList",
        ["pl-", "PrefixListId"],
        "CreatePrefixList",
        ["DescribePrefixLists", "PrefixLists/PrefixList"],
        TOKEN,
        "DeletePrefixList",
    )
    .copy(&["PrefixListName"]),
    ecs(
        "PortRangeList",
        ["prl-", "PortRangeListId"],
        "CreatePortRangeList",
        ["DescribePortRangeLists", "PortRangeLists"],
        TOKEN,
        "DeletePortRangeList",
    )
    .copy(&["PortRangeListName"])
    .tags(Tags::None),
    ecs(
        "SnapshotGroup",
        ["ssg-", "SnapshotGroupId"],
        "CreateSnapshotGroup",
        ["DescribeSnapshotGroups", "SnapshotGroups/SnapshotGroup"],
        TOKEN,
        "DeleteSnapshotGroup",
    )
    .copy(&["Name", "InstanceId"])
    .fixed(&[("Status", "accomplished")])
    .tags(Tags::Short),
];
