//! Workers: they take what is due, reconcile it, report what became of it, and say when to reconcile it again.

use super::{
    queue::{Outcome, Queue, fair::FairKey},
    report::{Report, Reporter, report},
};
use crate::metrics::Metrics;
use futures::future::join_all;
use std::fmt::Display;
use tokio::time::Instant;

/// Why a look did not come to its end.
pub trait Obstacle: Display {
    /// One of a few words, for metrics.
    fn category(&self) -> &'static str;

    /// When to look again. Somebody else being faster is no failure.
    fn outcome(&self) -> Outcome;

    /// What the object's condition says about it.
    fn report(&self) -> Report {
        Report::Unchanged
    }
}

/// Whose work it is.
pub struct Worker<'a, R> {
    /// What is counted.
    pub metrics: &'a Metrics,
    /// The controller's name.
    pub controller: &'static str,
    /// The objects that tasks are about.
    pub reporter: &'a R,
}

/// Works for ever, with so many workers, by turns over the keys of the tasks.
pub async fn work<T, R, E, F>(
    workers: usize,
    queue: &Queue<T>,
    worker: &Worker<'_, R>,
    key: impl Fn(&T) -> FairKey,
    look: impl Fn(T) -> F,
) where
    T: Ord + Clone + Display,
    R: Reporter<T>,
    E: Obstacle,
    F: Future<Output = Result<Outcome, E>>,
{
    let work = || work_alone(queue, worker, &key, &look);
    join_all((0..workers.max(1)).map(|_| Box::pin(work()))).await;
}

/// The same, with one.
pub async fn work_alone<T, R, E, F>(
    queue: &Queue<T>,
    worker: &Worker<'_, R>,
    key: &impl Fn(&T) -> FairKey,
    look: &impl Fn(T) -> F,
) where
    T: Ord + Clone + Display,
    R: Reporter<T>,
    E: Obstacle,
    F: Future<Output = Result<Outcome, E>>,
{
    let Worker { metrics, controller, reporter } = worker;
    loop {
        let task = queue.next(key).await;
        let started = Instant::now();
        let result = look(task.clone()).await;
        let elapsed = started.elapsed();
        let (mut outcome, what) = match &result {
            Ok(Outcome::Again) => (Outcome::Again, Report::Unchanged),
            Ok(outcome) => (*outcome, Report::Finished),
            Err(error) => (error.outcome(), error.report()),
        };
        let is_finished = what == Report::Finished;
        let is_told = report(*reporter, &task, what).await;
        // Nothing else would have it removed.
        if is_finished && !is_told && result.is_ok() {
            outcome = Outcome::Again;
        }
        let failures = queue.finish(&task, outcome);
        metrics.reconciled(controller, elapsed, result.as_ref().err().map(Obstacle::category));
        match result {
            Err(error) if outcome == Outcome::Again => {
                tracing::debug!(controller, object = %task, %error, "conflict, retrying");
            }
            Err(error) => {
                let category = error.category();
                tracing::warn!(controller, object = %task, category, failures, %error, "cannot finish; trying again");
            }
            Ok(_) => (),
        }
    }
}
