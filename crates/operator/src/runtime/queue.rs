//! What is to be reconciled, when, and whose turn it is.
//!
//! `kube::runtime::Controller` picks its next object from a randomly seeded hash set, so a simulation on top of it cannot
//! be repeated. This queue is ordered: the same input gives the same order. A task runs once at a time, and one that is
//! added while it runs, runs again.
//!
//! Tasks that are due are served in turns ([`fair`]): somebody who makes thousands of them delays only himself.

pub mod fair;

#[cfg(test)]
mod tests;

use fair::{FairKey, Round};
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

/// Tasks. Those that are not due yet are ordered by when they are, then by when they were added; those that are, by turns
/// over fair keys, and for each key in that same order.
#[derive(Debug)]
pub struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Notify,
}

#[derive(Debug)]
struct State<T> {
    later: BTreeMap<(Instant, u64), T>,
    ready: Round<T>,
    tasks: BTreeMap<T, Task>,
    next_number: u64,
    /// How many tasks run, or are on their way from `later` to `ready`.
    busy: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Task {
    place: Place,
    running: bool,
    /// Added while it ran.
    again: bool,
    failures: u32,
    /// How often in a row somebody else was faster.
    overtaken: u32,
}

/// Where a task waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    Later(Instant, u64),
    /// It is due, and a worker asks for its fair key.
    Sorting,
    Ready,
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
        Self { state: Mutex::new(State::new()), changed: Notify::new() }
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
        let state = self.lock();
        state.later.len() + state.ready.len()
    }

    /// Whether nothing waits to run.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether nothing runs, and nothing is due before this moment.
    pub fn is_idle_until(&self, moment: Instant) -> bool {
        let state = self.lock();
        let nothing_due = state.later.first_key_value().is_none_or(|((due, _), _)| *due > moment);
        nothing_due && state.ready.len() == 0 && state.busy == 0
    }

    /// Whether somebody has taken this task and not finished it.
    pub fn is_running(&self, task: &T) -> bool {
        self.lock().tasks.get(task).is_some_and(|task| task.running)
    }

    /// Forgets everything.
    pub fn clear(&self) {
        let mut state = self.lock();
        let next_number = state.next_number;
        *state = State { next_number, ..State::new() };
    }

    /// Waits for the next task. Whoever takes it says [`Queue::finish`] when it is done. `key` is asked once for each task
    /// that comes due, while nothing is locked here.
    pub async fn next(&self, key: impl Fn(&T) -> FairKey) -> T {
        loop {
            let changed = self.changed.notified();
            let due = match self.take(&key) {
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
        let was_running = std::mem::take(&mut entry.running);
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
        // A task that was forgotten and added again while its first run went on keeps its place.
        let is_placed = entry.place != Place::Nowhere;
        state.busy -= usize::from(was_running);
        match wait {
            Some(wait) => state.put(task.clone(), Instant::now() + wait),
            None if is_placed => (),
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

    /// The task whose turn it is; else when the next one will be due.
    fn take(&self, key: &impl Fn(&T) -> FairKey) -> Result<T, Option<Instant>> {
        let due = self.lock().take_due(Instant::now());
        // The key may be looked up in what is known of the cluster, and whoever holds that may be adding tasks here.
        let sorted: Vec<(FairKey, T)> = due.into_iter().map(|task| (key(&task), task)).collect();
        let mut state = self.lock();
        for (key, task) in sorted {
            state.make_ready(key, task);
        }
        let Some(task) = state.ready.pop() else {
            return Err(state.later.first_key_value().map(|((due, _), _)| *due));
        };
        let entry = state.tasks.entry(task.clone()).or_default();
        entry.place = Place::Nowhere;
        entry.running = true;
        state.busy += 1;
        let more = state.ready.len() > 0 || !state.later.is_empty();
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
    fn new() -> Self {
        Self {
            later: BTreeMap::new(),
            ready: Round::default(),
            tasks: BTreeMap::new(),
            next_number: 0,
            busy: 0,
        }
    }

    fn put(&mut self, task: T, due: Instant) {
        let entry = self.tasks.entry(task.clone()).or_default();
        match entry.place {
            Place::Sorting | Place::Ready => return,
            Place::Later(before, _) if before <= due => return,
            Place::Later(before, number) => {
                self.later.remove(&(before, number));
            }
            Place::Nowhere => (),
        }
        entry.place = Place::Later(due, self.next_number);
        self.later.insert((due, self.next_number), task);
        self.next_number += 1;
    }

    /// Takes out what is due.
    fn take_due(&mut self, now: Instant) -> Vec<T> {
        let not_yet = self.later.split_off(&(now + Duration::from_nanos(1), 0));
        let due: Vec<T> = std::mem::replace(&mut self.later, not_yet).into_values().collect();
        for task in &due {
            self.tasks.entry(task.clone()).or_default().place = Place::Sorting;
        }
        self.busy += due.len();
        due
    }

    /// It is due, and this is its key. It may have been forgotten in the meantime.
    fn make_ready(&mut self, key: FairKey, task: T) {
        let Some(entry) = self.tasks.get_mut(&task).filter(|entry| entry.place == Place::Sorting) else {
            return;
        };
        entry.place = Place::Ready;
        self.busy -= 1;
        self.ready.push(key, task);
    }
}

fn doubled(first: Duration, times: u32, longest: Duration) -> Duration {
    first.saturating_mul(1 << times.saturating_sub(1).min(10)).min(longest)
}
