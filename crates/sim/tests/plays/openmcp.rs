//! Providers of openMCP, several at once.

use super::{find_nothing, finds, fine, replays};
use allotment_operator::planted::Planted;
use allotment_sim::stage::{Play, enumerate};

#[test]
fn a_seed_replays_one_run_exactly() {
    replays(Play::Openmcp, 6);
}

#[test]
fn a_few_seeds_find_nothing() {
    find_nothing(Play::Openmcp, 6);
}

/// Some of them: `allotment sim openmcp --enumerate` has its time.
#[test]
fn a_crash_at_a_write_loses_and_leaks_nothing() {
    let result = enumerate(Play::Openmcp, 40, |_, _| ()).unwrap();
    result.failed.iter().for_each(fine);
    assert!(result.writes > 80, "{}", result.writes);
}

#[test]
fn planted_faults_are_found() {
    for (fault, seed, says) in [
        (Planted::TakenByName, 1, "is not answered"),
        (Planted::UnreadIsGone, 197, "is still there"),
        (Planted::NothingTakenBack, 2, "a resync wrote"),
        (Planted::WithdrawnUnseen, 5, "was let go, and"),
    ] {
        finds(Play::Openmcp, fault, seed, says);
    }
}
