//! The calls for each kind, as data. The tables of `allotment_core::cleanup::kinds` have the order and the rules.
//!
//! Versions of the API are not the newest: those of China and of the government come years later.

use allotment_core::cleanup::attribute::{CREATOR, PRINCIPAL, STATE, TYPE};

/// The calls for one kind.
pub(super) struct Row {
    pub(super) kind: &'static str,
    /// The path that lists, behind the subscription.
    pub(super) list: &'static str,
    /// More of the query that lists.
    pub(super) query: &'static str,
    pub(super) version: &'static str,
    /// The type that permissions name: `/read` and `/delete` are added.
    pub(super) action: &'static str,
    /// The JSON pointer of the items within those of the list; empty for almost all kinds.
    pub(super) within: &'static str,
    /// The JSON pointer of a value that tells an item from its successor; empty where there is none.
    pub(super) incarnation: &'static str,
    /// Attributes and their JSON pointers, beyond those that are read of every item.
    pub(super) attributes: &'static [(&'static str, &'static str)],
    pub(super) end: End,
}

/// How an item of a kind goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// By its id, with this query. The operation is awaited.
    Delete(&'static str),
    /// By its id, with this query; the operation takes long, and many run side by side.
    Begin(&'static str),
    /// By its id, in a version of the API that the provider of its type is asked for.
    OfItsType,
    /// Purged by its id.
    Purge,
}

pub(super) const SUBSCRIPTIONS: &str = "2022-12-01";
pub(super) const RESOURCES: &str = "2021-04-01";
pub(super) const AUTHORIZATION: &str = "2022-04-01";
pub(super) const COMPUTE: &str = "2023-09-01";
pub(super) const NETWORK: &str = "2023-09-01";
const DISKS: &str = "2023-04-02";
const LOCKS: &str = "2020-05-01";
const POLICIES: &str = "2023-04-01";
const EXEMPTIONS: &str = "2022-07-01-preview";
const VAULTS: &str = "2023-07-01";

/// The other network of a peering.
pub(super) const REMOTE: &str = "remote";

/// A kind with ids and pages as all have them.
const fn row(
    kind: &'static str,
    list: &'static str,
    action: &'static str,
    version: &'static str,
    incarnation: &'static str,
) -> Row {
    Row {
        kind,
        list,
        query: "",
        version,
        action,
        within: "",
        incarnation,
        attributes: &[],
        end: End::Delete(""),
    }
}

/// Nobody waits for machines to shut down.
const FORCED: &str = "&forceDeletion=true";
const FORCED_IN_GROUP: &str =
    "&forceDeletionTypes=Microsoft.Compute%2FvirtualMachines%2CMicrosoft.Compute%2FvirtualMachineScaleSets";

pub(super) static ROWS: &[Row] = &[
    row("Lock", "/providers/Microsoft.Authorization/locks", "Microsoft.Authorization/locks", LOCKS, ""),
    Row {
        end: End::Delete(FORCED),
        ..row(
            "VirtualMachine",
            "/providers/Microsoft.Compute/virtualMachines",
            "Microsoft.Compute/virtualMachines",
            COMPUTE,
            "/properties/vmId",
        )
    },
    row(
        "LoadBalancer",
        "/providers/Microsoft.Network/loadBalancers",
        "Microsoft.Network/loadBalancers",
        NETWORK,
        "/properties/resourceGuid",
    ),
    Row {
        end: End::Delete(FORCED),
        ..row(
            "VirtualMachineScaleSet",
            "/providers/Microsoft.Compute/virtualMachineScaleSets",
            "Microsoft.Compute/virtualMachineScaleSets",
            COMPUTE,
            "/properties/uniqueId",
        )
    },
    row(
        "AvailabilitySet",
        "/providers/Microsoft.Compute/availabilitySets",
        "Microsoft.Compute/availabilitySets",
        COMPUTE,
        "",
    ),
    row(
        "Disk",
        "/providers/Microsoft.Compute/disks",
        "Microsoft.Compute/disks",
        DISKS,
        "/properties/uniqueId",
    ),
    row(
        "Snapshot",
        "/providers/Microsoft.Compute/snapshots",
        "Microsoft.Compute/snapshots",
        DISKS,
        "/properties/uniqueId",
    ),
    row(
        "NetworkInterface",
        "/providers/Microsoft.Network/networkInterfaces",
        "Microsoft.Network/networkInterfaces",
        NETWORK,
        "/properties/resourceGuid",
    ),
    Row {
        within: "/properties/subnets",
        ..row(
            "Subnet",
            "/providers/Microsoft.Network/virtualNetworks",
            "Microsoft.Network/virtualNetworks/subnets",
            NETWORK,
            "",
        )
    },
    Row {
        within: "/properties/virtualNetworkPeerings",
        attributes: &[(REMOTE, "/properties/remoteVirtualNetwork/id")],
        ..row(
            "VirtualNetworkPeering",
            "/providers/Microsoft.Network/virtualNetworks",
            "Microsoft.Network/virtualNetworks/virtualNetworkPeerings",
            NETWORK,
            "/properties/resourceGuid",
        )
    },
    row(
        "NatGateway",
        "/providers/Microsoft.Network/natGateways",
        "Microsoft.Network/natGateways",
        NETWORK,
        "/properties/resourceGuid",
    ),
    row(
        "NetworkSecurityGroup",
        "/providers/Microsoft.Network/networkSecurityGroups",
        "Microsoft.Network/networkSecurityGroups",
        NETWORK,
        "/properties/resourceGuid",
    ),
    row(
        "RouteTable",
        "/providers/Microsoft.Network/routeTables",
        "Microsoft.Network/routeTables",
        NETWORK,
        "/properties/resourceGuid",
    ),
    row(
        "VirtualNetwork",
        "/providers/Microsoft.Network/virtualNetworks",
        "Microsoft.Network/virtualNetworks",
        NETWORK,
        "/properties/resourceGuid",
    ),
    row(
        "PublicIpAddress",
        "/providers/Microsoft.Network/publicIPAddresses",
        "Microsoft.Network/publicIPAddresses",
        NETWORK,
        "/properties/resourceGuid",
    ),
    Row {
        query: "&%24expand=createdTime%2CprovisioningState",
        attributes: &[(TYPE, "/type"), (STATE, "/provisioningState")],
        end: End::OfItsType,
        ..row(
            "Resource",
            "/resources",
            "Microsoft.Resources/subscriptions/resources",
            RESOURCES,
            "/createdTime",
        )
    },
    Row {
        end: End::Begin(FORCED_IN_GROUP),
        ..row(
            "ResourceGroup",
            "/resourcegroups",
            "Microsoft.Resources/subscriptions/resourceGroups",
            RESOURCES,
            "",
        )
    },
    Row {
        attributes: &[(CREATOR, "/systemData/createdBy")],
        ..row(
            "NetworkManagerConnection",
            "/providers/Microsoft.Network/networkManagerConnections",
            "Microsoft.Network/networkManagerConnections",
            NETWORK,
            "/systemData/createdAt",
        )
    },
    row(
        "Deployment",
        "/providers/Microsoft.Resources/deployments",
        "Microsoft.Resources/deployments",
        RESOURCES,
        "/properties/timestamp",
    ),
    Row {
        attributes: &[(PRINCIPAL, "/properties/principalId"), (CREATOR, "/properties/createdBy")],
        ..row(
            "RoleAssignment",
            "/providers/Microsoft.Authorization/roleAssignments",
            "Microsoft.Authorization/roleAssignments",
            AUTHORIZATION,
            "/properties/createdOn",
        )
    },
    Row {
        attributes: &[(CREATOR, "/systemData/createdBy")],
        ..row(
            "PolicyExemption",
            "/providers/Microsoft.Authorization/policyExemptions",
            "Microsoft.Authorization/policyExemptions",
            EXEMPTIONS,
            "/systemData/createdAt",
        )
    },
    Row {
        attributes: &[(CREATOR, "/properties/metadata/createdBy")],
        ..row(
            "PolicyAssignment",
            "/providers/Microsoft.Authorization/policyAssignments",
            "Microsoft.Authorization/policyAssignments",
            POLICIES,
            "/properties/metadata/createdOn",
        )
    },
    Row {
        query: "&%24filter=type%20eq%20%27CustomRole%27",
        attributes: &[(CREATOR, "/properties/createdBy")],
        ..row(
            "RoleDefinition",
            "/providers/Microsoft.Authorization/roleDefinitions",
            "Microsoft.Authorization/roleDefinitions",
            AUTHORIZATION,
            "/properties/createdOn",
        )
    },
    Row {
        query: "&%24filter=policyType%20eq%20%27Custom%27",
        attributes: &[(CREATOR, "/properties/metadata/createdBy")],
        ..row(
            "PolicySetDefinition",
            "/providers/Microsoft.Authorization/policySetDefinitions",
            "Microsoft.Authorization/policySetDefinitions",
            POLICIES,
            "/properties/metadata/createdOn",
        )
    },
    Row {
        query: "&%24filter=policyType%20eq%20%27Custom%27",
        attributes: &[(CREATOR, "/properties/metadata/createdBy")],
        ..row(
            "PolicyDefinition",
            "/providers/Microsoft.Authorization/policyDefinitions",
            "Microsoft.Authorization/policyDefinitions",
            POLICIES,
            "/properties/metadata/createdOn",
        )
    },
    Row {
        end: End::Purge,
        ..row(
            "DeletedVault",
            "/providers/Microsoft.KeyVault/deletedVaults",
            "Microsoft.KeyVault/deletedVaults",
            VAULTS,
            "/properties/deletionDate",
        )
    },
    Row {
        end: End::Purge,
        ..row(
            "DeletedManagedHsm",
            "/providers/Microsoft.KeyVault/deletedManagedHSMs",
            "Microsoft.KeyVault/deletedManagedHSMs",
            VAULTS,
            "/properties/deletionDate",
        )
    },
];

/// The row of a kind.
pub(super) fn find(kind: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.kind == kind)
}

/// Whether a type of Azure, in lower case, has a row of its own.
pub(super) fn has_own_row(kind: &str) -> bool {
    ROWS.iter().any(|row| row.within.is_empty() && row.action.eq_ignore_ascii_case(kind))
}
