//! A request that is wanted.

use super::{
    Decision, Step, TRY_AGAIN, View,
    draft::{Draft, rest},
    is_held, is_marked, refused,
};
use crate::{
    access::{Asked, Asking, grant::Grant, rules::Mended},
    pool::Denial,
    tenancy::{self, Claim, NamespaceRole},
};
use allotment_api::{
    kyma::{
        BroughtReference, Cluster, ClusterPhase, KubeconfigCondition, KubeconfigPhase, KubeconfigRequest,
        KubeconfigRequestStatus, ShootReference, TokenState, TokenStatus,
    },
    names::{annotation, tenant},
};
use jiff::{SignedDuration, Timestamp};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Tenants are not told by whom, nor why.
const LOCKED: &str = "access is locked by the platform";

pub(super) fn decide(view: &View<'_>) -> Decision {
    let mut draft = Draft::new(view);
    // A Cluster of another tenant, found where nobody named its namespace, is as good as none.
    let is_hidden = view.cluster.is_some_and(|cluster| {
        let is_named = view.request.spec.cluster_namespace.is_some();
        !is_named && !is_own(view, cluster) && judge_tenant(view, cluster).is_err() && !is_there(view, &draft)
    });
    let view = &View { cluster: view.cluster.filter(|_| !is_hidden), ..*view };
    if !is_held(view.request) {
        return rest(draft).step(Step::Hold);
    }
    let (grant, mended) = Grant::of(view.request);
    draft.tell_marks(view.request);
    tell_mended(&mut draft, &mended);
    let refusal = match view.cluster {
        Some(cluster) => refusal(view, cluster, &grant),
        None => unknown(view).filter(|_| !is_there(view, &draft)),
    };
    match &refusal {
        Some(why) => draft.say(KubeconfigCondition::PolicyAllowed, false, "Denied", why),
        None if view.cluster.is_some() => {
            draft.say(KubeconfigCondition::PolicyAllowed, true, "Allowed", "the policies allow every rule");
        }
        None => (),
    }
    // Before the annotation, which is the tenant's to set back.
    if view.is_locked {
        draft.say(KubeconfigCondition::Locked, true, "Locked", LOCKED);
        return revoked(view, draft, grant, "Locked", LOCKED);
    }
    draft.drop_condition(KubeconfigCondition::Locked);
    if is_marked(view.request, annotation::REVOKE) {
        let message = "revoked by the annotation operator.kyma-project.io/revoke";
        return revoked(view, draft, grant, "Revoked", message);
    }
    match (view.cluster, refusal) {
        (None, Some(why)) => refused::decide(view, draft, grant, &why),
        (None, None) => without_cluster(view, draft, grant),
        (Some(cluster), _) if has_moved(&draft, cluster) => moved(view, draft, cluster, grant),
        (Some(_), Some(why)) => refused::decide(view, draft, grant, &why),
        (Some(cluster), None) => {
            draft.drop_condition(KubeconfigCondition::Revoked);
            draft.status.tokens.retain(|token| grant.is_token_secret(&token.secret));
            granted(view, draft, cluster, grant)
        }
    }
}

fn refusal(view: &View<'_>, cluster: &Cluster, grant: &Grant) -> Option<String> {
    let metadata = &cluster.metadata;
    let namespace = view.request.metadata.namespace.as_deref().unwrap_or_default();
    let judged = judge_tenant(view, cluster);
    let judged = judged.and_then(|()| tenancy::judge_remembered(view.role, namespace, view.tenant));
    if let Err(denial) = judged {
        return Some(denial.message);
    }
    let asking = Asking {
        namespace,
        cluster_namespace: metadata.namespace.as_deref().unwrap_or_default(),
        cluster: metadata.name.as_deref().unwrap_or_default(),
    };
    let asked = Asked {
        cluster_role: &grant.cluster_role,
        role: &grant.role,
        role_namespace: grant.namespace.as_deref(),
        expiration: view.request.spec.expiration,
    };
    view.access.refusal(&asking, &asked)
}

