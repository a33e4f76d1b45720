//! Why a look at a request did not come to its end.

use crate::{
    runtime::{call::CallError, queue::Outcome, work::Obstacle},
    target::TargetTrouble,
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
    #[error("there is always one more step to take")]
    Endless,
}

impl Obstacle for Trouble {
    fn category(&self) -> &'static str {
        match self {
            Self::Call(error) => error.category(),
            Self::Target(trouble) => trouble.category(),
            Self::Hitch(_) => "hitch",
            Self::Endless => "endless",
        }
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self::Call(error) if error.is_conflict() => Outcome::Again,
            _ => Outcome::Failed,
        }
    }
}
