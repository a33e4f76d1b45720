//! The next step for a request, from the first to the last.
//!
//! Whoever has taken a step looks again. The finalizer is there before anything is done in the cluster; everything in it
//! carries the request in its labels, so that whatever a crash leaves behind is found. A token needs no record: it ends with
//! the ServiceAccount.

use super::{Grant, Provider, ending, grant::grant, living};
use crate::openmcp::{
    responsible::is_providers,
    status::{self, Finding},
};
use allotment_api::{
    condition::ConditionStatus,
    openmcp::{
        AccessRequest, AccessRequestStatus,
        gardener::names::{ProviderCondition, finalizer},
        names::{Operation, RequestPhase, annotation},
    },
};
use jiff::Timestamp;
use std::time::Duration;

/// What is known.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Who decides.
    pub provider: &'a Provider<'a>,
    /// The request.
    pub request: &'a AccessRequest,
    /// Why its namespace may not refer to its cluster, if so.
    pub refusal: Option<&'a str>,
    /// Whether an AccessLock names it.
    pub is_locked: bool,
    /// Its cluster.
    pub target: &'a Target,
    /// Its Secret, if it has one of its own.
    pub secret: Option<&'a Issued>,
    /// What the grant is like, once it was seen to in this look.
    pub inside: Option<&'a Inside>,
    /// Whether the Secret was written in this look.
    pub is_issued: bool,
    /// Whether everything was taken out of the cluster in this look.
    pub is_withdrawn: bool,
    /// What went wrong in this look.
    pub hitch: Option<&'a Hitch>,
    /// Whether it is time to see what is inside.
    pub is_look_due: bool,
    /// Now.
    pub now: Timestamp,
}

/// The cluster of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// It is not known yet whose it is: this process has just started.
    Unknown,
    /// It is another provider's, or of another environment.
    NotOurs,
    /// The Cluster is gone.
    NoCluster {
        /// As people name it.
        name: String,
    },
    /// The Cluster never had a Shoot.
    NoShoot,
    /// There is no way to it.
    NoWay {
        /// For machines.
        reason: &'static str,
        /// For people.
        message: String,
    },
    /// It has a Shoot.
    Shoot {
        /// Which.
        uid: String,
        /// Whether it has an API server.
        is_made: bool,
        /// Whether Gardener has done all that was asked for.
        is_ready: bool,
    },
}

/// What is known of a Secret without reading what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issued {
    /// The Shoot that it leads to.
    pub shoot: String,
    /// What it was made for.
    pub made_for: String,
    /// When the token was asked for.
    pub created: Timestamp,
    /// When it runs out; a login does not.
    pub expires: Option<Timestamp>,
}

/// What was found or made in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    /// What a kubeconfig for it is made for.
    pub made_for: String,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hitch {
    /// For machines.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// What becomes of it.
    pub fate: Fate,
}

/// What becomes of what went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It may work the next time.
    Passes,
    /// It never works with this request.
    Lasts,
    /// The cluster is gone.
    Gone,
}

/// What is done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Nothing at all, not even the status.
    Leave,
    /// Nothing but the status.
    Rest,
    /// Put the finalizer on the request.
    Hold,
    /// See to it that everything is in the cluster, and nothing else.
    Grant(Box<Grant>),
    /// Write the Secret: with a token of this life, or with a login.
    Issue {
        /// For whom.
        grant: Box<Grant>,
        /// For how long; none for a login.
        seconds: Option<i64>,
    },
    /// Take the annotation off.
    Unmark,
    /// Take everything out of the cluster.
    Withdraw,
    /// Delete the Secret.
    Clear,
    /// Take the finalizer off the request.
    LetGo,
}

/// A step, and the status that goes with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What is done.
    pub step: Step,
    /// What the status says.
    pub status: AccessRequestStatus,
    /// When to look again, though nothing changes.
    pub again: Option<Duration>,
    /// Whether it is tried again soon, and later and later.
    pub is_failed: bool,
}

/// Decides.
pub fn decide(view: &View<'_>) -> Decision {
    let draft = Draft::new(view);
    let is_foreign = matches!(view.target, Target::Unknown | Target::NotOurs);
    // Whoever changed its labels meanwhile does not keep it from ending, nor from being locked; and a lock is not ignored.
    let is_ending = view.request.metadata.deletion_timestamp.is_some() && is_held(view.request);
    let is_locked = view.is_locked && is_held(view.request);
    if is_foreign
        || is_marked(view.request, Operation::Ignore) && !is_locked
        || !(is_ending || is_locked || is_providers(view.request, view.provider.name))
    {
        return draft.step(Step::Leave);
    }
    match view.request.metadata.deletion_timestamp {
        Some(_) if !is_held(view.request) => draft.step(Step::Leave),
        Some(_) => ending::decide(view, draft),
        None => living::decide(view, draft),
    }
}

pub(super) fn is_marked(request: &AccessRequest, wanted: Operation) -> bool {
    let operation = request.metadata.annotations.as_ref().and_then(|all| all.get(annotation::OPERATION));
    operation.map(String::as_str) == Some(wanted.as_str())
}

pub(super) fn is_held(request: &AccessRequest) -> bool {
    request.metadata.finalizers.iter().flatten().any(|name| name == finalizer::ACCESS_REQUEST)
}

/// The status, as it is put together.
pub(super) struct Draft {
    pub(super) status: AccessRequestStatus,
    generation: Option<i64>,
    now: Timestamp,
}

impl Draft {
    fn new(view: &View<'_>) -> Self {
        let status = view.request.status.clone().unwrap_or_default();
        Self { status, generation: view.request.metadata.generation, now: view.now }
    }

    pub(super) fn holds(&mut self, type_: ProviderCondition, reason: &str, message: impl Into<String>) {
        self.say(Finding::holds(type_.as_str()).because(reason, message));
    }

    pub(super) fn fails(&mut self, type_: ProviderCondition, reason: &str, message: impl Into<String>) {
        self.say(Finding::fails(type_.as_str(), reason, message));
    }

    /// Whether the status tells of a failure.
    pub(super) fn fails_at(&self, type_: ProviderCondition) -> bool {
        let conditions = &self.status.common.conditions;
        conditions.iter().any(|it| it.type_ == type_.as_str() && it.status != ConditionStatus::True)
    }

    fn say(&mut self, finding: Finding) {
        status::set(&mut self.status.common.conditions, finding, self.generation, self.now);
        self.status.common.observed_generation = self.generation.unwrap_or_default();
    }

    pub(super) fn phase(&mut self, phase: RequestPhase) {
        self.status.common.phase = phase.as_str().to_owned();
    }

    pub(super) fn is(&self, phase: RequestPhase) -> bool {
        self.status.common.phase == phase.as_str()
    }

    pub(super) fn step(self, step: Step) -> Decision {
        Decision { step, status: self.status, again: None, is_failed: false }
    }

    pub(super) fn rest(self) -> Decision {
        self.step(Step::Rest)
    }
}

impl Decision {
    pub(super) fn after(mut self, wait: Option<Duration>) -> Self {
        self.again = wait;
        self
    }

    pub(super) fn failed(mut self) -> Self {
        self.is_failed = true;
        self
    }
}

/// What the request has.
pub(super) fn grant_of(view: &View<'_>) -> Box<Grant> {
    Box::new(grant(view.provider, view.request))
}
