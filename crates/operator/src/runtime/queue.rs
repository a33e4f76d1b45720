//! What is to be looked at, and when.
//!
//! `kube::runtime::Controller` picks its next object from a randomly seeded hash set, so a simulation on top of it cannot
//! be repeated. This queue is ordered: the same input gives the same order. A task runs once at a time, and one that is
//! added while it runs, runs again.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

/// The first wait after a failure. Each further failure doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(200);

/// The first wait after somebody else was faster: usually the watch has not shown their write yet. Each further time in a
/// row doubles it, up to [`LONGEST_AGAIN`], so that a stalled watch does not become a storm of calls.
const FIRST_AGAIN: Duration = Duration::from_millis(5);

/// The longest wait after somebody else was faster.
const LONGEST_AGAIN: Duration = Duration::from_secs(2);

/// The longest wait after failures: an outage of an hour must not cost an hour once it is over.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Tasks, ordered by when they are due, then by when they were added.
#[derive(Debug)]
pub struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Notify,
}

#[derive(Debug)]
struct State<T> {
    due: BTreeMap<(Instant, u64), T>,
    tasks: BTreeMap<T, Task>,
    next_number: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Task {
    place: Option<(Instant, u64)>,
    running: bool,
    /// Added while it ran.
    again: bool,
    failures: u32,
    /// How often in a row somebody else was faster.
    overtaken: u32,
}

/// What became of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing more to do until something changes.
    Done,
    /// To be looked at again after this time.
    After(Duration),
    /// Somebody else was faster: soon, quietly.
    Again,
    /// Later, and later still if it fails again.
    Failed,
}

