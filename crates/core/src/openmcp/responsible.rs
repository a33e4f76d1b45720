//! Whose an AccessRequest is.

use super::names::label_value;
use crate::condition;
use allotment_api::{
    condition::ConditionStatus,
    openmcp::{
        AccessRequest,
        names::{RequestCondition, RequestPhase, label},
    },
};

/// Whether a provider acts on an AccessRequest. Until the generic controller has set both labels and the phase, and after a
/// granted one has changed, it is the generic controller's turn. One that is deleted is the provider's at once: the generic
/// controller may be away, and has nothing to add.
pub fn is_providers(request: &AccessRequest, provider: &str) -> bool {
    let labels = request.metadata.labels.as_ref();
    let has = |name: &str| labels.and_then(|labels| labels.get(name));
    if has(label::PROVIDER) != Some(&label_value(provider)) {
        return false;
    }
    if request.metadata.deletion_timestamp.is_some() {
        return true;
    }
    has(label::PROFILE).is_some() && is_handed_over(request)
}

/// Whether the generic controller has said all that it has to say.
pub fn is_handed_over(request: &AccessRequest) -> bool {
    let observed = request.status.as_ref().map(|status| status.common.observed_generation);
    match phase_of(request) {
        // While it says that it has found no provider, there is none: who acts all the same takes turns with it for ever.
        Some(RequestPhase::Pending) => !is_unresolved(request),
        Some(RequestPhase::Granted) => observed == request.metadata.generation,
        Some(RequestPhase::Denied) | None => false,
    }
}

fn is_unresolved(request: &AccessRequest) -> bool {
    let conditions = request.status.as_ref().map(|status| status.common.conditions.as_slice());
    let resolved = condition::find(conditions.unwrap_or_default(), RequestCondition::Resolved.as_str());
    resolved.is_some_and(|resolved| resolved.status == ConditionStatus::False)
}

/// The phase; an empty one, and one that nobody knows, is none.
pub(super) fn phase_of(request: &AccessRequest) -> Option<RequestPhase> {
    let phase = request.status.as_ref().map(|status| status.common.phase.as_str()).unwrap_or_default();
    let known = [RequestPhase::Pending, RequestPhase::Granted, RequestPhase::Denied];
    known.into_iter().find(|known| known.as_str() == phase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn request(labels: Value, phase: &str, observed: i64) -> AccessRequest {
        let mut request = json!({
            "apiVersion": "clusters.openmcp.cloud/v1alpha1",
            "kind": "AccessRequest",
            "metadata": {"name": "a", "namespace": "n", "generation": 2, "labels": labels},
            "spec": {"token": {}},
        });
        if !phase.is_empty() {
            request["status"] = json!({"phase": phase, "observedGeneration": observed});
        }
        serde_json::from_value(request).unwrap()
    }

    #[test]
    fn the_truth_table_of_the_contract() {
        let both = || json!({"clusters.openmcp.cloud/provider": "p", "clusters.openmcp.cloud/profile": "x"});
        let other = json!({"clusters.openmcp.cloud/provider": "q", "clusters.openmcp.cloud/profile": "x"});
        let one = json!({"clusters.openmcp.cloud/provider": "p"});
        for (labels, phase, observed, expected) in [
            (both(), "Pending", 1, true),
            (both(), "Granted", 2, true),
            (both(), "Granted", 1, false),
            (both(), "Denied", 2, false),
            (both(), "", 0, false),
            (other, "Pending", 2, false),
            (one, "Pending", 2, false),
            (json!({}), "Pending", 2, false),
        ] {
            assert_eq!(
                is_providers(&request(labels.clone(), phase, observed), "p"),
                expected,
                "{labels} {phase} {observed}"
            );
        }
    }

    #[test]
    fn what_is_not_resolved_is_not_the_providers_yet() {
        let labels = json!({"clusters.openmcp.cloud/provider": "p", "clusters.openmcp.cloud/profile": "x"});
        let mut request = request(labels, "Pending", 2);
        let mut say = |status: &str| {
            let condition = json!([{
                "type": "Resolved", "status": status, "reason": "InvalidReference", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]);
            request.status.as_mut().unwrap().common.conditions = serde_json::from_value(condition).unwrap();
            is_providers(&request, "p")
        };
        assert!(!say("False"));
        assert!(say("True"));
    }

    #[test]
    fn g4_what_is_deleted_is_the_providers_at_once() {
        let labels = json!({"clusters.openmcp.cloud/provider": "p", "clusters.openmcp.cloud/profile": "x"});
        let mut request = request(labels, "Granted", 1);
        assert!(!is_providers(&request, "p"));
        request.metadata.deletion_timestamp = Some(jiff::Timestamp::UNIX_EPOCH.into());
        assert!(is_providers(&request, "p"));
    }
}
