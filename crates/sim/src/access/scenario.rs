//! A scenario for crashes at every write: ask, change, rotate, revoke, restore, drop.

use crate::{
    cluster::{self, Deed, Favour},
    stage::script::{Action, Script},
};

pub(crate) fn scenario() -> Script {
    let mut script = cluster::scenario::scenario();
    script.options.accesses = 2;
    let create = Deed::Create { cluster: "home".to_owned(), tenant: "t1".to_owned(), rich: false };
    let favour =
        |access: &str, what| Deed::Access { access: access.to_owned(), cluster: "home".to_owned(), what };
    let deeds = [
        (1_000, create),
        (25_000, favour("one", Favour::Ask)),
        (26_000, favour("two", Favour::Ask)),
        (35_000, favour("one", Favour::Narrow)),
        (45_000, favour("one", Favour::Rotate)),
        (60_000, favour("one", Favour::Revoke)),
        (75_000, favour("one", Favour::Restore)),
        (85_000, favour("two", Favour::Drop)),
    ];
    script.options.limit = 3;
    script.actions = deeds.into_iter().map(|(at, deed)| (at, Action::Cluster(deed))).collect();
    script
}
