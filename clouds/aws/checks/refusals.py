"""Deletions that AWS refuses and plain moto does not."""

from __future__ import annotations

from .account import REGION, Account, Network, code

POLICY = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}'
# Rows that plain moto refuses as AWS does: they hold with our layer too.
MOTO_REFUSES = {
    "delete an attached internet gateway",
    "delete a VPC with subnets in it",
    "delete an attached volume",
    "delete a snapshot of an image",
    "delete a target group of a listener",
    "delete an associated route table",
    "delete an instance profile with a role in it",
    "delete a role with a policy",
}


def probe(account: Account, rows: dict[str, tuple[str, str]]) -> None:
    """act: the code that AWS gives, and the code that was seen"""
    net = Network(account)
    ec2 = net.ec2
    in_use, one, two, three = (net.group(n) for n in ("in-use", "one", "two", "three"))
    net.refer(one, two)
    net.refer(two, one)
    net.refer(net.default_group(), three)
    node = ec2.run_instances(ImageId="ami-1", MinCount=1, MaxCount=1, SubnetId=net.subnet, SecurityGroupIds=[in_use])[
        "Instances"
    ][0]
    eip = ec2.allocate_address(Domain="vpc")
    nat = ec2.create_nat_gateway(SubnetId=net.subnet, AllocationId=eip["AllocationId"])["NatGateway"]["NatGatewayId"]
    nat_address = ec2.describe_nat_gateways(NatGatewayIds=[nat])["NatGateways"][0]["NatGatewayAddresses"][0]
    lb_group = net.group("balancer")
    v2 = account.client("elbv2")
    arn = v2.create_load_balancer(Name="app", Subnets=[net.subnet, net.subnet2], SecurityGroups=[lb_group])["LoadBalancers"][0][
        "LoadBalancerArn"
    ]
    v2.modify_load_balancer_attributes(LoadBalancerArn=arn, Attributes=[{"Key": "deletion_protection.enabled", "Value": "true"}])
    interfaces = ec2.describe_network_interfaces(Filters=[{"Name": "vpc-id", "Values": [net.vpc]}])["NetworkInterfaces"]
    of_balancer = [e for e in interfaces if e["Description"].startswith("ELB app/")]
    table = ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [net.vpc]}])["RouteTables"][0]["RouteTableId"]
    acl = ec2.describe_network_acls(Filters=[{"Name": "vpc-id", "Values": [net.vpc]}])["NetworkAcls"][0]["NetworkAclId"]
    default_options = ec2.describe_vpcs(VpcIds=[net.vpc])["Vpcs"][0]["DhcpOptionsId"]
    scaling = account.client("autoscaling")
    scaling.create_launch_configuration(LaunchConfigurationName="lc", ImageId="ami-1", InstanceType="t3.micro")
    scaling.create_auto_scaling_group(
        AutoScalingGroupName="g", MinSize=1, MaxSize=1, LaunchConfigurationName="lc", VPCZoneIdentifier=net.subnet
    )

    held = ec2.allocate_address(Domain="vpc")["AllocationId"]
    free = ec2.create_network_interface(SubnetId=net.subnet)["NetworkInterface"]["NetworkInterfaceId"]
    ec2.associate_address(AllocationId=held, NetworkInterfaceId=free)

    def row(act: str, wanted: str, call, **arguments) -> None:
        rows[act] = (wanted, code(call, **arguments))

    row("delete a security group that another refers to", "DependencyViolation", ec2.delete_security_group, GroupId=one)
    row(
        "delete a security group that the default group refers to",
        "DependencyViolation",
        ec2.delete_security_group,
        GroupId=three,
    )
    row("delete a security group of an instance", "DependencyViolation", ec2.delete_security_group, GroupId=in_use)
    row("delete a security group of a load balancer", "DependencyViolation", ec2.delete_security_group, GroupId=lb_group)
    row("delete a default security group", "CannotDelete", ec2.delete_security_group, GroupId=net.default_group())
    row("release the address of a NAT gateway", "InvalidIPAddress.InUse", ec2.release_address, AllocationId=eip["AllocationId"])
    row(
        "disassociate the address of a NAT gateway",
        "AuthFailure",
        ec2.disassociate_address,
        AssociationId=nat_address.get("AssociationId", "x"),
    )
    primary = node["NetworkInterfaces"][0]["NetworkInterfaceId"]
    row("delete an attached network interface", "InvalidParameterValue", ec2.delete_network_interface, NetworkInterfaceId=primary)
    row(
        "delete the interface of a NAT gateway",
        "InvalidParameterValue",
        ec2.delete_network_interface,
        NetworkInterfaceId=nat_address["NetworkInterfaceId"],
    )
    some = of_balancer[0] if of_balancer else {"NetworkInterfaceId": "eni-0", "Attachment": {"AttachmentId": "eni-attach-0"}}
    row(
        "delete the interface of a load balancer",
        "InvalidParameterValue",
        ec2.delete_network_interface,
        NetworkInterfaceId=some["NetworkInterfaceId"],
    )
    row(
        "detach the interface of a load balancer",
        "OperationNotPermitted",
        ec2.detach_network_interface,
        AttachmentId=some["Attachment"]["AttachmentId"],
    )
    row("delete an attached internet gateway", "DependencyViolation", ec2.delete_internet_gateway, InternetGatewayId=net.gateway)
    row(
        "detach an internet gateway with mapped addresses",
        "DependencyViolation",
        ec2.detach_internet_gateway,
        InternetGatewayId=net.gateway,
        VpcId=net.vpc,
    )
    row("delete a subnet with an interface in it", "DependencyViolation", ec2.delete_subnet, SubnetId=net.subnet)
    row("delete a main route table", "DependencyViolation", ec2.delete_route_table, RouteTableId=table)
    row("delete a default network ACL", "InvalidParameterValue", ec2.delete_network_acl, NetworkAclId=acl)
    row(
        "delete DHCP options of a VPC",
        "DependencyViolation",
        ec2.delete_dhcp_options,
        DhcpOptionsId=default_options if default_options != "default" else "dopt-1",
    )
    row("delete a protected load balancer", "OperationNotPermitted", v2.delete_load_balancer, LoadBalancerArn=arn)
    row(
        "delete an Auto Scaling group with instances, not forced",
        "ResourceInUse",
        scaling.delete_auto_scaling_group,
        AutoScalingGroupName="g",
    )
    row("delete a VPC with subnets in it", "DependencyViolation", ec2.delete_vpc, VpcId=net.vpc)
    row("list with a page size that EC2 does not allow", "InvalidParameterValue", ec2.describe_volumes, MaxResults=3)
    row("list with a token that was never given", "InvalidNextToken", ec2.describe_volumes, NextToken="made-up")
    for act, (wanted, seen) in moto_refuses(account).items():
        rows[act] = (wanted, seen)
    bare = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    group = ec2.create_security_group(GroupName="alone", Description="x", VpcId=bare)["GroupId"]
    row("delete a VPC with a security group in it", "DependencyViolation", ec2.delete_vpc, VpcId=bare)
    code(ec2.delete_security_group, GroupId=group)
    for what, make in (
        ("an egress-only gateway", lambda v: ec2.create_egress_only_internet_gateway(VpcId=v)),
        (
            "an endpoint",
            lambda v: ec2.create_vpc_endpoint(VpcId=v, ServiceName=f"com.amazonaws.{REGION}.s3", VpcEndpointType="Gateway"),
        ),
        ("a network ACL", lambda v: ec2.create_network_acl(VpcId=v)),
        (
            "an internet gateway",
            lambda v: ec2.attach_internet_gateway(
                VpcId=v, InternetGatewayId=ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
            ),
        ),
    ):
        vpc = ec2.create_vpc(CidrBlock="10.2.0.0/16")["Vpc"]["VpcId"]
        make(vpc)
        row(f"delete a VPC with {what} in it", "DependencyViolation", ec2.delete_vpc, VpcId=vpc)
    row("release the address of an interface", "InvalidIPAddress.InUse", ec2.release_address, AllocationId=held)
    row("delete a key pair by an id that is not there", "InvalidKeyPair.NotFound", ec2.delete_key_pair, KeyPairId="key-0")


