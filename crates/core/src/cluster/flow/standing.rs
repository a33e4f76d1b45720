//! The conditions that every tool knows: `Ready`, `Reconciling`, `Stalled`.

use super::View;
use crate::condition::{self, Progress, READY, Verdict};
use allotment_api::{
    condition::{Condition, ConditionStatus},
    kyma::{ClusterCondition, ClusterPhase, ClusterStatus},
};

/// Says how a Cluster stands. A cluster that runs while a change is on its way, or cannot be made, is as ready as it is healthy: the
/// observedGeneration of that condition is the one of the spec that runs.
pub(super) fn report(view: &View<'_>, status: &mut ClusterStatus) {
    let Some(phase) = status.phase else { return };
    let (generation, now) = (view.cluster.metadata.generation, view.now);
    let provisioned = condition::find(&status.conditions, ClusterCondition::ClusterProvisioned.as_str());
    let message = provisioned.map(|said| said.message.clone()).unwrap_or_default();
    let ready = |holds: bool, reason, message: &str| {
        let status = if holds { ConditionStatus::True } else { ConditionStatus::False };
        Verdict { type_: READY, status, reason, message: message.to_owned() }
    };
    let before = condition::find(&status.conditions, READY).cloned();
    match before.filter(|_| is_left_alone(phase, status)) {
        Some(before) => {
            let verdict = match is_running(status, &before) {
                true => ready(true, "Running", "the cluster runs as it was"),
                false => ready(false, "NotHealthy", "what runs is not healthy: see ShootHealthy"),
            };
            condition::set(&mut status.conditions, verdict, before.observed_generation, now);
        }
        None => {
            let verdict = ready(phase == ClusterPhase::Ready, phase.as_str(), &message);
            condition::set(&mut status.conditions, verdict, generation, now);
        }
    }
    let said = (phase.as_str(), message.as_str());
    condition::set_progress(&mut status.conditions, progress(phase), said, generation, now);
}

fn progress(phase: ClusterPhase) -> Progress {
    match phase {
        ClusterPhase::Ready | ClusterPhase::Unhealthy => Progress::Rests,
        ClusterPhase::Pending
        | ClusterPhase::Waiting
        | ClusterPhase::Creating
        | ClusterPhase::Updating
        | ClusterPhase::Deleting => Progress::Reconciling,
        ClusterPhase::Invalid | ClusterPhase::Blocked | ClusterPhase::Failed => Progress::Stalled,
    }
}

/// Whether a cluster that may run is not touched, or goes on running while it is changed.
fn is_left_alone(phase: ClusterPhase, status: &ClusterStatus) -> bool {
    match phase {
        ClusterPhase::Updating | ClusterPhase::Invalid | ClusterPhase::Blocked => true,
        ClusterPhase::Failed => {
            let provisioned =
                condition::find(&status.conditions, ClusterCondition::ClusterProvisioned.as_str());
            provisioned.is_some_and(|said| said.reason == "Refused")
        }
        ClusterPhase::Pending
        | ClusterPhase::Waiting
        | ClusterPhase::Creating
        | ClusterPhase::Ready
        | ClusterPhase::Unhealthy
        | ClusterPhase::Deleting => false,
    }
}

/// Whether what is there can be used. A cluster that a tenant brought has no Shoot, and is as it was.
fn is_running(status: &ClusterStatus, ready: &Condition) -> bool {
    match condition::find(&status.conditions, ClusterCondition::ShootHealthy.as_str()) {
        Some(health) => health.status == ConditionStatus::True && status.api_server.is_some(),
        None => ready.status == ConditionStatus::True,
    }
}
