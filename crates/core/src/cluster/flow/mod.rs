//! What is done next about a Cluster, and what its status says: pure.
//!
//! A look at a Cluster is a loop: [`decide`] says the next [`Step`] from what is known, the operator takes it, what came of
//! it is part of what is known. The last decision's status is written, if it is another one.
//!
//! | file | subject |
//! |---|---|
//! | `living`, `ending`, `byoc` | the decision |
//! | `locked` | what an AccessLock does to its administrators |
//! | `issuers` | issuers that are withheld, as administrators are |
//! | `ask` | the SubscriptionRequest of a Cluster |
//! | `ownership` | which Shoot is a Cluster's own |
//! | `quota` | a new Cluster for which a cap leaves no room |
//! | `tenant` | whether its namespace has the tenant that it names |
//! | `reading`, `retry` | what a Shoot tells |
//! | `draft`, `news`, `outlook` | what the status says, what of it is worth an Event, and what has to happen next |
//! | `standing` | the same for tools that know nothing of Clusters |

mod ask;
mod byoc;
mod draft;
mod ending;
mod issuers;
mod living;
mod locked;
mod news;
mod outlook;
mod ownership;
mod quota;
pub(crate) mod reading;
pub(crate) mod retry;
mod standing;
mod tenant;
#[cfg(test)]
mod tests;

pub use ask::{
    LONGEST_IN_REQUEST, cluster_of_request, is_of as is_request_of, request_for, request_name,
    request_name_of,
};
pub use byoc::Standing;
pub use news::{News, news};
pub use outlook::Awaited;
pub use ownership::{carried_cluster, carried_request, forget_managed_fields, is_owned_by};
pub use quota::{is_refused, refuse};

use super::{Authentication, Clusters};
use crate::tenancy::NamespaceRole;
use allotment_api::{
    gardener::{CloudProfileSpec, Shoot},
    kyma::{Cluster, ClusterStatus, SubscriptionRequest},
    names::{annotation, finalizer},
};
use jiff::Timestamp;
use serde_json::Value;
use std::{fmt, time::Duration};

/// What is known of a Cluster and what belongs to it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// What is asked for.
    pub cluster: &'a Cluster,
    /// What its namespace may do.
    pub role: &'a NamespaceRole,
    /// The `clusters` section of the configuration.
    pub clusters: &'a Clusters,
    /// The CloudProfile of its provider.
    pub profile: Option<&'a CloudProfileSpec>,
    /// The SubscriptionRequest that has its name.
    pub request: Option<&'a SubscriptionRequest>,
    /// The Shoot that carries its UID, or has its name.
    pub shoot: Option<&'a Shoot>,
    /// The UID of a Shoot that the platform lets it adopt.
    pub adopts: Option<&'a str>,
    /// Whether the Shoot was read live just now. A cache may not have seen it yet.
    pub is_live: bool,
    /// The namespace of the project in the garden.
    pub garden_namespace: &'a str,
    /// The project in the garden.
    pub project: &'a str,
    /// Why the garden refused what was last applied, if it did.
    pub refusal: Option<&'a str>,
    /// Whether a change that the Cluster did not ask for may be rolled out now.
    pub has_turn: bool,
    /// What is known of the administrators in the cluster.
    pub administrators: Looked<'a, ()>,
    /// Whether an AccessLock names it.
    pub is_locked: bool,
    /// What is known of the ConfigMap with the issuers.
    pub issuers: Looked<'a, ()>,
    /// What is known of a cluster that the tenant brought.
    pub standing: Looked<'a, Standing>,
    /// Now.
    pub now: Timestamp,
}

