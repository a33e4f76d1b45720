//! What the generic controller does about an AccessRequest: find its Cluster and provider, and hand it over.

use super::{
    names::label_value,
    policy::Policy,
    responsible::{is_handed_over, phase_of},
};
use crate::condition::{self, Verdict as Said};
use allotment_api::{
    condition::ConditionStatus,
    openmcp::{
        AccessRequest, AccessRequestStatus, Cluster, ClusterProfile, ClusterRequest, ObjectReference,
        names::{Operation, Reason, RequestCondition, RequestPhase, annotation, label},
    },
};
use jiff::{SignedDuration, Timestamp};
use std::time::Duration;

/// A second after it has run out it is gone for sure, whatever the clocks say about its last moment.
const AFTERWARDS: SignedDuration = SignedDuration::from_secs(1);

/// What is known.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// What namespaces may refer to.
    pub policy: &'a Policy,
    /// The request.
    pub request: &'a AccessRequest,
    /// The ClusterRequest that it names.
    pub cluster_request: Option<&'a ClusterRequest>,
    /// The Cluster that it, or its ClusterRequest, names.
    pub cluster: Option<&'a Cluster>,
    /// The profile of the Cluster.
    pub profile: Option<&'a ClusterProfile>,
    /// Now.
    pub now: Timestamp,
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Leave,
    /// Its time is over.
    Delete,
    /// Write labels and the reference, then say that it is pending.
    HandOver {
        /// The provider, as its label says it.
        provider: String,
        /// The profile, as its label says it.
        profile: String,
        /// The Cluster, where the request does not name one itself.
        cluster: Option<ObjectReference>,
    },
    /// It stays pending, or is denied; a condition says why.
    Explain {
        /// How far it is.
        phase: RequestPhase,
        /// Why, for machines.
        reason: Reason,
        /// Why, for people.
        message: String,
    },
}

/// A verdict, and when to look again though nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// What is done.
    pub verdict: Verdict,
    /// Whether the annotation that asked for it is taken off.
    pub is_unmarked: bool,
    /// When to look again.
    pub again: Option<Duration>,
}

/// Decides.
pub fn resolve(view: &View<'_>) -> Resolution {
    let request = view.request;
    let operation = request.metadata.annotations.as_ref().and_then(|all| all.get(annotation::OPERATION));
    let is_marked = |wanted: Operation| operation.map(String::as_str) == Some(wanted.as_str());
    let only = |verdict| Resolution { verdict, is_unmarked: false, again: None };
    if is_marked(Operation::Ignore) || request.metadata.deletion_timestamp.is_some() {
        return only(Verdict::Leave);
    }
    let is_asked = is_marked(Operation::Reconcile);
    let end = match end(request) {
        Ok(end) => end,
        Err(message) => {
            let (phase, reason) = (RequestPhase::Denied, Reason::ConfigurationProblem);
            let verdict = Verdict::Explain { phase, reason, message };
            return Resolution { verdict, is_unmarked: is_asked, again: None };
        }
    };
    if end.is_some_and(|end| end <= view.now) {
        return only(Verdict::Delete);
    }
    let again = end.map(|end| (end.duration_since(view.now) + AFTERWARDS).unsigned_abs());
    let is_settled = is_handed_over(request) || (is_denied_by_provider(request) && !is_asked);
    if is_settled && has_both_labels(request) && is_right(view) {
        return Resolution { verdict: Verdict::Leave, is_unmarked: false, again };
    }
    Resolution { verdict: hand_over(view), is_unmarked: is_asked, again }
}

/// The status that says so. Conditions of the provider stay.
pub fn status(request: &AccessRequest, verdict: &Verdict, now: Timestamp) -> Option<AccessRequestStatus> {
    let (phase, status, reason, message) = match verdict {
        Verdict::Leave | Verdict::Delete => return None,
        Verdict::HandOver { provider, .. } => {
            let message = format!("it is the turn of provider {provider}");
            (RequestPhase::Pending, ConditionStatus::True, Reason::HandedOver, message)
        }
        Verdict::Explain { phase, reason, message } => {
            (*phase, ConditionStatus::False, *reason, message.clone())
        }
    };
    let generation = request.metadata.generation;
    let mut new = request.status.clone().unwrap_or_default();
    new.common.phase = phase.as_str().to_owned();
    new.common.observed_generation = generation.unwrap_or_default();
    let said = Said { type_: RequestCondition::Resolved.as_str(), status, reason: reason.as_str(), message };
    condition::set(&mut new.common.conditions, said, generation, now);
    Some(new)
}

