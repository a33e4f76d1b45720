//! The simulation of the kubeconfig operator, beside the two others: it repeats itself, it finds nothing, and it finds what is
//! planted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

use allotment_operator::planted::Planted;
use allotment_sim::stage::{Play, Run, Script, Seeds, enumerate, run_planted, run_script, run_seed, sweep};

fn fine(run: &Run) {
    let seed = run.script.options.seed;
    let found: Vec<String> =
        run.violations.iter().map(|(at, violation)| format!("at {at} ms: {violation}")).collect();
    assert!(found.is_empty(), "seed {seed}: {}\n{}", found.join("; "), run.script);
}

#[test]
fn a_seed_replays_one_run_exactly() {
    let one = run_seed(Play::Access, 6, false).unwrap();
    let script: Script = one.script.to_string().parse().unwrap();
    assert_eq!(run_script(&script, false).unwrap().hash, one.hash);
}

#[test]
fn a_few_seeds_find_nothing() {
    let seeds = Seeds { play: Play::Access, first: 1, count: 5, most_failures: 1, jobs: None, planted: None };
    sweep(seeds, |_| ()).unwrap().failed.iter().for_each(|(_, run)| fine(run));
}

/// Some of them: `allotment sim access --enumerate` has its time.
#[test]
fn a_crash_at_a_write_leaves_no_grant_behind() {
    let result = enumerate(Play::Access, 15, |_, _| ()).unwrap();
    result.failed.iter().for_each(fine);
    assert!(result.writes > 60, "{}", result.writes);
}

/// What the simulation found in the operator, as small as it made it.
#[test]
fn what_was_found_stays_mended() {
    // Somebody takes the finalizers off a Cluster: what was granted in its Shoot lives on.
    let outlived = "\
        world accesses=3 calm=178000 cap=0 clean=3000 clusters=4 dedicated=1 eu=0 latency=100 limit=2 pace=10 same-name=true seed=3 several=1 shared=0 step=300 tenants=1 workers=2
        at 38520 create cluster=k2 rich=true tenant=t1
        at 41697 access access=a3-k2 cluster=k2 what=ask
        at 99865 loosen cluster=k2";
    fine(&run_script(&outlived.parse().unwrap(), false).unwrap());
}

/// The first seeds that find each of them, so that the suite need not run them all.
#[test]
fn planted_faults_are_found() {
    for (fault, seed, says) in [
        (Planted::EndedIsRefused, 3, "has let go of a token that is valid"),
        (Planted::OneServerForAll, 3, "has let go of a token that is valid"),
        (Planted::OldTokenEndedFirst, 3, "publishes is refused"),
        (Planted::TokenWrittenDownLater, 40, "which has nothing"),
        (Planted::GoneWithCluster, 3, "has let go of a token that is valid"),
        (Planted::SilentIsGone, 5, "is called revoked, and a token of it is valid"),
    ] {
        let run = run_planted(Play::Access, seed, fault).unwrap();
        let found = run.violations.first().map(|(_, violation)| violation.to_string()).unwrap_or_default();
        assert!(found.contains(says), "{fault:?}, seed {seed}: {found:?}");
    }
}
