"""Says as JSON what is left in a project, seen by google-cloud-compute alone: {"empty": false, "left": {"disks": ["…"]}}

What Google gives every project counts for nothing: the default network with its parts, and the accounts of services.
"""

from __future__ import annotations

import json

from google.cloud import compute_v1

from account import build, endpoint, login, project

# Clients whose list is aggregated, and those whose list is global.
AGGREGATED = [
    "Addresses", "Autoscalers", "BackendServices", "Disks", "ForwardingRules", "HealthChecks", "InstanceGroupManagers",
    "InstanceGroups", "InstanceTemplates", "Instances", "InstantSnapshots", "NetworkAttachments", "NetworkEndpointGroups",
    "NodeGroups", "NodeTemplates", "PacketMirrorings", "Reservations", "ResourcePolicies", "Routers", "SecurityPolicies",
    "ServiceAttachments", "SslCertificates", "SslPolicies", "Subnetworks", "TargetHttpProxies", "TargetHttpsProxies",
    "TargetInstances", "TargetPools", "TargetTcpProxies", "TargetVpnGateways", "UrlMaps", "VpnGateways", "VpnTunnels",
]  # fmt: skip
GLOBAL = [
    "BackendBuckets", "ExternalVpnGateways", "Firewalls", "GlobalAddresses", "GlobalForwardingRules", "GlobalNetworkEndpointGroups",
    "Images", "MachineImages", "NetworkFirewallPolicies", "Networks", "Routes", "Snapshots", "TargetGrpcProxies",
    "TargetSslProxies",
]  # fmt: skip
DEFAULT_RULES = {"default-allow-icmp", "default-allow-internal", "default-allow-rdp", "default-allow-ssh"}


def client(name: str, credentials):
    return getattr(compute_v1, f"{name}Client")(credentials=credentials, client_options={"api_endpoint": endpoint()})


def given(name: str, item) -> bool:
    """Whether Google made it with the project."""
    in_default = str(getattr(item, "network", "")).endswith("/networks/default")
    match name:
        case "Networks":
            return item.name == "default" and not item.peerings
        case "Subnetworks":
            return item.name == "default" and in_default
        case "Firewalls":
            return item.name in DEFAULT_RULES and in_default
        case "Routes":
            return item.name.startswith("default-route-") and in_default
    return False


def main() -> None:
    credentials, of = login(), project()
    left: dict[str, list[str]] = {}
    for name in AGGREGATED:
        for scope, found in client(name, credentials).aggregated_list(request={"project": of}):
            fields = [field for field in type(found).meta.fields if field != "warning"]
            for item in getattr(found, fields[0]):
                if not given(name, item):
                    left.setdefault(name, []).append(f"{scope}/{item.name}")
    for name in GLOBAL:
        for item in client(name, credentials).list(request={"project": of}):
            if not given(name, item):
                left.setdefault(name, []).append(item.name)
    metadata = client("Projects", credentials).get(project=of).common_instance_metadata
    keys = [item.key for item in metadata.items if item.key != "enable-oslogin"]
    if keys:
        left["Metadata"] = keys
    accounts = build("iam", "v1").projects().serviceAccounts().list(name=f"projects/{of}").execute()
    shoots = [account["email"] for account in accounts.get("accounts", []) if account["email"].startswith("shoot--")]
    if shoots:
        left["ServiceAccounts"] = shoots
    print(json.dumps({"empty": not left, "left": left}))


if __name__ == "__main__":
    main()
