//! What a Shoot's status means.

use crate::{
    access::kubeconfig::LONGEST_SERVER_BYTES,
    condition::Verdict,
    text::{LONGEST_MESSAGE, bounded},
};
use allotment_api::{
    condition::ConditionStatus,
    gardener::{LastOperation, OperationState, OperationType, Shoot, ShootStatus},
    kyma::{ClusterCondition, OperationStatus},
};

/// How far Gardener is with a Shoot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It works on it, or has not begun.
    Working,
    /// It has done what the spec says.
    Done,
    /// It has given up until somebody says `retry` or changes the spec.
    GivenUp,
}

pub(crate) fn stage(shoot: &Shoot) -> Stage {
    let Some(status) = &shoot.status else { return Stage::Working };
    let Some(operation) = &status.last_operation else { return Stage::Working };
    match operation.state {
        OperationState::Failed => Stage::GivenUp,
        // What succeeded may have been an older spec.
        OperationState::Succeeded
            if status.observed_generation == shoot.metadata.generation
                && operation.type_ != OperationType::Delete =>
        {
            Stage::Done
        }
        _ => Stage::Working,
    }
}

/// Where the API server can be reached: from outside if possible.
pub(crate) fn address(status: Option<&ShootStatus>) -> Option<String> {
    let addresses = &status?.advertised_addresses;
    let named = |name: &str| addresses.iter().find(|address| address.name == name);
    let address = ["external", "internal", "unmanaged"].iter().find_map(|name| named(name))?;
    // The schema of our status has the same bound; Gardener's own addresses have some 100 bytes.
    Some(address.url.clone()).filter(|url| url.len() <= LONGEST_SERVER_BYTES)
}

/// What Gardener did last, in its words.
pub(crate) fn operation(status: Option<&ShootStatus>) -> Option<OperationStatus> {
    let LastOperation { type_, state, progress: _, description, last_update_time } =
        status?.last_operation.as_ref()?;
    Some(OperationStatus {
        type_: word(type_),
        state: word(state),
        description: bounded(description.clone(), LONGEST_MESSAGE),
        last_update_time: Some(last_update_time.clone()),
    })
}

/// Of the operation under way, in per cent.
pub(crate) fn progress(status: Option<&ShootStatus>) -> i32 {
    status.and_then(|status| status.last_operation.as_ref()).map_or(0, |operation| operation.progress)
}

/// What Gardener says went wrong, and its codes.
pub(crate) fn errors(status: Option<&ShootStatus>) -> (String, Vec<String>) {
    let Some(status) = status else { return (String::new(), Vec::new()) };
    let mut codes: Vec<String> = status.last_errors.iter().flat_map(|error| error.codes.clone()).collect();
    codes.sort_unstable();
    codes.dedup();
    let words: Vec<&str> = status.last_errors.iter().map(|error| error.description.as_str()).collect();
    let words = match (words.is_empty(), &status.last_operation) {
        (true, Some(operation)) => operation.description.clone(),
        _ => words.join("; "),
    };
    (words, codes)
}

/// Gardener's own conditions. `Progressing` is between the two: a Shoot that was healthy counts as healthy until Gardener
/// says that it is not.
pub(crate) fn health(status: Option<&ShootStatus>, was_healthy: bool) -> Verdict {
    let conditions = status.map(|status| status.conditions.as_slice()).unwrap_or_default();
    let verdict = |status, reason, message| Verdict {
        type_: ClusterCondition::ShootHealthy.as_str(),
        status,
        reason,
        message,
    };
    if conditions.is_empty() {
        return verdict(ConditionStatus::Unknown, "NotReported", "Gardener has not looked yet".to_owned());
    }
    let holds = |status: &str| status == "True" || (was_healthy && status == "Progressing");
    let broken: Vec<String> = conditions
        .iter()
        .filter(|condition| !holds(&condition.status))
        .map(|condition| format!("{} is {}: {}", condition.type_, condition.status, condition.message))
        .collect();
    if broken.is_empty() {
        return verdict(ConditionStatus::True, "Healthy", "all of Gardener's conditions hold".to_owned());
    }
    verdict(ConditionStatus::False, "Unhealthy", broken.join("; "))
}

/// Whether Gardener has not decided yet about any of its conditions that does not hold.
pub(crate) fn is_progressing(status: Option<&ShootStatus>) -> bool {
    let conditions = status.map(|status| status.conditions.as_slice()).unwrap_or_default();
    conditions.iter().all(|condition| matches!(condition.status.as_str(), "True" | "Progressing"))
}

/// The word that Gardener uses, which is the name of the variant.
fn word(value: impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => "Unknown".to_owned(),
    }
}
