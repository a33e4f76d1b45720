//! A cluster that was reached.

use super::{
    Key, TargetTrouble,
    targets::Inner,
    trouble::{NoAnswer, no_answer, shortened},
};
use crate::runtime::call::{CallError, call};
use kube::Client;
use std::{fmt, future::Future, sync::Weak};

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
}

impl Reached {
    /// Calls, with the deadline. If the cluster no longer takes our credentials, or has another certificate, they are
    /// forgotten, so that reaching it again fetches new ones.
    pub async fn call<T>(
        &self,
        what: impl FnOnce() -> String,
        future: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, TargetTrouble> {
        call(what, future).await.map_err(|error| self.trouble(error))
    }

    /// What a failed call to this cluster means. For calls that were not made by [`Reached::call`].
    pub fn trouble(&self, error: CallError) -> TargetTrouble {
        let target = self.key.to_string();
        let trouble = match (error.code(), no_answer(&error)) {
            (Some(401), _) => TargetTrouble::Unauthorized { target, because: shortened(&error) },
            (_, Some(NoAnswer::Certificate(because))) => TargetTrouble::Untrusted { target, because },
            // New credentials would not make a way: a cluster that sleeps must not cost Gardener keys.
            (_, Some(NoAnswer::Way(because))) => return TargetTrouble::Unreachable { target, because },
            _ => return error.into(),
        };
        if let Some(targets) = self.targets.upgrade() {
            targets.forget(&self.key, Some(self.number));
        }
        trouble
    }
}

impl fmt::Debug for Reached {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reached").field("key", &self.key).field("server", &self.server).finish()
    }
}