/// Whether the namespace of the request has the Cluster's tenant. A Cluster in the same namespace that names no tenant, as one that
/// the tenant brought need not, is that namespace's.
fn judge_tenant(view: &View<'_>, cluster: &Cluster) -> Result<(), Denial> {
    let namespace = view.request.metadata.namespace.as_deref().unwrap_or_default();
    let labels = cluster.metadata.labels.as_ref();
    let label = labels.and_then(|labels| labels.get(tenant::GLOBAL_ACCOUNT_ID)).map(String::as_str);
    let infrastructure = cluster.spec.infrastructure.as_ref();
    let claim = Claim { selector: infrastructure.map(|it| it.subscription_selector.as_str()), label };
    let is_own = is_own(view, cluster);
    match (view.role, tenancy::claimed(&claim)) {
        (NamespaceRole::Tenants(tenants), None) if is_own && !tenants.is_empty() => Ok(()),
        // Somebody else's namespace: that it says nothing of its tenant is no way in.
        (NamespaceRole::Tenants(_), None) if !is_own => {
            Err(Denial { reason: "TenantMissing", message: unknown(view).unwrap_or_default() })
        }
        (role, _) => tenancy::judge(role, namespace, &claim).map(drop).map_err(|denial| match is_own {
            true => denial,
            // Whoever guesses the names of a Cluster does not learn whose it is.
            false => Denial { message: unknown(view).unwrap_or(denial.message), ..denial },
        }),
    }
}

fn is_own(view: &View<'_>, cluster: &Cluster) -> bool {
    cluster.metadata.namespace == view.request.metadata.namespace
}

/// The refusal of a Cluster in a foreign namespace: the same whether there is none, or one that the tenant may not have.
fn unknown(view: &View<'_>) -> Option<String> {
    let own = view.request.metadata.namespace.as_deref().unwrap_or_default();
    let (cluster, NamespaceRole::Tenants(_)) = (&view.request.spec.cluster, view.role) else { return None };
    let named = view.request.spec.cluster_namespace.as_deref();
    let found = view.cluster.and_then(|cluster| cluster.metadata.namespace.as_deref());
    let namespace = named.or(found)?;
    (namespace != own).then(|| {
        format!(
            "namespace {own} may have no Cluster {cluster} of namespace {namespace}: there is none, or it is not its tenant's"
        )
    })
}

fn tell_mended(draft: &mut Draft, mended: &[Mended]) {
    if mended.is_empty() {
        return draft.say(
            KubeconfigCondition::RulesEffective,
            true,
            "AsWritten",
            "every rule is granted as it is written",
        );
    }
    let all: Vec<String> = mended.iter().map(ToString::to_string).collect();
    draft.say(KubeconfigCondition::RulesEffective, false, "Mended", all.join("; "));
}

/// There is no such Cluster, or no longer. What was granted may have outlived it: it can be let go of without its Shoot, and one that the
/// tenant brought stays anyway.
fn without_cluster(view: &View<'_>, mut draft: Draft, grant: Grant) -> Decision {
    draft.observe();
    let (cluster, own) = (&view.request.spec.cluster, view.request.metadata.namespace.as_deref());
    let message = match &view.request.spec.cluster_namespace {
        Some(namespace) => format!("there is no Cluster {cluster} in namespace {namespace}"),
        None => format!(
            "there is no Cluster {cluster} in namespace {}, nor in clusters.namespace of the configuration",
            own.unwrap_or_default()
        ),
    };
    draft.not_yet(KubeconfigPhase::Pending, "NoCluster", message);
    if is_there(view, &draft) {
        return withdraw(view, draft, grant, "its Cluster is gone, and it is being taken back");
    }
    draft.drop_condition(KubeconfigCondition::Revoked);
    cleared(view, draft)
}

/// By the annotation, or by a lock.
fn revoked(
    view: &View<'_>,
    mut draft: Draft,
    grant: Grant,
    reason: &'static str,
    message: &'static str,
) -> Decision {
    draft.observe();
    if is_there(view, &draft) || (view.is_locked && may_hold(view)) {
        draft.say(KubeconfigCondition::Revoked, false, "Revoking", "it is being taken out of the cluster");
        return withdraw(view, draft, grant, "it is being revoked");
    }
    // How it went is seen once, and is told from then on.
    if !draft.holds(KubeconfigCondition::Revoked) {
        let (reason, message) = match view.hitch {
            Some(_) => ("ClusterGone", "the cluster is gone, and the grant with it"),
            None if draft.status.tokens.is_empty() => ("Revoked", "nothing is granted"),
            None => ("Revoked", "the grant is gone, and its tokens are refused"),
        };
        draft.say(KubeconfigCondition::Revoked, true, reason, message);
    }
    draft.not_yet(KubeconfigPhase::Revoked, reason, message);
    cleared(view, draft)
}

