//! What of a new status is worth an Event.

use crate::condition;
use allotment_api::{
    condition::{Condition, ConditionStatus},
    kyma::{Cluster, ClusterCondition, ClusterStatus},
};

/// An Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// One of a fixed list.
    pub reason: &'static str,
    /// For people.
    pub note: String,
    /// Whether somebody should look.
    pub is_warning: bool,
}

/// What a status says that the one that the Cluster has does not. `adopts` is the UID of the Shoot that the platform lets the
/// Cluster adopt.
pub fn news(cluster: &Cluster, after: &ClusterStatus, adopts: Option<&str>) -> Vec<News> {
    let before = cluster.status.as_ref();
    let mut all = Vec::new();
    let mut tell =
        |reason: &'static str, note: String, is_warning: bool| all.push(News { reason, note, is_warning });
    let uid_before = before.and_then(|before| before.shoot_uid.as_ref());
    if after.shoot_uid.is_some() && after.shoot_uid.as_ref() != uid_before {
        let name = after.shoot_name.clone().unwrap_or_default();
        let account = after.subscription.as_ref().and_then(|subscription| subscription.binding_name.clone());
        let is_adopted = adopts == after.shoot_uid.as_deref();
        let reason = if is_adopted { "ShootAdopted" } else { "ShootCreated" };
        tell(reason, format!("Shoot {name} in account {}", account.unwrap_or_default()), false);
    }
    let retries_before = before.and_then(|before| before.retries).unwrap_or(0);
    if let Some(retries) = after.retries.filter(|retries| *retries > retries_before) {
        tell("ShootRetried", format!("Gardener is asked to try again, for the {retries}. time"), false);
    }
    let ignored = |status: &ClusterStatus| -> Option<Condition> {
        condition::find(&status.conditions, ClusterCondition::ShootAdopted.as_str()).cloned()
    };
    if let (None, Some(said)) = (before.and_then(ignored), ignored(after)) {
        tell("AnnotationIgnored", said.message, true);
    }
    let provisioned = |status: &ClusterStatus| -> Option<Condition> {
        condition::find(&status.conditions, ClusterCondition::ClusterProvisioned.as_str()).cloned()
    };
    let (was, is) = (before.and_then(provisioned), provisioned(after));
    let Some(is) = is else { return all };
    if was.as_ref().is_some_and(|was| was.reason == is.reason && was.status == is.status) {
        return all;
    }
    let (reason, is_warning) = match (is.status, is.reason.as_str()) {
        (ConditionStatus::True, _) => ("ShootReady", false),
        (_, "ShootFailed") => ("ShootFailed", true),
        (_, "ShootMissing") => ("ShootMissing", true),
        (_, "ShootTaken") => ("ShootTaken", true),
        (_, "Invalid") => ("Invalid", true),
        (_, "ConfigurationInvalid" | "NoCloudProfile") => ("Blocked", true),
        (_, "NoAccount") => ("NoAccount", true),
        (_, "WaitingForAccount") => ("WaitingForAccount", false),
        (_, "Refused") => ("ShootRefused", true),
        (_, "DeletionProtected") => ("DeletionProtected", true),
        (_, "DeletionRefused") => ("DeletionRefused", true),
        (_, "OtherAccount") => ("OtherAccount", true),
        (_, "Unhealthy") => ("ShootUnhealthy", true),
        (_, "Unreachable" | "NotAdmin") => ("ClusterUnreachable", true),
        _ => return all,
    };
    tell(reason, is.message, is_warning);
    all
}
