//! The second source: network interfaces, also those that services manage, and networks.

use super::{Alicloud, list::unsupported, rows};
use crate::Refusal;
use allotment_core::cleanup::{Count, CountName, Item, KindName, Place, attribute::DEFAULT};
use std::collections::{BTreeMap, BTreeSet};

/// A count: the row whose call shows it, and the queries.
pub(super) struct Seen {
    pub(super) count: &'static str,
    kind: &'static str,
    pub(super) queries: &'static [&'static [(&'static str, &'static str)]],
}

/// Interfaces are asked for twice: the documentation does not say whether those that services manage are shown to whoever does not ask for
/// them.
pub(super) const REGIONAL: &[Seen] = &[
    Seen {
        count: "network-interfaces",
        kind: "NetworkInterface",
        queries: &[&[], &[("ServiceManaged", "true")]],
    },
    Seen { count: "own-vpcs", kind: "Vpc", queries: &[&[]] },
];

impl Alicloud {
    pub(super) async fn count(&self, place: &Place) -> BTreeMap<CountName, Count> {
        let mut counts = BTreeMap::new();
        if place.is_global() {
            return counts;
        }
        for seen in REGIONAL {
            let count = match self.seen(place, seen).await {
                Ok(ids) => Count::Seen { ids },
                // A refused count is never zero.
                Err(refusal) => Count::Refused {
                    because: refusal.to_string(),
                    missing: refusal.missing().map(str::to_owned),
                },
            };
            counts.insert(CountName::of(seen.count), count);
        }
        counts
    }

    async fn seen(&self, place: &Place, seen: &Seen) -> Result<BTreeSet<String>, Refusal> {
        let row = rows::find(seen.kind).ok_or_else(|| unsupported(&KindName::of(seen.kind)))?;
        let mut ids = BTreeSet::new();
        for query in seen.queries {
            let is_default = |item: &Item| item.attribute(DEFAULT) == Some("true");
            let items = self.every(row, place, query).await?;
            ids.extend(items.iter().filter(|item| !is_default(item)).map(|item| item.id.as_str().to_owned()));
        }
        Ok(ids)
    }
}