/// The Cluster is in another place than what was granted, which is taken back there first.
fn moved(view: &View<'_>, mut draft: Draft, cluster: &Cluster, grant: Grant) -> Decision {
    if view.hitch.is_some_and(|hitch| hitch.is_shut) {
        // Most likely it is the same cluster by another Secret. If it is not, nobody can get in there any more.
        draft.status.brought = brought(cluster);
        return rest(draft).step(Step::Record);
    }
    let message = "the Cluster is another one now, and what was granted is taken back first";
    draft.not_yet(KubeconfigPhase::Pending, "Issuing", message);
    if is_there(view, &draft) {
        return withdraw(view, draft, grant, "its cluster is another one now, and it is being taken back");
    }
    draft.drop_condition(KubeconfigCondition::Revoked);
    draft.forget_tokens();
    let step = if view.is_published { Step::Clear } else { Step::Record };
    rest(draft).step(step)
}

/// Whether something of it may be in the cluster, and has to go.
pub(super) fn is_there(view: &View<'_>, draft: &Draft) -> bool {
    let status = &draft.status;
    let can_be_used =
        |token: &TokenStatus| token.expiration_timestamp.as_ref().is_none_or(|end| end.0 > view.now);
    let is_gone = view.is_withdrawn || view.hitch.is_some_and(|hitch| hitch.is_gone);
    // A garden says when a Shoot is gone. Of a cluster that its tenant brought, and no longer has here, nobody ever will.
    let is_lost = view.cluster.is_none()
        && status.shoot.is_none()
        && view.hitch.is_some()
        && !status.tokens.iter().any(can_be_used);
    !status.tokens.is_empty() && !is_gone && !is_lost
}

/// Whether a cluster of the request may hold something of it although the status names no tokens: no sweep has found it empty.
pub(super) fn may_hold(view: &View<'_>) -> bool {
    let is_gone = view.is_withdrawn || view.hitch.is_some_and(|hitch| hitch.is_gone);
    !view.is_swept && !is_gone
}

/// Its tokens are gone, and servers may still believe them. When they went is written down, so that a restart does not begin to wait anew.
pub(super) fn wait_for_servers(mut draft: Draft) -> Decision {
    draft.note_end(|token| token.state == TokenState::Ending);
    rest(draft).after(TRY_AGAIN)
}

/// Nothing of it is in the cluster, and so nothing is published.
pub(super) fn cleared(view: &View<'_>, mut draft: Draft) -> Decision {
    draft.forget_tokens();
    let step = if view.is_published { Step::Clear } else { Step::Rest };
    rest(draft).step(step)
}

/// Takes everything out of the cluster. Until that is done nothing is said to be gone.
pub(super) fn withdraw(view: &View<'_>, mut draft: Draft, grant: Grant, doing: &str) -> Decision {
    match view.hitch {
        Some(hitch) => {
            let message = format!("{doing}, but {}", hitch.message);
            draft.say(KubeconfigCondition::Revoked, false, hitch.reason, message);
            rest(draft).failed()
        }
        None if view.is_waiting => wait_for_servers(draft),
        // Whoever changes their mind meanwhile gets a new token, and not one that is being ended.
        None if draft.status.tokens.iter().any(|token| token.state != TokenState::Ending) => {
            draft.status.tokens.iter_mut().for_each(|token| token.state = TokenState::Ending);
            rest(draft).step(Step::Record)
        }
        None => rest(draft).step(Step::Withdraw(Box::new(grant))),
    }
}

