//! When Gardener is asked to try again what it has given up.

use allotment_api::gardener::Shoot;
use jiff::{SignedDuration, Timestamp};

/// What an operation failed of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// It may well work the next time.
    Passing,
    /// Somebody has to do something outside of us: credentials, quotas.
    Outside,
    /// What is asked for cannot be: only another spec helps.
    Asked,
}

/// The worst of its codes decides. Gardener's own table says which of them it would retry by itself. Nobody can ask for
/// something else once it is to be deleted.
pub(crate) fn class(codes: &[String], is_ending: bool) -> Class {
    let is_any = |list: &[&str]| codes.iter().any(|code| list.contains(&code.as_str()));
    if is_any(&["ERR_CONFIGURATION_PROBLEM"]) {
        if is_ending { Class::Outside } else { Class::Asked }
    } else if is_any(&[
        "ERR_INFRA_UNAUTHENTICATED",
        "ERR_INFRA_UNAUTHORIZED",
        "ERR_INFRA_QUOTA_EXCEEDED",
        "ERR_INFRA_DEPENDENCIES",
    ]) {
        Class::Outside
    } else {
        Class::Passing
    }
}

/// When to ask again after `retries` times; none: never by itself.
pub(crate) fn due(shoot: &Shoot, class: Class, retries: i32) -> Option<Timestamp> {
    let (first_minutes, most_minutes) = match class {
        // As long as an outage of a cloud may take, without pressing.
        Class::Passing => (1, 60),
        // People are slower.
        Class::Outside => (15, 360),
        Class::Asked => return None,
    };
    let operation = shoot.status.as_ref()?.last_operation.as_ref()?;
    let minutes = (first_minutes << retries.clamp(0, 16)).min(most_minutes);
    operation.last_update_time.0.checked_add(SignedDuration::from_mins(minutes)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_worst_code_decides() {
        let of =
            |codes: &[&str]| class(&codes.iter().map(|code| (*code).to_owned()).collect::<Vec<_>>(), false);
        assert_eq!(of(&[]), Class::Passing);
        assert_eq!(of(&["ERR_INFRA_RATE_LIMITS_EXCEEDED"]), Class::Passing);
        assert_eq!(of(&["ERR_INFRA_RATE_LIMITS_EXCEEDED", "ERR_INFRA_QUOTA_EXCEEDED"]), Class::Outside);
        assert_eq!(of(&["ERR_INFRA_UNAUTHORIZED", "ERR_CONFIGURATION_PROBLEM"]), Class::Asked);
        assert_eq!(class(&["ERR_CONFIGURATION_PROBLEM".to_owned()], true), Class::Outside);
    }

    #[test]
    fn each_time_later_up_to_a_cap() {
        let failed: Shoot = serde_json::from_value(json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot", "metadata": {"name": "a"},
            "spec": {"region": "r", "provider": {"type": "aws"}},
            "status": {"lastOperation": {
                "type": "Create", "state": "Failed", "progress": 3, "description": "", "lastUpdateTime": "2026-01-01T00:00:00Z",
            }},
        }))
        .unwrap();
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let minutes =
            |class, retries| due(&failed, class, retries).map(|due| due.duration_since(start).as_mins());
        assert_eq!([0, 1, 2, 9].map(|n| minutes(Class::Passing, n)), [Some(1), Some(2), Some(4), Some(60)]);
        assert_eq!([0, 9].map(|n| minutes(Class::Outside, n)), [Some(15), Some(360)]);
        assert_eq!(minutes(Class::Asked, 0), None);
    }
}
