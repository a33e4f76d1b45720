//! How writing to the database goes: reading may work while every write fails, on a full disk or a server that became a standby.

use super::LedgerError;
use std::sync::{Arc, Mutex, PoisonError};

/// How writing goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// So many transactions failed so far because of the database.
    pub failed: u64,
    /// Why the last one failed, if it did.
    pub error: Option<String>,
}

/// The same, shared by the clones of a ledger.
#[derive(Clone, Debug, Default)]
pub(super) struct WriteHealth(Arc<Mutex<Writes>>);

impl WriteHealth {
    /// Counts what came of a transaction. A refusal is an answer: the database works.
    pub(super) fn count<T>(&self, result: &Result<T, LedgerError>) {
        let mut writes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writes.error = match result {
            Err(error) if error.is_of_the_database() => {
                writes.failed += 1;
                Some(error.to_string())
            }
            _ => None,
        };
    }

    pub(super) fn get(&self) -> Writes {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
