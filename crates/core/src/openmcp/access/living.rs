//! A request that is to be granted, or stays granted.

use super::{
    fault::fault,
    flow::{Decision, Draft, Fate, Hitch, Issued, Step, Target, View, grant_of, is_held, is_marked},
};
use crate::openmcp::resolve;
use allotment_api::openmcp::{
    AccessRequest, LocalObjectReference,
    gardener::names::{AccessReason, ProviderCondition, Reason},
    names::{Operation, Reason as CommonReason, RequestPhase},
};
use jiff::{SignedDuration, Timestamp};
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

/// The longest life of a token.
pub(super) const LIFE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Kubernetes gives no token a shorter life.
const SHORTEST_LIFE: SignedDuration = SignedDuration::from_mins(10);

pub(super) fn decide(view: &View<'_>, mut draft: Draft) -> Decision {
    let Some(reference) = &view.request.spec.cluster_ref else { return draft.step(Step::Leave) };
    if view.is_locked {
        // Not Denied, which is final: it is granted again when the lock is gone.
        let (reason, message) = (AccessReason::Locked.as_str(), "access is locked by the platform");
        return take_back(view, draft, RequestPhase::Pending, reason, message);
    }
    if let Some(message) = fault(view.request) {
        return deny(view, draft, CommonReason::ConfigurationProblem.as_str(), &message);
    }
    if let Some(message) = view.refusal {
        return refused(view, draft, message);
    }
    if let Target::NoCluster { name } = view.target {
        draft.phase(RequestPhase::Pending);
        let (reason, message) = (CommonReason::InvalidReference.as_str(), format!("{name} is not there"));
        draft.fails(ProviderCondition::FoundClusterAndProfile, reason, &message);
        draft.fails(ProviderCondition::SecretExistsAndIsValid, reason, message);
        return draft.rest();
    }
    let found = format!("Cluster {}/{}", reference.namespace, reference.name);
    draft.holds(ProviderCondition::FoundClusterAndProfile, "", found);
    match view.hitch {
        Some(Hitch { reason, message, fate: Fate::Lasts }) => return deny(view, draft, reason, message),
        Some(hitch) => return hindered(view, draft, hitch.reason, &hitch.message).failed(),
        None => (),
    }
    let is_granted = draft.is(RequestPhase::Granted);
    let why_new = why_new(view);
    let is_asked = is_marked(view.request, Operation::Reconcile);
    let is_needed = !is_granted || why_new.is_some() || is_asked;
    let can_be_reached = matches!(view.target, Target::Shoot { is_made: true, .. });
    // A look that succeeded is only worth something once the status says so.
    let is_look_due = view.is_look_due || draft.fails_at(ProviderCondition::ShootAccess);
    if view.inside.is_none() && (is_needed || is_look_due && can_be_reached) {
        return match no_way(view.target) {
            Some((reason, message)) => hindered(view, draft, reason, &message),
            None if !is_held(view.request) => draft.step(Step::Hold),
            None => draft.step(Step::Grant(grant_of(view))),
        };
    }
    if (why_new.is_some() || is_asked) && !view.is_issued {
        let seconds = view.request.spec.oidc.is_none().then(|| life(view).as_secs());
        return draft.step(Step::Issue { grant: grant_of(view), seconds });
    }
    if is_asked {
        return draft.step(Step::Unmark);
    }
    granted(view, draft)
}

fn granted(view: &View<'_>, mut draft: Draft) -> Decision {
    draft.phase(RequestPhase::Granted);
    let name = crate::openmcp::names::secret_name(view.request.metadata.name.as_deref().unwrap_or_default());
    draft.status.secret_ref = Some(LocalObjectReference { name });
    if view.inside.is_some() {
        draft.holds(ProviderCondition::ShootAccess, "", "");
    }
    let until = view.secret.and_then(|secret| secret.expires);
    let message =
        until.map_or_else(|| "it does not run out".to_owned(), |until| format!("valid until {until}"));
    draft.holds(ProviderCondition::SecretExistsAndIsValid, AccessReason::Issued.as_str(), message);
    let renewal = view.secret.and_then(|secret| renewal(view.request, secret));
    let wait = renewal.map(|renewal| renewal.duration_since(view.now).unsigned_abs());
    draft.rest().after(wait)
}

/// It gets nothing new. Judged when access is granted, never on what was handed out: that ends by itself.
fn refused(view: &View<'_>, mut draft: Draft, message: &str) -> Decision {
    let reason = CommonReason::InvalidReference.as_str();
    draft.fails(ProviderCondition::FoundClusterAndProfile, reason, message);
    let is_granted = draft.is(RequestPhase::Granted) && view.secret.is_some();
    if is_granted { hindered(view, draft, reason, message) } else { deny(view, draft, reason, message) }
}

