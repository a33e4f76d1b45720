"""The kinds of our table that Compute Engine has, by the resources of its discovery document.

The first resource has the list: aggregated if the kind is in regions or zones. All of them have a deletion.
"""

from __future__ import annotations

import json
from importlib import resources

# In regions and zones. One aggregated list has the items of all of them.
REGIONAL = {
    "Autoscaler": ["autoscalers", "regionAutoscalers"],
    "InstanceGroupManager": ["instanceGroupManagers", "regionInstanceGroupManagers"],
    "InstanceGroup": ["instanceGroups"],
    "Instance": ["instances"],
    "TargetInstance": ["targetInstances"],
    "TargetPool": ["targetPools"],
    "ForwardingRule": ["forwardingRules"],
    "ServiceAttachment": ["serviceAttachments"],
    "NetworkAttachment": ["networkAttachments"],
    "Address": ["addresses"],
    "RegionBackendService": ["backendServices", "regionBackendServices"],
    "RegionBackendBucket": ["backendBuckets", "regionBackendBuckets"],
    "RegionHealthCheck": ["healthChecks", "regionHealthChecks"],
    "RegionHealthCheckService": ["regionHealthCheckServices"],
    "RegionNotificationEndpoint": ["regionNotificationEndpoints"],
    "RegionUrlMap": ["urlMaps", "regionUrlMaps"],
    "RegionTargetHttpProxy": ["targetHttpProxies", "regionTargetHttpProxies"],
    "RegionTargetHttpsProxy": ["targetHttpsProxies", "regionTargetHttpsProxies"],
    "RegionTargetTcpProxy": ["targetTcpProxies", "regionTargetTcpProxies"],
    "RegionSslCertificate": ["sslCertificates", "regionSslCertificates"],
    "RegionSslPolicy": ["sslPolicies", "regionSslPolicies"],
    "RegionSecurityPolicy": ["securityPolicies", "regionSecurityPolicies"],
    "RegionNetworkFirewallPolicy": ["networkFirewallPolicies", "regionNetworkFirewallPolicies"],
    "RegionInstanceTemplate": ["instanceTemplates", "regionInstanceTemplates"],
    "NetworkEndpointGroup": ["networkEndpointGroups", "regionNetworkEndpointGroups"],
    "NetworkEdgeSecurityService": ["networkEdgeSecurityServices"],
    "Disk": ["disks", "regionDisks"],
    "InstantSnapshot": ["instantSnapshots", "regionInstantSnapshots"],
    "StoragePool": ["storagePools"],
    "ResourcePolicy": ["resourcePolicies"],
    "Reservation": ["reservations"],
    "FutureReservation": ["futureReservations"],
    "NodeGroup": ["nodeGroups"],
    "NodeTemplate": ["nodeTemplates"],
    "Router": ["routers"],
    "VpnGateway": ["vpnGateways"],
    "TargetVpnGateway": ["targetVpnGateways"],
    "VpnTunnel": ["vpnTunnels"],
    "InterconnectAttachment": ["interconnectAttachments"],
    "PacketMirroring": ["packetMirrorings"],
    "Subnetwork": ["subnetworks"],
    "ZoneVmExtensionPolicy": ["globalVmExtensionPolicies", "zoneVmExtensionPolicies"],
}

# In regions, without an aggregated list.
PER_REGION = {"RegionSnapshot": ["regionSnapshots"]}

GLOBAL = {
    "GlobalAddress": ["globalAddresses"],
    "GlobalForwardingRule": ["globalForwardingRules"],
    "BackendService": ["backendServices"],
    "BackendBucket": ["backendBuckets"],
    "HealthCheck": ["healthChecks"],
    "HttpHealthCheck": ["httpHealthChecks"],
    "HttpsHealthCheck": ["httpsHealthChecks"],
    "UrlMap": ["urlMaps"],
    "TargetHttpProxy": ["targetHttpProxies"],
    "TargetHttpsProxy": ["targetHttpsProxies"],
    "TargetSslProxy": ["targetSslProxies"],
    "TargetTcpProxy": ["targetTcpProxies"],
    "TargetGrpcProxy": ["targetGrpcProxies"],
    "SslCertificate": ["sslCertificates"],
    "SslPolicy": ["sslPolicies"],
    "SecurityPolicy": ["securityPolicies"],
    "NetworkFirewallPolicy": ["networkFirewallPolicies"],
    "GlobalNetworkEndpointGroup": ["globalNetworkEndpointGroups"],
    "InstanceTemplate": ["instanceTemplates"],
    "Image": ["images"],
    "MachineImage": ["machineImages"],
    "Snapshot": ["snapshots"],
    "ExternalVpnGateway": ["externalVpnGateways"],
    "Firewall": ["firewalls"],
    "Route": ["routes"],
    "Network": ["networks"],
    "GlobalVmExtensionPolicy": ["globalVmExtensionPolicies"],
}


def document(name: str = "compute.v1") -> dict:
    """A discovery document of the pinned google-api-python-client."""
    folder = resources.files("googleapiclient.discovery_cache.documents")
    return json.loads(folder.joinpath(f"{name}.json").read_text())
