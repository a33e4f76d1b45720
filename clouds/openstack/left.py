"""Says as JSON what is left in a project, seen by openstacksdk alone, and what the quotas count as used.

{"empty": false, "left": {"volume": ["…"]}, "used": {"compute": {…}, "block-storage": {…}, "network": {…}}}
"""

from __future__ import annotations

import json

from account import connect, parser

# What neutron counts in a project that never had anything: the default security group and its rules.
UNTOUCHED = {"security_group": 1, "security_group_rule": 4}


def of_project(name: str) -> dict:
    cloud = connect(name)
    project, net = cloud.current_project_id, cloud.network
    own = lambda items: [i for i in items if i.project_id == project]
    lists = {
        "server": cloud.compute.servers(),
        "server-group": cloud.compute.server_groups(),
        "key-pair": cloud.compute.keypairs(),
        "volume": cloud.block_storage.volumes(),
        "snapshot": cloud.block_storage.snapshots(),
        "backup": cloud.block_storage.backups(),
        "image": (i for i in cloud.image.images() if i.owner_id == project),
        "load-balancer": cloud.load_balancer.load_balancers(),
        "floating-ip": net.ips(),
        "router": net.routers(),
        "port": own(net.ports()),
        "trunk": net.trunks(),
        "subnet": own(net.subnets()),
        "network": own(net.networks()),
        "security-group": (g for g in net.security_groups() if g.name != "default"),
    }
    left = {}
    for kind, items in lists.items():
        if found := sorted(item.id for item in items):
            left[kind] = found
    used = {
        "compute": {k: v for k, v in cloud.compute.get("/limits").json()["limits"]["absolute"].items() if "Used" in k and v},
        "block-storage": {
            k: v for k, v in cloud.block_storage.get("/limits").json()["limits"]["absolute"].items() if "Used" in k and v
        },
        "network": {
            kind: quota["used"]
            for kind, quota in net.get(f"/quotas/{project}/details.json").json()["quota"].items()
            if quota["used"] > UNTOUCHED.get(kind, 0)
        },
    }
    return {"empty": not left and not any(used.values()), "left": left, "used": used}


if __name__ == "__main__":
    print(json.dumps(of_project(parser(__doc__.splitlines()[0]).parse_args().project)))
