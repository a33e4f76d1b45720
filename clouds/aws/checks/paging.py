"""Every list call that AWS pages comes in pages."""

from __future__ import annotations

from checking import Table

from .account import REGION, Account


def everything(client, operation: str, key: str, **arguments) -> tuple[int, int]:
    """How many items, on how many pages."""
    pages = [page[key] for page in client.get_paginator(operation).paginate(**arguments)]
    return sum(map(len, pages)), len(pages)


def prove(account: Account, table: Table) -> None:
    table.section("Pages of two, by the token that each service has")
    account.control("POST", "settings", {"page": 2})
    account.script("fill", "--region", REGION, "--volumes", "5", "--efs")
    ec2, v2, iam, efs = (account.client(s, admin=True) for s in ("ec2", "elbv2", "iam", "efs"))
    vpc = ec2.describe_vpcs()["Vpcs"][0]["VpcId"]
    for n in range(3):
        account.client("elb").create_load_balancer(
            LoadBalancerName=f"c{n}",
            AvailabilityZones=[f"{REGION}a"],
            Listeners=[{"Protocol": "TCP", "LoadBalancerPort": 80, "InstancePort": 80}],
        )
        v2.create_target_group(Name=f"t{n}", Protocol="TCP", Port=80, VpcId=vpc)
        iam.create_role(RoleName=f"r{n}", AssumeRolePolicyDocument="{}")
        iam.create_instance_profile(InstanceProfileName=f"p{n}")
        efs.create_file_system(CreationToken=f"f{n}")
    scaling = account.client("autoscaling")
    scaling.create_launch_configuration(LaunchConfigurationName="lc", ImageId="ami-1", InstanceType="t3.micro")
    for n in range(2):
        scaling.create_auto_scaling_group(
            AutoScalingGroupName=f"g{n}", MinSize=0, MaxSize=1, LaunchConfigurationName="lc", AvailabilityZones=[f"{REGION}a"]
        )
    for what, client, operation, key, arguments in (
        ("EC2 volumes", ec2, "describe_volumes", "Volumes", {}),
        ("EC2 snapshots", ec2, "describe_snapshots", "Snapshots", {"OwnerIds": ["self"]}),
        ("EC2 network interfaces", ec2, "describe_network_interfaces", "NetworkInterfaces", {}),
        ("EC2 security groups", ec2, "describe_security_groups", "SecurityGroups", {}),
        ("EC2 subnets", ec2, "describe_subnets", "Subnets", {}),
        ("EC2 route tables", ec2, "describe_route_tables", "RouteTables", {}),
        ("EC2 network ACLs", ec2, "describe_network_acls", "NetworkAcls", {}),
        ("EC2 tags", ec2, "describe_tags", "Tags", {}),
        ("classic load balancers", account.client("elb"), "describe_load_balancers", "LoadBalancerDescriptions", {}),
        ("target groups", v2, "describe_target_groups", "TargetGroups", {}),
        ("Auto Scaling groups", scaling, "describe_auto_scaling_groups", "AutoScalingGroups", {}),
        ("IAM roles", iam, "list_roles", "Roles", {}),
        ("IAM instance profiles", iam, "list_instance_profiles", "InstanceProfiles", {}),
        ("EFS file systems", efs, "describe_file_systems", "FileSystems", {}),
    ):
        items, pages = everything(client, operation, key, **arguments)
        account.control("POST", "settings", {"page": 1000})
        whole, single = everything(client, operation, key, **arguments)
        account.control("POST", "settings", {"page": 2})
        table.row(f"{what}: all {items} on pages of two", (whole, (whole + 1) // 2, 1, True), (items, pages, single, items > 2))
    account.control("POST", "settings", {"emptyPages": True})
    first = ec2.describe_volumes()
    table.row("an empty first page with a token", ([], True), (first["Volumes"], "NextToken" in first))
    again = [ec2.describe_volumes(NextToken=first["NextToken"])["Volumes"][0]["VolumeId"] for _ in range(2)]
    table.row("a token can be used again, after a refusal", True, again[0] == again[1])
