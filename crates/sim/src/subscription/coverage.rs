//! What was tried: each operation, in each state, with each fault.

use super::script::Harm;
use serde::Serialize;
use std::collections::BTreeMap;

/// How often each operation met each fault in each state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    cells: BTreeMap<(&'static str, &'static str, &'static str), u64>,
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
}

/// Nothing went wrong.
pub(super) const NONE: &str = "none";

impl Coverage {
    pub(super) fn add(&mut self, operation: &'static str, state: &'static str, fault: &'static str) {
        *self.cells.entry((operation, state, fault)).or_default() += 1;
    }

    /// Adds what another run tried.
    pub fn merge(&mut self, other: &Self) {
        for (cell, count) in &other.cells {
            *self.cells.entry(*cell).or_default() += count;
        }
    }

    /// Every cell that can happen, and those that did though we thought they could not.
    pub fn cells(&self) -> Vec<Cell> {
        let mut counts: BTreeMap<_, u64> = possible().into_iter().map(|cell| (cell, 0)).collect();
        for (cell, count) in &self.cells {
            *counts.entry(*cell).or_default() += count;
        }
        let cell = |((operation, state, fault), count)| Cell { operation, state, fault, count };
        counts.into_iter().map(cell).collect()
    }

    /// Only what was tried.
    pub fn tried(&self) -> Vec<Cell> {
        self.cells().into_iter().filter(|cell| cell.count > 0).collect()
    }

    /// The cells that can happen and did not.
    pub fn empty(&self) -> Vec<Cell> {
        self.cells().into_iter().filter(|cell| cell.count == 0).collect()
    }
}

/// A call that reads.
const READ: [&str; 6] = [NONE, "delay", "refused", "lost request", "lost answer", "hang before"];
/// A list for a cache may also come from a server that lags behind. A live read may not: it is one of etcd's quorum.
const LIST: [&str; 7] = [NONE, "delay", "refused", "lost request", "lost answer", "hang before", "stale"];
/// A watch goes wrong on its way.
const WATCH: [&str; 8] =
    [NONE, "refused", "lost request", "hang before", "drop", "expire", "coalesce", "stall"];
/// A call that writes.
const WRITE: [&str; 10] = [
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
];
/// A transaction of the ledger: what a lost connection does to it.
const TRANSACTION: [&str; 7] =
    [NONE, "delay", "refused", "lost answer", "hang before", "crash before", "crash after"];

/// The states that matter to an operation, and what can happen to it.
const POSSIBLE: [(&str, &[&str], &[&str]); 30] = [
    ("read lease", &["-"], &READ),
    ("lease", &["-"], &WRITE),
    ("read identity", &["-"], &READ),
    ("identity", &["-"], &WRITE),
    ("event", &["-"], &WRITE),
    ("list requests", &["-"], &LIST),
    ("list entries", &["-"], &LIST),
    ("list shoots", &["-"], &LIST),
    ("list others", &["-"], &LIST),
    ("watch requests", &["-"], &WATCH),
    ("watch entries", &["-"], &WATCH),
    ("watch shoots", &["-"], &WATCH),
    ("watch others", &["-"], &WATCH),
    // A request is read live only if it is gone from the cache and was not given back.
    ("read request", &["-"], &READ),
    ("look for shoot", &["-"], &READ),
    ("newest shoot", &["-"], &READ),
    ("read entry", &["free", "claiming", "claimed", "draining", "dirty"], &READ),
    ("finalizer", &["free", "exhausted"], &WRITE),
    ("finalizer off", &["free", "exhausted"], &WRITE),
    ("publish", &["Bound", "Waiting", "Denied", "Releasing"], &WRITE),
    // The label is written to what is being claimed, and to nothing else.
    ("tenant label", &["claiming"], &WRITE),
    ("dirty label", &["draining"], &WRITE),
    ("quarantine", &["claimed"], &WRITE),
    ("lift", &["claimed"], &WRITE),
    ("lead", &["free", "exhausted"], &TRANSACTION),
    ("reserve", &["free", "exhausted"], &TRANSACTION),
    ("confirm", &["free", "exhausted"], &TRANSACTION),
    ("release", &["free", "exhausted"], &TRANSACTION),
    ("learn", &["free", "exhausted"], &TRANSACTION),
    ("lose", &["free", "exhausted"], &TRANSACTION),
];

fn possible() -> Vec<(&'static str, &'static str, &'static str)> {
    let mut cells = Vec::new();
    for (operation, states, faults) in POSSIBLE {
        for state in states {
            cells.extend(faults.iter().map(|fault| (operation, *state, *fault)));
        }
    }
    cells
}

/// The word for what happened to a call.
pub(super) fn word(harm: Option<Harm>) -> &'static str {
    harm.map_or(NONE, Harm::word)
}
