//! What the ledger asks of its database, counted.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// What was asked of the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Statements.
    pub statements: u64,
    /// Rows that they returned.
    pub rows: u64,
    /// What SQLite did for them, in steps of its virtual machine: rows that were read and not returned show here.
    pub steps: u64,
}

impl Effort {
    /// What came since an earlier count.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let Self { statements, rows, steps } = self;
        Self {
            statements: statements - before.statements,
            rows: rows - before.rows,
            steps: steps - before.steps,
        }
    }
}

/// A count that clones share.
#[derive(Clone, Debug, Default)]
pub(super) struct Meter(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    statements: AtomicU64,
    rows: AtomicU64,
    steps: AtomicU64,
}

impl Meter {
    pub(super) fn count(&self, rows: usize, steps: u64) {
        let Counts { statements, rows: returned, steps: taken } = &*self.0;
        statements.fetch_add(1, Ordering::Relaxed);
        returned.fetch_add(u64::try_from(rows).unwrap_or(u64::MAX), Ordering::Relaxed);
        taken.fetch_add(steps, Ordering::Relaxed);
    }

    pub(super) fn effort(&self) -> Effort {
        let Counts { statements, rows, steps } = &*self.0;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Effort { statements: count(statements), rows: count(rows), steps: count(steps) }
    }
}
