//! Azure: everything is in no region and in a resource group, which takes its items along; counts are those of a location.

use crate::memory::{
    GOES_WITH_HOLDER, HOLDS, Nature,
    model::{Codes, Model, Permissions, States, Witness},
    shoot::{Shoot, item, named, ordinary},
};
use allotment_core::cleanup::{
    Cloud as CloudName, CloudAccountId, Item, Place,
    attribute::{CLUSTER, CREATOR, LOCATION, NETWORK, PRINCIPAL, RESOURCE_GROUP, SCOPE, TYPE},
};
use std::time::Duration;

pub(in crate::memory) static MODEL: Model = Model {
    cloud: CloudName::Azure,
    codes: Codes {
        revoked: "InvalidAuthenticationToken",
        denied: "AuthorizationFailed",
        no_account: "SubscriptionNotFound",
        no_place: "LocationNotAvailable",
        blocked: "ResourceGroupDeletionBlocked",
        blocked_globally: "ResourceGroupDeletionBlocked",
        managed: "DenyAssignmentAuthorizationFailed",
        inseparable: "OperationNotAllowed",
    },
    permissions: Permissions {
        identify: "Microsoft.Resources/subscriptions/read",
        places: "Microsoft.Resources/subscriptions/locations/read",
    },
    states: States {
        leaving: "Deleting",
        leaving_of: &[],
        gone_of: &[],
        shown_when_gone: Duration::ZERO,
        held: &[],
    },
    witness: Witness::Numbers { sums: &[], without_row: &[] },
    in_same_network: &[],
    principal,
    of_account: items_of_account,
    of_place: items_of_place,
    of_shoot: leftovers,
};

/// The group that Azure makes with the first network.
const WATCHERS: &str = "resourcegroups/networkwatcherrg";

/// The attributes by which items refer to others.
const SUBNET: &str = "subnet";
const GATEWAY: &str = "gateway";
const TABLE: &str = "table";
const SECURITY_GROUP: &str = "securityGroup";
const ADDRESS: &str = "address";

/// A group with machines in it.
const GROUP_TAKES: Duration = Duration::from_secs(90);
const SMALL_GROUP_TAKES: Duration = Duration::from_secs(30);

fn principal(account: &CloudAccountId) -> String {
    format!("principal-of-{account}")
}

/// The assignment by which the credentials see the subscription, one from above it, and what Azure makes by itself.
fn items_of_account(account: &CloudAccountId) -> Vec<Item> {
    let global = |kind: &'static str, id: &str| item(kind, &Place::GLOBAL, id);
    let provider = "providers/microsoft.authorization";
    vec![
        named(global("ResourceGroup", WATCHERS).with(SCOPE, "account"), "NetworkWatcherRG"),
        global("RoleAssignment", &format!("{provider}/roleassignments/contributor-{account}"))
            .with(SCOPE, "account")
            .with(PRINCIPAL, principal(account))
            .with(CREATOR, "an-administrator"),
        global("RoleAssignment", &format!("management-groups/top/{provider}/roleassignments/auditors"))
            .with(SCOPE, "above")
            .with(PRINCIPAL, "auditors"),
        named(
            global("PolicyAssignment", &format!("{provider}/policyassignments/securitycenterbuiltin"))
                .with(SCOPE, "account"),
            "SecurityCenterBuiltIn",
        ),
    ]
}

fn items_of_place(_: &CloudAccountId, place: &Place) -> Vec<Item> {
    let name = format!("networkwatcher_{place}");
    let id = format!("{WATCHERS}/providers/microsoft.network/networkwatchers/{name}");
    let watcher = item("Resource", &Place::GLOBAL, id)
        .with(SCOPE, "below")
        .with(RESOURCE_GROUP, WATCHERS)
        .with(LOCATION, place.as_str())
        .with(TYPE, "microsoft.network/networkwatchers");
    vec![named(watcher, name)]
}

/// A resource group of a Shoot or its tenant.
struct Group<'a> {
    shoot: &'a Shoot<'a>,
    id: String,
}

impl<'a> Group<'a> {
    fn new(shoot: &'a Shoot<'a>, name: &str) -> Self {
        Self { shoot, id: format!("resourcegroups/{name}") }
    }

    fn itself(&self) -> Item {
        let name = self.id.rsplit('/').next().unwrap_or_default();
        let group = item("ResourceGroup", &Place::GLOBAL, self.id.as_str());
        named(group.with(SCOPE, "account").with(LOCATION, self.shoot.place.as_str()), name)
    }

    fn path(&self, path: &str) -> String {
        format!("{}/providers/microsoft.{path}", self.id)
    }