/// What a look into a cluster showed.
#[derive(Debug)]
pub enum Looked<'a, T> {
    /// Nobody has looked, and nobody needs to by themselves.
    NotYet,
    /// Nobody has looked for long.
    Due,
    /// It is so.
    Seen(&'a T),
    /// It could not be looked at: why.
    Failed(&'a str),
}

impl<T> Clone for Looked<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

// It only points: the value need not be copied.
impl<T> Copy for Looked<'_, T> {}

/// What is done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Put our finalizer on the Cluster.
    Hold,
    /// Ask for an account.
    Ask(Box<SubscriptionRequest>),
    /// Read the Shoot live: what comes next cannot be undone.
    LookLive,
    /// Make the Shoot, if the account is still ours.
    Create(Box<Apply>),
    /// Bring the Shoot in line.
    Update(Box<Apply>),
    /// Ask Gardener to try again, having written down that it was asked.
    Retry,
    /// Take these annotations off the Cluster: what they ask for is done.
    Unmark(Vec<&'static str>),
    /// Give these users cluster-admin, and nobody else by us.
    Administrate(Vec<String>),
    /// Put the ConfigMap with the issuers back if somebody deleted or changed it.
    CheckIssuers(Box<Authentication>),
    /// Look whether the cluster that the tenant brought can be used.
    Check,
    /// Confirm that the Shoot is to be deleted.
    ConfirmDeletion,
    /// Delete the Shoot.
    DeleteShoot,
    /// Take our labels off the Shoot: it stays, and so does its account.
    ReleaseShoot,
    /// Remove what belongs to the Shoot, and give the account back.
    GiveBack,
    /// Take our finalizer off the Cluster.
    LetGo,
    /// Nothing, until something changes.
    Rest,
}

/// A Shoot to be applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Apply {
    /// Our fields, with the UID and the version of the live one if there is one.
    pub shoot: Value,
    /// The ConfigMap that has to be there first.
    pub authentication: Option<Authentication>,
    /// The account: the name of its binding.
    pub binding: String,
    /// Whether the configuration or Gardener made it necessary, and not the Cluster.
    pub takes_turn: bool,
}

/// What is decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What is done next.
    pub step: Step,
    /// What the status says, if this is the last decision of a look.
    pub status: ClusterStatus,
    /// When to look again though nothing has changed.
    pub again: Option<Duration>,
    /// Whether there is something to roll out that has to wait for its turn.
    pub waits_for_turn: bool,
}

/// Decides.
pub fn decide(view: &View<'_>) -> Decision {
    if let Some(decision) = locked::first_step(view) {
        return decision;
    }
    let is_ending = view.cluster.metadata.deletion_timestamp.is_some();
    let mut decision = match (&view.cluster.spec.byoc, is_ending) {
        (None, false) => living::decide(view),
        (None, true) => ending::decide(view),
        (Some(_), false) => byoc::decide(view),
        (Some(_), true) => byoc::decide_ending(view),
    };
    draft::note_annotation(view, &mut decision.status);
    if is_paused(view.cluster) {
        if decision.step != Step::Rest {
            draft::hold_back(view, &mut decision.status);
        }
        decision.step = Step::Rest;
        draft::note_pause(view, &mut decision.status);
    }
    locked::report(view, &mut decision);
    tenant::report(view, &mut decision.status);
    standing::report(view, &mut decision.status);
    decision
}

/// Whether a person asked us to leave a Cluster alone.
pub fn is_paused(cluster: &Cluster) -> bool {
    is_marked(cluster, annotation::PAUSE)
}

fn is_marked(cluster: &Cluster, name: &str) -> bool {
    let annotations = cluster.metadata.annotations.as_ref();
    annotations.and_then(|all| all.get(name)).is_some_and(|value| value != "false")
}

fn is_held(cluster: &Cluster) -> bool {
    let finalizers = cluster.metadata.finalizers.as_deref().unwrap_or_default();
    finalizers.iter().any(|name| name == finalizer::CLUSTER)
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hold => f.write_str("put a finalizer on the Cluster"),
            Self::Ask(request) => {
                write!(f, "ask for an account with SubscriptionRequest {}", name_of(&request.metadata.name))
            }
            Self::LookLive => f.write_str("read the Shoot live"),
            Self::Create(apply) => write!(f, "create the Shoot in account {}", apply.binding),
            Self::Update(apply) if apply.takes_turn => {
                f.write_str("roll a new configuration out to the Shoot")
            }
            Self::Update(_) => f.write_str("bring the Shoot in line with the Cluster"),
            Self::Retry => f.write_str("ask Gardener to try again"),
            Self::Unmark(names) => write!(f, "take {} off the Cluster", names.join(", ")),
            Self::Administrate(users) => write!(f, "give cluster-admin to {} users", users.len()),
            Self::CheckIssuers(_) => f.write_str("check the ConfigMap with the issuers"),
            Self::Check => f.write_str("look whether the cluster can be used"),
            Self::ConfirmDeletion => f.write_str("confirm the deletion of the Shoot"),
            Self::DeleteShoot => f.write_str("delete the Shoot"),
            Self::ReleaseShoot => f.write_str("release the Shoot, which stays"),
            Self::GiveBack => f.write_str("give the account back"),
            Self::LetGo => f.write_str("take the finalizer off the Cluster"),
            Self::Rest => f.write_str("nothing"),
        }
    }
}

fn name_of(name: &Option<String>) -> &str {
    name.as_deref().unwrap_or_default()
}
