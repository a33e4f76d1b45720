//! The second source: counts that see more than lists.

use super::{
    MemoryClient,
    account::Shown,
    calls,
    client::{Target, is_of},
    model::Model,
};
use crate::Refusal;
use allotment_core::cleanup::{
    Count, CountName, Item, Place, Scope,
    attribute::{CLUSTER, DEFAULT, OWNER},
    kinds::{CountKind, table},
};
use std::collections::{BTreeMap, BTreeSet};

/// Counts, and the attribute or the kind that is particular to each.
type Particulars = &'static [(&'static str, &'static str)];

impl MemoryClient {
    /// Counts that name what they saw, one after the other.
    pub(super) async fn count_by_name(
        &self,
        place: &Place,
        tags_of: &'static str,
    ) -> BTreeMap<CountName, Count> {
        let mut counts = BTreeMap::new();
        for count in counts_of(self.model, place) {
            let seen = self.seen(place, count, tags_of).await;
            counts.insert(
                count.name(),
                seen.map_or_else(|refusal| refused(&refusal), |ids| Count::Seen { ids }),
            );
        }
        counts
    }

    async fn seen(
        &self,
        place: &Place,
        count: &CountKind,
        tags_of: &'static str,
    ) -> Result<BTreeSet<String>, Refusal> {
        let kinds: Vec<_> = count.of.iter().filter_map(|kind| self.model.row(kind)).collect();
        let names = kinds.iter().map(|kind| self.names(kind)).collect::<Result<Vec<_>, _>>()?;
        let asked_for = names.iter().flatten().map(BTreeSet::len).sum();
        let calls = calls::of_count(self.model, place, asked_for, count.name);
        self.call(count.permission, calls, |target| {
            target.faults.count(self.model, count)?;
            let is_counted = |item: &Item| {
                if count.of.is_empty() {
                    return is_tagged(self.model, item, tags_of);
                }
                let mut kinds = kinds.iter().zip(&names);
                let is_default = item.attribute(DEFAULT) == Some("true");
                !is_default && kinds.any(|(kind, names)| is_of(item, kind, names.as_ref()))
            };
            // Tags are shown as long as their item is.
            let is_there = |shown: &Shown| count.of.is_empty() || !shown.is_gone;
            let counted = target.shown(place, is_counted)?.into_iter().filter(is_there);
            Ok(counted.map(|shown| shown.item.id.as_str().to_owned()).collect())
        })
        .await
    }

    /// Counts that are numbers. One call has all of those that need the same permission.
    pub(super) async fn count_by_number(
        &self,
        place: &Place,
        sums: Particulars,
        without_row: Particulars,
    ) -> BTreeMap<CountName, Count> {
        let mut sources: BTreeMap<&str, Vec<&CountKind>> = BTreeMap::new();
        for count in counts_of(self.model, place) {
            sources.entry(count.permission).or_default().push(count);
        }
        let mut counts = BTreeMap::new();
        for (permission, of_source) in sources {
            let calls = calls::of_count(self.model, place, 0, permission);
            let numbers = self.call(permission, calls, |target| {
                let numbers = of_source.iter().map(|count| {
                    let number = self.number(&target, place, count, sums, without_row);
                    let number =
                        number.map_or_else(|refusal| refused(&refusal), |number| Count::Known { number });
                    (count.name(), number)
                });
                Ok(numbers.collect::<Vec<_>>())
            });
            let numbers = numbers.await;
            let all_refused =
                |refusal: Refusal| of_source.iter().map(|count| (count.name(), refused(&refusal))).collect();
            counts.extend(numbers.unwrap_or_else(all_refused));
        }
        counts
    }

    fn number(
        &self,
        target: &Target<'_>,
        place: &Place,
        count: &CountKind,
        sums: Particulars,
        without_row: Particulars,
    ) -> Result<u64, Refusal> {
        target.faults.count(self.model, count)?;
        let own = target.account.id.as_str();
        let strange = without_row.iter().find(|(name, _)| *name == count.name).map(|(_, kind)| *kind);
        let is_counted = |item: &Item| {
            let kind = item.kind.as_str();
            item.attribute(OWNER) == Some(own) && (count.of.contains(&kind) || strange == Some(kind))
        };
        let summed = sums.iter().find(|(name, _)| *name == count.name).map(|(_, attribute)| *attribute);
        let counted = target.counted(place, is_counted)?.into_iter().filter(|shown| !shown.is_gone);
        let weight = |item: &Item| {
            let value = summed.and_then(|attribute| item.attribute(attribute));
            value.and_then(|value| value.parse().ok()).unwrap_or(1)
        };
        Ok(counted.map(|shown| weight(&shown.item)).fold(0, u64::saturating_add))
    }
}

/// The counts that are taken in a place.
fn counts_of(model: &Model, place: &Place) -> impl Iterator<Item = &'static CountKind> {
    let is_global = place.is_global();
    table(model.cloud).counts.iter().filter(move |count| matches!(count.scope, Scope::Regional) != is_global)
}

fn refused(refusal: &Refusal) -> Count {
    Count::Refused { because: refusal.to_string(), missing: refusal.missing().map(str::to_owned) }
}

/// A service lists the tags of its own kinds, also of those without a row in the table.
fn is_tagged(model: &Model, item: &Item, tags_of: &str) -> bool {
    let is_of_service = model
        .row(item.kind.as_str())
        .is_none_or(|kind| kind.list.iter().all(|permission| permission.starts_with(tags_of)));
    is_of_service && item.attribute(CLUSTER).is_some()
}
