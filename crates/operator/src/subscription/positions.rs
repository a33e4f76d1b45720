//! How far the cache of each kind has come.

use super::{Trouble, run::Inner};
use crate::{ledger::Ledger, runtime::follow::Position};
use allotment_api::kyma::BindingKind;
use futures::future::join_all;
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// How long a new leader waits until its caches are compared with their servers, or listed anew.
const LIMIT: Duration = Duration::from_secs(60);

/// How far the cache of each kind has come.
pub(super) struct Positions {
    pub(super) shoots: Position,
    pub(super) requests: Position,
    pub(super) credentials_bindings: Position,
    pub(super) secret_bindings: Position,
    pub(super) secrets: Position,
    /// When everything was last listed, by order; none: that is due.
    listed: Mutex<Option<Instant>>,
}

impl Positions {
    pub(super) fn new(ledger: &Ledger) -> Self {
        let position = || Position::new().planted_like(ledger);
        Self {
            shoots: position(),
            requests: position(),
            credentials_bindings: position(),
            secret_bindings: position(),
            secrets: position(),
            // A process begins with lists.
            listed: Mutex::new(Some(Instant::now())),
        }
    }
}

impl Inner {
    /// Returns once every cache is of a state of its server. A server that was put back may be noticed minutes later otherwise, and a new
    /// leader would compare the ledger with labels and requests that are gone.
    pub(super) async fn confirm_caches(&self) -> Result<(), Trouble> {
        let kinds = self.followed().map(async |(position, kind)| (position.confirm(LIMIT).await, kind));
        all_of(join_all(kinds).await)
    }

    /// The fence is not as this process left it: the garden may have been put back, also where its versions have come as far again.
    pub(super) fn doubt_caches(&self) {
        *self.listed() = None;
    }

    /// Lists everything anew where the caches are in doubt, or where that was done longer ago than this.
    pub(super) async fn relist_unless_listed_within(&self, time: Duration) -> Result<(), Trouble> {
        let is_recent = self.listed().is_some_and(|at| at.elapsed() < time);
        if is_recent {
            return Ok(());
        }
        tracing::warn!(
            because = "the fence is not as it was left, so the garden may have been put back",
            "listing everything anew"
        );
        let kinds = self.followed().map(async |(position, kind)| (position.relist(LIMIT).await, kind));
        all_of(join_all(kinds).await)?;
        *self.listed() = Some(Instant::now());
        Ok(())
    }

    fn listed(&self) -> MutexGuard<'_, Option<Instant>> {
        self.positions.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn followed(&self) -> impl Iterator<Item = (&Position, &'static str)> {
        let Positions { shoots, requests, credentials_bindings, secret_bindings, secrets, listed: _ } =
            &self.positions;
        // Secrets are followed only where the pool is made of them.
        let secrets =
            Some((secrets, "Secrets")).filter(|_| self.settings.binding_kind == BindingKind::Secret);
        let others = [
            (shoots, "Shoots"),
            (requests, "SubscriptionRequests"),
            (credentials_bindings, "CredentialsBindings"),
            (secret_bindings, "SecretBindings"),
        ];
        others.into_iter().chain(secrets)
    }
}

fn all_of(kinds: Vec<(bool, &'static str)>) -> Result<(), Trouble> {
    match kinds.into_iter().find(|(is_done, _)| !is_done) {
        Some((_, kind)) => Err(Trouble::Unconfirmed(kind)),
        None => Ok(()),
    }
}
