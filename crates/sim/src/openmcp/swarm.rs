//! What a seed draws for a run with providers of openMCP.

use super::{
    deed::{Access, Alter, Config, Deed, Garden, Land, Patch, Sign},
    providers::{CONFIGS, ENVIRONMENTS, LANDSCAPES, Providers, wiring},
    scenario::without_accounts,
};
use crate::stage::{
    dice::{Dice, dice_for},
    rates::{Rates, rates},
    script::{Action, Options, Script},
};
use std::collections::BTreeMap;

/// Everything that a seed draws.
pub(crate) fn drawn(seed: u64) -> (Script, Rates) {
    let mut dice = dice_for(seed, &["openmcp"], 0);
    let providers = providers(&mut dice);
    let options = options(seed, providers.clone(), &mut dice);
    let rates = rates(&mut dice_for(seed, &["rates"], 0));
    let actions = actions(&options, &providers, &mut dice_for(seed, &["platform"], 0));
    (Script { options, actions, faults: BTreeMap::new() }, rates)
}

fn providers(dice: &mut Dice) -> Providers {
    let all = "east/p1+east/p2+west/p1+west/p2";
    let kinds = [
        "east/p1",
        "east/p1+west/p2",
        "east/p1+west/p2",
        "east/p1+east/p2",
        "east/p1+west/p1",
        "east/p1+west/p1",
        "east/p1+east/p1",
        all,
        all,
    ];
    let processes = dice.pick(&kinds).unwrap_or(all);
    let has_both = processes.contains("west");
    Providers {
        processes: processes.to_owned(),
        platforms: if has_both && dice.happens(600) { 2 } else { 1 },
        gardens: if dice.happens(400) { 2 } else { 1 },
        elect: processes == "east/p1+east/p1" || dice.happens(300),
        scheduler: dice.happens(500),
        oidc: dice.happens(700),
    }
}

fn options(seed: u64, providers: Providers, dice: &mut Dice) -> Options {
    Options {
        seed,
        workers: dice.between(1, 4),
        latency: dice.pick(&[1, 5, 20, 100, 400]).unwrap_or(5),
        same_name: dice.happens(500),
        calm: dice.between(60, 180) * 1000,
        step: dice.pick(&[0, 300, 1000, 3000]).unwrap_or(300),
        ..without_accounts(providers)
    }
}

fn actions(options: &Options, providers: &Providers, dice: &mut Dice) -> Vec<(u64, Action)> {
    let people = People::new(providers, dice);
    let mut actions = beginning(providers, dice);
    let (pace, mut at) = (dice.pick(&[500, 2000, 6000]).unwrap_or(2000), 400);
    while at < options.calm {
        if let Some(action) = people.next(dice) {
            actions.push((at, action));
        }
        at += dice.between(1, pace * 2);
    }
    if dice.happens(250) {
        actions.extend(end(options, providers, dice));
    }
    actions
}

/// Sometimes a Landscape goes before it is calm, with everything that is in its way.
fn end(options: &Options, providers: &Providers, dice: &mut Dice) -> Vec<(u64, Action)> {
    let on = usize::try_from(dice.below(providers.platforms as u64)).unwrap_or_default();
    let landscape = dice.pick(&LANDSCAPES).unwrap_or(LANDSCAPES[0]);
    let configs = CONFIGS.iter().filter(|config| wiring(config).1 == landscape);
    let mut deeds = vec![Deed::Landscape { on, landscape: landscape.to_owned(), what: Land::Withdraw }];
    deeds.extend(configs.map(|config| Deed::Config {
        on,
        config: (*config).to_owned(),
        what: Config::Withdraw,
    }));
    deeds.extend((1..=4).map(|number| Deed::Cancel { on, cluster: format!("k{number}") }));
    let mut at = |deed| (options.calm - dice.between(15_000, 30_000), Action::Openmcp(deed));
    deeds.into_iter().map(&mut at).collect()
}

