//! The simulations: they repeat themselves, they find nothing, and they find what is planted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod access;
mod cleanup;
mod cluster;
mod hostile;
mod openmcp;
mod subscription;

use allotment_operator::planted::Planted;
use allotment_sim::stage::{Play, Run, Script, Seeds, run_planted, run_script, run_seed, sweep};

fn fine(run: &Run) {
    let seed = run.script.options.seed;
    let found: Vec<String> =
        run.violations.iter().map(|(at, violation)| format!("at {at} ms: {violation}")).collect();
    assert!(found.is_empty(), "seed {seed}: {}\n{}", found.join("; "), run.script);
}

/// A seed is one run, and so is what it drew, as a script.
fn replays(play: Play, seed: u64) {
    let one = run_seed(play, seed, false).unwrap();
    let script: Script = one.script.to_string().parse().unwrap();
    assert_eq!(run_script(&script, false).unwrap().hash, one.hash, "seed {seed}, as a script");
}

/// The first seeds find nothing.
fn find_nothing(play: Play, count: u64) {
    let seeds = Seeds { play, first: 1, count, most_failures: 1, jobs: None, planted: None };
    sweep(seeds, |_| ()).unwrap().failed.iter().for_each(|(_, run)| fine(run));
}

/// What a simulation found in an operator, as small as it made it.
fn stays_mended(script: &str) {
    fine(&run_script(&script.parse().unwrap(), false).unwrap());
}

/// The first seed that finds a planted fault, so that the suite need not run them all, and what it says: the example `planted`
/// finds them anew.
fn finds(play: Play, fault: Planted, seed: u64, says: &str) {
    let run = run_planted(play, seed, fault).unwrap();
    let found = run.violations.first().map(|(_, violation)| violation.to_string()).unwrap_or_default();
    assert!(found.contains(says), "{fault:?}, seed {seed}: {found:?}");
}
