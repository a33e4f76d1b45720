//! Dirty accounts at rest: each may not be touched, or is stuck, with a reason that is true.

use super::truth::{is_disputed, keeps_unlisted, left_in};
use crate::stage::{
    call::Side,
    eyes::now,
    world::{World, path_of},
};
use allotment_api::names::annotation;
use allotment_clouds::memory::code_of_revoked;
use allotment_core::{
    check::{CleaningViolation, Violation},
    cleanup::{Cloud, CloudAccountId, Stage, Stuck},
    pool::AccountName,
};
use http::Method;
use std::collections::BTreeMap;

/// The violations in the accounts that are dirty.
pub(crate) fn at_rest(world: &World) -> Vec<Violation> {
    let dirty: Vec<AccountName> = {
        let state = world.state();
        let untouchable = &state.truth.untouchable;
        let dirty = state
            .eyes
            .scene
            .entries
            .iter()
            .filter(|(name, entry)| entry.dirty && !untouchable.contains_key(*name));
        dirty.map(|(name, _)| name.clone()).collect()
    };
    let cleanings: BTreeMap<_, _> = match now(world.ledger.cleanings()) {
        Ok(cleanings) => cleanings.into_iter().collect(),
        Err(error) => return vec![Violation::Untold(error.to_string())],
    };
    let mut found = Vec::new();
    for name in dirty {
        let record = cleanings.get(&name).map(|cleaning| &cleaning.record);
        match record.and_then(|record| record.stuck.as_ref()) {
            Some(stuck) if !is_true(world, &name, stuck) => {
                found.push(CleaningViolation::FalseReason(name, stuck.to_string()));
            }
            Some(stuck) if !is_annotated(world, &name, stuck) => {
                found.push(CleaningViolation::AnnotatedOtherwise(name, stuck.to_string()));
            }
            Some(_) => (),
            None if is_disputed(world, &name) => (),
            None => {
                let stage = record.map_or("not begun", |record| Stage::as_str(record.stage));
                found.push(CleaningViolation::NeitherFreeNorStuck(name, stage.to_owned()));
            }
        }
    }
    found.into_iter().map(Violation::from).collect()
}

/// Whether the account that a request could have is recorded as the same account of the cloud as another entry, which is not free: entries of one
/// account go to one tenant.
pub(crate) fn waits_rightly(world: &World, violation: &Violation) -> bool {
    let Violation::CouldBeServed(_, account) = violation else { return false };
    let state = world.state();
    let recorded = &state.truth.recorded;
    let Some(id) = recorded.get(account).map(|recorded| &recorded.id) else { return false };
    let mut others = recorded.iter().filter(|(other, recorded)| *other != account && recorded.id == *id);
    others.any(|(other, _)| state.eyes.scene.entries.get(other).is_none_or(|entry| !entry.is_free()))
}

fn is_true(world: &World, name: &AccountName, stuck: &Stuck) -> bool {
    let (recorded, leads_to) = {
        let state = world.state();
        let recorded = state.truth.recorded.get(name).cloned();
        (recorded, state.truth.leads_to(&state.eyes.scene, name).cloned())
    };
    let faults = leads_to.as_ref().map(|id| world.cloud.faults(id)).unwrap_or_default();
    let id = recorded.as_ref().map(|recorded| &recorded.id);
    if let Some(item) = &stuck.item {
        return id.is_some_and(|id| world.cloud.items(id).iter().any(|there| there.key() == *item));
    }
    match stuck.code.as_str() {
        "AccountIdUnknown" => recorded.is_none(),
        "AccountIdDiffers" => leads_to.as_ref() != id,
        code if code == code_of_revoked(world.options.cloud()) => faults.revoked,
        "Unknown" => !faults.denied.is_empty() || !faults.disabled.is_empty(),
        "HistoryIncomplete" => recorded.as_ref().is_some_and(|recorded| recorded.shoots_since.is_none()),
        "WitnessDisagrees" => id.is_some_and(|id| {
            !left_in(world, name, id).is_empty() || keeps_what_only_a_number_shows(world, id)
        }),
        _ => false,
    }
}

/// A number does not tell whose it is: an item that people keep, and that no list shows, is one too many for ever.
fn keeps_what_only_a_number_shows(world: &World, id: &CloudAccountId) -> bool {
    let counts_are_numbers = !matches!(world.options.cloud(), Cloud::Aws | Cloud::Alicloud);
    counts_are_numbers && keeps_unlisted(world, id)
}

fn is_annotated(world: &World, name: &AccountName, stuck: &Stuck) -> bool {
    let Some(path) = path_of("credentialsbindings", name.as_str()) else { return false };
    let (_, object) = world.ask(Side::Garden, Method::GET, &path, None);
    let text = object["metadata"]["annotations"][annotation::CLEANUP_STUCK].as_str();
    // Long reasons are cut.
    text.is_some_and(|text| text.starts_with(&format!("{}: ", stuck.code)))
}
