//! The life of a Shoot, step by step, as a plain function: Shoot, script and time in, the next step out.

use super::{
    Script,
    words::{self, Milestone},
};
use allotment_api::gardener::{
    GardenerIdentity, LastError, LastOperation, OperationState, OperationType, Shoot, ShootCondition,
    ShootStatus, names,
};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use std::time::Duration;

/// How often to look whether a Shoot that stands still may go on.
const HELD: Duration = Duration::from_millis(500);

/// What to do next with a Shoot.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Nothing, until it changes.
    Idle,
    /// Nothing, for this long.
    Wait(Duration),
    /// Take it: put our finalizer on it.
    Take,
    /// Write this status.
    Report(Box<ShootStatus>),
    /// Make its API server reachable, then write this status with the address.
    Publish(Box<ShootStatus>),
    /// Let it go: take our finalizer off.
    LetGo,
}

/// Decides the next step.
pub(super) fn next(shoot: &Shoot, script: &Script, identity: &GardenerIdentity, now: Timestamp) -> Step {
    let deleting = shoot.metadata.deletion_timestamp.is_some();
    if !shoot.finalizers().iter().any(|finalizer| finalizer == names::FINALIZER) {
        return if deleting { Step::Idle } else { Step::Take };
    }
    let status = shoot.status.clone().unwrap_or_default();
    let Some(operation) = status.last_operation.clone() else {
        return start(
            shoot,
            status,
            if deleting { OperationType::Delete } else { OperationType::Create },
            identity,
            now,
        );
    };
    let changed = status.observed_generation != shoot.metadata.generation;
    if deleting && operation.type_ != OperationType::Delete {
        return start(shoot, status, OperationType::Delete, identity, now);
    }
    if changed {
        return start(shoot, status, following(&operation), identity, now);
    }
    match operation.state {
        OperationState::Succeeded if operation.type_ == OperationType::Delete => Step::LetGo,
        OperationState::Succeeded => care(status, script, now),
        // Gardener gives up here, until somebody says `retry` (which bumps the generation) or changes the spec.
        OperationState::Failed | OperationState::Aborted => Step::Idle,
        OperationState::Error => {
            match remaining(operation.last_update_time.0, script.step().max(HELD), now) {
                Some(rest) => Step::Wait(rest),
                None => start(shoot, status, operation.type_, identity, now),
            }
        }
        OperationState::Processing | OperationState::Pending | OperationState::Other => {
            advance(status, operation, script, now)
        }
    }
}

/// A Shoot that was never made is still to be made; one that was made is reconciled; one that goes away goes away.
fn following(operation: &LastOperation) -> OperationType {
    match (operation.type_, operation.state) {
        (OperationType::Create, OperationState::Succeeded) => OperationType::Reconcile,
        (type_, _) => type_,
    }
}

fn start(
    shoot: &Shoot,
    mut status: ShootStatus,
    type_: OperationType,
    identity: &GardenerIdentity,
    now: Timestamp,
) -> Step {
    let namespace = shoot.namespace().unwrap_or_default();
    let project = namespace.strip_prefix("garden-").unwrap_or(&namespace);
    let uid = shoot.uid().unwrap_or_default();
    // An API server answers "" for what was never set.
    let unset = |value: &Option<String>| value.as_deref().is_none_or(str::is_empty);
    if unset(&status.technical_id) {
        status.technical_id = Some(format!("shoot--{project}--{}", shoot.name_any()));
    }
    if unset(&status.uid) {
        status.uid = Some(uid.clone());
    }
    if unset(&status.cluster_identity) {
        status.cluster_identity = status.technical_id.as_ref().map(|id| format!("{id}-{uid}-allotment"));
    }
    status.gardener = Some(identity.clone());
    status.observed_generation = shoot.metadata.generation;
    status.hibernated =
        shoot.spec.hibernation.as_ref().is_some_and(|hibernation| hibernation.enabled == Some(true));
    status.last_operation = Some(LastOperation {
        type_,
        state: OperationState::Processing,
        progress: 0,
        description: words::started(type_).to_owned(),
        last_update_time: now.into(),
    });
    Step::Report(Box::new(status))
}

fn advance(mut status: ShootStatus, operation: LastOperation, script: &Script, now: Timestamp) -> Step {
    if let Some(rest) = remaining(operation.last_update_time.0, script.step(), now) {
        return Step::Wait(rest);
    }
    let milestone = words::after(operation.type_, operation.progress);
    if script.hold_at.is_some_and(|hold_at| milestone.is_none_or(|next| next.progress > hold_at)) {
        return Step::Wait(HELD);
    }
    // A Shoot fails on its way, not before it has set out.
    if let Some(failure) = script.failure(operation.type_).filter(|_| operation.progress > 0) {
        status.last_errors = vec![LastError {
            description: failure.description.clone(),
            task_id: None,
            codes: failure.codes.clone(),
            last_update_time: Some(now.into()),
        }];
        let description = failure.description.clone();
        status.last_operation = Some(LastOperation {
            state: failure.state,
            description,
            last_update_time: now.into(),
            ..operation
        });
        return Step::Report(Box::new(status));
    }
    let Some(Milestone { progress, description, publishes }) = milestone else {
        return succeed(status, operation, now);
    };
    status.last_operation = Some(LastOperation {
        state: OperationState::Processing,
        progress: *progress,
        description: (*description).to_owned(),
        last_update_time: now.into(),
        ..operation
    });
    if *publishes { Step::Publish(Box::new(status)) } else { Step::Report(Box::new(status)) }
}

/// As Gardener does it: the operation has succeeded, and the health is looked at only then.
fn succeed(mut status: ShootStatus, operation: LastOperation, now: Timestamp) -> Step {
    status.last_errors.clear();
    status.conditions =
        words::CONDITIONS.iter().map(|words| words.condition("Progressing", &status, now)).collect();
    status.last_operation = Some(LastOperation {
        state: OperationState::Succeeded,
        progress: 100,
        description: words::succeeded(operation.type_).to_owned(),
        last_update_time: now.into(),
        ..operation
    });
    Step::Report(Box::new(status))
}

/// Looks at the health of a Shoot that stands.
fn care(mut status: ShootStatus, script: &Script, now: Timestamp) -> Step {
    let api_server =
        status.conditions.iter().find(|condition| condition.type_ == words::API_SERVER_AVAILABLE);
    let up = match (script.flap_milliseconds, api_server) {
        (Some(period), Some(ShootCondition { status, last_transition_time, .. }))
            if status != "Progressing" =>
        {
            if let Some(rest) = remaining(last_transition_time.0, Duration::from_millis(period), now) {
                return Step::Wait(rest);
            }
            status != "True"
        }
        _ => true,
    };
    let verdict = |type_: &str| if type_ == words::API_SERVER_AVAILABLE && !up { "False" } else { "True" };
    let conditions: Vec<ShootCondition> =
        words::CONDITIONS.iter().map(|words| words.condition(verdict(words.type_), &status, now)).collect();
    let told = |conditions: &[ShootCondition]| -> Vec<(String, String)> {
        conditions.iter().map(|condition| (condition.type_.clone(), condition.status.clone())).collect()
    };
    if told(&conditions) == told(&status.conditions) {
        return Step::Idle;
    }
    status.conditions = conditions;
    Step::Report(Box::new(status))
}

/// How much of a time is left since a moment; nothing once it is over.
fn remaining(since: Timestamp, time: Duration, now: Timestamp) -> Option<Duration> {
    let elapsed = now.duration_since(since).max(SignedDuration::ZERO).unsigned_abs();
    time.checked_sub(elapsed).filter(|rest| !rest.is_zero())
}
