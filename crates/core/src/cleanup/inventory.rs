//! A listing of a whole account: places × kinds.

use super::{
    Cloud, CloudAccountId, Item, KindName, Place,
    kinds::{Kind, Scope, table},
};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The listing of one kind in one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum Cell {
    /// All pages came.
    Listed {
        /// Everything that was found.
        items: Vec<Item>,
    },
    /// There can be none: the account does not have the service.
    Absent {
        /// Why.
        because: String,
    },
    /// Nobody knows.
    Unknown {
        /// Why.
        because: String,
        /// The permission that is missing, if that is the reason.
        #[serde(skip_serializing_if = "Option::is_none")]
        missing: Option<String>,
    },
}

/// Whether a place can hold items.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum PlaceState {
    /// It is in use.
    Enabled,
    /// The account cannot use it.
    Disabled {
        /// Why.
        because: String,
    },
}

/// The places of an account, asked for at the time of the listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum Places {
    /// All of them, without [`Place::GLOBAL`].
    Listed {
        /// Each with its state.
        places: BTreeMap<Place, PlaceState>,
    },
    /// Nobody knows.
    Unknown {
        /// Why.
        because: String,
        /// The permission that is missing, if that is the reason.
        #[serde(skip_serializing_if = "Option::is_none")]
        missing: Option<String>,
    },
}

/// A listing of a whole account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// The cloud.
    pub cloud: Cloud,
    /// The account that the cloud reported.
    pub account: CloudAccountId,
    /// The principal that the credentials belong to.
    pub principal: String,
    /// Before the first call.
    pub started_at: Timestamp,
    /// After the last one.
    pub finished_at: Timestamp,
    /// The places.
    pub places: Places,
    /// What was listed; a cell that is missing is unknown.
    pub cells: BTreeMap<Place, BTreeMap<KindName, Cell>>,
}

/// A cell that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnknownCell {
    /// Where.
    pub place: Place,
    /// The kind; none if the place, or all places, are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<KindName>,
    /// Why.
    pub because: String,
    /// The permission that is missing, if that is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl UnknownCell {
    /// Whether only a missing permission keeps it from being known, and the configuration declares the kind absent.
    pub fn is_assumed_absent(&self, assume_absent: &BTreeSet<KindName>) -> bool {
        self.missing.is_some() && self.kind.as_ref().is_some_and(|kind| assume_absent.contains(kind))
    }
}

impl Inventory {
    /// One cell. Whatever nobody filled is unknown.
    pub fn cell(&self, place: &Place, kind: &KindName) -> Cell {
        self.listed(place, kind)
            .cloned()
            .unwrap_or_else(|| Cell::Unknown { because: "it was not listed".to_owned(), missing: None })
    }

    /// Fills a cell.
    pub fn fill(&mut self, place: Place, kind: KindName, cell: Cell) {
        self.cells.entry(place).or_default().insert(kind, cell);
    }

    /// The places in which a kind can have items.
    pub fn places_of(&self, kind: &Kind) -> Vec<Place> {
        match kind.scope {
            Scope::Global | Scope::ByName { .. } => vec![Place::GLOBAL],
            Scope::Regional => self.enabled_places(),
        }
    }

    /// The places that the account can use; none if nobody knows them.
    pub fn enabled_places(&self) -> Vec<Place> {
        match &self.places {
            Places::Listed { places } => {
                let enabled = places.iter().filter(|(_, state)| **state == PlaceState::Enabled);
                enabled.map(|(place, _)| place.clone()).collect()
            }
            Places::Unknown { .. } => Vec::new(),
        }
    }

    /// Every cell that has to be known, in order of place and table.
    pub fn matrix(&self) -> Vec<(Place, &'static Kind)> {
        let kinds = table(self.cloud).kinds.iter();
        let mut cells: Vec<_> =
            kinds.flat_map(|kind| self.places_of(kind).into_iter().map(move |place| (place, kind))).collect();
        cells.sort_by(|(left, _), (right, _)| left.cmp(right));
        cells
    }

    /// Everything that nobody knows.
    pub fn unknown(&self) -> Vec<UnknownCell> {
        let mut unknown = Vec::new();
        match &self.places {
            Places::Unknown { because, missing } => unknown.push(UnknownCell {
                place: Place::of("all places"),
                kind: None,
                because: because.clone(),
                missing: missing.clone(),
            }),
            // Every account of every cloud has a place; an empty answer is a lie or a bug.
            Places::Listed { places } if !places.values().any(|state| *state == PlaceState::Enabled) => {
                unknown.push(UnknownCell {
                    place: Place::of("all places"),
                    kind: None,
                    because: "the cloud named no place that the account can use".to_owned(),
                    missing: None,
                });
            }
            Places::Listed { .. } => (),
        }
        for (place, kind) in self.matrix() {
            if let Cell::Unknown { because, missing } = self.cell(&place, &kind.name()) {
                unknown.push(UnknownCell { place, kind: Some(kind.name()), because, missing });
            }
        }
        unknown
    }

    /// Every item, in all cells, also in those that the matrix does not ask for.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.cells.values().flat_map(BTreeMap::values).flat_map(|cell| match cell {
            Cell::Listed { items } => items.as_slice(),
            Cell::Absent { .. } | Cell::Unknown { .. } => &[],
        })
    }

    fn listed(&self, place: &Place, kind: &KindName) -> Option<&Cell> {
        self.cells.get(place).and_then(|kinds| kinds.get(kind))
    }
}
