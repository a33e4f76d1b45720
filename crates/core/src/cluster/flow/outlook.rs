//! What has to happen before a Cluster goes on, for people who ask.

use super::{Decision, Step, is_paused};
use crate::{condition, failure};
use allotment_api::{
    condition::Condition,
    kyma::{Cluster, ClusterCondition, ClusterPhase},
};
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
    /// The platform: the operator has failed at something, and tries again.
    Platform,
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
        let mut words = provisioned.map(|condition| condition.message.clone()).unwrap_or_default();
        let failure = failure::told(&self.status.conditions);
        let awaited = match (&self.step, self.status.phase) {
            _ if is_paused(cluster) => Awaited::Pause,
            _ if failure.is_some() => Awaited::Platform,
            // It was tried, and the answer is in the status. It is tried again from time to time.
            (Step::Create(_) | Step::Update(_), _) if refusal(cluster).is_some() => Awaited::Person,
            (Step::Rest, _) if self.waits_for_turn => Awaited::Turn,
            (Step::Rest, Some(ClusterPhase::Ready)) => Awaited::Nothing,
            (Step::Rest, Some(ClusterPhase::Pending | ClusterPhase::Waiting)) => Awaited::Account,
            (Step::Rest, Some(ClusterPhase::Blocked)) => Awaited::Platform,
            (Step::Rest, Some(ClusterPhase::Failed | ClusterPhase::Invalid | ClusterPhase::Unhealthy)) => {
                Awaited::Person
            }
            (Step::Rest, _) if self.is_refused() => Awaited::Person,
            (Step::Rest, _) => Awaited::Gardener,
            // The operator looks again and again, and nothing comes of it by itself.
            (Step::Check, Some(ClusterPhase::Failed)) => Awaited::Person,
            _ => Awaited::Operator,
        };
        let said = match awaited {
            Awaited::Platform => failure,
            Awaited::Person => refusal(cluster),
            _ => None,
        };
        if let Some(said) = said {
            words.clone_from(&said.message);
        }
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

/// The garden's refusal of what this generation of a Cluster asks for, as its status has it.
fn refusal(cluster: &Cluster) -> Option<&Condition> {
    let status = cluster.status.as_ref()?;
    let provisioned = condition::find(&status.conditions, ClusterCondition::ClusterProvisioned.as_str());
    let is_of_now = status.observed_generation == cluster.metadata.generation;
    provisioned.filter(|condition| is_of_now && condition.reason == "Refused")
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing, it is as asked for",
            Self::Operator => "the operator",
            Self::Account => "an account",
            Self::Gardener => "Gardener",
            Self::Turn => "its turn in the rollout",
            Self::Platform => "the platform",
            Self::Person => "a person",
            Self::Pause => "the annotation allotment.dev/pause to go",
        })
    }
}
