//! The items that AWS puts into new accounts and new VPCs.

use allotment_core::cleanup::{
    CloudAccountId, Item, ItemId, KindName, Place,
    attribute::{DEFAULT, DHCP_OPTIONS, GROUP, NETWORK, PRISTINE, REFERENCED_GROUP, STATE},
};

/// The zones with a default subnet: more than one page.
const ZONES: [&str; 3] = ["a", "b", "c"];

/// The items of a new account outside of all places.
pub(super) fn items_of_account() -> Vec<Item> {
    let name = "OrganizationAccountAccessRole";
    vec![named(item("Role", &Place::GLOBAL, name), name)]
}

/// The items of a new account in one place.
pub(super) fn items_of_place(account: &CloudAccountId, place: &Place) -> Vec<Item> {
    let suffix = format!("{account}-{place}");
    let id = |prefix: &str| format!("{prefix}-{suffix}");
    let vpc = id("vpc");
    let mut items = vec![
        item("DhcpOptions", place, id("dopt")),
        item("Vpc", place, vpc.clone())
            .with(DEFAULT, "true")
            .with(STATE, "available")
            .with(DHCP_OPTIONS, id("dopt")),
        item("InternetGateway", place, id("igw")).with(NETWORK, vpc.clone()),
    ];
    items.extend(ZONES.map(|zone| {
        item("Subnet", place, id(&format!("subnet-{zone}"))).with(NETWORK, vpc.clone()).with(DEFAULT, "true")
    }));
    items.extend(parts_of_vpc(place, &vpc, &suffix));
    items
}

/// The items that every VPC comes with, and that go with it.
pub(super) fn parts_of_vpc(place: &Place, vpc: &str, suffix: &str) -> Vec<Item> {
    let id = |prefix: &str| format!("{prefix}-{suffix}");
    let group = id("sg-default");
    let rule = |prefix: &str| {
        item("SecurityGroupRule", place, id(prefix)).with(GROUP, group.clone()).with(PRISTINE, "true")
    };
    vec![
        item("RouteTable", place, id("rtb-main")).with(NETWORK, vpc).with(DEFAULT, "true"),
        item("NetworkAcl", place, id("acl-default")).with(NETWORK, vpc).with(DEFAULT, "true"),
        named(item("SecurityGroup", place, group.clone()).with(NETWORK, vpc), "default"),
        rule("sgr-default-egress"),
        rule("sgr-default-members").with(REFERENCED_GROUP, group.clone()),
    ]
}

/// An item of a kind of the table.
pub(super) fn item(kind: &'static str, place: &Place, id: impl Into<String>) -> Item {
    Item::new(KindName::of(kind), place.clone(), ItemId::new(id))
}

/// The same with a name.
pub(super) fn named(mut item: Item, name: impl Into<String>) -> Item {
    item.name = Some(name.into());
    item
}
