//! A scenario for crashes at every write.

use crate::stage::script::{Action, Options, Script, Want};
use std::collections::BTreeMap;

/// Claim, a second request, the limit, the queue, release, dirty, clean, reuse, shared.
pub(crate) fn scenario() -> Script {
    let options = Options {
        seed: 1,
        tenants: 2,
        dedicated: 2,
        eu: 0,
        shared: 1,
        limit: 2,
        several: 1,
        cap: 0,
        workers: 2,
        latency: 5,
        clean: 5000,
        same_name: false,
        calm: 90_000,
        clusters: 0,
        accesses: 0,
        step: 0,
        pace: 0,
        hostile: 0,
        used: 0,
        settle: 0,
        leaders: 0,
        cloud: None,
        openmcp: None,
    };
    let ask = |request: &str, tenant: &str, want| Action::Ask {
        request: request.to_owned(),
        tenant: tenant.to_owned(),
        want,
    };
    let delete = |request: &str| Action::Delete { request: request.to_owned() };
    let actions = vec![
        // A first claim, a second request into the same account, and one over the limit of two.
        (4_000, ask("first", "t1", Want::Own)),
        (8_000, ask("second", "t1", Want::Plan)),
        (12_000, ask("third", "t1", Want::Own)),
        // Nothing is left for the other tenant, who waits; what no rule grants is denied.
        (16_000, ask("waits", "t2", Want::Own)),
        (18_000, ask("denied", "t2", Want::Nothing)),
        (20_000, ask("shared", "t2", Want::Trial)),
        // The last one out of the second account: it drains, is dirty, is cleaned, and goes to the one who waits.
        (26_000, delete("third")),
        (50_000, delete("shared")),
        (56_000, delete("waits")),
        (58_000, Action::Remove { request: "denied".to_owned() }),
    ];
    Script { options, actions, faults: BTreeMap::new() }
}