fn granted(view: &View<'_>, mut draft: Draft, cluster: &Cluster, grant: Grant) -> Decision {
    let why = why_new(view, &draft);
    let published = draft.tokens_in(TokenState::Published).next().cloned();
    if let Some(hitch) = view.hitch {
        return hindered(view, draft, published.as_ref(), hitch);
    }
    if let Some(why) = why {
        if !can_be_reached(cluster) {
            let message = format!("Cluster {} is not ready yet", view.request.spec.cluster);
            if published.is_none() {
                draft.observe();
                draft.not_yet(KubeconfigPhase::Pending, "ClusterNotReady", message);
            }
            return rest(draft);
        }
        if let Some(until) = view.no_token_before.filter(|until| *until > view.now) {
            return limited(view, draft, published.as_ref(), until);
        }
        let Some(asked) = draft.tokens_in(TokenState::Asked).next().cloned() else {
            let number =
                draft.status.tokens.iter().filter_map(|token| number_of(&token.secret)).max().unwrap_or(0)
                    + 1;
            let token = TokenStatus {
                secret: grant.token_secret(number),
                state: TokenState::Asked,
                expiration_timestamp: None,
                ended_at: None,
            };
            draft.status.tokens.push(token);
            draft.status.shoot = shoot(cluster);
            draft.status.brought = brought(cluster);
            if published.is_none() {
                draft.not_yet(KubeconfigPhase::Pending, "Issuing", why);
            }
            return rest(draft).step(Step::Record);
        };
        let grant = Box::new(grant);
        if !view.is_granted {
            return rest(draft).step(Step::Grant(grant));
        }
        let seconds = view.request.spec.expiration;
        return rest(draft).step(Step::Issue { grant, secret: asked.secret, seconds });
    }
    let published = published.as_ref();
    if view.is_look_due && !view.is_granted && can_be_reached(cluster) {
        return rest(draft).step(Step::Grant(Box::new(grant)));
    }
    let secrets =
        |draft: &Draft, state| draft.tokens_in(state).map(|token| token.secret.clone()).collect::<Vec<_>>();
    let ending = secrets(&draft, TokenState::Ending);
    if !ending.is_empty() && view.is_waiting {
        return wait_for_servers(draft);
    }
    if !ending.is_empty() && !view.is_ended {
        return rest(draft).step(Step::End { secrets: ending, is_urgent: true });
    }
    // Before the tokens are forgotten: they say that the rotation that was asked for is done.
    if is_marked(view.request, annotation::ROTATE) {
        return rest(draft).step(Step::Unmark);
    }
    draft.status.tokens.retain(|token| token.state != TokenState::Ending);
    let is_over = |token: &&TokenStatus| {
        token.state == TokenState::Replaced
            && token.expiration_timestamp.as_ref().is_none_or(|end| end.0 <= view.now)
    };
    let over: Vec<String> =
        draft.status.tokens.iter().filter(is_over).map(|token| token.secret.clone()).collect();
    // What has run out is only tidied up, and not worth a look into the cluster of its own.
    if !over.is_empty() && view.is_granted {
        if !view.is_ended {
            return rest(draft).step(Step::End { secrets: over, is_urgent: false });
        }
        draft.status.tokens.retain(|token| !over.contains(&token.secret));
    }
    draft.observe();
    tell_published(&mut draft, published);
    let due = due(view.request).map(|due| due.duration_since(view.now).unsigned_abs());
    let decision = rest(draft);
    match due {
        Some(due) => decision.after(due),
        None => decision,
    }
}

fn tell_published(draft: &mut Draft, published: Option<&TokenStatus>) {
    draft.status.phase = Some(KubeconfigPhase::Issued);
    let until = published.and_then(|token| token.expiration_timestamp.as_ref());
    let message = until.map_or_else(|| "valid".to_owned(), |until| format!("valid until {}", until.0));
    draft.say(KubeconfigCondition::Ready, true, "Issued", message);
}

/// What is published stays valid until it runs out.
fn hindered(
    view: &View<'_>,
    mut draft: Draft,
    published: Option<&TokenStatus>,
    hitch: &super::Hitch,
) -> Decision {
    let end = published.and_then(|token| token.expiration_timestamp.as_ref());
    let is_valid = view.is_published && end.is_some_and(|end| end.0 > view.now);
    if is_valid {
        draft.say(
            KubeconfigCondition::Ready,
            true,
            "RotationDelayed",
            format!("still valid, but {}", hitch.message),
        );
    } else {
        draft.not_yet(KubeconfigPhase::Pending, hitch.reason, &hitch.message);
    }
    rest(draft).failed()
}

/// Too many tokens were given for one cause, so that something must be wrong: nobody would notice if it went on.
fn limited(view: &View<'_>, draft: Draft, published: Option<&TokenStatus>, until: Timestamp) -> Decision {
    let message = format!(
        "tokens were issued again and again for the same reason, and the next one waits until {until}; \
         a change of the request or the annotation {} gets one at once",
        annotation::ROTATE
    );
    let hitch = super::Hitch { reason: "TooManyTokens", message, is_gone: false, is_shut: false };
    let mut decision = hindered(view, draft, published, &hitch);
    decision.is_failed = false;
    decision.after(until.duration_since(view.now).unsigned_abs())
}

/// Why a new token is needed, if one is.
fn why_new(view: &View<'_>, draft: &Draft) -> Option<String> {
    let status = &draft.status;
    let made_for = status.made_for.as_deref().unwrap_or_default();
    let (rotation, place) = made_for.rsplit_once('/').unwrap_or_default();
    let is_under_way = status.tokens.iter().any(|token| token.state == TokenState::Asked);
    let is_being_ended = status.tokens.iter().any(|token| token.state == TokenState::Ending);
    let has_published = status.tokens.iter().any(|token| token.state == TokenState::Published);
    let why = if !has_published || !view.is_published {
        "there is none yet"
    } else if status.observed_generation != view.request.metadata.generation {
        "the request has changed"
    } else if rotation != view.rotation || view.place.is_some_and(|now| now != place) {
        "the cluster's own credentials are rotated"
    } else if is_marked(view.request, annotation::ROTATE) && !is_being_ended {
        "the annotation asks for it"
    } else if due(view.request).is_some_and(|due| due <= view.now) {
        "it is time"
    } else if is_under_way {
        "one was begun"
    } else {
        return None;
    };
    Some(format!("a kubeconfig is being issued: {why}"))
}

