//! The administrators of a Cluster that an AccessLock names: nobody has cluster-admin by us.
//!
//! This is decided beside everything else. A tenant who pauses the Cluster, or writes a spec that cannot be rendered, would otherwise
//! keep administrators in spite of the lock.

use super::{Decision, Looked, Step, View, living::AFTER_FAILED_LOOK};
use crate::condition::{self, Verdict};
use allotment_api::{
    condition::ConditionStatus,
    kyma::{ClusterCondition, ClusterStatus},
};

const REASON: &str = "Locked";

/// What comes before any other step: to take back what administrators may have.
pub(super) fn first_step(view: &View<'_>) -> Option<Decision> {
    let mut status = view.cluster.status.clone().unwrap_or_default();
    let is_unseen = match view.administrators {
        Looked::NotYet => is_needed(view, &status),
        Looked::Due => is_needed(view, &status) || !view.cluster.spec.administrators.is_empty(),
        Looked::Seen(()) | Looked::Failed(_) => false,
    };
    if !view.is_locked || !is_unseen || !can_be_reached(view, &status) {
        return None;
    }
    // It is said before it is done. A check of what was done already changes nothing.
    if is_needed(view, &status) {
        let message = "access is locked by the platform; cluster-admin is being taken back";
        say(view, &mut status, false, "Applying", message.to_owned());
    }
    let step = Step::Administrate(Vec::new());
    Some(Decision { step, status, again: None, waits_for_turn: false })
}

/// Reports in the status of a decision how the lock stands.
pub(super) fn report(view: &View<'_>, decision: &mut Decision) {
    if !view.is_locked {
        return;
    }
    let status = &mut decision.status;
    match view.administrators {
        Looked::Failed(why) => {
            let message =
                format!("access is locked by the platform, but cluster-admin cannot be taken back: {why}");
            say(view, status, false, "Unreachable", message);
            decision.again =
                Some(decision.again.map_or(AFTER_FAILED_LOOK, |again| again.min(AFTER_FAILED_LOOK)));
        }
        Looked::NotYet | Looked::Due if is_given(status) => {
            let message = "access is locked by the platform; cluster-admin is taken back once the cluster can be reached";
            say(view, status, false, "Pending", message.to_owned());
        }
        Looked::Seen(()) | Looked::NotYet | Looked::Due => {
            status.administrators.clear();
            if view.cluster.spec.administrators.is_empty() {
                status.conditions.retain(|condition| condition.type_ != condition_type());
            } else {
                let message = "access is locked by the platform: no user has cluster-admin";
                say(view, status, true, REASON, message.to_owned());
            }
        }
    }
}

/// Whether anything has to be done: somebody may have it, or the lock is new.
fn is_needed(view: &View<'_>, status: &ClusterStatus) -> bool {
    let said = condition::find(&status.conditions, condition_type());
    let is_new = said.is_none_or(|said| said.reason != REASON);
    is_given(status) || is_new && !view.cluster.spec.administrators.is_empty()
}

/// Whether somebody may have cluster-admin by us: the status names them, or something was begun.
fn is_given(status: &ClusterStatus) -> bool {
    let said = condition::find(&status.conditions, condition_type());
    !status.administrators.is_empty() || said.is_some_and(|said| said.status != ConditionStatus::True)
}

fn can_be_reached(view: &View<'_>, status: &ClusterStatus) -> bool {
    view.cluster.spec.byoc.is_some() || status.shoot_uid.is_some() && status.api_server.is_some()
}

fn say(view: &View<'_>, status: &mut ClusterStatus, holds: bool, reason: &'static str, message: String) {
    let holds = if holds { ConditionStatus::True } else { ConditionStatus::False };
    let verdict = Verdict { type_: condition_type(), status: holds, reason, message };
    condition::set(&mut status.conditions, verdict, view.cluster.metadata.generation, view.now);
}

fn condition_type() -> &'static str {
    ClusterCondition::AdministratorsApplied.as_str()
}
