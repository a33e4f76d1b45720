//! The last entries of the history that this process has seen committed. A database that no longer has one of them was put back to an
//! older state, or another server took over without its last commits.

use allotment_core::pool::{Epoch, FENCED_ENTRIES};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How far a ledger has come, as far as this process has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// How many commits it has seen.
    pub commits: u64,
    /// The last entries of the history among them, in order, each once.
    pub entries: Vec<i64>,
}

/// Numbers of entries, shared by the clones of a ledger.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    last: VecDeque<i64>,
    commits: u64,
    /// The term that this process began last.
    term: Option<(Epoch, String)>,
}

impl Recent {
    /// A transaction whose last entry is this one has committed.
    pub(super) fn committed(&self, entry: i64) {
        let mut seen = self.lock();
        if seen.last.len() == FENCED_ENTRIES {
            seen.last.pop_front();
        }
        seen.last.push_back(entry);
        seen.commits += 1;
    }

    /// This process leads.
    pub(super) fn led(&self, epoch: Epoch, term: &str) {
        self.lock().term = Some((epoch, term.to_owned()));
    }

    /// The id of the term that this process led under an epoch. In a database that was put back, an epoch comes a second time.
    pub(super) fn term_of(&self, epoch: Epoch) -> Option<String> {
        self.lock().term.as_ref().filter(|(led, _)| *led == epoch).map(|(_, term)| term.clone())
    }

    pub(super) fn progress(&self) -> Progress {
        let seen = self.lock();
        let mut entries: Vec<i64> = seen.last.iter().copied().collect();
        entries.sort_unstable();
        Progress { commits: seen.commits, entries }
    }

    /// Forgets the entries. The count goes on, so that nothing that waits for a higher one is taken for done.
    pub(super) fn clear(&self) {
        self.lock().last.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
