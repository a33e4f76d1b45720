//! Azure. A resource group takes everything in it along, so most items go with theirs; only what is in a group that stays is
//! deleted by itself.

mod id;

pub use id::canonical_id;
pub(in crate::cleanup) use id::{existing, holders};

use super::{CountKind, Kind, Scope, Table, Treatment, When};
use crate::cleanup::attribute::{
    CREATOR, LOCKED_BY, NETWORK as IN_NETWORK, PRINCIPAL, RESOURCE_GROUP as IN_GROUP, SCOPE, STATE, TYPE,
};

const LOCK: &str = "Lock";
const MACHINE: &str = "VirtualMachine";
const SCALE_SET: &str = "VirtualMachineScaleSet";
const AVAILABILITY_SET: &str = "AvailabilitySet";
const DISK: &str = "Disk";
const SNAPSHOT: &str = "Snapshot";
const LOAD_BALANCER: &str = "LoadBalancer";
const INTERFACE: &str = "NetworkInterface";
const ADDRESS: &str = "PublicIpAddress";
const NAT_GATEWAY: &str = "NatGateway";
const SECURITY_GROUP: &str = "NetworkSecurityGroup";
const ROUTE_TABLE: &str = "RouteTable";
const NETWORK: &str = "VirtualNetwork";
const SUBNET: &str = "Subnet";
const PEERING: &str = "VirtualNetworkPeering";
const RESOURCE: &str = "Resource";
const GROUP: &str = "ResourceGroup";
const MANAGER_CONNECTION: &str = "NetworkManagerConnection";
const DEPLOYMENT: &str = "Deployment";
const ROLE_ASSIGNMENT: &str = "RoleAssignment";
const POLICY_ASSIGNMENT: &str = "PolicyAssignment";
const POLICY_EXEMPTION: &str = "PolicyExemption";
const ROLE_DEFINITION: &str = "RoleDefinition";
const POLICY_SET: &str = "PolicySetDefinition";
const POLICY: &str = "PolicyDefinition";
const DELETED_VAULT: &str = "DeletedVault";
const DELETED_HSM: &str = "DeletedManagedHsm";

const LEAVING: (When, Treatment) =
    (When::Is(STATE, &["Deleting"]), Treatment::Leaving("it is being deleted"));
const OF_STAYING_GROUP: (When, Treatment) = (When::InStaying(IN_GROUP, GROUP), Treatment::Delete);
const WITH_ITS_GROUP: (When, Treatment) =
    (When::Always, Treatment::GoesWith { attribute: IN_GROUP, kind: GROUP });
const IN_A_GROUP: &[(When, Treatment)] = &[LEAVING, OF_STAYING_GROUP, WITH_ITS_GROUP];
const IN_A_NETWORK: &[(When, Treatment)] = &[
    LEAVING,
    (When::InStaying(IN_NETWORK, NETWORK), Treatment::Delete),
    (When::Always, Treatment::GoesWith { attribute: IN_NETWORK, kind: NETWORK }),
];

const INHERITED: (When, Treatment) =
    (When::Is(SCOPE, &["above"]), Treatment::Keep("it is inherited from above the subscription"));
/// Tenants have no other credentials, unless they gave a role to another principal.
const MADE_BY_TENANTS: (When, Treatment) = (When::OurPrincipal(CREATOR), Treatment::Delete);
/// A role that somebody else gave on a resource or group; one on a group that a Shoot or a person names is not deleted.
const BELOW: (When, Treatment) = (When::Is(SCOPE, &["below"]), Treatment::Delete);
/// The organization's, or that of a principal to which a tenant gave a role: nobody can tell.
const MADE_BY_OTHERS: (When, Treatment) = (
    When::Always,
    Treatment::Immovable {
        because: "others than these credentials made it at the subscription, and it is in no baseline",
        remedy: "add its id to the keep list if it belongs there, or delete it by hand",
    },
);
/// Definitions do nothing without an assignment, and a custom role may be the one of Gardener's principal.
const DEFINITION: &[(When, Treatment)] = &[
    INHERITED,
    MADE_BY_TENANTS,
    (When::Always, Treatment::Keep("others than these credentials defined it; it does nothing by itself")),
];
const SOFT_DELETED: &[(When, Treatment)] = &[(
    When::Is(LOCKED_BY, &["purgeProtection"]),
    Treatment::Immovable {
        because: "it is protected from being purged until its retention ends",
        remedy: "wait until Azure purges it, or add its id to the keep list",
    },
)];

const fn kind(
    name: &'static str,
    wave: u8,
    list: &'static [&'static str],
    delete: &'static [&'static str],
) -> Kind {
    Kind { name, scope: Scope::Global, wave, after: &[], list, delete, rules: &[], prepare: &[] }
}

/// A resource with a row of its own: a count of Azure has its number.
const fn resource(
    name: &'static str,
    wave: u8,
    list: &'static [&'static str],
    delete: &'static [&'static str],
) -> Kind {
    Kind { rules: IN_A_GROUP, ..kind(name, wave, list, delete) }
}