def moto_refuses(account: Account) -> dict[str, tuple[str, str]]:
    """What plain moto refuses by itself: an update of it must not lose that. And two that it would, if it understood the request."""
    net = Network(account)
    ec2, v2, iam, efs = net.ec2, account.client("elbv2"), account.client("iam"), account.client("efs", admin=True)
    node = ec2.run_instances(ImageId="ami-1", MinCount=1, MaxCount=1, SubnetId=net.subnet, DisableApiTermination=True)[
        "Instances"
    ][0]["InstanceId"]
    volume = ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=1)["VolumeId"]
    ec2.attach_volume(InstanceId=node, VolumeId=volume, Device="/dev/sdf")
    ec2.create_image(InstanceId=node, Name="taken")
    snapshot = ec2.describe_snapshots(OwnerIds=["self"])["Snapshots"][0]["SnapshotId"]
    balancer = v2.create_load_balancer(Name="with-target", Subnets=[net.subnet], Type="network")["LoadBalancers"][0][
        "LoadBalancerArn"
    ]
    target = v2.create_target_group(Name="t", Protocol="TCP", Port=80, VpcId=net.vpc)["TargetGroups"][0]["TargetGroupArn"]
    v2.create_listener(
        LoadBalancerArn=balancer, Protocol="TCP", Port=80, DefaultActions=[{"Type": "forward", "TargetGroupArn": target}]
    )
    table = ec2.create_route_table(VpcId=net.vpc)["RouteTable"]["RouteTableId"]
    ec2.associate_route_table(RouteTableId=table, SubnetId=net.subnet)
    iam.create_role(RoleName="r", AssumeRolePolicyDocument="{}")
    iam.put_role_policy(RoleName="r", PolicyName="p", PolicyDocument=POLICY)
    iam.create_instance_profile(InstanceProfileName="p")
    iam.add_role_to_instance_profile(InstanceProfileName="p", RoleName="r")
    system = efs.create_file_system(CreationToken="f")["FileSystemId"]
    efs.create_mount_target(FileSystemId=system, SubnetId=net.subnet)
    return {
        "delete an attached volume": ("VolumeInUse", code(ec2.delete_volume, VolumeId=volume)),
        "delete a snapshot of an image": ("InvalidSnapshot.InUse", code(ec2.delete_snapshot, SnapshotId=snapshot)),
        "delete a target group of a listener": ("ResourceInUse", code(v2.delete_target_group, TargetGroupArn=target)),
        "delete an associated route table": ("DependencyViolation", code(ec2.delete_route_table, RouteTableId=table)),
        "delete an instance profile with a role in it": (
            "DeleteConflict",
            code(iam.delete_instance_profile, InstanceProfileName="p"),
        ),
        "delete a role with a policy": ("DeleteConflict", code(iam.delete_role, RoleName="r")),
        "delete a file system with a mount target": ("FileSystemInUse", code(efs.delete_file_system, FileSystemId=system)),
        "terminate a protected instance": ("OperationNotPermitted", code(ec2.terminate_instances, InstanceIds=[node])),
    }
