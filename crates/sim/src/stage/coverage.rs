//! What was tried: each operation, in each state, with each fault; and why the rest cannot be.

use super::{play::Play, script::Harm};
use serde::Serialize;
use std::collections::BTreeMap;

/// How often each operation met each fault in each state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    cells: BTreeMap<(&'static str, &'static str, &'static str), u64>,
    /// How often people were to change an object of each kind, and how often the server took it.
    pub edits: BTreeMap<String, (u64, u64)>,
}

/// A cell of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// What was done.
    pub operation: &'static str,
    /// In which state.
    pub state: &'static str,
    /// What happened to it.
    pub fault: &'static str,
    /// How often.
    pub count: u64,
    /// Why it cannot happen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impossible: Option<&'static str>,
}

impl Coverage {
    pub(crate) fn add(&mut self, operation: &'static str, state: &'static str, fault: &'static str) {
        *self.cells.entry((operation, state, fault)).or_default() += 1;
    }

    /// Adds what another run tried.
    pub fn merge(&mut self, other: &Self) {
        for (cell, count) in &other.cells {
            *self.cells.entry(*cell).or_default() += count;
        }
        for (kind, (tried, accepted)) in &other.edits {
            let sum = self.edits.entry(kind.clone()).or_default();
            *sum = (sum.0 + tried, sum.1 + accepted);
        }
    }

    /// Every operation, in each state that it has, with each fault; and what happened though it is not in our table.
    pub fn cells(&self, play: Play) -> Vec<Cell> {
        let mut counts = self.cells.clone();
        let mut cells = Vec::new();
        for Operation { name: operation, sort, states } in play.operations() {
            for state in *states {
                for fault in FAULTS {
                    let count = counts.remove(&(*operation, *state, fault)).unwrap_or_default();
                    let impossible = sort.why_not(fault);
                    cells.push(Cell { operation, state, fault, count, impossible });
                }
            }
        }
        // What other operators do in the same play has its own table.
        counts.retain(|(operation, ..), _| play.is_about(operation));
        cells.extend(counts.into_iter().map(|((operation, state, fault), count)| {
            let impossible = Some("nobody thought of it");
            Cell { operation, state, fault, count, impossible }
        }));
        cells
    }

    /// Only what was tried.
    pub fn tried(&self, play: Play) -> Vec<Cell> {
        self.cells(play).into_iter().filter(|cell| cell.count > 0).collect()
    }

    /// The cells that can happen and did not.
    pub fn empty(&self, play: Play) -> Vec<Cell> {
        self.cells(play).into_iter().filter(|cell| cell.count == 0 && cell.impossible.is_none()).collect()
    }

    /// The cells that cannot happen and did: the table is wrong, or something else is.
    pub fn surprising(&self, play: Play) -> Vec<Cell> {
        self.cells(play).into_iter().filter(|cell| cell.count > 0 && cell.impossible.is_some()).collect()
    }
}

/// Nothing went wrong.
pub(crate) const NONE: &str = "none";

/// Everything that can go wrong, from the mildest on.
const FAULTS: [&str; 15] = [
    NONE,
    "delay",
    "refused",
    "refused after",
    "lost request",
    "lost answer",
    "hang before",
    "hang after",
    "crash before",
    "crash after",
    "stale",
    "drop",
    "expire",
    "coalesce",
    "stall",
];

/// What an operation is, as far as faults go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Read,
    List,
    Watch,
    Write,
    LedgerRead,
    LedgerWrite,
    /// Nobody gets there in any play, for this reason.
    Unplayed(&'static str),
}

impl Sort {
    /// Why a fault cannot happen to it.
    fn why_not(self, fault: &str) -> Option<&'static str> {
        use Sort::{LedgerRead, LedgerWrite, List, Read, Watch, Write};
        match (self, fault) {
            (Sort::Unplayed(why), _) => Some(why),
            (Watch, "delay") => Some("a watch that is late is one that stalls"),
            (Watch, "lost answer") => Some("the answer to a watch has no end: it is dropped"),
            (Watch, "stale") => Some("a watch goes on where its list ended"),
            (_, "drop" | "expire" | "coalesce" | "stall") if self != Watch => {
                Some("only watches go on after their answer")
            }
            (Read | List | Watch | LedgerRead, "refused after" | "hang after") => {
                Some("a read leaves nothing behind: after is the same as before")
            }
            (Read | List | Watch | LedgerRead, "crash before" | "crash after") => {
                Some("a crash at a read is one before the next write")
            }
            (Read, "stale") => Some("a live read is one of the quorum"),
            (Write, "stale") => Some("a write is made to what is there"),
            (LedgerRead | LedgerWrite, "stale") => Some("a transaction sees what is committed"),
            (LedgerRead | LedgerWrite, "lost request") => {
                Some("a connection that breaks before the commit refuses")
            }
            (LedgerRead, "lost answer") => Some("a connection that breaks before the commit refuses"),
            (LedgerWrite, "refused after" | "hang after") => {
                Some("an error after the commit is a lost answer, so is silence, at the deadline")
            }
            _ => None,
        }
    }
}

/// What an operator does, and the states that matter to it. It is not done in others.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    sort: Sort,
    states: &'static [&'static str],
}

/// The state plays no part.
pub(crate) const ANY: &[&str] = &["any"];

pub(crate) const fn operation(name: &'static str, sort: Sort, states: &'static [&'static str]) -> Operation {
    Operation { name, sort, states }
}

/// The word for what happened to a call.
pub(crate) fn word(harm: Option<Harm>) -> &'static str {
    harm.map_or(NONE, Harm::word)
}
