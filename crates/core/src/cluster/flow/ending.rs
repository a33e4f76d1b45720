//! A Cluster that Gardener made, when it is deleted: the Shoot first, then the account, then the Cluster.

use super::{
    Decision, Step, View, ask,
    draft::Draft,
    is_held,
    living::{given_up, rest},
    ownership::carries_owner,
    reading,
    reading::Stage,
};
use allotment_api::{
    gardener::{Shoot, names::CONFIRM_DELETION},
    kyma::ClusterPhase,
    names::annotation,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
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
        // Whatever is protected cannot be kept any more once Gardener deletes the Shoot.
        if shoot.metadata.deletion_timestamp.is_none() {
            if is_released(view, shoot) {
                draft.not_yet(ClusterPhase::Deleting, "Deleting", "the Shoot is released, and stays");
                return rest(draft).step(Step::ReleaseShoot);
            }
            if is_protected(view) && !is_confirmed(view) {
                return protected(view, draft, shoot);
            }
        }
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

/// What carries the UID of the Cluster or its request goes with the Cluster, whatever UID it has itself: the account is not
/// given back before. One that was to be adopted, and never was, stays.
fn ours<'a>(view: &View<'a>) -> Option<&'a Shoot> {
    view.shoot.filter(|shoot| carries_owner(view, shoot))
}

fn is_protected(view: &View<'_>) -> bool {
    view.cluster.spec.deletion_protection.unwrap_or(view.clusters.defaults.deletion_protection)
}

fn annotated<'a>(view: &View<'a>, name: &str) -> Option<&'a String> {
    view.cluster.metadata.annotations.as_ref()?.get(name)
}

/// An annotation that was there before, as in a manifest that is applied again and again, confirms nothing: the UID is new with
/// each Cluster.
fn is_confirmed(view: &View<'_>) -> bool {
    let confirmed = annotated(view, annotation::CONFIRM_DELETION);
    confirmed.is_some() && confirmed == view.cluster.metadata.uid.as_ref()
}

fn is_released(view: &View<'_>, shoot: &Shoot) -> bool {
    let released = annotated(view, annotation::RELEASE_SHOOT);
    released.is_some() && released == shoot.metadata.uid.as_ref()
}

fn protected(view: &View<'_>, mut draft: Draft, shoot: &Shoot) -> Decision {
    let uid = |metadata: &ObjectMeta| metadata.uid.clone().unwrap_or_default();
    let message = format!(
        "the Cluster is protected: its Shoot and account stay. To delete them, set the annotation {}={} or \
         spec.deletionProtection to false; to remove the Cluster and keep both for a Cluster that adopts the Shoot, set the \
         annotation {}={}",
        annotation::CONFIRM_DELETION,
        uid(&view.cluster.metadata),
        annotation::RELEASE_SHOOT,
        uid(&shoot.metadata),
    );
    draft.not_yet(ClusterPhase::Deleting, "DeletionProtected", message);
    rest(draft)
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