/// Whether the provider has said no to what is asked for now. What this controller itself denied it looks at again: labels
/// change without a new generation.
fn is_denied_by_provider(request: &AccessRequest) -> bool {
    let Some(status) = &request.status else { return false };
    let resolved = condition::find(&status.common.conditions, RequestCondition::Resolved.as_str());
    phase_of(request) == Some(RequestPhase::Denied)
        && Some(status.common.observed_generation) == request.metadata.generation
        && resolved.is_none_or(|resolved| resolved.status != ConditionStatus::False)
}

/// When its time is over; it runs from its creation.
pub(super) fn end(request: &AccessRequest) -> Result<Option<Timestamp>, String> {
    let Some(text) = &request.spec.ttl else { return Ok(None) };
    let bad = |why: &dyn std::fmt::Display| {
        format!("spec.ttl: {text:?} is not a duration such as 30m or 1h30m: {why}")
    };
    let ttl: SignedDuration = text.parse().map_err(|error: jiff::Error| bad(&error))?;
    let Some(begin) = &request.metadata.creation_timestamp else { return Ok(None) };
    begin.0.checked_add(ttl).map(Some).map_err(|error| bad(&error))
}

fn has_both_labels(request: &AccessRequest) -> bool {
    let labels = request.metadata.labels.as_ref();
    let has = |name: &str| labels.is_some_and(|labels| labels.contains_key(name));
    has(label::PROVIDER) && has(label::PROFILE) && request.spec.cluster_ref.is_some()
}

/// Whether labels that are there say what is so. Whoever made the request may have set them.
fn is_right(view: &View<'_>) -> bool {
    match (view.cluster, view.profile) {
        (Some(cluster), Some(profile)) => disagreement(view.request, cluster, profile).is_none(),
        // What cannot be verified now was verified when it was handed over, or will be.
        _ => true,
    }
}

fn disagreement(request: &AccessRequest, cluster: &Cluster, profile: &ClusterProfile) -> Option<String> {
    let labels = request.metadata.labels.as_ref();
    let wanted = [
        (label::PROVIDER, label_value(&profile.spec.provider_ref.name)),
        (label::PROFILE, label_value(&cluster.spec.profile)),
    ];
    wanted.into_iter().find_map(|(name, wanted)| {
        let found = labels.and_then(|labels| labels.get(name)).filter(|found| **found != wanted)?;
        Some(format!(
            "label {name} is {found:?}, but the Cluster's is {wanted:?}: remove the label, and it is set"
        ))
    })
}

