"""Proves what the test OpenStack refuses, through openstacksdk and as the tenant. Started by clouds/check openstack."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent)]

from account import connect, wait  # noqa: E402
from checking import Server, Table  # noqa: E402


def answer(service, path: str, method: str = "DELETE") -> tuple[int, str]:
    """The status, and neutron's name for the refusal if there is one."""
    got = service.request(path, method, raise_exc=False)
    try:
        kind = got.json().get("NeutronError", {}).get("type", "")
    except ValueError:
        kind = ""
    return got.status_code, kind


def script(name: str, *arguments: str) -> dict:
    return json.loads(subprocess.check_output([sys.executable, str(HERE / f"{name}.py"), *arguments]))


def refusals(table: Table, cloud, made: dict) -> None:
    net, storage, balancers = cloud.network, cloud.block_storage, cloud.load_balancer
    table.section("Refusals, as the tenant sees them")
    network, subnet, router = made["network"][0], made["subnet"][0], made["router"][0]
    table.row("delete a network with ports", (409, "NetworkInUse"), answer(net, f"/networks/{network}"))
    table.row("delete a subnet with ports", (409, "SubnetInUse"), answer(net, f"/subnets/{subnet}"))
    table.row("delete a router with an interface", (409, "RouterInUse"), answer(net, f"/routers/{router}"))
    table.row(
        "delete a security group of a port",
        (409, "SecurityGroupInUse"),
        answer(net, f"/security-groups/{made['security-group'][0]}"),
    )
    of_router = next(p.id for p in net.ports(network_id=network) if p.device_owner.startswith("network:router_interface"))
    table.row("delete a router's port", (409, "ServicePortInUse"), answer(net, f"/ports/{of_router}"))
    table.row("delete the external network", (403, "PolicyNotAuthorized"), answer(net, f"/networks/{net.find_network('ext').id}"))
    shared = made["shared-network"][0]
    got = net.request(f"/networks/{shared}", "DELETE", raise_exc=False)
    table.row(
        "delete a network with a foreign project's port", (409, True), (got.status_code, made["foreign-port"][0] in got.text)
    )
    with_snapshot, attached, both = made["volume"]
    table.row("delete a volume with a snapshot", 400, answer(storage, f"/volumes/{with_snapshot}")[0])
    table.row("delete an attached volume", 400, answer(storage, f"/volumes/{attached}")[0])
    table.row("delete a volume with both", 400, answer(storage, f"/volumes/{both}")[0])
    active, stuck = made["load-balancer"][0], made["stuck-load-balancer"][0]
    table.row(
        "delete a load balancer with children, not cascading", 400, answer(balancers, f"/lbaas/loadbalancers/{active}")[0]
    )
    table.row(
        "delete a load balancer that is stuck", 409, answer(balancers, f"/lbaas/loadbalancers/{stuck}?cascade=true")[0]
    )
    table.row("… it stays", "PENDING_CREATE", balancers.get_load_balancer(stuck).provisioning_status)
    table.row("delete a public image", 403, answer(cloud.image, f"/images/{cloud.image.find_image('gardenlinux').id}")[0])
    groups = made["security-group"]
    rules = {r.remote_group_id for g in groups for r in net.security_group_rules(security_group_id=g)}
    table.row("two security groups refer to each other", True, set(groups) <= rules)
    page = net.get("/ports?limit=2").json()
    table.row("pages", (2, True), (len(page["ports"]), "next" in [link["rel"] for link in page["ports_links"]]))
    states = {v.id: v.status for v in storage.volumes()}
    table.row("states of the volumes", ["available", "in-use", "in-use"], [states[v] for v in made["volume"]])


def application_credential(table: Table, cloud: dict) -> None:
    import openstack

    table.section("Credentials as Gardener has them")
    for project in cloud["projects"]:
        auth = {
            "auth_url": cloud["authUrl"],
            "application_credential_id": project["applicationCredentialId"],
            "application_credential_secret": project["applicationCredentialSecret"],
        }
        session = openstack.connect(auth=auth, auth_type="v3applicationcredential", region_name=cloud["region"])
        table.row(f"{project['name']} by application credential", project["projectId"], session.current_project_id)


