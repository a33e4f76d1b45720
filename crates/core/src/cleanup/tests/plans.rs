//! What is deleted, in which order, and what stays.

use super::*;
use serde_json::json;

fn kept_ids(plan: &Plan) -> Vec<&str> {
    plan.kept.iter().map(|kept| kept.item.id.as_str()).collect()
}

#[test]
fn the_default_vpc_and_its_parts_stay() {
    let plan = plan(&aws(&pristine()), &Keep::default(), None);
    assert_eq!(deleted(&plan), [] as [&str; 0]);
    assert_eq!(plan.kept.len(), pristine().len());
    assert!(plan.is_empty());
}

#[test]
fn rules_of_groups_that_somebody_named_stay_and_those_of_the_default_group_go() {
    let mut found = pristine();
    found.extend([
        item("Vpc", "vpc-brought", ""),
        item("SecurityGroup", "sg-kept", "name=theirs network=vpc-brought"),
        item("SecurityGroup", "sg-default", "name=default network=vpc-brought"),
        item("SecurityGroup", "sg-unclear", "name=whose network=vpc-brought"),
        item("SecurityGroup", "sg-nodes", "name=shoot--p--a-nodes network=vpc-brought cluster=shoot--p--a"),
        item("SecurityGroupRule", "sgr-kept", "group=sg-kept referencedGroup=sg-nodes"),
        item("SecurityGroupRule", "sgr-default", "group=sg-default"),
        item("SecurityGroupRule", "sgr-unclear", "group=sg-unclear referencedGroup=sg-nodes"),
        item("SecurityGroupRule", "sgr-nodes", "group=sg-nodes referencedGroup=sg-kept"),
        item("SecurityGroupRule", "sgr-foreign", "group=sg-nodes owner=999999999999"),
        item("SecurityGroupRule", "sgr-added", "group=sg-d"),
    ]);
    let mut keep = Keep::default();
    keep.add_existing(Cloud::Aws, "s", &json!({ "networks": { "vpc": { "id": "vpc-brought" } } }));
    keep.add("sg-kept", "a person named it");
    let plan = plan(&aws(&found), &keep, None);
    assert_eq!(deleted(&plan), ["sgr-added", "sgr-nodes", "sg-nodes"]);
    assert!(plan.immovable.iter().any(|left| left.item.id.as_str() == "sgr-unclear"), "{plan:?}");
}

#[test]
fn a_network_with_a_named_item_in_it_is_not_promised_to_go() {
    let found = [
        item("Vpc", "vpc-1", ""),
        item("Vpc", "vpc-2", ""),
        item("Subnet", "subnet-1", "network=vpc-1"),
        item("SecurityGroup", "sg-kept", "name=theirs network=vpc-1"),
        item("SecurityGroup", "sg-default", "name=default network=vpc-1"),
    ];
    let mut keep = Keep::default();
    keep.add("sg-kept", "a person named it");
    let plan = plan(&aws(&found), &keep, None);
    assert_eq!(deleted(&plan), ["subnet-1", "vpc-2"]);
    let [left] = &plan.immovable[..] else { panic!("{plan:?}") };
    assert_eq!(left.item.id.as_str(), "vpc-1");
    assert!(left.because.contains("is in it and stays: a person named it"), "{}", left.because);
}

#[test]
fn an_id_that_somebody_misspelt_is_told() {
    let found = [item("Volume", "vol-0a1b2c3d", "state=available"), item("Vpc", "vpc-0a1b2c3d", "")];
    for (id, near) in [
        ("vol-0a1b2c3d", None),
        ("VOL-0A1B2C3D", None),
        ("vol-0a1b2c3e", Some("vol-0a1b2c3d")),
        ("vol-0a1bc23d", Some("vol-0a1b2c3d")),
        ("vol-0a1b2c3", Some("vol-0a1b2c3d")),
        ("vpc-0a1b2c3d0", Some("vpc-0a1b2c3d")),
        ("vol-99999999", None),
    ] {
        let mut keep = Keep::default();
        keep.add(id, "a person named it");
        let misses = keep.near_misses(&aws(&found));
        assert_eq!(misses.first().map(|(_, item)| item.id.as_str()), near, "{id}");
    }
}

