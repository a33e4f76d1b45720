//! The cleanup operator.

use super::{find_nothing, finds, fine, replays, stays_mended};
use allotment_operator::planted::Planted;
use allotment_sim::stage::{Play, enumerate};

/// Faults that were planted, the seed that finds each, and the words of the violation.
const RECORDED: [(Planted, u64, &str); 6] = [
    (Planted::FreedAfterOneListing, 17, "became free, and Snapshot left-33"),
    (Planted::WavesUnchecked, 43, "which was not to be touched: Shoot f10 is in it"),
    (Planted::AnyCloudAccount, 39, "the baseline is of another account"),
    (Planted::KeepIgnored, 7, "and stays: people keep it"),
    (Planted::WitnessIgnored, 13, "became free, and Volume left-28"),
    (Planted::BaselineIgnored, 4, "and stays: it is in the baseline"),
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

/// The simulation found these in the operator.
#[test]
fn what_was_found_stays_mended() {
    // The cloud throttles the question whose credentials these are: it must be asked again.
    stays_mended(
        "\
        world seed=1 tenants=1 dedicated=1 eu=0 shared=0 limit=1 several=0 cap=0 workers=2 latency=5 clean=0 same-name=false calm=90000 settle=5000
        at 20000 ask request=r1 tenant=t1 want=own
        at 29000 throttle account=a1 calls=4
        at 30000 delete request=r1",
    );
    // An internal account that is dirty counted towards the dirty share of a pool whose size leaves it out: more than all were dirty, and
    // the guard stopped the cleaning of all.
    stays_mended(
        "\
        world seed=1 tenants=1 dedicated=4 eu=0 shared=0 limit=1 several=0 cap=0 workers=2 latency=5 clean=0 same-name=false calm=90000 settle=5000
        at 20000 label account=a1 key=dirty value=true
        at 20000 label account=a2 key=dirty value=true
        at 20000 label account=a3 key=dirty value=true
        at 20000 label account=a4 key=dirty value=true
        at 21000 label account=a4 key=internal value=true",
    );
}
