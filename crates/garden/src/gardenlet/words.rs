//! Gardener's words, so that what people read here is what they will read there.

use allotment_api::gardener::{OperationType, ShootCondition, ShootStatus};
use jiff::Timestamp;

/// A point on the way of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Milestone {
    /// In per cent.
    pub(super) progress: i32,
    /// What is under way.
    pub(super) description: &'static str,
    /// The API server can be reached from here on.
    pub(super) publishes: bool,
}

const fn milestone(progress: i32, description: &'static str) -> Milestone {
    Milestone { progress, description, publishes: false }
}

const MAKING: [Milestone; 4] = [
    milestone(12, "Deploying Shoot infrastructure"),
    Milestone {
        progress: 41,
        description: "Waiting until Kubernetes API server rolled out",
        publishes: true,
    },
    milestone(68, "Waiting until shoot worker nodes have been reconciled"),
    milestone(93, "Waiting until the Kubernetes API server can connect to the Shoot workers"),
];

const DELETING: [Milestone; 3] = [
    milestone(23, "Cleaning Shoot namespaces"),
    milestone(57, "Waiting until shoot worker nodes have been terminated"),
    milestone(88, "Waiting until shoot infrastructure has been destroyed"),
];

/// The next milestone of an operation that is this far.
pub(super) fn after(operation: OperationType, progress: i32) -> Option<&'static Milestone> {
    let way: &[Milestone] = match operation {
        OperationType::Delete => &DELETING,
        _ => &MAKING,
    };
    way.iter().find(|milestone| milestone.progress > progress)
}

pub(super) fn started(operation: OperationType) -> &'static str {
    match operation {
        OperationType::Delete => "Deletion of Shoot cluster in progress.",
        _ => "Reconciliation of Shoot cluster initialized.",
    }
}

pub(super) fn succeeded(operation: OperationType) -> &'static str {
    match operation {
        OperationType::Delete => "Shoot cluster has been successfully deleted.",
        _ => "Shoot cluster has been successfully reconciled.",
    }
}

/// The condition that flapping is about.
pub(super) const API_SERVER_AVAILABLE: &str = "APIServerAvailable";

/// A condition of a Shoot, and what Gardener says when it holds.
pub(super) struct ConditionWords {
    pub(super) type_: &'static str,
    reason: &'static str,
    message: &'static str,
}

pub(super) const CONDITIONS: [ConditionWords; 5] = [
    ConditionWords {
        type_: API_SERVER_AVAILABLE,
        reason: "HealthzRequestSucceeded",
        message: "API server /healthz endpoint responded with success status code.",
    },
    ConditionWords {
        type_: "ControlPlaneHealthy",
        reason: "ControlPlaneRunning",
        message: "All control plane components are healthy.",
    },
    ConditionWords {
        type_: "ObservabilityComponentsHealthy",
        reason: "ObservabilityComponentsRunning",
        message: "All observability components are healthy.",
    },
    ConditionWords { type_: "EveryNodeReady", reason: "EveryNodeReady", message: "All nodes are ready." },
    ConditionWords {
        type_: "SystemComponentsHealthy",
        reason: "SystemComponentsRunning",
        message: "All system components are healthy.",
    },
];

impl ConditionWords {
    /// The condition with this status; its transition time moves only if the status did.
    pub(super) fn condition(&self, status: &str, before: &ShootStatus, now: Timestamp) -> ShootCondition {
        let old = before.conditions.iter().find(|condition| condition.type_ == self.type_);
        let (reason, message) = match status {
            "False" => ("HealthzRequestFailed", "Request to API server /healthz endpoint failed."),
            _ => (self.reason, self.message),
        };
        ShootCondition {
            type_: self.type_.to_owned(),
            status: status.to_owned(),
            last_transition_time: match old {
                Some(old) if old.status == status => old.last_transition_time.clone(),
                _ => now.into(),
            },
            last_update_time: now.into(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            codes: Vec::new(),
        }
    }
}
