"""What takes time in AWS, or works there and not in plain moto."""

from __future__ import annotations

from .account import REGION, Account, Network, code

MOTO_KNOWS = {"an Auto Scaling group replaces an instance that is terminated"}


class Probe:
    """Each method is a row: its docstring the act, its result what is wanted and what was seen."""

    def __init__(self, account: Account):
        self.account, self.net = account, Network(account)
        self.ec2, self.v2, self.scaling = (account.client(s) for s in ("ec2", "elbv2", "autoscaling"))

    def finish(self) -> None:
        self.account.server.control("POST", "finish")

    def interfaces(self) -> int:
        return len(self.ec2.describe_network_interfaces()["NetworkInterfaces"])

    def key_pair(self):
        """a key pair that was deleted by its id is gone"""
        key = self.ec2.create_key_pair(KeyName="by-id", KeyType="ed25519")["KeyPairId"]
        self.ec2.delete_key_pair(KeyPairId=key)
        return [], [pair["KeyName"] for pair in self.ec2.describe_key_pairs()["KeyPairs"]]

    def instance(self):
        """an instance shuts down, holds its subnet, takes its interface along"""
        node = self.ec2.run_instances(ImageId="ami-1", MinCount=1, MaxCount=1, SubnetId=self.net.subnet)["Instances"][0][
            "InstanceId"
        ]
        self.ec2.terminate_instances(InstanceIds=[node])
        state = lambda: self.ec2.describe_instances(InstanceIds=[node])["Reservations"][0]["Instances"][0]["State"]["Name"]
        seen = [state(), code(self.ec2.delete_subnet, SubnetId=self.net.subnet)]
        self.finish()
        return ["shutting-down", "DependencyViolation", "terminated", 0], [*seen, state(), self.interfaces()]

    def nat_gateway(self):
        """a NAT gateway is deleting, holds its address, then lets go"""
        address = self.ec2.allocate_address(Domain="vpc")["AllocationId"]
        nat = self.ec2.create_nat_gateway(SubnetId=self.net.subnet, AllocationId=address)["NatGateway"]["NatGatewayId"]
        self.ec2.delete_nat_gateway(NatGatewayId=nat)
        state = lambda: self.ec2.describe_nat_gateways(NatGatewayIds=[nat])["NatGateways"][0]["State"]
        seen = [state(), code(self.ec2.release_address, AllocationId=address)]
        self.finish()
        seen += [state(), code(self.ec2.release_address, AllocationId=address), self.interfaces()]
        return ["deleting", "InvalidIPAddress.InUse", "deleted", "done", 0], seen

    def load_balancer(self):
        """a load balancer is gone at once, its interface lingers"""
        arn = self.v2.create_load_balancer(Name="n", Subnets=[self.net.subnet], Type="network")["LoadBalancers"][0][
            "LoadBalancerArn"
        ]
        self.v2.delete_load_balancer(LoadBalancerArn=arn)
        seen = [len(self.v2.describe_load_balancers()["LoadBalancers"]), self.interfaces()]
        self.finish()
        return [0, 1, 0], [*seen, self.interfaces()]

    def endpoint(self):
        """an endpoint is deleting, holds its interface, then is gone"""
        service = f"com.amazonaws.{REGION}.ecr.api"
        made = self.ec2.create_vpc_endpoint(
            VpcId=self.net.vpc, ServiceName=service, VpcEndpointType="Interface", SubnetIds=[self.net.subnet]
        )
        listed = lambda: [e["State"] for e in self.ec2.describe_vpc_endpoints()["VpcEndpoints"]]
        self.ec2.delete_vpc_endpoints(VpcEndpointIds=[made["VpcEndpoint"]["VpcEndpointId"]])
        seen = [listed(), self.interfaces()]
        self.finish()
        return [["deleting"], 1, [], 0], [*seen, listed(), self.interfaces()]

    def tags(self):
        """tags go with what they were on"""
        self.ec2.create_tags(Resources=[self.net.subnet2], Tags=[{"Key": "a", "Value": "b"}])
        before = len(self.ec2.describe_tags()["Tags"])
        self.ec2.delete_subnet(SubnetId=self.net.subnet2)
        return [1, 0], [before, len(self.ec2.describe_tags()["Tags"])]

    def group(self) -> list[dict]:
        return self.scaling.describe_auto_scaling_groups()["AutoScalingGroups"]

    def make_group(self) -> None:
        self.scaling.create_launch_configuration(LaunchConfigurationName="lc", ImageId="ami-1", InstanceType="t3.micro")
        self.scaling.create_auto_scaling_group(
            AutoScalingGroupName="g", MinSize=1, MaxSize=1, LaunchConfigurationName="lc", VPCZoneIdentifier=self.net.subnet
        )

    def replacement(self):
        """an Auto Scaling group replaces an instance that is terminated"""
        self.make_group()
        first = self.group()[0]["Instances"][0]["InstanceId"]
        self.ec2.terminate_instances(InstanceIds=[first])
        return 1, len({i["InstanceId"] for i in self.group()[0]["Instances"]} - {first})

    def forced_group(self):
        """a forced Auto Scaling group is deleting, then gone"""
        self.make_group()
        self.scaling.delete_auto_scaling_group(AutoScalingGroupName="g", ForceDelete=True)
        seen = [self.group()[0].get("Status") if self.group() else "gone"]
        self.finish()
        return ["Delete in progress", 0], [*seen, len(self.group())]

    def dhcp_options(self):
        """DHCP options stay when their VPC goes"""
        made = self.ec2.create_dhcp_options(DhcpConfigurations=[{"Key": "domain-name", "Values": ["x"]}])["DhcpOptions"][
            "DhcpOptionsId"
        ]
        vpc = self.ec2.create_vpc(CidrBlock="10.7.0.0/16")["Vpc"]["VpcId"]
        self.ec2.associate_dhcp_options(DhcpOptionsId=made, VpcId=vpc)
        self.ec2.delete_vpc(VpcId=vpc)
        return True, made in [o["DhcpOptionsId"] for o in self.ec2.describe_dhcp_options()["DhcpOptions"]]

    def default_gateway(self):
        """the default VPC has an internet gateway and DHCP options of its own"""
        default = next(v for v in self.ec2.describe_vpcs()["Vpcs"] if v["IsDefault"])
        attached = [a["VpcId"] for g in self.ec2.describe_internet_gateways()["InternetGateways"] for a in g["Attachments"]]
        return [True, True], [default["VpcId"] in attached, default["DhcpOptionsId"].startswith("dopt-")]


ROWS = [
    Probe.key_pair,
    Probe.instance,
    Probe.nat_gateway,
    Probe.load_balancer,
    Probe.endpoint,
    Probe.tags,
    Probe.replacement,
    Probe.forced_group,
    Probe.dhcp_options,
    Probe.default_gateway,
]


def probe(account: Account, rows: dict[str, tuple]) -> None:
    """An account for each row: what one leaves behind is not in the way of the next."""
    for row in ROWS:
        rows[row.__doc__] = row(Probe(Account.new(account.server, slow=60)))
