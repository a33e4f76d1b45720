//! A cluster that was reached.

use super::{
    Key, TargetTrouble,
    targets::Inner,
    trouble::{NoAnswer, no_answer, shortened},
};
use crate::runtime::call::{CallError, call};
use kube::Client;
use std::{fmt, future::Future, sync::Weak, time::Duration};
use tokio::time::Instant;
use tracing::{Dispatch, instrument::WithSubscriber};

/// How long a server that a tenant brought may keep a worker busy with answers that lead to more calls. A hundred calls to an
/// honest one take some seconds.
const FOREIGN_BUDGET: Duration = Duration::from_secs(30);

/// A cluster that was reached. Use it now, and reach again for what is done later: a client does not outlive its
/// credentials, which end some minutes after they were issued.
#[derive(Clone)]
pub struct Reached {
    /// Which cluster.
    pub key: Key,
    /// Its admin. Calls go through [`Reached::call`].
    pub client: Client,
    /// Its address.
    pub server: String,
    /// The name in its certificate, where it is not that of the address.
    pub tls_server_name: Option<String>,
    /// Who signed its certificate, in PEM; where there is none, it is one that everybody trusts.
    pub ca: Option<String>,
    /// Which of the clients for this cluster.
    pub(super) number: u64,
    pub(super) targets: Weak<Inner>,
    pub(super) since: Instant,
}

impl Reached {
    /// Calls, with the deadline. If the cluster no longer takes our credentials, or has another certificate, they are
    /// forgotten, so that reaching it again fetches new ones.
    pub async fn call<T>(
        &self,
        what: impl FnOnce() -> String,
        future: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, TargetTrouble> {
        self.ask(what, future).await.map_err(|error| self.trouble(error))
    }

    /// Calls, with the deadline; [`Reached::trouble`] says what a failure means.
    pub async fn ask<T>(
        &self,
        what: impl FnOnce() -> String,
        future: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, CallError> {
        match self.key {
            Key::Shoot { .. } => call(what, future).await,
            // kube logs answers that it does not understand, whatever their length.
            Key::Byoc { .. } if self.since.elapsed() < FOREIGN_BUDGET => {
                call(what, future.with_subscriber(Dispatch::none())).await
            }
            Key::Byoc { .. } => Err(CallError::Deadline { what: what() }),
        }
    }

    /// What a failed call to this cluster means. For calls that were not made by [`Reached::call`].
    pub fn trouble(&self, error: CallError) -> TargetTrouble {
        match self.key {
            Key::Shoot { .. } => self.of_shoot(error),
            Key::Byoc { .. } => self.of_byoc(&error),
        }
    }

    /// An answer of this cluster that was understood, and is not one to what was asked.
    pub fn unreadable(&self, what: &str) -> TargetTrouble {
        match self.key {
            Key::Shoot { .. } => TargetTrouble::Unreadable { what: what.to_owned() },
            Key::Byoc { .. } => {
                tracing::info!(cluster = %self.key, what, "the answer of a cluster is not understood");
                CallError::Foreign { code: None, is_already_there: false, lacks_namespace: false }.into()
            }
        }
    }

    fn of_shoot(&self, error: CallError) -> TargetTrouble {
        let target = self.key.to_string();
        let trouble = match (error.code(), no_answer(&error)) {
            (Some(401), _) => TargetTrouble::Unauthorized { target, because: shortened(&error) },
            (_, Some(NoAnswer::Certificate(because))) => TargetTrouble::Untrusted { target, because },
            // New credentials would not make a way: a cluster that sleeps must not cost Gardener keys.
            (_, Some(NoAnswer::Way(because))) => return TargetTrouble::Unreachable { target, because },
            _ => return error.into(),
        };
        self.forget();
        trouble
    }

    /// The tenant learns that the cluster cannot be reached; the log has the reason.
    fn of_byoc(&self, error: &CallError) -> TargetTrouble {
        let (because, is_stale) = match no_answer(error) {
            Some(NoAnswer::Certificate(because)) => (because, true),
            Some(NoAnswer::Way(because)) => (because, false),
            None => (shortened(error), error.code() == Some(401)),
        };
        if is_stale {
            self.forget();
        }
        match error.code() {
            // Part of what is tried: an object is looked for, or somebody else was faster.
            Some(404 | 409) => tracing::debug!(cluster = %self.key, because, "a cluster refused a call"),
            _ => tracing::info!(cluster = %self.key, because, "a cluster cannot be reached"),
        }
        error.concealed().into()
    }

    fn forget(&self) {
        if let Some(targets) = self.targets.upgrade() {
            targets.forget(&self.key, Some(self.number));
        }
    }
}

impl fmt::Debug for Reached {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reached").field("key", &self.key).field("server", &self.server).finish()
    }
}
