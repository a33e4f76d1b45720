//! What has to happen before a Cluster goes on, for people who ask.

use super::{Decision, Step, is_paused};
use crate::condition;
use allotment_api::kyma::{Cluster, ClusterCondition, ClusterPhase};
use serde::Serialize;
use std::fmt;

/// What a Cluster waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Awaited {
    /// Nothing: it is as asked for.
    Nothing,
    /// The operator has something to do at once.
    Operator,
    /// A free account.
    Account,
    /// Gardener works on it.
    Gardener,
    /// Its turn in the rollout of a configuration.
    Turn,
    /// Somebody who looks.
    Person,
    /// Whoever paused it.
    Pause,
}

impl Decision {
    /// What a Cluster waits for about which this was decided, and in which words its status says so.
    pub fn awaited(&self, cluster: &Cluster) -> (Awaited, String) {
        let provisioned =
            condition::find(&self.status.conditions, ClusterCondition::ClusterProvisioned.as_str());
        let words = provisioned.map(|condition| condition.message.clone()).unwrap_or_default();
        let awaited = match (&self.step, self.status.phase) {
            _ if is_paused(cluster) => Awaited::Pause,
            (Step::Rest, _) if self.waits_for_turn => Awaited::Turn,
            (Step::Rest, Some(ClusterPhase::Ready)) => Awaited::Nothing,
            (Step::Rest, Some(ClusterPhase::Pending | ClusterPhase::Waiting)) => Awaited::Account,
            (Step::Rest, Some(ClusterPhase::Failed | ClusterPhase::Unhealthy)) => Awaited::Person,
            (Step::Rest, _) if self.is_refused() => Awaited::Person,
            (Step::Rest, _) => Awaited::Gardener,
            // The operator looks again and again, and nothing comes of it by itself.
            (Step::Check, Some(ClusterPhase::Failed)) => Awaited::Person,
            _ => Awaited::Operator,
        };
        (awaited, words)
    }

    fn is_refused(&self) -> bool {
        let provisioned =
            condition::find(&self.status.conditions, ClusterCondition::ClusterProvisioned.as_str());
        provisioned.is_some_and(|condition| {
            matches!(
                condition.reason.as_str(),
                "DeletionProtected" | "DeletionRefused" | "ShootFailed" | "Unreachable"
            )
        })
    }
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing, it is as asked for",
            Self::Operator => "the operator",
            Self::Account => "an account",
            Self::Gardener => "Gardener",
            Self::Turn => "its turn in the rollout",
            Self::Person => "a person",
            Self::Pause => "the annotation allotment.dev/pause to go",
        })
    }
}
