//! Why a look at something did not come to its end.

use super::TermError;
use crate::{
    ledger::LedgerError,
    runtime::{call::CallError, queue::Outcome, report::Report, work::Obstacle},
};
use allotment_core::failure::{Failure, FailureReason};

/// Why a look at something did not come to its end. It is looked at again.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// An API server.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The ledger does not fit the garden.
    #[error(transparent)]
    Term(#[from] TermError),
    /// The cache has not caught up with what a destructive step has to know.
    #[error("the cache of Shoots has not come to version {0} yet")]
    Behind(u64),
    /// A cache may be of a state that its server was put back from.
    #[error(
        "the cache of {0} could not be compared with the server: it does not answer, or its lists take too long"
    )]
    Unconfirmed(&'static str),
}

impl Trouble {
    /// Whether whoever leads must make sure that it still does, from the beginning.
    pub(super) fn ends_the_term(&self) -> bool {
        matches!(
            self,
            Self::Ledger(LedgerError::Stale { .. } | LedgerError::WentBack { .. })
                | Self::Term(TermError::Over)
        )
    }
}

impl Obstacle for Trouble {
    fn category(&self) -> &'static str {
        match self {
            Self::Call(error) => error.category(),
            Self::Ledger(error) => error.category(),
            Self::Term(_) => "ledger-identity",
            Self::Behind(_) | Self::Unconfirmed(_) => "behind",
        }
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self::Call(error) if error.is_conflict() => Outcome::Again,
            Self::Ledger(LedgerError::Changed { .. }) => Outcome::Again,
            _ => Outcome::Failed,
        }
    }

    fn report(&self) -> Report {
        match self {
            Self::Call(error) => error.report(),
            Self::Ledger(error) => error.report(),
            Self::Term(TermError::Mismatch(_)) => Report::Failed(halted()),
            // The next term begins at once, and the cache catches up.
            Self::Term(TermError::Over | TermError::Contended) | Self::Behind(_) => Report::Unchanged,
            Self::Unconfirmed(_) => Report::Failed(Failure::new(
                FailureReason::ServerUnavailable,
                "the servers that the platform reads do not answer in time",
            )),
        }
    }
}

/// What requests say while nothing is handed out. Why is the platform's to know: `/readyz?verbose` has it.
pub(super) fn halted() -> Failure {
    Failure::new(
        FailureReason::Halted,
        "no account is handed out or given back until the platform has put its ledger of accounts right",
    )
}
