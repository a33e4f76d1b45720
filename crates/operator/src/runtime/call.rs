//! Calls to API servers: each has a deadline, and its failure says what was tried.

use std::{future::Future, time::Duration};
use tokio::time::timeout;

/// No single call may take longer: a hung connection must not hold a worker.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// Why a call did not work.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The server refused, or the connection broke.
    #[error("cannot {what}: {}", reason(.source))]
    Refused {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: Box<kube::Error>,
    },
    /// There was no answer in time. Whether it happened is not known.
    #[error("cannot {what}: no answer in {} s", DEADLINE.as_secs())]
    Deadline {
        /// What was tried.
        what: String,
    },
}

impl CallError {
    /// Whether the object has changed since it was read.
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }

    /// Whether the object is not there.
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// Whether it already is there.
    pub fn is_already_there(&self) -> bool {
        matches!(self, Self::Refused { source, .. } if matches!(&**source, kube::Error::Api(status) if status.reason == "AlreadyExists"))
    }

    /// The HTTP code of the refusal.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { source, .. } => match &**source {
                kube::Error::Api(status) => Some(status.code),
                _ => None,
            },
            Self::Deadline { .. } => None,
        }
    }

    /// One of a few words, for metrics.
    pub fn category(&self) -> &'static str {
        match self.code() {
            Some(409) => "conflict",
            Some(401 | 403) => "forbidden",
            Some(404) => "not-found",
            Some(429) => "throttled",
            Some(400 | 422) => "invalid",
            Some(_) => "server",
            None if matches!(self, Self::Deadline { .. }) => "deadline",
            None => "connection",
        }
    }
}

/// The server's own words; kube's error would say them twice.
pub(super) fn reason(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("{} ({})", status.message, status.code),
        other => other.to_string(),
    }
}

/// Calls, with the deadline. `what` says what is tried, as in "label CredentialsBinding a".
pub async fn call<T>(
    what: impl FnOnce() -> String,
    future: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, CallError> {
    match timeout(DEADLINE, future).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(source)) => Err(CallError::Refused { what: what(), source: Box::new(source) }),
        Err(_) => Err(CallError::Deadline { what: what() }),
    }
}