impl<T: Ord + Clone> Queue<T> {
    /// Nothing to do.
    pub fn new() -> Self {
        let state = State { due: BTreeMap::new(), tasks: BTreeMap::new(), next_number: 0 };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    /// To be looked at now.
    pub fn add(&self, task: T) {
        self.add_at(task, Instant::now());
    }

    /// To be looked at after this time, or earlier if it is due earlier.
    pub fn add_after(&self, task: T, wait: Duration) {
        self.add_at(task, Instant::now() + wait);
    }

    /// How many tasks are waiting to run.
    pub fn len(&self) -> usize {
        self.lock().due.len()
    }

    /// Whether nothing waits to run.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether nothing runs, and nothing is due before this moment.
    pub fn is_idle_until(&self, moment: Instant) -> bool {
        let state = self.lock();
        let nothing_due = state.due.first_key_value().is_none_or(|((due, _), _)| *due > moment);
        nothing_due && !state.tasks.values().any(|task| task.running)
    }

    /// Whether somebody has taken this task and not finished it.
    pub fn is_running(&self, task: &T) -> bool {
        self.lock().tasks.get(task).is_some_and(|task| task.running)
    }

    /// Forgets everything.
    pub fn clear(&self) {
        let mut state = self.lock();
        state.due.clear();
        state.tasks.clear();
    }

    /// Waits for the next task. Whoever takes it says [`Queue::finish`] when it is done.
    pub async fn next(&self) -> T {
        loop {
            let changed = self.changed.notified();
            let due = match self.take() {
                Ok(task) => return task,
                Err(due) => due,
            };
            match due {
                None => changed.await,
                Some(due) => tokio::select! {
                    biased;
                    () = changed => (),
                    () = sleep_until(due) => (),
                },
            }
        }
    }

    /// Says what became of a task, and returns how often it has failed in a row.
    pub fn finish(&self, task: &T, outcome: Outcome) -> u32 {
        let mut state = self.lock();
        let Some(entry) = state.tasks.get_mut(task) else { return 0 };
        entry.running = false;
        let again = std::mem::take(&mut entry.again);
        entry.failures = if outcome == Outcome::Failed { entry.failures.saturating_add(1) } else { 0 };
        entry.overtaken = if outcome == Outcome::Again { entry.overtaken.saturating_add(1) } else { 0 };
        let failures = entry.failures;
        let wait = match outcome {
            Outcome::Failed => Some(doubled(FIRST_WAIT, failures, LONGEST_WAIT)),
            Outcome::Again => Some(doubled(FIRST_AGAIN, entry.overtaken, LONGEST_AGAIN)),
            _ if again => Some(Duration::ZERO),
            Outcome::After(wait) => Some(wait),
            Outcome::Done => None,
        };
        match wait {
            Some(wait) => state.put(task.clone(), Instant::now() + wait),
            None => {
                state.tasks.remove(task);
            }
        }
        drop(state);
        self.changed.notify_one();
        failures
    }

    fn add_at(&self, task: T, due: Instant) {
        let mut state = self.lock();
        match state.tasks.get_mut(&task) {
            Some(entry) if entry.running => entry.again = true,
            _ => state.put(task, due),
        }
        drop(state);
        self.changed.notify_one();
    }

    /// The first task that is due; else when the first one will be.
    fn take(&self) -> Result<T, Option<Instant>> {
        let mut state = self.lock();
        let Some(((due, number), _)) = state.due.first_key_value().map(|(place, task)| (*place, task)) else {
            return Err(None);
        };
        if due > Instant::now() {
            return Err(Some(due));
        }
        let task = state.due.remove(&(due, number)).ok_or(None)?;
        let entry = state.tasks.entry(task.clone()).or_default();
        entry.place = None;
        entry.running = true;
        let more = !state.due.is_empty();
        drop(state);
        // The permit that woke this worker may have stood for two tasks.
        if more {
            self.changed.notify_one();
        }
        Ok(task)
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Ord + Clone> Default for Queue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Ord + Clone> State<T> {
    fn put(&mut self, task: T, due: Instant) {
        let entry = self.tasks.entry(task.clone()).or_default();
        if let Some(place) = entry.place {
            if place.0 <= due {
                return;
            }
            self.due.remove(&place);
        }
        let place = (due, self.next_number);
        self.next_number += 1;
        entry.place = Some(place);
        self.due.insert(place, task);
    }
}

fn doubled(first: Duration, times: u32, longest: Duration) -> Duration {
    first.saturating_mul(1 << times.saturating_sub(1).min(10)).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn tasks_come_in_order_and_once() {
        let queue = Queue::new();
        queue.add_after("later", Duration::from_secs(5));
        queue.add("b");
        queue.add("a");
        queue.add("b");
        assert_eq!(queue.next().await, "b");
        assert_eq!(queue.next().await, "a");
        let started = Instant::now();
        assert_eq!(queue.next().await, "later");
        assert_eq!(started.elapsed().as_secs(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_added_while_it_runs_runs_again() {
        let queue = Queue::new();
        queue.add(1);
        let task = queue.next().await;
        queue.add(1);
        assert!(!queue.is_idle_until(Instant::now()) && queue.is_running(&1) && !queue.is_running(&2));
        queue.finish(&task, Outcome::Done);
        assert_eq!(queue.next().await, 1);
        queue.finish(&1, Outcome::Done);
        assert!(queue.is_empty() && queue.is_idle_until(Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn failures_wait_longer_and_longer_up_to_a_cap() {
        let queue = Queue::new();
        queue.add(1);
        let mut waits = Vec::new();
        for _ in 0..12 {
            let started = Instant::now();
            let task = queue.next().await;
            waits.push(started.elapsed().as_millis());
            queue.finish(&task, Outcome::Failed);
        }
        assert_eq!(waits[..4], [0, 200, 400, 800]);
        assert_eq!(waits[11], 30_000);
    }

    #[tokio::test(start_paused = true)]
    async fn an_earlier_date_wins() {
        let queue = Queue::new();
        queue.add_after(1, Duration::from_secs(60));
        queue.add_after(1, Duration::from_secs(1));
        queue.add_after(1, Duration::from_secs(90));
        let started = Instant::now();
        queue.next().await;
        assert_eq!(started.elapsed().as_secs(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn two_workers_share_what_comes_at_once() {
        let queue = std::sync::Arc::new(Queue::new());
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                tokio::spawn(async move { queue.next().await })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(1)).await;
        queue.add(1);
        queue.add(2);
        let mut got = Vec::new();
        for worker in workers {
            got.push(worker.await.unwrap());
        }
        got.sort_unstable();
        assert_eq!(got, [1, 2]);
    }
}
