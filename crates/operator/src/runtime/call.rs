//! Calls to API servers: each has a deadline, and its failure says what was tried.

use super::report::Report;
use allotment_core::{
    failure::{Failure, FailureReason},
    text::{one_line, without_addresses},
};
use std::{error::Error, future::Future, time::Duration};
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

    /// What the condition of the object says that the call was made for.
    pub fn report(&self) -> Report {
        match self {
            // Read again, and tried again at once.
            error if error.is_conflict() => Report::Unchanged,
            error => Report::Failed(error.failure()),
        }
    }

    fn failure(&self) -> Failure {
        let unavailable = |text: String| Failure::new(FailureReason::ServerUnavailable, text);
        match self {
            Self::Deadline { .. } | Self::Foreign { .. } => unavailable(self.to_string()),
            Self::Refused { what, source } => match &**source {
                kube::Error::Api(status) => match status.code {
                    401 => unavailable(format!(
                        "cannot {what}: the server does not accept the platform's credentials (401)"
                    )),
                    429 => unavailable(format!("cannot {what}: the server has too much to do (429)")),
                    code @ 502..=504 => {
                        unavailable(format!("cannot {what}: the server is not available ({code})"))
                    }
                    // It would name the platform's user. Refusals of webhooks have the same code, and are about the object.
                    403 if status.message.contains("User \"") && status.message.contains("\" cannot ") => {
                        Failure::new(
                            FailureReason::ServerError,
                            format!("cannot {what}: the platform lacks a right for that (403)"),
                        )
                    }
                    _ => {
                        let text = format!("cannot {what}: {}", without_addresses(&reason(source)));
                        Failure::new(FailureReason::ServerError, text)
                    }
                },
                kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => Failure::new(
                    FailureReason::ServerError,
                    format!("cannot {what}: the server's answer cannot be read"),
                ),
                _ => unavailable(format!("cannot {what}: the server cannot be reached")),
            },
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
        // What failed is a request in any case.
        kube::Error::Service(source) => one_line(&with_causes(&**source), LONGEST_REASON),
        other => one_line(&with_causes(other), LONGEST_REASON),
    }
}

/// An error with all of its causes: the outermost often says only that a request failed.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        // Wrappers repeat what they wrap.
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = inner.source();
    }
    text
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

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    fn answered(code: u16, message: &str) -> CallError {
        let status = Status::failure(message, "Reason").with_code(code);
        CallError::Refused {
            what: "apply Shoot a".to_owned(),
            source: Box::new(kube::Error::Api(Box::new(status))),
        }
    }

    fn said(error: &CallError) -> Option<(FailureReason, String)> {
        match error.report() {
            Report::Failed(failure) => Some((failure.reason, failure.what)),
            Report::Unchanged | Report::Finished => None,
        }
    }

    #[test]
    fn a_condition_repeats_what_a_server_says_about_the_object_and_nothing_about_the_platform() {
        let unavailable = FailureReason::ServerUnavailable;
        for (error, reason, says) in [
            (
                answered(500, "field not declared in schema"),
                FailureReason::ServerError,
                "cannot apply Shoot a: field not declared in schema (500)",
            ),
            (
                answered(500, "Post \"https://hook.svc/x\": dial tcp 10.0.0.7:443: refused"),
                FailureReason::ServerError,
                "cannot apply Shoot a: Post \"[address]\": dial tcp [address]: refused (500)",
            ),
            (
                answered(403, "shoots \"a\" is forbidden: User \"robot\" cannot patch resource \"shoots\""),
                FailureReason::ServerError,
                "cannot apply Shoot a: the platform lacks a right for that (403)",
            ),
            (
                answered(401, "Unauthorized"),
                unavailable,
                "cannot apply Shoot a: the server does not accept the platform's credentials (401)",
            ),
            (
                answered(503, "<html>request 17</html>"),
                unavailable,
                "cannot apply Shoot a: the server is not available (503)",
            ),
            (
                CallError::Deadline { what: "read Shoot a".to_owned() },
                unavailable,
                "cannot read Shoot a: no answer in 10 s",
            ),
        ] {
            assert_eq!(said(&error), Some((reason, says.to_owned())));
        }
        assert_eq!(said(&answered(409, "the object has been modified")), None);
    }

    #[test]
    fn an_error_is_printed_with_its_causes() {
        #[derive(Debug, thiserror::Error)]
        #[error("client error (Connect)")]
        struct Client(#[source] std::io::Error);
        let cause = std::io::Error::new(std::io::ErrorKind::ConnectionRefused, "Connection refused");
        let source = Box::new(kube::Error::Service(Box::new(Client(cause))));
        let error = CallError::Refused { what: "read Shoot a".to_owned(), source };
        assert_eq!(error.to_string(), "cannot read Shoot a: client error (Connect): Connection refused");
        let unreachable = "cannot read Shoot a: the server cannot be reached".to_owned();
        assert_eq!(said(&error), Some((FailureReason::ServerUnavailable, unreachable)));
    }
}
