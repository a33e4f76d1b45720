//! The particulars of one cloud, as data. Everything else is shared.

use super::{Nature, models, shoot::Shoot};
use allotment_core::cleanup::{
    Cloud as CloudName, CloudAccountId, Item, Kind, Place, Treatment, When, attribute::STATE, kinds::table,
};
use std::time::Duration;

/// The particulars of one cloud.
pub(super) struct Model {
    pub(super) cloud: CloudName,
    pub(super) codes: Codes,
    pub(super) permissions: Permissions,
    pub(super) states: States,
    pub(super) witness: Witness,
    /// Kinds of which an item keeps one of another kind in the same network, though neither names the other.
    pub(super) in_same_network: &'static [(&'static str, &'static str)],
    /// The principal whose credentials clients have.
    pub(super) principal: fn(&CloudAccountId) -> String,
    /// The items that a new account has outside of all places.
    pub(super) of_account: fn(&CloudAccountId) -> Vec<Item>,
    /// The items that a new account has in one place.
    pub(super) of_place: fn(&CloudAccountId, &Place) -> Vec<Item>,
    /// The items that a Shoot leaves behind.
    pub(super) of_shoot: fn(&Shoot<'_>) -> Vec<(Item, Nature)>,
}

/// The cloud's codes of refusals.
pub(super) struct Codes {
    pub(super) revoked: &'static str,
    pub(super) denied: &'static str,
    pub(super) no_account: &'static str,
    pub(super) no_place: &'static str,
    pub(super) blocked: &'static str,
    /// The same for items that are in no place.
    pub(super) blocked_globally: &'static str,
    pub(super) managed: &'static str,
    pub(super) inseparable: &'static str,
}

/// The permissions of calls that concern no kind.
pub(super) struct Permissions {
    pub(super) identify: &'static str,
    pub(super) places: &'static str,
}

/// The states that items go through, in the cloud's words.
pub(super) struct States {
    /// An item that is being deleted, for kinds that show it.
    pub(super) leaving: &'static str,
    /// Kinds that have another word for it.
    pub(super) leaving_of: &'static [(&'static str, &'static str)],
    /// Kinds that lists show for a while after their end.
    pub(super) gone_of: &'static [(&'static str, &'static str)],
    /// The time for which lists show them.
    pub(super) shown_when_gone: Duration,
    /// Kinds whose state tells whether somebody holds an item: the kind, the state of one that is held, and of one that is free.
    pub(super) held: &'static [(&'static str, &'static str, &'static str)],
}

/// The second source of a cloud.
pub(super) enum Witness {
    /// Counts name what they saw.
    Names {
        /// How permissions begin of the service whose items a count without kinds shows, by their tags.
        tags_of: &'static str,
    },
    /// Counts are numbers, and one call has all of those with the same permission.
    Numbers {
        /// Counts that add up an attribute of each item, and not the items.
        sums: &'static [(&'static str, &'static str)],
        /// Counts of kinds without a row.
        without_row: &'static [(&'static str, &'static str)],
    },
}

/// The particulars of a cloud.
pub(super) fn model(cloud: CloudName) -> &'static Model {
    match cloud {
        CloudName::Aws => &models::aws::MODEL,
        CloudName::Azure => &models::azure::MODEL,
        CloudName::Gcp => &models::gcp::MODEL,
        CloudName::OpenStack => &models::openstack::MODEL,
        CloudName::Alicloud => &models::alicloud::MODEL,
    }
}

impl Model {
    /// The row of a kind in the table of this cloud.
    pub(super) fn row(&self, kind: &str) -> Option<&'static Kind> {
        table(self.cloud).kind(kind)
    }

    /// The state of an item that is being deleted; none if its kind does not show that.
    pub(super) fn leaving(&self, kind: &str) -> Option<&'static str> {
        let own = self.states.leaving_of.iter().find(|(name, _)| *name == kind).map(|(_, state)| *state);
        own.or_else(|| self.row(kind).is_some_and(has_leaving_state).then_some(self.states.leaving))
    }

    /// The state of an item that is gone and still shown; none if it is not shown.
    pub(super) fn gone(&self, kind: &str) -> Option<&'static str> {
        self.states.gone_of.iter().find(|(name, _)| *name == kind).map(|(_, state)| *state)
    }

    /// The states of an item that somebody holds, and of one that is free; none if its kind does not show that.
    pub(super) fn held(&self, kind: &str) -> Option<(&'static str, &'static str)> {
        let found = self.states.held.iter().find(|(name, ..)| *name == kind);
        found.map(|(_, held, free)| (*held, *free))
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
    use allotment_core::cleanup::ItemId;

    /// Whether the rules of a kind take an item in this state for one that leaves.
    fn leaves(kind: &Kind, state: &str) -> bool {
        kind.rules.iter().any(|(when, treatment)| {
            let is = match when {
                When::Is(STATE, values) => values.contains(&state),
                When::IsNot(STATE, values) => !values.contains(&state),
                When::StartsWith(STATE, starts) => starts.iter().any(|start| state.starts_with(start)),
                _ => false,
            };
            is && matches!(treatment, Treatment::Leaving(_))
        })
    }

    #[test]
    fn the_tables_know_every_state() {
        for cloud in CloudName::ALL {
            let model = model(cloud);
            for kind in table(cloud).kinds {
                let has =
                    |state| Item::new(kind.name(), Place::of("eu-1"), ItemId::of("x")).with(STATE, state);
                if let Some(state) = model.gone(kind.name) {
                    assert!(kind.is_gone(&has(state)), "{cloud} {}", kind.name);
                }
                if let Some((_, free)) = model.held(kind.name) {
                    assert!(!leaves(kind, free) && !kind.is_gone(&has(free)), "{cloud} {}", kind.name);
                }
                let Some(state) = model.leaving(kind.name) else { continue };
                assert!(!kind.is_gone(&has(state)), "{cloud} {}", kind.name);
                assert!(leaves(kind, state), "{cloud} {}: {state}", kind.name);
            }
        }
    }

    #[test]
    fn every_kind_and_count_that_a_model_names_is_in_its_table() {
        for cloud in CloudName::ALL {
            let (model, table) = (model(cloud), table(cloud));
            let states = &model.states;
            let kinds = states.leaving_of.iter().chain(states.gone_of).map(|(kind, _)| *kind);
            let kinds = kinds.chain(states.held.iter().map(|(kind, ..)| *kind));
            let kinds = kinds.chain(model.in_same_network.iter().flat_map(|(one, other)| [*one, *other]));
            for kind in kinds {
                assert!(table.kind(kind).is_some(), "{cloud} {kind}");
            }
            let Witness::Numbers { sums, without_row } = &model.witness else { continue };
            for (count, _) in sums.iter().chain(*without_row) {
                assert!(table.counts.iter().any(|known| known.name == *count), "{cloud} {count}");
            }
            for (_, kind) in *without_row {
                assert!(table.kind(kind).is_none(), "{cloud} {kind} has a row");
            }
        }
    }
}
