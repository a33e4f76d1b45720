//! ECS.

use super::{Deed, ECS, PROTECTED, Pages, Row, Source, TOKEN, Under, Value, deed, row, unprotect};
use allotment_core::cleanup::attribute::{
    CHARGE, GROUP, HOLDER, MANAGED, NETWORK, OWNER, REFERENCED_GROUP, STATE, VARIETY,
};

const DIRECTION: &str = "direction";

const fn ecs(
    kind: &'static str,
    list: &'static str,
    items: &'static str,
    id: &'static str,
    delete: &'static [Deed],
) -> Row {
    row(&ECS, kind, list, items, id, delete)
}

const fn revoke(action: &'static str, direction: &'static str) -> Deed {
    Deed {
        only: Some((DIRECTION, direction)),
        ..deed(action, &[("SecurityGroupId", Value::Attribute(GROUP)), ("SecurityGroupRuleId.1", Value::Id)])
    }
}

/// A truth in one service, a number in another.
pub(super) const SERVICE_MANAGED: Source =
    Source::Marks(&[("ServiceManaged", "true"), ("ServiceManaged", "1")], "true");

pub(super) static ROWS: &[Row] = &[
    Row {
        pages: Pages::Numbered("100"),
        name: "AutoProvisioningGroupName",
        attributes: &[(STATE, Source::Text("State"))],
        ..ecs(
            "AutoProvisioningGroup",
            "DescribeAutoProvisioningGroups",
            "AutoProvisioningGroups/AutoProvisioningGroup",
            "AutoProvisioningGroupId",
            &[deed(
                "DeleteAutoProvisioningGroup",
                &[("AutoProvisioningGroupId", Value::Id), ("TerminateInstances", Value::Text("true"))],
            )],
        )
    },
    Row {
        pages: TOKEN,
        name: "InstanceName",
        attributes: &[
            (STATE, Source::Text("Status")),
            (CHARGE, Source::Text("InstanceChargeType")),
            (NETWORK, Source::Text("VpcAttributes/VpcId")),
            (PROTECTED, Source::Marks(&[("DeletionProtection", "true")], "true")),
        ],
        prepare: &[unprotect(
            "ModifyInstanceAttribute",
            &[("InstanceId", Value::Id), ("DeletionProtection", Value::Text("false"))],
        )],
        ..ecs(
            "Instance",
            "DescribeInstances",
            "Instances/Instance",
            "InstanceId",
            &[deed("DeleteInstance", &[("InstanceId", Value::Id), ("Force", Value::Text("true"))])],
        )
    },
    Row {
        name: "LaunchTemplateName",
        ..ecs(
            "LaunchTemplate",
            "DescribeLaunchTemplates",
            "LaunchTemplateSets/LaunchTemplateSet",
            "LaunchTemplateId",
            &[deed("DeleteLaunchTemplate", &[("LaunchTemplateId", Value::Id)])],
        )
    },
    Row {
        pages: Pages::Token("MaxResults", "50"),
        name: "Name",
        ..ecs(
            "Command",
            "DescribeCommands",
            "Commands/Command",
            "CommandId",
            &[deed("DeleteCommand", &[("CommandId", Value::Id)])],
        )
    },
    Row {
        pages: TOKEN,
        name: "DiskName",
        attributes: &[
            (STATE, Source::Text("Status")),
            (CHARGE, Source::Text("DiskChargeType")),
            (HOLDER, Source::Text("InstanceId")),
            (VARIETY, Source::Marks(&[("Type", "system"), ("DeleteWithInstance", "true")], "withInstance")),
        ],
        ..ecs(
            "Disk",
            "DescribeDisks",
            "Disks/Disk",
            "DiskId",
            &[deed("DeleteDisk", &[("DiskId", Value::Id)])],
        )
    },
    Row {
        pages: TOKEN,
        name: "NetworkInterfaceName",
        attributes: &[
            (STATE, Source::Text("Status")),
            (VARIETY, Source::Text("Type")),
            (HOLDER, Source::Text("InstanceId")),
            (NETWORK, Source::Text("VpcId")),
            (MANAGED, SERVICE_MANAGED),
        ],
        ..ecs(
            "NetworkInterface",
            "DescribeNetworkInterfaces",
            "NetworkInterfaceSets/NetworkInterfaceSet",
            "NetworkInterfaceId",
            &[deed("DeleteNetworkInterface", &[("NetworkInterfaceId", Value::Id)])],
        )
    },
    Row {
        name: "KeyPairName",
        // A name that returns is another key.
        incarnation: "CreationTime",
        ..ecs(
            "KeyPair",
            "DescribeKeyPairs",
            "KeyPairs/KeyPair",
            "KeyPairName",
            &[deed("DeleteKeyPairs", &[("KeyPairNames", Value::IdInList)])],
        )
    },
    Row {
        name: "DeploymentSetName",
        ..ecs(
            "DeploymentSet",
            "DescribeDeploymentSets",
            "DeploymentSets/DeploymentSet",
            "DeploymentSetId",
            &[deed("DeleteDeploymentSet", &[("DeploymentSetId", Value::Id)])],
        )
    },
    Row {
        name: "Name",
        ..ecs(
            "HpcCluster",
            "DescribeHpcClusters",
            "HpcClusters/HpcCluster",
            "HpcClusterId",
            &[deed("DeleteHpcCluster", &[("HpcClusterId", Value::Id)])],
        )
    },
    Row {
        pages: TOKEN,
        // Without it, those that begin later are left out.
        with: &[("Status", "All")],
        name: "PrivatePoolOptionsName",
        attributes: &[
            (STATE, Source::Text("Status")),
            (CHARGE, Source::Text("InstanceChargeType")),
            (OWNER, Source::Text("CapacityReservationOwnerId")),
        ],
        ..ecs(
            "CapacityReservation",
            "DescribeCapacityReservations",
            "CapacityReservationSet/CapacityReservationItem",
            "PrivatePoolOptionsId",
            &[deed("ReleaseCapacityReservation", &[("PrivatePoolOptions.Id", Value::Id)])],
        )
    },
    Row {
        pages: TOKEN,
        name: "DedicatedHostName",
        attributes: &[
            (STATE, Source::Text("Status")),
            (CHARGE, Source::Text("ChargeType")),
            (OWNER, Source::Text("DedicatedHostOwnerId")),
        ],
        ..ecs(
            "DedicatedHost",
            "DescribeDedicatedHosts",
            "DedicatedHosts/DedicatedHost",
            "DedicatedHostId",
            &[deed("ReleaseDedicatedHost", &[("DedicatedHostId", Value::Id)])],
        )
    },
    Row {
        pages: Pages::Numbered("100"),
        // Without the status, only those that can be used are shown.
        with: &[("ImageOwnerAlias", "self"), ("Status", "ALL")],
        name: "ImageName",
        attributes: &[(STATE, Source::Text("Status")), (OWNER, Source::Text("ImageOwnerId"))],
        ..ecs(
            "Image",
            "DescribeImages",
            "Images/Image",
            "ImageId",
            &[deed("DeleteImage", &[("ImageId", Value::Id), ("Force", Value::Text("true"))])],
        )
    },
    Row {
        pages: TOKEN,
        name: "Name",
        attributes: &[(STATE, Source::Text("Status"))],
        ..ecs(
            "SnapshotGroup",
            "DescribeSnapshotGroups",
            "SnapshotGroups/SnapshotGroup",
            "SnapshotGroupId",
            &[deed("DeleteSnapshotGroup", &[("SnapshotGroupId", Value::Id)])],
        )
    },
    Row {
        pages: TOKEN,
        name: "SnapshotName",
        attributes: &[(STATE, Source::Text("Status"))],
        ..ecs(
            "Snapshot",
            "DescribeSnapshots",
            "Snapshots/Snapshot",
            "SnapshotId",
            &[deed("DeleteSnapshot", &[("SnapshotId", Value::Id), ("Force", Value::Text("true"))])],
        )
    },
    Row {
        pages: Pages::Numbered("100"),
        name: "AutoSnapshotPolicyName",
        ..ecs(
            "AutoSnapshotPolicy",
            "DescribeAutoSnapshotPolicyEx",
            "AutoSnapshotPolicies/AutoSnapshotPolicy",
            "AutoSnapshotPolicyId",
            // The only call whose parameters begin with small letters.
            &[deed(
                "DeleteAutoSnapshotPolicy",
                &[("autoSnapshotPolicyId", Value::Id), ("regionId", Value::Region)],
            )],
        )
    },
    Row {
        pages: Pages::Token("MaxResults", "1000"),
        under: Some(Under {
            kind: "SecurityGroup",
            parameter: "SecurityGroupId",
            attribute: GROUP,
            only: None,
        }),
        attributes: &[
            (DIRECTION, Source::Text("Direction")),
            (REFERENCED_GROUP, Source::Text("SourceGroupId")),
            (REFERENCED_GROUP, Source::Text("DestGroupId")),
        ],
        ..ecs(
            "SecurityGroupRule",
            "DescribeSecurityGroupAttribute",
            "Permissions/Permission",
            "SecurityGroupRuleId",
            &[revoke("RevokeSecurityGroup", "ingress"), revoke("RevokeSecurityGroupEgress", "egress")],
        )
    },
    Row {
        pages: TOKEN,
        name: "SecurityGroupName",
        attributes: &[(NETWORK, Source::Text("VpcId")), (MANAGED, SERVICE_MANAGED)],
        ..ecs(
            "SecurityGroup",
            "DescribeSecurityGroups",
            "SecurityGroups/SecurityGroup",
            "SecurityGroupId",
            &[deed("DeleteSecurityGroup", &[("SecurityGroupId", Value::Id)])],
        )
    },
    Row {
        pages: TOKEN,
        name: "PrefixListName",
        ..ecs(
            "PrefixList",
            "DescribePrefixLists",
            "PrefixLists/PrefixList",
            "PrefixListId",
            &[deed("DeletePrefixList", &[("PrefixListId", Value::Id)])],
        )
    },
    Row {
        pages: TOKEN,
        name: "PortRangeListName",
        ..ecs(
            "PortRangeList",
            "DescribePortRangeLists",
            "PortRangeLists",
            "PortRangeListId",
            &[deed("DeletePortRangeList", &[("PortRangeListId", Value::Id)])],
        )
    },
];
