//! What people and Shoots leave in an account, on each cloud.

use super::{REGION, deed::Leftover};
use allotment_clouds::memory::Nature;
use allotment_core::cleanup::{
    Cloud, Item, ItemId, KindName, Place, Refusal,
    attribute::{CLUSTER, DEVICE_OWNER, LOCATION, MANAGED, RESOURCE_GROUP, STATE, TYPE},
};
use std::time::Duration;

/// The kinds whose permission people take away. Each cloud has as many, so that the draws of all clouds are the same; the first is
/// the kind of [`Leftover::Plain`].
pub(super) const fn kinds_to_deny(cloud: Cloud) -> [&'static str; 6] {
    match cloud {
        Cloud::Aws => ["Snapshot", "Volume", "Vpc", "NetworkInterface", "Role", "KeyPair"],
        Cloud::Azure => {
            ["Deployment", "ResourceGroup", "VirtualNetwork", "NetworkInterface", "RoleAssignment", "Disk"]
        }
        Cloud::Gcp => ["Snapshot", "Disk", "Network", "Firewall", "ServiceAccount", "Instance"],
        Cloud::OpenStack => ["VolumeSnapshot", "Volume", "Network", "Port", "SecurityGroup", "KeyPair"],
        Cloud::Alicloud => ["Snapshot", "Disk", "Vpc", "NetworkInterface", "SecurityGroup", "KeyPair"],
    }
}

/// Storage that a workload made.
pub(super) fn volume(cloud: Cloud, name: &str) -> Item {
    match cloud {
        Cloud::Aws | Cloud::OpenStack => regional("Volume", name),
        // A disk is in a group, which takes it along.
        Cloud::Azure => global("ResourceGroup", format!("resourcegroups/{name}")).with(LOCATION, REGION),
        Cloud::Gcp => regional("Disk", &format!("{REGION}-b/disks/{name}")).with(STATE, "READY"),
        Cloud::Alicloud => regional("Disk", name),
    }
}

/// Something small that nothing else needs.
pub(super) fn plain(cloud: Cloud, name: &str) -> Item {
    match cloud {
        Cloud::Aws | Cloud::Alicloud => regional("Snapshot", name),
        Cloud::Azure => global("Deployment", format!("providers/microsoft.resources/deployments/{name}")),
        Cloud::Gcp => global("Snapshot", format!("snapshots/{name}")),
        Cloud::OpenStack => regional("VolumeSnapshot", name),
    }
}

/// Something whose deletion takes time.
fn slow(cloud: Cloud, name: &str) -> Item {
    match cloud {
        Cloud::Aws => regional("Instance", name).with(STATE, "running"),
        Cloud::Azure => volume(cloud, name),
        Cloud::Gcp => regional("Instance", &format!("{REGION}-b/instances/{name}")).with(STATE, "RUNNING"),
        Cloud::OpenStack => regional("Server", name).with(STATE, "ACTIVE"),
        Cloud::Alicloud => regional("Instance", name).with(STATE, "Running"),
    }
}

/// Something that counts see, if its list does not show it.
fn counted(cloud: Cloud, name: &str) -> Item {
    let tagged = |item: Item| item.with(CLUSTER, "shoot--sim--gone");
    match cloud {
        Cloud::Aws | Cloud::Gcp | Cloud::OpenStack => tagged(volume(cloud, name)),
        Cloud::Azure => tagged(in_group("Disk", name, "microsoft.compute/disks")),
        // Disks are in no count of Alibaba Cloud.
        Cloud::Alicloud => tagged(regional("NetworkInterface", name)),
    }
}

/// Something that no list shows: a kind without a row, or the part of one that only counts show.
fn strange(cloud: Cloud, name: &str) -> (Item, Nature) {
    let hidden = |item: Item| (item, Nature { hidden: true, ..Nature::default() });
    let shown = |item: Item| (item, Nature::default());
    match cloud {
        Cloud::Aws => shown(regional("CarrierGateway", name).with(CLUSTER, "shoot--sim--gone")),
        Cloud::Azure => {
            let kind = "microsoft.network/applicationgateways";
            hidden(in_group("Resource", name, kind).with(TYPE, kind))
        }
        Cloud::Gcp => shown(global("Interconnect", format!("interconnects/{name}"))),
        // A database holds a port.
        Cloud::OpenStack => hidden(regional("Port", name).with(DEVICE_OWNER, "trove:database")),
        Cloud::Alicloud => hidden(regional("NetworkInterface", name).with(MANAGED, "true")),
    }
}