def listeners(table: Table, ready: dict) -> None:
    """Every socket that one of our processes listens on."""
    table.section("Sockets")
    groups = {int(line) for line in (Path(ready["dir"]) / "groups").read_text().split()}
    ours = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if int((process / "stat").read_text().rsplit(")", 1)[1].split()[2]) in groups:
                ours |= {os.readlink(fd) for fd in (process / "fd").iterdir()}
        except OSError:
            continue
    local, foreign = 0, []
    for file in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{file}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in ours:
                address = fields[1].split(":")[0]
                if address in ("0100007F", "00000000000000000000000001000000"):
                    local += 1
                else:
                    foreign.append(fields[1])
    table.row("everything listens on loopback alone", (True, []), (local >= 10, foreign))


def through_proxy(table: Table, ready: dict) -> None:
    """The catalog is rewritten, so that every service is reached through the proxy."""
    table.section("Through the proxy")
    origins = {kind: "/".join(url.split("/")[:3]) for kind, url in ready["services"].items()}
    upstreams = [argument for kind, url in origins.items() for argument in ("--upstream", f"{kind}={url}")]
    proxy = Server([sys.executable, str(HERE.parent / "proxy.py"), "--watch-stdin", *upstreams])
    try:
        cloud = connect("acct-b", ready | {"authUrl": proxy.ready["endpoints"]["identity"] + "/v3"})
        proxy.control("POST", "rules", {"do": "status", "status": 403, "upstream": "network", "path": "/v2.0/routers*"})
        proxy.control(
            "POST", "rules", {"do": "status", "status": 503, "upstream": "block-storage", "path": "*/volumes/detail*", "times": 1}
        )
        table.row("a list that is allowed", 200, answer(cloud.network, "/networks", "GET")[0])
        table.row("403 by path", 403, answer(cloud.network, "/routers", "GET")[0])
        seen = [answer(cloud.block_storage, "/volumes/detail", "GET")[0] for _ in range(2)]
        table.row("503 once", [503, 200], seen)
        reached = {key.split()[0] for key in proxy.control("GET", "counts")["requests"]}
        table.row("services reached", {"identity", "network", "block-storage"}, reached)
    finally:
        proxy.stop()


def main() -> int:
    table = Table()
    server = Server([sys.executable, str(HERE / "server.py"), "--watch-stdin"])
    ready = server.ready
    print(f"        ready after {ready['readySeconds']} s, {ready['cpuSeconds']} s of CPU")
    os.environ["CLOUDS_OPENSTACK"] = f"{ready['dir']}/openstack.json"
    try:
        listeners(table, ready)
        application_credential(table, ready)
        table.row("a new project is empty", {"empty": True, "left": {}}, {k: v for k, v in script("left").items() if k != "used"})
        through_proxy(table, ready)
        begun = time.monotonic()
        made = script("fill", "--stuck", "--shared-with", "acct-b")
        print(f"        filled in {time.monotonic() - begun:.0f} s: {sum(map(len, made.values()))} items")
        left = script("left")
        table.row(
            "the quotas count it",
            (2, 3, True),
            (
                left["used"]["compute"]["totalInstancesUsed"],
                left["used"]["block-storage"]["totalVolumesUsed"],
                left["used"]["network"]["port"] > 2,
            ),
        )
        cloud = connect("acct-a", ready)
        refusals(table, cloud, made)
        table.section("What works")
        table.row("delete a server group in use", 204, answer(cloud.compute, f"/os-server-groups/{made['server-group'][0]}")[0])
        path = f"/lbaas/loadbalancers/{made['load-balancer'][0]}"
        table.row("delete a load balancer, cascading", 204, answer(cloud.load_balancer, f"{path}?cascade=true")[0])
        wait(
            "the end of the load balancer",
            lambda: (
                answer(cloud.load_balancer, path, "GET")[0] == 404
                or cloud.load_balancer.get(path).json()["loadbalancer"]["provisioning_status"] == "DELETED"
            ),
        )
        for node in made["server"]:
            cloud.compute.delete_server(node)
        wait("the end of the servers", lambda: not list(cloud.compute.servers()))
        table.row(
            "a volume is free when its server is gone",
            "available",
            wait(
                "detachment",
                lambda: (lambda s: s if s == "available" else None)(cloud.block_storage.get_volume(made["volume"][1]).status),
            ),
        )
    finally:
        ended = server.stop(30)
    table.section("Stopping")
    groups = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    table.row(
        "ended with its standard input, and nothing is left",
        (0, False, False),
        (ended, Path(ready["dir"]).exists(), ready["dir"] in groups),
    )
    return table.summary()


if __name__ == "__main__":
    sys.exit(main())
