//! The kubeconfig operator, beside the two others.

use super::{find_nothing, finds, fine, replays, stays_mended};
use allotment_operator::planted::Planted;
use allotment_sim::stage::{Play, enumerate};

#[test]
fn a_seed_replays_one_run_exactly() {
    replays(Play::Access, 6);
}

#[test]
fn a_few_seeds_find_nothing() {
    find_nothing(Play::Access, 5);
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
    stays_mended(outlived);
}

#[test]
fn planted_faults_are_found() {
    for (fault, seed, says) in [
        (Planted::EndedIsRefused, 3, "has let go of a token that is valid"),
        (Planted::OneServerForAll, 3, "has let go of a token that is valid"),
        (Planted::OldTokenEndedFirst, 3, "publishes is refused"),
        (Planted::TokenWrittenDownLater, 1, "a resync wrote"),
        (Planted::GoneWithCluster, 3, "has let go of a token that is valid"),
        (Planted::SilentIsGone, 5, "is called revoked, and a token of it is valid"),
    ] {
        finds(Play::Access, fault, seed, says);
    }
}
