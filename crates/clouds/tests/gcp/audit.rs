//! The rows and the table against Google's own description of Compute Engine.

use allotment_core::cleanup::{Cloud as CloudName, kinds::table};
use std::collections::{BTreeMap, BTreeSet};

fn script(name: &str, arguments: &[&str]) -> serde_json::Value {
    allotment_testing::cloud_script("gcp", name, arguments, &[]).unwrap()
}

pub(crate) async fn rows() {
    let printed = script("rows", &["--print"]);
    let committed = include_str!("../../src/gcp/rows/generated.rs");
    assert_eq!(printed["rust"].as_str().unwrap(), committed, "run `clouds/run gcp rows`");
}

pub(crate) async fn kinds() {
    let audited = script("audit", &[]);
    let kinds: BTreeSet<&str> = table(CloudName::Gcp).kinds.iter().map(|kind| kind.name).collect();
    let mut expected = BTreeSet::new();
    for (resource, kind) in audited["resources"].as_object().unwrap() {
        match kind.as_str() {
            Some(kind) => assert!(kinds.contains(kind), "{resource} is {kind}, which is not in the table"),
            None => {
                expected.insert(resource.as_str());
            }
        }
    }
    let left_out = include_str!("../../../../clouds/gcp/left-out.txt");
    let lines = left_out.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let reasons: BTreeMap<&str, &str> =
        lines.map(|line| line.split_once(": ").expect("kind: reason")).collect();
    assert!(reasons.values().all(|reason| reason.len() > 10), "every kind is left out for a reason");
    let named: BTreeSet<&str> = reasons.keys().copied().collect();
    let missing: Vec<_> = expected.difference(&named).collect();
    assert!(missing.is_empty(), "neither in the table nor in left-out.txt: {missing:?}");
    let stale: Vec<_> = named.difference(&expected).collect();
    assert!(stale.is_empty(), "in left-out.txt, and in the table or gone: {stale:?}");
}
