"""Deletions that take their time, and the network interfaces that services own in a customer's subnets.

moto's instances and NAT gateways vanish at once, and its load balancers have no interfaces. In AWS these are what an account cleaner
waits for most of the time.
"""

from __future__ import annotations

import copy

from moto.autoscaling.models import AutoScalingBackend
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend, ec2_backends
from moto.ec2.models.elastic_network_interfaces import NetworkInterface
from moto.ec2.models.instances import Instance, InstanceState
from moto.ec2.models.nat_gateways import NatGateway
from moto.ec2.utils import random_public_ip
from moto.efs.models import EFSBackend
from moto.elb.models import ELBBackend
from moto.elbv2.models import ELBv2Backend

from .state import later, slow_of


class ServiceAttachment:
    """How a service, not an instance, holds an interface."""

    def __init__(self, eni: NetworkInterface, owner: str):
        self.attachment_id = f"ela-attach-{eni.id[4:]}"
        self.instance_owner_id = owner
        self.status = "attached"
        self.delete_on_termination = False
        self.device_index = 1


def take_over(eni: NetworkInterface, owner: str, interface_type: str, description: str, groups: list) -> None:
    """Makes an interface one that only the service that asked for it can remove."""
    eni.requester_managed = True
    eni.requester_id = owner
    eni.interface_type = interface_type
    eni.description = description
    eni.status = "in-use"
    eni._group_set = groups
    eni.service_attachment = ServiceAttachment(eni, owner)
    eni.attachment_id = eni.service_attachment.attachment_id


def remove_interfaces(backend: EC2Backend, ids: list[str]) -> None:
    for eni_id in ids:
        eni = backend.enis.pop(eni_id, None)
        for address in backend.addresses:
            if eni is not None and address.eni is eni:
                address.eni = address.instance = address.association_id = None


def instances() -> None:
    prepare, terminate = Instance.prep_nics, Instance.terminate

    def prep_nics(self, nic_spec, *args, **kwargs):
        own = {
            int(nic["DeviceIndex"])
            for nic in nic_spec
            if nic.get("NetworkInterfaceId") or nic.get("DeleteOnTermination") is False
        }
        prepare(self, nic_spec, *args, **kwargs)
        for index, eni in self.nics.items():
            eni.delete_on_termination = index not in own  # moto has False, AWS has True for what a launch creates

    def finish(self):
        if self._state.name != "shutting-down":
            return
        nics = list(self.nics.values())
        gone = [eni.id for eni in nics if eni.delete_on_termination]
        for eni in nics:
            eni.delete_on_termination = False  # or moto would delete it as a customer does, and be refused
        terminate(self)
        remove_interfaces(self.ec2_backend, gone)
        for eni in nics:
            if eni.id not in gone:
                self.detach_eni(eni)
        self.nics = {index: eni for index, eni in self.nics.items() if eni.id not in gone}

    def slow_terminate(self):
        before = copy.copy(self._state)
        if before.name not in ("shutting-down", "terminated"):
            self._state = InstanceState("shutting-down", 32)
            later(slow_of(self.owner_id).instance, lambda: finish(self))
        return before

    Instance.prep_nics = prep_nics
    Instance.terminate = slow_terminate
    # A terminated instance stays in the list for an hour, and has no interface any more.
    for name in ("private_ip", "private_ip_address", "public_ip", "public_ip_address"):
        original = getattr(Instance, name).fget
        setattr(Instance, name, property(lambda self, original=original: original(self) if self.nics else None))
    dns = Instance.private_dns_name.fget
    Instance.private_dns_name = property(lambda self: dns(self) if self.nics else "")


def nat_gateways() -> None:
    create = NatGateway.__init__

    def init(self, backend, *args, **kwargs):
        create(self, backend, *args, **kwargs)
        take_over(self._eni, "amazon-aws", "nat_gateway", f"Interface for NAT Gateway {self.id}", [])

    def delete(self, nat_gateway_id):
        nat = self.nat_gateways.get(nat_gateway_id)
        if nat is None:
            raise EC2ClientError("NatGatewayNotFound", f"NAT gateway {nat_gateway_id} was not found")

        def finish():
            nat.state = "deleted"
            remove_interfaces(self, [nat._eni.id])

        if nat.state == "available":
            nat.state = "deleting"
            later(slow_of(self.account_id).nat_gateway, finish)
        return nat

    NatGateway.__init__ = init
    EC2Backend.delete_nat_gateway = delete


