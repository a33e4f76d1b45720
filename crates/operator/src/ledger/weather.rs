//! Faults on demand: what the simulation and the tests do to the ledger's transactions.

use super::LedgerError;
use std::{future::Future, pin::Pin};

/// Something to wait for.
pub type Wait<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Decides what becomes of each transaction.
pub trait Weather: Send + Sync {
    /// Waited for before every transaction, reading ones too, with nothing locked: a slow or broken way to the database.
    fn before(&self, operation: &'static str) -> Option<Wait<Result<(), LedgerError>>> {
        let _ = operation;
        None
    }

    /// Asked once per writing transaction, when it is about to commit.
    fn on(&self, operation: &'static str) -> Fate;

    /// Waited for before that, with every lock held: for tests of what happens beside an open transaction.
    fn park(&self, operation: &'static str) -> Option<Wait<()>> {
        let _ = operation;
        None
    }

    /// Told when a writing transaction has committed, before its caller is.
    fn committed(&self, operation: &'static str) {
        let _ = operation;
    }
}

/// What becomes of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It commits, and its caller is told.
    Go,
    /// It is rolled back, and its caller gets an error.
    FailBefore,
    /// It commits, and its caller gets an error.
    FailAfter,
    /// It is rolled back, and its caller hears nothing, ever.
    HangBefore,
    /// It commits, and its caller hears nothing, ever.
    HangAfter,
}
