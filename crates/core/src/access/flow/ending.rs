//! A request that is deleted: what it has in the cluster goes first.

use super::{
    Decision, Step, TRY_AGAIN, View,
    draft::{Draft, rest},
    is_held,
    living::may_hold,
};
use crate::access::grant::Grant;
use allotment_api::kyma::{KubeconfigCondition, KubeconfigPhase};
use jiff::SignedDuration;

/// How long a cluster that does not answer is waited for once every token has run out.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);

pub(super) fn decide(view: &View<'_>) -> Decision {
    let mut draft = Draft::new(view);
    if !is_held(view.request) {
        return rest(draft);
    }
    let is_gone = view.hitch.is_some_and(|hitch| hitch.is_gone);
    // A status that names no tokens may be forged. A cluster that does not answer is not waited for because of that.
    let has_none = draft.status.tokens.is_empty() && (view.hitch.is_some() || !may_hold(view));
    if has_none || view.is_withdrawn || is_gone {
        return rest(draft).step(Step::LetGo);
    }
    if view.is_waiting {
        draft.note_end(|_| true);
        return rest(draft).after(TRY_AGAIN);
    }
    let Some(hitch) = view.hitch else {
        let (grant, _) = Grant::of(view.request);
        return rest(draft).step(Step::Withdraw(Box::new(grant)));
    };
    let deleted = view.request.metadata.deletion_timestamp.as_ref().map_or(view.now, |deleted| deleted.0);
    let ends =
        draft.status.tokens.iter().filter_map(|token| token.expiration_timestamp.as_ref().map(|end| end.0));
    let last = ends.max().map_or(deleted, |end| end.max(deleted));
    // Nothing of it can be used any more, and the cluster may be gone for ever.
    if view.now.duration_since(last) >= PATIENCE {
        return rest(draft).step(Step::LetGo);
    }
    let message = format!("the grant cannot be taken out of the cluster: {}", hitch.message);
    draft.status.phase = Some(KubeconfigPhase::Pending);
    draft.say(KubeconfigCondition::Ready, false, hitch.reason, message);
    rest(draft).failed()
}
