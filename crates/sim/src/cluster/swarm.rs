//! What a seed draws for a run with Clusters.

use super::deed::{Change, Deed, Mark, Trouble};
use crate::stage::{
    dice::{Dice, dice_for},
    rates::{Rates, one, rates},
    script::{Action, Options, Script},
};
use std::collections::BTreeMap;

/// Everything that a seed draws.
pub(crate) fn drawn(seed: u64) -> (Script, Rates) {
    let options = options(seed, &mut dice_for(seed, &["clusters"], 0));
    let rates = rates(&mut dice_for(seed, &["rates"], 0));
    let actions = actions(&options, &mut dice_for(seed, &["tenants"], 0));
    (Script { options, actions, faults: BTreeMap::new() }, rates)
}

fn options(seed: u64, dice: &mut Dice) -> Options {
    let tenants = dice.between(1, 3);
    Options {
        seed,
        tenants,
        dedicated: dice.between(1, 5),
        eu: 0,
        shared: 0,
        limit: u32::try_from(dice.between(1, 3)).unwrap_or(1),
        several: dice.below(tenants + 1),
        cap: 0,
        workers: dice.between(1, 4),
        latency: dice.pick(&[1, 5, 20, 100, 400]).unwrap_or(5),
        clean: dice.between(2, 40) * 1000,
        same_name: dice.happens(500),
        calm: dice.between(60, 180) * 1000,
        clusters: dice.between(1, 5),
        accesses: 0,
        step: dice.pick(&[0, 300, 1000, 3000]).unwrap_or(300),
        pace: dice.pick(&[2, 10, 600]).unwrap_or(10),
        hostile: 0,
        used: 0,
        settle: 0,
        leaders: 0,
        cloud: None,
        openmcp: None,
    }
}

fn actions(options: &Options, dice: &mut Dice) -> Vec<(u64, Action)> {
    let mut people = People::new(options, dice);
    let (mut actions, mut at) = (Vec::new(), 200);
    let pace = dice.pick(&[500, 2000, 6000]).unwrap_or(2000);
    while at < options.calm {
        if let Some(action) = people.next(dice) {
            actions.push((at, action));
        }
        at += dice.between(1, pace * 2);
    }
    actions
}

struct People {
    tenants: Vec<String>,
    clusters: Vec<String>,
    most: u64,
    /// How often each of these happens, in actions out of a thousand.
    meddling: u64,
    troubles: u64,
    processes: u64,
    configuring: u64,
}

impl People {
    fn new(options: &Options, dice: &mut Dice) -> Self {
        let mut sometimes =
            |chance: u64, most: u64| if dice.happens(chance) { dice.between(most / 10, most) } else { 0 };
        Self {
            tenants: (1..=options.tenants).map(|number| format!("t{number}")).collect(),
            clusters: Vec::new(),
            most: options.clusters,
            meddling: sometimes(600, 400),
            troubles: sometimes(500, 300),
            processes: sometimes(500, 40),
            configuring: sometimes(300, 60),
        }
    }

    fn next(&mut self, dice: &mut Dice) -> Option<Action> {
        if dice.happens(self.processes) {
            let replica = usize::try_from(dice.below(2)).unwrap_or_default();
            let time = dice.between(8, 60) * 1000;
            let pauses = dice.happens(600);
            return Some(if pauses { Action::Pause { replica, time } } else { Action::Kill { replica } });
        }
        self.deed(dice).map(Action::Cluster)
    }

    fn deed(&mut self, dice: &mut Dice) -> Option<Deed> {
        if dice.happens(self.configuring) {
            return Some(Deed::Configure { disk: dice.pick(&[60, 80, 90])? });
        }
        let is_full = self.clusters.len() as u64 >= self.most;
        if self.clusters.is_empty() || (!is_full && dice.happens(300)) {
            let cluster = format!("k{}", self.clusters.len() + 1);
            self.clusters.push(cluster.clone());
            return Some(Deed::Create {
                cluster,
                tenant: one(&self.tenants, dice)?,
                rich: dice.happens(400),
            });
        }
        let cluster = one(&self.clusters, dice)?;
        if dice.happens(self.troubles) {
            let all = [
                Trouble::GivesUp,
                Trouble::Quota,
                Trouble::Misconfigured,
                Trouble::Tries,
                Trouble::KeepsIt,
                Trouble::Stalls,
                Trouble::Flaps,
                Trouble::None,
                Trouble::None,
            ];
            return Some(Deed::Trouble { cluster, what: dice.pick(&all)? });
        }
        if dice.happens(self.meddling) {
            return meddle(cluster, dice);
        }
        Some(match dice.below(10) {
            0 => Deed::Destroy { cluster },
            // One that is gone is asked for again.
            1 => Deed::Create { cluster, tenant: one(&self.tenants, dice)?, rich: dice.happens(400) },
            2 => Deed::Mark {
                cluster,
                what: dice.pick(&[Mark::Pause, Mark::Resume, Mark::Resume, Mark::Reconcile])?,
            },
            _ => Deed::Change { cluster, what: dice.pick(&CHANGES)? },
        })
    }
}

const CHANGES: [Change; 15] = [
    Change::SmallMachine,
    Change::LargeMachine,
    Change::UnknownMachine,
    Change::FewNodes,
    Change::ManyNodes,
    Change::MorePools,
    Change::OnePool,
    Change::Issuer,
    Change::OtherIssuer,
    Change::NoIssuer,
    Change::Administrators,
    Change::OtherAdministrators,
    Change::NoAdministrators,
    Change::Version,
    Change::OldVersion,
];

fn meddle(cluster: String, dice: &mut Dice) -> Option<Deed> {
    Some(match dice.below(14) {
        0 | 1 => Deed::Raze { cluster },
        2 | 12 | 13 => Deed::Vanish { cluster },
        3 | 4 => Deed::Swap { cluster },
        5 => Deed::Tamper { cluster },
        6 => Deed::Recall { cluster },
        7 => Deed::Sever { cluster },
        8 => Deed::Loosen { cluster },
        _ => Deed::Mark { cluster, what: Mark::Recreate },
    })
}
