//! A request that is deleted: what it has in the cluster goes first, and a cluster that is gone is clean.

use super::{
    flow::{Decision, Draft, Fate, Step, Target, View},
    living::LIFE,
};
use allotment_api::openmcp::gardener::names::ProviderCondition;
use jiff::{SignedDuration, Timestamp};
use std::time::Duration;

/// How long a cluster that does not answer is waited for once the last token has run out.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);

pub(super) fn decide(view: &View<'_>, mut draft: Draft) -> Decision {
    let is_gone = view.hitch.is_some_and(|hitch| hitch.fate == Fate::Gone);
    if view.is_withdrawn || is_gone {
        return draft.step(Step::LetGo);
    }
    let (reason, because, is_told) = match (view.target, view.hitch) {
        (Target::NoCluster { .. } | Target::NoShoot, _) => return draft.step(Step::LetGo),
        (Target::Shoot { .. }, None) => return draft.step(Step::Withdraw),
        (Target::NoWay { reason, message }, None) => (*reason, message.clone(), true),
        (_, Some(hitch)) => (hitch.reason, hitch.message.clone(), false),
        (Target::Unknown | Target::NotOurs, None) => return draft.step(Step::Leave),
    };
    let patience_ends = patience_ends(view);
    if patience_ends.is_some_and(|end| end <= view.now) {
        return draft.step(Step::LetGo);
    }
    let message = format!("what it has in the cluster cannot be taken away: {because}");
    draft.fails(ProviderCondition::Cleanup, reason, message);
    if is_told {
        let wait = patience_ends.map(|end| end.duration_since(view.now).unsigned_abs());
        return draft.rest().after(wait.map(|wait| wait + Duration::from_secs(1)));
    }
    draft.rest().failed()
}

/// When nothing of it can be used any more, and the cluster may be gone for ever. Whoever logs in by OpenID Connect can do so
/// for ever.
fn patience_ends(view: &View<'_>) -> Option<Timestamp> {
    if view.request.spec.oidc.is_some() {
        return None;
    }
    let deleted = view.request.metadata.deletion_timestamp.as_ref().map_or(view.now, |deleted| deleted.0);
    let expires = view.secret.and_then(|secret| secret.expires);
    let last = expires.or_else(|| deleted.checked_add(LIFE).ok())?.max(deleted);
    last.checked_add(PATIENCE).ok()
}
