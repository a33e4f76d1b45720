//! Is the account empty?

use super::{
    Baseline, Cell, Count, Disposition, Inventory, ItemKey, Keep, KindName, Place, PlaceState, Places, Proof,
    UnknownCell, Witness,
    disposition::Dispositions,
    keep::own_items,
    kinds::CountKind,
    proof::{Absent, AssumedAbsent, BaselineReference, KeptReference, ListingTimes, WitnessedCount},
};
use jiff::SignedDuration;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The version of the format of proofs.
const VERSION: u32 = 1;

/// All evidence about an account.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// A full listing that found nothing.
    pub first: &'a Inventory,
    /// A full listing, at least `settle` later.
    pub second: &'a Inventory,
    /// Independent counts, taken after the second listing began.
    pub witness: &'a Witness,
    /// Items that people and past Shoots name.
    pub keep: &'a Keep,
    /// The items that were there before the first tenant.
    pub baseline: Option<&'a Baseline>,
    /// The least time between the listings: clouds show items late.
    pub settle: SignedDuration,
    /// Kinds that the credentials can neither list nor create.
    pub assume_absent: &'a BTreeSet<KindName>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is left, and everything is known.
    Empty(Box<Proof>),
    /// Something is left.
    Left(Vec<Left>),
    /// Nothing is known to be left, and not everything is known.
    Unknown(Vec<UnknownCell>),
}

/// Something that is left.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase", tag = "by")]
pub enum Left {
    /// A listing found it.
    Listing(ItemKey),
    /// Only the witness saw it: a kind without a row in the table, or an item that its list hides.
    Witness {
        /// Where.
        place: Place,
        /// The count.
        count: super::CountName,
        /// The ids, as far as the count names them.
        ids: BTreeSet<String>,
        /// How many there are beyond those that kept items explain.
        surplus: u64,
    },
}

/// Judges the evidence. Unknown never counts as empty.
pub fn verdict(question: &Question<'_>) -> Verdict {
    let Question { first, second, witness, keep, baseline, .. } = *question;
    let dispositions = [first, second].map(|inventory| Dispositions::of(inventory, keep, baseline));
    let mut left: BTreeSet<Left> = dispositions.iter().flat_map(left_of).collect();
    let mut assumed = BTreeSet::new();
    let mut unknown: BTreeSet<UnknownCell> = mismatches(question).into_iter().collect();
    for inventory in [first, second] {
        for cell in inventory.unknown() {
            let known =
                if cell.is_assumed_absent(question.assume_absent) { &mut assumed } else { &mut unknown };
            known.insert(cell);
        }
    }
    let [_, dispositions] = dispositions;
    let mut counts = Vec::new();
    for (place, kind) in witness.expected(second) {
        match counted(question, &dispositions, &place, kind) {
            Ok((count, None)) => counts.push(count),
            Ok((_, Some(surplus))) => {
                left.insert(surplus);
            }
            Err(refused) => {
                unknown.insert(refused);
            }
        }
    }
    if !left.is_empty() {
        Verdict::Left(left.into_iter().collect())
    } else if !unknown.is_empty() {
        Verdict::Unknown(unknown.into_iter().collect())
    } else {
        Verdict::Empty(Box::new(proof(question, &dispositions, assumed, counts)))
    }
}

fn left_of(dispositions: &Dispositions<'_>) -> Vec<Left> {
    let is_left =
        |disposition: &Disposition| !matches!(disposition, Disposition::Kept { .. } | Disposition::Gone);
    let left = dispositions.iter().filter(|(_, disposition)| is_left(disposition));
    left.map(|(key, _)| Left::Listing(key.clone())).collect()
}

/// Evidence that does not belong together proves nothing.
fn mismatches(question: &Question<'_>) -> Vec<UnknownCell> {
    let Question { first, second, witness, baseline, settle, .. } = *question;
    let mut found = Vec::new();
    let mut add = |place: Place, because: String| {
        found.push(UnknownCell { place, kind: None, because, missing: None });
    };
    let everywhere = || Place::of("all places");
    if (first.cloud, &first.account) != (second.cloud, &second.account) {
        add(
            everywhere(),
            format!("the listings are of different accounts: {} and {}", first.account, second.account),
        );
    }
    if second.started_at.duration_since(first.finished_at) < settle.max(SignedDuration::ZERO) {
        add(everywhere(), format!("less than {settle:#} passed between the two listings"));
    }
    if [first, second].iter().any(|inventory| inventory.finished_at < inventory.started_at) {
        add(everywhere(), "a listing ended before it began".to_owned());
    }
    if witness.taken_at < second.started_at {
        add(everywhere(), "the counts are older than the second listing".to_owned());
    }
    // A region that was enabled in between was listed once, and one that was disabled in between hides its items.
    let (before, after): (BTreeSet<_>, BTreeSet<_>) =
        (first.enabled_places().into_iter().collect(), second.enabled_places().into_iter().collect());
    for place in before.symmetric_difference(&after) {
        add(place.clone(), "it was enabled or disabled between the two listings".to_owned());
    }
    let Some(baseline) = baseline else { return found };
    if baseline.account != second.account {
        add(everywhere(), format!("the baseline is of another account: {}", baseline.account));
    }
    // A region that is disabled keeps its items, and shows them to nobody.
    for place in baseline.places.difference(&after) {
        add(place.clone(), "it was enabled when the baseline was taken and is not now: enable it".to_owned());
    }
    found
}

