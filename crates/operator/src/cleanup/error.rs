//! Failures of a reconcile. Each is retried.

use super::OpenError;
use crate::{
    ledger::LedgerError,
    runtime::{call::CallError, queue::Outcome, work::Obstacle},
};

/// A reconcile that did not come to its end. It is retried.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// An API server.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The client of the cloud.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The cache does not show the newest Shoots yet.
    #[error("the cache of Shoots has not come to version {0} yet")]
    Behind(u64),
    /// The ledger is not the one that the garden is served from.
    #[error(
        "nothing is cleaned: ConfigMap {config_map} in the garden names ledger {found}, and this one is {own}; configure the right ledger, or run \
         `allotment ledger rebuild`"
    )]
    OtherLedger {
        /// The ConfigMap.
        config_map: &'static str,
        /// The ledger that it names.
        found: String,
        /// The ledger of the configuration.
        own: String,
    },
    /// The account changed between a check and the write that relies on it.
    #[error("account {account} may not be touched any more: {because}")]
    Overtaken {
        /// The account.
        account: String,
        /// The gate that closed.
        because: String,
    },
    /// A bug.
    #[error("account {account} did not settle after {steps} steps; this is a bug")]
    Unsettled {
        /// The account.
        account: String,
        /// The steps.
        steps: usize,
    },
}

impl Obstacle for ReconcileError {
    fn category(&self) -> &'static str {
        match self {
            Self::Call(error) | Self::Open(OpenError::Call(error)) => error.category(),
            Self::Ledger(error) => error.category(),
            Self::Open(OpenError::Unusable(_)) => "credentials",
            Self::Behind(_) => "behind",
            Self::OtherLedger { .. } => "ledger-identity",
            Self::Overtaken { .. } => "conflict",
            Self::Unsettled { .. } => "bug",
        }
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self::Call(error) if error.is_conflict() => Outcome::Again,
            Self::Overtaken { .. } => Outcome::Again,
            // Another process works on the account. Two that try again at once disturb each other for ever.
            Self::Ledger(LedgerError::Changed { .. }) => Outcome::Failed,
            _ => Outcome::Failed,
        }
    }
}
