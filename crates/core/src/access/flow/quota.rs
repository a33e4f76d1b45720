//! A new request for which a cap leaves no room.

use super::{
    Decision, View,
    draft::{Draft, rest},
};
use crate::quotas::{Counted, Exceeded, QUOTA_EXCEEDED};
use allotment_api::kyma::{KubeconfigCondition, KubeconfigPhase, KubeconfigRequest};

/// Refuses a request for which nothing was granted yet, whatever was decided about it: whatever has a status counts as admitted
/// from then on. One that has a token keeps it, and gets the next one.
pub fn refuse(view: &View<'_>, decision: &mut Decision, exceeded: &Exceeded) {
    let has_token = view.request.status.as_ref().is_some_and(|status| !status.tokens.is_empty());
    let is_ending = view.request.metadata.deletion_timestamp.is_some();
    if has_token || is_ending {
        return;
    }
    let mut draft = Draft::new(view);
    draft.observe();
    let message = exceeded.denial(Counted::KubeconfigRequests).message;
    draft.not_yet(KubeconfigPhase::Denied, QUOTA_EXCEEDED, message);
    super::report_progress(view, &mut draft.status);
    *decision = rest(draft);
}

/// Whether the status says that a cap left no room for a request.
pub fn is_refused(request: &KubeconfigRequest) -> bool {
    let conditions = request.status.iter().flat_map(|status| &status.conditions);
    conditions
        .filter(|condition| condition.type_ == KubeconfigCondition::Ready.as_str())
        .any(|condition| condition.reason == QUOTA_EXCEEDED)
}
