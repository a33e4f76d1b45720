//! What is done next about a KubeconfigRequest, and what its status says: pure.
//!
//! As with Clusters, a look is a loop of [`decide`] and the [`Step`] it says. What is about to be made in a cluster is written
//! into the status first; what is written there is all that there may be.

mod draft;
mod ending;
mod living;
mod quota;
mod refused;
#[cfg(test)]
mod tests;

pub use living::{Token, due, issued};
pub use quota::{is_refused, refuse};

use super::{Access, grant::Grant};
use crate::{
    condition::{self, Progress},
    tenancy::NamespaceRole,
};
use allotment_api::{
    kyma::{Cluster, KubeconfigPhase, KubeconfigRequest, KubeconfigRequestStatus},
    names::finalizer,
};
use jiff::Timestamp;
use std::time::Duration;

/// How long until a token that is gone is tried again. A server believes it for 10 s at most.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// What is known of a request and its cluster.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The request, without its kubeconfig.
    pub request: &'a KubeconfigRequest,
    /// Whether a kubeconfig is where it belongs.
    pub is_published: bool,
    /// The `access` section of the configuration.
    pub access: &'a Access,
    /// Whether an AccessLock names it.
    pub is_locked: bool,
    /// The Cluster that it names.
    pub cluster: Option<&'a Cluster>,
    /// What the namespace of the request may ask for.
    pub role: &'a NamespaceRole,
    /// The tenant that the Cluster's Shoot was made for, as the garden tells it.
    pub tenant: Option<&'a str>,
    /// How the rotation of the cluster's own credentials stands.
    pub rotation: &'a str,
    /// The cluster's address and CA, if it was reached: see [`super::grant::place`].
    pub place: Option<&'a str>,
    /// Whether what is in the cluster was looked at in this look.
    pub is_granted: bool,
    /// Whether tokens that were to be ended have been seen to be refused in this look.
    pub is_ended: bool,
    /// Whether everything has been seen to be gone in this look.
    pub is_withdrawn: bool,
    /// Whether this process has deleted the request's objects from every Shoot that was made for its Cluster, and granted nothing
    /// since. A forged status may name no tokens, or another place.
    pub is_swept: bool,
    /// Whether tokens are gone from the cluster, which may still believe them for some seconds.
    pub is_waiting: bool,
    /// What stood in the way in this look.
    pub hitch: Option<&'a Hitch>,
    /// The moment before which no other token is asked for: too many were given for the same cause.
    pub no_token_before: Option<Timestamp>,
    /// Whether nobody has looked into the cluster for long.
    pub is_look_due: bool,
    /// Now.
    pub now: Timestamp,
}

/// What stood in the way of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hitch {
    /// One of a few words.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// Whether the cluster is gone for good.
    pub is_gone: bool,
    /// Whether there is no way into it any more: the tenant took away what led there.
    pub is_shut: bool,
}

/// What is done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Put our finalizer on the request.
    Hold,
    /// Write the status, and go on.
    Record,
    /// Make what the grant is made of, put back what was changed, take away what is no longer asked for.
    Grant(Box<Grant>),
    /// Get a token that is bound to this Secret, and publish a kubeconfig with it.
    Issue {
        /// What it is for.
        grant: Box<Grant>,
        /// The Secret.
        secret: String,
        /// For how long, in seconds.
        seconds: i64,
    },
    /// End the tokens of these Secrets; if told so, it is done only when they have been seen to be refused.
    End {
        /// The Secrets.
        secrets: Vec<String>,
        /// Whether somebody waits for it.
        is_urgent: bool,
    },
    /// Set the annotation `rotate` back.
    Unmark,
    /// Take everything out of the cluster, and see that the token is refused.
    Withdraw(Box<Grant>),
    /// Clear what was published.
    Clear,
    /// Take our finalizer off the request.
    LetGo,
    /// Nothing, until something changes.
    Rest,
}

/// What is decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What is done next.
    pub step: Step,
    /// What the status says. Its `kubeconfig` is always empty, and stays as it is.
    pub status: KubeconfigRequestStatus,
    /// When to look again though nothing has changed.
    pub again: Option<Duration>,
    /// Whether to try again, sooner or later.
    pub is_failed: bool,
    /// Whether the grant in the cluster is checked from time to time, and put back where somebody changed it.
    pub is_maintained: bool,
}

/// Decides.
pub fn decide(view: &View<'_>) -> Decision {
    let mut decision = match view.request.metadata.deletion_timestamp {
        None => living::decide(view),
        Some(_) => ending::decide(view),
    };
    report_progress(view, &mut decision.status);
    decision
}

/// Says how a request stands, for tools that know nothing of requests.
fn report_progress(view: &View<'_>, status: &mut KubeconfigRequestStatus) {
    let Some(phase) = status.phase else { return };
    let progress = match phase {
        KubeconfigPhase::Pending => Progress::Reconciling,
        KubeconfigPhase::Issued => Progress::Rests,
        KubeconfigPhase::Revoked | KubeconfigPhase::Denied => Progress::Stalled,
    };
    let ready = condition::find(&status.conditions, condition::READY);
    let message = ready.map(|ready| ready.message.clone()).unwrap_or_default();
    let (said, generation) = ((phase.as_str(), message.as_str()), view.request.metadata.generation);
    condition::set_progress(&mut status.conditions, progress, said, generation, view.now);
}

/// Where the Cluster of a request may be, in this order.
pub fn cluster_namespaces(request: &KubeconfigRequest, default: &str) -> Vec<String> {
    if let Some(namespace) = &request.spec.cluster_namespace {
        return vec![namespace.clone()];
    }
    let own = request.metadata.namespace.clone().unwrap_or_default();
    let mut all = vec![own];
    if !default.is_empty() && all[0] != default {
        all.push(default.to_owned());
    }
    all
}

/// Whether a status names tokens that are not this request's: somebody else wrote it.
pub fn has_foreign_tokens(request: &KubeconfigRequest) -> bool {
    let tokens = request.status.as_ref().map(|status| status.tokens.as_slice()).unwrap_or_default();
    !tokens.is_empty() && {
        let (grant, _) = Grant::of(request);
        tokens.iter().any(|token| !grant.is_token_secret(&token.secret))
    }
}

fn is_held(request: &KubeconfigRequest) -> bool {
    let finalizers = request.metadata.finalizers.as_deref().unwrap_or_default();
    finalizers.iter().any(|name| name == finalizer::KUBECONFIG)
}

fn is_marked(request: &KubeconfigRequest, name: &str) -> bool {
    let annotations = request.metadata.annotations.as_ref();
    annotations.and_then(|all| all.get(name)).is_some_and(|value| value == "true")
}
