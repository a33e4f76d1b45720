//! A new Cluster for which a cap leaves no room.

use super::{Decision, Step, View, draft::Draft, standing};
use crate::quotas::{Counted, Exceeded, QUOTA_EXCEEDED};
use allotment_api::kyma::{Cluster, ClusterCondition, ClusterPhase};

/// Refuses a Cluster that has nothing yet, whatever was decided about it: also one that is paused or cannot be rendered, for
/// whatever has a status counts as admitted from then on. One that has an account, or was reached, stays as it is.
pub fn refuse(view: &View<'_>, decision: &mut Decision, exceeded: &Exceeded) {
    let status = view.cluster.status.as_ref();
    let has_something = view.request.is_some()
        || status.is_some_and(|status| status.shoot_uid.is_some() || status.api_server.is_some());
    if has_something || view.cluster.metadata.deletion_timestamp.is_some() {
        return;
    }
    let mut draft = Draft::new(view);
    let message = exceeded.denial(Counted::Clusters).message;
    draft.not_yet(ClusterPhase::Invalid, QUOTA_EXCEEDED, message);
    standing::report(view, &mut draft.status);
    *decision = Decision { step: Step::Rest, status: draft.status, again: None, waits_for_turn: false };
}

/// Whether the status says that a cap left no room for a Cluster.
pub fn is_refused(cluster: &Cluster) -> bool {
    let conditions = cluster.status.iter().flat_map(|status| &status.conditions);
    conditions
        .filter(|condition| condition.type_ == ClusterCondition::ClusterProvisioned.as_str())
        .any(|condition| condition.reason == QUOTA_EXCEEDED)
}
