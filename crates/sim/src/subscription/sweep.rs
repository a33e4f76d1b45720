//! Many seeds, on as many threads as the machine has. Each run has a thread to itself and knows nothing of the others.

use super::{
    coverage::Coverage,
    run::{Run, run_seed},
    world::SimError,
};
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

/// What came of many seeds.
#[derive(Clone, Debug, Default)]
pub struct Sweep {
    /// How many were run.
    pub seeds: u64,
    /// Those that failed, by seed.
    pub failed: Vec<(u64, Run)>,
    /// What was tried.
    pub coverage: Coverage,
    /// Calls of operators.
    pub calls: u64,
    /// Writes of operators, without Leases.
    pub writes: u64,
    /// How many faults came about.
    pub faults: u64,
    /// How long it all took in there, in milliseconds.
    pub millis: u64,
}

/// Runs `seeds` seeds from `first` on, until so many have failed.
pub fn sweep(
    first: u64,
    seeds: u64,
    most_failures: usize,
    progress: impl Fn(u64) + Sync,
) -> Result<Sweep, SimError> {
    let (next, sum, trouble) = (AtomicU64::new(0), Mutex::new(Sweep::default()), Mutex::new(None));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= seeds {
                return;
            }
            let seed = first + number;
            match run_seed(seed, false) {
                Ok(run) => {
                    let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
                    sum.add(seed, run);
                    progress(sum.seeds);
                    if sum.failed.len() >= most_failures {
                        next.store(seeds, Ordering::Relaxed);
                    }
                }
                Err(error) => {
                    next.store(seeds, Ordering::Relaxed);
                    *trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    if let Some(error) = trouble.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let mut sum = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    sum.failed.sort_by_key(|(seed, _)| *seed);
    Ok(sum)
}

impl Sweep {
    fn add(&mut self, seed: u64, run: Run) {
        self.seeds += 1;
        self.calls += run.calls;
        self.writes += run.writes;
        self.millis += run.millis;
        self.faults += run.script.faults.len() as u64;
        self.coverage.merge(&run.coverage);
        if !run.violations.is_empty() {
            self.failed.push((seed, run));
        }
    }
}
