//! The cluster operator, beside the subscription operator.

use super::{find_nothing, finds, fine, replays, stays_mended};
use allotment_operator::planted::Planted;
use allotment_sim::stage::{Play, enumerate};

#[test]
fn a_seed_replays_one_run_exactly() {
    replays(Play::Cluster, 6);
}

#[test]
fn a_few_seeds_find_nothing() {
    find_nothing(Play::Cluster, 12);
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
    [pause, flaps].into_iter().for_each(stays_mended);
}

#[test]
fn planted_faults_are_found() {
    for (fault, seed, says) in [
        (Planted::MissingShootMadeAgain, 3, "was made again for Cluster k1, and nobody said so"),
        (Planted::ClusterLetGoUnseen, 39, "is left behind, its Cluster is gone"),
    ] {
        finds(Play::Cluster, fault, seed, says);
    }
}