#[test]
fn openstack_keeps_neither_a_tenants_image_for_the_community_nor_strips_a_named_group() {
    let found = [
        item("Image", "img-own", "shared=community owner=123456789012"),
        item("Image", "img-theirs", "shared=community owner=999999999999"),
        item("SecurityGroup", "sg-kept", "name=theirs"),
        item("SecurityGroup", "sg-default", "name=default"),
        item("SecurityGroupRule", "rule-kept", "group=sg-kept referencedGroup=sg-default"),
        item("SecurityGroupRule", "rule-added", "group=sg-default"),
    ];
    let mut keep = Keep::default();
    keep.add("sg-kept", "a person named it");
    let plan = plan(&with(empty(Cloud::OpenStack, at(0)), &found), &keep, None);
    assert_eq!(deleted(&plan), ["img-own", "rule-added"]);
}

#[test]
fn parts_that_a_tenant_gave_to_a_vpc_of_the_baseline_do_not_stay() {
    let before = [item("Vpc", "vpc-d", "default=true dhcpOptions=dopt-1"), item("DhcpOptions", "dopt-1", "")];
    let baseline = Baseline::take(&aws(&before), None);
    let after = [
        item("Vpc", "vpc-d", "default=true dhcpOptions=dopt-evil"),
        item("DhcpOptions", "dopt-1", ""),
        item("DhcpOptions", "dopt-evil", ""),
        item("InternetGateway", "igw-evil", "network=vpc-d"),
    ];
    let with_baseline = plan(&aws(&after), &Keep::default(), Some(&baseline));
    assert_eq!(deleted(&with_baseline), ["igw-evil"]);
    let immovable: Vec<&str> = with_baseline.immovable.iter().map(|left| left.item.id.as_str()).collect();
    assert_eq!(immovable, ["dopt-evil"]);
    // Without a baseline nobody knows what came with the default VPC.
    let without = plan(&aws(&after), &Keep::default(), None);
    assert_eq!(kept_ids(&without), ["dopt-evil", "igw-evil", "vpc-d"]);
}

#[test]
fn names_that_a_tenant_chooses_keep_nothing() {
    let mut keep = Keep::default();
    keep.add("vpc-brought", "a person named it");
    let found = [item("Volume", "vol-1", "name=vpc-brought state=available")];
    assert_eq!(deleted(&plan(&aws(&found), &keep, None)), ["vol-1"]);
}

