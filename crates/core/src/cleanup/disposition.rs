//! Which treatment each item of an inventory gets.

use super::{
    Baseline, Cell, Inventory, Item, ItemId, ItemKey, Keep, KindName, Place, attribute,
    kinds::{Kind, Treatment, When, table},
};
use serde::Serialize;
use std::{collections::BTreeMap, fmt};

/// What is to happen to an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "disposition")]
pub enum Disposition {
    /// It is deleted.
    Delete,
    /// It stays.
    Kept {
        /// Why.
        because: KeptBecause,
    },
    /// The cloud shows it, but it is gone.
    Gone,
    /// It goes without a call of ours.
    Leaving {
        /// Why.
        because: String,
    },
    /// It cannot be deleted, or nobody knows whether it may be.
    Immovable {
        /// Why.
        because: String,
        /// What a person has to do.
        remedy: String,
    },
}

/// Why an item stays.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", tag = "source", content = "because")]
pub enum KeptBecause {
    /// People, or a past Shoot, named it.
    Keep(String),
    /// It is older than the first tenant.
    Baseline,
    /// A never-delete rule of the table.
    Rule(String),
    /// It is part of an item that stays.
    PartOf(String),
}

impl fmt::Display for KeptBecause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keep(because) | Self::Rule(because) => formatter.write_str(because),
            Self::Baseline => formatter.write_str("it is in the baseline"),
            Self::PartOf(other) => write!(formatter, "it is part of {other}, which stays"),
        }
    }
}

impl Disposition {
    /// Whether it is still to be seen in an empty account.
    pub fn stays(&self) -> bool {
        matches!(self, Self::Kept { .. })
    }

    fn care(&self) -> u8 {
        match self {
            Self::Gone => 0,
            Self::Delete => 1,
            Self::Leaving { .. } => 2,
            Self::Immovable { .. } => 3,
            Self::Kept { .. } => 4,
        }
    }
}

/// A dependency of a rule that could not be resolved.
struct Unresolved(String);

/// The disposition of every item of an inventory.
pub(super) struct Dispositions<'a> {
    inventory: &'a Inventory,
    keep: &'a Keep,
    baseline: Option<&'a Baseline>,
    of: BTreeMap<ItemKey, Disposition>,
}

impl<'a> Dispositions<'a> {
    /// Judges every item, those first that others refer to.
    pub(super) fn of(inventory: &'a Inventory, keep: &'a Keep, baseline: Option<&'a Baseline>) -> Self {
        let mut dispositions = Self { inventory, keep, baseline, of: BTreeMap::new() };
        let mut kinds: Vec<&Kind> = table(inventory.cloud).kinds.iter().collect();
        kinds.sort_by_key(|kind| depth(inventory, kind));
        for kind in kinds {
            for item in inventory.items().filter(|item| item.kind.as_str() == kind.name) {
                let disposition = dispositions.judge(kind, item);
                dispositions.add(item.key(), disposition);
            }
        }
        dispositions.hold_networks();
        for item in inventory.items() {
            dispositions.of.entry(item.key()).or_insert_with(|| Disposition::Immovable {
                because: format!("the table of {} has no kind {}", inventory.cloud, item.kind),
                remedy: "delete it by hand".to_owned(),
            });
        }
        dispositions
    }

    /// No cloud deletes a network with an item in it that stays. It is not kept in silence: a tenant may have made it, and put the item there. Named
    /// items of Azure name their resource groups, too.
    fn hold_networks(&mut self) {
        let mut going: BTreeMap<&str, Vec<&ItemKey>> = BTreeMap::new();
        for (key, _) in self.of.iter().filter(|(_, disposition)| **disposition == Disposition::Delete) {
            going.entry(key.id.as_str()).or_default().push(key);
        }
        let mut held = Vec::new();
        for item in
            self.inventory.items().filter(|item| self.get(&item.key()).is_some_and(Disposition::stays))
        {
            let (Some(because), Some(network)) = (self.named(item), item.attribute(attribute::NETWORK))
            else {
                continue;
            };
            let keys = going.get(network).into_iter().flatten();
            for key in keys.filter(|key| key.place == item.place || key.place == Place::GLOBAL) {
                held.push(((*key).clone(), format!("{} is in it and stays: {because}", item.key())));
            }
        }
        for (key, because) in held {
            let remedy = "add its id to the keep list, too, or take that item out of it".to_owned();
            self.of.insert(key, Disposition::Immovable { because, remedy });
        }
    }

