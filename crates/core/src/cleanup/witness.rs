//! A second source: numbers that are not made by the calls that list the kinds.

use super::{
    CountName, Inventory, Place,
    kinds::{CountKind, Scope, table},
};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// One count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum Count {
    /// A number, such as the usage of a quota.
    Known {
        /// The number.
        number: u64,
    },
    /// A number whose parts have names.
    Seen {
        /// The ids.
        ids: BTreeSet<String>,
    },
    /// The account does not have the service.
    Absent {
        /// Why.
        because: String,
    },
    /// Nobody knows; never zero.
    Refused {
        /// Why.
        because: String,
        /// The permission that is missing, if that is the reason.
        #[serde(skip_serializing_if = "Option::is_none")]
        missing: Option<String>,
    },
}

/// All counts of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Witness {
    /// Before the first call.
    pub taken_at: Timestamp,
    /// The counts; one that is missing was refused.
    pub counts: BTreeMap<Place, BTreeMap<CountName, Count>>,
}

impl Witness {
    /// One count. Whatever nobody counted is refused.
    pub fn count(&self, place: &Place, name: &CountName) -> Count {
        let known = self.counts.get(place).and_then(|counts| counts.get(name));
        known
            .cloned()
            .unwrap_or_else(|| Count::Refused { because: "it was not counted".to_owned(), missing: None })
    }

    /// Every count that has to be known, for the places of a listing.
    pub fn expected(&self, inventory: &Inventory) -> Vec<(Place, &'static CountKind)> {
        let table = table(inventory.cloud);
        let mut expected = Vec::new();
        for count in table.counts {
            let places = match count.scope {
                Scope::Regional => inventory.enabled_places(),
                Scope::Global | Scope::ByName { .. } => vec![Place::GLOBAL],
            };
            expected.extend(places.into_iter().map(|place| (place, count)));
        }
        expected.sort_by(|(left, _), (right, _)| left.cmp(right));
        expected
    }
}