#[test]
fn a_shoots_network_goes_from_the_inside_to_the_outside() {
    let mut found = pristine();
    found.extend([
        item("Vpc", "vpc-1", "dhcpOptions=dopt-1"),
        item("DhcpOptions", "dopt-1", ""),
        item("Subnet", "subnet-1", "network=vpc-1"),
        item("InternetGateway", "igw-1", "network=vpc-1"),
        item("RouteTable", "rtb-main", "default=true network=vpc-1"),
        item("RouteTable", "rtb-1", "network=vpc-1"),
        item("SecurityGroup", "sg-main", "name=default network=vpc-1"),
        item("SecurityGroup", "sg-1", "name=shoot--p--a-nodes network=vpc-1"),
        item("SecurityGroup", "sg-2", "name=elb network=vpc-1"),
        item("SecurityGroupRule", "sgr-own", "group=sg-1"),
        item("SecurityGroupRule", "sgr-12", "group=sg-1 referencedGroup=sg-2"),
        item("SecurityGroupRule", "sgr-21", "group=sg-2 referencedGroup=sg-1"),
        item("SecurityGroupRule", "sgr-self", "group=sg-1 referencedGroup=sg-1"),
        item("NatGateway", "nat-1", "network=vpc-1 state=available"),
        item("NatGateway", "nat-2", "network=vpc-1 state=deleting"),
        item("NatGateway", "nat-3", "network=vpc-1 state=deleted"),
        item("ElasticIp", "eipalloc-1", ""),
        item("Instance", "i-1", "state=running"),
        item("Instance", "i-2", "state=terminated"),
        item("Volume", "vol-1", "state=available"),
        item("Role", "shoot--p--a-nodes", "place=global name=shoot--p--a-nodes"),
        item("InstanceProfile", "shoot--p--a-nodes", "place=global name=shoot--p--a-nodes"),
    ]);
    let plan = plan(&aws(&found), &Keep::default(), None);
    assert_eq!(
        deleted(&plan),
        [
            "i-1",
            "nat-1",
            "vol-1",
            "eipalloc-1",
            "sgr-12",
            "sgr-21",
            "igw-1",
            "sg-1",
            "sg-2",
            "rtb-1",
            "subnet-1",
            "vpc-1",
            "shoot--p--a-nodes",
            "dopt-1",
            "shoot--p--a-nodes"
        ]
    );
    let leaving: Vec<_> = plan.leaving.iter().map(|leaving| leaving.item.id.as_str()).collect();
    assert_eq!(leaving, ["nat-2", "rtb-main", "sg-main", "sgr-own", "sgr-self"]);
    assert_eq!(plan.kept.len(), pristine().len());
}

#[test]
fn a_rule_that_a_tenant_added_to_the_default_group_goes_and_the_group_stays() {
    let mut found = pristine();
    found.push(item("SecurityGroupRule", "sgr-open", "group=sg-d"));
    let plan = plan(&aws(&found), &Keep::default(), None);
    assert_eq!(deleted(&plan), ["sgr-open"]);
    assert!(kept_ids(&plan).contains(&"sg-d") && kept_ids(&plan).contains(&"sgr-d"));
}

#[test]
fn rules_fail_closed_if_the_other_item_was_not_listed() {
    let mut inventory = aws(&pristine());
    let unknown =
        Cell::Unknown { because: "denied".to_owned(), missing: Some("ec2:DescribeVpcs".to_owned()) };
    inventory.fill(Place::of("eu-1"), KindName::of("Vpc"), unknown);
    let plan = plan(&inventory, &Keep::default(), None);
    assert_eq!(deleted(&plan), [] as [&str; 0]);
    let immovable: Vec<_> = plan.immovable.iter().map(|other| other.item.id.as_str()).collect();
    assert_eq!(immovable, ["dopt-d", "igw-d", "acl-d", "rtb-d", "sg-d", "sgr-d"]);
    assert!(plan.immovable[0].because.contains("Vpc in eu-1 was not listed"));
}

#[test]
fn existing_networks_of_past_shoots_stay_and_unclear_parts_wait_for_a_person() {
    let mut keep = Keep::default();
    let config = json!({ "networks": {
        "vpc": { "id": "vpc-1" },
        "zones": [{ "name": "eu-1a", "elasticIPAllocationID": "eipalloc-1" }, { "name": "eu-1b" }],
    }});
    keep.add_existing(Cloud::Aws, "shoot--p--a", &config);
    let found = [
        item("Vpc", "vpc-1", "dhcpOptions=dopt-1"),
        item("DhcpOptions", "dopt-1", ""),
        item("InternetGateway", "igw-1", "network=vpc-1"),
        item("SecurityGroup", "sg-main", "name=default network=vpc-1"),
        item("ElasticIp", "eipalloc-1", ""),
        item("Subnet", "subnet-gardener", "network=vpc-1 cluster=shoot--p--a"),
        item("Subnet", "subnet-theirs", "network=vpc-1"),
    ];
    let plan = plan(&aws(&found), &keep, None);
    assert_eq!(deleted(&plan), ["subnet-gardener"]);
    assert_eq!(kept_ids(&plan), ["dopt-1", "eipalloc-1", "igw-1", "sg-main", "vpc-1"]);
    assert_eq!(plan.immovable[0].item.id.as_str(), "subnet-theirs");
    assert!(plan.immovable[0].because.contains("existing network vpc-1"));
    assert!(keep.reason("vpc-1").unwrap().contains("shoot--p--a"));

    let mut keep = Keep::default();
    keep.add_existing(Cloud::OpenStack, "s", &json!({ "networks": { "id": "n", "router": { "id": "r" } } }));
    assert_eq!(keep.ids().collect::<Vec<_>>(), ["n", "r"]);
}

