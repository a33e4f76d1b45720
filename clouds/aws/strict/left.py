"""What is left in an account, read from moto's memory: hidden items too, without any call of AWS."""

from __future__ import annotations

from moto.autoscaling.models import autoscaling_backends
from moto.ec2.models import ec2_backends
from moto.efs.models import efs_backends
from moto.elb.models import elb_backends
from moto.elbv2.models import elbv2_backends
from moto.iam.models import iam_backends

from .slow import existing_ids
from .state import Account

# Kept in the list by AWS for an hour, but gone.
GONE = {"terminated", "deleted", "failed", "rejected", "cancelled"}


def of_default_network(ec2) -> set[str]:
    """What every region has, and nobody should delete."""
    vpc = ec2.default_vpc
    own = {vpc.id, ec2.default_dhcp_options.id}
    own |= {s.id for zone in ec2.subnets.values() for s in zone.values() if s.vpc_id == vpc.id and s.default_for_az}
    own |= {t.id for t in ec2.route_tables.values() if t.vpc_id == vpc.id and t.main_association_id}
    own |= {a.id for a in ec2.network_acls.values() if a.vpc_id == vpc.id and a.default}
    own |= {g.id for g in ec2.internet_gateways.values() if g.vpc and g.vpc.id == vpc.id}
    own |= {g.id for g in ec2.groups[vpc.id].values() if g.name == "default"}
    return own


def gone_ids(ec2) -> set[str]:
    items = [i for r in ec2.reservations.values() for i in r.instances]
    items += [*ec2.nat_gateways.values(), *ec2.vpc_pcxs.values(), *ec2.vpn_connections.values()]
    return {i.id for i in items if str(getattr(i, "state", None) or getattr(i, "_status", None) and i._status.code) in GONE}


def of_new_vpcs(ec2) -> set[str]:
    """Parts that a VPC takes with it when it goes; the VPC itself is listed."""
    parts = {t.id for t in ec2.route_tables.values() if t.main_association_id}
    parts |= {a.id for a in ec2.network_acls.values() if a.default}
    return parts | {g.id for groups in ec2.groups.values() for g in groups.values() if g.name == "default"}


def of_region(account: Account, region: str) -> list[str]:
    ec2 = ec2_backends[account.id][region]
    ids = existing_ids(ec2) - of_default_network(ec2) - gone_ids(ec2) - of_new_vpcs(ec2)
    found = {i for i in ids if "-" in i and not i.startswith(("pl-", "r-"))}
    found |= {f"key-pair/{name}" for name in ec2.key_pairs}
    found -= {pair.id for pair in ec2.key_pairs.values()}
    found |= {f"load-balancer/{name}" for name in elb_backends[account.id][region].load_balancers}
    second = elbv2_backends[account.id][region]
    found |= {*second.load_balancers, *second.target_groups}
    scaling = autoscaling_backends[account.id][region]
    found |= {f"auto-scaling-group/{name}" for name in scaling.autoscaling_groups}
    found |= {f"launch-configuration/{name}" for name in scaling.launch_configurations}
    found |= set(efs_backends[account.id][region].file_systems_by_id)
    return sorted(found)


def of_account(account: Account) -> dict[str, list[str]]:
    left = {region: of_region(account, region) for region in account.regions if region in ec2_backends[account.id]}
    iam = iam_backends[account.id][account.partition]
    left["global"] = sorted(
        [f"role/{role.name}" for role in iam.roles.values() if role.name not in account.trusts]
        + [f"instance-profile/{profile.name}" for profile in iam.instance_profiles.values()]
    )
    return {place: items for place, items in left.items() if items}
