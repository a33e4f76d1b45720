"""Says as JSON what is left in an account, seen by the official SDK alone: {"empty": false, "left": {"eu-central-1": {"disk": ["d-1"]}}}

Default VPCs with their vSwitches and system route tables are left out: every region has them.
"""

from __future__ import annotations

import json

from account import call, parser, regions

NUMBERED = {"PageSize": 50}
TOKEN = {"MaxResults": 100}
# kind: service, action, path to the list, name of the id, size of a page and other arguments
KINDS = {
    "access-control-list": ("slb", "DescribeAccessControlLists", "Acls/Acl", "AclId", NUMBERED),
    "address": ("vpc", "DescribeEipAddresses", "EipAddresses/EipAddress", "AllocationId", NUMBERED),
    "auto-provisioning-group": (
        "ecs",
        "DescribeAutoProvisioningGroups",
        "AutoProvisioningGroups/AutoProvisioningGroup",
        "AutoProvisioningGroupId",
        NUMBERED,
    ),
    "auto-snapshot-policy": (
        "ecs",
        "DescribeAutoSnapshotPolicyEx",
        "AutoSnapshotPolicies/AutoSnapshotPolicy",
        "AutoSnapshotPolicyId",
        NUMBERED,
    ),
    "bandwidth-package": (
        "vpc",
        "DescribeCommonBandwidthPackages",
        "CommonBandwidthPackages/CommonBandwidthPackage",
        "BandwidthPackageId",
        NUMBERED,
    ),
    "ca-certificate": ("slb", "DescribeCACertificates", "CACertificates/CACertificate", "CACertificateId", {}),
    "capacity-reservation": (
        "ecs",
        "DescribeCapacityReservations",
        "CapacityReservationSet/CapacityReservationItem",
        "PrivatePoolOptionsId",
        TOKEN | {"Status": "All"},
    ),
    "cipher-policy": ("slb", "ListTLSCipherPolicies", "TLSCipherPolicies", "InstanceId", {"MaxItems": 100}),
    "command": ("ecs", "DescribeCommands", "Commands/Command", "CommandId", TOKEN),
    "customer-gateway": ("vpc", "DescribeCustomerGateways", "CustomerGateways/CustomerGateway", "CustomerGatewayId", NUMBERED),
    "dedicated-host": ("ecs", "DescribeDedicatedHosts", "DedicatedHosts/DedicatedHost", "DedicatedHostId", TOKEN),
    "deployment-set": ("ecs", "DescribeDeploymentSets", "DeploymentSets/DeploymentSet", "DeploymentSetId", NUMBERED),
    "dhcp-options-set": ("vpc", "ListDhcpOptionsSets", "DhcpOptionsSets", "DhcpOptionsSetId", TOKEN),
    "disk": ("ecs", "DescribeDisks", "Disks/Disk", "DiskId", TOKEN),
    "flow-log": ("vpc", "DescribeFlowLogs", "FlowLogs/FlowLog", "FlowLogId", NUMBERED),
    "gateway-endpoint": ("vpc", "ListVpcGatewayEndpoints", "Endpoints", "EndpointId", TOKEN),
    "ha-vip": ("vpc", "DescribeHaVips", "HaVips/HaVip", "HaVipId", NUMBERED),
    "hpc-cluster": ("ecs", "DescribeHpcClusters", "HpcClusters/HpcCluster", "HpcClusterId", NUMBERED),
    "image": ("ecs", "DescribeImages", "Images/Image", "ImageId", NUMBERED | {"ImageOwnerAlias": "self", "Status": "ALL"}),
    "instance": ("ecs", "DescribeInstances", "Instances/Instance", "InstanceId", TOKEN),
    "ipsec-server": ("vpc", "ListIpsecServers", "IpsecServers", "IpsecServerId", TOKEN),
    "ipv4-gateway": ("vpc", "ListIpv4Gateways", "Ipv4GatewayModels", "Ipv4GatewayId", TOKEN),
    "ipv6-gateway": ("vpc", "DescribeIpv6Gateways", "Ipv6Gateways/Ipv6Gateway", "Ipv6GatewayId", NUMBERED),
    "key-pair": ("ecs", "DescribeKeyPairs", "KeyPairs/KeyPair", "KeyPairName", NUMBERED),
    "launch-template": ("ecs", "DescribeLaunchTemplates", "LaunchTemplateSets/LaunchTemplateSet", "LaunchTemplateId", NUMBERED),
    "load-balancer": ("slb", "DescribeLoadBalancers", "LoadBalancers/LoadBalancer", "LoadBalancerId", NUMBERED),
    "mirror-filter": ("vpc", "ListTrafficMirrorFilters", "TrafficMirrorFilters", "TrafficMirrorFilterId", TOKEN),
    "mirror-session": ("vpc", "ListTrafficMirrorSessions", "TrafficMirrorSessions", "TrafficMirrorSessionId", TOKEN),
    "nat-gateway": ("vpc", "DescribeNatGateways", "NatGateways/NatGateway", "NatGatewayId", NUMBERED),
    "network-acl": ("vpc", "DescribeNetworkAcls", "NetworkAcls/NetworkAcl", "NetworkAclId", NUMBERED),
    "network-interface": (
        "ecs",
        "DescribeNetworkInterfaces",
        "NetworkInterfaceSets/NetworkInterfaceSet",
        "NetworkInterfaceId",
        TOKEN,
    ),
    "network-load-balancer": ("nlb", "ListLoadBalancers", "LoadBalancers", "LoadBalancerId", TOKEN),
    "port-range-list": ("ecs", "DescribePortRangeLists", "PortRangeLists", "PortRangeListId", TOKEN),
    "prefix-list": ("ecs", "DescribePrefixLists", "PrefixLists/PrefixList", "PrefixListId", TOKEN),
    "route-table": ("vpc", "DescribeRouteTableList", "RouterTableList/RouterTableListType", "RouteTableId", NUMBERED),
    "router-interface": (
        "vpc",
        "DescribeRouterInterfaces",
        "RouterInterfaceSet/RouterInterfaceType",
        "RouterInterfaceId",
        NUMBERED,
    ),
    "security-group": ("ecs", "DescribeSecurityGroups", "SecurityGroups/SecurityGroup", "SecurityGroupId", TOKEN),
    "security-policy": ("nlb", "ListSecurityPolicy", "SecurityPolicies", "SecurityPolicyId", TOKEN),
    "server-certificate": (
        "slb",
        "DescribeServerCertificates",
        "ServerCertificates/ServerCertificate",
        "ServerCertificateId",
        {},
    ),
    "server-group": ("nlb", "ListServerGroups", "ServerGroups", "ServerGroupId", TOKEN),
    "snapshot": ("ecs", "DescribeSnapshots", "Snapshots/Snapshot", "SnapshotId", TOKEN),
    "snapshot-group": ("ecs", "DescribeSnapshotGroups", "SnapshotGroups/SnapshotGroup", "SnapshotGroupId", TOKEN),
    "ssl-vpn-server": ("vpc", "DescribeSslVpnServers", "SslVpnServers/SslVpnServer", "SslVpnServerId", NUMBERED),
    "stack": ("ros", "ListStacks", "Stacks", "StackId", NUMBERED),
    "vpc": ("vpc", "DescribeVpcs", "Vpcs/Vpc", "VpcId", NUMBERED),
    "vpc-prefix-list": ("vpc", "ListPrefixLists", "PrefixLists", "PrefixListId", TOKEN),
    "vpn-connection": ("vpc", "DescribeVpnConnections", "VpnConnections/VpnConnection", "VpnConnectionId", NUMBERED),
    "vpn-gateway": ("vpc", "DescribeVpnGateways", "VpnGateways/VpnGateway", "VpnGatewayId", NUMBERED),
    "vswitch": ("vpc", "DescribeVSwitches", "VSwitches/VSwitch", "VSwitchId", NUMBERED),
}


