//! Why the cleaning of an account does not go on, for the person who reads it at night.

use super::{Item, ItemKey, Left, Plan, Refusal, UnknownCell};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why the cleaning of an account does not go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stuck {
    /// The item; none if the whole account is concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemKey>,
    /// The cloud's code, or one of ours: `AccountIdUnknown`, `NotSupported`. Bounded: it is a label of a metric.
    pub code: String,
    /// The reason.
    pub because: String,
    /// The blocker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
    /// What a person has to do.
    pub remedy: String,
    /// How many more items are left.
    pub others: usize,
}

impl fmt::Display for Stuck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { item, code, because, blocked_by, remedy, others } = self;
        write!(formatter, "{code}: ")?;
        if let Some(item) = item {
            write!(formatter, "{item}: ")?;
        }
        formatter.write_str(because)?;
        if let Some(blocker) = blocked_by {
            write!(formatter, " (blocked by {blocker})")?;
        }
        if *others > 0 {
            write!(formatter, "; {others} more items are left")?;
        }
        write!(formatter, "; {remedy}")
    }
}

/// A deletion that the cloud refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedItem {
    /// The item.
    pub key: ItemKey,
    /// The refusal.
    pub refusal: Refusal,
}

/// So many blockers are named.
const MOST_BLOCKERS: usize = 3;

/// Clouds say that something depends on an item, rarely which: the items that are left and name it do.
fn blockers(plan: &Plan, key: &ItemKey) -> Option<String> {
    let not_deleted = plan.leaving.iter().chain(&plan.immovable).map(|other| &other.item);
    let left = plan.deletions().map(|planned| &planned.item).chain(not_deleted);
    let names_it = |item: &&Item| {
        let mut values = item.attributes.values();
        item.place == key.place && item.id != key.id && values.any(|value| value == key.id.as_str())
    };
    let named: Vec<String> =
        left.filter(names_it).take(MOST_BLOCKERS).map(|item| format!("{} {}", item.kind, item.id)).collect();
    (!named.is_empty()).then(|| named.join(", "))
}

impl Stuck {
    /// The whole account is concerned.
    pub fn account(code: &str, because: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (code, because, remedy) = (code.to_owned(), because.into(), remedy.into());
        Self { item: None, code, because, blocked_by: None, remedy, others: 0 }
    }

    /// A plan that nothing changes any more: the first item with a reason is named.
    pub fn by_plan(plan: &Plan, refused: &[RefusedItem]) -> Option<Self> {
        let remaining = plan.remaining();
        let others = remaining.len().saturating_sub(1);
        // A refusal that waits for something else explains less than one that does not.
        let still = || refused.iter().filter(|refused| remaining.contains(&refused.key));
        let lasting = still().find(|refused| !refused.refusal.is_temporary());
        if let Some(refused) = lasting.or_else(|| still().next()) {
            let stuck = Self::by_refusal(Some(refused.key.clone()), &refused.refusal);
            let blocked_by = blockers(plan, &refused.key).or(stuck.blocked_by);
            return Some(Self { others, blocked_by, ..stuck });
        }
        if let Some(immovable) = plan.immovable.first() {
            return Some(Self {
                item: Some(immovable.item.key()),
                others,
                ..Self::account("Immovable", immovable.because.clone(), immovable.remedy.clone())
            });
        }
        if let Some(unknown) = plan.unknown.first() {
            return Some(Self { others: remaining.len(), ..Self::unknown(unknown) });
        }
        let (item, because) = match plan.leaving.first() {
            Some(leaving) => (leaving.item.key(), leaving.because.clone()),
            None => {
                (remaining.into_iter().next()?, "the deletion was accepted, and it is still there".to_owned())
            }
        };
        let remedy = "look into the account for whatever holds it, or delete it by hand";
        Some(Self { item: Some(item), others, ..Self::account("NotGone", because, remedy) })
    }

    /// A refused call.
    pub fn by_refusal(item: Option<ItemKey>, refusal: &Refusal) -> Self {
        let remedy = match refusal {
            Refusal::Denied { action, .. } => format!("grant {action}, or correct the credentials"),
            Refusal::Locked { .. } => "remove the lock".to_owned(),
            Refusal::Blocked { .. } => "delete the blocker, or name both in the keep list".to_owned(),
            Refusal::Throttled { .. } => "lower the rate limits, or raise those of the account".to_owned(),
            Refusal::Other { .. } if item.is_none() => "correct the credentials of its pool entry".to_owned(),
            Refusal::Gone | Refusal::Transient { .. } | Refusal::Other { .. } => {
                "look at the cloud's status page, or delete it by hand".to_owned()
            }
        };
        let blocked_by = refusal.blocked_by().map(str::to_owned);
        Self { item, blocked_by, ..Self::account(refusal.code(), refusal.to_string(), remedy) }
    }

    /// A cell that nobody could list.
    pub fn unknown(cell: &UnknownCell) -> Self {
        let place = &cell.place;
        let because = match &cell.kind {
            Some(kind) => format!("{kind} in {place} is unknown: {}", cell.because),
            None => format!("{place} is unknown: {}", cell.because),
        };
        let remedy = match (&cell.missing, &cell.kind) {
            (Some(missing), Some(kind)) => format!(
                "grant {missing}; or, if the credentials cannot create a {kind} either, add it to assumeAbsent"
            ),
            (Some(missing), None) => format!("grant {missing}"),
            (None, _) => "it is listed again later".to_owned(),
        };
        Self::account("Unknown", because, remedy)
    }

    /// Something that only the second listing or the witness found.
    pub fn left(left: &Left, others: usize) -> Self {
        match left {
            Left::Listing(key) => Self {
                item: Some(key.clone()),
                others,
                ..Self::account("Left", "it is left", "delete it by hand")
            },
            Left::Witness { place, count, ids, surplus } => {
                let named = match ids.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ") {
                    ids if ids.is_empty() => String::new(),
                    ids => format!(" ({ids})"),
                };
                let because =
                    format!("{count} in {place} shows {surplus} more than the listings explain{named}");
                let remedy = "delete by hand whatever the table does not know, or take a baseline without it";
                Self { others, ..Self::account("WitnessDisagrees", because, remedy) }
            }
        }
    }
}
