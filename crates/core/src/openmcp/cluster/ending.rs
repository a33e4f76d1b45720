//! When a Cluster is deleted: whoever else holds it first, then the Shoot, then the Cluster. It always comes to an end, unless
//! there is a Shoot and no way to it.

use super::{
    Decision, Record, Step, View,
    draft::Draft,
    living::{Found, find, given_up},
};
use crate::cluster::flow::{reading, reading::Stage};
use allotment_api::{
    gardener::{Shoot, names::CONFIRM_DELETION},
    openmcp::gardener::names::{ProviderCondition, Reason, finalizer},
};
use std::time::Duration;

/// The watch tells when the Shoot is gone; should it miss that, this does.
const WATCHED: Duration = Duration::from_mins(1);

/// A second person may be needed to delete a Shoot; nothing tells us when they did.
const AFTER_REFUSAL: Duration = Duration::from_mins(5);

/// Kubernetes' own, which go when what depends on the Cluster is gone.
const OF_KUBERNETES: [&str; 2] = ["foregroundDeletion", "orphan"];

pub(super) fn decide(view: &View<'_>) -> Decision {
    let mut draft = Draft::new(view);
    let finalizers = view.cluster.metadata.finalizers.as_deref().unwrap_or_default();
    let foreign: Vec<&str> = finalizers
        .iter()
        .map(String::as_str)
        .filter(|name| *name != finalizer::CLUSTER && !OF_KUBERNETES.contains(name))
        .collect();
    if !foreign.is_empty() {
        let message = format!("others still hold the Cluster: {}", foreign.join(", "));
        let reason = Reason::WaitingForDeletion.as_str();
        draft.fails(ProviderCondition::ForeignFinalizers, reason, message);
        return draft.rest();
    }
    draft.holds(ProviderCondition::ForeignFinalizers);
    let record = Record::of(view.cluster);
    if let Err((reason, message)) = view.place {
        // Where a Shoot is to be is written down before it is made.
        let Some(record) = record else { return draft.rest().step(Step::LetGo) };
        let message = format!(
            "Shoot {}/{} has to be deleted, and there is no way to it: {message}. Bring the Landscape back; or, if the Shoot \
             is gone, take the finalizer {} off",
            record.namespace,
            record.shoot,
            finalizer::CLUSTER
        );
        draft.fails(ProviderCondition::LandscapeManagement, reason, message);
        return draft.rest().after(WATCHED);
    }
    draft.holds(ProviderCondition::LandscapeManagement);
    match find(view) {
        Found::Unknown(name) => draft.rest().step(Step::LookLive(name)),
        Found::Ours(shoot) => with_shoot(view, draft, shoot),
        Found::Free(_) | Found::Taken(_) => {
            draft.without_shoot();
            draft.rest().step(Step::LetGo)
        }
    }
}

fn with_shoot(view: &View<'_>, mut draft: Draft<'_>, shoot: &Shoot) -> Decision {
    draft.facts(shoot);
    let name = shoot.metadata.name.clone().unwrap_or_default();
    if let Some(refusal) = view.refusal {
        let message = format!("the garden refuses to delete the Shoot: {refusal}");
        draft.shoot_fails(Reason::WaitingForDeletion, message);
        return draft.rest().after(AFTER_REFUSAL);
    }
    if shoot.metadata.deletion_timestamp.is_none() {
        draft.shoot_fails(Reason::WaitingForDeletion, "the Shoot is being deleted");
        let annotations = shoot.metadata.annotations.as_ref();
        let is_confirmed =
            annotations.and_then(|all| all.get(CONFIRM_DELETION)).is_some_and(|value| value == "true");
        let step = if is_confirmed { Step::DeleteShoot(name) } else { Step::ConfirmDeletion(name) };
        return draft.rest().step(step);
    }
    if reading::stage(shoot) == Stage::GivenUp {
        let (why, _) = reading::errors(shoot.status.as_ref());
        let message = format!("Gardener has given up deleting the Shoot: {why}");
        draft.shoot_fails(Reason::WaitingForDeletion, message);
        let decision = given_up(view, draft, shoot);
        let again = decision.again.map_or(WATCHED, |again| again.min(WATCHED));
        return decision.after(again);
    }
    let words = reading::operation(shoot.status.as_ref()).map(|operation| operation.description);
    let words = words.unwrap_or_else(|| "the Shoot is being deleted".to_owned());
    draft.shoot_fails(Reason::WaitingForDeletion, words);
    draft.rest().after(WATCHED)
}
