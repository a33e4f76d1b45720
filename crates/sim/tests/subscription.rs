//! The simulation of the subscription operator: it repeats itself, it finds nothing, and it finds what is planted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

use allotment_operator::planted::Planted;
use allotment_sim::subscription::{Run, Script, enumerate, run_planted, run_script, run_seed, shrink};

fn fine(run: &Run) {
    let seed = run.script.options.seed;
    let found: Vec<String> =
        run.violations.iter().map(|(at, violation)| format!("at {at} ms: {violation}")).collect();
    assert!(found.is_empty(), "seed {seed}: {}\n{}", found.join("; "), run.script);
}

#[test]
fn a_seed_replays_one_run_exactly() {
    for seed in [3, 8] {
        let (one, other) = (run_seed(seed, false).unwrap(), run_seed(seed, false).unwrap());
        assert_eq!(one.hash, other.hash, "seed {seed}");
        // What it drew, as a script, is the same run too.
        let script: Script = one.script.to_string().parse().unwrap();
        assert_eq!(run_script(&script, false).unwrap().hash, one.hash, "seed {seed}, as a script");
    }
    assert_ne!(run_seed(3, false).unwrap().hash, run_seed(4, false).unwrap().hash);
}

#[test]
fn thirty_seeds_find_nothing() {
    for seed in 1..=30 {
        fine(&run_seed(seed, false).unwrap());
    }
}

#[test]
fn a_crash_at_any_write_loses_and_leaks_nothing() {
    let result = enumerate(|_, _| ()).unwrap();
    result.failed.iter().for_each(fine);
    assert!(result.writes > 50, "{}", result.writes);
    assert_eq!(result.runs, 2 * result.writes + 1);
}

/// The first seeds that find each of them, so that the suite need not run them all; `allotment sim` finds them too.
#[test]
fn planted_faults_are_found() {
    for (fault, seed, says) in [
        (Planted::TenantOutsideTheLock, 53, "may have one account, and has"),
        (Planted::LimitCountedThenWritten, 10, "clusters, 2 are allowed"),
        (Planted::ReleaseLooksOnlyAtShoots, 2, "which is draining by"),
        (Planted::BindingWithoutVersion, 3, "but it was not to be had"),
        (Planted::FailedReadIsGone, 48, "which its request"),
    ] {
        let run = run_planted(seed, fault).unwrap();
        let found = run.violations.first().map(|(_, violation)| violation.to_string()).unwrap_or_default();
        assert!(found.contains(says), "{fault:?}, seed {seed}: {found:?}");
    }
}

/// Found by the simulation: who looked for what the old request left behind came before its account was reserved, and nobody
/// looked again.
#[test]
fn a_request_that_is_made_anew_while_the_ledger_is_asked_leaks_no_account() {
    let script: Script = "\
        world seed=1 tenants=1 dedicated=2 eu=0 shared=0 limit=1 several=1 cap=0 workers=2 latency=5 clean=5000 same-name=false calm=30000
        at 5000 ask request=r1 tenant=t1 want=own
        at 6000 renew request=r1
        fault 0 way-to-reserve 1 delay time=3000
        fault 1 way-to-reserve 1 delay time=3000"
        .parse()
        .unwrap();
    let run = run_script(&script, false).unwrap();
    assert!(!run.script.faults.is_empty(), "nothing was delayed");
    fine(&run);
}

#[test]
fn a_failing_run_is_made_small() {
    let failing = run_planted(2, Planted::ReleaseLooksOnlyAtShoots).unwrap();
    let shrunk = shrink(&failing, 40).unwrap();
    assert!(shrunk.after < shrunk.before / 2, "{} of {}", shrunk.after, shrunk.before);
    assert!(!shrunk.run.violations.is_empty() && !shrunk.run.lines.is_empty());
}
