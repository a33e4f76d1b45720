//! The items that keep each other from being deleted.

use super::{faults::denied, model::Model};
use allotment_core::cleanup::{
    CloudAccountId, Item, Refusal, Treatment, When,
    attribute::{CLUSTER, MANAGED, NETWORK, OWNER, PRINCIPAL, STATE},
};

/// The attribute with the ids, separated by commas, of items that an item holds until it is gone: the interfaces and
/// volumes of an instance, the address and the interface of a NAT gateway. They cannot be deleted before.
pub const HOLDS: &str = "holds";

/// The attribute, `true`, of an item that goes with its holder. Others are free afterwards.
pub const GOES_WITH_HOLDER: &str = "goesWithHolder";

/// Attributes whose values are no ids of items, though they may look like one.
const NO_REFERENCES: &[&str] = &[STATE, OWNER, CLUSTER, PRINCIPAL];

/// Whether an item keeps another one from being deleted. Whatever an item holds does not keep it.
pub(super) fn blocks(model: &Model, item: &Item, other: &Item) -> bool {
    if !can_meet(item, other) || item.key() == other.key() {
        return false;
    }
    is_in_its_network(model, item, other)
        || (names(item, other) && !is_part_of(model, item, other) && !holds(other, item))
}

/// Items of two places know nothing of each other. Those of a whole account are known everywhere.
fn can_meet(item: &Item, other: &Item) -> bool {
    item.place == other.place || item.place.is_global() || other.place.is_global()
}

/// Whether the table lets an item go with another one: a default security group with its VPC, a rule with its group.
pub(super) fn is_part_of(model: &Model, item: &Item, whole: &Item) -> bool {
    let Some(row) = model.row(item.kind.as_str()) else { return false };
    can_meet(item, whole)
        && row.rules.iter().any(|(when, treatment)| match treatment {
            Treatment::GoesWith { attribute, kind } => {
                let is_whole = *kind == whole.kind.as_str();
                is_whole && item.attribute(attribute) == Some(whole.id.as_str()) && matches(when, item)
            }
            _ => false,
        })
}

/// Whether an item holds another one.
pub(super) fn holds(item: &Item, other: &Item) -> bool {
    let held = item.attribute(HOLDS).into_iter().flat_map(|ids| ids.split(','));
    can_meet(item, other) && held.into_iter().any(|id| id == other.id.as_str())
}

/// Refuses deletions that the cloud accepts for nobody, or not for this account.
pub(super) fn is_deletable(model: &Model, item: &Item, account: &CloudAccountId) -> Result<(), Refusal> {
    if item.attribute(OWNER).is_some_and(|owner| owner != account.as_str()) {
        let permission = model.row(item.kind.as_str()).and_then(|row| row.delete.first());
        return Err(denied(model, permission.copied().unwrap_or_default()));
    }
    if item.attribute(MANAGED) == Some("true") {
        let by = format!("a service manages {}", item.id);
        return Err(Refusal::Locked { code: model.codes.managed.to_owned(), by });
    }
    if is_inseparable(model, item) {
        let message = format!("{} cannot be deleted by a user", item.id);
        return Err(Refusal::Other { code: model.codes.inseparable.to_owned(), message });
    }
    Ok(())
}

/// The refusal that names a blocker.
pub(super) fn blocked_by(model: &Model, blocker: &Item) -> Refusal {
    let codes = &model.codes;
    let code = if blocker.place.is_global() { codes.blocked_globally } else { codes.blocked };
    Refusal::Blocked { code: code.to_owned(), by: format!("{} {}", blocker.kind, blocker.id) }
}

/// Rules of security groups can go alone as well; default groups, main route tables and default ACLs cannot.
fn is_inseparable(model: &Model, item: &Item) -> bool {
    let rules = model.row(item.kind.as_str()).map(|row| row.rules).unwrap_or_default();
    rules.iter().any(|(when, treatment)| {
        let is_part = matches!(treatment, Treatment::GoesWith { .. });
        is_part && !matches!(when, When::Always) && matches(when, item)
    })
}

/// The conditions under which the table lets an item go with another one.
fn matches(when: &When, item: &Item) -> bool {
    match when {
        When::Always => true,
        When::Is(name, values) => item.attribute(name).is_some_and(|value| values.contains(&value)),
        When::StartsWith(name, starts) => {
            item.attribute(name).is_some_and(|value| starts.iter().any(|start| value.starts_with(start)))
        }
        When::Named(names) => item.name.as_deref().is_some_and(|name| names.contains(&name)),
        When::All(all) => all.iter().all(|when| matches(when, item)),
        _ => false,
    }
}

fn names(item: &Item, other: &Item) -> bool {
    let references = item.attributes.iter().filter(|(name, _)| !NO_REFERENCES.contains(&name.as_str()));
    let mut ids = references.flat_map(|(_, value)| value.split(','));
    ids.any(|id| id == other.id.as_str())
}

/// Whether the cloud does not let an item out of a network while another one is in it.
fn is_in_its_network(model: &Model, item: &Item, other: &Item) -> bool {
    let kinds = (item.kind.as_str(), other.kind.as_str());
    let network = item.attribute(NETWORK);
    model.in_same_network.contains(&kinds) && network.is_some() && network == other.attribute(NETWORK)
}
