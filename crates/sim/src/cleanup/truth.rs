//! The accounts of the cloud as they are, whatever an operator says of them, and the violations in what it does to them.

use super::{REGION, leftover};
use crate::{
    cluster::fleet::PROJECT,
    stage::{
        call::Call,
        dice::dice_for,
        eyes::now,
        world::{By, World},
    },
};
use allotment_clouds::memory::{Nature, leftovers_of_shoot};
use allotment_core::{
    check::{CleaningViolation, Scene, Violation},
    cleanup::{
        Baseline, Cloud, CloudAccountId, Item, ItemKey, Place, Scope, attribute::LOCATION, kinds::table,
    },
    pool::{AccountName, Entry},
};
use allotment_operator::ledger::CloudAccount;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// The truth about the accounts of the cloud.
#[derive(Default)]
pub(crate) struct Truth {
    /// The accounts that Secrets lead to.
    pub(super) secrets: BTreeMap<String, CloudAccountId>,
    /// The items that somebody has put into accounts.
    put: BTreeMap<(CloudAccountId, ItemKey), Put>,
    /// The accounts that Shoots are in.
    shoots: BTreeMap<String, CloudAccountId>,
    /// The entries that nobody may touch, since when, and why.
    pub(super) untouchable: BTreeMap<AccountName, (u64, String)>,
    /// The processes that work on an entry.
    cleaners: BTreeMap<(usize, AccountName), Cleaner>,
    /// The accounts that the ledger has recorded.
    pub(super) recorded: BTreeMap<AccountName, CloudAccount>,
    /// The times at which the ledger got the baselines of entries.
    baselined: BTreeMap<AccountName, u64>,
    /// The technical ids of Shoots that the ledger has ever remembered, by entry.
    remembered: BTreeSet<(AccountName, String)>,
    /// The ids of `cleanup.keep`, since when.
    kept: BTreeMap<String, u64>,
    /// How often people have asked for another attempt, once it was calm.
    pub(super) asked_again: u64,
}

/// An item that somebody has put into an account.
#[derive(Clone, Debug)]
struct Put {
    at: u64,
    shown_at: u64,
    /// Whether some list shows it, once it does.
    is_listed: bool,
}

/// A process that works on an entry.
#[derive(Clone, Debug, Default)]
struct Cleaner {
    /// The last live read of the entry, if it made no call to the cloud since.
    checked: Option<u64>,
    /// The wave of deletions that it is in: whoever changed something after that time changed it too late.
    wave: Option<(u8, u64)>,
    /// The beginnings of its last listings, the last one first.
    listings: [Option<u64>; 2],
}

impl Truth {
    /// The ids that people keep.
    pub(super) fn kept(&self) -> impl Iterator<Item = &str> {
        self.kept.keys().map(String::as_str)
    }

    pub(super) fn keep(&mut self, id: &str, now: u64) {
        self.kept.entry(id.to_owned()).or_insert(now);
    }

    /// The account that the credentials of an entry lead to.
    pub(super) fn leads_to(&self, scene: &Scene, entry: &AccountName) -> Option<&CloudAccountId> {
        let secret = scene.credentials.get(entry).map_or(entry.as_str(), String::as_str);
        self.secrets.get(secret)
    }

    /// The items that were in the account of an entry before the first tenant.
    fn baseline(&self, entry: &AccountName, id: &CloudAccountId) -> Option<&Baseline> {
        self.recorded.get(entry).filter(|recorded| recorded.id == *id)?.baseline.as_ref()
    }

    fn cleaner(&mut self, replica: usize, entry: &AccountName) -> &mut Cleaner {
        self.cleaners.entry((replica, entry.clone())).or_default()
    }
}

/// The id of the account behind a new entry.
pub(crate) fn open_account(world: &World, name: &str) -> String {
    let id = CloudAccountId::new(format!("cloud-{name}"));
    world.cloud.add_account(world.options.cloud(), id.clone(), [Place::of(REGION)]);
    let mut state = world.state();
    state.truth.secrets.entry(name.to_owned()).or_insert(id).to_string()
}

