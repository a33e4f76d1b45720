//! A Cluster that the tenant brings along.

use super::{
    Decision, Looked, Step, View,
    draft::Draft,
    is_held,
    living::{administrate, rest},
    tenant,
};
use allotment_api::kyma::{ClusterCondition, ClusterPhase};
use jiff::SignedDuration;
use std::time::Duration;

/// A kubeconfig that is not good is looked at again when its Secret changes; the cluster behind it may come back before.
const AFTER_FAILED_CHECK: Duration = Duration::from_mins(1);

/// How long deletion waits for a cluster that cannot be reached, to take our objects out of it. It is the tenant's own, and
/// may be gone for ever.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);

/// What we are in a cluster that the tenant brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Where its API server is.
    pub server: String,
    /// Its Kubernetes version.
    pub version: String,
    /// Who we are there.
    pub user: String,
    /// Whether we may do everything.
    pub is_admin: bool,
}

pub(super) fn decide(view: &View<'_>) -> Decision {
    let mut draft = Draft::new(view);
    if !is_held(view.cluster) {
        return rest(draft).step(Step::Hold);
    }
    let was_ready = draft.status.phase == Some(ClusterPhase::Ready);
    if let (Err(denial), false) = (tenant::judge(view), was_ready) {
        draft.not_yet(ClusterPhase::Invalid, denial.reason, denial.message);
        return rest(draft);
    }
    let standing = match view.standing {
        Looked::NotYet | Looked::Due => return rest(draft).step(Step::Check),
        Looked::Failed(why) => {
            draft.not_yet(ClusterPhase::Failed, "Unreachable", why);
            return rest(draft).after(AFTER_FAILED_CHECK);
        }
        Looked::Seen(standing) => standing,
    };
    draft.status.api_server = Some(standing.server.clone());
    draft.status.kubernetes_version = Some(standing.version.clone());
    if !standing.is_admin {
        let message = format!(
            "{} is not cluster-admin: bind the ClusterRole cluster-admin to it, or put another kubeconfig into the Secret",
            standing.user
        );
        draft.not_yet(ClusterPhase::Failed, "NotAdmin", message);
        return rest(draft).after(AFTER_FAILED_CHECK);
    }
    draft.status.phase = Some(ClusterPhase::Ready);
    draft.say(ClusterCondition::ClusterProvisioned, true, "Ready", "cluster running");
    administrate(view, draft)
}

/// Our objects go; the cluster stays.
pub(super) fn decide_ending(view: &View<'_>) -> Decision {
    let mut draft = Draft::new(view);
    if !is_held(view.cluster) {
        return rest(draft);
    }
    if draft.status.administrators.is_empty() {
        return rest(draft).step(Step::LetGo);
    }
    match view.administrators {
        Looked::NotYet | Looked::Due => rest(draft).step(Step::Administrate(Vec::new())),
        Looked::Seen(()) => rest(draft).step(Step::LetGo),
        Looked::Failed(why) => {
            let deleted = view.cluster.metadata.deletion_timestamp.as_ref();
            let waited = deleted.map_or(SignedDuration::ZERO, |deleted| view.now.duration_since(deleted.0));
            if waited >= PATIENCE {
                return rest(draft).step(Step::LetGo);
            }
            let message = format!("our objects cannot be taken out of the cluster: {why}");
            draft.not_yet(ClusterPhase::Deleting, "Unreachable", message);
            rest(draft).after(AFTER_FAILED_CHECK)
        }
    }
}
