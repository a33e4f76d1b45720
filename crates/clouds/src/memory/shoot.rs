//! The leftovers of a Shoot.

use super::{Nature, model::model};
use allotment_core::cleanup::{
    Cloud as CloudName, CloudAccountId, Item, ItemId, KindName, Place, attribute::CLUSTER,
};

/// Everything that Gardener leaves in an account if a Shoot is deleted by force, with its workload's leftovers. Ids follow
/// from the technical id.
pub fn leftovers_of_shoot(
    cloud: CloudName,
    account: &CloudAccountId,
    technical_id: &str,
    place: &Place,
) -> Vec<(Item, Nature)> {
    (model(cloud).of_shoot)(&Shoot { account, technical_id, place })
}

/// A Shoot in an account.
pub(super) struct Shoot<'a> {
    pub(super) account: &'a CloudAccountId,
    pub(super) technical_id: &'a str,
    pub(super) place: &'a Place,
}

impl Shoot<'_> {
    /// An id for clouds that choose ids by themselves.
    pub(super) fn id(&self, prefix: &str) -> String {
        format!("{prefix}-{}", self.technical_id)
    }

    /// A name as Gardener chooses it.
    pub(super) fn name(&self, suffix: &str) -> String {
        format!("{}-{suffix}", self.technical_id)
    }

    pub(super) fn item(&self, kind: &'static str, id: impl Into<String>) -> Item {
        item(kind, self.place, id)
    }

    /// An item that tells its cluster, by a tag or its name.
    pub(super) fn tagged(&self, kind: &'static str, id: impl Into<String>) -> Item {
        self.item(kind, id).with(CLUSTER, self.technical_id)
    }
}

/// An item of a kind of the table.
pub(super) fn item(kind: &'static str, place: &Place, id: impl Into<String>) -> Item {
    Item::new(KindName::of(kind), place.clone(), ItemId::new(id))
}

/// The same with a name.
pub(super) fn named(mut item: Item, name: impl Into<String>) -> Item {
    item.name = Some(name.into());
    item
}

/// Items whose deletion takes no time.
pub(super) fn ordinary(items: Vec<Item>) -> Vec<(Item, Nature)> {
    items.into_iter().map(|item| (item, Nature::default())).collect()
}