/// Somebody puts an item into an account.
pub(super) fn put(world: &World, id: &CloudAccountId, item: Item, nature: Nature) {
    let at = world.millis();
    let late = u64::try_from(nature.appears_after.as_millis()).unwrap_or(u64::MAX);
    let has_row = table(world.options.cloud()).kind(item.kind.as_str()).is_some();
    let put = Put { at, shown_at: at.saturating_add(late), is_listed: has_row && !nature.hidden };
    world.state().truth.put.insert((id.clone(), item.key()), put);
    world.cloud.put(id, item, nature);
}

/// A process has read an entry live.
pub(crate) fn has_checked(world: &World, replica: usize, entry: &str, at: u64) {
    world.state().truth.cleaner(replica, &AccountName::new(entry)).checked = Some(at);
}

/// A process asks the cloud for something.
pub(super) fn reads(world: &World, replica: usize, entry: &AccountName) {
    let mut state = world.state();
    let cleaner = state.truth.cleaner(replica, entry);
    (cleaner.checked, cleaner.wave) = (None, None);
}

/// A process asks whose credentials it has, which every listing begins with.
pub(super) fn begins_to_list(world: &World, replica: usize, entry: &AccountName) {
    reads(world, replica, entry);
    let at = world.millis();
    let mut state = world.state();
    let cleaner = state.truth.cleaner(replica, entry);
    cleaner.listings = [Some(at), cleaner.listings[0]];
}

/// A process is about to delete an item. Returns the time after which a change of the account comes too late for it: each wave
/// begins with a live read.
pub(super) fn begins_to_delete(world: &World, replica: usize, entry: &AccountName, wave: u8) -> u64 {
    let at = world.millis();
    let mut state = world.state();
    let cleaner = state.truth.cleaner(replica, entry);
    let from = match cleaner.wave {
        Some((known, from)) if known == wave => from,
        _ => cleaner.checked.take().unwrap_or(at),
    };
    cleaner.wave = Some((wave, from));
    from
}

/// Why an item may not be deleted.
pub(super) fn why_it_stays(
    world: &World,
    replica: usize,
    entry: &AccountName,
    id: &CloudAccountId,
    key: &ItemKey,
) -> Option<String> {
    let item = world.cloud.items(id).into_iter().find(|item| item.key() == *key)?;
    let is_left = world.cloud.leftovers(id).iter().any(|item| item.key() == *key);
    let mut state = world.state();
    let listed = state.truth.cleaner(replica, entry).listings[0].unwrap_or_default();
    // A plan is made when the account is listed; an id that people name later is not in it.
    let is_named = state.truth.kept.get(key.id.as_str()).is_some_and(|since| *since < listed);
    let is_older = state.truth.baseline(entry, id).is_some_and(|baseline| baseline.has(&item));
    let reasons = [
        (!is_left, "it came with the account"),
        (is_named, "people keep it"),
        (is_older, "it is in the baseline"),
    ];
    reasons.into_iter().find(|(is_true, _)| *is_true).map(|(_, why)| why.to_owned())
}

/// The cloud has accepted a deletion.
pub(super) fn has_deleted(
    world: &World,
    entry: &AccountName,
    id: &CloudAccountId,
    key: &ItemKey,
    forgiven_from: u64,
    stays: Option<String>,
) {
    let mut found = Vec::new();
    {
        let state = world.state();
        let truth = &state.truth;
        if truth.recorded.get(entry).is_none_or(|recorded| recorded.id != *id) {
            found.push(CleaningViolation::DeletedElsewhere(entry.clone(), key.clone(), id.clone()));
        }
        if let Some((since, why)) = truth.untouchable.get(entry)
            && *since < forgiven_from
        {
            found.push(CleaningViolation::DeletedUntouchable(entry.clone(), key.clone(), why.clone()));
        }
        found.extend(stays.map(|why| CleaningViolation::DeletedKept(entry.clone(), key.clone(), why)));
    }
    world.found(found.into_iter().map(Violation::from).collect());
}

