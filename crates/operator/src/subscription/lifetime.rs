//! From start to stop: followers all the time, work while the Lease is held.

use super::{
    Operator, Trouble,
    run::{CONTROLLER, Inner},
};
use crate::runtime::{lease::Candidate, lifetime::lead_until};
use allotment_core::pool::Epoch;
use futures::future::pending;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;

/// The Lease that whoever leads holds.
pub const LEASE_NAME: &str = "allotment-subscription";

impl Operator {
    /// Runs for ever: follows, tries to lead, and works while it does. Dropping it stops it like a crash would.
    pub async fn run(&self) {
        self.run_until(pending()).await;
    }

    /// The same until told to stop. The Lease is given up then, so that the next leader need not wait for it to run out.
    pub async fn run_until(&self, stop: impl Future<Output = ()>) {
        let inner = self.inner();
        let leases: Api<Lease> =
            Api::namespaced(inner.control_plane.clone(), &inner.settings.lease_namespace);
        let candidate = Candidate::new(leases, LEASE_NAME, &inner.settings.identity, inner.clock.clone());
        let show = |leads| inner.show_leading(leads);
        lead_until(&candidate, Box::pin(self.follow_all()), || self.serve_a_term(), show, stop).await;
    }

    /// Works without a Lease, as whoever leads does. For tests and simulations that want two leaders at once.
    pub async fn run_as_leader(&self) {
        tokio::select! {
            biased;
            () = Box::pin(self.follow_all()) => (),
            () = Box::pin(self.serve()) => (),
        }
    }

    /// Makes the ledger anew from the cluster, and the garden's own: whoever leads under an older epoch may write nothing
    /// any more, and an operator that halted because the ledger did not fit goes on.
    pub async fn rebuild(&self) -> Result<Epoch, Trouble> {
        tokio::select! {
            biased;
            () = Box::pin(self.follow_all()) => pending().await,
            rebuilt = Box::pin(self.inner().rebuild()) => rebuilt,
        }
    }

    /// Whether the ledger is the one that the garden was served from, and not older. Only looks.
    pub async fn fits(&self) -> Result<(), Trouble> {
        self.inner().fitting().await.map(drop)
    }

    /// One term: until somebody else leads in the ledger.
    async fn serve_a_term(&self) {
        self.inner().outdated.send_replace(false);
        let mut outdated = self.inner().outdated.subscribe();
        tokio::select! {
            biased;
            // The sender lives as long as this does.
            _ = outdated.wait_for(|outdated| *outdated) => tracing::warn!("the ledger has another leader; starting over"),
            () = Box::pin(self.serve()) => (),
        }
    }
}

impl Inner {
    fn show_leading(&self, leads: bool) {
        self.leading.send_replace(leads);
        self.metrics.leads(CONTROLLER, leads);
    }
}
