//! The next step for a request, from the first to the last.
//!
//! A Cluster is held for a request by a finalizer with the request's UID, and every write of it is of the state that was
//! decided on. What a crash leaves behind is found by that finalizer.

use super::{
    Candidate, Choice, NewCluster, Scheduler,
    choose::{anew, brought, choose, conflict, is_made_for},
};
use crate::{
    condition::{self, Verdict},
    openmcp::policy::Policy,
};
use allotment_api::{
    condition::ConditionStatus,
    openmcp::{
        ClusterRequest, ClusterRequestStatus, ObjectReference, Tenancy,
        names::{Operation, Reason, RequestCondition, RequestPhase, annotation, finalizer},
    },
};
use jiff::Timestamp;
use std::collections::BTreeMap;

/// What is known.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The configuration.
    pub config: &'a Scheduler,
    /// What namespaces may refer to.
    pub policy: &'a Policy,
    /// The request.
    pub request: &'a ClusterRequest,
    /// Every Cluster.
    pub clusters: &'a [&'a Candidate],
    /// A number that was drawn.
    pub lot: u64,
    /// Now.
    pub now: Timestamp,
}

/// What is done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step<'a> {
    /// Nothing at all, not even the status.
    Leave,
    /// Nothing but the status.
    Rest,
    /// Take the annotation off.
    Unmark,
    /// Put the finalizer on the request.
    Hold,
    /// Make a Cluster that has this finalizer from the beginning.
    Make {
        /// What it is like.
        cluster: Box<NewCluster>,
        /// Who holds it.
        finalizer: String,
    },
    /// Put the finalizer on a Cluster, and what the request brings.
    Claim {
        /// Which.
        cluster: &'a Candidate,
        /// All of its finalizers from then on.
        finalizers: Vec<String>,
        /// Labels to set.
        labels: BTreeMap<String, String>,
        /// Annotations to set.
        annotations: BTreeMap<String, String>,
    },
    /// Write the status, and go on.
    Record,
    /// Delete a Cluster, if it is as it was.
    Delete(&'a Candidate),
    /// Take the finalizer off a Cluster.
    Release {
        /// Which.
        cluster: &'a Candidate,
        /// All of its finalizers from then on.
        finalizers: Vec<String>,
    },
    /// Take the finalizer off the request.
    LetGo,
}

/// A step, and the status that goes with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision<'a> {
    /// What is done.
    pub step: Step<'a>,
    /// What the status says.
    pub status: ClusterRequestStatus,
}

/// Decides.
pub fn decide<'a>(view: &View<'a>) -> Decision<'a> {
    let request = view.request;
    let status = request.status.clone().unwrap_or_default();
    let only = |step| Decision { step, status: status.clone() };
    let operation = request.metadata.annotations.as_ref().and_then(|all| all.get(annotation::OPERATION));
    let is_marked = |wanted: Operation| operation.map(String::as_str) == Some(wanted.as_str());
    if is_marked(Operation::Ignore) {
        return only(Step::Leave);
    }
    let is_held = has(&request.metadata.finalizers, finalizer::CLUSTER_REQUEST);
    if request.metadata.deletion_timestamp.is_some() {
        return if is_held { ending(view) } else { only(Step::Leave) };
    }
    let labels = request.metadata.labels.clone().unwrap_or_default();
    if !is_held && !view.config.selectors.requests.matches(&labels) {
        return only(Step::Leave);
    }
    if is_marked(Operation::Reconcile) {
        return only(Step::Unmark);
    }
    if !is_held {
        return only(Step::Hold);
    }
    living(view)
}

fn living<'a>(view: &View<'a>) -> Decision<'a> {
    let uid = view.request.metadata.uid.clone().unwrap_or_default();
    let given = view.request.status.as_ref().and_then(|status| status.cluster.as_ref());
    let choice = match given {
        None => {
            let near: Vec<&'a Candidate> =
                view.clusters.iter().copied().filter(|it| may_have(view, &it.namespace)).collect();
            choose(view.config, view.request, &near, view.lot)
        }
        Some(ObjectReference { name, namespace }) => {
            let found = view.clusters.iter().find(|it| it.namespace == *namespace && it.name == *name);
            match found {
                // What it holds it keeps, whatever was allowed since.
                Some(found) if found.has_tenant(&uid) => Choice::Take(found),
                _ if !may_have(view, namespace) => not_allowed(view, namespace),
                None => anew(view.config, view.request, namespace, name),
                Some(found) if !is_offered(view, found) => conflict(found),
                // Nobody can hold what is being deleted, and nobody shares what is another's alone.
                Some(found) if found.is_deleting || is_anothers(found) => conflict(found),
                Some(found) => Choice::Take(found),
            }
        }
    };
    match choice {
        Choice::Refuse { phase, reason, message } => {
            let status = said(view, Some(phase), false, reason, message);
            Decision { step: Step::Rest, status }
        }
        Choice::Make(cluster) => {
            let finalizer = tenant(&uid);
            Decision { step: Step::Make { cluster, finalizer }, status: unchanged(view) }
        }
        Choice::Take(cluster) => taken(view, cluster, &uid),
    }
}

/// Whether a request may have Clusters of a namespace: its own, that of the template, and what is allowed. A tenant could offer
/// a Cluster of its own to others, or name one of others in a status.
fn may_have(view: &View<'_>, namespace: &str) -> bool {
    let home = view.config.purpose_mappings.get(&view.request.spec.purpose);
    let home = home.and_then(|mapping| mapping.template.metadata.namespace.as_deref());
    home == Some(namespace) || view.policy.may_refer(namespace_of(view), namespace)
}