/// Somebody has written to a server.
pub(crate) fn wrote(world: &World, call: &Call, by: By, replica: usize, before: Option<&Entry>) {
    match call.plural.as_str() {
        "shoots" => follow_shoot(world, &call.name),
        "credentialsbindings" if by == By::Cleaner => {
            let entry = AccountName::new(call.name.as_str());
            let after = world.state().eyes.scene.entries.get(&entry).cloned();
            if before.is_some_and(|entry| entry.dirty) && after.is_some_and(|entry| !entry.dirty) {
                is_freed(world, replica, &entry);
            }
        }
        _ => (),
    }
    judge(world);
}

/// The ledger was written.
pub(crate) fn wrote_ledger(world: &World) {
    let names: Vec<AccountName> = world.state().eyes.scene.entries.keys().cloned().collect();
    for name in names {
        let recorded = match now(world.ledger.cloud_account(&name)) {
            Ok(recorded) => recorded,
            Err(error) => return world.found(vec![Violation::Untold(error.to_string())]),
        };
        let shoots = now(world.ledger.past_shoots(&name)).unwrap_or_default();
        let ids = shoots.into_iter().map(|shoot| (name.clone(), shoot.technical_id.to_string()));
        world.state().truth.remembered.extend(ids);
        let Some(recorded) = recorded else { continue };
        let before = world.state().truth.recorded.insert(name.clone(), recorded.clone());
        if let Some(before) = &before
            && before.id != recorded.id
        {
            let (old, new) = (before.id.clone(), recorded.id.clone());
            world.found(vec![CleaningViolation::RecordedAnew(name.clone(), old, new).into()]);
        }
        if before.is_none_or(|before| before.baseline.is_none()) {
            if recorded.baseline.is_some() {
                let now = world.millis();
                world.state().truth.baselined.insert(name.clone(), now);
            }
            let of_tenant = of_tenant(world, &recorded);
            let found = of_tenant.map(|item| CleaningViolation::BaselineOfTenant(name.clone(), item));
            world.found(found.into_iter().map(Violation::from).collect());
        }
    }
    judge(world);
}

/// An item of a Shoot that a new baseline protects.
fn of_tenant(world: &World, recorded: &CloudAccount) -> Option<ItemKey> {
    let baseline = recorded.baseline.as_ref()?;
    let state = world.state();
    let shoots: Vec<String> = state.truth.shoots.keys().map(|name| technical_id(name)).collect();
    let is_of_shoot = |id: &str| shoots.iter().any(|shoot| names(id, shoot));
    baseline.items.iter().map(|item| &item.key).find(|key| is_of_shoot(key.id.as_str())).cloned()
}

