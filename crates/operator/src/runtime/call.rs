//! Calls to API servers: each has a deadline, and its failure says what was tried.

use allotment_core::text::one_line;
use std::{future::Future, time::Duration};
use tokio::time::timeout;

/// No single call may take longer: a hung connection must not hold a worker.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// As much of a server's words as is kept. Webhooks of others speak through API servers; a refusal of a Shoot that names several
/// fields has some hundred characters.
const LONGEST_REASON: usize = 2048;

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
    /// A cluster that a tenant brought did not do what it was asked for. The log says why; the tenant, who chose the address,
    /// would learn from the difference between two refusals what is in our network.
    #[error("the cluster cannot be reached")]
    Foreign {
        /// The HTTP code of the refusal, if there was one.
        code: Option<u16>,
        /// Whether it says that there is something of that name already.
        is_already_there: bool,
        /// Whether it says, as only an API server does, that a namespace is not there.
        lacks_namespace: bool,
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
        match self {
            Self::Refused { source, .. } => {
                matches!(&**source, kube::Error::Api(status) if status.reason == "AlreadyExists")
            }
            Self::Foreign { is_already_there, .. } => *is_already_there,
            Self::Deadline { .. } => false,
        }
    }

    /// Whether a namespace is not there that something was to be put into.
    pub fn lacks_namespace(&self) -> bool {
        match self {
            Self::Refused { .. } => self.is_not_found(),
            Self::Foreign { lacks_namespace, .. } => *lacks_namespace,
            Self::Deadline { .. } => false,
        }
    }

    /// The same without the words of the server.
    pub(crate) fn concealed(&self) -> Self {
        let status = match self {
            Self::Refused { source, .. } => match &**source {
                kube::Error::Api(status) => Some(status),
                _ => None,
            },
            Self::Deadline { .. } | Self::Foreign { .. } => None,
        };
        let kind = status.and_then(|status| status.details.as_ref()).map(|details| details.kind.as_str());
        Self::Foreign {
            code: self.code(),
            is_already_there: self.is_already_there(),
            lacks_namespace: self.is_not_found() && kind == Some("namespaces"),
        }
    }

    /// The HTTP code of the refusal.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { source, .. } => match &**source {
                kube::Error::Api(status) => Some(status.code),
                _ => None,
            },
            Self::Deadline { .. } => None,
            Self::Foreign { code, .. } => *code,
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
        kube::Error::Api(status) => {
            format!("{} ({})", one_line(&status.message, LONGEST_REASON), status.code)
        }
        other => one_line(&other.to_string(), LONGEST_REASON),
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
