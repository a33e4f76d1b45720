//! A controller from start to stop: followers all the time, work while it leads.

use super::lease::Candidate;
use crate::metrics::Metrics;
use futures::future::{BoxFuture, pending};
use std::future::Future;
use tokio::sync::watch;

/// Something that follows, and works while it leads.
///
/// Its futures are boxed: one that is not is compiled into every binary that awaits it, and an operator takes minutes.
pub trait Controller: Sync {
    /// Whether it leads, and how it comes to.
    fn leadership(&self) -> &Leadership;

    /// Follows everything, for ever.
    fn follow_all(&self) -> BoxFuture<'_, ()>;

    /// Works, for ever.
    fn serve(&self) -> BoxFuture<'_, ()>;

    /// Works until there is a reason to lead anew.
    fn serve_a_term(&self) -> BoxFuture<'_, ()> {
        self.serve()
    }

    /// Whether this process leads.
    fn is_leading(&self) -> bool {
        *self.leadership().leading.borrow()
    }

    /// Runs until told to stop: follows, tries to lead, and works while it does. The Lease is given up then, so that the next
    /// leader need not wait for it to run out. Dropping it stops it like a crash would.
    fn run_until(&self, stop: impl Future<Output = ()> + Send) -> impl Future<Output = ()> + Send {
        async move {
            let Leadership { name, candidate, leading, metrics } = self.leadership();
            let show = |leads| {
                leading.send_replace(leads);
                metrics.leads(name, leads);
            };
            let follow = self.follow_all();
            let Some(candidate) = candidate else {
                show(true);
                tokio::select! {
                    biased;
                    () = stop => (),
                    () = follow => (),
                    () = self.serve_a_term() => (),
                }
                show(false);
                return;
            };
            lead_until(candidate, follow, || self.serve_a_term(), show, stop).await;
        }
    }

    /// The same for ever.
    fn run(&self) -> impl Future<Output = ()> + Send {
        self.run_until(pending())
    }

    /// Works without a Lease, as whoever leads does. For tests and simulations that want two leaders at once.
    fn run_as_leader(&self) -> impl Future<Output = ()> + Send {
        async move {
            tokio::select! {
                biased;
                () = self.follow_all() => (),
                () = self.serve() => (),
            }
        }
    }
}

/// Whether a controller leads, and how it comes to.
pub struct Leadership {
    name: &'static str,
    candidate: Option<Candidate>,
    leading: watch::Sender<bool>,
    metrics: Metrics,
}

impl Leadership {
    /// Of the controller of this name in metrics. Without a candidate it always leads.
    pub fn new(name: &'static str, candidate: Option<Candidate>, metrics: Metrics) -> Self {
        let candidate = candidate.map(|candidate| candidate.recording(metrics.dependencies().clone()));
        Self { name, candidate, leading: watch::channel(false).0, metrics }
    }
}

/// Follows, tries to lead, and serves while it does, until told to stop. The Lease is given up then, so that the next leader
/// need not wait for it to run out. A term that ends by itself is followed by the next.
async fn lead_until<S: Future<Output = ()>>(
    candidate: &Candidate,
    follow: impl Future<Output = ()>,
    mut serve: impl FnMut() -> S,
    show: impl Fn(bool),
    stop: impl Future<Output = ()>,
) {
    let mut leading = candidate.leading();
    let stopping = watch::channel(false).0;
    let lead = async {
        while !*stopping.borrow() {
            candidate
                .lead(|| {
                    let (mut told, term) = (stopping.subscribe(), serve());
                    Box::pin(async move {
                        tokio::select! {
                            biased;
                            // The sender lives as long as this does.
                            _ = told.wait_for(|stop| *stop) => (),
                            () = term => (),
                        }
                    })
                })
                .await;
        }
    };
    let follow_leading = async {
        show(false);
        while leading.changed().await.is_ok() {
            show(*leading.borrow());
        }
    };
    let told = async {
        stop.await;
        stopping.send_replace(true);
        // Whoever leads has to give up the Lease first; a standby has nothing to give up.
        if *candidate.leading().borrow() {
            pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        () = follow => (),
        () = Box::pin(lead) => (),
        () = follow_leading => (),
        () = told => (),
    }
    show(false);
}
