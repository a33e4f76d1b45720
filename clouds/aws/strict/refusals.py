"""Deletions that EC2, ELB and Auto Scaling refuse, with their codes. Every row has a proof in clouds/check."""

from __future__ import annotations

from collections.abc import Iterator

from moto.autoscaling.exceptions import AutoscalingClientError
from moto.autoscaling.responses import AutoScalingResponse
from moto.core.responses import ActionResult
from moto.ec2.exceptions import (
    DependencyViolationError,
    EC2ClientError,
    InvalidNetworkInterfaceIdError,
    InvalidVPCIdError,
)
from moto.ec2.models import EC2Backend
from moto.ec2.responses.instances import InstanceResponse
from moto.ec2.responses.key_pairs import KeyPairs
from moto.elbv2.exceptions import ELBClientError
from moto.elbv2.models import ELBv2Backend


def guard(backend: type, name: str, check) -> None:
    """Runs a check, which may raise, before a method of a backend."""
    original = getattr(backend, name)

    def guarded(self, *args, **kwargs):
        check(self, *args, **kwargs)
        return original(self, *args, **kwargs)

    setattr(backend, name, guarded)


def in_subnet(backend, subnet_id) -> Iterator:
    return (eni for eni in backend.enis.values() if eni.subnet.id == subnet_id)


def in_vpc(backend, vpc_id) -> Iterator:
    return (eni for eni in backend.enis.values() if eni.subnet.vpc_id == vpc_id)


def subnet(backend, subnet_id):
    if any(in_subnet(backend, subnet_id)):
        raise DependencyViolationError(f"The subnet '{subnet_id}' has dependencies and cannot be deleted.")


def after_subnet(backend, subnet_id):
    """AWS dissolves a deleted subnet's associations; moto keeps them, and the route table could never go."""
    for table in backend.route_tables.values():
        for key in [k for k, v in table._associations.items() if v == subnet_id]:
            table._associations.pop(key)
    for acl in backend.network_acls.values():
        for key in [k for k, v in acl._associations.items() if v.subnet_id == subnet_id]:
            acl._associations.pop(key)


def security_group(backend, name=None, group_id=None):
    group = backend.get_security_group_from_id(group_id) if group_id else backend.get_security_group_from_name(name)
    if group is None:
        return
    if group.name == "default":
        raise EC2ClientError("CannotDelete", f'the specified group: "{group.id}" name: "default" cannot be deleted by a user')
    if any(group.id in [g.id for g in eni.group_set] for eni in backend.enis.values()):
        raise DependencyViolationError(f"resource {group.id} has a dependent object")
    for other in (g for groups in backend.groups.values() for g in groups.values() if g.id != group.id):
        for rule in [*other.ingress_rules, *other.egress_rules]:
            if (rule.source_group or {}).get("GroupId") == group.id:
                raise DependencyViolationError(f"resource {group.id} has a dependent object")


def address(backend, address=None, allocation_id=None):
    for eip in backend.addresses:
        if eip.eni and (eip.allocation_id == allocation_id or (address and eip.public_ip == address)):
            raise EC2ClientError(
                "InvalidIPAddress.InUse",
                f"The address with allocation id '{eip.allocation_id}' cannot be released because it is in use.",
            )


def disassociation(backend, address=None, association_id=None):
    for eip in backend.addresses:
        if eip.eni and eip.association_id == association_id and eip.eni.requester_managed:
            raise EC2ClientError("AuthFailure", "You do not have permission to access the specified resource.")


def interface(backend, eni_id):
    eni = backend.enis.get(eni_id)
    if eni is None:
        raise InvalidNetworkInterfaceIdError(eni_id)
    if eni.instance or eni.requester_managed:
        raise EC2ClientError("InvalidParameterValue", f"Network interface '{eni_id}' is currently in use.")


def interface_detachment(backend, attachment_id):
    for eni in backend.enis.values():
        if eni.attachment_id == attachment_id and eni.requester_managed:
            raise EC2ClientError("OperationNotPermitted", "You are not allowed to manage 'ela-attach' attachments.")


def gateway_detachment(backend, internet_gateway_id, vpc_id):
    if any(eni.public_ip for eni in in_vpc(backend, vpc_id)):
        raise DependencyViolationError(
            f"Network {vpc_id} has some mapped public address(es). "
            "Please unmap those public address(es) before detaching the gateway."
        )


def route_table(backend, route_table_id):
    table = backend.route_tables.get(route_table_id)
    if table is not None and table.main_association_id:
        raise DependencyViolationError(f"The routeTable '{route_table_id}' has dependencies and cannot be deleted.")


def network_acl(backend, network_acl_id):
    acl = backend.network_acls.get(network_acl_id)
    if acl is not None and acl.default:
        raise EC2ClientError("InvalidParameterValue", f"cannot delete default network ACL {network_acl_id}")


def protected_instance(backend, instance_ids):
    for instance in backend.get_multi_instances_by_id(instance_ids):
        if str(instance.disable_api_termination).lower() == "true":
            raise EC2ClientError(
                "OperationNotPermitted",
                f"The instance '{instance.id}' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.",
            )


def dhcp_options(backend, options_id):
    if any(vpc.dhcp_options and vpc.dhcp_options.id == options_id for vpc in backend.vpcs.values()):
        raise DependencyViolationError(f"The dhcpOptions '{options_id}' has dependencies and cannot be deleted.")
    if options_id in backend.dhcp_options_sets:
        backend.dhcp_options_sets[options_id].vpc = None  # moto remembers the last VPC, deleted or not


