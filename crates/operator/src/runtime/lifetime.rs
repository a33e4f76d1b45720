//! From start to stop: followers all the time, work while the Lease is held.

use super::lease::Candidate;
use futures::future::pending;
use std::future::Future;
use tokio::sync::watch;

/// Follows, tries to lead, and serves while it does, until told to stop. The Lease is given up then, so that the next leader
/// need not wait for it to run out. A term that ends by itself is followed by the next.
pub async fn lead_until<S: Future<Output = ()>>(
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
