//! What a seed draws: the honest people of a run with kubeconfigs, without anybody who meddles, and a hostile tenant.

use super::{
    TENANT,
    deed::{Deed, Forgery, Lie, Theft},
};
use crate::{
    access,
    cluster::{self, Mark},
    openmcp,
    stage::{
        dice::{Dice, dice_for},
        rates::Rates,
        script::{Action, Options, Script},
    },
};

/// Everything that a seed draws.
pub(crate) fn drawn(seed: u64) -> (Script, Rates) {
    if seed.is_multiple_of(OPENMCP) {
        return with_openmcp(seed);
    }
    let (mut script, rates) = access::swarm::drawn(seed);
    script.actions.retain(|(_, action)| is_honest(action));
    let mut dice = dice_for(seed, &["hostile"], 0);
    script.options.hostile = dice.between(1, 3);
    // Room for the hostile tenant: its own account is no harm to anybody.
    script.options.dedicated += dice.between(1, 2);
    script.options.shared = dice.below(2);
    let pace = dice.pick(&[500, 1500, 4000]).unwrap_or(1500);
    let mut at = dice.between(1, 4000);
    while at < script.options.calm {
        if let Some(deed) = deed(&script.options, &mut dice) {
            script.actions.push((at, Action::Hostile(deed)));
        }
        at += dice.between(1, pace * 2);
    }
    (script, rates)
}

/// Every so-many-th seed has providers of openMCP instead of the other operators.
const OPENMCP: u64 = 5;

fn with_openmcp(seed: u64) -> (Script, Rates) {
    use openmcp::Deed as D;
    let (mut script, rates) = openmcp::swarm::drawn(seed);
    let mut dice = dice_for(seed, &["hostile"], 0);
    script.options.hostile = 1;
    let platforms = script.options.openmcp.as_ref().map_or(1, |providers| providers.platforms);
    let pace = dice.pick(&[1000, 4000, 8000]).unwrap_or(4000);
    // Whoever knows the names of Clusters and requests: those that honest people use.
    let is_known = |action: &Action| match action {
        Action::Openmcp(D::Order { cluster, .. }) => Some((cluster.clone(), false)),
        Action::Openmcp(D::Book { request, .. }) => Some((request.clone(), true)),
        _ => None,
    };
    let known: Vec<(String, bool)> =
        script.actions.iter().filter_map(|(_, action)| is_known(action)).collect();
    let places: Vec<usize> = (0..known.len()).collect();
    let mut at = dice.between(1, 8000);
    while at < script.options.calm {
        if let Some((cluster, by_request)) = dice.pick(&places).and_then(|place| known.get(place).cloned()) {
            let on = usize::try_from(dice.below(platforms as u64)).unwrap_or_default();
            let (access, labelled) = (format!("x{}", dice.between(1, 4)), dice.happens(300));
            let deed = D::Intrude { on, access, cluster, by_request, labelled };
            script.actions.push((at, Action::Openmcp(deed)));
        }
        at += dice.between(1, pace * 2);
    }
    (script, rates)
}

/// Honest people change and delete what is theirs. Others who meddle have a play of their own.
fn is_honest(action: &Action) -> bool {
    use cluster::Deed as D;
    match action {
        Action::Cluster(deed) => !matches!(
            deed,
            D::Loosen { .. }
                | D::Raze { .. }
                | D::Vanish { .. }
                | D::Swap { .. }
                | D::Tamper { .. }
                | D::Recall { .. }
                | D::Sever { .. }
                | D::Mark { what: Mark::Recreate, .. }
        ),
        _ => true,
    }
}

fn deed(options: &Options, dice: &mut Dice) -> Option<Deed> {
    let number = dice.between(1, options.hostile);
    let cluster = format!("m{number}");
    // One Cluster is after one victim, mostly: what is forged bit by bit has to fit together.
    let after =
        if dice.happens(800) { number.min(options.clusters) } else { dice.between(1, options.clusters) };
    let victim = format!("k{after}");
    // And it lies in the same way: who makes it anew tries again.
    let habit = dice_for(options.seed, &["habit", &cluster], 0).pick(&LIES)?;
    let request = format!("q{}", dice.between(1, 3));
    let theft = format!("x{}-{cluster}", dice.between(1, 3));
    let tenant = format!("t{}", dice.between(1, options.tenants));
    Some(match dice.below(100) {
        0..7 => {
            let names = [TENANT, tenant.as_str(), "shared", "m2"];
            let (selector, label) = (dice.pick(&names)?.to_owned(), dice.pick(&names[..2])?.to_owned());
            Deed::Claim { request, selector, label }
        }
        7..13 => Deed::Bind { request: if dice.happens(300) { request } else { cluster }, victim },
        13..20 => Deed::Pose { request, victim },
        20..40 => {
            let lie = if dice.happens(700) { habit } else { dice.pick(&LIES)? };
            Deed::Settle { cluster, lie, victim }
        }
        40..65 => Deed::Forge { cluster, what: dice.pick(&FORGERIES)?, victim },
        65..69 => Deed::Quit { cluster },
        69..92 => Deed::Steal { theft, cluster, what: dice.pick(&THEFTS)?, victim },
        92..96 => Deed::Lock { on: dice.happens(700) },
        _ => Deed::Protect { cluster: victim },
    })
}

const LIES: [Lie; 8] =
    [Lie::None, Lie::None, Lie::Tenant, Lie::Label, Lie::Name, Lie::Name, Lie::Template, Lie::Brought];

const FORGERIES: [Forgery; 9] = [
    Forgery::Adopt,
    Forgery::Adopt,
    Forgery::Status,
    Forgery::Status,
    Forgery::Owner,
    Forgery::Labels,
    Forgery::Annotations,
    Forgery::Finalizers,
    Forgery::Amnesia,
];

const THEFTS: [Theft; 14] = [
    Theft::Own,
    Theft::Own,
    Theft::Own,
    Theft::Cluster,
    Theft::Default,
    Theft::System,
    Theft::Tokens,
    Theft::Status,
    Theft::Brought,
    Theft::Revoke,
    Theft::Restore,
    Theft::Restore,
    Theft::Rotate,
    Theft::Drop,
];
