//! Why a look did not come to its end.

use crate::runtime::{call::CallError, queue::Outcome, work::Obstacle};

/// Why a look did not come to its end. It is looked at again.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The API server of the platform.
    #[error(transparent)]
    Platform(#[from] CallError),
    /// The API server of a garden.
    #[error("in the garden: {0}")]
    Garden(CallError),
    /// The decisions do not come to an end.
    #[error("reconcile did not converge after 20 steps (bug); next step: {0}")]
    Endless(String),
}

impl Obstacle for Trouble {
    fn category(&self) -> &'static str {
        match self {
            Self::Platform(error) | Self::Garden(error) => error.category(),
            Self::Endless(_) => "bug",
        }
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self::Platform(error) | Self::Garden(error) if error.is_conflict() => Outcome::Again,
            // The object is gone: the watch tells.
            Self::Platform(error) if error.is_not_found() => Outcome::Done,
            _ => Outcome::Failed,
        }
    }
}
