//! The simulation of the cluster operator, beside the subscription operator: it repeats itself, it finds nothing, and it finds
//! what is planted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

use allotment_operator::planted::Planted;
use allotment_sim::stage::{Play, Run, Script, Seeds, enumerate, run_planted, run_script, run_seed, sweep};

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

/// What the simulation found, as small as it made it.
#[test]
fn what_was_found_stays_mended() {
    // What was asked for was brought to the Shoot, and the pause began before the status said so: ready is what is asked for
    // now, not what was asked for before.
    let pause = "\
        world calm=115000 cap=0 clean=30000 clusters=5 dedicated=5 eu=0 latency=1 limit=3 pace=600 same-name=true seed=240 several=2 shared=0 step=1000 tenants=2 workers=4
        at 37917 create cluster=k4 rich=false tenant=t2
        at 40478 create cluster=k2 rich=true tenant=t2
        at 42741 mark cluster=k2 what=pause
        at 45407 change cluster=k2 what=other-administrators
        fault 0 hold 2 delay time=709";
    // Administrators change while the API server comes and goes, and the cache lags behind: the Shoot was like that once.
    let flaps = "\
        world calm=106000 cap=0 clean=6000 clusters=5 dedicated=3 eu=0 latency=100 limit=3 pace=600 same-name=true seed=275 several=3 shared=0 tenants=3 workers=2
        at 5979 create cluster=k3 rich=true tenant=t3
        at 24208 trouble cluster=k3 what=flaps
        at 41702 change cluster=k3 what=administrators
        fault 1 watch-own-shoots 1 watch-stall time=2780";
    for script in [pause, flaps] {
        fine(&run_script(&script.parse().unwrap(), false).unwrap());
    }
}

/// The first seeds that find each of them, so that the suite need not run them all.
#[test]
fn planted_faults_are_found() {
    for (fault, seed, says) in [
        (Planted::ShootNotLookedFor, 134, "Cluster k3 says Ready"),
        (Planted::ShootWithoutVersion, 56, "is in account a1, which its request"),
        (Planted::MissingShootMadeAgain, 1, "was made again for Cluster k2, and nobody said so"),
        (Planted::ClusterLetGoUnseen, 39, "is left behind, its Cluster is gone"),
    ] {
        let run = run_planted(Play::Cluster, seed, fault).unwrap();
        let found = run.violations.first().map(|(_, violation)| violation.to_string()).unwrap_or_default();
        assert!(found.contains(says), "{fault:?}, seed {seed}: {found:?}");
    }
}
