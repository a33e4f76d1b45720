//! Evidence as planted faults falsify it. Without the feature `planted` nothing is changed.

use super::run::Inner;
use crate::planted::Planted;
use allotment_core::cleanup::{Cell, Count, Inventory, Witness};
use std::collections::BTreeSet;

impl Inner {
    pub(super) fn with_planted_cells(&self, mut inventory: Inventory) -> Inventory {
        if self.planted.has(Planted::UnknownIsEmpty) {
            for cell in inventory.cells.values_mut().flat_map(|cells| cells.values_mut()) {
                if matches!(cell, Cell::Unknown { .. }) {
                    *cell = Cell::Listed { items: Vec::new() };
                }
            }
        }
        inventory
    }

    /// The second listing shows the same as the first one.
    pub(super) fn with_planted_listing(&self, second: Inventory, first: &Inventory) -> Inventory {
        match self.planted.has(Planted::FreedAfterOneListing) {
            true => Inventory { cells: first.cells.clone(), ..second },
            false => second,
        }
    }

    pub(super) fn with_planted_counts(&self, mut witness: Witness) -> Witness {
        if self.planted.has(Planted::WitnessIgnored) {
            for count in witness.counts.values_mut().flat_map(|counts| counts.values_mut()) {
                *count = Count::Seen { ids: BTreeSet::new() };
            }
        }
        witness
    }
}
