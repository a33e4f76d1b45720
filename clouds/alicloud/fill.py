"""Fills regions with what a force-deleted Shoot and its workloads leave behind, through the official SDK. Prints what it made as JSON."""

from __future__ import annotations

import json

from account import call, parser, regions


class Filler:
    """One region. Names and tags are those that Gardener and the cloud's controllers set."""

    def __init__(self, region: str, shoot: str):
        self.region, self.shoot = region, shoot
        self.tags = [{"Key": f"kubernetes.io/cluster/{shoot}", "Value": "1"}, {"Key": "Name", "Value": shoot}]
        self.made: dict[str, list[str]] = {}

    def call(self, service: str, action: str, **parameters) -> dict:
        return call(service, self.region, action, RegionId=self.region, **parameters)

    def make(self, kind: str, service: str, action: str, field: str, **parameters) -> str:
        made = self.call(service, action, **parameters)[field]
        self.made.setdefault(kind, []).append(made)
        return made

    def network(self) -> None:
        """The infrastructure flow: VPC, vSwitches, route table, gateways, addresses, entries, routes."""
        name, tags = self.shoot, self.tags
        answer = self.call("vpc", "CreateVpc", CidrBlock="10.250.0.0/16", VpcName=f"{name}-vpc", Tag=tags)
        self.vpc, system = answer["VpcId"], answer["RouteTableId"]
        self.made["vpc"] = [self.vpc]
        self.vswitches = [
            self.make(
                "vswitch",
                "vpc",
                "CreateVSwitch",
                "VSwitchId",
                VpcId=self.vpc,
                CidrBlock=f"10.250.{number}.0/24",
                ZoneId=f"{self.region}-{zone}",
                VSwitchName=f"{name}-nodes-z{number}",
                Tag=tags,
            )
            for number, zone in enumerate("ab")
        ]
        self.table = self.make(
            "route-table", "vpc", "CreateRouteTable", "RouteTableId", VpcId=self.vpc, RouteTableName=name, Tag=tags
        )
        self.call("vpc", "AssociateRouteTable", RouteTableId=self.table, VSwitchId=self.vswitches[1])
        ipv6 = self.make("ipv6-gateway", "vpc", "CreateIpv6Gateway", "Ipv6GatewayId", VpcId=self.vpc, Name=name, Tag=tags)
        self.make("ipv4-gateway", "vpc", "CreateIpv4Gateway", "Ipv4GatewayId", VpcId=self.vpc, Ipv4GatewayName=name, Tag=tags)
        nat = self.call(
            "vpc", "CreateNatGateway", VpcId=self.vpc, VSwitchId=self.vswitches[0], NatType="Enhanced", Name=name, Tag=tags
        )
        self.nat = nat["NatGatewayId"]
        self.made["nat-gateway"] = [self.nat]
        answer = self.call("vpc", "AllocateEipAddress", Name=f"{name}-eip-natgw-z0", Tag=tags)
        self.made["address"] = [answer["AllocationId"]]
        self.call("vpc", "AssociateEipAddress", AllocationId=answer["AllocationId"], InstanceId=self.nat, InstanceType="Nat")
        ip = answer["EipAddress"]
        for number, vswitch in enumerate(self.vswitches):
            table = nat["SnatTableIds"]["SnatTableId"][0]
            self.make(
                "snat-entry",
                "vpc",
                "CreateSnatEntry",
                "SnatEntryId",
                SnatTableId=table,
                SourceVSwitchId=vswitch,
                SnatIp=ip,
                SnatEntryName=f"{name}-z{number}",
            )
        self.make(
            "forward-entry",
            "vpc",
            "CreateForwardEntry",
            "ForwardEntryId",
            ForwardTableId=nat["ForwardTableIds"]["ForwardTableId"][0],
            ExternalIp=ip,
            ExternalPort="80",
            InternalIp="10.250.0.9",
            InternalPort="80",
            IpProtocol="tcp",
        )
        self.route(system, "0.0.0.0/0", self.nat, "NatGateway")
        self.route(self.table, "::/0", ipv6, "IPv6Gateway")
        self.system = system

    def route(self, table: str, to: str, hop: str, kind: str) -> None:
        self.make(
            "route-entry",
            "vpc",
            "CreateRouteEntry",
            "RouteEntryId",
            RouteTableId=table,
            DestinationCidrBlock=to,
            NextHopId=hop,
            NextHopType=kind,
        )

    def more_network(self) -> None:
        """What users add to a network."""
        acl = self.make("network-acl", "vpc", "CreateNetworkAcl", "NetworkAclId", VpcId=self.vpc, NetworkAclName="acl")
        member = {"ResourceId": self.vswitches[0], "ResourceType": "VSwitch"}
        self.call("vpc", "AssociateNetworkAcl", NetworkAclId=acl, Resource=[member])
        self.make("ha-vip", "vpc", "CreateHaVip", "HaVipId", VSwitchId=self.vswitches[0], Name="vip")
        endpoint = self.make(
            "gateway-endpoint",
            "vpc",
            "CreateVpcGatewayEndpoint",
            "EndpointId",
            VpcId=self.vpc,
            ServiceName=f"com.aliyun.{self.region}.oss",
            EndpointName="oss",
        )
        self.call("vpc", "AssociateRouteTablesWithVpcGatewayEndpoint", EndpointId=endpoint, RouteTableIds=[self.table])
        options = self.make(
            "dhcp-options-set",
            "vpc",
            "CreateDhcpOptionsSet",
            "DhcpOptionsSetId",
            DhcpOptionsSetName="dhcp",
            DomainName="example.com",
        )
        self.call("vpc", "AttachDhcpOptionsSetToVpc", DhcpOptionsSetId=options, VpcId=self.vpc)
        self.make(
            "flow-log",
            "vpc",
            "CreateFlowLog",
            "FlowLogId",
            FlowLogName="flow",
            ResourceId=self.vpc,
            ResourceType="VPC",
            TrafficType="All",
            ProjectName="p",
            LogStoreName="l",
        )
        mirror = self.make(
            "mirror-filter", "vpc", "CreateTrafficMirrorFilter", "TrafficMirrorFilterId", TrafficMirrorFilterName="filter"
        )
        self.make(
            "mirror-session",
            "vpc",
            "CreateTrafficMirrorSession",
            "TrafficMirrorSessionId",
            TrafficMirrorFilterId=mirror,
            TrafficMirrorSessionName="session",
            Priority=1,
            TrafficMirrorTargetId="eni-x",
            TrafficMirrorTargetType="NetworkInterface",
        )
        package = self.make(
            "bandwidth-package", "vpc", "CreateCommonBandwidthPackage", "BandwidthPackageId", Name="shared", Bandwidth=100
        )
        address = self.make("address", "vpc", "AllocateEipAddress", "AllocationId", Name="user")
        self.call("vpc", "AddCommonBandwidthPackageIp", BandwidthPackageId=package, IpInstanceId=address)
        self.make("vpc-prefix-list", "vpc", "CreateVpcPrefixList", "PrefixListId", PrefixListName="prefixes")
        self.make(
            "router-interface",
            "vpc",
            "CreateRouterInterface",
            "RouterInterfaceId",
            Name="interface",
            RouterId="vrt-of-vpc",
            RouterType="VRouter",
            Role="InitiatingSide",
            Spec="Small.1",
            OppositeRegionId=self.region,
        )
        private = self.call(
            "vpc", "CreateNatGateway", VpcId=self.vpc, VSwitchId=self.vswitches[1], NatType="Enhanced", NetworkType="intranet"
        )
        self.made["nat-gateway"].append(private["NatGatewayId"])
        self.make(
            "full-nat-entry",
            "vpc",
            "CreateFullNatEntry",
            "FullNatEntryId",
            FullNatTableId=private["FullNatTableIds"]["FullNatTableId"][0],
            FullNatEntryName="full",
            NatIp="10.250.1.9",
            NatIpPort="80",
            AccessIp="10.0.0.1",
            AccessPort="80",
            IpProtocol="TCP",
            NetworkInterfaceId="eni-x",
        )

    def vpn(self) -> None:
        gateway = self.make(
            "vpn-gateway",
            "vpc",
            "CreateVpnGateway",
            "VpnGatewayId",
            VpcId=self.vpc,
            VSwitchId=self.vswitches[0],
            Name="vpn",
            Bandwidth=10,
            InstanceChargeType="POSTPAY",
        )
        customer = self.make(
            "customer-gateway", "vpc", "CreateCustomerGateway", "CustomerGatewayId", IpAddress="192.0.2.1", Name="them"
        )
        self.make(
            "vpn-connection",
            "vpc",
            "CreateVpnConnection",
            "VpnConnectionId",
            VpnGatewayId=gateway,
            CustomerGatewayId=customer,
            LocalSubnet="10.250.0.0/16",
            RemoteSubnet="10.0.0.0/16",
        )
        server = {"VpnGatewayId": gateway, "LocalSubnet": "10.250.0.0/16", "ClientIpPool": "10.9.0.0/24"}
        self.make("ssl-vpn-server", "vpc", "CreateSslVpnServer", "SslVpnServerId", Name="ssl", **server)
        self.make("ipsec-server", "vpc", "CreateIpsecServer", "IpsecServerId", IpSecServerName="ipsec", **server)

    def security_groups(self) -> None:
        """Nodes and users refer to each other."""
        self.groups = [
            self.make(
                "security-group",
                "ecs",
                "CreateSecurityGroup",
                "SecurityGroupId",
                VpcId=self.vpc,
                SecurityGroupName=name,
                Tag=self.tags,
            )
            for name in (f"{self.shoot}-sg", "users")
        ]
        nodes, users = self.groups
        rule = {"IpProtocol": "tcp", "PortRange": "1/65535"}
        for group, other in ((nodes, nodes), (nodes, users), (users, nodes)):
            self.call("ecs", "AuthorizeSecurityGroup", SecurityGroupId=group, Permissions=[rule | {"SourceGroupId": other}])
        self.call("ecs", "AuthorizeSecurityGroup", SecurityGroupId=nodes, Permissions=[rule | {"SourceCidrIp": "0.0.0.0/0"}])
        self.call("ecs", "AuthorizeSecurityGroupEgress", SecurityGroupId=users, Permissions=[rule | {"DestGroupId": nodes}])

    def machines(self, protect: bool, prepaid: bool) -> None:
        """Nodes by machine-controller-manager and by a group, an image that a user took, a second interface."""
        key = f"{self.shoot}-ssh-publickey"
        self.make("key-pair", "ecs", "ImportKeyPair", "KeyPairName", KeyPairName=key, PublicKeyBody="ssh-rsa AAAA")
        spread = self.make("deployment-set", "ecs", "CreateDeploymentSet", "DeploymentSetId", DeploymentSetName="spread")
        where = {
            "VSwitchId": self.vswitches[0],
            "SecurityGroupId": self.groups[0],
            "InstanceType": "ecs.g7.large",
            "ImageId": "m-x",
        }
        nodes = self.call(
            "ecs",
            "RunInstances",
            Amount=2,
            InstanceName=f"{self.shoot}-node",
            KeyPairName=key,
            DeploymentSetId=spread,
            DeletionProtection=protect,
            DataDisk=[{"Size": 20, "DeleteWithInstance": True}, {"Size": 20, "DeleteWithInstance": False}],
            Tag=self.tags,
            **where,
        )["InstanceIdSets"]["InstanceIdSet"]
        self.made["instance"] = self.instances = nodes
        if prepaid:
            bought = self.call("ecs", "RunInstances", InstanceChargeType="PrePaid", InstanceName="bought", Tag=self.tags, **where)
            self.made["prepaid"] = bought["InstanceIdSets"]["InstanceIdSet"]
        self.route(self.table, "100.64.0.0/26", nodes[0], "Instance")
        self.make("launch-template", "ecs", "CreateLaunchTemplate", "LaunchTemplateId", LaunchTemplateName="template")
        self.make(
            "auto-provisioning-group",
            "ecs",
            "CreateAutoProvisioningGroup",
            "AutoProvisioningGroupId",
            AutoProvisioningGroupName="group",
            TotalTargetCapacity="1",
            LaunchConfiguration={"SecurityGroupId": self.groups[1], "ImageId": "m-x"},
            LaunchTemplateConfig=[{"VSwitchId": self.vswitches[1], "InstanceType": "ecs.g7.large"}],
        )
        for attach in (False, True):
            interface = self.make(
                "network-interface",
                "ecs",
                "CreateNetworkInterface",
                "NetworkInterfaceId",
                VSwitchId=self.vswitches[1],
                SecurityGroupId=self.groups[1],
                NetworkInterfaceName=self.shoot,
            )
            if attach:
                self.call("ecs", "AttachNetworkInterface", NetworkInterfaceId=interface, InstanceId=nodes[0])
        self.make(
            "command", "ecs", "CreateCommand", "CommandId", Name="command", Type="RunShellScript", CommandContent="ZWNobw=="
        )
        self.make("hpc-cluster", "ecs", "CreateHpcCluster", "HpcClusterId", Name="hpc")
        self.make(
            "capacity-reservation",
            "ecs",
            "CreateCapacityReservation",
            "PrivatePoolOptionsId",
            InstanceAmount=1,
            InstanceType="ecs.g7.large",
            PrivatePoolOptions={"Name": "reserved"},
            ZoneId=[f"{self.region}-a"],
        )
        hosts = self.call(
            "ecs", "AllocateDedicatedHosts", DedicatedHostType="ddh.g7", DedicatedHostName="host", ChargeType="PostPaid"
        )
        self.made["dedicated-host"] = hosts["DedicatedHostIdSets"]["DedicatedHostId"]
        self.make(
            "prefix-list", "ecs", "CreatePrefixList", "PrefixListId", PrefixListName="list", MaxEntries=1, AddressFamily="IPv4"
        )
        self.make("port-range-list", "ecs", "CreatePortRangeList", "PortRangeListId", PortRangeListName="ports", MaxEntries=1)

    def storage(self, disks: int) -> None:
        """Persistent volumes: one attached, one with a snapshot, and as many as were asked for."""
        made = [
            self.make(
                "disk",
                "ecs",
                "CreateDisk",
                "DiskId",
                ZoneId=f"{self.region}-a",
                Size=20,
                DiskName=f"d-pv-{number}",
                Tag=self.tags,
            )
            for number in range(max(2, disks))
        ]
        call("ecs", self.region, "AttachDisk", DiskId=made[0], InstanceId=self.instances[0])
        parameters = {"DiskId": made[1], "SnapshotName": "snapshot"}
        snapshot = call("ecs", self.region, "CreateSnapshot", **parameters)["SnapshotId"]
        self.made["snapshot"] = [snapshot]
        self.make("image", "ecs", "CreateImage", "ImageId", ImageName="image", SnapshotId=snapshot)
        self.make("snapshot-group", "ecs", "CreateSnapshotGroup", "SnapshotGroupId", InstanceId=self.instances[1], Name="both")
        policy = {"regionId": self.region, "timePoints": '["1"]', "repeatWeekdays": '["1"]', "retentionDays": 7}
        answer = call("ecs", self.region, "CreateAutoSnapshotPolicy", autoSnapshotPolicyName="nightly", **policy)
        self.made["auto-snapshot-policy"] = [answer["AutoSnapshotPolicyId"]]
        self.make("stack", "ros", "CreateStack", "StackId", StackName="encrypt-image", DeletionProtection="Enabled")

    def load_balancers(self, protect: bool) -> None:
        """As the cloud controller makes them: protected, with tags."""
        tags = [{"Key": "kubernetes.do.not.delete", "Value": "a1b2c3"}, {"Key": "ack.aliyun.com", "Value": self.shoot}]
        protection = {"DeleteProtection": "on", "ModificationProtectionStatus": "ConsoleProtection"} if protect else {}
        self.make(
            "load-balancer",
            "slb",
            "CreateLoadBalancer",
            "LoadBalancerId",
            VpcId=self.vpc,
            VSwitchId=self.vswitches[0],
            LoadBalancerName="a1b2c3",
            AddressType="intranet",
            Tag=tags,
            **protection,
        )
        self.make("access-control-list", "slb", "CreateAccessControlList", "AclId", AclName="acl")
        self.make("server-certificate", "slb", "UploadServerCertificate", "ServerCertificateId", ServerCertificateName="tls")
        self.make("ca-certificate", "slb", "UploadCACertificate", "CACertificateId", CACertificateName="ca")
        self.make(
            "cipher-policy",
            "slb",
            "CreateTLSCipherPolicy",
            "TLSCipherPolicyId",
            Name="tls",
            Ciphers=["AES128-SHA"],
            TLSVersions=["TLSv1.2"],
        )
        protection = (
            {
                "DeletionProtectionConfig": {"Enabled": True, "Reason": "k8s"},
                "ModificationProtectionConfig": {"Status": "ConsoleProtection", "Reason": "k8s"},
            }
            if protect
            else {}
        )
        zones = [
            {"VSwitchId": vswitch, "ZoneId": f"{self.region}-{zone}"} for vswitch, zone in zip(self.vswitches, "ab", strict=True)
        ]
        balancer = self.make(
            "network-load-balancer",
            "nlb",
            "CreateLoadBalancer",
            "LoadbalancerId",
            VpcId=self.vpc,
            LoadBalancerName="d4e5f6",
            AddressType="Internet",
            ZoneMappings=zones,
            Tag=tags,
            **protection,
        )
        address = self.make("address", "vpc", "AllocateEipAddress", "AllocationId", Name="of-nlb")
        self.call("vpc", "AssociateEipAddress", AllocationId=address, InstanceId=balancer, InstanceType="NlbInstance")
        self.make("server-group", "nlb", "CreateServerGroup", "ServerGroupId", VpcId=self.vpc, ServerGroupName="k8s.80", Tag=tags)
        self.make(
            "security-policy",
            "nlb",
            "CreateSecurityPolicy",
            "SecurityPolicyId",
            SecurityPolicyName="tls",
            TlsVersions=["TLSv1.2"],
            Ciphers=["A"],
        )

    def protect(self) -> None:
        """The protections of the console that are not part of a creation."""
        for kind, ids in (
            ("NATGW", self.made["nat-gateway"]),
            ("EIP", self.made["address"]),
            ("CBWP", self.made["bandwidth-package"]),
        ):
            for made in ids:
                self.call("vpc", "DeletionProtection", InstanceId=made, Type=kind, ProtectionEnable=True)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--shoot", default="shoot--p--c", help="technical ID")
    options.add_argument("--disks", type=int, default=4)
    options.add_argument("--protect", action="store_true", help="deletion and modification protection on")
    options.add_argument("--prepaid", action="store_true", help="an instance that is paid in advance, which cannot be deleted")
    args = options.parse_args()
    made = {}
    for region in args.region or regions():
        filler = Filler(region, args.shoot)
        filler.network()
        filler.security_groups()
        filler.machines(args.protect, args.prepaid)
        filler.storage(args.disks)
        filler.load_balancers(args.protect)
        filler.more_network()
        filler.vpn()
        if args.protect:
            filler.protect()
        made[region] = filler.made
    print(json.dumps(made))


if __name__ == "__main__":
    main()
