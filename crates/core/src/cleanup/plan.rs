//! What is deleted, in which order, and what is not.

use super::{
    Baseline, Disposition, Inventory, Item, ItemKey, Keep, KeptBecause, KindName, UnknownCell,
    disposition::Dispositions,
    kinds::{Prepare, table},
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What would be done about an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The deletions, in order.
    pub waves: Vec<Wave>,
    /// Items that go without a call of ours.
    pub leaving: Vec<Immovable>,
    /// Items that cannot go.
    pub immovable: Vec<Immovable>,
    /// Items that stay.
    pub kept: Vec<Kept>,
    /// Cells that nobody knows.
    pub unknown: Vec<UnknownCell>,
    /// Cells that nobody may list, of kinds that the configuration declares absent.
    pub assumed_absent: Vec<UnknownCell>,
}

/// Deletions that do not depend on each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wave {
    /// Its number in the table.
    pub number: u8,
    /// The items, by place and kind.
    pub items: Vec<Planned>,
}

/// One deletion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Planned {
    /// The item.
    pub item: Item,
    /// Calls before the deletion.
    #[serde(skip_serializing_if = "<[Prepare]>::is_empty")]
    pub prepare: &'static [Prepare],
}

/// An item that is not deleted, though it is not meant to stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Immovable {
    /// The item.
    pub item: Item,
    /// Why.
    pub because: String,
    /// What a person has to do; empty if nobody has to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remedy: String,
}

/// An item that stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// The item.
    pub item: Item,
    /// Why.
    pub because: KeptBecause,
}

/// Plans the deletion of everything that may go.
pub fn plan(inventory: &Inventory, keep: &Keep, baseline: Option<&Baseline>) -> Plan {
    let dispositions = Dispositions::of(inventory, keep, baseline);
    let mut plan = Plan { unknown: inventory.unknown(), ..Plan::default() };
    let mut waves: BTreeMap<u8, Vec<Planned>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut items: Vec<&Item> = inventory.items().collect();
    items.sort_by_key(|item| item.key());
    for item in items {
        // A page that moved while it was read shows an item twice.
        if !seen.insert(item.key()) {
            continue;
        }
        let kind = table(inventory.cloud).kind(item.kind.as_str());
        match (dispositions.get(&item.key()), kind) {
            (Some(Disposition::Delete), Some(kind)) => {
                let planned = Planned { item: item.clone(), prepare: kind.prepare };
                waves.entry(kind.wave).or_default().push(planned);
            }
            (Some(Disposition::Leaving { because }), _) => plan.leaving.push(Immovable {
                item: item.clone(),
                because: because.clone(),
                remedy: String::new(),
            }),
            (Some(Disposition::Immovable { because, remedy }), _) => plan.immovable.push(Immovable {
                item: item.clone(),
                because: because.clone(),
                remedy: remedy.clone(),
            }),
            (Some(Disposition::Kept { because }), _) => {
                plan.kept.push(Kept { item: item.clone(), because: because.clone() });
            }
            (Some(Disposition::Gone | Disposition::Delete) | None, _) => (),
        }
    }
    plan.waves = waves.into_iter().map(|(number, items)| Wave { number, items }).collect();
    plan
}

impl Plan {
    /// The same with kinds that the configuration declares absent. Only a missing permission can be assumed away: any
    /// other reason may be gone tomorrow, and so may the emptiness.
    #[must_use]
    pub fn assuming(mut self, assume_absent: &BTreeSet<KindName>) -> Self {
        let (assumed, unknown) =
            self.unknown.into_iter().partition(|cell| cell.is_assumed_absent(assume_absent));
        (self.assumed_absent, self.unknown) = (assumed, unknown);
        self
    }

    /// All deletions, in order.
    pub fn deletions(&self) -> impl Iterator<Item = &Planned> {
        self.waves.iter().flat_map(|wave| &wave.items)
    }

    /// Everything that still has to disappear.
    pub fn remaining(&self) -> BTreeSet<ItemKey> {
        let not_deleted = self.leaving.iter().chain(&self.immovable).map(|other| other.item.key());
        self.deletions().map(|planned| planned.item.key()).chain(not_deleted).collect()
    }

    /// The answer to whoever asks for a plan only.
    pub fn report(&self) -> String {
        if self.is_empty() {
            return "it is proven empty; cleanup.mode is plan, so it stays dirty".to_owned();
        }
        let counts = [
            (self.deletions().count(), "items would be deleted"),
            (self.leaving.len(), "go by themselves"),
            (self.immovable.len(), "cannot be deleted"),
            (self.unknown.len(), "kinds or regions could not be listed"),
        ];
        let told = counts.iter().enumerate().filter(|(place, (count, _))| *place == 0 || *count > 0);
        let told: Vec<String> = told.map(|(_, (count, words))| format!("{count} {words}")).collect();
        format!("{}; cleanup.mode is plan", told.join(", "))
    }

    /// Whether nothing is left and nothing is unknown.
    pub fn is_empty(&self) -> bool {
        self.remaining().is_empty() && self.unknown.is_empty()
    }
}