def vpc_endpoints() -> None:
    create, delete = EC2Backend.create_vpc_endpoint, EC2Backend.delete_vpc_endpoints

    def create_endpoint(self, *args, endpoint_type=None, security_group_ids=None, **kwargs):
        # Without a type moto answers 500 when the endpoint is deleted.
        endpoint = create(self, *args, endpoint_type=endpoint_type or "Gateway", security_group_ids=security_group_ids, **kwargs)
        groups = [self.get_security_group_from_id(group) for group in security_group_ids or []]
        for eni_id in endpoint.network_interface_ids:
            take_over(self.enis[eni_id], "amazon-aws", "vpc_endpoint", f"VPC Endpoint Interface {endpoint.id}", groups)
        return endpoint

    def delete_endpoints(self, vpce_ids=None):
        for endpoint in [self.vpc_end_points[i] for i in vpce_ids or [] if i in self.vpc_end_points]:
            if endpoint.state == "deleting":
                continue
            endpoint.state = "deleting"

            def finish(endpoint=endpoint):
                # A route table may go before the endpoint is gone; moto then fails to take the route out.
                endpoint.route_table_ids = [i for i in endpoint.route_table_ids or [] if i in self.route_tables]
                delete(self, [endpoint.id])
                self.vpc_end_points.pop(endpoint.id, None)  # moto lists it for ever

            later(slow_of(self.account_id).vpc_endpoint, finish)

    EC2Backend.create_vpc_endpoint = create_endpoint
    EC2Backend.delete_vpc_endpoints = delete_endpoints


def balancer_interfaces(backend, subnets, groups: list[str], description: str, interface_type: str, public: bool) -> list[str]:
    ec2 = ec2_backends[backend.account_id][backend.region_name]
    made = []
    for subnet in subnets:
        eni = ec2.create_network_interface(subnet, None)
        take_over(eni, "amazon-elb", interface_type, description, [ec2.get_security_group_from_id(g) for g in groups or []])
        if public:
            eni.public_ip = random_public_ip()
        made.append(eni.id)
    return made


def linger(backend, balancer) -> None:
    ec2 = ec2_backends[backend.account_id][backend.region_name]
    ids = getattr(balancer, "interfaces", [])
    later(slow_of(backend.account_id).load_balancer_interface, lambda: remove_interfaces(ec2, ids))


def load_balancers() -> None:
    create, delete = ELBBackend.create_load_balancer, ELBBackend.delete_load_balancer
    create2, delete2 = ELBv2Backend.create_load_balancer, ELBv2Backend.delete_load_balancer

    def create_classic(self, name, *args, **kwargs):
        made = create(self, name, *args, **kwargs)
        public = made.scheme != "internal"
        made.interfaces = balancer_interfaces(self, made.subnets, made.security_groups, f"ELB {name}", "interface", public)
        return made

    def delete_classic(self, load_balancer_name):
        balancer = self.load_balancers.get(load_balancer_name)
        delete(self, load_balancer_name)
        linger(self, balancer)

    def create_second(self, *args, **kwargs):
        made = create2(self, *args, **kwargs)
        kind, letter = ("network_load_balancer", "net") if made.type == "network" else ("interface", "app")
        description = f"ELB {letter}/{made.name}/{made.arn.rsplit('/', 1)[-1]}"
        public = made.scheme != "internal"
        made.interfaces = balancer_interfaces(self, [s.id for s in made.subnets], made.security_groups, description, kind, public)
        return made

    def delete_second(self, arn):
        balancer = self.load_balancers.get(arn)
        delete2(self, arn)
        if balancer is not None and arn not in self.load_balancers:
            linger(self, balancer)

    ELBBackend.create_load_balancer, ELBBackend.delete_load_balancer = create_classic, delete_classic
    ELBv2Backend.create_load_balancer, ELBv2Backend.delete_load_balancer = create_second, delete_second


