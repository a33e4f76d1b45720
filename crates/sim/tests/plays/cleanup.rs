//! The cleanup operator.

use super::{find_nothing, finds, fine, replays};
use allotment_operator::planted::Planted;
use allotment_sim::stage::{Play, enumerate};

/// Faults that were planted, the seed that finds each, and the words of the violation. No seed is known yet for `WavesUnchecked` and
/// `UnknownIsEmpty`.
const RECORDED: [(Planted, u64, &str); 5] = [
    (Planted::FreedAfterOneListing, 8, "became free, and CarrierGateway"),
    (Planted::AnyCloudAccount, 22, "in cloud account cloud-a2, which is not its own"),
    (Planted::KeepIgnored, 4, "and stays: people keep it"),
    (Planted::WitnessIgnored, 8, "became free, and CarrierGateway"),
    (Planted::BaselineIgnored, 1, "and stays: it is in the baseline"),
];

#[test]
fn a_seed_replays_one_run_exactly() {
    replays(Play::Cleanup, 6);
}

#[test]
fn a_few_seeds_find_nothing() {
    find_nothing(Play::Cleanup, 10);
}

/// Some of them: `allotment sim cleanup --enumerate` has its time.
#[test]
fn a_crash_at_a_write_frees_and_deletes_nothing_wrongly() {
    let result = enumerate(Play::Cleanup, 40, |_, _| ()).unwrap();
    result.failed.iter().for_each(fine);
    assert!(result.writes > 60, "{}", result.writes);
}

#[test]
fn planted_faults_are_found() {
    for (fault, seed, says) in RECORDED {
        finds(Play::Cleanup, fault, seed, says);
    }
}
