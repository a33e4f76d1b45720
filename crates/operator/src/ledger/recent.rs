//! The last entries of the history that this process has seen committed. A database that no longer has one of them was put back to an
//! older state, or another server took over without its last commits.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

/// Lost commits are the last ones in the order of the database's log, which is not the order in which their answers arrive. Of
/// transactions that run at the same time, any may be the last. There are at most as many as there are connections, so one of this many
/// last answers is the last commit.
pub(super) const REMEMBERED: usize = 8;

/// Numbers of entries, shared by the clones of a ledger.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent(Arc<Mutex<Numbers>>);

#[derive(Debug, Default)]
struct Numbers {
    last: VecDeque<i64>,
    highest: i64,
}

impl Recent {
    /// A transaction whose last entry has this number has committed.
    pub(super) fn committed(&self, number: i64) {
        let mut numbers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if numbers.last.len() == REMEMBERED {
            numbers.last.pop_front();
        }
        numbers.last.push_back(number);
        numbers.highest = numbers.highest.max(number);
    }

    /// The highest number so far; 0 before the first.
    pub(super) fn highest(&self) -> i64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).highest
    }

    /// The last numbers, each once.
    pub(super) fn numbers(&self) -> Vec<i64> {
        let mut numbers: Vec<i64> =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).last.iter().copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Numbers::default();
    }
}
