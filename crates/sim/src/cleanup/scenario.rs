//! A scenario for crashes at every write.

use super::deed::{Deed, Leftover};
use crate::stage::script::{Action, Options, Script, Want};
use std::collections::BTreeMap;

/// Recorded, claimed, used, returned, cleaned, claimed by another tenant; beside it one with an item that is locked, one with
/// credentials that lead elsewhere, and one that a tenant keeps.
pub(crate) fn scenario() -> Script {
    let options = Options {
        seed: 1,
        tenants: 2,
        dedicated: 3,
        eu: 0,
        shared: 0,
        limit: 1,
        several: 2,
        cap: 0,
        workers: 2,
        latency: 5,
        clean: 0,
        same_name: false,
        calm: 240_000,
        clusters: 0,
        accesses: 0,
        step: 0,
        pace: 0,
        hostile: 0,
        used: 0,
        settle: 10_000,
        leaders: 0,
        cloud: None,
        openmcp: None,
    };
    let ask = |request: &str, tenant: &str| Action::Ask {
        request: request.to_owned(),
        tenant: tenant.to_owned(),
        want: Want::Own,
    };
    let delete = |request: &str| Action::Delete { request: request.to_owned() };
    let leave = |account: &str, what| {
        let (account, item) = (account.to_owned(), format!("left-{account}"));
        Action::Cleanup(Deed::LeaveItem { account, item, what, time: 5_000 })
    };
    let actions = vec![
        (20_000, ask("first", "t1")),
        (22_000, ask("second", "t2")),
        (30_000, leave("a1", Leftover::Late)),
        (30_000, leave("a2", Leftover::Locked)),
        (32_000, Action::Cleanup(Deed::KeepItem { item: "left-a2".to_owned() })),
        (40_000, delete("first")),
        (50_000, delete("second")),
        (60_000, ask("third", "t1")),
        (78_000, Action::Cleanup(Deed::Rotate { account: "a3".to_owned(), to: "a2".to_owned() })),
        (80_000, delete("third")),
        (120_000, Action::Cleanup(Deed::RestoreCredentials { account: "a3".to_owned() })),
    ];
    Script { options, actions, faults: BTreeMap::new() }
}
