//! Items that stay: named by people, named by past Shoots, or older than the first tenant.

use super::{
    Cloud, CloudAccountId, Count, CountName, Inventory, Item, ItemKey, Place, Witness,
    disposition::Dispositions,
    kinds::{azure_existing, azure_holders, azure_id},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// Ids that are never deleted, each with the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    ids: BTreeMap<String, String>,
}

/// Where an infrastructureConfig names things that were there before the Shoot.
const AWS_EXISTING: &[&str] = &["/networks/vpc/id", "/elasticFileSystem/id"];
const AZURE_EXISTING: &[&str] = &["/networks/vnet/ddosProtectionPlanID"];
/// Names only, where ids are paths; a subnetwork is in one region, and the configuration does not name it.
const GCP_EXISTING: &[(&str, &str)] = &[
    ("/networks/vpc/name", "networks/"),
    ("/networks/vpc/cloudRouter/name", "routers/"),
    ("/networks/subnetWorkers/name", "subnetworks/"),
    ("/networks/subnetInternal/name", "subnetworks/"),
    ("/networks/subnetServices/name", "subnetworks/"),
];
const ALICLOUD_EXISTING: &[&str] = &["/networks/vpc/id", "/networks/nodesSecurityGroupID"];
const OPENSTACK_EXISTING: &[&str] = &["/networks/id", "/networks/subnetId", "/networks/router/id"];

/// The same for each zone: AWS has the first, Alibaba Cloud the others.
const ZONE_EXISTING: &[&str] =
    &["/elasticIPAllocationID", "/natGateway/eipAllocationID", "/workersVSwitchID"];

impl Keep {
    /// Adds an id. Upper and lower case are the same: who wrote the other one meant the item all the same. One of Azure keeps what it is
    /// in, too: a resource group takes everything in it along.
    pub fn add(&mut self, id: impl Into<String>, because: impl Into<String>) {
        let (id, because) = (id.into(), because.into());
        let Some(id) = azure_id(&id) else {
            self.ids.entry(id.to_ascii_lowercase()).or_insert(because);
            return;
        };
        for holder in azure_holders(&id) {
            self.ids
                .entry(holder.to_ascii_lowercase())
                .or_insert_with(|| format!("it holds {id}: {because}"));
        }
        self.ids.insert(id.to_ascii_lowercase(), because);
    }

    /// Adds the existing networks, routers, addresses and file systems that the infrastructureConfig of a Shoot names.
    pub fn add_existing(&mut self, cloud: Cloud, shoot: &str, infrastructure_config: &Value) {
        let pointers = match cloud {
            Cloud::Aws => AWS_EXISTING,
            Cloud::Azure => AZURE_EXISTING,
            Cloud::Gcp => return self.add_existing_of_gcp(shoot, infrastructure_config),
            Cloud::OpenStack => OPENSTACK_EXISTING,
            Cloud::Alicloud => ALICLOUD_EXISTING,
        };
        let named = pointers.iter().filter_map(|pointer| infrastructure_config.pointer(pointer));
        let zones = infrastructure_config.pointer("/networks/zones").and_then(Value::as_array);
        let parts = zones
            .into_iter()
            .flatten()
            .flat_map(|zone| ZONE_EXISTING.iter().filter_map(move |pointer| zone.pointer(pointer)));
        let because = format!("the infrastructureConfig of {shoot} names it as existing");
        for id in named.chain(parts).filter_map(Value::as_str).filter(|id| !id.is_empty()) {
            self.add(id, because.as_str());
        }
        if cloud == Cloud::Azure {
            for id in azure_existing(infrastructure_config) {
                self.add(id, because.as_str());
            }
        }
    }

    fn add_existing_of_gcp(&mut self, shoot: &str, infrastructure_config: &Value) {
        let name = |value: &Value| value.as_str().filter(|name| !name.is_empty()).map(str::to_owned);
        let found = GCP_EXISTING.iter().filter_map(|(pointer, path)| {
            Some(format!("{path}{}", infrastructure_config.pointer(pointer).and_then(name)?))
        });
        let addresses =
            infrastructure_config.pointer("/networks/cloudNAT/natIPNames").and_then(Value::as_array);
        let addresses =
            addresses.into_iter().flatten().filter_map(|address| address.get("name").and_then(name));
        for id in found.chain(addresses.map(|name| format!("addresses/{name}"))) {
            self.add(id, format!("the infrastructureConfig of {shoot} names it as existing"));
        }
    }

    /// Why an id stays.
    pub fn reason(&self, id: &str) -> Option<&str> {
        self.ids.get(&id.to_ascii_lowercase()).map(String::as_str)
    }

    /// Ids that no item of the inventory has, each with an item whose id is nearly the same: somebody may have misspelt it, and the item goes.
    pub fn near_misses(&self, inventory: &Inventory) -> Vec<(String, ItemKey)> {
        let there: BTreeSet<String> =
            inventory.items().map(|item| item.id.as_str().to_ascii_lowercase()).collect();
        let missing = self.ids.keys().filter(|id| !there.contains(*id));
        let near = |id: &String| {
            let mut items = inventory.items();
            let near = items.find(|item| is_near(id, &item.id.as_str().to_ascii_lowercase()))?;
            Some((id.clone(), near.key()))
        };
        missing.filter_map(near).collect()
    }

    /// All ids.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.ids.keys().map(String::as_str)
    }
}