#[test]
fn a_baseline_protects_items_but_not_their_successors() {
    let old = item("KeyPair", "admin", "incarnation=aa:bb");
    let baseline = Baseline::take(&aws(std::slice::from_ref(&old)), None);
    assert_eq!(deleted(&plan(&aws(&[old]), &Keep::default(), Some(&baseline))), [] as [&str; 0]);
    let successor = aws(&[item("KeyPair", "admin", "incarnation=cc:dd")]);
    assert_eq!(deleted(&plan(&successor, &Keep::default(), Some(&baseline))), ["admin"]);
    let elsewhere = aws(&[item("KeyPair", "admin", "incarnation=aa:bb place=us-1")]);
    assert_eq!(deleted(&plan(&elsewhere, &Keep::default(), Some(&baseline))), ["admin"]);
}

#[test]
fn items_of_other_accounts_and_our_own_role_stay() {
    let found = [
        item("Subnet", "subnet-shared", "network=vpc-x owner=999999999999"),
        item("Subnet", "subnet-own", "network=vpc-x owner=123456789012"),
        item("Role", "me", "place=global name=me principal=arn:aws:iam::123456789012:user/gardener"),
        item("Role", "AWSServiceRoleForSupport", "place=global name=AWSServiceRoleForSupport"),
        item("Role", "OrganizationAccountAccessRole", "place=global name=OrganizationAccountAccessRole"),
    ];
    assert_eq!(deleted(&plan(&aws(&found), &Keep::default(), None)), ["subnet-own"]);
}

#[test]
fn openstack_keeps_what_is_external_shared_or_default() {
    let found = [
        item("Network", "ext", "external=true owner=admin"),
        item("Network", "net", "owner=123456789012"),
        item("Subnet", "subnet", "network=net owner=123456789012"),
        item("Subnet", "subnet-ext", "network=ext owner=admin"),
        item("Port", "port-dhcp", "network=net deviceOwner=network:dhcp"),
        item("Port", "port-nova", "network=net deviceOwner=compute:nova"),
        item("Port", "port", "network=net"),
        item("Server", "locked", "lockedBy=admin"),
        item("SecurityGroup", "default", "name=default"),
        item("SecurityGroup", "nodes", "name=shoot--p--a"),
        item("Image", "public", "shared=public owner=123456789012"),
        item("LoadBalancer", "lb", "state=ACTIVE"),
    ];
    let plan = plan(&with(empty(Cloud::OpenStack, at(0)), &found), &Keep::default(), None);
    assert_eq!(deleted(&plan), ["lb", "port", "subnet", "net", "nodes"]);
    assert_eq!(kept_ids(&plan), ["public", "ext", "default", "subnet-ext"]);
    assert_eq!(plan.immovable[0].item.id.as_str(), "locked");
    assert_eq!(plan.leaving.len(), 2);
}

#[test]
fn an_item_that_two_pages_show_is_deleted_once() {
    let twice = [item("Volume", "vol-1", ""), item("Volume", "vol-1", "")];
    assert_eq!(deleted(&plan(&aws(&twice), &Keep::default(), None)), ["vol-1"]);
}
