//! The world, the faults and the acts that a seed draws.

use super::{
    deed::{Deed, Leftover},
    leftover::kinds_to_deny,
};
use crate::stage::{
    dice::{Dice, dice_for},
    rates::{Rates, account_names, one, rates},
    script::{Action, Options, Script, Want},
};
use allotment_core::cleanup::Cloud;
use std::collections::BTreeMap;

/// Everything that a seed draws.
pub(crate) fn drawn(seed: u64) -> (Script, Rates) {
    let options = options(seed, &mut dice_for(seed, &["cleanup world"], 0));
    let rates = rates(&mut dice_for(seed, &["rates"], 0));
    let mut actions = tenants(&options, &mut dice_for(seed, &["cleanup tenants"], 0));
    actions.extend(others(&options, &mut dice_for(seed, &["cleanup people"], 0)));
    actions.extend(unlisted(&options, &mut dice_for(seed, &["cleanup unlisted"], 0)));
    actions.retain(|(at, _)| *at < options.calm);
    (Script { options, actions, faults: BTreeMap::new() }, rates)
}

fn options(seed: u64, dice: &mut Dice) -> Options {
    let tenants = dice.between(1, 3);
    Options {
        seed,
        tenants,
        dedicated: dice.between(1, 4),
        eu: 0,
        shared: dice.below(2),
        limit: 1,
        several: if dice.happens(500) { tenants } else { 0 },
        cap: 0,
        workers: dice.between(1, 4),
        latency: dice.pick(&[1, 5, 20, 60]).unwrap_or(5),
        clean: 0,
        same_name: dice.happens(500),
        calm: dice.between(120, 400) * 1000,
        clusters: 0,
        accesses: 0,
        step: 0,
        pace: 0,
        hostile: 0,
        used: if dice.happens(250) { dice.between(1, 3) } else { 0 },
        settle: dice.between(5, 40) * 1000,
        leaders: if dice.happens(150) { 2 } else { 0 },
        cloud: cloud(seed),
        openmcp: None,
    }
}

/// The cloud of a seed. AWS has half of them: it has the most kinds of trouble, items that are found by name and lists that show what is gone. The
/// draw is of a stream of its own, so that seeds of AWS are what they were before there were others.
fn cloud(seed: u64) -> Option<Cloud> {
    let mut dice = dice_for(seed, &["cleanup cloud"], 0);
    let others = [Cloud::Azure, Cloud::Gcp, Cloud::OpenStack, Cloud::Alicloud];
    if dice.happens(500) { None } else { dice.pick(&others) }
}

/// Tenants ask for accounts, leave things in them, and return them.
fn tenants(options: &Options, dice: &mut Dice) -> Vec<(u64, Action)> {
    let mut actions = Vec::new();
    // Accounts that are claimed before they were recorded are never cleaned; in most seeds there is time.
    let mut at = dice.pick(&[300, 10_000, 20_000, 20_000]).unwrap_or(10_000);
    let (pace, longest) = (
        dice.pick(&[3_000, 10_000, 30_000]).unwrap_or(10_000),
        dice.pick(&[10_000, 40_000]).unwrap_or(10_000),
    );
    let mut number = 0;
    while at < options.calm {
        number += 1;
        let (request, tenant) = (format!("r{number}"), format!("t{}", dice.between(1, options.tenants)));
        let want = if dice.happens(100) { Want::Shared } else { Want::Own };
        actions.push((at, Action::Ask { request: request.clone(), tenant, want }));
        let until = at + dice.between(5_000, 5_000 + longest);
        let by_hand = dice.happens(100);
        actions.push((until, if by_hand { Action::Remove { request } } else { Action::Delete { request } }));
        at += dice.between(1, pace * 2);
    }
    actions
}

/// In some seeds a permission is missing while an item of that very kind is left, which no tag and no interface tells of. The draws are of a
/// stream of their own: the two have to meet in one account, which the acts of others seldom do.
fn unlisted(options: &Options, dice: &mut Dice) -> Vec<(u64, Action)> {
    let accounts = account_names(options);
    let Some(account) = one(&accounts, dice).filter(|_| dice.happens(150)) else { return Vec::new() };
    let at = dice.between(20_000, options.calm / 2);
    let left = Deed::LeaveItem {
        account: account.clone(),
        item: "left-unlisted".to_owned(),
        what: Leftover::Plain,
        time: 0,
    };
    let denied =
        Deed::DenyKind { account: account.clone(), kind: kinds_to_deny(options.cloud())[0].to_owned() };
    let restored = Deed::RestoreCredentials { account };
    vec![
        (at, Action::Cleanup(denied)),
        (at + dice.between(1, 10_000), Action::Cleanup(left)),
        (options.calm - dice.between(1, 30_000), Action::Cleanup(restored)),
    ]
}

/// How often people do something of a kind, out of a thousand acts.
struct Habits {
    leaving: u64,
    credentials: u64,
    labels: u64,
    processes: u64,
}

fn others(options: &Options, dice: &mut Dice) -> Vec<(u64, Action)> {
    let mut sometimes =
        |chance: u64, most: u64| if dice.happens(chance) { dice.between(most / 10, most) } else { 0 };
    let habits = Habits {
        leaving: sometimes(700, 600),
        credentials: sometimes(500, 300),
        labels: sometimes(600, 500),
        processes: sometimes(500, 200),
    };
    let pace = dice.pick(&[2_000, 6_000, 20_000]).unwrap_or(6_000);
    let accounts = account_names(options);
    let (mut actions, mut at, mut number) = (Vec::new(), 1_000, 0);
    while at < options.calm {
        number += 1;
        actions.extend(next(options, &habits, &accounts, (at, number), dice));
        at += dice.between(1, pace * 2);
    }
    actions
}

