//! What the fuzzer begins with, changed here and there.

use super::{log, patches, requests};
use proptest::prelude::*;
use std::{fs, path::Path};

/// What the fuzzer begins with.
fn seeds(of: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(of);
    let seeds: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(!seeds.is_empty(), "{of}");
    seeds
}

/// Something of a seed, changed here and there.
fn changed(of: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), any::<u8>(), 0..4_u8);
    (prop::sample::select(seeds(of)), prop::collection::vec(change, 0..6)).prop_map(|(mut bytes, changes)| {
        for (at, byte, how) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => drop(bytes.remove(at)),
                _ => bytes.truncate(at),
            }
        }
        bytes
    })
}

/// Seeds must be worth something: what they do is done.
#[test]
fn seeds_are_taken() {
    assert!(seeds("requests").iter().any(|seed| requests::examine(seed) > 4));
    assert!(seeds("patches").iter().filter(|seed| patches::examine(seed)).count() >= 3);
    assert!(seeds("log").iter().any(|seed| log::examine(seed) > 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn requests_are_answered(bytes in changed("requests")) {
        requests::examine(&bytes);
    }

    #[test]
    fn patches_are_answered(bytes in changed("patches")) {
        patches::examine(&bytes);
    }

    #[test]
    fn logs_are_read_or_refused(bytes in changed("log")) {
        log::examine(&bytes);
    }
}