/// What was handed out stays granted while it works: its readers have done nothing wrong.
fn hindered(view: &View<'_>, mut draft: Draft, reason: &str, message: &str) -> Decision {
    let works = |secret: &Issued| {
        let is_gone = view.hitch.is_some_and(|hitch| hitch.fate == Fate::Gone);
        let is_anothers = matches!(view.target, Target::Shoot { uid, .. } if *uid != secret.shoot);
        !is_gone && !is_anothers && secret.expires.is_none_or(|expires| expires > view.now)
    };
    draft.fails(ProviderCondition::ShootAccess, reason, message);
    let mut again = None;
    match view.secret.filter(|secret| works(secret)) {
        Some(secret) if draft.is(RequestPhase::Granted) => {
            let until = secret.expires.map(|until| format!(" until {until}")).unwrap_or_default();
            let message = format!("still valid{until}, but {message}");
            let reason = AccessReason::RenewalDelayed.as_str();
            draft.holds(ProviderCondition::SecretExistsAndIsValid, reason, message);
            again = secret.expires.map(|until| until.duration_since(view.now).unsigned_abs());
        }
        _ => {
            draft.phase(RequestPhase::Pending);
            draft.fails(ProviderCondition::SecretExistsAndIsValid, reason, message);
        }
    }
    draft.rest().after(again.map(|wait| wait + Duration::from_secs(1)))
}

/// It is denied once nothing of it is left.
fn deny(view: &View<'_>, draft: Draft, reason: &str, message: &str) -> Decision {
    take_back(view, draft, RequestPhase::Denied, reason, message)
}

/// It is in this phase once nothing of it is left.
fn take_back(
    view: &View<'_>,
    mut draft: Draft,
    phase: RequestPhase,
    reason: &str,
    message: &str,
) -> Decision {
    let has_shoot = matches!(view.target, Target::Shoot { .. } | Target::NoWay { .. });
    if is_held(view.request) && has_shoot && !view.is_withdrawn {
        return match (view.hitch, view.target) {
            (Some(hitch), _) if hitch.fate == Fate::Passes => {
                let message = format!("{message}; what it had cannot be taken back: {}", hitch.message);
                hindered(view, draft, hitch.reason, &message).failed()
            }
            (_, Target::NoWay { reason: way, message: because }) => {
                let message = format!("{message}; what it had cannot be taken back: {because}");
                hindered(view, draft, way, &message)
            }
            _ => draft.step(Step::Withdraw),
        };
    }
    if view.secret.is_some() {
        return draft.step(Step::Clear);
    }
    draft.phase(phase);
    draft.status.secret_ref = None;
    draft.fails(ProviderCondition::SecretExistsAndIsValid, reason, message);
    draft.rest()
}

/// Why the cluster cannot be reached now.
fn no_way(target: &Target) -> Option<(&'static str, String)> {
    match target {
        Target::Shoot { is_made: true, .. } => None,
        Target::NoWay { reason, message } => Some((reason, message.clone())),
        Target::Shoot { .. } => {
            Some((AccessReason::ClusterNotReady.as_str(), "the Cluster has no API server yet".to_owned()))
        }
        _ => Some((Reason::ShootNotFound.as_str(), "the Cluster has no Shoot yet".to_owned())),
    }
}

/// Why a new kubeconfig is needed, if one is.
fn why_new(view: &View<'_>) -> Option<&'static str> {
    let Some(secret) = view.secret else { return Some("there is none") };
    let is_login = view.request.spec.oidc.is_some();
    if matches!(view.target, Target::Shoot { uid, .. } if *uid != secret.shoot) {
        Some("it is for another Shoot")
    } else if is_login != secret.expires.is_none() {
        Some("it is of another kind")
    } else if view.inside.is_some_and(|inside| inside.made_for != secret.made_for) {
        Some("what it was made for has changed")
    } else if renewal(view.request, secret).is_some_and(|renewal| renewal <= view.now) {
        Some("it is time")
    } else {
        None
    }
}

/// When the next token is due: at 75 to 80 per cent of its life, another part for every request, so that they do not come all at
/// once. One that lasts as long as the request is the last one.
pub fn renewal(request: &AccessRequest, secret: &Issued) -> Option<Timestamp> {
    let expires = secret.expires?;
    if end(request).is_some_and(|end| expires >= end) {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    (&request.metadata.uid, secret.created).hash(&mut hasher);
    let part = 750 + i64::try_from(hasher.finish() % 50).unwrap_or(0);
    // The cluster's clock may be ahead of ours.
    let life = expires.duration_since(secret.created).min(LIFE).as_millis();
    let wait = i64::try_from(life).ok()?.checked_mul(part)? / 1000;
    secret.created.checked_add(SignedDuration::from_millis(wait)).ok()
}

fn end(request: &AccessRequest) -> Option<Timestamp> {
    // One that cannot be read was denied by the generic controller.
    resolve::end(request).ok().flatten()
}

fn life(view: &View<'_>) -> SignedDuration {
    let left = end(view.request).map(|end| end.duration_since(view.now));
    left.unwrap_or(LIFE).clamp(SHORTEST_LIFE, LIFE)
}
