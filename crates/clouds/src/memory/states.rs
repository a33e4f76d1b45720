//! The states that a deletion goes through, in the words of AWS.

use super::row;
use allotment_core::cleanup::{Kind, Treatment, When, attribute::STATE};
use std::time::Duration;

/// AWS shows a terminated instance for about an hour. No settle time is longer, so second listings see it.
pub(super) const SHOWN_WHEN_GONE: Duration = Duration::from_secs(3600);

/// The state of an interface or volume that somebody holds.
pub(super) const IN_USE: &str = "in-use";

/// Its state afterwards.
pub(super) const AVAILABLE: &str = "available";

/// Whether the state tells if somebody holds an item of this kind.
pub(super) fn shows_holder(kind: &str) -> bool {
    matches!(kind, "NetworkInterface" | "Volume")
}

/// The state of an item that is being deleted; none if its kind does not show that.
pub(super) fn leaving(kind: &str) -> Option<&'static str> {
    match kind {
        "Instance" => Some("shutting-down"),
        "AutoScalingGroup" => Some("Delete in progress"),
        _ => row(kind).is_some_and(has_leaving_state).then_some("deleting"),
    }
}

/// The state of an item that is gone and still shown; none if it is not shown.
pub(super) fn gone(kind: &str) -> Option<&'static str> {
    match kind {
        "Instance" => Some("terminated"),
        "NatGateway" => Some("deleted"),
        _ => None,
    }
}

fn has_leaving_state(kind: &Kind) -> bool {
    kind.rules.iter().any(|(when, treatment)| {
        let is_state = matches!(when, When::Is(STATE, _) | When::IsNot(STATE, _));
        is_state && matches!(treatment, Treatment::Leaving(_))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use allotment_core::cleanup::{Cloud, Item, ItemId, Place, kinds::table};

    #[test]
    fn the_table_knows_every_state() {
        for kind in table(Cloud::Aws).kinds {
            let has = |state| Item::new(kind.name(), Place::of("eu-1"), ItemId::of("x")).with(STATE, state);
            if let Some(state) = gone(kind.name) {
                assert!(kind.is_gone(&has(state)), "{}", kind.name);
            }
            let Some(state) = leaving(kind.name) else { continue };
            assert!(!kind.is_gone(&has(state)), "{}", kind.name);
            let knows = kind.rules.iter().any(|(when, treatment)| {
                let is = match when {
                    When::Is(STATE, values) => values.contains(&state),
                    When::IsNot(STATE, values) => !values.contains(&state),
                    When::StartsWith(STATE, starts) => starts.iter().any(|start| state.starts_with(start)),
                    _ => false,
                };
                is && matches!(treatment, Treatment::Leaving(_))
            });
            assert!(knows, "{}: {state}", kind.name);
        }
    }
}
