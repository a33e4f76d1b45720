//! A scenario for crashes at every write: create, ready, update, delete, with administrators and issuers.

use super::deed::{Change, Deed};
use crate::stage::script::{Action, Options, Script};
use std::collections::BTreeMap;

/// Two Clusters of one tenant: one goes its whole way, the other one stays.
pub(crate) fn scenario() -> Script {
    let options = Options {
        seed: 1,
        tenants: 1,
        dedicated: 2,
        eu: 0,
        shared: 0,
        limit: 1,
        several: 1,
        cap: 0,
        workers: 2,
        latency: 5,
        clean: 5000,
        same_name: false,
        calm: 100_000,
        clusters: 2,
        accesses: 0,
        step: 500,
        pace: 60,
        hostile: 0,
        used: 0,
        settle: 0,
        leaders: 0,
        cloud: None,
        openmcp: None,
    };
    let create =
        |cluster: &str, rich| Deed::Create { cluster: cluster.to_owned(), tenant: "t1".to_owned(), rich };
    let change = |what| Deed::Change { cluster: "first".to_owned(), what };
    let deeds = [
        (4_000, create("first", true)),
        (6_000, create("second", false)),
        (30_000, change(Change::LargeMachine)),
        (30_000, change(Change::MorePools)),
        (40_000, change(Change::OtherIssuer)),
        (50_000, change(Change::OtherAdministrators)),
        (60_000, Deed::Configure { disk: 90 }),
        (75_000, Deed::Destroy { cluster: "first".to_owned() }),
    ];
    let actions = deeds.into_iter().map(|(at, deed)| (at, Action::Cluster(deed))).collect();
    Script { options, actions, faults: BTreeMap::new() }
}
