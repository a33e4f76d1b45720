//! A scenario for crashes at every write: an honest Cluster with access, and every kind of attack on it.

use super::{
    TENANT,
    deed::{Deed, Forgery, Lie, Theft},
};
use crate::{
    access,
    cluster::{self, Favour},
    stage::script::{Action, Script},
};

pub(crate) fn scenario() -> Script {
    let mut script = access::scenario::scenario();
    script.options.hostile = 2;
    script.options.dedicated = 3;
    script.options.limit = 3;
    let (victim, own) = (|| "home".to_owned(), || "m1".to_owned());
    let honest = [
        (1_000, cluster::Deed::Create { cluster: victim(), tenant: "t1".to_owned(), rich: true }),
        (25_000, cluster::Deed::Access { access: "one".to_owned(), cluster: victim(), what: Favour::Ask }),
        (92_000, cluster::Deed::Destroy { cluster: victim() }),
    ];
    let settle = |cluster: &str, lie| Deed::Settle { cluster: cluster.to_owned(), lie, victim: victim() };
    let forge = |what| Deed::Forge { cluster: own(), what, victim: victim() };
    let steal =
        |theft: &str, what| Deed::Steal { theft: theft.to_owned(), cluster: own(), what, victim: victim() };
    let claim = |request: &str, selector: &str| Deed::Claim {
        request: request.to_owned(),
        selector: selector.to_owned(),
        label: TENANT.to_owned(),
    };
    let hostile = [
        (2_000, settle("m1", Lie::None)),
        (3_000, claim("q1", "t1")),
        (30_000, Deed::Protect { cluster: victim() }),
        (31_000, settle("m2", Lie::Name)),
        (32_000, forge(Forgery::Adopt)),
        (36_000, Deed::Bind { request: own(), victim: victim() }),
        (40_000, Deed::Pose { request: "q2".to_owned(), victim: victim() }),
        (45_000, steal("x1", Theft::Own)),
        (46_000, steal("x2", Theft::Cluster)),
        (47_000, steal("x3", Theft::System)),
        (55_000, Deed::Lock { on: true }),
        (60_000, steal("x1", Theft::Restore)),
        (70_000, forge(Forgery::Status)),
        (80_000, Deed::Quit { cluster: own() }),
    ];
    let honest = honest.into_iter().map(|(at, deed)| (at, Action::Cluster(deed)));
    let hostile = hostile.into_iter().map(|(at, deed)| (at, Action::Hostile(deed)));
    script.actions = honest.chain(hostile).collect();
    script
}
