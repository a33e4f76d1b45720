//! The simulation of openMCP providers, several at once: it repeats itself, and it finds nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

use allotment_sim::stage::{Play, Run, Script, Seeds, enumerate, run_script, run_seed, sweep};

fn fine(run: &Run) {
    let seed = run.script.options.seed;
    let found: Vec<String> =
        run.violations.iter().map(|(at, violation)| format!("at {at} ms: {violation}")).collect();
    assert!(found.is_empty(), "seed {seed}: {}\n{}", found.join("; "), run.script);
}

#[test]
fn a_seed_replays_one_run_exactly() {
    let one = run_seed(Play::Openmcp, 6, false).unwrap();
    // What it drew, as a script, is the same run too.
    let script: Script = one.script.to_string().parse().unwrap();
    assert_eq!(run_script(&script, false).unwrap().hash, one.hash);
}

#[test]
fn a_few_seeds_find_nothing() {
    let seeds =
        Seeds { play: Play::Openmcp, first: 1, count: 6, most_failures: 1, jobs: None, planted: None };
    let sum = sweep(seeds, |_| ()).unwrap();
    sum.failed.iter().for_each(|(_, run)| fine(run));
}

/// Some of them: `allotment sim openmcp --enumerate` has its time.
#[test]
fn a_crash_at_a_write_loses_and_leaks_nothing() {
    let result = enumerate(Play::Openmcp, 40, |_, _| ()).unwrap();
    result.failed.iter().for_each(fine);
    assert!(result.writes > 80, "{}", result.writes);
}