/// Landscapes and ProviderConfigs come early, in whichever order.
fn beginning(providers: &Providers, dice: &mut Dice) -> Vec<(u64, Action)> {
    let mut actions = Vec::new();
    let longest = dice.pick(&[1000, 1000, 20_000]).unwrap_or(1000);
    for on in 0..providers.platforms {
        for landscape in LANDSCAPES {
            let deed = Deed::Landscape { on, landscape: landscape.to_owned(), what: Land::Offer };
            actions.push((dice.between(1, longest), Action::Openmcp(deed)));
        }
        for config in CONFIGS {
            let deed = Deed::Config { on, config: config.to_owned(), what: Config::Offer };
            actions.push((dice.between(1, longest), Action::Openmcp(deed)));
        }
        let deed = Deed::Patch { on, what: Patch::Make };
        actions.push((dice.between(1, longest), Action::Openmcp(deed)));
    }
    actions
}

struct People {
    platforms: u64,
    processes: u64,
    /// Those that somebody looks after.
    profiles: Vec<(usize, String)>,
    clusters: u64,
    accesses: u64,
    is_scheduled: bool,
    /// How often each of these happens, in actions out of a thousand.
    meddling: u64,
    troubles: u64,
    killing: u64,
    configuring: u64,
    asking: u64,
}

impl People {
    fn new(providers: &Providers, dice: &mut Dice) -> Self {
        let mut sometimes =
            |chance: u64, most: u64| if dice.happens(chance) { dice.between(most / 10, most) } else { 0 };
        let (meddling, troubles) = (sometimes(600, 300), sometimes(500, 300));
        let (killing, configuring) = (sometimes(500, 40), sometimes(500, 150));
        let asking = sometimes(800, 600);
        let mut profiles = Vec::new();
        for instance in providers.instances() {
            for config in CONFIGS.iter().filter(|config| wiring(config).0 == instance.provider) {
                let platform = providers.platform_of(&instance.environment);
                profiles.push((platform, instance.profile_name(config)));
            }
        }
        Self {
            platforms: providers.platforms as u64,
            processes: providers.instances().len() as u64,
            profiles,
            clusters: dice.between(1, 4),
            accesses: dice.between(1, 3),
            is_scheduled: providers.scheduler,
            meddling,
            troubles,
            killing,
            configuring,
            asking,
        }
    }

    fn next(&self, dice: &mut Dice) -> Option<Action> {
        if dice.happens(self.killing) {
            let replica = usize::try_from(dice.below(self.processes)).unwrap_or_default();
            let time = dice.between(8, 60) * 1000;
            let pauses = dice.happens(600);
            return Some(if pauses { Action::Pause { replica, time } } else { Action::Kill { replica } });
        }
        self.deed(dice).map(Action::Openmcp)
    }

    fn deed(&self, dice: &mut Dice) -> Option<Deed> {
        let on = usize::try_from(dice.below(self.platforms)).unwrap_or_default();
        let cluster = format!("k{}", dice.between(1, self.clusters));
        if dice.happens(self.configuring) {
            return configure(on, dice);
        }
        if dice.happens(self.troubles) {
            // Who is told that Gardener has given up says that it shall try again.
            if dice.happens(250) {
                let kind = "clusters".to_owned();
                return Some(Deed::Sign { on, kind, name: cluster, what: Sign::Reconcile });
            }
            let all = [
                Garden::GivesUp,
                Garden::GivesUp,
                Garden::GivesUp,
                Garden::KeepsIt,
                Garden::Tries,
                Garden::Stalls,
                Garden::Flaps,
                Garden::Heals,
                Garden::Heals,
            ];
            return Some(Deed::Garden { on, cluster, what: dice.pick(&all)? });
        }
        if dice.happens(self.meddling) {
            return self.meddle(on, cluster, dice);
        }
        if dice.happens(self.asking) {
            return self.ask(on, cluster, dice);
        }
        if self.is_scheduled && dice.happens(300) {
            let request = format!("b{}", dice.between(1, 3));
            let purpose = dice.pick(&["own", "own", "part", "part", "part", "nothing"])?.to_owned();
            let ends = dice.happens(350);
            return Some(if ends {
                Deed::Unbook { on, request }
            } else {
                Deed::Book { on, request, purpose }
            });
        }
        Some(match dice.below(10) {
            0 => Deed::Cancel { on, cluster },
            1..=5 => self.order(on, cluster, dice)?,
            _ => {
                let all = [
                    Alter::OldVersion,
                    Alter::NewVersion,
                    Alter::UnknownVersion,
                    Alter::WithConfig,
                    Alter::WithoutConfig,
                ];
                Deed::Alter { on, cluster, what: dice.pick(&all)? }
            }
        })
    }