fn counted(
    question: &Question<'_>,
    dispositions: &Dispositions<'_>,
    place: &Place,
    kind: &'static CountKind,
) -> Result<(WitnessedCount, Option<Left>), UnknownCell> {
    let refused = |because: String, missing: Option<String>| UnknownCell {
        place: place.clone(),
        kind: None,
        because: format!("count {}: {because}", kind.name),
        missing,
    };
    let (number, explained, ids) = match question.witness.count(place, &kind.name()) {
        Count::Refused { because, missing } => return Err(refused(because, missing)),
        Count::Absent { .. } if kind.optional => (None, 0, BTreeSet::new()),
        Count::Absent { because } => return Err(refused(because, None)),
        Count::Known { number } => {
            (Some(number), explained(question, dispositions, place, kind), BTreeSet::new())
        }
        Count::Seen { ids } => {
            let all = ids.len();
            let is_known = |id: &str| {
                let in_baseline =
                    question.baseline.is_some_and(|baseline| baseline.has_seen(place, &kind.name(), id));
                in_baseline || question.keep.reason(id).is_some()
            };
            let rest: BTreeSet<String> = ids
                .into_iter()
                .filter(|id| !is_explained(dispositions, place, kind, id) && !is_known(id))
                .collect();
            (Some(number(all)), number(all - rest.len()), rest)
        }
    };
    let count = WitnessedCount { place: place.clone(), count: kind.name(), number, explained };
    let surplus = number.unwrap_or(0).saturating_sub(explained);
    let left =
        (surplus > 0).then(|| Left::Witness { place: place.clone(), count: kind.name(), ids, surplus });
    Ok((count, left))
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// The part of a number that kept items, and what the baseline's count showed beyond its listing, account for.
fn explained(
    question: &Question<'_>,
    dispositions: &Dispositions<'_>,
    place: &Place,
    kind: &'static CountKind,
) -> u64 {
    let kept: BTreeSet<ItemKey> = own_items(question.second, place, kind.of)
        .map(super::Item::key)
        .filter(|key| dispositions.get(key).is_some_and(Disposition::stays))
        .collect();
    let hidden = question.baseline.map_or(0, |baseline| baseline.hidden(place, &kind.name()));
    number(kept.len()).saturating_add(hidden)
}

/// Whether an id is one of a kept item, or of one that the cloud still shows though it is gone.
fn is_explained(dispositions: &Dispositions<'_>, place: &Place, kind: &CountKind, id: &str) -> bool {
    dispositions.iter().any(|(key, disposition)| {
        let counts = key.place == *place && (kind.of.is_empty() || kind.of.contains(&key.kind.as_str()));
        counts && key.id.as_str() == id && matches!(disposition, Disposition::Kept { .. } | Disposition::Gone)
    })
}

fn proof(
    question: &Question<'_>,
    dispositions: &Dispositions<'_>,
    assumed: BTreeSet<UnknownCell>,
    witness: Vec<WitnessedCount>,
) -> Proof {
    let Question { first, second, baseline, settle, .. } = *question;
    let times = |inventory: &Inventory| ListingTimes {
        started_at: inventory.started_at,
        finished_at: inventory.finished_at,
    };
    let mut kinds = BTreeSet::new();
    let mut absent = Vec::new();
    for (place, kind) in second.matrix() {
        match second.cell(&place, &kind.name()) {
            Cell::Listed { .. } => {
                kinds.insert(kind.name());
            }
            Cell::Absent { because } => absent.push(Absent { place, kind: kind.name(), because }),
            Cell::Unknown { .. } => (),
        }
    }
    let kept = dispositions.iter().filter_map(|(key, disposition)| match disposition {
        Disposition::Kept { because } => Some(KeptReference { key: key.clone(), kept: because.clone() }),
        _ => None,
    });
    let assumed = assumed.into_iter().filter_map(|cell| {
        Some(AssumedAbsent { place: cell.place, kind: cell.kind?, missing: cell.missing? })
    });
    Proof {
        version: VERSION,
        cloud: second.cloud,
        account: second.account.clone(),
        first: times(first),
        second: times(second),
        settle_seconds: settle.as_secs(),
        places: places(second),
        kinds: kinds.into_iter().collect(),
        absent,
        assumed_absent: assumed.collect(),
        kept: kept.collect(),
        baseline: baseline.map(BaselineReference::to),
        witnessed_at: question.witness.taken_at,
        witness,
    }
}

fn places(inventory: &Inventory) -> BTreeMap<Place, PlaceState> {
    match &inventory.places {
        Places::Listed { places } => places.clone(),
        Places::Unknown { .. } => BTreeMap::new(),
    }
}
