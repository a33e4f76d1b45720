//! The simulation of the cluster operator, beside the subscription operator: it repeats itself, it finds nothing, and it finds
//! what is planted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

use allotment_operator::planted::Planted;
use allotment_sim::stage::{Play, Run, Script, Seeds, enumerate, run_script, run_seed, shrink, sweep};

fn fine(run: &Run) {
    let seed = run.script.options.seed;
    let found: Vec<String> =
        run.violations.iter().map(|(at, violation)| format!("at {at} ms: {violation}")).collect();
    assert!(found.is_empty(), "seed {seed}: {}\n{}", found.join("; "), run.script);
}

fn seeds(first: u64, count: u64, planted: Option<Planted>) -> Seeds {
    Seeds { play: Play::Cluster, first, count, most_failures: 1, jobs: None, planted }
}

#[test]
fn a_seed_replays_one_run_exactly() {
    let one = run_seed(Play::Cluster, 6, false).unwrap();
    // What it drew, as a script, is the same run too.
    let script: Script = one.script.to_string().parse().unwrap();
    assert_eq!(run_script(&script, false).unwrap().hash, one.hash);
}

#[test]
fn a_few_seeds_find_nothing() {
    let sum = sweep(seeds(1, 12, None), |_| ()).unwrap();
    sum.failed.iter().for_each(|(_, run)| fine(run));
}

/// Some of them: `allotment sim cluster --enumerate` has its time.
#[test]
fn a_crash_at_a_write_loses_and_leaks_nothing() {
    let result = enumerate(Play::Cluster, 6, |_, _| ()).unwrap();
    result.failed.iter().for_each(fine);
    assert!(result.writes > 100, "{}", result.writes);
}

/// What the table in docs/simulation.md says, found anew: `cargo test --release -p allotment-sim --test cluster -- --ignored
/// --nocapture`.
#[test]
#[ignore = "takes minutes"]
#[allow(clippy::print_stdout, reason = "it is there to be read")]
fn first_seeds_of_planted_faults() {
    for fault in Planted::OF_CLUSTERS {
        let sum = sweep(seeds(1, 500, Some(fault)), |_| ()).unwrap();
        let (seed, run) = sum.failed.first().unwrap_or_else(|| panic!("{fault:?} is not found"));
        let shrunk = shrink(run, 2000).unwrap();
        let (before, after, (at, violation)) = (shrunk.before, shrunk.after, &shrunk.run.violations[0]);
        println!(
            "{fault:?}: seed {seed}, {before} to {after}, at {at} ms: {violation}\n{}",
            shrunk.run.script
        );
    }
}

/// As `allotment sim cluster` does it: `FIRST=1 COUNT=2000`.
#[test]
#[ignore = "takes minutes"]
#[allow(clippy::print_stdout, reason = "it is there to be read")]
fn many_seeds() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let started = std::time::Instant::now();
    let most_failures = usize::try_from(number("FAILURES").unwrap_or(5)).unwrap();
    let wanted =
        Seeds { most_failures, ..seeds(number("FIRST").unwrap_or(1), number("COUNT").unwrap_or(100), None) };
    let sum = sweep(wanted, |_| ()).unwrap();
    for (seed, run) in &sum.failed {
        let shrunk = shrink(run, 150).unwrap();
        println!(
            "# {seed} {:?}",
            run.violations.iter().map(|(at, it)| format!("{at}: {it}")).collect::<Vec<_>>()
        );
        println!("{}", shrunk.run.script);
    }
    for cell in sum.coverage.empty(Play::Cluster).iter().chain(&sum.coverage.surprising(Play::Cluster)) {
        println!("{} {} {} {}", cell.operation, cell.state, cell.fault, cell.count);
    }
    println!(
        "{} seeds {} calls {} writes {} faults {} ms {:?}",
        sum.seeds,
        sum.calls,
        sum.writes,
        sum.faults,
        sum.millis,
        started.elapsed()
    );
}

/// A script from a file, with its trace: `SCRIPT=failing.txt`.
#[test]
#[ignore = "for people"]
#[allow(clippy::print_stdout, reason = "it is there to be read")]
fn one_script() {
    let text = std::fs::read_to_string(std::env::var("SCRIPT").unwrap()).unwrap();
    let run = run_script(&text.parse().unwrap(), true).unwrap();
    run.lines.iter().for_each(|line| println!("{line}"));
}
