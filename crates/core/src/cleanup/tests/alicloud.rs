//! The rules of Alibaba Cloud's table.

use super::*;
use serde_json::json;

fn alicloud(found: &[Item]) -> Inventory {
    with(empty(Cloud::Alicloud, at(0)), found)
}

fn planned(found: &[Item]) -> Plan {
    plan(&alicloud(found), &Keep::default(), None)
}

/// The items of a new region.
fn pristine() -> Vec<Item> {
    vec![
        item("Vpc", "vpc-d", "default=true owner=123456789012"),
        item("VSwitch", "vsw-d", "default=true network=vpc-d owner=123456789012"),
        item("RouteTable", "vtb-d", "variety=System network=vpc-d"),
    ]
}

fn because<'a>(plan: &'a Plan, id: &str) -> &'a str {
    let others = plan.leaving.iter().chain(&plan.immovable);
    others
        .filter(|other| other.item.id.as_str() == id)
        .map(|other| other.because.as_str())
        .next()
        .unwrap_or("")
}

#[test]
fn the_default_vpc_stays_with_its_parts_and_what_somebody_added_goes() {
    let plan = planned(&pristine());
    assert!(plan.is_empty());
    assert_eq!(plan.kept.len(), 3);
    let added = [
        item("VSwitch", "vsw-t", "network=vpc-d default=false"),
        item("RouteEntry", "rte-t", "holder=vtb-d network=vpc-d"),
        item("SecurityGroup", "sg-t", "network=vpc-d"),
        item("RouteTable", "vtb-t", "variety=Custom network=vpc-d"),
        item("Ipv6Gateway", "ipv6gw-t", "network=vpc-d"),
    ];
    let plan = planned(&[pristine(), added.to_vec()].concat());
    assert_eq!(deleted(&plan), ["rte-t", "ipv6gw-t", "vtb-t", "sg-t", "vsw-t"]);
}

#[test]
fn what_is_paid_in_advance_is_immovable_and_says_what_to_do() {
    let bought = [
        item("Instance", "i-1", "charge=PrePaid name=bought"),
        item("LoadBalancer", "lb-1", "charge=PrePay"),
        item("VpnGateway", "vpn-1", "charge=PREPAY"),
        item("ElasticIp", "eip-1", "charge=PrePaid"),
        item("Disk", "d-1", "charge=PrePaid"),
    ];
    let plan = planned(&bought);
    assert_eq!(plan.immovable.len(), bought.len());
    for immovable in &plan.immovable {
        assert!(immovable.because.contains("paid in advance"), "{immovable:?}");
        assert!(immovable.remedy.contains("pay-as-you-go"), "{immovable:?}");
    }
    assert_eq!(deleted(&planned(&[item("Instance", "i-2", "charge=PostPaid")])), ["i-2"]);
}

#[test]
fn the_order_is_entries_addresses_gateways_switches_groups_network() {
    let plan = planned(&[
        item("Vpc", "vpc-1", ""),
        item("VSwitch", "vsw-1", "network=vpc-1"),
        item("SecurityGroup", "sg-1", "network=vpc-1"),
        item("SecurityGroup", "sg-2", "network=vpc-1"),
        item("SecurityGroupRule", "sgr-1", "group=sg-1 referencedGroup=sg-2"),
        item("SecurityGroupRule", "sgr-2", "group=sg-1 referencedGroup=sg-1"),
        item("NatGateway", "ngw-1", "network=vpc-1"),
        item("ElasticIp", "eip-1", "holder=ngw-1"),
        item("SnatEntry", "snat-1", "holder=ngw-1"),
        item("RouteEntry", "rte-1", "holder=vtb-1 network=vpc-1"),
        item("Instance", "i-1", "network=vpc-1"),
        item("Disk", "d-system", "holder=i-1 variety=withInstance"),
        item("Disk", "d-pv", "holder=i-1"),
        item("NetworkInterface", "eni-1", "holder=i-1 variety=Primary state=InUse network=vpc-1"),
        item("NetworkInterface", "eni-2", "variety=Secondary state=Available network=vpc-1"),
        item("NetworkInterface", "eni-3", "managed=true state=InUse network=vpc-1"),
        item("RouteTable", "vtb-1", "variety=System network=vpc-1"),
    ]);
    let order = [
        "rte-1", "i-1", "snat-1", "d-pv", "eip-1", "eni-2", "ngw-1", "sgr-1", "sg-1", "sg-2", "vsw-1",
        "vpc-1",
    ];
    assert_eq!(deleted(&plan), order);
    assert!(because(&plan, "d-system").contains("it goes with Instance i-1"));
    assert!(because(&plan, "eni-1").contains("it goes with Instance i-1"));
    assert!(because(&plan, "eni-3").contains("manages it"));
    assert!(because(&plan, "vtb-1").contains("it goes with Vpc vpc-1"));
    assert!(because(&plan, "sgr-2").contains("it goes with SecurityGroup sg-1"));
    assert!(plan.immovable.is_empty(), "{:?}", plan.immovable);
}

