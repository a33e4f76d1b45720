//! Acts of people who have to do with the cleaning of accounts, carried out.

use super::{
    ACCOUNT, REGION,
    deed::{Deed, Leftover},
    leftover,
    truth::{left_in, put},
};
use crate::stage::{
    call::Side,
    dice::dice_for,
    rates::account_names,
    world::{By, GARDEN, World, path_of},
};
use allotment_api::names::annotation;
use allotment_clouds::memory::{Faults, Nature};
use allotment_core::{
    cleanup::{CloudAccountId, KindName, Place},
    pool::AccountName,
};
use http::Method;
use serde_json::json;
use std::time::Duration;

/// People ask for another attempt at accounts that are stuck at these times after the calm began, in milliseconds: what is under way
/// then may still tell of what was before.
const ASK_AGAIN: [u64; 2] = [1_000, 120_000];

/// Items that were there before anybody came, in some accounts.
pub(crate) fn set_up(world: &World) {
    for account in account_names(&world.options) {
        let mut dice = dice_for(world.options.seed, &["older", &account], 0);
        let (cloud, id) = (world.options.cloud(), account_of(&account));
        if dice.happens(600) {
            put(world, &id, leftover::volume(cloud, &format!("vol-older-{account}")), Nature::default());
        }
        if dice.happens(300) {
            put(world, &id, leftover::plain(cloud, &format!("snap-older-{account}")), Nature::default());
        }
    }
}

/// The account behind an entry in the beginning.
fn account_of(entry: &str) -> CloudAccountId {
    CloudAccountId::new(format!("cloud-{entry}"))
}

/// Carries out an act.
pub(crate) fn act(world: &World, deed: &Deed) {
    match deed {
        Deed::LeaveItem { account, item, what, time } => leave(world, account, item, *what, *time),
        Deed::RemoveItem { account, item } => {
            let (id, ids) = (account_of(account), leftover::ids(world.options.cloud(), item));
            let there = world.cloud.leftovers(&id).into_iter().filter(|left| ids.contains(&left.id));
            there.for_each(|left| world.cloud.remove(&id, &left.key()));
        }
        Deed::KeepItem { item } => {
            let now = world.millis();
            let mut state = world.state();
            for id in leftover::ids(world.options.cloud(), item) {
                state.truth.keep(id.as_str(), now);
            }
            state.configured += 1;
        }
        Deed::Rotate { account, to } => rotate(world, account, &account_of(to)),
        Deed::RevokeCredentials { account } => change_faults(world, account, |faults| faults.revoked = true),
        Deed::DenyKind { account, kind } => {
            change_faults(world, account, |faults| faults.denied.extend([KindName::new(kind.as_str())]));
        }
        Deed::DisableRegion { account } => {
            change_faults(world, account, |faults| faults.disabled.extend([Place::of(REGION)]));
        }
        Deed::Throttle { account, calls } => {
            change_faults(world, account, |faults| faults.throttled = *calls);
        }
        Deed::RestoreCredentials { account } => restore(world, account),
        Deed::ShareCredentials { entry, account } => drop(world.add_entry(entry, account)),
    }
}

fn leave(world: &World, account: &str, name: &str, what: Leftover, time: u64) {
    let (item, nature) = leftover::left(world.options.cloud(), name, what, Duration::from_millis(time));
    put(world, &account_of(account), item, nature);
}

fn change_faults(world: &World, account: &str, change: impl FnOnce(&mut Faults)) {
    let id = account_of(account);
    let mut faults = world.cloud.faults(&id);
    change(&mut faults);
    world.cloud.set_faults(&id, faults);
}

fn rotate(world: &World, account: &str, to: &CloudAccountId) {
    world.state().truth.secrets.insert(account.to_owned(), to.clone());
    let path = format!("/api/v1/namespaces/{GARDEN}/secrets/{account}");
    let body = json!({ "stringData": { ACCOUNT: to } });
    let (code, _) = world.ask(Side::Garden, Method::PATCH, &path, Some(&body));
    world.tell(|| format!("somebody changes the credentials of {account}: {code}"));
}

fn restore(world: &World, account: &str) {
    rotate(world, account, &account_of(account));
    world.cloud.set_faults(&account_of(account), Faults::default());
}

/// Once it is calm, people mend some of what is wrong, and ask for another attempt at what is stuck. Returns whether something is
/// left to do.
pub(crate) fn look(world: &World) -> bool {
    let (is_calm, asked) = {
        let state = world.state();
        (state.calm, state.truth.asked_again)
    };
    if !is_calm {
        return false;
    }
    let next = usize::try_from(asked).ok().and_then(|asked| ASK_AGAIN.get(asked));
    let Some(after) = next else { return false };
    if world.millis() >= world.options.calm + after {
        if asked == 0 {
            mend(world);
        }
        ask_again(world);
        world.state().truth.asked_again += 1;
    }
    true
}

fn mend(world: &World) {
    for account in account_names(&world.options) {
        let mut dice = dice_for(world.options.seed, &["mend", &account], 0);
        if dice.happens(600) {
            restore(world, &account);
        }
        if dice.happens(400) {
            let id = account_of(&account);
            let mut left = left_in(world, &AccountName::new(account.as_str()), &id);
            left.retain(|key| !key.id.as_str().contains("shoot--"));
            left.iter().for_each(|key| world.cloud.remove(&id, key));
        }
    }
    // Another time between attempts.
    world.state().configured += 1;
    // Two that lead for ever overtake each other for ever: in the end people start them with their Lease.
    if world.options.leaders > 0 {
        (0..2).for_each(|replica| world.crash(replica));
    }
}

fn ask_again(world: &World) {
    let entries: Vec<String> = world.state().eyes.scene.entries.keys().map(ToString::to_string).collect();
    let body = json!({ "metadata": { "annotations": { annotation::CLEANUP_STUCK: null } } });
    for path in entries.iter().filter_map(|entry| path_of("credentialsbindings", entry)) {
        let (_, object) = world.ask(Side::Garden, Method::GET, &path, None);
        if object["metadata"]["annotations"][annotation::CLEANUP_STUCK].is_string() {
            world.act(By::Other, Method::PATCH, &path, Some(&body));
        }
    }
}
