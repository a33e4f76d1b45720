//! A crash right before and right after every write of one scenario.

use super::{
    coverage::Coverage,
    play::Play,
    run::{Run, run_script},
    script::{Harm, Script, Spot},
    world::SimError,
};
use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

/// What came of it.
#[derive(Clone, Debug)]
pub struct Enumerated {
    /// How many writes the scenario has when nothing goes wrong.
    pub writes: u64,
    /// How many runs there were.
    pub runs: u64,
    /// The runs that failed.
    pub failed: Vec<Run>,
    /// What was tried.
    pub coverage: Coverage,
}

/// Runs the scenario once without faults, then once for each write with a crash before it and once with a crash after it. With
/// `every`, only the so-many-th writes have their turn.
pub fn enumerate(play: Play, every: u64, progress: impl Fn(u64, u64) + Sync) -> Result<Enumerated, SimError> {
    let calm = run_script(&play.scenario(), false)?;
    let writes = calm.writes;
    let first = Enumerated { writes, runs: 0, failed: Vec::new(), coverage: Coverage::default() };
    let (next, sum, trouble) = (AtomicU64::new(every.max(1)), Mutex::new(first), Mutex::new(None));
    lock(&sum).add(calm);
    let work = || {
        loop {
            let number = next.fetch_add(every.max(1), Ordering::Relaxed);
            if number > writes {
                return;
            }
            for harm in [Harm::CrashBefore, Harm::CrashAfter] {
                let spot = Spot { replica: 2, operation: "write".to_owned(), number };
                let script = Script { faults: BTreeMap::from([(spot, harm)]), ..play.scenario() };
                match run_script(&script, false) {
                    Ok(run) => lock(&sum).add(Run { script, ..run }),
                    Err(error) => {
                        next.store(writes, Ordering::Relaxed);
                        *lock(&trouble) = Some(error);
                    }
                }
            }
            progress(number, writes);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    match trouble.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(sum.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

impl Enumerated {
    fn add(&mut self, run: Run) {
        self.runs += 1;
        self.coverage.merge(&run.coverage);
        if !run.violations.is_empty() {
            self.failed.push(run);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
