"""Items that come into being while a cleaner thinks it is done: left by a controller that still runs, or by a late deletion."""

from __future__ import annotations

import fnmatch

from moto.ec2.models import ec2_backends
from moto.iam.models import iam_backends

from .state import Account, Call, later


def volume(ec2, tags):
    made = ec2.create_volume(size=1, zone_name=f"{ec2.region_name}a")
    made.add_tags(tags)
    return made.id


def snapshot(ec2, tags):
    source = ec2.create_volume(size=1, zone_name=f"{ec2.region_name}a")
    made = ec2.create_snapshot(source.id, "appeared")
    made.add_tags(tags)
    ec2.delete_volume(source.id)
    return made.id


def security_group(ec2, tags):
    name = f"appeared-{len(ec2.groups[ec2.default_vpc.id])}"
    return ec2.create_security_group(name, "appeared", vpc_id=ec2.default_vpc.id, tags=tags).id


def network_interface(ec2, tags):
    subnet = next(iter(ec2.get_default_subnets().values()))
    return ec2.create_network_interface(subnet, None, description="appeared", tags=tags).id


def vpc(ec2, tags):
    return ec2.create_vpc("10.99.0.0/16", tags=[{"Key": k, "Value": v} for k, v in tags.items()]).id


def key_pair(ec2, tags):
    return ec2.create_key_pair(f"appeared-{len(ec2.key_pairs)}", "ed25519", tags).key_name


def address(ec2, tags):
    return ec2.allocate_address("vpc", tags=tags).allocation_id


KINDS = {
    "volume": volume,
    "snapshot": snapshot,
    "security-group": security_group,
    "network-interface": network_interface,
    "vpc": vpc,
    "key-pair": key_pair,
    "address": address,
}


def make(account: Account, wish: dict) -> None:
    tags = wish.get("tags") or {}
    if wish["kind"] == "role":
        role = iam_backends[account.id][account.partition].create_role(
            role_name=wish["name"],
            assume_role_policy_document="{}",
            path="/",
            permissions_boundary=None,
            description="appeared",
            tags=[],
            max_session_duration="3600",
        )
        wish["id"] = role.name
        return
    wish["id"] = KINDS[wish["kind"]](ec2_backends[account.id][wish["region"]], tags)


def schedule(account: Account, wish: dict) -> dict:
    """Registers an item that will appear: after some seconds, or before the answer to the n-th call of an action."""
    if wish.get("kind") not in {*KINDS, "role"}:
        raise ValueError(f"kind must be one of {sorted({*KINDS, 'role'})}")
    wish["id"] = None
    account.appearing.append(wish)
    if "afterCalls" not in wish:
        later(float(wish.get("afterSeconds", 0)), lambda: make(account, wish))
    return wish


def after_call(account: Account, call: Call) -> None:
    for wish in account.appearing:
        trigger = wish.get("afterCalls")
        if trigger and wish["id"] is None and fnmatch.fnmatchcase(call.action, trigger["action"]):
            trigger["calls"] = trigger.get("calls", 1) - 1
            if trigger["calls"] <= 0:
                make(account, wish)
