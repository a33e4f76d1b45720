//! Machines, load balancers and storage.

use super::{AUTO_SCALING, Deed, ELB, ELB_V2, Pages, Row, Source, UNSIZED, Value, deed, ec2};
use allotment_core::cleanup::attribute::{MANAGED, NETWORK, OWNER, STATE};

/// Managed resources are hidden from lists if the account says so, and are there all the same.
const MANAGED_TOO: &[(&str, &str)] = &[("IncludeManagedResources", "true")];

const MARKER: Pages = Pages {
    field: "DescribeLoadBalancersResult/NextMarker",
    parameter: "Marker",
    size: Some(("PageSize", "400")),
};

const TERMINATE: &[Deed] = &[deed("TerminateInstances", &[("InstanceId.1", Value::Id)])];

pub(super) static ROWS: &[Row] = &[
    Row {
        service: &AUTO_SCALING,
        pages: Pages {
            field: "DescribeAutoScalingGroupsResult/NextToken",
            parameter: "NextToken",
            size: Some(("MaxRecords", "100")),
        },
        name: "AutoScalingGroupName",
        incarnation: "CreatedTime",
        attributes: &[(STATE, Source::Text("Status"))],
        ..ec2(
            "AutoScalingGroup",
            "DescribeAutoScalingGroups",
            "DescribeAutoScalingGroupsResult/AutoScalingGroups/member",
            "AutoScalingGroupName",
            &[deed(
                "DeleteAutoScalingGroup",
                &[("AutoScalingGroupName", Value::Id), ("ForceDelete", Value::Text("true"))],
            )],
        )
    },
    Row {
        attributes: &[(STATE, Source::Text("state"))],
        ..ec2(
            "SpotInstanceRequest",
            "DescribeSpotInstanceRequests",
            "spotInstanceRequestSet/item",
            "spotInstanceRequestId",
            &[deed("CancelSpotInstanceRequests", &[("SpotInstanceRequestId.1", Value::Id)])],
        )
    },
    Row {
        service: &ELB,
        pages: MARKER,
        name: "LoadBalancerName",
        incarnation: "CreatedTime",
        attributes: &[(NETWORK, Source::Text("VPCId"))],
        ..ec2(
            "LoadBalancer",
            "DescribeLoadBalancers",
            "DescribeLoadBalancersResult/LoadBalancerDescriptions/member",
            "LoadBalancerName",
            &[deed("DeleteLoadBalancer", &[("LoadBalancerName", Value::Id)])],
        )
    },
    Row {
        service: &ELB_V2,
        pages: MARKER,
        name: "LoadBalancerName",
        attributes: &[(NETWORK, Source::Text("VpcId"))],
        unlock: &[deed(
            "ModifyLoadBalancerAttributes",
            &[
                ("LoadBalancerArn", Value::Id),
                ("Attributes.member.1.Key", Value::Text("deletion_protection.enabled")),
                ("Attributes.member.1.Value", Value::Text("false")),
            ],
        )],
        ..ec2(
            "LoadBalancerV2",
            "DescribeLoadBalancers",
            "DescribeLoadBalancersResult/LoadBalancers/member",
            "LoadBalancerArn",
            &[deed("DeleteLoadBalancer", &[("LoadBalancerArn", Value::Id)])],
        )
    },
    Row {
        service: &ELB_V2,
        pages: Pages {
            field: "DescribeTargetGroupsResult/NextMarker",
            parameter: "Marker",
            size: Some(("PageSize", "400")),
        },
        name: "TargetGroupName",
        attributes: &[(NETWORK, Source::Text("VpcId"))],
        ..ec2(
            "TargetGroup",
            "DescribeTargetGroups",
            "DescribeTargetGroupsResult/TargetGroups/member",
            "TargetGroupArn",
            &[deed("DeleteTargetGroup", &[("TargetGroupArn", Value::Id)])],
        )
    },
    Row {
        with: MANAGED_TOO,
        pages: super::pages("200"),
        name: "launchTemplateName",
        attributes: &[(MANAGED, Source::Any("operator/managed", "true"))],
        ..ec2(
            "LaunchTemplate",
            "DescribeLaunchTemplates",
            "launchTemplates/item",
            "launchTemplateId",
            &[deed("DeleteLaunchTemplate", &[("LaunchTemplateId", Value::Id)])],
        )
    },
    Row {
        with: MANAGED_TOO,
        attributes: &[(STATE, Source::Text("instanceState/name")), (NETWORK, Source::Text("vpcId"))],
        unlock: &[
            deed(
                "ModifyInstanceAttribute",
                &[("InstanceId", Value::Id), ("DisableApiTermination.Value", Value::Text("false"))],
            ),
            deed(
                "ModifyInstanceAttribute",
                &[("InstanceId", Value::Id), ("DisableApiStop.Value", Value::Text("false"))],
            ),
        ],
        ..ec2(
            "Instance",
            "DescribeInstances",
            "reservationSet/item/instancesSet/item",
            "instanceId",
            TERMINATE,
        )
    },
    Row {
        // The owner sees deprecated images always, disabled ones only if asked for.
        with: &[("Owner.1", "self"), ("IncludeDeprecated", "true"), ("IncludeDisabled", "true")],
        name: "name",
        attributes: &[(STATE, Source::Text("imageState")), (OWNER, Source::Text("imageOwnerId"))],
        unlock: &[deed("DisableImageDeregistrationProtection", &[("ImageId", Value::Id)])],
        ..ec2(
            "Image",
            "DescribeImages",
            "imagesSet/item",
            "imageId",
            &[deed("DeregisterImage", &[("ImageId", Value::Id)])],
        )
    },
    Row {
        with: &[("Owner.1", "self")],
        attributes: &[(STATE, Source::Text("status")), (OWNER, Source::Text("ownerId"))],
        ..ec2(
            "Snapshot",
            "DescribeSnapshots",
            "snapshotSet/item",
            "snapshotId",
            &[deed("DeleteSnapshot", &[("SnapshotId", Value::Id)])],
        )
    },
    Row {
        with: MANAGED_TOO,
        attributes: &[(STATE, Source::Text("status"))],
        ..ec2(
            "Volume",
            "DescribeVolumes",
            "volumeSet/item",
            "volumeId",
            &[deed("DeleteVolume", &[("VolumeId", Value::Id)])],
        )
    },
    Row {
        // By name: emulators accept an id and do nothing, and the name is unique in its region.
        pages: UNSIZED,
        name: "keyName",
        ..ec2(
            "KeyPair",
            "DescribeKeyPairs",
            "keySet/item",
            "keyPairId",
            &[deed("DeleteKeyPair", &[("KeyName", Value::Name)])],
        )
    },
];