def every(region: str, service: str, action: str, path: str, arguments: dict, **more) -> list[dict]:
    """All pages."""
    found: list[dict] = []
    parameters = {"RegionId": region} | arguments | more
    if "PageSize" in arguments:
        parameters["PageNumber"] = 1
    while True:
        answer = call(service, region, action, **parameters)
        page = answer
        for key in path.split("/"):
            page = page.get(key) or {}
        found.extend(page)
        if "PageNumber" in parameters:
            if not page or len(found) >= answer["TotalCount"]:
                return found
            parameters["PageNumber"] += 1
        elif answer.get("NextToken"):
            parameters["NextToken"] = answer["NextToken"]
        else:
            return found


def of_region(region: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    default = {vpc["VpcId"] for vpc in every(region, "vpc", "DescribeVpcs", "Vpcs/Vpc", NUMBERED) if vpc["IsDefault"]}
    for kind, (service, action, path, name, arguments) in KINDS.items():
        items = every(region, service, action, path, arguments)
        given = {
            "vpc": lambda item: item["IsDefault"],
            "vswitch": lambda item: item["IsDefault"],
            "route-table": lambda item: item["RouteTableType"] == "System" and item["VpcId"] in default,
        }.get(kind, lambda item: False)
        if kind == "route-table":
            for table in items:
                routes = every(
                    region,
                    "vpc",
                    "DescribeRouteEntryList",
                    "RouteEntrys/RouteEntry",
                    {"MaxResult": 100},
                    RouteTableId=table[name],
                )
                if routes:
                    found.setdefault("route-entry", []).extend(route["RouteEntryId"] for route in routes)
        if left := [item[name] for item in items if not given(item)]:
            found[kind] = sorted(left)
    return found


def main() -> None:
    args = parser(__doc__.splitlines()[0]).parse_args()
    left = {region: of_region(region) for region in args.region or regions()}
    left = {place: kinds for place, kinds in left.items() if kinds}
    print(json.dumps({"empty": not left, "left": left}))


if __name__ == "__main__":
    main()
