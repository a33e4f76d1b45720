"""Says as JSON what is left in an account, seen by boto3 alone: {"empty": false, "left": {"eu-central-1": {"volume": ["vol-1"]}}}

What AWS gives every account, and what is gone but still listed, is left out. Needs all rights, those of the test's admin.
"""

from __future__ import annotations

import json

from account import client, enabled_regions, parser

OWN = {"OwnerIds": ["self"]}
# kind: service, operation, key of the list, name of the id, arguments
KINDS = {
    "address": ("ec2", "describe_addresses", "Addresses", "AllocationId", {}),
    "auto-scaling-group": ("autoscaling", "describe_auto_scaling_groups", "AutoScalingGroups", "AutoScalingGroupName", {}),
    "dhcp-options": ("ec2", "describe_dhcp_options", "DhcpOptions", "DhcpOptionsId", {}),
    "egress-only-internet-gateway": (
        "ec2",
        "describe_egress_only_internet_gateways",
        "EgressOnlyInternetGateways",
        "EgressOnlyInternetGatewayId",
        {},
    ),
    "file-system": ("efs", "describe_file_systems", "FileSystems", "FileSystemId", {}),
    "image": ("ec2", "describe_images", "Images", "ImageId", {"Owners": ["self"]}),
    "internet-gateway": ("ec2", "describe_internet_gateways", "InternetGateways", "InternetGatewayId", {}),
    "key-pair": ("ec2", "describe_key_pairs", "KeyPairs", "KeyName", {}),
    "launch-template": ("ec2", "describe_launch_templates", "LaunchTemplates", "LaunchTemplateId", {}),
    "load-balancer": ("elb", "describe_load_balancers", "LoadBalancerDescriptions", "LoadBalancerName", {}),
    "load-balancer-v2": ("elbv2", "describe_load_balancers", "LoadBalancers", "LoadBalancerArn", {}),
    "nat-gateway": ("ec2", "describe_nat_gateways", "NatGateways", "NatGatewayId", {}),
    "network-acl": ("ec2", "describe_network_acls", "NetworkAcls", "NetworkAclId", {}),
    "network-interface": ("ec2", "describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId", {}),
    "route-table": ("ec2", "describe_route_tables", "RouteTables", "RouteTableId", {}),
    "security-group": ("ec2", "describe_security_groups", "SecurityGroups", "GroupId", {}),
    "snapshot": ("ec2", "describe_snapshots", "Snapshots", "SnapshotId", OWN),
    "subnet": ("ec2", "describe_subnets", "Subnets", "SubnetId", {}),
    "tag": ("ec2", "describe_tags", "Tags", "ResourceId", {}),
    "target-group": ("elbv2", "describe_target_groups", "TargetGroups", "TargetGroupArn", {}),
    "volume": ("ec2", "describe_volumes", "Volumes", "VolumeId", {}),
    "vpc": ("ec2", "describe_vpcs", "Vpcs", "VpcId", {}),
    "vpc-endpoint": ("ec2", "describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId", {}),
}


def every(service: str, region: str, operation: str, key: str, arguments: dict) -> list[dict]:
    made = client(service, region)
    if not made.can_paginate(operation):
        return getattr(made, operation)(**arguments)[key]
    return [item for page in made.get_paginator(operation).paginate(**arguments) for item in page[key]]


def given(kind: str, item: dict, default: dict | None) -> bool:
    """Whether AWS made an item by itself, so that it counts for nothing."""
    vpc = (default or {}).get("VpcId")
    match kind:
        case "vpc":
            return item["IsDefault"]
        case "subnet":
            return item["VpcId"] == vpc
        case "security-group":
            return item["GroupName"] == "default"
        case "network-acl":
            return item["IsDefault"]
        case "route-table":
            return any(association.get("Main") for association in item["Associations"])
        case "internet-gateway":
            return any(attachment["VpcId"] == vpc for attachment in item["Attachments"])
        case "dhcp-options":
            return item["DhcpOptionsId"] == (default or {}).get("DhcpOptionsId")
        case "nat-gateway":
            return item["State"] in ("deleted", "failed")
    return False


def of_region(region: str) -> dict[str, list[str]]:
    default = next((vpc for vpc in every("ec2", region, "describe_vpcs", "Vpcs", {}) if vpc["IsDefault"]), None)
    found: dict[str, list[str]] = {}
    gone = set()
    for reservation in every("ec2", region, "describe_instances", "Reservations", {}):
        for instance in reservation["Instances"]:
            if instance["State"]["Name"] == "terminated":
                gone.add(instance["InstanceId"])
            else:
                found.setdefault("instance", []).append(instance["InstanceId"])
    for nat in every("ec2", region, "describe_nat_gateways", "NatGateways", {}):
        if given("nat-gateway", nat, default):
            gone.add(nat["NatGatewayId"])
    for kind, (service, operation, key, name, arguments) in KINDS.items():
        items = [
            i for i in every(service, region, operation, key, arguments) if not given(kind, i, default) and i[name] not in gone
        ]
        if items:
            found[kind] = sorted({item[name] for item in items})
    return found


def of_an_identity(item: dict) -> bool:
    """A role for tokens of an issuer is how Gardener gets in: it belongs to the account, not to a tenant."""
    statements = item.get("AssumeRolePolicyDocument", {}).get("Statement", [])
    return any("Federated" in statement.get("Principal", {}) for statement in statements)


def main() -> None:
    args = parser(__doc__.splitlines()[0]).parse_args()
    regions = args.region or enabled_regions()
    left = {region: of_region(region) for region in regions}
    iam = {}
    for kind, operation, key, name in (
        ("role", "list_roles", "Roles", "RoleName"),
        ("instance-profile", "list_instance_profiles", "InstanceProfiles", "InstanceProfileName"),
    ):
        if items := [item for item in every("iam", regions[0], operation, key, {}) if not of_an_identity(item)]:
            iam[kind] = sorted(item[name] for item in items)
    left["global"] = iam
    left = {place: kinds for place, kinds in left.items() if kinds}
    print(json.dumps({"empty": not left, "left": left}))


if __name__ == "__main__":
    main()