fn hand_over(view: &View<'_>) -> Verdict {
    let pending =
        |reason, message: String| Verdict::Explain { phase: RequestPhase::Pending, reason, message };
    let spec = &view.request.spec;
    if spec.cluster_ref.is_none() && spec.request_ref.is_none() {
        let message = "neither spec.clusterRef nor spec.requestRef is set".to_owned();
        return Verdict::Explain {
            phase: RequestPhase::Denied,
            reason: Reason::ConfigurationProblem,
            message,
        };
    }
    if let Err(message) = view.policy.judge(view.request, view.cluster_request, view.cluster) {
        let (phase, reason) = (RequestPhase::Denied, Reason::InvalidReference);
        return Verdict::Explain { phase, reason, message };
    }
    let mut reference = spec.cluster_ref.clone();
    if let (None, Some(request)) = (&reference, &spec.request_ref) {
        let name = format!("ClusterRequest {}/{}", request.namespace, request.name);
        let Some(found) = view.cluster_request else {
            return pending(Reason::InvalidReference, format!("{name} is not there"));
        };
        let status = found.status.as_ref();
        let phase = status.map(|status| status.common.phase.as_str()).unwrap_or_default();
        if phase != RequestPhase::Granted.as_str() {
            return pending(Reason::WaitingForClusterRequest, format!("{name} is not granted yet"));
        }
        reference = status.and_then(|status| status.cluster.clone());
    }
    let Some(reference) = reference else {
        return pending(
            Reason::InternalError,
            "the ClusterRequest is granted, and names no Cluster".to_owned(),
        );
    };
    let name = format!("Cluster {}/{}", reference.namespace, reference.name);
    let Some(cluster) = view.cluster else {
        return pending(Reason::InvalidReference, format!("{name} is not there"));
    };
    let Some(profile) = view.profile else {
        return pending(
            Reason::InvalidReference,
            format!("ClusterProfile {} of {name} is not there", cluster.spec.profile),
        );
    };
    if let Some(message) = disagreement(view.request, cluster, profile) {
        return Verdict::Explain {
            phase: RequestPhase::Denied,
            reason: Reason::ConfigurationProblem,
            message,
        };
    }
    Verdict::HandOver {
        provider: label_value(&profile.spec.provider_ref.name),
        profile: label_value(&cluster.spec.profile),
        cluster: Some(reference).filter(|_| spec.cluster_ref.is_none()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn of(kind: &str, metadata: Value, spec: Value, status: Value) -> Value {
        let mut object = json!({
            "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec,
        });
        if !status.is_null() {
            object["status"] = status;
        }
        object
    }

    struct World {
        request: Value,
        cluster_request: Option<Value>,
        cluster: Option<Value>,
        profile: Option<Value>,
        policy: Policy,
    }

    impl World {
        fn new(spec: Value) -> Self {
            let metadata = json!({
                "name": "a", "namespace": "n", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {}, "annotations": {},
            });
            let mut spec = spec;
            spec["token"] = json!({});
            let cluster = of(
                "Cluster",
                json!({"name": "c", "namespace": "n"}),
                json!({"profile": "e.p.x", "tenancy": "Shared"}),
                Value::Null,
            );
            let references = json!({"providerRef": {"name": "p"}, "providerConfigRef": {"name": "x"}, "supportedVersions": []});
            let granted = json!({"phase": "Granted", "observedGeneration": 1, "cluster": {"name": "c", "namespace": "n"}});
            Self {
                request: of("AccessRequest", metadata, spec, Value::Null),
                cluster_request: Some(of(
                    "ClusterRequest",
                    json!({"name": "r", "namespace": "n"}),
                    json!({"purpose": "mcp"}),
                    granted,
                )),
                cluster: Some(cluster),
                profile: Some(of("ClusterProfile", json!({"name": "e.p.x"}), references, Value::Null)),
                policy: Policy::default(),
            }
        }

        fn resolve(&self) -> Resolution {
            fn read<T: serde::de::DeserializeOwned>(value: Option<&Value>) -> Option<T> {
                value.map(|value| serde_json::from_value(value.clone()).unwrap())
            }
            resolve(&View {
                policy: &self.policy,
                request: &read(Some(&self.request)).unwrap(),
                cluster_request: read(self.cluster_request.as_ref()).as_ref(),
                cluster: read(self.cluster.as_ref()).as_ref(),
                profile: read(self.profile.as_ref()).as_ref(),
                now: "2026-01-01T00:10:00Z".parse().unwrap(),
            })
        }

        fn explained(&self) -> (RequestPhase, Reason) {
            match self.resolve().verdict {
                Verdict::Explain { phase, reason, .. } => (phase, reason),
                other => panic!("{other:?}"),
            }
        }
    }

    fn by_cluster() -> World {
        World::new(json!({"clusterRef": {"name": "c", "namespace": "n"}}))
    }

    fn by_request() -> World {
        World::new(json!({"requestRef": {"name": "r", "namespace": "n"}}))
    }

    #[test]
    fn it_is_handed_over_with_what_it_needs() {
        let plain = |cluster: Option<ObjectReference>| Verdict::HandOver {
            provider: "p".to_owned(),
            profile: "e.p.x".to_owned(),
            cluster,
        };
        assert_eq!(by_cluster().resolve().verdict, plain(None));
        let cluster = ObjectReference { name: "c".to_owned(), namespace: "n".to_owned() };
        assert_eq!(by_request().resolve().verdict, plain(Some(cluster)));
    }

    #[test]
    fn a_reference_into_another_namespace_is_denied_until_it_is_allowed() {
        for mut world in [by_cluster(), by_request()] {
            world.request["metadata"]["namespace"] = json!("other");
            assert_eq!(world.explained(), (RequestPhase::Denied, Reason::InvalidReference));
            world.policy = Policy::trusted();
            assert!(matches!(world.resolve().verdict, Verdict::HandOver { .. }));
        }
        // Labels that somebody has set beforehand change nothing.
        let mut world = by_cluster();
        world.request["metadata"]["namespace"] = json!("other");
        world.request["metadata"]["labels"] =
            json!({"clusters.openmcp.cloud/provider": "p", "clusters.openmcp.cloud/profile": "e.p.x"});
        assert_eq!(world.explained(), (RequestPhase::Denied, Reason::InvalidReference));
    }

    #[test]
    fn o9_what_is_missing_is_told_on_the_object() {
        let mut world = by_request();
        world.cluster_request.as_mut().unwrap()["status"]["phase"] = json!("Pending");
        assert_eq!(world.explained(), (RequestPhase::Pending, Reason::WaitingForClusterRequest));
        world.cluster_request = None;
        assert_eq!(world.explained(), (RequestPhase::Pending, Reason::InvalidReference));
        let mut world = by_cluster();
        world.profile = None;
        assert_eq!(world.explained(), (RequestPhase::Pending, Reason::InvalidReference));
        world.cluster = None;
        assert_eq!(world.explained(), (RequestPhase::Pending, Reason::InvalidReference));
        assert_eq!(World::new(json!({})).explained(), (RequestPhase::Denied, Reason::ConfigurationProblem));
    }

    #[test]
    fn o8_labels_that_were_there_are_verified() {
        let mut world = by_cluster();
        world.request["metadata"]["labels"] =
            json!({"clusters.openmcp.cloud/provider": "q", "clusters.openmcp.cloud/profile": "e.p.x"});
        world.request["status"] = json!({"phase": "Pending", "observedGeneration": 1});
        assert_eq!(world.explained(), (RequestPhase::Denied, Reason::ConfigurationProblem));
        world.request["metadata"]["labels"]["clusters.openmcp.cloud/provider"] = json!("p");
        assert_eq!(world.resolve().verdict, Verdict::Leave);
    }

    #[test]
    fn its_time_runs_from_its_creation() {
        let mut world = by_cluster();
        world.request["spec"]["ttl"] = json!("30m");
        assert_eq!(world.resolve().again, Some(Duration::from_secs(20 * 60 + 1)));
        world.request["spec"]["ttl"] = json!("5m");
        assert_eq!(world.resolve().verdict, Verdict::Delete);
        world.request["spec"]["ttl"] = json!("soon");
        assert_eq!(world.explained(), (RequestPhase::Denied, Reason::ConfigurationProblem));
    }

    #[test]
    fn annotations_are_obeyed() {
        let mut world = by_cluster();
        world.request["metadata"]["annotations"] = json!({"openmcp.cloud/operation": "reconcile"});
        let resolution = world.resolve();
        assert!(matches!(resolution.verdict, Verdict::HandOver { .. }) && resolution.is_unmarked);
        world.request["metadata"]["annotations"] = json!({"openmcp.cloud/operation": "ignore"});
        assert_eq!(world.resolve().verdict, Verdict::Leave);
    }

    #[test]
    fn what_the_provider_denies_stays_denied_until_it_changes_or_is_asked_for() {
        let mut world = by_cluster();
        world.request["metadata"]["labels"] =
            json!({"clusters.openmcp.cloud/provider": "p", "clusters.openmcp.cloud/profile": "e.p.x"});
        let resolved = json!({
            "type": "Resolved", "status": "True", "reason": "HandedOver", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
        });
        world.request["status"] =
            json!({"phase": "Denied", "observedGeneration": 1, "conditions": [resolved]});
        assert_eq!(world.resolve().verdict, Verdict::Leave);
        // What this controller denied is looked at again: only a label was wrong.
        world.request["status"]["conditions"][0]["status"] = json!("False");
        assert!(matches!(world.resolve().verdict, Verdict::HandOver { .. }));
        world.request["status"]["conditions"][0]["status"] = json!("True");
        world.request["metadata"]["annotations"] = json!({"openmcp.cloud/operation": "reconcile"});
        assert!(matches!(world.resolve().verdict, Verdict::HandOver { .. }));
        world.request["metadata"]["annotations"] = json!({});
        world.request["metadata"]["generation"] = json!(2);
        assert!(matches!(world.resolve().verdict, Verdict::HandOver { .. }));
    }

    #[test]
    fn g20_names_that_are_too_long_for_a_label_are_shortened() {
        let mut world = by_cluster();
        let long = format!("e.p.{}", "x".repeat(80));
        world.cluster.as_mut().unwrap()["spec"]["profile"] = json!(long);
        let Verdict::HandOver { profile, .. } = world.resolve().verdict else { panic!() };
        assert_eq!(profile.len(), 63);
        world.request["metadata"]["labels"] =
            json!({"clusters.openmcp.cloud/provider": "p", "clusters.openmcp.cloud/profile": profile});
        world.request["status"] = json!({"phase": "Pending", "observedGeneration": 1});
        assert_eq!(world.resolve().verdict, Verdict::Leave);
    }

    #[test]
    fn the_status_says_it_once() {
        let world = by_cluster();
        let mut request: AccessRequest = serde_json::from_value(world.request.clone()).unwrap();
        let (verdict, at) = (world.resolve().verdict, |text: &str| text.parse::<Timestamp>().unwrap());
        request.status = status(&request, &verdict, at("2026-01-01T00:10:00Z"));
        let common = &request.status.as_ref().unwrap().common;
        assert_eq!((common.phase.as_str(), common.observed_generation), ("Pending", 1));
        assert_eq!(common.conditions[0].type_, "Resolved");
        assert_eq!(status(&request, &verdict, at("2026-01-01T00:11:00Z")), request.status);
    }
}
