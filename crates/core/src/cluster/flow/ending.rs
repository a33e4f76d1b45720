//! A Cluster that Gardener made, when it is deleted: the Shoot first, then the account, then the Cluster.

use super::{
    Decision, Step, View, ask,
    draft::Draft,
    is_held,
    living::{given_up, rest},
    reading,
    reading::Stage,
    whose::{Whose, carries, is_settled, whose},
};
use allotment_api::{
    gardener::{Shoot, names::CONFIRM_DELETION},
    kyma::ClusterPhase,
};
use std::time::Duration;

/// A second person may be needed to delete a Shoot; nothing tells us when they did.
const AFTER_REFUSAL: Duration = Duration::from_mins(5);

pub(super) fn decide(view: &View<'_>) -> Decision {
    let mut draft = Draft::new(view);
    if !is_held(view.cluster) {
        return rest(draft);
    }
    if let Some(shoot) = ours(view) {
        draft.facts(shoot, true);
        return with_shoot(view, draft, shoot);
    }
    // Also where the cache shows one that is not ours: it may be from before.
    if !view.is_live {
        draft.not_yet(ClusterPhase::Deleting, "Deleting", "the Shoot is being deleted");
        return rest(draft).step(Step::LookLive);
    }
    draft.status.progress = None;
    draft.status.api_server = None;
    match view.request.filter(|request| ask::is_of(request, view.cluster)) {
        Some(_) => {
            draft.not_yet(
                ClusterPhase::Deleting,
                "Deleting",
                "the Shoot is gone; the account is being given back",
            );
            rest(draft).step(Step::GiveBack)
        }
        None => rest(draft).step(Step::LetGo),
    }
}

/// What carries our request's UID goes with the Cluster, whatever UID it has itself: the account is not given back before.
fn ours<'a>(view: &View<'a>) -> Option<&'a Shoot> {
    match whose(view) {
        // One that was to be taken over, and never was, stays.
        Whose::Ours(shoot) => Some(shoot).filter(|shoot| is_settled(view, shoot)),
        Whose::Nobodys => None,
        Whose::Others(shoot) | Whose::Replaced(shoot) => Some(shoot)
            .filter(|shoot| carries(shoot, view.request.and_then(|request| request.metadata.uid.as_deref()))),
    }
}

fn with_shoot(view: &View<'_>, mut draft: Draft, shoot: &Shoot) -> Decision {
    if let Some(refusal) = view.refusal {
        let message = format!("the garden refuses to delete the Shoot: {refusal}");
        draft.not_yet(ClusterPhase::Deleting, "DeletionRefused", message);
        return rest(draft).after(AFTER_REFUSAL);
    }
    if shoot.metadata.deletion_timestamp.is_none() {
        draft.not_yet(ClusterPhase::Deleting, "Deleting", "the Shoot is being deleted");
        let annotations = shoot.metadata.annotations.as_ref();
        let is_confirmed =
            annotations.and_then(|all| all.get(CONFIRM_DELETION)).is_some_and(|value| value == "true");
        let step = if is_confirmed { Step::DeleteShoot } else { Step::ConfirmDeletion };
        return rest(draft).step(step);
    }
    if reading::stage(shoot) == Stage::GivenUp {
        let (why, _) = reading::errors(shoot.status.as_ref());
        let message = format!("Gardener has given up deleting the Shoot: {why}");
        draft.not_yet(ClusterPhase::Deleting, "ShootFailed", message);
        return given_up(view, draft, shoot);
    }
    let words = draft.status.last_operation.as_ref().map(|operation| operation.description.clone());
    draft.not_yet(
        ClusterPhase::Deleting,
        "Deleting",
        words.unwrap_or_else(|| "the Shoot is being deleted".to_owned()),
    );
    rest(draft)
}