    fn order(&self, on: usize, cluster: String, dice: &mut Dice) -> Option<Deed> {
        let here: Vec<&str> =
            self.profiles.iter().filter(|(at, _)| *at == on).map(|(_, profile)| profile.as_str()).collect();
        // Some name a profile that nobody here has, or ever will.
        let (environment, config) = (dice.pick(&ENVIRONMENTS)?, dice.pick(&CONFIGS)?);
        let any = format!("{environment}.{}.{config}", wiring(config).0);
        let profile = if dice.happens(100) { any } else { dice.pick(&here).map_or(any, str::to_owned) };
        Some(Deed::Order { on, cluster, profile })
    }

    fn ask(&self, on: usize, cluster: String, dice: &mut Dice) -> Option<Deed> {
        // One Cluster for each: the name says which.
        let number = dice.between(1, self.accesses);
        let all = [
            Access::Spaces,
            Access::Spaces,
            Access::Maps,
            Access::Team,
            Access::Admin,
            Access::Login,
            Access::Wrong,
            Access::Short,
            Access::Mislabelled,
            Access::Drop,
            Access::Drop,
            Access::Lose,
        ];
        if self.is_scheduled && dice.happens(150) {
            let request = format!("b{}", dice.between(1, 3));
            let access = format!("a{number}-{request}");
            return Some(Deed::Entry { on, access, cluster: request, what: Access::ByRequest });
        }
        let access = format!("a{number}-{cluster}");
        Some(Deed::Entry { on, access, cluster, what: dice.pick(&all)? })
    }

    fn meddle(&self, on: usize, cluster: String, dice: &mut Dice) -> Option<Deed> {
        let sign = dice.pick(&[Sign::Reconcile, Sign::Reconcile, Sign::Ignore, Sign::Nothing])?;
        let access = format!("a{}-{cluster}", dice.between(1, self.accesses));
        let mark = |kind: &str, name: String| Deed::Sign { on, kind: kind.to_owned(), name, what: sign };
        Some(match dice.below(16) {
            0 => Deed::Garden { on, cluster, what: Garden::Raze },
            1 | 2 => Deed::Garden { on, cluster, what: Garden::Vanish },
            3 => Deed::Garden { on, cluster, what: Garden::Swap },
            4 => Deed::Garden { on, cluster, what: Garden::Tamper },
            5 | 6 => Deed::Garden { on, cluster, what: Garden::Squat },
            7 => Deed::Tear { on, cluster },
            8 => Deed::Entry { on, access, cluster, what: Access::Tear },
            9 | 10 => mark("clusters", cluster),
            11 | 12 => mark("accessrequests", access),
            13 => mark("providerconfigs", dice.pick(&CONFIGS)?.to_owned()),
            14 => mark("landscapes", dice.pick(&LANDSCAPES)?.to_owned()),
            _ => mark("clusterrequests", format!("b{}", dice.between(1, 3))),
        })
    }
}

fn configure(on: usize, dice: &mut Dice) -> Option<Deed> {
    Some(match dice.below(4) {
        0 => {
            let all = [Land::Offer, Land::Offer, Land::Offer, Land::Break, Land::Withdraw, Land::Tear];
            let landscape = dice.pick(&LANDSCAPES)?.to_owned();
            Deed::Landscape { on, landscape, what: dice.pick(&all)? }
        }
        1 | 2 => {
            let all = [
                Config::Offer,
                Config::Offer,
                Config::More,
                Config::More,
                Config::Fewer,
                Config::Astray,
                Config::Withdraw,
                Config::Tear,
            ];
            Deed::Config { on, config: dice.pick(&CONFIGS)?.to_owned(), what: dice.pick(&all)? }
        }
        _ => Deed::Patch { on, what: dice.pick(&[Patch::Make, Patch::Change, Patch::Remove])? },
    })
}
