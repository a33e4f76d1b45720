"""Says as JSON what is left in a subscription, seen by the SDK alone: {"empty": false, "left": {"lock": ["/subscriptions/…"]}}

What Azure makes by itself, and what the organization has there, is left out. Needs all rights, those of the test's admin.
"""

from __future__ import annotations

import json

from account import Clients
from azure.mgmt.authorization import AuthorizationManagementClient
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.keyvault import KeyVaultManagementClient
from azure.mgmt.network import NetworkManagementClient
from azure.mgmt.resource.deployments import DeploymentsMgmtClient
from azure.mgmt.resource.locks import ManagementLockClient
from azure.mgmt.resource.policy import PolicyClient
from azure.mgmt.resource.resources import ResourceManagementClient

GIVEN = ("/networkwatcherrg", "/networkwatchers/networkwatcher_westeurope", "/roleassignments/own", "/roleassignments/inherited")


def everything(clients: Clients) -> dict[str, list]:
    resources = clients(ResourceManagementClient)
    network, compute = clients(NetworkManagementClient), clients(ComputeManagementClient)
    policies, roles = clients(PolicyClient), clients(AuthorizationManagementClient)
    networks = list(network.virtual_networks.list_all())
    return {
        "group": resources.resource_groups.list(),
        "resource": resources.resources.list(),
        "lock": clients(ManagementLockClient).management_locks.list_at_subscription_level(),
        "machine": compute.virtual_machines.list_all(),
        "disk": compute.disks.list(),
        "network": networks,
        "subnet": [subnet for found in networks for subnet in found.properties.subnets or []],
        "peering": [peering for found in networks for peering in found.properties.virtual_network_peerings or []],
        "load-balancer": network.load_balancers.list_all(),
        "role-assignment": roles.role_assignments.list_for_subscription(),
        "role-definition": roles.role_definitions.list(clients.root, filter="type eq 'CustomRole'"),
        "policy-assignment": policies.policy_assignments.list(),
        "policy-definition": policies.policy_definitions.list(filter="policyType eq 'Custom'"),
        "policy-set-definition": policies.policy_set_definitions.list(filter="policyType eq 'Custom'"),
        "deployment": clients(DeploymentsMgmtClient).deployments.list_at_subscription_scope(),
        "deleted-vault": clients(KeyVaultManagementClient).vaults.list_deleted(),
    }


def main() -> None:
    left = {}
    for kind, found in everything(Clients()).items():
        ids = [item.id for item in found]
        ids = [item for item in ids if item.startswith("/subscriptions/") and not item.lower().endswith(GIVEN)]
        if ids:
            left[kind] = sorted(ids)
    print(json.dumps({"empty": not left, "left": left}))


if __name__ == "__main__":
    main()
