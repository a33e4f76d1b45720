"""Fills regions with what a force-deleted Shoot leaves behind, through boto3. Prints what it made as JSON."""

from __future__ import annotations

import json

from account import client, enabled_regions, parser

ASSUME_ROLE = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}],
    }
)


class Filler:
    """One region. Tags are those that Gardener and the cloud's controllers set."""

    def __init__(self, region: str, shoot: str):
        self.region, self.shoot = region, shoot
        self.ec2 = client("ec2", region)
        self.tags = [{"Key": f"kubernetes.io/cluster/{shoot}", "Value": "1"}, {"Key": "Name", "Value": shoot}]
        self.made: dict[str, list[str]] = {}

    def note(self, kind: str, item: str) -> str:
        self.made.setdefault(kind, []).append(item)
        return item

    def spec(self, kind: str) -> list[dict]:
        return [{"ResourceType": kind, "Tags": self.tags}]

    def network(self) -> None:
        """The infrastructure flow: VPC, DHCP options, gateways, subnets, route tables, a gateway endpoint."""
        ec2 = self.ec2
        self.vpc = self.note("vpc", ec2.create_vpc(CidrBlock="10.250.0.0/16", TagSpecifications=self.spec("vpc"))["Vpc"]["VpcId"])
        options = ec2.create_dhcp_options(
            DhcpConfigurations=[{"Key": "domain-name", "Values": [f"{self.region}.compute.internal"]}],
            TagSpecifications=self.spec("dhcp-options"),
        )["DhcpOptions"]["DhcpOptionsId"]
        ec2.associate_dhcp_options(DhcpOptionsId=self.note("dhcp-options", options), VpcId=self.vpc)
        gateway = ec2.create_internet_gateway(TagSpecifications=self.spec("internet-gateway"))["InternetGateway"][
            "InternetGatewayId"
        ]
        ec2.attach_internet_gateway(InternetGatewayId=self.note("internet-gateway", gateway), VpcId=self.vpc)
        egress = ec2.create_egress_only_internet_gateway(VpcId=self.vpc)["EgressOnlyInternetGateway"][
            "EgressOnlyInternetGatewayId"
        ]
        self.note("egress-only-internet-gateway", egress)
        self.subnets = []
        for number, zone in enumerate((f"{self.region}a", f"{self.region}b")):
            subnet = ec2.create_subnet(
                VpcId=self.vpc,
                CidrBlock=f"10.250.{number * 16}.0/20",
                AvailabilityZone=zone,
                TagSpecifications=self.spec("subnet"),
            )["Subnet"]["SubnetId"]
            self.subnets.append(self.note("subnet", subnet))
            table = ec2.create_route_table(VpcId=self.vpc, TagSpecifications=self.spec("route-table"))["RouteTable"][
                "RouteTableId"
            ]
            ec2.associate_route_table(RouteTableId=self.note("route-table", table), SubnetId=subnet)
        address = ec2.allocate_address(Domain="vpc", TagSpecifications=self.spec("elastic-ip"))["AllocationId"]
        nat = ec2.create_nat_gateway(
            SubnetId=self.subnets[0], AllocationId=self.note("address", address), TagSpecifications=self.spec("natgateway")
        )["NatGateway"]["NatGatewayId"]
        self.note("nat-gateway", nat)
        ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=nat)
        for service, kind in (
            (f"com.amazonaws.{self.region}.s3", "Gateway"),
            (f"com.amazonaws.{self.region}.ecr.api", "Interface"),
        ):
            where = {"RouteTableIds": [table]} if kind == "Gateway" else {"SubnetIds": [self.subnets[1]]}
            endpoint = ec2.create_vpc_endpoint(
                VpcId=self.vpc, ServiceName=service, VpcEndpointType=kind, TagSpecifications=self.spec("vpc-endpoint"), **where
            )
            self.note("vpc-endpoint", endpoint["VpcEndpoint"]["VpcEndpointId"])
        acl = ec2.create_network_acl(VpcId=self.vpc)["NetworkAcl"]["NetworkAclId"]
        self.note("network-acl", acl)

    def security_groups(self) -> None:
        """Nodes and load balancer refer to each other, and the default group of the VPC refers to the nodes."""
        make = lambda name: self.note(
            "security-group",
            self.ec2.create_security_group(
                GroupName=name, Description="a Shoot's", VpcId=self.vpc, TagSpecifications=self.spec("security-group")
            )["GroupId"],
        )
        self.nodes, self.balancer = make(f"{self.shoot}-nodes"), make("k8s-elb-a1")
        rule = lambda source: [{"IpProtocol": "tcp", "FromPort": 1, "ToPort": 65535, "UserIdGroupPairs": [{"GroupId": source}]}]
        self.ec2.authorize_security_group_ingress(GroupId=self.nodes, IpPermissions=rule(self.balancer))
        self.ec2.authorize_security_group_ingress(GroupId=self.nodes, IpPermissions=rule(self.nodes))
        self.ec2.authorize_security_group_egress(GroupId=self.balancer, IpPermissions=rule(self.nodes))
        filters = [{"Name": "vpc-id", "Values": [self.vpc]}, {"Name": "group-name", "Values": ["default"]}]
        default = [
            g
            for page in self.ec2.get_paginator("describe_security_groups").paginate(Filters=filters)
            for g in page["SecurityGroups"]
        ]
        self.ec2.authorize_security_group_ingress(GroupId=default[0]["GroupId"], IpPermissions=rule(self.nodes))

    def machines(self, protect: bool) -> None:
        """Nodes by machine-controller-manager and by an Auto Scaling group, an image that a user took, a second interface."""
        ec2 = self.ec2
        key = f"{self.shoot}-ssh-publickey"
        ec2.create_key_pair(KeyName=key, KeyType="ed25519", TagSpecifications=self.spec("key-pair"))
        self.note("key-pair", key)
        nodes = ec2.run_instances(
            ImageId="ami-00000000",
            MinCount=2,
            MaxCount=2,
            SubnetId=self.subnets[1],
            SecurityGroupIds=[self.nodes],
            KeyName=key,
            DisableApiTermination=protect,
            TagSpecifications=self.spec("instance"),
        )["Instances"]
        self.instances = [self.note("instance", node["InstanceId"]) for node in nodes]
        image = ec2.create_image(InstanceId=self.instances[0], Name=f"{self.shoot}-{self.region}")["ImageId"]
        self.note("image", image)
        template = ec2.create_launch_template(
            LaunchTemplateName=f"{self.shoot}-pool", LaunchTemplateData={"ImageId": image, "InstanceType": "t3.micro"}
        )["LaunchTemplate"]["LaunchTemplateId"]
        client("autoscaling", self.region).create_auto_scaling_group(
            AutoScalingGroupName=self.note("auto-scaling-group", f"{self.shoot}-pool"),
            MinSize=1,
            MaxSize=2,
            LaunchTemplate={"LaunchTemplateId": self.note("launch-template", template), "Version": "1"},
            VPCZoneIdentifier=self.subnets[1],
        )
        for attach in (False, True):
            interface = ec2.create_network_interface(
                SubnetId=self.subnets[1], Groups=[self.nodes], TagSpecifications=self.spec("network-interface")
            )["NetworkInterface"]["NetworkInterfaceId"]
            self.note("network-interface", interface)
            if attach:
                ec2.attach_network_interface(NetworkInterfaceId=interface, InstanceId=self.instances[0], DeviceIndex=1)

    def storage(self, volumes: int) -> None:
        """Persistent volumes: one attached, one with a snapshot, and as many as were asked for."""
        zone = f"{self.region}b"
        made = []
        for _ in range(volumes):
            volume = self.ec2.create_volume(AvailabilityZone=zone, Size=1, TagSpecifications=self.spec("volume"))["VolumeId"]
            made.append(self.note("volume", volume))
        self.ec2.attach_volume(InstanceId=self.instances[0], VolumeId=made[0], Device="/dev/sdf")
        for volume in made[:2]:
            self.note(
                "snapshot", self.ec2.create_snapshot(VolumeId=volume, TagSpecifications=self.spec("snapshot"))["SnapshotId"]
            )

    def load_balancers(self, protect: bool) -> None:
        tags = self.tags
        client("elb", self.region).create_load_balancer(
            LoadBalancerName=self.note("load-balancer", "a1b2c3"),
            Subnets=self.subnets,
            SecurityGroups=[self.balancer],
            Tags=tags,
            Listeners=[{"Protocol": "TCP", "LoadBalancerPort": 80, "InstancePort": 30080}],
        )
        second = client("elbv2", self.region)
        for name, kind, groups in (("net-1", "network", []), ("app-1", "application", [self.balancer])):
            made = second.create_load_balancer(Name=name, Subnets=self.subnets, Type=kind, SecurityGroups=groups, Tags=tags)
            balancer = self.note("load-balancer-v2", made["LoadBalancers"][0]["LoadBalancerArn"])
            protocol = "TCP" if kind == "network" else "HTTP"
            target = second.create_target_group(Name=name, Protocol=protocol, Port=80, VpcId=self.vpc)["TargetGroups"][0][
                "TargetGroupArn"
            ]
            forward = [{"Type": "forward", "TargetGroupArn": self.note("target-group", target)}]
            second.create_listener(LoadBalancerArn=balancer, Protocol=protocol, Port=80, DefaultActions=forward)
            if protect:
                attributes = [{"Key": "deletion_protection.enabled", "Value": "true"}]
                second.modify_load_balancer_attributes(LoadBalancerArn=balancer, Attributes=attributes)

    def file_system(self) -> None:
        efs = client("efs", self.region)
        system = self.note("file-system", efs.create_file_system(CreationToken=self.shoot)["FileSystemId"])
        target = efs.create_mount_target(FileSystemId=system, SubnetId=self.subnets[1], SecurityGroups=[self.nodes])
        self.note("mount-target", target["MountTargetId"])


def fill_iam(shoot: str, region: str) -> dict[str, list[str]]:
    iam, name = client("iam", region), f"{shoot}-nodes"
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=ASSUME_ROLE)
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "ec2:DescribeInstances", "Resource": "*"}]}
    iam.put_role_policy(RoleName=name, PolicyName=name, PolicyDocument=json.dumps(policy))
    iam.create_instance_profile(InstanceProfileName=name)
    iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=name)
    return {"role": [name], "instance-profile": [name]}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--shoot", default="shoot--p--c", help="technical ID")
    options.add_argument("--volumes", type=int, default=4)
    options.add_argument("--protect", action="store_true", help="termination and deletion protection on")
    options.add_argument("--efs", action="store_true", help="a file system too; Gardener's rights do not allow it")
    args = options.parse_args()
    regions = args.region or enabled_regions()
    made = {}
    for region in regions:
        filler = Filler(region, args.shoot)
        filler.network()
        filler.security_groups()
        filler.machines(args.protect)
        filler.storage(max(2, args.volumes))
        filler.load_balancers(args.protect)
        if args.efs:
            filler.file_system()
        made[region] = filler.made
    made["global"] = fill_iam(args.shoot, regions[0])
    print(json.dumps(made))


if __name__ == "__main__":
    main()