    /// The reason why an item stays, whatever the rules of the table say.
    fn named(&self, item: &Item) -> Option<KeptBecause> {
        // Never by name: a tenant chooses names, and could keep items for the next tenant.
        if let Some(because) = self.keep.reason(item.id.as_str()) {
            return Some(KeptBecause::Keep(because.to_owned()));
        }
        self.baseline.is_some_and(|baseline| baseline.has(item)).then_some(KeptBecause::Baseline)
    }

    /// Pages that move while they are read can show an id twice, before and after it was replaced: the more careful
    /// disposition counts.
    fn add(&mut self, key: ItemKey, disposition: Disposition) {
        let known = self.of.entry(key).or_insert(Disposition::Gone);
        if disposition.care() > known.care() {
            *known = disposition;
        }
    }

    /// The disposition of an item of the inventory.
    pub(super) fn get(&self, key: &ItemKey) -> Option<&Disposition> {
        self.of.get(key)
    }

    /// All of them, in order of place, kind and id.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&ItemKey, &Disposition)> {
        self.of.iter()
    }

    /// Whether the cloud shows it, though it is gone.
    pub(super) fn is_gone(&self, key: &ItemKey) -> bool {
        self.get(key) == Some(&Disposition::Gone)
    }

    fn judge(&self, kind: &Kind, item: &Item) -> Disposition {
        if kind.is_gone(item) {
            return Disposition::Gone;
        }
        if let Some(because) = self.named(item) {
            return kept(because);
        }
        let judged = self.by_rules(kind, item);
        match (judged, self.existing_network(item)) {
            (Disposition::Delete, Some((what, id))) => Disposition::Immovable {
                because: format!(
                    "it is in the existing {what} {id}, and no tag names a cluster that made it"
                ),
                remedy: "add its id to the keep list, or delete it by hand".to_owned(),
            },
            (judged, _) => judged,
        }
    }

    fn by_rules(&self, kind: &Kind, item: &Item) -> Disposition {
        for (when, treatment) in kind.rules {
            match self.matches(when, item) {
                Ok(true) => return self.treat(treatment, item),
                Ok(false) => (),
                Err(unresolved) => return undecided(&unresolved),
            }
        }
        Disposition::Delete
    }

    /// Gardener tags everything that it makes. An item in a network or resource group that somebody brought, without such
    /// a tag, may be theirs: neither kept in silence nor deleted.
    fn existing_network(&self, item: &Item) -> Option<(&'static str, &'a str)> {
        let holders = [("network", attribute::NETWORK), ("resource group", attribute::RESOURCE_GROUP)];
        let brought = holders.into_iter().find_map(|(what, name)| {
            let holder = item.attribute(name)?;
            self.keep.ids().find(|id| *id == holder).map(|id| (what, id))
        })?;
        item.attribute(attribute::CLUSTER).is_none().then_some(brought)
    }

    fn matches(&self, when: &When, item: &Item) -> Result<bool, Unresolved> {
        let value = |name: &str| item.attribute(name);
        let name = item.name.as_deref();
        Ok(match when {
            When::Is(attribute, values) => value(attribute).is_some_and(|value| values.contains(&value)),
            When::IsNot(attribute, values) => value(attribute).is_some_and(|value| !values.contains(&value)),
            When::StartsWith(attribute, starts) => {
                value(attribute).is_some_and(|value| starts.iter().any(|start| value.starts_with(start)))
            }
            When::Named(names) => name.is_some_and(|name| names.contains(&name)),
            When::NamedLike(starts) => {
                name.is_some_and(|name| starts.iter().any(|start| name.starts_with(start)))
            }
            When::Foreign(attribute) => {
                value(attribute).is_some_and(|owner| owner != self.inventory.account.as_str())
            }
            When::OurPrincipal(attribute) => {
                value(attribute).is_some_and(|own| own == self.inventory.principal)
            }
            When::Differ(left, right) => {
                value(left).zip(value(right)).is_some_and(|(left, right)| left != right)
            }
            When::InStaying(attribute, kind) => self.why_staying(item, kind, value(attribute))?.is_some(),
            When::InStayingUnnamed(attribute, kind) => {
                let because = self.why_staying(item, kind, value(attribute))?;
                matches!(because, Some(KeptBecause::Rule(_) | KeptBecause::Baseline))
            }
            When::InBaseline(attribute, kind) => {
                self.why_staying(item, kind, value(attribute))? == Some(&KeptBecause::Baseline)
            }
            When::UsedByStaying(kind, attribute) => {
                self.is_used(item, kind, attribute, Disposition::stays)?
            }
            When::UsedByBaseline(kind, attribute) => {
                let is_in_baseline = |other: &Disposition| *other == kept(KeptBecause::Baseline);
                self.is_used(item, kind, attribute, is_in_baseline)?
            }
            When::All(all) => {
                for when in *all {
                    if !self.matches(when, item)? {
                        return Ok(false);
                    }
                }
                true
            }
            When::Always => true,
        })
    }

    /// The reason why an item stays that this one names; none if it goes, or none is named.
    fn why_staying(
        &self,
        item: &Item,
        kind: &'static str,
        id: Option<&str>,
    ) -> Result<Option<&KeptBecause>, Unresolved> {
        let Some(id) = id else { return Ok(None) };
        match self.find(item, kind, id)? {
            (_, Disposition::Kept { because }) => Ok(Some(because)),
            (other, Disposition::Immovable { .. }) => Err(unclear(&other)),
            _ => Ok(None),
        }
    }

    fn treat(&self, treatment: &Treatment, item: &Item) -> Disposition {
        match treatment {
            Treatment::Delete => Disposition::Delete,
            Treatment::Gone => Disposition::Gone,
            Treatment::Keep(because) => kept(KeptBecause::Rule((*because).to_owned())),
            Treatment::Leaving(because) => Disposition::Leaving { because: (*because).to_owned() },
            Treatment::Immovable { because, remedy } => {
                Disposition::Immovable { because: (*because).to_owned(), remedy: (*remedy).to_owned() }
            }
            Treatment::GoesWith { attribute, kind } => {
                let Some(id) = item.attribute(attribute) else {
                    return undecided(&Unresolved(format!("the cloud did not name its {kind}")));
                };
                match self.find(item, kind, id) {
                    Ok((
                        other,
                        Disposition::Kept { because: KeptBecause::Rule(_) | KeptBecause::Baseline },
                    )) => kept(KeptBecause::Rule(format!("it is part of {other}, which stays"))),
                    Ok((other, Disposition::Kept { .. })) => kept(KeptBecause::PartOf(other.to_string())),
                    Ok((other, Disposition::Immovable { .. })) => undecided(&unclear(&other)),
                    Ok((other, _)) => Disposition::Leaving { because: format!("it goes with {other}") },
                    Err(unresolved) => undecided(&unresolved),
                }
            }
        }
    }

    /// Another item in the same place, or of a kind that is in no region. One that is not there may have been deleted between two calls, or be hidden: the
    /// next listing tells.
    fn find(&self, item: &Item, kind: &'static str, id: &str) -> Result<(ItemKey, &Disposition), Unresolved> {
        let is_global = table(self.inventory.cloud)
            .kind(kind)
            .is_some_and(|kind| !matches!(kind.scope, super::Scope::Regional));
        let place = if is_global { Place::GLOBAL } else { item.place.clone() };
        let key = ItemKey { place, kind: KindName::of(kind), id: ItemId::new(id) };
        match self.of.get(&key) {
            Some(disposition) => Ok((key, disposition)),
            None => Err(Unresolved(format!("{key} was not listed, so nobody knows whether it stays"))),
        }
    }

    fn is_used(
        &self,
        item: &Item,
        kind: &'static str,
        attribute: &str,
        by: impl Fn(&Disposition) -> bool,
    ) -> Result<bool, Unresolved> {
        match self.inventory.cell(&item.place, &KindName::of(kind)) {
            Cell::Listed { items } => Ok(items.iter().any(|other| {
                self.of.get(&other.key()).is_some_and(&by)
                    && other.attribute(attribute) == Some(item.id.as_str())
            })),
            Cell::Absent { .. } => Ok(false),
            Cell::Unknown { .. } => Err(Unresolved(format!("{kind} in {} was not listed", item.place))),
        }
    }
}

fn unclear(other: &ItemKey) -> Unresolved {
    Unresolved(format!("it is not clear whether {other} stays"))
}

fn kept(because: KeptBecause) -> Disposition {
    Disposition::Kept { because }
}

fn undecided(Unresolved(because): &Unresolved) -> Disposition {
    Disposition::Immovable {
        because: because.clone(),
        remedy: "it is judged again after the next listing; if this stays, grant the missing permission"
            .to_owned(),
    }
}

/// How many kinds have to be judged before this one. Tables have no cycles; a test says so.
fn depth(inventory: &Inventory, kind: &Kind) -> usize {
    let parents = kind.refers_to().into_iter().filter_map(|name| table(inventory.cloud).kind(name));
    parents.map(|parent| depth(inventory, parent) + 1).max().unwrap_or(0)
}
