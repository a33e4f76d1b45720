"""Fills a subscription with what force-deleted Shoots and their tenants leave behind, through the SDK. Prints what it made as JSON."""

from __future__ import annotations

import argparse
import json

from account import Clients
from azure.mgmt.authorization import AuthorizationManagementClient
from azure.mgmt.authorization.models import RoleAssignmentCreateParameters
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.keyvault import KeyVaultManagementClient
from azure.mgmt.network import NetworkManagementClient
from azure.mgmt.resource.deployments import DeploymentsMgmtClient
from azure.mgmt.resource.locks import ManagementLockClient
from azure.mgmt.resource.locks.models import ManagementLockObject
from azure.mgmt.resource.policy import PolicyClient
from azure.mgmt.resource.resources import ResourceManagementClient

CONTRIBUTOR = "b24988ac-6180-42a0-ab88-20f7382dd24c"


class Filler:
    """One location. Tags and names are those that Gardener, its controllers and the drivers in a cluster give."""

    def __init__(self, location: str):
        self.clients, self.location = Clients(), location
        self.root = self.clients.root
        self.network = self.clients(NetworkManagementClient)
        self.compute = self.clients(ComputeManagementClient)
        self.resources = self.clients(ResourceManagementClient)
        self.made: dict[str, list[str]] = {}

    def note(self, kind: str, made) -> str:
        self.made.setdefault(kind, []).append(made.id)
        return made.id

    def body(self, properties: dict, **more) -> dict:
        return {"location": self.location, "properties": properties, **more}

    def group(self, name: str) -> str:
        return self.note("group", self.resources.resource_groups.create_or_update(name, {"location": self.location}))

    def any(self, kind: str, path: str, body: dict, version: str = "2023-01-01") -> str:
        """What the pinned packages have no client for."""
        made = self.resources.resources.begin_create_or_update_by_id(f"{self.root}/{path}", body, api_version=version)
        return self.note(kind, made.result())

    def address(self, group: str, name: str, tags: dict | None = None) -> str:
        body = self.body({"publicIPAllocationMethod": "Static"}, sku={"name": "Standard"}, tags=tags or {})
        return self.note("public-ip-address", self.network.public_ip_addresses.begin_create_or_update(group, name, body).result())

    def infrastructure(self, shoot: str, network: tuple[str, str] | None = None) -> None:
        """The infrastructure flow: group, network (or one that was there), subnet with route table, security group and NAT gateway."""
        self.group(shoot)
        net = self.network
        table = self.note(
            "route-table", net.route_tables.begin_create_or_update(shoot, "worker_route_table", self.body({})).result()
        )
        rules = net.network_security_groups.begin_create_or_update(shoot, f"{shoot}-workers", self.body({})).result()
        address = self.address(shoot, f"{shoot}-nat-gateway-z1-ip")
        body = self.body({"publicIpAddresses": [{"id": address}]}, sku={"name": "Standard"})
        nat = self.note("nat-gateway", net.nat_gateways.begin_create_or_update(shoot, f"{shoot}-nat-gateway-z1", body).result())
        subnet = {
            "addressPrefix": "10.250.0.0/19",
            "networkSecurityGroup": {"id": self.note("security-group", rules)},
            "routeTable": {"id": table},
            "natGateway": {"id": nat},
        }
        if network is None:
            space = {"addressSpace": {"addressPrefixes": ["10.250.0.0/16"]}}
            self.note("network", net.virtual_networks.begin_create_or_update(shoot, shoot, self.body(space)).result())
            network = (shoot, shoot)
        made = net.subnets.begin_create_or_update(*network, f"{shoot}-nodes", {"properties": subnet}).result()
        self.subnet = self.note("subnet", made)

    def machines(self, shoot: str, count: int) -> None:
        """Nodes by machine-controller-manager in a flexible scale set, each with an interface and the disk of a volume."""
        tags = {f"kubernetes.io-cluster-{shoot}": "1", "kubernetes.io-role-node": "1"}
        body = self.body({"orchestrationMode": "Flexible", "platformFaultDomainCount": 1})
        sets = self.compute.virtual_machine_scale_sets
        scale_set = self.note("scale-set", sets.begin_create_or_update(shoot, f"vmo-{shoot}", body).result())
        sets = self.compute.availability_sets.create_or_update(shoot, f"{shoot}-workers", self.body({}))
        self.note("availability-set", sets)
        for number in range(count):
            name = f"{shoot}-worker-z1-{number}"
            configuration = {"name": name, "properties": {"subnet": {"id": self.subnet}}}
            interface = self.network.network_interfaces.begin_create_or_update(
                shoot, f"{name}-nic", self.body({"ipConfigurations": [configuration]}, tags=tags)
            ).result()
            disk = self.disk(shoot, f"pv-{shoot}-{number}")
            profile = {
                "osDisk": {"createOption": "FromImage"},
                "dataDisks": [{"lun": 0, "createOption": "Attach", "managedDisk": {"id": disk}}],
            }
            machine = {
                "storageProfile": profile,
                "networkProfile": {"networkInterfaces": [{"id": self.note("interface", interface)}]},
                "virtualMachineScaleSet": {"id": scale_set},
            }
            made = self.compute.virtual_machines.begin_create_or_update(shoot, name, self.body(machine, tags=tags)).result()
            self.note("machine", made)

    def disk(self, group: str, name: str) -> str:
        tags = {"k8s-azure-created-by": "kubernetes-azure-dd"}
        body = self.body({"creationData": {"createOption": "Empty"}, "diskSizeGB": 1}, sku={"name": "StandardSSD_LRS"}, tags=tags)
        return self.note("disk", self.compute.disks.begin_create_or_update(group, name, body).result())

    def storage(self, group: str, disks: int) -> None:
        """Volumes that outlived their cluster, and a snapshot of one."""
        for number in range(disks):
            disk = self.disk(group, f"pvc-{number}")
        body = self.body({"creationData": {"createOption": "Copy", "sourceResourceId": disk}})
        self.note("snapshot", self.compute.snapshots.begin_create_or_update(group, "snapshot-1", body).result())

    def balancer(self, group: str, name: str, shoot: str, subnet: str | None = None) -> None:
        tags = {"k8s-azure-cluster-name": shoot}
        front = {"subnet": {"id": subnet}} if subnet else {"publicIPAddress": {"id": self.address(group, f"{name}-ip", tags)}}
        body = self.body({"frontendIPConfigurations": [{"name": "f", "properties": front}]}, sku={"name": "Standard"}, tags=tags)
        self.note("load-balancer", self.network.load_balancers.begin_create_or_update(group, name, body).result())

    def brought(self, group: str) -> None:
        """A network that was there before: a Shoot has its subnet in it, a load balancer and an address beside it."""
        self.group(group)
        space = {"addressSpace": {"addressPrefixes": ["10.250.0.0/16"]}, "subnets": [{"name": "theirs", "properties": {}}]}
        self.network.virtual_networks.begin_create_or_update(group, "brought", self.body(space)).result()
        self.infrastructure("shoot--p--d", (group, "brought"))
        self.machines("shoot--p--d", 1)
        self.balancer(group, "shoot--p--d-internal", "shoot--p--d", self.subnet)
        self.balancer(group, "kubernetes", "shoot--p--d")
        remote = {
            "remoteVirtualNetwork": {
                "id": f"{self.root}/resourceGroups/shoot--p--c/providers/Microsoft.Network/virtualNetworks/shoot--p--c"
            }
        }
        made = self.network.virtual_network_peerings.begin_create_or_update(
            group, "brought", "to-c", {"properties": remote}
        ).result()
        self.note("peering", made)

    def tenant(self, group: str) -> None:
        """What tenants make by hand: a group, locks, vaults, an identity, roles, policies, a deployment, a flow log."""
        self.group(group)
        self.disk(group, "by hand")
        vaults = self.clients(KeyVaultManagementClient).vaults
        vault = self.body({"tenantId": "00000000-0000-0000-0000-000000000000", "sku": {"family": "A", "name": "standard"}})
        self.note("vault", vaults.begin_create_or_update(group, "vault-1", vault).result())
        identity = "providers/Microsoft.ManagedIdentity/userAssignedIdentities/friend"
        self.any("identity", f"resourceGroups/{group}/{identity}", self.body({}))
        watcher = f"providers/Microsoft.Network/networkWatchers/NetworkWatcher_{self.location}"
        self.any("flow-log", f"resourceGroups/NetworkWatcherRG/{watcher}/flowLogs/all", self.body({"enabled": True}))
        locks = self.clients(ManagementLockClient).management_locks
        lock = ManagementLockObject(level="CanNotDelete")
        self.note("lock", locks.create_or_update_at_resource_group_level(group, "keep", lock))
        disk = f"{self.root}/resourceGroups/{group}/providers/Microsoft.Compute/disks/by hand"
        self.note("lock", locks.create_or_update_by_scope(disk, "keep-disk", lock))
        self.grants(group)

    def grants(self, group: str) -> None:
        roles = self.clients(AuthorizationManagementClient)
        friend = "00000000-0000-4000-8000-00000000beef"
        role = f"{self.root}/providers/Microsoft.Authorization/roleDefinitions/{CONTRIBUTOR}"
        for number, scope in enumerate((self.root, f"{self.root}/resourceGroups/{group}")):
            given = RoleAssignmentCreateParameters(role_definition_id=role, principal_id=friend)
            name = f"00000000-0000-4000-8000-00000000000{number}"
            self.note("role-assignment", roles.role_assignments.create(scope, name, given))
        custom = {"roleName": "friends", "permissions": [{"actions": ["*"]}], "assignableScopes": [self.root]}
        path = "providers/Microsoft.Authorization/roleDefinitions/00000000-0000-4000-8000-000000000009"
        self.any("role-definition", path, {"properties": custom}, "2022-04-01")
        policies = self.clients(PolicyClient)
        definition = policies.policy_definitions.create_or_update(
            "deny-all", {"properties": {"policyRule": {"if": {}, "then": {}}}}
        )
        self.note("policy-definition", definition)
        members = {"policyDefinitions": [{"policyDefinitionId": definition.id}]}
        policy_set = policies.policy_set_definitions.create_or_update("deny-set", {"properties": members})
        self.note("policy-set-definition", policy_set)
        body = {"properties": {"policyDefinitionId": policy_set.id}}
        assignment = policies.policy_assignments.create(self.root, "deny", body)
        self.note("policy-assignment", assignment)
        exempt = {"properties": {"policyAssignmentId": assignment.id, "exemptionCategory": "Waiver"}}
        manager = "/subscriptions/elsewhere/resourceGroups/x/providers/Microsoft.Network/networkManagers/m"
        connections = self.network.subscription_network_manager_connections
        body = {"properties": {"tenantId": friend, "networkManagerId": manager}}
        self.note("network-manager-connection", connections.create_or_update("elsewhere", body))
        self.any("policy-exemption", "providers/Microsoft.Authorization/policyExemptions/me", exempt, "2022-07-01-preview")
        deployments = self.clients(DeploymentsMgmtClient).deployments
        body = {"location": self.location, "properties": {"mode": "Incremental", "template": {}}}
        made = deployments.begin_create_or_update_at_subscription_scope("bootstrap", body).result()
        self.note("deployment", made)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--location", default="westeurope")
    options.add_argument("--disks", type=int, default=6)
    options.add_argument("--brought", action="store_true", help="a network that was there before, in a group that is to stay")
    options.add_argument("--tenant", action="store_true", help="what tenants make by hand; needs an owner")
    args = options.parse_args()
    filler = Filler(args.location)
    filler.infrastructure("shoot--p--c")
    filler.machines("shoot--p--c", 2)
    filler.storage("shoot--p--c", max(1, args.disks))
    filler.balancer("shoot--p--c", "kubernetes", "shoot--p--c")
    if args.brought:
        filler.brought("net")
    if args.tenant:
        filler.tenant("by-hand")
    print(json.dumps(filler.made))


if __name__ == "__main__":
    main()
