//! What holds for any account.

use super::*;
use proptest::{prelude::*, sample::select};

/// Any item of any kind, in places and with parents that are often there.
fn items(cloud: Cloud) -> impl Strategy<Value = Vec<Item>> {
    let kinds: Vec<&'static kinds::Kind> = table(cloud).kinds.iter().collect();
    let item =
        (select(kinds), 0..4_u8, any::<bool>(), any::<[u8; 10]>()).prop_map(move |(kind, id, us, bytes)| {
            let place = match kind.scope {
                Scope::Regional if us => Place::of("us-1"),
                Scope::Regional => Place::of("eu-1"),
                Scope::Global | Scope::ByName { .. } => Place::GLOBAL,
            };
            let pick =
                |index: usize, values: &[&str]| values[usize::from(bytes[index]) % values.len()].to_owned();
            let mut item = Item::new(kind.name(), place, ItemId::new(format!("{}-{id}", kind.name)));
            item.name = Some(pick(0, &["default", "shoot--p--a", "AWSServiceRoleX"]));
            item.incarnation = Some(pick(1, &["a", "b"]));
            let networks = if cloud == Cloud::Aws { ["Vpc-0", "Vpc-1"] } else { ["Network-0", "Network-1"] };
            item.with(
                attribute::STATE,
                pick(2, &["", "available", "deleting", "deleted", "terminated", "in-use"]),
            )
            .with(attribute::NETWORK, pick(3, &["", networks[0], networks[1]]))
            .with(attribute::DEFAULT, pick(4, &["", "true", "false"]))
            .with(attribute::OWNER, pick(5, &["", "123456789012", "999999999999"]))
            .with(attribute::GROUP, pick(6, &["", "SecurityGroup-0", "SecurityGroup-1"]))
            .with(attribute::REFERENCED_GROUP, pick(7, &["", "SecurityGroup-0"]))
            .with(attribute::PRISTINE, pick(8, &["", "true"]))
            .with(attribute::DEVICE_OWNER, pick(9, &["", "network:dhcp", "compute:nova"]))
        });
    prop::collection::vec(item, 0..12)
}

fn clouds() -> impl Strategy<Value = Cloud> {
    select(&Cloud::ALL[..])
}

/// Spoils some cells: unknown, absent, or not there at all.
fn spoil(inventory: &mut Inventory, spoiled: &[(prop::sample::Index, u8)]) {
    for (index, how) in spoiled {
        let matrix = inventory.matrix();
        let (place, kind) = index.get(&matrix);
        let missing = (how % 2 == 0).then(|| "a:B".to_owned());
        match how % 4 {
            0 | 1 => inventory.fill(
                place.clone(),
                kind.name(),
                Cell::Unknown { because: "denied".to_owned(), missing },
            ),
            2 => {
                inventory.cells.get_mut(place).map(|kinds| kinds.remove(&kind.name()));
            }
            _ => inventory.places = Places::Unknown { because: "denied".to_owned(), missing },
        }
        if inventory.matrix().is_empty() {
            return;
        }
    }
}

fn spoiled() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..3)
}

fn worlds() -> impl Strategy<Value = (Cloud, Vec<Item>, Vec<Item>)> {
    clouds().prop_flat_map(|cloud| (Just(cloud), items(cloud), items(cloud)))
}

