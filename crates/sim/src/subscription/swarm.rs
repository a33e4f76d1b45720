//! What a seed draws: its own world, its own rates of faults, its own people. Runs that all have a little of everything
//! hide what needs much of one thing and none of another.

use super::{
    dice::{Dice, dice_for},
    script::{Action, Harm, Options, Script, Want},
};
use std::collections::BTreeMap;

/// How often what goes wrong, in calls out of a thousand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rates {
    pub(super) delay: u64,
    pub(super) longest_delay: u64,
    pub(super) refuse: u64,
    pub(super) refuse_after: u64,
    pub(super) lose_request: u64,
    pub(super) lose_answer: u64,
    pub(super) hang: u64,
    pub(super) stale: u64,
    pub(super) watch: u64,
    pub(super) crash: u64,
}

/// What kind of call it is, as far as faults go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A live read.
    Read,
    /// A list for a cache, or a Lease: may be old.
    List,
    Watch,
    Write,
    /// The way to the ledger.
    LedgerWay,
    /// A commit of the ledger.
    Commit,
}

impl Rates {
    /// What goes wrong with a call: the same whenever it is asked.
    pub(super) fn harm(
        &self,
        seed: u64,
        replica: usize,
        operation: &str,
        number: u64,
        kind: Kind,
    ) -> Option<Harm> {
        let who = replica.to_string();
        let mut dice = dice_for(seed, &["harm", &who, operation], number);
        let possible = self.possible(kind, &mut dice);
        if SELDOM.contains(&operation) && dice.happens(500) {
            let place = usize::try_from(dice.below(possible.len() as u64)).unwrap_or_default();
            return possible.get(place).map(|(_, harm)| *harm);
        }
        let mut drawn = dice.below(1000);
        for (rate, harm) in possible {
            if drawn < rate {
                return Some(harm);
            }
            drawn -= rate;
        }
        None
    }

    /// What can go wrong with a call in this run, and how often it does.
    fn possible(&self, kind: Kind, dice: &mut Dice) -> Vec<(u64, Harm)> {
        let Self { delay, longest_delay, refuse, refuse_after, .. } = *self;
        let Self { lose_request, lose_answer, hang, stale, watch, crash, .. } = *self;
        let refused = (refuse, Harm::Refuse { code: refusal(dice) });
        let delayed = (delay, Harm::Delay { time: dice.between(1, longest_delay) });
        let (lost_request, lost_answer) =
            ((lose_request, Harm::LoseRequest), (lose_answer, Harm::LoseAnswer));
        let crashes = [(crash - crash / 2, Harm::CrashBefore), (crash / 2, Harm::CrashAfter)];
        let mut possible = match kind {
            Kind::Watch => vec![(watch, watch_harm(dice)), refused, lost_request, (hang, Harm::HangBefore)],
            Kind::Read => vec![delayed, refused, lost_request, (hang, Harm::HangBefore), lost_answer],
            Kind::List => {
                let old = (stale, Harm::Stale { back: dice.between(1, 20) });
                vec![delayed, refused, lost_request, (hang, Harm::HangBefore), old, lost_answer]
            }
            Kind::Write => {
                let hangs = [(hang - hang / 2, Harm::HangBefore), (hang / 2, Harm::HangAfter)];
                let refused_after = (refuse_after, Harm::RefuseAfter { code: refusal(dice) });
                let others = [delayed, refused, lost_request, refused_after, lost_answer];
                others.into_iter().chain(hangs).chain(crashes).collect()
            }
            Kind::LedgerWay => vec![delayed, refused, (hang, Harm::HangBefore)],
            Kind::Commit => [refused, lost_answer].into_iter().chain(crashes).collect(),
        };
        possible.retain(|(rate, _)| *rate > 0);
        possible
    }
}

/// What is seldom done goes wrong often, in some way that things go wrong in its run: else it would take ten times the seeds to
/// see each of them once.
const SELDOM: [&str; 8] =
    ["assign", "way to assign", "deny", "lift", "lose", "way to lose", "quarantine", "read request"];

fn refusal(dice: &mut Dice) -> u16 {
    dice.pick(&[409, 429, 500, 503, 504]).unwrap_or(500)
}

fn watch_harm(dice: &mut Dice) -> Harm {
    let after = usize::try_from(dice.below(8)).unwrap_or_default();
    match dice.below(4) {
        0 => Harm::WatchDrop { after },
        1 => Harm::WatchExpire { after },
        2 => Harm::WatchCoalesce,
        _ => Harm::WatchStall { time: dice.between(50, 5000) },
    }
}

/// Everything that a seed draws.
pub(super) fn drawn(seed: u64) -> (Script, Rates) {
    let mut dice = dice_for(seed, &["world"], 0);
    let options = options(seed, &mut dice);
    let rates = rates(&mut dice_for(seed, &["rates"], 0));
    let actions = actions(&options, &mut dice_for(seed, &["people"], 0));
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
    }
}

/// Each kind of fault is there in some seeds only.
fn rates(dice: &mut Dice) -> Rates {
    let mut rate = |chance: u64, most: u64| if dice.happens(chance) { dice.between(1, most) } else { 0 };
    Rates {
        delay: rate(500, 200),
        longest_delay: rate(1000, 6000).max(2),
        refuse: rate(500, 60),
        refuse_after: rate(400, 40),
        lose_request: rate(400, 40),
        lose_answer: rate(500, 60),
        hang: rate(400, 40),
        stale: rate(400, 300),
        watch: rate(600, 600),
        crash: rate(600, 40),
    }
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

fn one(items: &[String], dice: &mut Dice) -> Option<String> {
    let places: Vec<usize> = (0..items.len()).collect();
    dice.pick(&places).and_then(|place| items.get(place).cloned())
}

/// The names of the accounts: `a…` for one tenant each, `e…` with EU access, `s…` shared.
pub(super) fn account_names(options: &Options) -> Vec<String> {
    let named = |letter: char, count: u64| (1..=count).map(move |number| format!("{letter}{number}"));
    let all = named('a', options.dedicated).chain(named('e', options.eu));
    all.chain(named('s', options.shared)).collect()
}