/// The item that somebody leaves, and its behaviour.
pub(super) fn left(cloud: Cloud, name: &str, what: Leftover, time: Duration) -> (Item, Nature) {
    let ordinary = Nature::default();
    let locked = Refusal::Locked { code: "OperationNotPermitted".to_owned(), by: "a lock".to_owned() };
    match what {
        Leftover::Plain => (plain(cloud, name), ordinary),
        Leftover::Late => (volume(cloud, name), Nature { appears_after: time, ..ordinary }),
        Leftover::Hidden => (counted(cloud, name), Nature { hidden: true, ..ordinary }),
        Leftover::Locked => (plain(cloud, name), Nature { refuses: Some(locked), ..ordinary }),
        Leftover::Slow => (slow(cloud, name), Nature::slow(time)),
        Leftover::Strange => strange(cloud, name),
    }
}

/// The ids that an item of this name can have: people name them before they know what it is.
pub(super) fn ids(cloud: Cloud, name: &str) -> Vec<ItemId> {
    let items = [volume(cloud, name), plain(cloud, name), slow(cloud, name), counted(cloud, name)];
    let mut ids: Vec<ItemId> =
        items.into_iter().chain([strange(cloud, name).0]).map(|item| item.id).collect();
    ids.sort();
    ids.dedup();
    ids
}

/// Whether something that a Shoot made stays in the account when Gardener deletes the Shoot.
pub(super) fn outlives_shoot(cloud: Cloud, item: &Item) -> bool {
    let kind = item.kind.as_str();
    match cloud {
        Cloud::Aws => matches!(kind, "Volume" | "Snapshot" | "KeyPair"),
        Cloud::Azure => {
            let is_of_tenant = item.id.as_str().starts_with("resourcegroups/tools-of-");
            is_of_tenant || matches!(kind, "RoleAssignment" | "DeletedVault")
        }
        Cloud::Gcp => matches!(kind, "Disk" | "Snapshot" | "ServiceAccount" | "ProjectMetadata"),
        Cloud::OpenStack => matches!(kind, "Volume" | "VolumeSnapshot" | "KeyPair"),
        Cloud::Alicloud => matches!(kind, "Disk" | "Snapshot" | "KeyPair" | "AccessControlList"),
    }
}

fn regional(kind: &'static str, id: &str) -> Item {
    Item::new(KindName::of(kind), Place::of(REGION), ItemId::new(id))
}

fn global(kind: &'static str, id: String) -> Item {
    Item::new(KindName::of(kind), Place::GLOBAL, ItemId::new(id))
}

/// A resource in a group of its own.
fn in_group(kind: &'static str, name: &str, of_type: &str) -> Item {
    let group = format!("resourcegroups/{name}");
    let item = global(kind, format!("{group}/providers/{of_type}/{name}"));
    item.with(RESOURCE_GROUP, group).with(LOCATION, REGION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use allotment_core::cleanup::{Scope, kinds::table};

    #[test]
    fn kinds_are_those_of_the_table_and_where_it_has_them() {
        for cloud in Cloud::ALL {
            assert!(kinds_to_deny(cloud).iter().all(|kind| table(cloud).kind(kind).is_some()), "{cloud}");
            assert_eq!(plain(cloud, "x").kind.as_str(), kinds_to_deny(cloud)[0]);
            for item in [volume(cloud, "x"), plain(cloud, "x"), slow(cloud, "x"), counted(cloud, "x")] {
                let kind =
                    table(cloud).kind(item.kind.as_str()).unwrap_or_else(|| panic!("{cloud} {}", item.kind));
                assert_eq!(
                    matches!(kind.scope, Scope::Regional),
                    !item.place.is_global(),
                    "{cloud} {}",
                    item.kind
                );
                assert!(ids(cloud, "x").contains(&item.id), "{cloud} {}", item.id);
            }
            let (strange, nature) = strange(cloud, "x");
            assert!(nature.hidden || table(cloud).kind(strange.kind.as_str()).is_none(), "{cloud}");
        }
    }
}
