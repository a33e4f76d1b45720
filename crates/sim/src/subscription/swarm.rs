//! What a seed draws: its own world, its own rates of faults, its own people. Runs that all have a little of everything
//! hide what needs much of one thing and none of another.

use crate::stage::{
    dice::{Dice, dice_for},
    past,
    rates::{Rates, account_names, one, rates},
    script::{Action, Options, Script, Want},
};
use std::collections::BTreeMap;

/// Everything that a seed draws.
pub(crate) fn drawn(seed: u64) -> (Script, Rates) {
    let mut dice = dice_for(seed, &["world"], 0);
    let options = options(seed, &mut dice);
    let rates = rates(&mut dice_for(seed, &["rates"], 0));
    let mut actions = actions(&options, &mut dice_for(seed, &["people"], 0));
    actions.extend(strays(&options, &mut dice_for(seed, &["strays"], 0)));
    actions.extend(late_strays(&options, &mut dice_for(seed, &["late strays"], 0)));
    actions.extend(past::drawn(&options));
    (Script { options, actions, faults: BTreeMap::new() }, rates)
}

fn options(seed: u64, dice: &mut Dice) -> Options {
    let tenants = dice.between(1, 4);
    Options {
        seed,
        tenants,
        dedicated: dice.between(1, 6),
        eu: dice.below(3),
        shared: dice.below(3),
        limit: u32::try_from(dice.between(1, 3)).unwrap_or(1),
        several: if dice.happens(400) { tenants } else { dice.below(tenants + 1) },
        cap: if dice.happens(250) { u32::try_from(dice.between(1, 3)).unwrap_or(1) } else { 0 },
        workers: dice.between(1, 4),
        latency: dice.pick(&[1, 5, 20, 100, 400]).unwrap_or(5),
        clean: dice.between(2, 40) * 1000,
        same_name: dice.happens(500),
        calm: dice.between(40, 150) * 1000,
        clusters: 0,
        accesses: 0,
        step: 0,
        pace: 0,
        hostile: 0,
        used: used(&mut dice_for(seed, &["used"], 0)),
        settle: 0,
        leaders: 0,
        cloud: None,
        openmcp: None,
    }
}

/// How much others have done before we come. It is drawn by itself, so that it moves nothing else that is drawn.
fn used(dice: &mut Dice) -> u64 {
    if dice.happens(400) { dice.between(1, 5) } else { 0 }
}

/// Shoots that carry the label of a request, and that nobody made for it. They come early: it takes a while until everybody must
/// have seen them.
fn strays(options: &Options, dice: &mut Dice) -> Vec<(u64, Action)> {
    let count = if dice.happens(400) { dice.between(1, 4) } else { 0 };
    let names = account_names(options);
    (1..=count).filter_map(|number| stray(&names, dice, number, (1000, 20_000))).collect()
}

/// The same in accounts that are claimed early, so that tenants use them by then, and there may be room for more.
fn late_strays(options: &Options, dice: &mut Dice) -> Vec<(u64, Action)> {
    let count = if dice.happens(120) { dice.between(3, 8) } else { 0 };
    let names: Vec<String> = account_names(options).into_iter().take(2).collect();
    (11..=10 + count).filter_map(|number| stray(&names, dice, number, (10_000, 50_000))).collect()
}

fn stray(names: &[String], dice: &mut Dice, number: u64, (from, to): (u64, u64)) -> Option<(u64, Action)> {
    let (account, request) = (one(names, dice)?, format!("r{}", dice.between(1, 6)));
    let shoot = format!("stray{number}");
    Some((dice.between(from, to), Action::Stray { shoot, account, request }))
}

/// What people do until it is calm.
fn actions(options: &Options, dice: &mut Dice) -> Vec<(u64, Action)> {
    let mut people = People::new(options, dice);
    let end = options.calm;
    let mut actions = Vec::new();
    let mut at = 200;
    let pace = dice.pick(&[300, 1000, 3000]).unwrap_or(1000);
    // Some seeds have bursts: many requests at one moment.
    let burst = dice.happens(400);
    while at < end {
        let times = if burst && dice.happens(150) { dice.between(3, 8) } else { 1 };
        for _ in 0..times {
            if let Some(action) = people.next(dice) {
                actions.push((at, action));
            }
            actions.extend(people.later.drain(..).map(|(after, action)| (at + after, action)));
        }
        at += dice.between(1, pace * 2);
    }
    actions
}