/// Whether a Cluster of a namespace that only the template leads to is one that the template would have made.
fn is_offered(view: &View<'_>, cluster: &Candidate) -> bool {
    view.policy.may_refer(namespace_of(view), &cluster.namespace)
        || is_made_for(view.config, view.request, cluster)
}

fn not_allowed<'a>(view: &View<'_>, namespace: &str) -> Choice<'a> {
    let message = view.policy.refusal("status.cluster", namespace_of(view), namespace);
    Choice::Refuse { phase: RequestPhase::Denied, reason: Reason::InvalidReference, message }
}

fn namespace_of<'a>(view: &View<'a>) -> &'a str {
    view.request.metadata.namespace.as_deref().unwrap_or_default()
}

fn is_anothers(cluster: &Candidate) -> bool {
    cluster.tenancy == Tenancy::Exclusive && !cluster.tenants().is_empty()
}

fn taken<'a>(view: &View<'a>, cluster: &'a Candidate, uid: &str) -> Decision<'a> {
    let metadata = &view.request.metadata;
    let missing = |wanted: Option<&BTreeMap<String, String>>, there: &BTreeMap<String, String>| {
        let is_exclusive = cluster.tenancy == Tenancy::Exclusive;
        let new = brought(wanted).filter(|(key, value)| is_exclusive && there.get(*key) != Some(*value));
        new.map(|(key, value)| (key.clone(), value.clone())).collect::<BTreeMap<_, _>>()
    };
    let labels = missing(metadata.labels.as_ref(), &cluster.labels);
    let annotations = missing(metadata.annotations.as_ref(), &cluster.annotations);
    let mut finalizers = cluster.finalizers.clone();
    if !cluster.has_tenant(uid) {
        finalizers.push(tenant(uid));
    }
    if finalizers != cluster.finalizers || !labels.is_empty() || !annotations.is_empty() {
        let step = Step::Claim { cluster, finalizers, labels, annotations };
        return Decision { step, status: unchanged(view) };
    }
    Decision { step: Step::Rest, status: granted(view, cluster) }
}

fn ending<'a>(view: &View<'a>) -> Decision<'a> {
    let uid = view.request.metadata.uid.clone().unwrap_or_default();
    let is_waited_for = view.request.spec.wait_for_cluster_deletion == Some(true);
    let given = view.request.status.as_ref().and_then(|status| status.cluster.as_ref());
    if let Some(own) = view.clusters.iter().find(|cluster| cluster.has_tenant(&uid)).copied() {
        if is_waited_for && given.is_none() {
            // Without its finalizer it is only known by the status.
            return Decision { step: Step::Record, status: granted(view, own) };
        }
        let is_last = own.tenants().len() == 1 && own.goes_with_its_tenants();
        // Before the finalizer goes: a crash in between would leave a Cluster that nobody deletes.
        let step = if is_last && !own.is_deleting {
            Step::Delete(own)
        } else {
            let finalizers = own.finalizers.iter().filter(|name| **name != tenant(&uid)).cloned().collect();
            Step::Release { cluster: own, finalizers }
        };
        return Decision { step, status: unchanged(view) };
    }
    let leaving = given.and_then(|given| {
        let same =
            |it: &&&Candidate| it.namespace == given.namespace && it.name == given.name && it.is_deleting;
        view.clusters.iter().find(same)
    });
    match leaving.filter(|_| is_waited_for) {
        Some(cluster) => {
            let message = format!("Cluster {}/{} is being deleted", cluster.namespace, cluster.name);
            let status = said(view, None, false, Reason::WaitingForClusterDeletion, message);
            Decision { step: Step::Rest, status }
        }
        None => Decision { step: Step::LetGo, status: unchanged(view) },
    }
}

fn unchanged(view: &View<'_>) -> ClusterRequestStatus {
    view.request.status.clone().unwrap_or_default()
}

/// It is granted as soon as the Cluster is there: whether that is ready, it says itself.
fn granted(view: &View<'_>, cluster: &Candidate) -> ClusterRequestStatus {
    let Candidate { namespace, name, .. } = cluster;
    let message = format!("it has Cluster {namespace}/{name}");
    let mut status = said(view, Some(RequestPhase::Granted), true, Reason::ClusterAssigned, message);
    status.cluster = Some(ObjectReference { name: name.clone(), namespace: namespace.clone() });
    status
}

fn said(
    view: &View<'_>,
    phase: Option<RequestPhase>,
    holds: bool,
    reason: Reason,
    message: String,
) -> ClusterRequestStatus {
    let mut status = unchanged(view);
    let generation = view.request.metadata.generation;
    status.common.observed_generation = generation.unwrap_or_default();
    if let Some(phase) = phase {
        status.common.phase = phase.as_str().to_owned();
    }
    let type_ = RequestCondition::Scheduled.as_str();
    let verdict = Verdict {
        type_,
        status: if holds { ConditionStatus::True } else { ConditionStatus::False },
        reason: reason.as_str(),
        message,
    };
    condition::set(&mut status.common.conditions, verdict, generation, view.now);
    status
}

fn tenant(uid: &str) -> String {
    format!("{}{uid}", finalizer::TENANT_PREFIX)
}

fn has(finalizers: &Option<Vec<String>>, name: &str) -> bool {
    finalizers.iter().flatten().any(|finalizer| finalizer == name)
}