pub(super) static TABLE: Table = Table { kinds: KINDS, counts: COUNTS };

const KINDS: &[Kind] = &[
    kind(LOCK, 0, &["Microsoft.Authorization/locks/read"], &["Microsoft.Authorization/locks/delete"]),
    Kind {
        after: &[LOCK],
        ..resource(
            MACHINE,
            1,
            &["Microsoft.Compute/virtualMachines/read"],
            &["Microsoft.Compute/virtualMachines/delete"],
        )
    },
    Kind {
        after: &[LOCK],
        ..resource(
            LOAD_BALANCER,
            1,
            &["Microsoft.Network/loadBalancers/read"],
            &["Microsoft.Network/loadBalancers/delete"],
        )
    },
    Kind {
        after: &[MACHINE],
        ..resource(
            SCALE_SET,
            2,
            &["Microsoft.Compute/virtualMachineScaleSets/read"],
            &["Microsoft.Compute/virtualMachineScaleSets/delete"],
        )
    },
    Kind {
        after: &[MACHINE],
        ..resource(
            AVAILABILITY_SET,
            2,
            &["Microsoft.Compute/availabilitySets/read"],
            &["Microsoft.Compute/availabilitySets/delete"],
        )
    },
    Kind {
        after: &[MACHINE],
        ..resource(DISK, 2, &["Microsoft.Compute/disks/read"], &["Microsoft.Compute/disks/delete"])
    },
    resource(SNAPSHOT, 2, &["Microsoft.Compute/snapshots/read"], &["Microsoft.Compute/snapshots/delete"]),
    Kind {
        after: &[MACHINE, LOAD_BALANCER],
        ..resource(
            INTERFACE,
            2,
            &["Microsoft.Network/networkInterfaces/read"],
            &["Microsoft.Network/networkInterfaces/delete"],
        )
    },
    Kind {
        // Those of a network that somebody brought hold the security group and route table in the group of a Shoot.
        after: &[INTERFACE, LOAD_BALANCER],
        rules: IN_A_NETWORK,
        ..kind(
            SUBNET,
            3,
            &["Microsoft.Network/virtualNetworks/read"],
            &["Microsoft.Network/virtualNetworks/subnets/delete"],
        )
    },
    Kind {
        rules: IN_A_NETWORK,
        ..kind(
            PEERING,
            3,
            &["Microsoft.Network/virtualNetworks/read"],
            &["Microsoft.Network/virtualNetworks/virtualNetworkPeerings/delete"],
        )
    },
    Kind {
        after: &[SUBNET],
        ..resource(
            NAT_GATEWAY,
            4,
            &["Microsoft.Network/natGateways/read"],
            &["Microsoft.Network/natGateways/delete"],
        )
    },
    Kind {
        after: &[SUBNET, INTERFACE],
        ..resource(
            SECURITY_GROUP,
            4,
            &["Microsoft.Network/networkSecurityGroups/read"],
            &["Microsoft.Network/networkSecurityGroups/delete"],
        )
    },
    Kind {
        after: &[SUBNET],
        ..resource(
            ROUTE_TABLE,
            4,
            &["Microsoft.Network/routeTables/read"],
            &["Microsoft.Network/routeTables/delete"],
        )
    },
    Kind {
        after: &[SUBNET, PEERING],
        ..resource(
            NETWORK,
            4,
            &["Microsoft.Network/virtualNetworks/read"],
            &["Microsoft.Network/virtualNetworks/delete"],
        )
    },
    Kind {
        after: &[NAT_GATEWAY, LOAD_BALANCER, INTERFACE],
        ..resource(
            ADDRESS,
            5,
            &["Microsoft.Network/publicIPAddresses/read"],
            &["Microsoft.Network/publicIPAddresses/delete"],
        )
    },
    Kind {
        after: &[MACHINE],
        rules: &[
            LEAVING,
            (
                When::All(&[
                    When::Is(TYPE, &["microsoft.network/networkwatchers"]),
                    When::InStaying(IN_GROUP, GROUP),
                ]),
                Treatment::Keep("Azure makes one in each location with a network"),
            ),
            OF_STAYING_GROUP,
            WITH_ITS_GROUP,
        ],
        ..kind(
            RESOURCE,
            5,
            &["Microsoft.Resources/subscriptions/resources/read"],
            &["*/delete", "Microsoft.Resources/subscriptions/providers/read"],
        )
    },
    Kind {
        after: &[LOCK, SUBNET],
        rules: &[
            (When::Is(STATE, &["Deleted"]), Treatment::Gone),
            LEAVING,
            // What is in it is judged by itself.
            (When::Named(&["NetworkWatcherRG"]), Treatment::Keep("Azure makes it again with every network")),
        ],
        ..kind(
            GROUP,
            6,
            &["Microsoft.Resources/subscriptions/resourceGroups/read"],
            &["Microsoft.Resources/subscriptions/resourceGroups/delete"],
        )
    },
    Kind {
        // It lets a network manager of another directory rule over all networks here.
        rules: &[LEAVING, MADE_BY_TENANTS, MADE_BY_OTHERS],
        ..kind(
            MANAGER_CONNECTION,
            7,
            &["Microsoft.Network/networkManagerConnections/read"],
            &["Microsoft.Network/networkManagerConnections/delete"],
        )
    },
    kind(
        DEPLOYMENT,
        7,
        &["Microsoft.Resources/deployments/read"],
        &["Microsoft.Resources/deployments/delete"],
    ),
    Kind {
        rules: &[
            INHERITED,
            (
                When::OurPrincipal(PRINCIPAL),
                Treatment::Keep("it is of the principal whose credentials these are"),
            ),
            MADE_BY_TENANTS,
            BELOW,
            MADE_BY_OTHERS,
        ],
        ..kind(
            ROLE_ASSIGNMENT,
            7,
            &["Microsoft.Authorization/roleAssignments/read"],
            &["Microsoft.Authorization/roleAssignments/delete"],
        )
    },
    Kind {
        rules: &[INHERITED, MADE_BY_TENANTS, BELOW, MADE_BY_OTHERS],
        ..kind(
            POLICY_EXEMPTION,
            7,
            &["Microsoft.Authorization/policyExemptions/read"],
            &["Microsoft.Authorization/policyExemptions/delete"],
        )
    },
    Kind {
        after: &[POLICY_EXEMPTION],
        rules: &[
            INHERITED,
            MADE_BY_TENANTS,
            BELOW,
            (When::Named(&["SecurityCenterBuiltIn"]), Treatment::Keep("Defender for Cloud makes it")),
            MADE_BY_OTHERS,
        ],
        ..kind(
            POLICY_ASSIGNMENT,
            8,
            &["Microsoft.Authorization/policyAssignments/read"],
            &["Microsoft.Authorization/policyAssignments/delete"],
        )
    },
    Kind {
        after: &[ROLE_ASSIGNMENT],
        rules: DEFINITION,
        ..kind(
            ROLE_DEFINITION,
            8,
            &["Microsoft.Authorization/roleDefinitions/read"],
            &["Microsoft.Authorization/roleDefinitions/delete"],
        )
    },
    Kind {
        after: &[POLICY_ASSIGNMENT],
        rules: DEFINITION,
        ..kind(
            POLICY_SET,
            9,
            &["Microsoft.Authorization/policySetDefinitions/read"],
            &["Microsoft.Authorization/policySetDefinitions/delete"],
        )
    },
    Kind {
        after: &[POLICY_SET],
        rules: DEFINITION,
        ..kind(
            POLICY,
            10,
            &["Microsoft.Authorization/policyDefinitions/read"],
            &["Microsoft.Authorization/policyDefinitions/delete"],
        )
    },
    Kind {
        after: &[GROUP],
        rules: SOFT_DELETED,
        ..kind(
            DELETED_VAULT,
            7,
            &["Microsoft.KeyVault/deletedVaults/read"],
            &["Microsoft.KeyVault/locations/deletedVaults/purge/action"],
        )
    },
    Kind {
        after: &[GROUP],
        rules: SOFT_DELETED,
        ..kind(
            DELETED_HSM,
            7,
            &["Microsoft.KeyVault/deletedManagedHSMs/read"],
            &["Microsoft.KeyVault/locations/deletedManagedHSMs/purge/action"],
        )
    },
];

