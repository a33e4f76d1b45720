//! The conditions that every tool knows: `Ready`, `Reconciling`, `Stalled`.

use super::View;
use crate::condition::{self, Progress, READY, Verdict};
use allotment_api::{
    condition::ConditionStatus,
    kyma::{ClusterCondition, ClusterPhase, ClusterStatus},
};

/// Says how a Cluster stands. A cluster that runs while a change is on its way, or cannot be made, is ready as it is: the observedGeneration of
/// that condition is the one of the spec that runs.
pub(super) fn report(view: &View<'_>, status: &mut ClusterStatus) {
    let Some(phase) = status.phase else { return };
    let (generation, now) = (view.cluster.metadata.generation, view.now);
    let provisioned = condition::find(&status.conditions, ClusterCondition::ClusterProvisioned.as_str());
    let message = provisioned.map(|said| said.message.clone()).unwrap_or_default();
    if phase == ClusterPhase::Ready || !runs_on(phase, status) {
        let holds = if phase == ClusterPhase::Ready { ConditionStatus::True } else { ConditionStatus::False };
        let (type_, reason) = (READY, phase.as_str());
        let verdict = Verdict { type_, status: holds, reason, message: message.clone() };
        condition::set(&mut status.conditions, verdict, generation, now);
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

/// Whether a cluster was ready, and goes on as it was.
fn runs_on(phase: ClusterPhase, status: &ClusterStatus) -> bool {
    let find = |type_: &str| condition::find(&status.conditions, type_);
    let holds = |type_: &str| find(type_).is_some_and(|said| said.status == ConditionStatus::True);
    let is_refused = || {
        let said = find(ClusterCondition::ClusterProvisioned.as_str());
        said.is_some_and(|said| said.reason == "Refused")
    };
    let is_untouched = match phase {
        ClusterPhase::Updating | ClusterPhase::Invalid | ClusterPhase::Blocked => true,
        ClusterPhase::Failed => is_refused(),
        ClusterPhase::Pending
        | ClusterPhase::Waiting
        | ClusterPhase::Creating
        | ClusterPhase::Ready
        | ClusterPhase::Unhealthy
        | ClusterPhase::Deleting => false,
    };
    let health = ClusterCondition::ShootHealthy.as_str();
    // A cluster that a tenant brought has no Shoot.
    is_untouched && holds(READY) && (find(health).is_none() || holds(health))
}
