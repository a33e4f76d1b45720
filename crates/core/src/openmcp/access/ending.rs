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

/// A request whose Cluster of that name is not this provider's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stranded {
    /// Whether the request is deleted.
    pub is_deleted: bool,
    /// Whether the Cluster's status says where its Shoot is.
    pub has_record: bool,
    /// Whether the name of the Cluster's profile is one that this provider would give.
    pub would_own: bool,
    /// Whether the label of the request names a profile of this provider; none without the label.
    pub labelled: Option<bool>,
    /// Whether this provider has issued the Secret.
    pub has_secret: bool,
}

impl Stranded {
    /// Whether the Cluster that access was granted to is gone, so that whoever holds the request lets it go. A Cluster without a
    /// record has no Shoot, whoever's it is: nothing can be granted in it, and its provider may be nobody, who lets nothing go.
    pub fn is_left(self) -> bool {
        let Self { is_deleted, has_record, would_own, labelled, has_secret } = self;
        is_deleted && (!has_record || !would_own && labelled.unwrap_or(has_secret))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deleted_request_is_let_go_beside_a_cluster_that_is_nobodys() {
        let nobodys = Stranded {
            is_deleted: true,
            has_record: false,
            would_own: false,
            labelled: None,
            has_secret: false,
        };
        assert!(nobodys.is_left(), "its labels and its Secret are gone, and nobody else acts");
        assert!(!Stranded { is_deleted: false, ..nobodys }.is_left());
        let anothers = Stranded { has_record: true, ..nobodys };
        assert!(!anothers.is_left(), "another provider has granted it, and takes it back");
        assert!(Stranded { has_secret: true, ..anothers }.is_left());
        assert!(Stranded { labelled: Some(true), ..anothers }.is_left());
        assert!(!Stranded { labelled: Some(false), has_secret: true, ..anothers }.is_left());
        assert!(!Stranded { labelled: Some(true), would_own: true, ..anothers }.is_left());
    }
}
