"""A cleaner without any finesse, for clouds/check: it tries to delete everything, again and again, until a pass finds nothing.

It shows that what the test cloud refuses can be cleaned after all, with Gardener's rights alone.
"""

from __future__ import annotations

import time

from botocore.exceptions import ClientError

# A pass takes a second or so, and the longest chain (instance, interface, subnet, VPC, DHCP options) needs about eight.
MOST_PASSES = 60


class Sweep:
    def __init__(self, client, region: str):
        self.region = region
        self.ec2, self.elb, self.v2, self.scaling = (client(s, region) for s in ("ec2", "elb", "elbv2", "autoscaling"))
        self.tried = 0

    def every(self, client, operation: str, key: str, **arguments) -> list[dict]:
        if not client.can_paginate(operation):
            return getattr(client, operation)(**arguments)[key]
        return [item for page in client.get_paginator(operation).paginate(**arguments) for item in page[key]]

    def attempt(self, call, **arguments) -> None:
        """A refusal only postpones: the next pass tries again."""
        self.tried += 1
        try:
            call(**arguments)
        except ClientError:
            pass

    def compute(self) -> None:
        for group in self.every(self.scaling, "describe_auto_scaling_groups", "AutoScalingGroups"):
            self.attempt(
                self.scaling.delete_auto_scaling_group, AutoScalingGroupName=group["AutoScalingGroupName"], ForceDelete=True
            )
        for balancer in self.every(self.elb, "describe_load_balancers", "LoadBalancerDescriptions"):
            self.attempt(self.elb.delete_load_balancer, LoadBalancerName=balancer["LoadBalancerName"])
        for balancer in self.every(self.v2, "describe_load_balancers", "LoadBalancers"):
            arn = balancer["LoadBalancerArn"]
            off = [{"Key": "deletion_protection.enabled", "Value": "false"}]
            self.attempt(self.v2.modify_load_balancer_attributes, LoadBalancerArn=arn, Attributes=off)
            self.attempt(self.v2.delete_load_balancer, LoadBalancerArn=arn)
        for group in self.every(self.v2, "describe_target_groups", "TargetGroups"):
            self.attempt(self.v2.delete_target_group, TargetGroupArn=group["TargetGroupArn"])
        for reservation in self.every(self.ec2, "describe_instances", "Reservations"):
            for node in reservation["Instances"]:
                if node["State"]["Name"] == "running":
                    self.attempt(
                        self.ec2.modify_instance_attribute, InstanceId=node["InstanceId"], DisableApiTermination={"Value": False}
                    )
                    self.attempt(self.ec2.terminate_instances, InstanceIds=[node["InstanceId"]])
                elif node["State"]["Name"] != "terminated":
                    self.tried += 1

    def storage(self) -> None:
        simple = (
            ("describe_launch_templates", "LaunchTemplates", "delete_launch_template", "LaunchTemplateId", {}),
            ("describe_images", "Images", "deregister_image", "ImageId", {"Owners": ["self"]}),
            ("describe_snapshots", "Snapshots", "delete_snapshot", "SnapshotId", {"OwnerIds": ["self"]}),
            ("describe_volumes", "Volumes", "delete_volume", "VolumeId", {}),
            ("describe_key_pairs", "KeyPairs", "delete_key_pair", "KeyPairId", {}),
        )
        self.simple(simple)

    def simple(self, rows) -> None:
        for operation, key, delete, name, arguments in rows:
            for item in self.every(self.ec2, operation, key, **arguments):
                self.attempt(getattr(self.ec2, delete), **{name: item[name]})

    def network(self) -> None:
        ec2 = self.ec2
        vpcs = self.every(ec2, "describe_vpcs", "Vpcs")
        default = next(vpc for vpc in vpcs if vpc["IsDefault"])
        for nat in self.every(ec2, "describe_nat_gateways", "NatGateways"):
            if nat["State"] not in ("deleted", "failed"):
                self.attempt(ec2.delete_nat_gateway, NatGatewayId=nat["NatGatewayId"])
        for endpoint in self.every(ec2, "describe_vpc_endpoints", "VpcEndpoints"):
            self.attempt(ec2.delete_vpc_endpoints, VpcEndpointIds=[endpoint["VpcEndpointId"]])
        for address in self.every(ec2, "describe_addresses", "Addresses"):
            self.attempt(ec2.release_address, AllocationId=address["AllocationId"])
        for interface in self.every(ec2, "describe_network_interfaces", "NetworkInterfaces"):
            self.attempt(ec2.delete_network_interface, NetworkInterfaceId=interface["NetworkInterfaceId"])
        groups = [g for g in self.every(ec2, "describe_security_groups", "SecurityGroups") if g["VpcId"] != default["VpcId"]]
        for group in groups:
            for rules, revoke in (
                (group["IpPermissions"], ec2.revoke_security_group_ingress),
                (group["IpPermissionsEgress"], ec2.revoke_security_group_egress),
            ):
                if rules and any(rule["UserIdGroupPairs"] for rule in rules):
                    self.attempt(revoke, GroupId=group["GroupId"], IpPermissions=rules)
        for group in groups:
            if group["GroupName"] != "default":
                self.attempt(ec2.delete_security_group, GroupId=group["GroupId"])
        for gateway in self.every(ec2, "describe_internet_gateways", "InternetGateways"):
            if any(a["VpcId"] == default["VpcId"] for a in gateway["Attachments"]):
                continue
            for attachment in gateway["Attachments"]:
                self.attempt(
                    ec2.detach_internet_gateway, InternetGatewayId=gateway["InternetGatewayId"], VpcId=attachment["VpcId"]
                )
            self.attempt(ec2.delete_internet_gateway, InternetGatewayId=gateway["InternetGatewayId"])
        self.simple(
            (
                (
                    "describe_egress_only_internet_gateways",
                    "EgressOnlyInternetGateways",
                    "delete_egress_only_internet_gateway",
                    "EgressOnlyInternetGatewayId",
                    {},
                ),
            )
        )
        for kind, key, delete, name, keep in (
            ("describe_subnets", "Subnets", ec2.delete_subnet, "SubnetId", lambda s: s["VpcId"] == default["VpcId"]),
            (
                "describe_route_tables",
                "RouteTables",
                ec2.delete_route_table,
                "RouteTableId",
                lambda t: any(a.get("Main") for a in t["Associations"]),
            ),
            ("describe_network_acls", "NetworkAcls", ec2.delete_network_acl, "NetworkAclId", lambda a: a["IsDefault"]),
            ("describe_vpcs", "Vpcs", ec2.delete_vpc, "VpcId", lambda v: v["IsDefault"]),
            (
                "describe_dhcp_options",
                "DhcpOptions",
                ec2.delete_dhcp_options,
                "DhcpOptionsId",
                lambda o: o["DhcpOptionsId"] == default["DhcpOptionsId"],
            ),
        ):
            for item in self.every(ec2, kind, key):
                if not keep(item):
                    self.attempt(delete, **{name: item[name]})


def sweep_iam(iam, shoot: str) -> None:
    """Roles and profiles by name: Gardener's rights do not allow to list them."""
    name = f"{shoot}-nodes"
    for call, arguments in (
        (iam.remove_role_from_instance_profile, {"InstanceProfileName": name, "RoleName": name}),
        (iam.delete_instance_profile, {"InstanceProfileName": name}),
        (iam.delete_role_policy, {"RoleName": name, "PolicyName": name}),
        (iam.delete_role, {"RoleName": name}),
    ):
        try:
            call(**arguments)
        except iam.exceptions.NoSuchEntityException:
            pass


def sweep(client, region: str, shoot: str) -> int:
    """How many passes it took."""
    sweep_iam(client("iam", region), shoot)
    for number in range(1, MOST_PASSES + 1):
        one = Sweep(client, region)
        one.compute()
        one.storage()
        one.network()
        if not one.tried:
            return number
        time.sleep(0.1)
    raise SystemExit(f"{region} is not empty after {MOST_PASSES} passes")
