//! Why a look at a Cluster did not come to its end.

use crate::runtime::{call::CallError, queue::Outcome, report::Report, work::Obstacle};
use allotment_core::failure::{Failure, FailureReason};

/// Why a look at a Cluster did not come to its end. It is looked at again.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// An API server.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The account is no longer what the request says.
    #[error("account {binding} is not the tenant's any more: {why}")]
    Account {
        /// Its binding.
        binding: String,
        /// What is the matter.
        why: &'static str,
    },
    /// The decisions do not come to an end.
    #[error("reconcile did not converge after 20 steps (bug); next step: {0}")]
    Endless(String),
}

impl Obstacle for Trouble {
    fn category(&self) -> &'static str {
        match self {
            Self::Call(error) => error.category(),
            Self::Account { .. } => "account",
            Self::Endless(_) => "bug",
        }
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self::Call(error) if error.is_conflict() => Outcome::Again,
            _ => Outcome::Failed,
        }
    }

    fn report(&self) -> Report {
        match self {
            Self::Call(error) => error.report(),
            Self::Account { .. } => {
                Report::Failed(Failure::new(FailureReason::AccountChanged, self.to_string()))
            }
            Self::Endless(_) => Report::Failed(Failure::new(FailureReason::InternalError, self.to_string())),
        }
    }
}
