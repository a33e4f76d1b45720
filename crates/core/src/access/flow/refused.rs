//! A request that the policies do not allow, or no longer.
//!
//! Policies are judged when access is granted or renewed. Access that was granted before is not renewed, and not put back where somebody
//! changes it in the cluster; it ends with its tokens.

use super::{
    Decision, Step, View,
    draft::{Draft, rest},
    living::{cleared, is_there, wait_for_servers, withdraw},
};
use crate::access::grant::Grant;
use allotment_api::kyma::{KubeconfigCondition, KubeconfigPhase, TokenState, TokenStatus};
use jiff::Timestamp;

pub(super) fn decide(view: &View<'_>, mut draft: Draft, grant: Grant, why: &str) -> Decision {
    // Tokens that are not this grant's are in a status that somebody else wrote: nothing was granted with them, and a cluster that
    // cannot be reached is not waited for because of them.
    let has_own = draft.status.tokens.iter().any(|token| grant.is_token_secret(&token.secret));
    let is_there = has_own && is_there(view, &draft);
    match last_end(view, &draft, &grant).filter(|_| is_there) {
        Some(end) => expiring(view, draft, why, end),
        None => {
            draft.observe();
            if is_there {
                return withdraw(
                    view,
                    draft,
                    grant,
                    "it is no longer allowed, has expired, and is being taken back",
                );
            }
            draft.drop_condition(KubeconfigCondition::Revoked);
            draft.not_yet(KubeconfigPhase::Denied, "Denied", why);
            cleared(view, draft)
        }
    }
}

/// When the last token of the grant ends that was handed out and is not being ended, if there is one.
fn last_end(view: &View<'_>, draft: &Draft, grant: &Grant) -> Option<Timestamp> {
    let own = draft.status.tokens.iter().filter(|token| grant.is_token_secret(&token.secret));
    let handed_out = own.filter(|token| is_handed_out(token));
    let ends = handed_out.filter_map(|token| token.expiration_timestamp.as_ref().map(|end| end.0));
    ends.max().filter(|end| *end > view.now)
}

fn is_handed_out(token: &TokenStatus) -> bool {
    matches!(token.state, TokenState::Published | TokenState::Replaced)
}

/// The status keeps the generation that was granted: if the policies allow the request again, a changed one has to be granted anew.
fn expiring(view: &View<'_>, mut draft: Draft, why: &str, end: Timestamp) -> Decision {
    // One that was begun may be there already. Nobody has it, and nobody is to get it.
    let asked = |token: &&mut TokenStatus| token.state == TokenState::Asked;
    let mut begun = draft.status.tokens.iter_mut().filter(asked).peekable();
    if begun.peek().is_some() {
        begun.for_each(|token| token.state = TokenState::Ending);
        return rest(draft).step(Step::Record);
    }
    let message =
        format!("it was allowed when it was granted, and stays valid until {end}; it is not renewed: {why}");
    draft.say(KubeconfigCondition::PolicyAllowed, false, "NoLongerAllowed", message);
    draft.status.phase = Some(KubeconfigPhase::Issued);
    let message = format!("valid until {end}, and not renewed: the policies no longer allow it");
    draft.say(KubeconfigCondition::Ready, true, "NotRenewed", message);
    let ending: Vec<String> = draft.tokens_in(TokenState::Ending).map(|token| token.secret.clone()).collect();
    if !ending.is_empty() && !view.is_ended {
        return match view.hitch {
            Some(_) => rest(draft).failed(),
            None if view.is_waiting => wait_for_servers(draft),
            None => rest(draft).step(Step::End { secrets: ending, is_urgent: true }),
        };
    }
    draft.status.tokens.retain(is_handed_out);
    let wait = end.duration_since(view.now).unsigned_abs();
    rest(draft).after(wait).not_maintained()
}
