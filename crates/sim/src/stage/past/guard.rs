//! The fence as it is read and written: who begins a term, who takes the fence from whom, and who is told before it is written.

use super::{
    PERSON, SECOND,
    person::{mismatch, read_fence},
};
use crate::stage::{call::Call, world::World};
use allotment_core::{check::Violation, pool::Fence};

/// The fence as a process has read it.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadFence {
    /// The term that had it.
    term: Option<String>,
    /// Why the ledger of the process did not fit it.
    unfit: Option<String>,
}

/// A process has read the fence.
pub(crate) fn has_read(world: &World, replica: usize) {
    let (ledger, control_plane) = {
        let state = world.state();
        match state.past.second.as_ref().filter(|_| replica == SECOND) {
            Some(second) => (second.ledger.clone(), second.control_plane.clone()),
            None => (world.ledger.clone(), None),
        }
    };
    let control_plane = control_plane.as_ref().unwrap_or(&world.control_plane);
    let unfit = mismatch(world, &ledger, control_plane).ok().flatten();
    let read = ReadFence { term: term_of(&read_fence(world)), unfit };
    world.state().past.read.insert(replica, read);
}

/// A process has written the fence.
pub(crate) fn has_written(world: &World, replica: usize) {
    let (before, read) = {
        let state = world.state();
        (state.past.fence_of.clone(), state.past.read.get(&replica).cloned().unwrap_or_default())
    };
    let after = changed(world);
    if before == after || replica == PERSON {
        return;
    }
    let mut violations = Vec::new();
    if read.term != before {
        violations.push(Violation::FenceTaken(before.unwrap_or_else(|| "nobody".to_owned())));
    }
    violations.extend(read.unfit.map(Violation::BeganUnfit));
    world.found(violations);
}

/// A process has raised the epoch: the ledger must have fitted the fence that it had read. While a person rebuilds, what was read may
/// not be so any more.
pub(crate) fn has_led(world: &World, replica: usize) {
    let unfit = {
        let past = &world.state().past;
        let read = past.read.get(&replica).filter(|_| replica != PERSON && !past.rebuilds);
        read.and_then(|read| read.unfit.clone())
    };
    world.found(unfit.map(Violation::LedWhileHalted).into_iter().collect());
}

/// Whoever wrote the fence, its term is this one.
pub(super) fn changed(world: &World) -> Option<String> {
    let term = term_of(&read_fence(world));
    world.state().past.fence_of.clone_from(&term);
    term
}

/// A request is told that it is bound: the fence must have been written with the entry that gave it its account. Where the past comes
/// back the fence may have gone back since.
pub(crate) fn has_bound(world: &World, call: &Call) {
    let entry = {
        let state = world.state();
        let entry = state.eyes.assigned_at(&call.name);
        entry.filter(|_| !state.past.is_tried)
    };
    let Some((request, entry)) = entry else { return };
    let fenced = match read_fence(world) {
        Fence::Known(record) => record.entries.into_iter().max().unwrap_or_default(),
        Fence::Missing | Fence::Unreadable => 0,
    };
    if fenced < entry {
        world.found(vec![Violation::BoundUnfenced(request, entry)]);
    }
}

fn term_of(fence: &Fence) -> Option<String> {
    match fence {
        Fence::Known(record) => record.term.clone(),
        Fence::Missing | Fence::Unreadable => None,
    }
}

/// The last entry that a process has seen committed, and how often the ledger had gone back by then.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SeenCommit {
    entry: i64,
    losses: usize,
}

impl SeenCommit {
    /// The process has committed something. A new term has compared the ledger with the fence, and begins anew.
    pub(crate) fn commit(&mut self, world: &World, operation: &'static str, is_answered: bool) {
        let (entry, losses) = {
            let state = world.state();
            (state.eyes.entry, state.past.losses.clone())
        };
        let lost = losses.iter().skip(self.losses).any(|kept| *kept < self.entry);
        if lost && operation != "lead" {
            world.found(vec![Violation::WroteOnLost(operation, self.entry)]);
        }
        if is_answered || operation == "lead" {
            *self = Self { entry, losses: losses.len() };
        }
    }
}