def blockers_of_vpc(backend, vpc_id) -> Iterator[str]:
    """Everything that has to go before a VPC: all but its default security group, network ACL and main route table."""
    yield from (eni.id for eni in in_vpc(backend, vpc_id))
    yield from (s.id for zone in backend.subnets.values() for s in zone.values() if s.vpc_id == vpc_id)
    yield from (g.id for g in backend.groups[vpc_id].values() if g.name != "default")
    yield from (t.id for t in backend.route_tables.values() if t.vpc_id == vpc_id and not t.main_association_id)
    yield from (a.id for a in backend.network_acls.values() if a.vpc_id == vpc_id and not a.default)
    yield from (g.id for g in backend.internet_gateways.values() if g.vpc and g.vpc.id == vpc_id)
    yield from (g.id for g in backend.egress_only_internet_gateways.values() if g.vpc_id == vpc_id)
    yield from (n.id for n in backend.nat_gateways.values() if n.vpc_id == vpc_id and n.state not in ("deleted", "failed"))
    yield from (e.id for e in backend.vpc_end_points.values() if e.vpc_id == vpc_id and e.state != "deleted")
    yield from (
        g.id for g in backend.vpn_gateways.values() if vpc_id in g.attachments and g.attachments[vpc_id].state == "attached"
    )
    for peering in backend.vpc_pcxs.values():
        if peering._status.code == "active" and vpc_id in (peering.vpc.id, peering.peer_vpc.id):
            yield peering.id


def delete_vpc(self, vpc_id):
    if vpc_id not in self.vpcs:
        raise InvalidVPCIdError(vpc_id)
    if any(blockers_of_vpc(self, vpc_id)):
        raise DependencyViolationError(f"The vpc '{vpc_id}' has dependencies and cannot be deleted.")
    for table in [t for t in self.route_tables.values() if t.vpc_id == vpc_id]:
        self.route_tables.pop(table.id)
    for acl in [a for a in self.network_acls.values() if a.vpc_id == vpc_id]:
        self.network_acls.pop(acl.id)
    self.groups.pop(vpc_id, None)
    # moto deletes the DHCP options with the VPC; in AWS they stay behind.
    return self.vpcs.pop(vpc_id)


def delete_key_pair(self) -> ActionResult:
    """moto ignores KeyPairId, says yes, and keeps the key. AWS deletes by either, and knows no id that is not there."""
    name, key_id = self._get_param("KeyName"), self._get_param("KeyPairId")
    self.error_on_dryrun()
    if not name and not key_id:
        raise EC2ClientError("MissingParameter", "The request must contain the parameter KeyName or KeyPairId")
    if key_id:
        name = next((k.key_name for k in self.ec2_backend.key_pairs.values() if k.id == key_id), None)
        if name is None:
            raise EC2ClientError("InvalidKeyPair.NotFound", f"The key pair ID '{key_id}' does not exist")
    pair = self.ec2_backend.delete_key_pair(name)
    return ActionResult({"Return": True, "KeyPairId": pair.id if pair else None})


def protected_load_balancer(backend, arn):
    balancer = backend.load_balancers.get(arn)
    if balancer is not None and balancer.attrs.get("deletion_protection.enabled") == "true":
        raise ELBClientError(
            "OperationNotPermitted", f"Load balancer '{arn}' cannot be deleted because deletion protection is enabled"
        )


def group_with_instances(self):
    """ForceDelete is read from the request: moto's backend never learns of it."""
    name = self._get_param("AutoScalingGroupName")
    group = self.autoscaling_backend.autoscaling_groups.get(name)
    if group is not None and group.instance_states and not self._get_bool_param("ForceDelete", False):
        raise AutoscalingClientError(
            "ResourceInUse",
            "You cannot delete an AutoScalingGroup while there are instances or pending Spot instance request(s) still in the group.",
        )


def run_instances_protected(original):
    """moto ignores a protection that is asked for at the launch."""

    def run(self):
        result = original(self)
        for instance in result.result.instances:
            instance.disable_api_termination = self._get_bool_param("DisableApiTermination", False)
        return result

    return run


def install() -> None:
    InstanceResponse.run_instances = run_instances_protected(InstanceResponse.run_instances)
    delete_subnet = EC2Backend.delete_subnet

    def delete_subnet_and_associations(self, subnet_id):
        deleted = delete_subnet(self, subnet_id)
        after_subnet(self, subnet_id)
        return deleted

    EC2Backend.delete_subnet = delete_subnet_and_associations
    for name, check in [
        ("delete_subnet", subnet),
        ("delete_security_group", security_group),
        ("release_address", address),
        ("disassociate_address", disassociation),
        ("delete_network_interface", interface),
        ("detach_network_interface", interface_detachment),
        ("detach_internet_gateway", gateway_detachment),
        ("delete_route_table", route_table),
        ("delete_network_acl", network_acl),
        ("terminate_instances", protected_instance),
        ("delete_dhcp_options_set", dhcp_options),
    ]:
        guard(EC2Backend, name, check)
    EC2Backend.delete_vpc = delete_vpc
    KeyPairs.delete_key_pair = delete_key_pair
    guard(ELBv2Backend, "delete_load_balancer", protected_load_balancer)
    guard(AutoScalingResponse, "delete_auto_scaling_group", group_with_instances)
