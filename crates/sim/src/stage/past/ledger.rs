//! Copies of the ledger, and how it goes back to one.

use super::person::read_fence;
use crate::stage::{
    eyes::{Bookmark, now},
    world::World,
};
use allotment_core::{check::Violation, pool::Fence};
use allotment_operator::ledger::Ledger;

/// So many commits can be lost.
const MOST_COPIES: usize = 32;

/// The ledger after a commit.
pub(super) struct Copy {
    ledger: Ledger,
    /// How far the oracles had read its history.
    bookmark: Bookmark,
}

/// Keeps a copy of the ledger as it is after a commit, if one may be wanted.
pub(crate) fn remember(world: &World) {
    if !world.state().past.is_tried {
        return;
    }
    match now(world.ledger.copy_in_memory()) {
        Ok(ledger) => {
            let mut state = world.state();
            let copy = Copy { ledger, bookmark: state.eyes.bookmark() };
            if state.past.copies.len() > MOST_COPIES {
                state.past.copies.pop_front();
            }
            state.past.copies.push_back(copy);
        }
        Err(error) => world.found(vec![Violation::Untold(error.to_string())]),
    }
}

/// The ledger loses its last commits.
pub(super) fn lose(world: &World, commits: usize) {
    lost(world);
    let result = {
        let mut state = world.state();
        let kept = state.past.copies.len().saturating_sub(commits).max(1);
        state.past.copies.truncate(kept);
        let Some(copy) = state.past.copies.back() else { return };
        let (result, bookmark) = (now(world.ledger.put_back(&copy.ledger)), copy.bookmark.clone());
        state.eyes.go_back_to(bookmark);
        let entry = state.eyes.entry;
        state.past.losses.push(entry);
        result
    };
    if let Err(error) = result {
        world.found(vec![Violation::Untold(error.to_string())]);
    }
    world.wrote_ledger();
}

/// The ledger cannot be compared with the world before another term has begun.
pub(super) fn lost(world: &World) {
    let term = match read_fence(world) {
        Fence::Known(record) => record.term,
        Fence::Missing | Fence::Unreadable => None,
    };
    let mut state = world.state();
    state.past.was_lost = true;
    state.past.lost_in = Some(term.unwrap_or_default());
    state.eyes.scene.lost = true;
}