fn judge_all(first: &Inventory, second: &Inventory, witness: &Witness, settle: SignedDuration) -> Verdict {
    let (keep, assume_absent) = (Keep::default(), BTreeSet::new());
    verdict(&Question {
        first,
        second,
        witness,
        keep: &keep,
        baseline: None,
        settle,
        assume_absent: &assume_absent,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// A cell that is unknown, or missing, never yields an empty account, in either listing.
    #[test]
    fn unknown_is_never_empty(cloud in clouds(), spoiled in spoiled(), in_first in any::<bool>()) {
        let (mut first, mut second) = (empty(cloud, at(0)), empty(cloud, at(1000)));
        spoil(if in_first { &mut first } else { &mut second }, &spoiled);
        let verdict = judge_all(&first, &second, &zero(cloud, at(1010)), SETTLE);
        prop_assert!(matches!(verdict, Verdict::Unknown(_)), "{:?}", verdict);
    }

    /// Kept and baseline items are in no plan, whatever else is there and whatever is unknown.
    #[test]
    fn kept_items_are_never_deleted((cloud, old, new) in worlds(), spoiled in spoiled(), keep_one in any::<prop::sample::Index>()) {
        let baseline = Baseline::take(&with(empty(cloud, at(0)), &old), None);
        let mut inventory = with(empty(cloud, at(10)), &[old, new].concat());
        spoil(&mut inventory, &spoiled);
        let mut keep = Keep::default();
        let all: Vec<String> = inventory.items().map(|item| item.id.as_str().to_owned()).collect();
        if !all.is_empty() {
            keep.add(keep_one.get(&all).clone(), "named");
        }
        let plan = plan(&inventory, &keep, Some(&baseline));
        for planned in plan.deletions() {
            prop_assert!(!baseline.has(&planned.item), "{:?}", planned.item);
            prop_assert!(keep.reason(planned.item.id.as_str()).is_none(), "{:?}", planned.item);
            let foreign = planned.item.attribute(attribute::OWNER) == Some("999999999999");
            let has_owner = matches!(planned.item.kind.as_str(), "Vpc" | "Subnet" | "Network" | "Port");
            prop_assert!(!(foreign && has_owner), "{:?}", planned.item);
        }
    }

    /// A plan loses nothing: every item is deleted, leaves, is immovable, stays, or is gone.
    #[test]
    fn every_item_is_accounted_for((cloud, old, _) in worlds()) {
        let inventory = with(empty(cloud, at(0)), &old);
        let plan = plan(&inventory, &Keep::default(), None);
        let kept = plan.kept.iter().map(|kept| kept.item.key());
        let known: BTreeSet<ItemKey> = plan.remaining().into_iter().chain(kept).collect();
        let gone_states = ["deleted", "terminated"];
        for item in inventory.items() {
            let shown_as_gone = item.attribute(attribute::STATE).is_some_and(|state| gone_states.contains(&state));
            prop_assert!(known.contains(&item.key()) || shown_as_gone, "{item:?}");
        }
    }

    /// Whatever keeps another kind from being deleted comes before it.
    #[test]
    fn dependents_come_first((cloud, old, _) in worlds()) {
        let plan = plan(&with(empty(cloud, at(0)), &old), &Keep::default(), None);
        let order: Vec<&KindName> = plan.deletions().map(|planned| &planned.item.kind).collect();
        for (index, name) in order.iter().enumerate() {
            let kind = table(cloud).kind(name.as_str()).unwrap();
            for blocker in kind.after {
                prop_assert!(!order[index..].iter().any(|other| other.as_str() == *blocker), "{} after {}", blocker, name);
            }
        }
    }

    /// A count that was refused or forgotten is not zero.
    #[test]
    fn a_refused_count_is_never_zero(cloud in clouds(), index in any::<prop::sample::Index>(), forgotten in any::<bool>()) {
        let (first, second, mut witness) = (empty(cloud, at(0)), empty(cloud, at(1000)), zero(cloud, at(1010)));
        let expected = witness.expected(&second);
        let (place, kind) = index.get(&expected);
        let counts = witness.counts.get_mut(place).unwrap();
        counts.remove(&kind.name());
        if !forgotten {
            counts.insert(kind.name(), Count::Refused { because: "denied".to_owned(), missing: None });
        }
        let verdict = judge_all(&first, &second, &witness, SETTLE);
        prop_assert!(matches!(verdict, Verdict::Unknown(_)), "{:?}", verdict);
    }

    /// A second listing that comes too early never proves anything, one that comes later does.
    #[test]
    fn settling_takes_its_time(cloud in clouds(), gap in 0..2000_i64, settle in -10..1000_i64) {
        let first = empty(cloud, at(0));
        let second = empty(cloud, first.finished_at + SignedDuration::from_secs(gap));
        let witness = zero(cloud, second.started_at);
        let verdict = judge_all(&first, &second, &witness, SignedDuration::from_secs(settle));
        prop_assert_eq!(matches!(verdict, Verdict::Empty(_)), gap >= settle, "{:?}", verdict);
    }

    /// The verdict agrees with a naive twin: empty if and only if both plans have nothing left and nothing unknown.
    #[test]
    fn the_verdict_agrees_with_the_plans((cloud, old, new) in worlds()) {
        let (first, second) = (with(empty(cloud, at(0)), &old), with(empty(cloud, at(1000)), &new));
        let mut witness = zero(cloud, at(1010));
        // Quota usage of kept items is beside the point here.
        for count in witness.counts.values_mut().flat_map(BTreeMap::values_mut) {
            *count = Count::Seen { ids: BTreeSet::new() };
        }
        let verdict = judge_all(&first, &second, &witness, SETTLE);
        let naive = [&first, &second].iter().all(|inventory| plan(inventory, &Keep::default(), None).is_empty());
        prop_assert_eq!(matches!(verdict, Verdict::Empty(_)), naive, "{:?}", verdict);
    }
}