/// Everything that was in an account while it was free and never used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Baseline {
    /// The account.
    pub account: CloudAccountId,
    /// The time of the listing.
    pub taken_at: Timestamp,
    /// The places that were enabled.
    pub places: BTreeSet<Place>,
    /// The items.
    pub items: Vec<BaselineItem>,
    /// The independent numbers.
    pub counts: Vec<BaselineCount>,
    /// Ids that only a count showed: kinds without a row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<BaselineSeen>,
}

/// An id that only a count showed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BaselineSeen {
    /// The place of the count.
    pub place: Place,
    /// The count.
    pub count: CountName,
    /// The id.
    pub id: String,
}

/// An item of a baseline.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BaselineItem {
    /// The item.
    #[serde(flatten)]
    pub key: ItemKey,
    /// Tells it from a successor with the same id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<String>,
}

/// A number of a baseline.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BaselineCount {
    /// The place of the count.
    pub place: Place,
    /// The count.
    pub count: CountName,
    /// What the count shows beyond the items that the listing shows: hidden parts that the cloud counts.
    pub hidden: u64,
}

impl Baseline {
    /// Takes a baseline. Whatever is unknown is not in it, so a blind baseline protects less and never hides anything.
    pub fn take(inventory: &Inventory, witness: Option<&Witness>) -> Self {
        let nothing = Keep::default();
        let dispositions = Dispositions::of(inventory, &nothing, None);
        let mut items: Vec<_> = inventory
            .items()
            .filter(|item| !dispositions.is_gone(&item.key()))
            .map(|item| BaselineItem { key: item.key(), incarnation: item.incarnation.clone() })
            .collect();
        items.sort();
        items.dedup();
        let places = inventory.enabled_places().into_iter().collect();
        let counts = witness.map(|witness| hidden(inventory, witness, &dispositions)).unwrap_or_default();
        let seen = witness.map(|witness| seen(inventory, witness, &items)).unwrap_or_default();
        let (account, taken_at) = (inventory.account.clone(), inventory.started_at);
        Self { account, taken_at, places, items, counts, seen }
    }

    /// Whether a count showed this id.
    pub fn has_seen(&self, place: &Place, count: &CountName, id: &str) -> bool {
        self.seen.iter().any(|seen| seen.place == *place && seen.count == *count && seen.id == id)
    }

    /// Whether this very item was there. A listing can show an id twice: one that is gone, and its successor.
    pub fn has(&self, item: &Item) -> bool {
        let key = item.key();
        self.items.iter().any(|known| known.key == key && known.incarnation == item.incarnation)
    }

    /// What a count showed beyond the listing.
    pub fn hidden(&self, place: &Place, count: &CountName) -> u64 {
        let same = |known: &&BaselineCount| known.place == *place && known.count == *count;
        self.counts.iter().find(same).map_or(0, |known| known.hidden)
    }

    /// A SHA-256 of it, in hexadecimal.
    pub fn digest(&self) -> String {
        hex_digest(&serde_json::to_vec(self).unwrap_or_default())
    }
}

fn seen(inventory: &Inventory, witness: &Witness, items: &[BaselineItem]) -> Vec<BaselineSeen> {
    let mut seen = Vec::new();
    for (place, kind) in witness.expected(inventory) {
        if let Count::Seen { ids } = witness.count(&place, &kind.name()) {
            let is_listed =
                |id: &String| items.iter().any(|item| item.key.place == place && item.key.id.as_str() == id);
            let others = ids.into_iter().filter(|id| !is_listed(id));
            seen.extend(others.map(|id| BaselineSeen { place: place.clone(), count: kind.name(), id }));
        }
    }
    seen
}

/// A SHA-256 in hexadecimal.
pub(super) fn hex_digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hidden(inventory: &Inventory, witness: &Witness, dispositions: &Dispositions) -> Vec<BaselineCount> {
    let mut counts = Vec::new();
    for (place, kind) in witness.expected(inventory) {
        if let Count::Known { number } = witness.count(&place, &kind.name()) {
            let listed = own_items(inventory, &place, kind.of)
                .filter(|item| !dispositions.is_gone(&item.key()))
                .count();
            let hidden = number.saturating_sub(u64::try_from(listed).unwrap_or(u64::MAX));
            if hidden > 0 {
                counts.push(BaselineCount { place, count: kind.name(), hidden });
            }
        }
    }
    counts
}

/// The items of these kinds in a place that belong to the account: a quota counts no others. One of the whole account
/// counts those of all regions.
pub(super) fn own_items<'a>(
    inventory: &'a Inventory,
    place: &'a Place,
    kinds: &'a [&'static str],
) -> impl Iterator<Item = &'a Item> {
    inventory.items().filter(move |item| {
        let owner = item.attribute(super::attribute::OWNER);
        let location = item.attribute(super::attribute::LOCATION).unwrap_or(item.place.as_str());
        (place.is_global() || location == place.as_str())
            && kinds.contains(&item.kind.as_str())
            && owner.is_none_or(|owner| owner == inventory.account.as_str())
    })
}

/// Whether two ids differ in one place only, by at most two letters. Clouds make ids by chance, so no two of them are that near.
fn is_near(one: &str, other: &str) -> bool {
    const SHORTEST: usize = 8;
    const MOST: usize = 2;
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let most = one.len().min(other.len());
    let before = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let after = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    let same = most.min(before + after);
    most >= SHORTEST && one.len().max(other.len()) - same <= MOST
}