/// Whether an id is one that a Shoot's item has: on some clouds it ends with the name of the Shoot, on others that is within.
fn names(id: &str, shoot: &str) -> bool {
    let mut ends = id.match_indices(shoot).map(|(at, _)| &id[at + shoot.len()..]);
    ends.any(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
}

/// The operator has removed the labels of an account.
fn is_freed(world: &World, replica: usize, entry: &AccountName) {
    let mut found = Vec::new();
    let id = {
        let mut state = world.state();
        let checked = state.truth.cleaner(replica, entry).checked.unwrap_or_else(|| world.millis());
        if let Some((since, why)) = state.truth.untouchable.get(entry)
            && *since < checked
        {
            found.push(CleaningViolation::FreedUntouchable(entry.clone(), why.clone()));
        }
        state.truth.recorded.get(entry).map(|recorded| recorded.id.clone())
    };
    let left = id.and_then(|id| must_have_been_seen(world, replica, entry, &id));
    found.extend(left.map(|item| CleaningViolation::FreedWithLeftovers(entry.clone(), item)));
    world.found(found.into_iter().map(Violation::from).collect());
}

/// An item that is left, and was there before the first of the last two listings, or could be seen by the second one.
fn must_have_been_seen(
    world: &World,
    replica: usize,
    entry: &AccountName,
    id: &CloudAccountId,
) -> Option<ItemKey> {
    let left = left_in(world, entry, id);
    let mut state = world.state();
    let [second, first] = state.truth.cleaner(replica, entry).listings.map(Option::unwrap_or_default);
    let Truth { put, remembered, .. } = &state.truth;
    // Roles are found by the names of the entry's Shoots. One that came and went while nobody watched has left a role that nobody can find: Shoots
    // live for seconds here, and for half an hour at least elsewhere.
    let is_findable = |key: &ItemKey| {
        let mut shoots = remembered.iter().filter(|(of, _)| of == entry);
        let kind = table(world.options.cloud()).kind(key.kind.as_str());
        let is_listed = kind.is_none_or(|kind| !matches!(kind.scope, Scope::ByName { .. }));
        is_listed || shoots.any(|(_, shoot)| key.id.as_str() == format!("{shoot}-nodes"))
    };
    left.into_iter().filter(is_findable).find(|key| {
        let put = put.get(&(id.clone(), key.clone()));
        put.is_none_or(|put| put.at < first || put.shown_at < second)
    })
}

/// Whether something that people keep is in an account, and no list shows it.
pub(super) fn keeps_unlisted(world: &World, id: &CloudAccountId) -> bool {
    let there = world.cloud.leftovers(id);
    let state = world.state();
    let Truth { put, kept, .. } = &state.truth;
    let is_unlisted = |key: ItemKey| put.get(&(id.clone(), key)).is_some_and(|put| !put.is_listed);
    there.iter().any(|item| kept.contains_key(item.id.as_str()) && is_unlisted(item.key()))
}

/// Everything that is in the account of an entry and does not stay.
pub(super) fn left_in(world: &World, entry: &AccountName, id: &CloudAccountId) -> Vec<ItemKey> {
    let leftovers = world.cloud.leftovers(id);
    let state = world.state();
    let truth = &state.truth;
    let baseline = truth.baseline(entry, id);
    let is_older = |item: &Item| {
        let put = truth.put.get(&(id.clone(), item.key()));
        let came_before = put.zip(truth.baselined.get(entry)).is_some_and(|(put, at)| put.at < *at);
        let is_counted =
            |baseline: &Baseline| came_before && counted_by(baseline, world.options.cloud(), item);
        baseline.is_some_and(|baseline| baseline.has(item) || is_counted(baseline))
    };
    let stays = |item: &Item| truth.kept.contains_key(item.id.as_str()) || is_older(item);
    leftovers.iter().filter(|item| !stays(item)).map(Item::key).collect()
}

/// Whether a baseline has an item in its counts: one that no list showed, and that was there before.
fn counted_by(baseline: &Baseline, cloud: Cloud, item: &Item) -> bool {
    let place = item.attribute(LOCATION).map_or_else(|| item.place.clone(), Place::new);
    let is_numbered = table(cloud).counts.iter().any(|count| {
        let counts_kind = count.of.is_empty() || count.of.contains(&item.kind.as_str());
        let hidden = |place: &Place| baseline.hidden(place, &count.name());
        counts_kind && hidden(&place).max(hidden(&Place::GLOBAL)) > 0
    });
    is_numbered || baseline.seen.iter().any(|seen| seen.id == item.id.as_str())
}

/// Shoots make items, and leave some of them behind.
fn follow_shoot(world: &World, name: &str) {
    let (id, known) = {
        let state = world.state();
        let shoot = state.eyes.scene.shoots.get(name);
        let id = shoot.and_then(|shoot| state.truth.leads_to(&state.eyes.scene, &shoot.account)).cloned();
        (id, state.truth.shoots.get(name).cloned())
    };
    let cloud = world.options.cloud();
    let items = |id: &CloudAccountId| leftovers_of_shoot(cloud, id, &technical_id(name), &Place::of(REGION));
    let mut dice = dice_for(world.options.seed, &["leftovers", name], 0);
    match (id, known) {
        (Some(id), None) => {
            for (item, nature) in items(&id) {
                put(world, &id, item, nature);
            }
            world.state().truth.shoots.insert(name.to_owned(), id);
        }
        (None, Some(id)) if !world.state().eyes.scene.shoots.contains_key(name) => {
            world.state().truth.shoots.remove(name);
            // Deleted by force: everything stays. Otherwise Gardener removes what it made, and some of what workloads made.
            let is_forced = dice.happens(500);
            let (is_tidy, late) = (dice.happens(300), dice.below(world.options.settle.max(1)));
            for (item, _) in items(&id) {
                if !is_forced && (is_tidy || !leftover::outlives_shoot(cloud, &item)) {
                    world.cloud.remove(&id, &item.key());
                }
            }
            // The cloud shows the last volume of a workload late.
            if !is_tidy {
                let volume = leftover::volume(cloud, &format!("vol-late-{name}"));
                let nature = Nature { appears_after: Duration::from_millis(late), ..Nature::default() };
                put(world, &id, volume, nature);
            }
        }
        _ => (),
    }
}

pub(super) fn technical_id(shoot: &str) -> String {
    format!("shoot--{PROJECT}--{shoot}")
}

/// Which entries nobody may touch now. The reasons are those of docs/cleanup.md, read from the world.
fn judge(world: &World) {
    let at = world.millis();
    let mut state = world.state();
    let names: Vec<AccountName> = {
        let (scene, recorded) = (&state.eyes.scene, &state.truth.recorded);
        scene.entries.keys().chain(recorded.keys()).cloned().collect()
    };
    for name in names {
        match why_untouchable(&state.eyes.scene, &state.truth, &name) {
            Some(why) => {
                state.truth.untouchable.entry(name).or_insert((at, why));
            }
            None => drop(state.truth.untouchable.remove(&name)),
        }
    }
}

fn why_untouchable(scene: &Scene, truth: &Truth, name: &AccountName) -> Option<String> {
    let Some(entry) = scene.entries.get(name) else { return Some("its entry is gone".to_owned()) };
    let is_shared = entry.pool.as_ref().is_some_and(|pool| pool.shared);
    let states = [
        (!entry.dirty, "it is not dirty"),
        (is_shared, "it is shared"),
        (entry.internal, "it is internal"),
        (entry.quarantine.is_some(), "it is in quarantine"),
    ];
    if let Some((_, why)) = states.into_iter().find(|(is_true, _)| *is_true) {
        return Some(why.to_owned());
    }
    let credential =
        |entry: &AccountName| scene.credentials.get(entry).map_or(entry.as_str(), String::as_str).to_owned();
    let own = credential(name);
    let shoot = scene.shoots.iter().find(|(_, shoot)| credential(&shoot.account) == own);
    if let Some((shoot, _)) = shoot {
        return Some(format!("Shoot {shoot} is in it"));
    }
    if let Some(seat) = scene.books.seats.iter().find(|seat| credential(&seat.account) == own) {
        return Some(format!("request {} has it", seat.request));
    }
    let id = truth.recorded.get(name).map(|recorded| &recorded.id);
    let is_same = |other: &AccountName| {
        let recorded = truth.recorded.get(other).map(|recorded| &recorded.id);
        other != name && (credential(other) == own || (id.is_some() && recorded == id))
    };
    let mut others = scene.entries.iter().filter(|(other, _)| is_same(other));
    let used = others.find(|(other, entry)| is_held(entry) || has_shoot(scene, other));
    used.map(|(other, _)| format!("{other} is the same account, and in use"))
}

fn is_held(entry: &Entry) -> bool {
    !entry.dirty && (entry.tenant.is_some() || !entry.is_dedicated())
}

fn has_shoot(scene: &Scene, entry: &AccountName) -> bool {
    scene.shoots.values().any(|shoot| shoot.account == *entry)
}

/// Whether another entry in use leads to the account of this one, or may: the cloud does not accept its credentials, and nobody has
/// recorded its account. The cloud is asked every ten minutes only, so that this is a reason to wait, and what was deleted meanwhile is no violation.
pub(super) fn is_disputed(world: &World, name: &AccountName) -> bool {
    let state = world.state();
    let (scene, truth) = (&state.eyes.scene, &state.truth);
    let Some(id) = truth.recorded.get(name).map(|recorded| &recorded.id) else { return false };
    let in_use = scene.entries.iter().filter(|(other, entry)| {
        let has_request = scene.books.seats.iter().any(|seat| seat.account == **other);
        *other != name && (is_held(entry) || has_shoot(scene, other) || has_request)
    });
    in_use.into_iter().any(|(other, _)| match truth.leads_to(scene, other) {
        Some(leads_to) if leads_to == id => true,
        leads_to => {
            let is_refused = leads_to.is_none_or(|leads_to| world.cloud.faults(leads_to).revoked);
            is_refused && !truth.recorded.contains_key(other)
        }
    })
}
