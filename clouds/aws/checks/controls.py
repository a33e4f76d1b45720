"""The controls that tests have."""

from __future__ import annotations

import time

from checking import Server, Table

from .account import REGION, Account, code


def prove(server: Server, table: Table) -> None:
    table.section("Controls")
    account = Account.new(server)
    ec2, east = account.client("ec2"), account.client("ec2", "us-east-1")
    account.control("POST", "settings", {"throttle": {"every": 2, "regions": [REGION]}})
    table.row(
        "every second call of one region is throttled: EC2",
        ["done", "RequestLimitExceeded"] * 2,
        [code(ec2.describe_vpcs) for _ in range(4)],
    )
    table.row(
        "… Auto Scaling",
        ["done", "Throttling"],
        [code(account.client("autoscaling").describe_auto_scaling_groups) for _ in range(2)],
    )
    table.row("… another region is not", ["done"] * 4, [code(east.describe_vpcs) for _ in range(4)])
    account.control("POST", "settings", {"throttle": {"perSecond": 0.001, "burst": 3}})
    table.row("a bucket of three", ["done"] * 3 + ["RequestLimitExceeded"], [code(ec2.describe_vpcs) for _ in range(4)])
    account.control("POST", "settings", {"throttle": {}})
    account.control("DELETE", "calls")
    ec2.describe_volumes()
    counted = account.control("GET", "calls")
    table.row("calls are counted", (1, {REGION: {"ec2:DescribeVolumes": 1}}), (counted["total"], counted["byRegion"]))
    table.row("a new account is empty", True, account.control("GET", "left")["empty"])
    volume = lambda: [v["VolumeId"] for v in ec2.describe_volumes()["Volumes"]]
    account.control(
        "POST",
        "appear",
        {"kind": "volume", "region": REGION, "tags": {"a": "b"}, "afterCalls": {"action": "ec2:DescribeVolumes", "calls": 2}},
    )
    table.row("an item appears at the second listing", [0, 1], [len(volume()), len(volume())])
    made = account.control("GET", "appear")[0]["id"]
    account.control("POST", "hide", {"ids": [made]})
    seen = (volume(), [t["ResourceId"] for t in ec2.describe_tags()["Tags"]], account.control("GET", "left")["left"])
    table.row("a hidden item: the list does not show it, the tags do", ([], [made], {REGION: [made]}), seen)
    account.control("DELETE", "hide")
    nodes = [node["InstanceId"] for node in ec2.run_instances(ImageId="ami-1", MinCount=2, MaxCount=2)["Instances"]]
    account.control("POST", "hide", {"ids": nodes[:1]})
    listed = [node["InstanceId"] for r in ec2.describe_instances()["Reservations"] for node in r["Instances"]]
    table.row("one hidden instance of a pair", nodes[1:], listed)
    account.control("DELETE", "hide")
    ec2.terminate_instances(InstanceIds=nodes)
    server.control("POST", "finish")
    account.control(
        "POST", "rules", {"action": "ec2:DeleteVolume", "contains": made, "code": "OperationNotPermitted", "times": 1}
    )
    account.control("POST", "rules", {"action": "ec2:DeleteVolume", "pretend": True, "skip": 0, "times": 1})
    table.row(
        "a deletion is refused once, then pretended, then done",
        ["OperationNotPermitted", "done", 1, "done", 0],
        [
            code(ec2.delete_volume, VolumeId=made),
            code(ec2.delete_volume, VolumeId=made),
            len(volume()),
            code(ec2.delete_volume, VolumeId=made),
            len(volume()),
        ],
    )
    account.control("POST", "rules", {"action": "ec2:DescribeVpcs", "delaySeconds": 0.5})
    begun = time.monotonic()
    ec2.describe_vpcs()
    table.row("a slow call", True, time.monotonic() - begun >= 0.5)
    for kind in ("snapshot", "security-group", "network-interface", "vpc", "key-pair", "address"):
        account.control("POST", "appear", {"kind": kind, "region": REGION})
    account.control("POST", "appear", {"kind": "role", "name": "shoot--p--c-nodes"})
    table.row("every kind appears", 7, sum(map(len, account.control("GET", "left")["left"].values())))
