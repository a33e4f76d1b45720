//! A scenario for crashes at every write: two providers in two environments, in one garden. Each makes a Cluster of the same name,
//! hands out access to it, changes both, and takes it all back.

use super::{
    deed::{Access, Alter, Config, Deed, Land, Patch},
    providers::Providers,
};
use crate::stage::script::{Action, Options, Script};
use std::collections::BTreeMap;

pub(crate) fn scenario() -> Script {
    let providers = Providers {
        processes: "east/p1+west/p1".to_owned(),
        platforms: 2,
        gardens: 1,
        elect: false,
        scheduler: true,
        oidc: true,
    };
    let options = without_accounts(providers);
    let home = || "home".to_owned();
    let entry = |on, what| Deed::Entry { on, access: "ours".to_owned(), cluster: home(), what };
    let mut deeds = Vec::new();
    for (on, environment) in [(0, "east"), (1, "west")] {
        let config = |what| Deed::Config { on, config: "c1".to_owned(), what };
        let landscape = Deed::Landscape { on, landscape: "l1".to_owned(), what: Land::Offer };
        let profile = format!("{environment}.p1.c1");
        deeds.extend([
            (1_000, landscape),
            (1_500, config(Config::Offer)),
            (2_000, Deed::Patch { on, what: Patch::Make }),
            (4_000, Deed::Order { on, cluster: home(), profile }),
            (25_000, entry(on, Access::Spaces)),
            (30_000, Deed::Alter { on, cluster: home(), what: Alter::WithConfig }),
            (40_000, entry(on, Access::Maps)),
            (50_000, entry(on, Access::Admin)),
        ]);
    }
    deeds.extend([
        (55_000, Deed::Book { on: 0, request: "desk".to_owned(), purpose: "part".to_owned() }),
        (60_000, entry(0, Access::Login)),
        (70_000, entry(0, Access::Drop)),
        (75_000, Deed::Cancel { on: 0, cluster: home() }),
        (80_000, Deed::Unbook { on: 0, request: "desk".to_owned() }),
    ]);
    let actions = deeds.into_iter().map(|(at, deed)| (at, Action::Openmcp(deed))).collect();
    Script { options, actions, faults: BTreeMap::new() }
}

/// What there is: providers, and nobody who asks for an account.
pub(super) fn without_accounts(providers: Providers) -> Options {
    Options {
        seed: 1,
        tenants: 0,
        dedicated: 0,
        eu: 0,
        shared: 0,
        limit: 1,
        several: 0,
        cap: 0,
        workers: 2,
        latency: 5,
        clean: 0,
        same_name: false,
        calm: 100_000,
        clusters: 0,
        accesses: 0,
        step: 500,
        pace: 0,
        hostile: 0,
        used: 0,
        settle: 0,
        leaders: 0,
        cloud: None,
        openmcp: Some(providers),
    }
}