const COMPUTE: &str = "Microsoft.Compute/locations/usages/read";
const NETWORKING: &str = "Microsoft.Network/locations/usages/read";

/// Optional: a subscription may not be registered with a provider, and not every provider is in every location.
const fn used(name: &'static str, permission: &'static str, of: &'static [&'static str]) -> CountKind {
    CountKind { name, scope: Scope::Regional, permission, of, optional: true }
}

const COUNTS: &[CountKind] = &[
    used("compute.virtual-machines", COMPUTE, &[MACHINE]),
    used("compute.scale-sets", COMPUTE, &[SCALE_SET]),
    used("compute.availability-sets", COMPUTE, &[AVAILABILITY_SET]),
    used("compute.disks", COMPUTE, &[DISK]),
    used("compute.snapshots", COMPUTE, &[SNAPSHOT]),
    used("compute.others", COMPUTE, &[RESOURCE]),
    used("network.virtual-networks", NETWORKING, &[NETWORK]),
    used("network.security-groups", NETWORKING, &[SECURITY_GROUP]),
    used("network.route-tables", NETWORKING, &[ROUTE_TABLE]),
    used("network.interfaces", NETWORKING, &[INTERFACE]),
    used("network.public-ip-addresses", NETWORKING, &[ADDRESS]),
    used("network.load-balancers", NETWORKING, &[LOAD_BALANCER]),
    used("network.others", NETWORKING, &[RESOURCE, NAT_GATEWAY]),
];
