//! A hostile tenant beside honest ones.

use super::{find_nothing, finds, fine, replays};
use allotment_operator::planted::Planted;
use allotment_sim::stage::{Play, enumerate, run_seed};

/// Faults that were planted, the seed that finds each, and what is said.
const RECORDED: [(Planted, u64, &str); 9] = [
    (Planted::AnyTenantForAll, 1, "has an account of tenant"),
    (Planted::AdoptedByAnnotation, 3, "was given to namespace hostile"),
    (Planted::OwnedByStatus, 64, "was given to namespace hostile"),
    (Planted::AnyReferenceForAll, 23, "refers to dns-of-t1, which belongs to another"),
    (Planted::MapsOfForgedOwner, 1, "was deleted, and Shoot c-104639b refers to it"),
    (Planted::AnyRoleNamespace, 16, "has a Role in namespace kube-system"),
    (Planted::ProtectionIgnored, 7, "was deleted, and Cluster k1 is protected"),
    (Planted::LockUndone, 16, "is locked, and has something in Shoot"),
    (
        Planted::AnyNamespaceForAll,
        5,
        "of namespace default holds something of a request of namespace hostile",
    ),
];

#[test]
fn a_seed_replays_one_run_exactly() {
    replays(Play::Hostile, 6);
}

#[test]
fn a_few_seeds_find_nothing() {
    find_nothing(Play::Hostile, 6);
}

/// Some of them: `allotment sim hostile --enumerate` has its time.
#[test]
fn a_crash_at_a_write_gives_nothing_away() {
    let result = enumerate(Play::Hostile, 40, |_, _| ()).unwrap();
    result.failed.iter().for_each(fine);
    assert!(result.writes > 60, "{}", result.writes);
}

/// A forged status hid a grant from a lock: it named another Shoot, or the Cluster had been torn away from its own. A Cluster that waited
/// for the name of a Shoot was not woken when the Shoot's own Cluster was told that it is gone. A list from a cache that lags was believed
/// over what was known. Who led again believed that it had taken away what another leader had granted meanwhile.
#[test]
fn what_was_found_stays_mended() {
    for seed in [71, 759, 1156, 1267, 1903] {
        fine(&run_seed(Play::Hostile, seed, false).unwrap());
    }
}

#[test]
fn planted_faults_are_found() {
    for fault in Planted::OF_HOSTILE {
        assert!(RECORDED.iter().any(|(recorded, ..)| *recorded == fault), "{fault:?} has no seed");
    }
    for (fault, seed, says) in RECORDED {
        finds(Play::Hostile, fault, seed, says);
    }
}
