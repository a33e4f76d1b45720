//! What a seed draws for a run with kubeconfigs: that of a run with Clusters, and people who ask for access.

use crate::{
    cluster::{self, Deed, Favour},
    stage::{
        dice::dice_for,
        rates::Rates,
        script::{Action, Script},
    },
};

/// Everything that a seed draws.
pub(crate) fn drawn(seed: u64) -> (Script, Rates) {
    let (mut script, rates) = cluster::swarm::drawn(seed);
    let mut dice = dice_for(seed, &["accesses"], 0);
    script.options.accesses = dice.between(1, 6);
    let pace = dice.pick(&[500, 2000, 6000]).unwrap_or(2000);
    let mut at = dice.between(1, 8000);
    while at < script.options.calm {
        let cluster = format!("k{}", dice.between(1, script.options.clusters));
        // One Cluster for each: the name says which.
        let access = format!("a{}-{cluster}", dice.between(1, script.options.accesses));
        let favours = [
            Favour::Ask,
            Favour::Ask,
            Favour::Ask,
            Favour::Narrow,
            Favour::Widen,
            Favour::Rotate,
            Favour::Rotate,
            Favour::Revoke,
            Favour::Restore,
            Favour::Drop,
        ];
        if let Some(what) = dice.pick(&favours) {
            script.actions.push((at, Action::Cluster(Deed::Access { access, cluster, what })));
        }
        at += dice.between(1, pace * 2);
    }
    (script, rates)
}
