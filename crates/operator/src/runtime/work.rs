//! Workers: they take what is due, look at it, and say when to look again.

use super::queue::{Outcome, Queue, fair::FairKey};
use crate::metrics::Metrics;
use futures::future::join_all;
use std::fmt::{Debug, Display};
use tokio::time::Instant;

/// Why a look did not come to its end.
pub trait Obstacle: Display {
    /// One of a few words, for metrics.
    fn category(&self) -> &'static str;

    /// When to look again. Somebody else being faster is no failure.
    fn outcome(&self) -> Outcome;
}

/// Works for ever, with so many workers, by turns over the keys of the tasks.
pub async fn work<T: Ord + Clone + Debug, E: Obstacle, F: Future<Output = Result<Outcome, E>>>(
    workers: usize,
    queue: &Queue<T>,
    metrics: &Metrics,
    controller: &'static str,
    key: impl Fn(&T) -> FairKey,
    look: impl Fn(T) -> F,
) {
    let worker = || work_alone(queue, metrics, controller, &key, &look);
    join_all((0..workers.max(1)).map(|_| Box::pin(worker()))).await;
}

/// The same, with one.
pub async fn work_alone<T: Ord + Clone + Debug, E: Obstacle, F: Future<Output = Result<Outcome, E>>>(
    queue: &Queue<T>,
    metrics: &Metrics,
    controller: &'static str,
    key: &impl Fn(&T) -> FairKey,
    look: &impl Fn(T) -> F,
) {
    loop {
        let task = queue.next(key).await;
        let started = Instant::now();
        let result = look(task.clone()).await;
        let outcome = match &result {
            Ok(outcome) => *outcome,
            Err(trouble) => trouble.outcome(),
        };
        let failures = queue.finish(&task, outcome);
        metrics.reconciled(controller, started.elapsed(), result.as_ref().err().map(Obstacle::category));
        match result {
            Err(trouble) if outcome == Outcome::Again => tracing::debug!(?task, %trouble, "again"),
            Err(trouble) => tracing::warn!(?task, %trouble, failures, "cannot finish; trying again"),
            Ok(_) => (),
        }
    }
}