fn next(
    options: &Options,
    habits: &Habits,
    accounts: &[String],
    (at, number): (u64, u64),
    dice: &mut Dice,
) -> Vec<(u64, Action)> {
    let Some(account) = one(accounts, dice) else { return Vec::new() };
    let drawn = dice.below(1600);
    let Habits { leaving, credentials, labels, processes } = *habits;
    let (credentials, labels) = (leaving + credentials, leaving + credentials + labels);
    match drawn {
        _ if drawn < leaving => leave(options, account, (at, number), dice),
        _ if drawn < credentials => change_credentials(options.cloud(), accounts, account, at, dice),
        _ if drawn < labels => meddle(account, (at, number), dice),
        _ if drawn < labels + processes => {
            let replica = usize::try_from(dice.below(2)).unwrap_or_default();
            let time = dice.between(8, 60) * 1000;
            let pauses = dice.happens(600);
            vec![(at, if pauses { Action::Pause { replica, time } } else { Action::Kill { replica } })]
        }
        _ => Vec::new(),
    }
}

fn leave(
    options: &Options,
    account: String,
    (at, number): (u64, u64),
    dice: &mut Dice,
) -> Vec<(u64, Action)> {
    let kinds = [
        Leftover::Plain,
        Leftover::Plain,
        Leftover::Late,
        Leftover::Late,
        Leftover::Hidden,
        Leftover::Locked,
        Leftover::Slow,
        Leftover::Strange,
    ];
    let what = dice.pick(&kinds).unwrap_or(Leftover::Plain);
    let item = format!("left-{number}");
    let time = match what {
        Leftover::Slow => dice.between(1_000, 100_000),
        _ => dice.between(1, options.settle),
    };
    let mut actions = Vec::new();
    if dice.happens(150) {
        actions.push((
            at.saturating_sub(dice.below(20_000)),
            Action::Cleanup(Deed::KeepItem { item: item.clone() }),
        ));
    }
    if dice.happens(300) {
        let removed = Deed::RemoveItem { account: account.clone(), item: item.clone() };
        actions.push((at + dice.between(5_000, 90_000), Action::Cleanup(removed)));
    }
    actions.push((at, Action::Cleanup(Deed::LeaveItem { account, item, what, time })));
    actions
}

fn change_credentials(
    cloud: Cloud,
    accounts: &[String],
    account: String,
    at: u64,
    dice: &mut Dice,
) -> Vec<(u64, Action)> {
    let kinds = kinds_to_deny(cloud);
    let deed = match dice.below(8) {
        0..3 => Deed::Rotate { account: account.clone(), to: one(accounts, dice).unwrap_or_default() },
        3 | 4 => Deed::RevokeCredentials { account: account.clone() },
        5 => Deed::DenyKind {
            account: account.clone(),
            kind: dice.pick(&kinds).unwrap_or(kinds[0]).to_owned(),
        },
        6 => Deed::DisableRegion { account: account.clone() },
        _ => Deed::Throttle {
            account: account.clone(),
            calls: u32::try_from(dice.between(1, 100)).unwrap_or(1),
        },
    };
    let mut actions = vec![(at, Action::Cleanup(deed))];
    if dice.happens(700) {
        let restored = Deed::RestoreCredentials { account };
        actions.push((at + dice.between(1_000, 60_000), Action::Cleanup(restored)));
    }
    actions
}

fn meddle(account: String, (at, number): (u64, u64), dice: &mut Dice) -> Vec<(u64, Action)> {
    let label = |key: &str, value: Option<&str>| Action::Label {
        account: account.clone(),
        key: key.to_owned(),
        value: value.map(str::to_owned),
    };
    let later = at + dice.between(500, 60_000);
    match dice.below(12) {
        0 => vec![(at, Action::Wipe { account })],
        1 => vec![(at, label("dirty", None))],
        2 => vec![(at, label("dirty", Some("true")))],
        3 => vec![(at, label("internal", Some("true"))), (later, label("internal", None))],
        4 => vec![(at, label("shared", Some("true"))), (later, label("shared", None))],
        5 | 6 => {
            let lifted = Action::Lift { account: account.clone() };
            vec![(at, Action::Quarantine { account }), (later, lifted)]
        }
        7..9 => {
            let shoot = format!("f{number}");
            vec![(at, Action::Grow { shoot: shoot.clone(), account }), (later, Action::Fell { shoot })]
        }
        9 => vec![(at, Action::Replace { account })],
        10 => {
            let back = Action::Add { account: account.clone() };
            vec![(at, Action::Drop { account }), (later, back)]
        }
        _ => {
            let entry = format!("atwin{number}");
            let shared = Deed::ShareCredentials { entry: entry.clone(), account };
            let mut actions = vec![(at, Action::Cleanup(shared))];
            match dice.below(3) {
                0 => actions.push((later, Action::Grow { shoot: format!("f{number}"), account: entry })),
                1 => actions.push((later, Action::Take { account: entry, tenant: "x1".to_owned() })),
                _ => (),
            }
            actions
        }
    }
}
