"""Fills a project with what a force-deleted Shoot leaves behind, through openstacksdk. Prints what it made as JSON."""

from __future__ import annotations

import json

from account import connect, parser, wait


class Filler:
    def __init__(self, project: str, shoot: str):
        self.shoot, self.cloud = shoot, connect(project)
        self.net, self.compute, self.storage = self.cloud.network, self.cloud.compute, self.cloud.block_storage
        self.made: dict[str, list[str]] = {}

    def note(self, kind: str, item):
        self.made.setdefault(kind, []).append(item.id)
        return item

    def network(self) -> None:
        """The infrastructure flow, with routes that the cloud controller adds to the router."""
        external = self.net.find_network("ext")
        self.network_ = self.note("network", self.net.create_network(name=self.shoot))
        self.subnet = self.note(
            "subnet", self.net.create_subnet(network_id=self.network_.id, name=self.shoot, ip_version=4, cidr="10.250.0.0/16")
        )
        self.router = self.note(
            "router", self.net.create_router(name=self.shoot, external_gateway_info={"network_id": external.id})
        )
        self.net.add_interface_to_router(self.router, subnet_id=self.subnet.id)
        routes = [{"destination": f"100.96.{n}.0/24", "nexthop": f"10.250.0.{10 + n}"} for n in range(2)]
        self.net.update_router(self.router, routes=routes)
        self.external = external

    def security_groups(self) -> None:
        """Two that refer to each other, which no order of deletion resolves."""
        self.nodes, other = (self.note("security-group", self.net.create_security_group(name=n)) for n in (self.shoot, "lb-sg-1"))
        for group, remote in ((self.nodes, self.nodes), (self.nodes, other), (other, self.nodes)):
            self.net.create_security_group_rule(
                security_group_id=group.id, direction="ingress", remote_group_id=remote.id, ethertype="IPv4"
            )

    def servers(self, count: int) -> None:
        key = f"{self.shoot}-ssh-publickey"
        self.note("key-pair", self.compute.create_keypair(name=key))
        group = self.note("server-group", self.compute.create_server_group(name=self.shoot, policy="soft-anti-affinity"))
        flavor, image = self.compute.find_flavor("small"), self.cloud.image.find_image("gardenlinux")
        self.nodes_ = []
        for number in range(count):
            port = self.note(
                "port", self.net.create_port(network_id=self.network_.id, name=f"node-{number}", security_groups=[self.nodes.id])
            )
            self.nodes_.append(
                self.note(
                    "server",
                    self.compute.create_server(
                        name=f"{self.shoot}-node-{number}",
                        flavor_id=flavor.id,
                        image_id=image.id,
                        networks=[{"port": port.id}],
                        key_name=key,
                        scheduler_hints={"group": group.id},
                    ),
                )
            )
        for server in self.nodes_:
            self.compute.wait_for_server(server, wait=900)

    def volumes(self) -> None:
        """One with a snapshot, one attached, one that is both."""
        for name in ("pv-1", "pv-2", "pv-3"):
            volume = self.note("volume", self.storage.create_volume(size=1, name=name))
            self.storage.wait_for_status(volume, "available", wait=900)
            if name != "pv-2":
                snapshot = self.note("snapshot", self.storage.create_snapshot(volume_id=volume.id, name=f"snap-of-{name}"))
                self.storage.wait_for_status(snapshot, "available", wait=900)
            if name != "pv-1":
                self.compute.create_volume_attachment(self.nodes_[0], volume_id=volume.id)
                wait(f"attachment of {name}", lambda volume=volume: self.storage.get_volume(volume.id).status == "in-use")

    def addresses(self) -> None:
        port = self.note("port", self.net.create_port(network_id=self.network_.id, name="vip"))
        for target in (port.id, None):
            self.note("floating-ip", self.net.create_ip(floating_network_id=self.external.id, port_id=target))

    def load_balancers(self, stuck: bool) -> None:
        """One with listener and pool, and one that its provider never finishes and that cannot be deleted."""
        made = self.note(
            "load-balancer",
            self.cloud.load_balancer.create_load_balancer(
                name=f"kube_service_{self.shoot}_default_a", vip_subnet_id=self.subnet.id
            ),
        )
        active = lambda: self.cloud.load_balancer.get_load_balancer(made.id).provisioning_status == "ACTIVE"
        wait("an active load balancer", active)
        listener = self.cloud.load_balancer.create_listener(name="l", protocol="TCP", protocol_port=80, load_balancer_id=made.id)
        wait("a listener", active)
        self.cloud.load_balancer.create_pool(name="p", protocol="TCP", lb_algorithm="ROUND_ROBIN", listener_id=listener.id)
        wait("a pool", active)
        if stuck:
            self.note(
                "stuck-load-balancer",
                self.cloud.load_balancer.create_load_balancer(
                    name=f"kube_service_{self.shoot}_default_b", vip_subnet_id=self.subnet.id, provider="noop_driver"
                ),
            )

    def shared(self, other: str) -> None:
        """A network that is shared with another project, which has a port on it: in the way, and not ours to delete."""
        foreign = connect(other)
        network = self.note("shared-network", self.net.create_network(name="shared"))
        self.note("subnet", self.net.create_subnet(network_id=network.id, name="shared", ip_version=4, cidr="10.9.0.0/24"))
        self.net.create_rbac_policy(
            object_type="network", object_id=network.id, action="access_as_shared", target_project_id=foreign.current_project_id
        )
        self.note("foreign-port", foreign.network.create_port(network_id=network.id, name="of-another-project"))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--shoot", default="shoot--p--c", help="technical ID")
    options.add_argument("--servers", type=int, default=2)
    options.add_argument("--stuck", action="store_true", help="a load balancer that stays PENDING_CREATE too")
    options.add_argument("--shared-with", metavar="PROJECT", help="a network on which that project has a port too")
    options.add_argument("--only-network", action="store_true", help="network, router and security groups: a few seconds' work")
    args = options.parse_args()
    filler = Filler(args.project, args.shoot)
    filler.network()
    filler.security_groups()
    if not args.only_network:
        filler.servers(max(1, args.servers))
        filler.volumes()
        filler.addresses()
        filler.load_balancers(args.stuck)
    if args.shared_with:
        filler.shared(args.shared_with)
    print(json.dumps(filler.made))


if __name__ == "__main__":
    main()
