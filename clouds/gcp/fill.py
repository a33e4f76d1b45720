"""Fills a project with what a force-deleted Shoot and its workloads leave behind, through google-api-python-client.

Prints what it made as JSON: {"disks": ["…"]}. With --all there is an item of (nearly) every kind that a tenant can make.
"""

from __future__ import annotations

import argparse
import json

from account import build, project

GATEWAY = "global/gateways/default-internet-gateway"


class Filler:
    def __init__(self, shoot: str, region: str):
        self.compute, self.iam, self.project = build("compute", "v1"), build("iam", "v1"), project()
        self.shoot, self.region, self.zone = shoot, region, f"{region}-b"
        self.made: dict[str, list[str]] = {}

    def add(self, resource: str, name: str, **body) -> str:
        """Inserts an item where its resource lives, and returns its path."""
        methods = getattr(self.compute, resource)()
        where = {}
        scope = "global"
        parameters = set(methods._resourceDesc["methods"]["insert"]["parameters"])
        if "zone" in parameters:
            where, scope = {"zone": self.zone}, f"zones/{self.zone}"
        elif "region" in parameters:
            where, scope = {"region": self.region}, f"regions/{self.region}"
        self.done(methods.insert(project=self.project, body={"name": name, **body}, **where).execute())
        collection = methods._resourceDesc["methods"]["insert"]["path"].split("/")[-1]
        self.made.setdefault(collection, []).append(name)
        return f"projects/{self.project}/{scope}/{collection}/{name}"

    def done(self, operation: dict) -> None:
        if operation["status"] != "DONE" or "error" in operation:
            raise SystemExit(f"not done: {operation}")

    def network(self) -> None:
        """The infrastructure flow: network, subnetworks, router with NAT, firewall rules, service account."""
        self.net = self.add("networks", self.shoot, autoCreateSubnetworks=False, routingConfig={"routingMode": "REGIONAL"})
        self.nodes = self.add("subnetworks", f"{self.shoot}-nodes", network=self.net, ipCidrRange="10.250.0.0/16")
        self.internal = self.add("subnetworks", f"{self.shoot}-internal", network=self.net, ipCidrRange="10.251.0.0/16")
        manual = self.add("addresses", f"{self.shoot}-manual", addressType="EXTERNAL")
        nat = {"sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS"}
        of_nodes = [{"name": self.nodes, "sourceIpRangesToNat": ["ALL_IP_RANGES"]}]
        self.router = self.add(
            "routers",
            f"{self.shoot}-cloud-router",
            network=self.net,
            nats=[
                {"name": f"{self.shoot}-cloud-nat", "natIpAllocateOption": "AUTO_ONLY", "subnetworks": of_nodes, **nat},
                {"name": f"{self.shoot}-manual", "natIpAllocateOption": "MANUAL_ONLY", "natIps": [manual], **nat},
            ],
        )
        for name in ("allow-internal-access", "allow-external-access", "allow-health-checks"):
            allowed = [{"IPProtocol": "tcp", "ports": ["443"]}]
            self.add("firewalls", f"{self.shoot}-{name}", network=self.net, allowed=allowed, sourceRanges=["0.0.0.0/0"])
        accounts = self.iam.projects().serviceAccounts()
        accounts.create(name=f"projects/{self.project}", body={"accountId": self.shoot}).execute()
        self.made["serviceAccounts"] = [self.shoot]

    def machine(self, name: str, protect: bool, **more) -> str:
        interface = {"network": self.net, "subnetwork": self.nodes}
        return self.add(
            "instances",
            name,
            machineType=f"zones/{self.zone}/machineTypes/n1-standard-4",
            disks=[{"boot": True, "autoDelete": True, "initializeParams": {"diskSizeGb": "20"}}],
            networkInterfaces=[interface],
            tags={"items": [self.shoot]},
            deletionProtection=protect,
            **more,
        )

    def machines(self, protect: bool) -> None:
        """Nodes, a group with a template and an autoscaler, a bastion, routes to pods."""
        self.instances = [self.machine(f"{self.shoot}-node-{number}", protect) for number in range(2)]
        for instance in self.instances:
            name = f"{self.shoot}-{instance.split('-')[-1]}-pods"
            self.add("routes", name, network=self.net, destRange="100.96.0.0/24", nextHopInstance=instance, priority=1000)
        template = self.add(
            "instanceTemplates",
            f"{self.shoot}-template",
            properties={"machineType": "n1-standard-4", "networkInterfaces": [{"network": self.net, "subnetwork": self.nodes}]},
        )
        self.group = self.add(
            "instanceGroupManagers", f"{self.shoot}-pool", instanceTemplate=template, targetSize=2, baseInstanceName="n"
        )
        self.add("autoscalers", f"{self.shoot}-pool", target=self.group, autoscalingPolicy={"maxNumReplicas": 3})
        self.machine(f"{self.shoot}-bastion", False)
        allowed = [{"IPProtocol": "tcp", "ports": ["22"]}]
        self.add("firewalls", f"{self.shoot}-bastion-allow-ssh", network=self.net, allowed=allowed)

    def storage(self, volumes: int) -> None:
        """Persistent volumes of a zone and of a region, snapshots, images."""
        kind = f"zones/{self.zone}/diskTypes/pd-ssd"
        disks = [self.add("disks", f"pv--{number}", sizeGb="10", type=kind) for number in range(volumes)]
        zones = [f"zones/{self.region}-b", f"zones/{self.region}-c"]
        self.add("regionDisks", "pv--regional", sizeGb="200", replicaZones=zones)
        self.add("snapshots", "snapshot-1", sourceDisk=disks[0])
        self.add("images", "image-1", sourceDisk=disks[0])
        self.add("machineImages", "machine-image-1", sourceInstance=self.instances[0])

    def load_balancers(self) -> None:
        """What the controllers in a Shoot make for services and ingresses."""
        service = json.dumps({"kubernetes.io/service-name": "default/web"})
        check = self.add("httpHealthChecks", "k8s-0123456789abcdef-node", port=10256)
        pool = self.add("targetPools", "a0123456789abcdef0123456789abcdef", healthChecks=[check], instances=self.instances)
        address = self.add("addresses", "a-static", addressType="EXTERNAL")
        self.add(
            "forwardingRules",
            "a0123456789abcdef0123456789abcdef",
            target=pool,
            IPAddress=address,
            loadBalancingScheme="EXTERNAL",
            description=service,
        )
        for name in ("k8s-fw-a0123456789abcdef0123456789abcdef", "k8s-0123456789abcdef-node-http-hc"):
            allowed = [{"IPProtocol": "tcp", "ports": ["80"]}]
            self.add("firewalls", name, network=self.net, allowed=allowed, targetTags=[self.shoot], description=service)
        group = self.add("instanceGroups", "k8s-ig--0123456789abcdef", network=self.net)
        check = self.add("regionHealthChecks", "k8s-internal", type="TCP")
        backend = self.add(
            "regionBackendServices",
            "k8s-internal",
            healthChecks=[check],
            backends=[{"group": group}],
            loadBalancingScheme="INTERNAL",
        )
        inner = {"loadBalancingScheme": "INTERNAL", "network": self.net, "subnetwork": self.internal}
        rule = self.add("forwardingRules", "k8s-internal", backendService=backend, **inner)
        self.add("addresses", "an-internal-one", addressType="INTERNAL", subnetwork=self.internal)
        self.add("serviceAttachments", "psc", targetService=rule, connectionPreference="ACCEPT_AUTOMATIC")
        check = self.add("healthChecks", "k8s-be-30080", type="HTTP")
        managed = self.group.replace("instanceGroupManagers", "instanceGroups")
        neg = self.add("networkEndpointGroups", "k8s1-neg", network=self.net, subnetwork=self.nodes)
        backends = [{"group": managed}, {"group": neg}]
        policy = self.add("securityPolicies", "waf")
        backend = self.add("backendServices", "k8s-be-30080", healthChecks=[check], backends=backends, securityPolicy=policy)
        urls = self.add("urlMaps", "k8s-um-web", defaultService=backend)
        certificate = self.add("sslCertificates", "k8s-ssl-web", type="SELF_MANAGED")
        tls = self.add("sslPolicies", "modern", profile="MODERN")
        secure = self.add("targetHttpsProxies", "k8s-tps-web", urlMap=urls, sslCertificates=[certificate], sslPolicy=tls)
        plain = self.add("targetHttpProxies", "k8s-tp-web", urlMap=urls)
        address = self.add("globalAddresses", "k8s-ip-web")
        outer = {"loadBalancingScheme": "EXTERNAL", "IPAddress": address}
        self.add("globalForwardingRules", "k8s-fws-web", target=secure, **outer)
        self.add("globalForwardingRules", "k8s-fw-web", target=plain, **outer)

    def tenants(self) -> None:
        """What people add: into the default network, too."""
        net = f"projects/{self.project}/global/networks/default"
        allowed = [{"IPProtocol": "all"}]
        self.add("firewalls", "everything", network=net, allowed=allowed, sourceRanges=["0.0.0.0/0"], direction="INGRESS")
        self.add("subnetworks", "added", network=net, ipCidrRange="10.9.0.0/24")
        self.add("routes", "around", network=net, destRange="10.8.0.0/16", nextHopIp="10.9.0.9")
        networks = self.compute.networks()
        for name in ("default", self.shoot):
            peer = f"https://www.googleapis.com/compute/v1/projects/somebodys/global/networks/of-{name}"
            body = {"networkPeering": {"name": "way-in", "network": peer, "exchangeSubnetRoutes": True}}
            self.done(networks.addPeering(project=self.project, network=name, body=body).execute())
        policies = self.compute.networkFirewallPolicies()
        self.add("networkFirewallPolicies", "open")
        body = {"name": "on-default", "attachmentTarget": net}
        self.done(policies.addAssociation(project=self.project, firewallPolicy="open", body=body).execute())
        self.done(
            self.compute.projects()
            .setCommonInstanceMetadata(
                project=self.project,
                body={"items": [{"key": "ssh-keys", "value": "me:ssh-ed25519 AAAA"}, {"key": "enable-oslogin", "value": "TRUE"}]},
            )
            .execute()
        )
        auto = self.add("networks", "auto", autoCreateSubnetworks=True)
        gateway = self.add("vpnGateways", "vpn", network=auto)
        router = self.add("routers", "vpn", network=auto)
        far = self.add("externalVpnGateways", "far", redundancyType="SINGLE_IP_INTERNALLY_REDUNDANT")
        self.add("vpnTunnels", "tunnel", vpnGateway=gateway, router=router, peerExternalGateway=far)
        self.add("routes", "out", network=auto, destRange="0.0.0.0/0", nextHopGateway=GATEWAY, priority=500)

    def rest(self) -> None:
        """Kinds that nobody in a Shoot makes by accident."""
        policy = self.add("resourcePolicies", "nightly", snapshotSchedulePolicy={})
        self.add("disks", "with-policy", sizeGb="10", resourcePolicies=[policy])
        disk = self.add("disks", "with-instant-snapshot", sizeGb="10")
        self.add("instantSnapshots", "instant", sourceDisk=disk)
        self.add("reservations", "reserved", specificReservation={"count": "1"})
        template = self.add("nodeTemplates", "sole-tenant", nodeType="n1-node-96-624")
        self.compute.nodeGroups().insert(
            project=self.project, zone=self.zone, initialNodeCount=1, body={"name": "sole-tenant", "nodeTemplate": template}
        ).execute()
        self.made.setdefault("nodeGroups", []).append("sole-tenant")
        target = self.add("targetInstances", "target", instance=self.instances[0])
        self.add("forwardingRules", "to-target", target=target, loadBalancingScheme="EXTERNAL")
        classic = self.add("targetVpnGateways", "classic", network=self.net)
        self.add("forwardingRules", "esp", target=classic, loadBalancingScheme="EXTERNAL", IPProtocol="ESP")
        check = self.add("regionHealthChecks", "for-service", type="TCP")
        endpoint = self.add("regionNotificationEndpoints", "endpoint")
        self.add("regionHealthCheckServices", "service", healthChecks=[check], notificationEndpoints=[endpoint])
        check = self.add("regionHealthChecks", "web", type="HTTP")
        backend = self.add("regionBackendServices", "web", healthChecks=[check], loadBalancingScheme="EXTERNAL_MANAGED")
        urls = self.add("regionUrlMaps", "web", defaultService=backend)
        certificate = self.add("regionSslCertificates", "web", type="SELF_MANAGED")
        tls = self.add("regionSslPolicies", "web", profile="MODERN")
        proxy = self.add("regionTargetHttpsProxies", "web", urlMap=urls, sslCertificates=[certificate], sslPolicy=tls)
        self.add("forwardingRules", "web", target=proxy, loadBalancingScheme="EXTERNAL_MANAGED")
        self.add("regionTargetHttpProxies", "web", urlMap=urls)
        self.add("regionTargetTcpProxies", "web", backendService=backend)
        self.add("regionSecurityPolicies", "web")
        bucket = self.add("backendBuckets", "files", bucketName="files")
        urls = self.add("urlMaps", "files", defaultService=bucket)
        self.add("targetGrpcProxies", "files", urlMap=urls)
        check = self.add("httpsHealthChecks", "old")
        backend = self.add("backendServices", "tcp", healthChecks=[check], protocol="TCP")
        self.add("targetTcpProxies", "tcp", service=backend)
        self.add("targetSslProxies", "tcp", service=backend)
        self.add("globalNetworkEndpointGroups", "internet")
        self.add("networkAttachments", "attachment", subnetworks=[self.nodes], connectionPreference="ACCEPT_AUTOMATIC")
        self.add("regionInstanceTemplates", "template", properties={})
        self.add("packetMirrorings", "mirror", network={"url": self.net})
        self.add("regionNetworkFirewallPolicies", "regional")
        self.add("regionSnapshots", "regional", sourceDisk=disk)
        self.add("globalVmExtensionPolicies", "agents", extensionPolicies={})
        self.add("zoneVmExtensionPolicies", "agents", extensionPolicies={})


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--shoot", default="shoot--p--c", help="technical ID")
    options.add_argument("--region", default="europe-west1")
    options.add_argument("--volumes", type=int, default=3)
    options.add_argument("--protect", action="store_true", help="deletion protection on")
    options.add_argument("--small", action="store_true", help="the network only")
    options.add_argument("--machine", action="store_true", help="one machine in it, where nothing else is")
    options.add_argument("--all", action="store_true", help="an item of nearly every kind")
    args = options.parse_args()
    filler = Filler(args.shoot, args.region)
    filler.network()
    if not args.small:
        filler.machines(args.protect)
        filler.storage(max(1, args.volumes))
        filler.load_balancers()
        filler.tenants()
    if args.small and args.machine:
        filler.machine(f"{args.shoot}-node-0", args.protect)
    if args.all:
        filler.rest()
    print(json.dumps(filler.made))


if __name__ == "__main__":
    main()