#[test]
fn what_other_accounts_share_stays() {
    let plan = planned(&[
        item("Vpc", "vpc-f", "owner=999"),
        item("VSwitch", "vsw-f", "owner=999 network=vpc-f"),
        item("Image", "m-f", "owner=999"),
    ]);
    assert!(plan.is_empty());
    assert_eq!(plan.kept.len(), 3);
}

#[test]
fn existing_things_that_a_shoot_named_stay_and_its_own_entries_go() {
    let mut keep = Keep::default();
    let config = json!({ "networks": {
        "vpc": { "id": "vpc-b" },
        "nodesSecurityGroupID": "sg-b",
        "zones": [{ "workersVSwitchID": "vsw-b" }, { "natGateway": { "eipAllocationID": "eip-b" } }],
    } });
    keep.add_existing(Cloud::Alicloud, "c", &config);
    assert_eq!(keep.ids().collect::<Vec<_>>(), ["eip-b", "sg-b", "vpc-b", "vsw-b"]);
    keep.add("ngw-b", "brought");
    let inventory = alicloud(&[
        item("Vpc", "vpc-b", ""),
        item("RouteTable", "vtb-b", "variety=System network=vpc-b"),
        item("NatGateway", "ngw-b", "network=vpc-b"),
        item("SnatEntry", "snat-shoot", "holder=ngw-b cluster=shoot--p--c-a"),
        item("SnatEntry", "snat-brought", "holder=ngw-b"),
        item("VSwitch", "vsw-shoot", "network=vpc-b cluster=shoot--p--c"),
        item("VSwitch", "vsw-nobody", "network=vpc-b"),
        item("LoadBalancer", "lb-shoot", "network=vpc-b cluster=a1"),
        item("SecurityGroupRule", "sgr-b", "group=sg-b"),
        item("SecurityGroup", "sg-b", "network=vpc-b"),
    ]);
    let plan = plan(&inventory, &keep, None);
    assert_eq!(deleted(&plan), ["lb-shoot", "snat-shoot", "vsw-shoot"]);
    assert!(because(&plan, "vsw-nobody").contains("existing network vpc-b"));
    let kept: Vec<_> = plan.kept.iter().map(|kept| kept.item.id.as_str()).collect();
    assert_eq!(kept, ["ngw-b", "vtb-b", "sg-b", "sgr-b", "snat-brought", "vpc-b"]);
}

#[test]
fn options_that_a_staying_vpc_uses_are_not_left_in_silence() {
    let options = item("DhcpOptionsSet", "dopt-1", "");
    let own = planned(&[item("Vpc", "vpc-1", "dhcpOptions=dopt-1"), options.clone()]);
    assert_eq!(deleted(&own), ["vpc-1", "dopt-1"]);
    let default = planned(&[item("Vpc", "vpc-d", "default=true dhcpOptions=dopt-1"), options]);
    assert!(because(&default, "dopt-1").contains("next tenant's names"));
}

#[test]
fn a_witness_that_sees_an_interface_without_a_row_keeps_an_account_dirty() {
    let first = empty(Cloud::Alicloud, at(0));
    let second = empty(Cloud::Alicloud, at(1000));
    let mut witness = zero(Cloud::Alicloud, at(1001));
    let question = |witness: &Witness| {
        verdict(&Question {
            first: &first,
            second: &second,
            witness,
            keep: &Keep::default(),
            baseline: None,
            settle: SETTLE,
            assume_absent: &BTreeSet::new(),
        })
    };
    assert!(matches!(question(&witness), Verdict::Empty(_)));
    let seen = Count::Seen { ids: BTreeSet::from(["eni-of-a-database".to_owned()]) };
    witness.counts.get_mut(&Place::of("eu-1")).unwrap().insert(CountName::of("network-interfaces"), seen);
    assert!(matches!(question(&witness), Verdict::Left(_)));
}
