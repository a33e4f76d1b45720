//! Decisions about returned accounts.

mod alicloud;
mod azure;
mod gcp;
mod plans;
mod properties;
mod stages;
mod verdicts;

use super::{kinds::table, *};
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const SETTLE: SignedDuration = SignedDuration::from_mins(10);

/// So many seconds after the beginning.
pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

pub(super) fn account() -> CloudAccountId {
    CloudAccountId::of("123456789012")
}

/// Everything was listed, and nothing was found.
pub(super) fn empty(cloud: Cloud, started_at: Timestamp) -> Inventory {
    let places = BTreeMap::from([
        (Place::of("eu-1"), PlaceState::Enabled),
        (Place::of("us-1"), PlaceState::Enabled),
        (Place::of("me-1"), PlaceState::Disabled { because: "not opted in".to_owned() }),
    ]);
    let mut inventory = Inventory {
        cloud,
        account: account(),
        principal: "arn:aws:iam::123456789012:user/gardener".to_owned(),
        started_at,
        finished_at: started_at + SignedDuration::from_secs(30),
        places: Places::Listed { places },
        cells: BTreeMap::new(),
    };
    for (place, kind) in inventory.matrix() {
        inventory.fill(place, kind.name(), Cell::Listed { items: Vec::new() });
    }
    inventory
}

/// The same with these items.
pub(super) fn with(mut inventory: Inventory, found: &[Item]) -> Inventory {
    for item in found {
        let cell = inventory.cells.entry(item.place.clone()).or_default().entry(item.kind.clone());
        match cell.or_insert(Cell::Listed { items: Vec::new() }) {
            Cell::Listed { items } => items.push(item.clone()),
            other => *other = Cell::Listed { items: vec![item.clone()] },
        }
    }
    inventory
}

pub(super) fn aws(found: &[Item]) -> Inventory {
    with(empty(Cloud::Aws, at(0)), found)
}

/// An item in `eu-1`: kind, id, `attribute=value …`; `name=` is the name.
pub(super) fn item(kind: &'static str, id: &str, attributes: &str) -> Item {
    let mut item = Item::new(KindName::of(kind), Place::of("eu-1"), ItemId::new(id));
    for (attribute, value) in attributes.split_whitespace().filter_map(|pair| pair.split_once('=')) {
        match attribute {
            "name" => item.name = Some(value.to_owned()),
            "incarnation" => item.incarnation = Some(value.to_owned()),
            "place" => item.place = Place::new(value),
            _ => item = item.with(attribute, value),
        }
    }
    item
}

/// Counts that agree with an empty account.
pub(super) fn zero(cloud: Cloud, taken_at: Timestamp) -> Witness {
    let mut witness = Witness { taken_at, counts: BTreeMap::new() };
    for (place, kind) in witness.expected(&empty(cloud, taken_at)) {
        let count = match cloud {
            Cloud::Aws | Cloud::Alicloud => Count::Seen { ids: BTreeSet::new() },
            Cloud::Azure | Cloud::Gcp | Cloud::OpenStack => Count::Known { number: 0 },
        };
        witness.counts.entry(place).or_default().insert(kind.name(), count);
    }
    witness
}

/// What an AWS account has before anybody used it.
pub(super) fn pristine() -> Vec<Item> {
    vec![
        item("Vpc", "vpc-d", "default=true dhcpOptions=dopt-d"),
        item("Subnet", "subnet-d", "default=true network=vpc-d"),
        item("InternetGateway", "igw-d", "network=vpc-d"),
        item("RouteTable", "rtb-d", "default=true network=vpc-d"),
        item("NetworkAcl", "acl-d", "default=true network=vpc-d"),
        item("SecurityGroup", "sg-d", "name=default network=vpc-d"),
        item("SecurityGroupRule", "sgr-d", "group=sg-d pristine=true"),
        item("DhcpOptions", "dopt-d", ""),
    ]
}

/// The ids that a plan deletes, in order.
pub(super) fn deleted(plan: &Plan) -> Vec<&str> {
    plan.deletions().map(|planned| planned.item.id.as_str()).collect()
}

/// The verdict on two listings of the same content.
pub(super) fn judge(found: &[Item], keep: &Keep, baseline: Option<&Baseline>, witness: &Witness) -> Verdict {
    let first = aws(found);
    let second = with(empty(Cloud::Aws, at(1000)), found);
    let (witness, assume_absent) = (witness.clone(), BTreeSet::new());
    verdict(&Question {
        first: &first,
        second: &second,
        witness: &witness,
        keep,
        baseline,
        settle: SETTLE,
        assume_absent: &assume_absent,
    })
}

#[test]
fn provider_types_without_a_table_are_not_supported() {
    assert_eq!("aws".parse(), Ok(Cloud::Aws));
    assert_eq!("openstack".parse(), Ok(Cloud::OpenStack));
    for other in ["gdch", "vsphere", "AWS", ""] {
        assert_eq!(other.parse::<Cloud>(), Err(NotSupported(other.to_owned())));
    }
    assert!(Cloud::ALL.iter().all(|cloud| !table(*cloud).counts.is_empty()));
}
