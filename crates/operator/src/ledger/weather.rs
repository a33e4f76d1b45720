//! Faults on demand: what the simulation and the tests do to the ledger's transactions.

use std::{future::Future, pin::Pin};

/// Decides what becomes of each writing transaction.
pub trait Weather: Send + Sync {
    /// Asked once per writing transaction, when it is about to commit.
    fn on(&self, operation: &'static str) -> Fate;

    /// Waited for before that, with every lock held: for tests of what happens beside an open transaction.
    fn park(&self, operation: &'static str) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
        let _ = operation;
        None
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
