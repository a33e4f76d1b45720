//! Why the cleaning of an account does not go on, for the person who reads it at night.

use super::{Immovable, Item, ItemKey, Left, Plan, Refusal, UnknownCell};
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
        let Self { item, code, because, remedy, others, .. } = self;
        write!(formatter, "{code}: ")?;
        if let Some(item) = item {
            write!(formatter, "{item}: ")?;
        }
        formatter.write_str(because)?;
        if let Some(blocker) = self.unsaid_blocker() {
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

/// Clouds say that something depends on an item, rarely which: the items that stay or are left and name it do. What goes by itself goes
/// with the item, mostly, so it is named only if nothing else is.
fn blockers(plan: &Plan, key: &ItemKey) -> Option<String> {
    let kept = plan.kept.iter().map(|kept| &kept.item);
    let immovable = plan.immovable.iter().map(|other| &other.item);
    let left = kept.chain(immovable).chain(plan.deletions().map(|planned| &planned.item));
    named_by(left, key).or_else(|| named_by(plan.leaving.iter().map(|other| &other.item), key))
}

fn named_by<'a>(left: impl Iterator<Item = &'a Item>, key: &ItemKey) -> Option<String> {
    let names_it = |item: &&Item| {
        let mut values = item.attributes.values();
        item.place == key.place && item.id != key.id && values.any(|value| value == key.id.as_str())
    };
    let named: Vec<String> =
        left.filter(names_it).take(MOST_BLOCKERS).map(|item| format!("{} {}", item.kind, item.id)).collect();
    (!named.is_empty()).then(|| named.join(", "))
}

/// Why an item is left whose deletion nobody refused.
const ACCEPTED: &str = "the deletion was accepted, and it is still there";

/// The first item whose deletion was accepted, though it is still there, and with which other items go.
fn awaited(plan: &Plan, refused: &[RefusedItem]) -> Option<ItemKey> {
    let was_accepted = |item: &&Item| refused.iter().all(|refused| refused.key != item.key());
    let is_awaited = |item: &&Item| {
        let names_it = |other: &Item| {
            other.place == item.place && other.attributes.values().any(|value| value == item.id.as_str())
        };
        plan.leaving.iter().any(|leaving| names_it(&leaving.item))
    };
    plan.deletions().map(|planned| &planned.item).filter(was_accepted).find(is_awaited).map(Item::key)
}

/// The first item that cannot go by itself, and not because of another one that cannot.
fn first_immovable(plan: &Plan) -> Option<&Immovable> {
    let keys: Vec<String> = plan.immovable.iter().map(|other| other.item.key().to_string()).collect();
    let names_another = |immovable: &Immovable| keys.iter().any(|key| immovable.because.contains(key));
    plan.immovable.iter().find(|immovable| !names_another(immovable)).or(plan.immovable.first())
}

impl Stuck {
    /// The blocker, unless the reason names it.
    pub fn unsaid_blocker(&self) -> Option<&str> {
        self.blocked_by.as_deref().filter(|blocker| !self.because.contains(blocker))
    }

    /// The whole account is concerned.
    pub fn account(code: &str, because: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (code, because, remedy) = (code.to_owned(), because.into(), remedy.into());
        Self { item: None, code, because, blocked_by: None, remedy, others: 0 }
    }

    /// A plan that nothing changes any more: the first item with a reason is named. Reasons that last come first, because a refusal that
    /// waits for something else is often their consequence: a network is in use by rules that nobody may list, by a machine that cannot
    /// go, or by the interfaces of a load balancer whose deletion was accepted and came to nothing.
    pub fn by_plan(plan: &Plan, refused: &[RefusedItem]) -> Option<Self> {
        let remaining = plan.remaining();
        let others = remaining.len().saturating_sub(1);
        let still = || refused.iter().filter(|refused| remaining.contains(&refused.key));
        let of_refused = |refused: &RefusedItem| {
            let stuck = Self::by_refusal(Some(refused.key.clone()), &refused.refusal);
            let blocked_by = blockers(plan, &refused.key).or(stuck.blocked_by);
            Self { others, blocked_by, ..stuck }
        };
        let of_unknown = |cell: &UnknownCell| Self { others: remaining.len(), ..Self::unknown(cell) };
        let lasting = still().find(|refused| !refused.refusal.is_temporary()).map(of_refused);
        lasting
            .or_else(|| first_immovable(plan).map(|immovable| Self::immovable(immovable, others)))
            .or_else(|| plan.unknown.iter().find(|cell| cell.missing.is_some()).map(of_unknown))
            .or_else(|| awaited(plan, refused).map(|key| Self::not_gone(key, ACCEPTED, others)))
            .or_else(|| still().next().map(of_refused))
            .or_else(|| plan.unknown.first().map(of_unknown))
            .or_else(|| {
                let leaving = plan.leaving.first();
                leaving.map(|leaving| Self::not_gone(leaving.item.key(), &leaving.because, others))
            })
            .or_else(|| remaining.first().map(|key| Self::not_gone(key.clone(), ACCEPTED, others)))
    }

    fn immovable(immovable: &Immovable, others: usize) -> Self {
        Self {
            item: Some(immovable.item.key()),
            others,
            ..Self::account("Immovable", immovable.because.clone(), immovable.remedy.clone())
        }
    }

    fn not_gone(item: ItemKey, because: &str, others: usize) -> Self {
        let remedy = "look into the account for whatever holds it, or delete it by hand";
        Self { item: Some(item), others, ..Self::account("NotGone", because, remedy) }
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
        if cell.because.contains("HistoryIncomplete") {
            let remedy = "run `allotment cleanup baseline ACCOUNT --id-only --shoots NAME,…` with the names of all Shoots that were in it, \
                 or `--shoots none`";
            return Self::account("HistoryIncomplete", because, remedy);
        }
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
