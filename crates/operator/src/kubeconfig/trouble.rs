//! Why a look at a request did not come to its end.

use crate::{
    runtime::{call::CallError, queue::Outcome, report::Report, work::Obstacle},
    target::TargetTrouble,
};
use allotment_core::{
    failure::{Failure, FailureReason},
    text::without_addresses,
};

/// Why a look at a request did not come to its end. It is looked at again.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The control plane.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The cluster. The status says so too.
    #[error(transparent)]
    Target(#[from] TargetTrouble),
    /// The status says what is the matter.
    #[error("{0}")]
    Hitch(String),
    /// The decisions do not come to an end.
    #[error("reconcile did not converge after 20 steps (bug)")]
    Endless,
}

impl Obstacle for Trouble {
    fn category(&self) -> &'static str {
        match self {
            Self::Call(error) => error.category(),
            Self::Target(trouble) => trouble.category(),
            Self::Hitch(_) => "target-cluster",
            Self::Endless => "bug",
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
            Self::Target(TargetTrouble::Call(error)) => error.report(),
            Self::Target(trouble) => {
                let what = without_addresses(&trouble.to_string());
                Report::Failed(Failure::new(FailureReason::ServerError, what))
            }
            // The reconcile came to its end: the condition Ready names the trouble in the cluster.
            Self::Hitch(_) => Report::Finished,
            Self::Endless => Report::Failed(Failure::new(FailureReason::InternalError, self.to_string())),
        }
    }
}