/// When the next kubeconfig of a request is due: at 70 to 80 per cent of the life, another part for every request, so that they do not come all at once.
pub fn due(request: &KubeconfigRequest) -> Option<Timestamp> {
    let status = request.status.as_ref()?;
    let issued = status.issued_at.as_ref()?.0;
    let end = status.expiration_timestamp.as_ref()?.0;
    let mut hasher = DefaultHasher::new();
    (&request.metadata.uid, issued).hash(&mut hasher);
    let part = 700 + i64::try_from(hasher.finish() % 100).unwrap_or(0);
    // The cluster may give it a shorter life than was asked for, and its clock may be ahead of ours.
    let life = end.duration_since(issued).min(SignedDuration::from_secs(request.spec.expiration)).as_millis();
    let wait = i64::try_from(life).ok()?.checked_mul(part)? / 1000;
    issued.checked_add(SignedDuration::from_millis(wait)).ok()
}

/// Whether a cluster has been made, and can be expected to answer.
fn can_be_reached(cluster: &Cluster) -> bool {
    let status = cluster.status.as_ref();
    let phase = status.and_then(|status| status.phase);
    let has_been_made = status.is_some_and(|status| status.api_server.is_some());
    has_been_made
        && (shoot(cluster).is_some() || brought(cluster).is_some())
        && !matches!(
            phase,
            None | Some(ClusterPhase::Pending | ClusterPhase::Waiting | ClusterPhase::Creating)
        )
}

/// Whether what was granted is in another place than the Cluster is now.
fn has_moved(draft: &Draft, cluster: &Cluster) -> bool {
    let status = &draft.status;
    let is_written = status.shoot.is_some() || status.brought.is_some();
    is_written && (status.shoot != shoot(cluster) || status.brought != brought(cluster))
}

/// Which Shoot a Cluster is, once it is known.
fn shoot(cluster: &Cluster) -> Option<ShootReference> {
    let status = cluster.status.as_ref().filter(|_| cluster.spec.byoc.is_none())?;
    Some(ShootReference { name: status.shoot_name.clone()?, uid: status.shoot_uid.clone()? })
}

/// Where the way into a cluster is that the tenant brought.
fn brought(cluster: &Cluster) -> Option<BroughtReference> {
    let reference = &cluster.spec.byoc.as_ref()?.kubeconfig_secret_ref;
    let namespace = cluster.metadata.namespace.clone().unwrap_or_default();
    Some(BroughtReference { namespace, name: reference.name.clone(), key: reference.key.clone() })
}

fn number_of(secret: &str) -> Option<u32> {
    secret.rsplit_once('-')?.1.parse().ok()
}

/// A token as the cluster gave it.
#[derive(Clone, Debug)]
pub struct Token<'a> {
    /// The Secret that it is bound to.
    pub secret: &'a str,
    /// When it was asked for.
    pub issued: Timestamp,
    /// When it runs out: what the cluster said, not what was asked for.
    pub end: Timestamp,
    /// The cluster's address and CA.
    pub place: &'a str,
}

/// The status that goes with a kubeconfig with this token. What was published before is replaced and runs out by itself, or is
/// ended if it has leaked.
pub fn issued(view: &View<'_>, token: &Token<'_>) -> KubeconfigRequestStatus {
    let mut draft = Draft::new(view);
    let is_leaked = is_marked(view.request, annotation::ROTATE);
    for known in &mut draft.status.tokens {
        known.state = match known.state {
            _ if known.secret == token.secret => TokenState::Published,
            TokenState::Ending => TokenState::Ending,
            _ if is_leaked => TokenState::Ending,
            _ => TokenState::Replaced,
        };
        if known.state == TokenState::Published {
            known.expiration_timestamp = Some(token.end.into());
        }
    }
    let published = draft.tokens_in(TokenState::Published).next().cloned();
    draft.status.expiration_timestamp = Some(token.end.into());
    draft.status.issued_at = Some(token.issued.into());
    draft.status.made_for = Some(format!("{}/{}", view.rotation, token.place));
    draft.status.secret_ref.clone_from(&view.request.spec.secret_ref);
    draft.observe();
    tell_published(&mut draft, published.as_ref());
    draft.status
}
