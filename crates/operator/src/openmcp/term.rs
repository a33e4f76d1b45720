//! From start to stop of a controller: followers all the time, workers while it leads.

use super::Parts;
use crate::runtime::{lease::Candidate, lifetime::lead_until};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use std::future::Future;
use tokio::sync::watch;

/// Runs until told to stop. Where there are several replicas, only whoever holds the Lease serves.
pub(super) async fn run_until<S: Future<Output = ()>>(
    parts: &Parts,
    controller: &'static str,
    lease: &str,
    leading: &watch::Sender<bool>,
    follow: impl Future<Output = ()>,
    mut serve: impl FnMut() -> S,
    stop: impl Future<Output = ()>,
) {
    let show = |leads| {
        leading.send_replace(leads);
        parts.metrics.leads(controller, leads);
    };
    let Some(namespace) = &parts.settings.lease_namespace else {
        show(true);
        tokio::select! {
            biased;
            () = stop => (),
            () = follow => (),
            () = serve() => (),
        }
        show(false);
        return;
    };
    let leases: Api<Lease> = Api::namespaced(parts.platform.clone(), namespace);
    let candidate = Candidate::new(leases, lease, &parts.settings.identity, parts.clock.clone());
    lead_until(&candidate, follow, serve, show, stop).await;
}
