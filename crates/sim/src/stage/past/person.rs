//! The person: ends a second installation, and follows the remedy where the ledger does not fit the fence.

use super::ledger::lost;
use crate::stage::{
    call::Side,
    dice::dice_for,
    eyes::now,
    world::{GARDEN, World, path_of},
};
use allotment_api::{kyma::SubscriptionPhase, names::label};
use allotment_apiserver::ApiServer;
use allotment_core::{
    check::{Scene, Violation},
    pool::{Fence, FenceRecord, LedgerFacts, Served, Traces, verify},
};
use allotment_operator::{
    ledger::{Ledger, LedgerError, LedgerId, Past},
    subscription::IDENTITY,
};
use http::Method;
use serde_json::Value;

/// How long a person takes to notice and to act, in milliseconds.
const NOTICED_WITHIN: (u64, u64) = (2_000, 40_000);

/// How often a person looks, in milliseconds.
const LOOK: u64 = 1_000;

/// Looks at ledger and fence, and does what is due. Returns whether something is left to do.
pub(crate) fn look(world: &World) -> bool {
    if !world.state().past.is_tried {
        return false;
    }
    {
        let (millis, mut state) = (world.millis(), world.state());
        if millis < state.past.looked_at + LOOK {
            return state.past.is_busy;
        }
        state.past.looked_at = millis;
        state.eyes.forgive_adopted();
    }
    end_second(world);
    let is_busy = see_to_it(world);
    world.state().past.is_busy = is_busy;
    is_busy
}

fn see_to_it(world: &World) -> bool {
    let unfit = match mismatch(world, &world.ledger, &world.control_plane) {
        Ok(unfit) => unfit,
        Err(error) => {
            world.found(vec![Violation::Untold(error.to_string())]);
            return true;
        }
    };
    let millis = world.millis();
    let mut state = world.state();
    let since = unfit.as_ref().map(|_| state.past.unfit_since.unwrap_or(millis));
    state.past.unfit_since = since;
    let is_alone = state.past.second.is_none();
    if state.past.rebuilds || !is_alone {
        return true;
    }
    let Some(since) = since else {
        drop(state);
        settle(world);
        return false;
    };
    let (from, to) = NOTICED_WITHIN;
    let wait = dice_for(world.options.seed, &["remedy"], state.past.rebuilt).between(from, to);
    if millis >= since + wait {
        state.past.rebuilds = true;
        state.past.rebuilt += 1;
        drop(state);
        world.tell(|| format!("a person rebuilds the ledger: {}", unfit.unwrap_or_default()));
        lost(world);
    }
    true
}

/// A drill does not last for ever.
fn end_second(world: &World) {
    let millis = world.millis();
    let mut state = world.state();
    let is_over = state.past.second.as_ref().is_some_and(|second| millis >= second.until || state.calm);
    if is_over {
        state.past.second = None;
        drop(state);
        world.tell(|| "a person ends the second installation".to_owned());
    }
}

/// The ledger can be compared with the world again once it was compared, and agreed.
fn settle(world: &World) {
    let fence = read_fence(world);
    let mut state = world.state();
    if !state.eyes.scene.lost {
        return;
    }
    let is_compared = match (&state.past.lost_in, &fence) {
        (None, _) => true,
        (Some(before), Fence::Known(record)) => record.term.as_ref().is_some_and(|term| term != before),
        (Some(_), Fence::Missing | Fence::Unreadable) => false,
    };
    let settled = Scene { lost: false, ..state.eyes.scene.clone() };
    if is_compared && settled.violations().is_empty() {
        state.eyes.scene.lost = false;
        drop(state);
        world.tell(|| "the ledger agrees with the world again".to_owned());
    }
}

/// The fence of now.
pub(super) fn read_fence(world: &World) -> Fence {
    let Some(path) = path_of("configmaps", IDENTITY) else { return Fence::Missing };
    let (code, object) = world.ask(Side::Garden, Method::GET, &path, None);
    if code == 404 {
        return Fence::Missing;
    }
    let data = serde_json::from_value(object["data"].clone()).ok();
    data.as_ref().and_then(FenceRecord::read).map_or(Fence::Unreadable, Fence::Known)
}

/// Why a leader that serves this control plane would halt, if it would.
pub(super) fn mismatch(
    world: &World,
    ledger: &Ledger,
    control_plane: &ApiServer,
) -> Result<Option<String>, LedgerError> {
    let fence = read_fence(world);
    let LedgerId { uuid, epoch, is_empty, served } = now(ledger.identity())?;
    let Past { term, missing } = match &fence {
        Fence::Known(known) => now(ledger.past(known.epoch, &known.entries))?,
        Fence::Missing | Fence::Unreadable => Past { term: None, missing: Vec::new() },
    };
    let (_, root) = world.ask_server(control_plane, Method::GET, "/api/v1/namespaces/kube-system", None);
    let control_plane = root["metadata"]["uid"].as_str().map(str::to_owned);
    let facts = LedgerFacts {
        uuid,
        epoch,
        is_empty,
        term,
        missing,
        serves: Served { control_plane, installation: None },
        served,
    };
    // Where there is a fence they do not matter, and to list Shoots takes time.
    let traces = if matches!(fence, Fence::Known(_)) { Traces::default() } else { traces(world) };
    Ok(verify(&fence, &facts, traces).err().map(|mismatch| mismatch.to_string()))
}

/// What an operator may take for signs that the garden was served before.
fn traces(world: &World) -> Traces {
    let path = format!("/apis/core.gardener.cloud/v1beta1/namespaces/{GARDEN}/shoots");
    let (_, list) = world.ask(Side::Garden, Method::GET, &path, None);
    let is_labelled = |shoot: &&Value| shoot["metadata"]["labels"][label::SUBSCRIPTION_REQUEST].is_string();
    let shoots = list["items"].as_array().map_or(0, |items| items.iter().filter(is_labelled).count());
    let state = world.state();
    let asked = state.eyes.scene.requests.values();
    let has_account = asked.filter(|asked| {
        let phases = [Some(SubscriptionPhase::Bound), Some(SubscriptionPhase::Releasing)];
        asked.account.is_some() && phases.contains(&asked.phase)
    });
    Traces { shoots, requests: has_account.count(), bound: 0 }
}