/// Who could do what.
struct People {
    tenants: Vec<String>,
    accounts: Vec<String>,
    requests: Vec<String>,
    shoots: Vec<String>,
    number: u64,
    most_requests: u64,
    /// How often somebody meddles, in actions out of a thousand.
    meddling: u64,
    /// How often a process is paused or killed.
    processes: u64,
    /// The other tool's taking of accounts, out of all meddling.
    taking: u64,
    /// How often it takes one while somebody asks, which is when it hurts.
    snatching: u64,
    /// When it does, at the latest: a claim takes a few calls.
    snatched_within: u64,
    /// How often the cloud refuses the credentials of an account for a while.
    refusing: u64,
    /// What follows from what was done: after which time, and what.
    later: Vec<(u64, Action)>,
}

impl People {
    fn new(options: &Options, dice: &mut Dice) -> Self {
        Self {
            tenants: (1..=options.tenants).map(|number| format!("t{number}")).collect(),
            accounts: account_names(options),
            requests: Vec::new(),
            shoots: Vec::new(),
            number: 0,
            most_requests: dice.between(4, 30),
            meddling: if dice.happens(500) { dice.between(20, 300) } else { 0 },
            processes: if dice.happens(500) { dice.between(5, 40) } else { 0 },
            taking: dice.pick(&[100, 300, 800]).unwrap_or(300),
            snatching: if dice.happens(350) { dice.between(200, 800) } else { 0 },
            snatched_within: options.latency * 6 + 10,
            refusing: if dice.happens(400) { dice.between(20, 150) } else { 0 },
            later: Vec::new(),
        }
    }

    fn next(&mut self, dice: &mut Dice) -> Option<Action> {
        if dice.happens(self.processes) {
            let replica = usize::try_from(dice.below(2)).unwrap_or_default();
            let time = dice.between(8, 60) * 1000;
            return Some(if dice.happens(600) {
                Action::Pause { replica, time }
            } else {
                Action::Kill { replica }
            });
        }
        if dice.happens(self.meddling) {
            return self.meddle(dice);
        }
        if dice.happens(self.refusing) {
            let account = one(&self.accounts, dice)?;
            let accepted = Action::Accept { account: account.clone() };
            self.later.push((dice.between(1000, 20_000), accepted));
            return Some(Action::Refuse { account });
        }
        let asks = dice.happens(550) && self.number < self.most_requests;
        if asks || self.requests.is_empty() {
            self.number += 1;
            let request = format!("r{}", self.number);
            self.requests.push(request.clone());
            let tenant = one(&self.tenants, dice)?;
            let wants = [
                Want::Own,
                Want::Own,
                Want::Own,
                Want::Plan,
                Want::Plan,
                Want::Eu,
                Want::Shared,
                Want::Trial,
            ];
            let want = if dice.happens(30) { Want::Nothing } else { dice.pick(&wants)? };
            if dice.happens(self.snatching) {
                let snatched = Action::Take { account: one(&self.accounts, dice)?, tenant: "x1".to_owned() };
                self.later.push((dice.between(1, self.snatched_within), snatched));
            }
            return Some(Action::Ask { request, tenant, want });
        }
        let request = one(&self.requests, dice)?;
        Some(if dice.happens(250) { Action::Remove { request } } else { Action::Delete { request } })
    }

    fn meddle(&mut self, dice: &mut Dice) -> Option<Action> {
        let account = one(&self.accounts, dice)?;
        if dice.happens(self.taking) {
            let others = ["x1", "x2", "t1"];
            return Some(Action::Take { account, tenant: dice.pick(&others)?.to_owned() });
        }
        let request = one(&self.requests, dice);
        Some(match dice.below(14) {
            0 => Action::Unhold { request: request? },
            1 => Action::Renew { request: request? },
            2 => {
                let label = |key: &str, value: Option<&str>| (key.to_owned(), value.map(str::to_owned));
                let (key, value) = match dice.below(7) {
                    0 => label("dirty", Some("true")),
                    1 => label("tenantName", Some("x1")),
                    2 => label("tenantName", None),
                    3 => label("internal", Some("true")),
                    4 => label("internal", None),
                    5 => label("euAccess", Some("true")),
                    _ => label("dirty", None),
                };
                Action::Label { account, key, value }
            }
            3 => Action::Wipe { account },
            4 => Action::Quarantine { account },
            5 | 6 => Action::Lift { account },
            7 => Action::Replace { account },
            8 => Action::Drop { account },
            9 => Action::Add { account },
            10 => {
                let shoot = format!("f{}", self.shoots.len() + 1);
                self.shoots.push(shoot.clone());
                Action::Grow { shoot, account }
            }
            11 => Action::Fell { shoot: one(&self.shoots, dice)? },
            12 => Action::Refuse { account },
            _ => Action::Accept { account },
        })
    }
}
