//! What was tried: each operation, in each state, with each fault; and why the rest cannot be.

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
    /// Why it cannot happen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impossible: Option<&'static str>,
}

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

    /// Every operation, in each state that it has, with each fault; and what happened though it is not in our table.
    pub fn cells(&self) -> Vec<Cell> {
        let mut counts = self.cells.clone();
        let mut cells = Vec::new();
        for Operation { name: operation, sort, states } in &OPERATIONS {
            for state in *states {
                for fault in FAULTS {
                    let count = counts.remove(&(*operation, *state, fault)).unwrap_or_default();
                    let impossible = sort.why_not(fault);
                    cells.push(Cell { operation, state, fault, count, impossible });
                }
            }
        }
        cells.extend(counts.into_iter().map(|((operation, state, fault), count)| {
            let impossible = Some("nobody thought of it");
            Cell { operation, state, fault, count, impossible }
        }));
        cells
    }

    /// Only what was tried.
    pub fn tried(&self) -> Vec<Cell> {
        self.cells().into_iter().filter(|cell| cell.count > 0).collect()
    }

    /// The cells that can happen and did not.
    pub fn empty(&self) -> Vec<Cell> {
        self.cells().into_iter().filter(|cell| cell.count == 0 && cell.impossible.is_none()).collect()
    }

    /// The cells that cannot happen and did: the table is wrong, or something else is.
    pub fn surprising(&self) -> Vec<Cell> {
        self.cells().into_iter().filter(|cell| cell.count > 0 && cell.impossible.is_some()).collect()
    }
}

/// Nothing went wrong.
pub(super) const NONE: &str = "none";

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
enum Sort {
    Read,
    List,
    Watch,
    Write,
    LedgerRead,
    LedgerWrite,
}

impl Sort {
    /// Why a fault cannot happen to it.
    fn why_not(self, fault: &str) -> Option<&'static str> {
        use Sort::{LedgerRead, LedgerWrite, List, Read, Watch, Write};
        match (self, fault) {
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
struct Operation {
    name: &'static str,
    sort: Sort,
    states: &'static [&'static str],
}

/// The state plays no part.
const ANY: &[&str] = &["any"];

/// Whether an account is left.
const POOL: &[&str] = &["free", "exhausted"];

/// Whether one tenant has the account to itself.
const HELD: &[&str] = &["held", "not held"];

const OPERATIONS: [Operation; 34] = [
    operation("lead", Sort::LedgerWrite, POOL),
    operation("reserve", Sort::LedgerWrite, POOL),
    operation("confirm", Sort::LedgerWrite, POOL),
    operation("lose", Sort::LedgerWrite, POOL),
    operation("release", Sort::LedgerWrite, POOL),
    operation("withdraw", Sort::LedgerWrite, POOL),
    operation("learn", Sort::LedgerWrite, POOL),
    operation("assign", Sort::LedgerWrite, POOL),
    operation("read ledger", Sort::LedgerRead, ANY),
    operation("lease", Sort::Write, ANY),
    operation("identity", Sort::Write, ANY),
    operation("event", Sort::Write, ANY),
    operation("finalizer", Sort::Write, POOL),
    operation("finalizer off", Sort::Write, POOL),
    operation("publish", Sort::Write, &["Bound", "Waiting", "Releasing"]),
    operation("deny", Sort::Write, ANY),
    // Each label is written in one state of the ledger only: that comes first.
    operation("tenant label", Sort::Write, &["claiming"]),
    operation("dirty label", Sort::Write, &["draining"]),
    operation("quarantine", Sort::Write, HELD),
    operation("lift", Sort::Write, HELD),
    operation("read lease", Sort::Read, ANY),
    operation("read identity", Sort::Read, ANY),
    // A request is read live only if it is gone from the cache and was not given back.
    operation("read request", Sort::Read, ANY),
    operation("look for shoot", Sort::Read, ANY),
    operation("newest shoot", Sort::Read, ANY),
    operation("read entry", Sort::Read, &["free", "claiming", "claimed", "draining", "dirty"]),
    operation("list requests", Sort::List, ANY),
    operation("list entries", Sort::List, ANY),
    operation("list shoots", Sort::List, ANY),
    operation("list others", Sort::List, ANY),
    operation("watch requests", Sort::Watch, ANY),
    operation("watch entries", Sort::Watch, ANY),
    operation("watch shoots", Sort::Watch, ANY),
    operation("watch others", Sort::Watch, ANY),
];

const fn operation(name: &'static str, sort: Sort, states: &'static [&'static str]) -> Operation {
    Operation { name, sort, states }
}

/// The word for what happened to a call.
pub(super) fn word(harm: Option<Harm>) -> &'static str {
    harm.map_or(NONE, Harm::word)
}