def auto_scaling_groups() -> None:
    delete = AutoScalingBackend.delete_auto_scaling_group

    def slow_delete(self, group_name):
        group = self.autoscaling_groups.get(group_name)
        if group is None:
            return delete(self, group_name)  # moto's own refusal
        if getattr(group, "status", None) == "Delete in progress":
            return None
        group.status = "Delete in progress"
        group.min_size = 0
        self.set_desired_capacity(group_name, 0)

        def finish():
            if self.autoscaling_groups.get(group_name) is group:
                delete(self, group_name)

        later(slow_of(self.account_id).auto_scaling_group, finish)
        return None

    AutoScalingBackend.delete_auto_scaling_group = slow_delete


def mount_targets() -> None:
    create, delete = EFSBackend.create_mount_target, EFSBackend.delete_mount_target

    def create_target(self, *args, **kwargs):
        target = create(self, *args, **kwargs)
        eni = self.ec2_backend.enis[target.network_interface_id]
        take_over(eni, "amazon-efs", "efs", f"EFS mount target for {target.file_system_id}", eni._group_set)
        return target

    def delete_target(self, mount_target_id):
        target = self.mount_targets_by_id.get(mount_target_id)
        if target is not None:
            target.life_cycle_state = "deleting"
            eni = self.ec2_backend.enis.get(target.network_interface_id)

            def finish():
                if mount_target_id in self.mount_targets_by_id:
                    eni.requester_managed = False
                    delete(self, mount_target_id)

            return later(slow_of(self.account_id).mount_target, finish)
        return delete(self, mount_target_id)

    EFSBackend.create_mount_target, EFSBackend.delete_mount_target = create_target, delete_target


def default_network() -> None:
    """A region's default VPC has an internet gateway, and every VPC has DHCP options; moto has neither."""
    create, create_vpc = EC2Backend.__init__, EC2Backend.create_vpc

    def init(self, *args, **kwargs):
        self.default_dhcp_options = None
        create(self, *args, **kwargs)
        self.default_dhcp_options = self.create_dhcp_options(
            domain_name=[f"{self.region_name}.compute.internal"], domain_name_servers=["AmazonProvidedDNS"]
        )
        self.default_vpc.dhcp_options = self.default_dhcp_options
        self.attach_internet_gateway(self.create_internet_gateway().id, self.default_vpc.id)

    def create_with_options(self, *args, **kwargs):
        vpc = create_vpc(self, *args, **kwargs)
        vpc.dhcp_options = self.default_dhcp_options
        return vpc

    EC2Backend.__init__, EC2Backend.create_vpc = init, create_with_options


def tags() -> None:
    """moto remembers the tags of what was deleted, and DescribeTags would never be empty again."""
    describe = EC2Backend.describe_tags

    def of_what_exists(self, *args, **kwargs):
        there = existing_ids(self)
        return [tag for tag in describe(self, *args, **kwargs) if tag["resource_id"] in there]

    EC2Backend.describe_tags = of_what_exists


def existing_ids(backend: EC2Backend) -> set[str]:
    """The ids of everything that an EC2 backend holds, whatever its kind."""
    found = set()
    for held in vars(backend).values():
        for item in held.values() if isinstance(held, dict) else held if isinstance(held, list) else []:
            for each in item.values() if isinstance(item, dict) else getattr(item, "instances", [item]):
                found.update(i for i in (getattr(each, "id", None), getattr(each, "allocation_id", None)) if isinstance(i, str))
    return found


def install() -> None:
    attachment = NetworkInterface.attachment.fget
    NetworkInterface.attachment = property(lambda self: getattr(self, "service_attachment", None) or attachment(self))
    for part in (
        instances,
        nat_gateways,
        vpc_endpoints,
        load_balancers,
        auto_scaling_groups,
        mount_targets,
        default_network,
        tags,
    ):
        part()