    /// An item in the group, at a path behind the namespace of Microsoft.
    fn item(&self, kind: &'static str, path: &str) -> Item {
        let name = path.rsplit('/').next().unwrap_or_default();
        let found = item(kind, &Place::GLOBAL, self.path(path))
            .with(SCOPE, "below")
            .with(RESOURCE_GROUP, self.id.as_str())
            .with(LOCATION, self.shoot.place.as_str())
            .with(CLUSTER, self.shoot.technical_id);
        named(found, name)
    }
}

fn leftovers(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let group = Group::new(shoot, shoot.technical_id);
    [
        network(&group),
        machine(&group),
        of_tenant(shoot, &group.path("network/virtualnetworks/nodes/subnets/nodes")),
    ]
    .concat()
}

fn network(group: &Group<'_>) -> Vec<(Item, Nature)> {
    let network = group.path("network/virtualnetworks/nodes");
    let subnet = group
        .item("Subnet", "network/virtualnetworks/nodes/subnets/nodes")
        .with(NETWORK, network)
        .with(SECURITY_GROUP, group.path("network/networksecuritygroups/workers"))
        .with(TABLE, group.path("network/routetables/worker_route_table"))
        .with(GATEWAY, group.path("network/natgateways/nat"));
    let mut items = ordinary(vec![
        group.item("VirtualNetwork", "network/virtualnetworks/nodes"),
        subnet,
        group.item("NetworkSecurityGroup", "network/networksecuritygroups/workers"),
        group.item("RouteTable", "network/routetables/worker_route_table"),
        group
            .item("NatGateway", "network/natgateways/nat")
            .with(ADDRESS, group.path("network/publicipaddresses/nat-ip")),
        group.item("PublicIpAddress", "network/publicipaddresses/nat-ip"),
        group
            .item("LoadBalancer", "network/loadbalancers/kubernetes")
            .with(ADDRESS, group.path("network/publicipaddresses/service-ip")),
        group.item("PublicIpAddress", "network/publicipaddresses/service-ip"),
        group
            .item("Resource", "managedidentity/userassignedidentities/nodes")
            .with(TYPE, "microsoft.managedidentity/userassignedidentities"),
    ]);
    items.push((group.itself(), Nature::slow(GROUP_TAKES)));
    items
}

/// A machine with its interface and disk, and the disk of a workload, with a snapshot.
fn machine(group: &Group<'_>) -> Vec<(Item, Nature)> {
    let held = ["network/networkinterfaces/node-nic", "compute/disks/node-os", "compute/disks/pvc-data"];
    let held = held.map(|path| group.path(path)).join(",");
    ordinary(vec![
        group.item("VirtualMachine", "compute/virtualmachines/node").with(HOLDS, held),
        group
            .item("NetworkInterface", "network/networkinterfaces/node-nic")
            .with(SUBNET, group.path("network/virtualnetworks/nodes/subnets/nodes")),
        group.item("Disk", "compute/disks/node-os").with(GOES_WITH_HOLDER, "true"),
        group.item("Disk", "compute/disks/pvc-data"),
        group.item("Snapshot", "compute/snapshots/pvc-data-snapshot"),
        group.item("AvailabilitySet", "compute/availabilitysets/workers"),
    ])
}

/// The tenant made a group of its own: its interface in the Shoot's subnet keeps the Shoot's group until it is gone. And it
/// gave a role to somebody, at the subscription.
fn of_tenant(shoot: &Shoot<'_>, subnet: &str) -> Vec<(Item, Nature)> {
    let group = Group::new(shoot, &format!("tools-of-{}", shoot.technical_id));
    let authorization = "providers/microsoft.authorization";
    let role = format!("{authorization}/roleassignments/friend-{}", shoot.technical_id);
    let vault = format!(
        "providers/microsoft.keyvault/locations/{}/deletedvaults/vault-{}",
        shoot.place, shoot.technical_id
    );
    let mut items = ordinary(vec![
        group.item("NetworkInterface", "network/networkinterfaces/jumphost-nic").with(SUBNET, subnet),
        group.item("Disk", "compute/disks/jumphost-os"),
        item("RoleAssignment", &Place::GLOBAL, role)
            .with(SCOPE, "account")
            .with(PRINCIPAL, "a-friend")
            .with(CREATOR, principal(shoot.account)),
        item("DeletedVault", &Place::GLOBAL, vault)
            .with(SCOPE, "account")
            .with(LOCATION, shoot.place.as_str()),
    ]);
    items.push((group.itself(), Nature::slow(SMALL_GROUP_TAKES)));
    items
}
