//! Many seeds, on several threads. Each run has a thread to itself and knows nothing of the others.

use super::{
    coverage::Coverage,
    play::Play,
    run::{Run, run_planted, run_seed},
    world::SimError,
};
use allotment_operator::planted::Planted;
use std::{
    num::NonZeroUsize,
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

/// Which seeds, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// What is simulated.
    pub play: Play,
    /// The first.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// No more once so many have failed. All before the first that failed are run, whatever the threads do.
    pub most_failures: usize,
    /// How many at once; none: as many as the machine has cores.
    pub jobs: Option<NonZeroUsize>,
    /// The fault that the operators have of their own, in tests.
    pub planted: Option<Planted>,
}

/// Runs many seeds.
pub fn sweep(seeds: Seeds, progress: impl Fn(u64) + Sync) -> Result<Sweep, SimError> {
    let Seeds { play, first, count: seeds, most_failures, jobs, planted } = seeds;
    let (next, sum, trouble) = (AtomicU64::new(0), Mutex::new(Sweep::default()), Mutex::new(None));
    let threads = jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, usize::from);
    let run =
        |seed| planted.map_or_else(|| run_seed(play, seed, false), |fault| run_planted(play, seed, fault));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= seeds {
                return;
            }
            let seed = first + number;
            match run(seed) {
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
