//! The table of Google Cloud.

use super::*;
use serde_json::json;

fn gcp(found: &[Item]) -> Inventory {
    let mut inventory = with(empty(Cloud::Gcp, at(0)), found);
    inventory.principal = "gardener@pool-17.iam.gserviceaccount.com".to_owned();
    inventory
}

fn global(kind: &'static str, id: &str, attributes: &str) -> Item {
    item(kind, id, &format!("place=global {attributes}"))
}

/// The items of a new project.
fn untouched() -> Vec<Item> {
    vec![
        global("Network", "networks/default", "name=default default=true"),
        global(
            "Firewall",
            "firewalls/default-allow-ssh",
            "network=networks/default pristine=true incarnation=1/a",
        ),
        global("Route", "routes/default-route-1", "network=networks/default default=true"),
        item("Subnetwork", "subnetworks/default", "network=networks/default default=true"),
        item("Subnetwork", "subnetworks/default", "network=networks/default default=true place=us-1"),
        global(
            "ServiceAccount",
            "gardener@pool-17.iam.gserviceaccount.com",
            "name=gardener principal=gardener@pool-17.iam.gserviceaccount.com",
        ),
        global(
            "ServiceAccount",
            "1-compute@developer.gserviceaccount.com",
            "name=1-compute default=true principal=1-compute@developer.gserviceaccount.com",
        ),
    ]
}

fn immovable(plan: &Plan) -> Vec<&str> {
    plan.immovable.iter().map(|left| left.item.id.as_str()).collect()
}

#[test]
fn the_default_network_stays_with_its_parts_and_nothing_that_was_added_to_it() {
    let plan_of = |found: &[Item]| plan(&gcp(found), &Keep::default(), None);
    let alone = plan_of(&untouched());
    assert!(alone.is_empty(), "{alone:?}");
    assert_eq!(alone.kept.len(), untouched().len());
    let mut found = untouched();
    found.extend([
        global("Firewall", "firewalls/all", "network=networks/default"),
        global("Route", "routes/around", "network=networks/default"),
        global("NetworkPeering", "networks/default/peerings/p", "network=networks/default"),
        global("ProjectMetadata", "commonInstanceMetadata/ssh-keys", "name=ssh-keys"),
        global(
            "ProjectMetadata",
            "commonInstanceMetadata/enable-oslogin",
            "name=enable-oslogin pristine=true",
        ),
        item("Subnetwork", "subnetworks/added", "network=networks/default"),
    ]);
    let plan = plan_of(&found);
    assert_eq!(
        deleted(&plan),
        [
            "commonInstanceMetadata/ssh-keys",
            "firewalls/all",
            "routes/around",
            "networks/default/peerings/p",
            "subnetworks/added"
        ]
    );
}

#[test]
fn a_rule_of_the_baseline_that_somebody_changed_does_not_stay() {
    let baseline = Baseline::take(&gcp(&untouched()), None);
    let mut found = untouched();
    found[1] = global("Firewall", "firewalls/default-allow-ssh", "network=networks/default incarnation=1/b");
    let plan = plan(&gcp(&found), &Keep::default(), Some(&baseline));
    assert_eq!(deleted(&plan), ["firewalls/default-allow-ssh"]);
}

#[test]
fn a_shoots_items_go_from_the_outside_to_the_inside() {
    let found = [
        global("Network", "networks/s", ""),
        global("Route", "routes/default-route-2", "network=networks/s default=true"),
        global("Firewall", "firewalls/k8s-fw-a", "network=networks/s"),
        global("ServiceAccount", "shoot--p--c@pool-17.iam.gserviceaccount.com", "name=shoot--p--c"),
        item("Subnetwork", "subnetworks/nodes", "network=networks/s"),
        item("Router", "routers/r", "network=networks/s"),
        item("RouterNat", "routers/r/nats/shoot--p--c-cloud-nat", "router=routers/r cluster=shoot--p--c"),
        item("Address", "addresses/nat-auto", "managed=true"),
        item("Address", "addresses/a", ""),
        item("InstanceGroupManager", "eu-1-b/instanceGroupManagers/g", ""),
        item("InstanceGroup", "instanceGroups/of-region", "managed=true"),
        item("Instance", "eu-1-b/instances/i", "network=networks/s"),
        item("Disk", "eu-1-b/disks/d", ""),
        item("Disk", "eu-1-b/disks/leaving", "state=DELETING"),
        item("ForwardingRule", "forwardingRules/f", ""),
        item("TargetPool", "targetPools/t", ""),
        item("RegionBackendService", "backendServices/b", ""),
        global("HttpHealthCheck", "httpHealthChecks/h", ""),
    ];
    let plan = plan(&gcp(&found), &Keep::default(), None);
    assert_eq!(
        deleted(&plan),
        [
            "forwardingRules/f",
            "backendServices/b",
            "eu-1-b/instanceGroupManagers/g",
            "eu-1-b/instances/i",
            "eu-1-b/disks/d",
            "targetPools/t",
            "routers/r",
            "firewalls/k8s-fw-a",
            "httpHealthChecks/h",
            "routes/default-route-2",
            "addresses/a",
            "subnetworks/nodes",
            "networks/s",
            "shoot--p--c@pool-17.iam.gserviceaccount.com",
        ]
    );
    let leaving: BTreeSet<&str> = plan.leaving.iter().map(|left| left.item.id.as_str()).collect();
    let expected = [
        "addresses/nat-auto",
        "eu-1-b/disks/leaving",
        "instanceGroups/of-region",
        "routers/r/nats/shoot--p--c-cloud-nat",
    ];
    assert_eq!(leaving, BTreeSet::from(expected));
}

#[test]
fn a_network_that_somebody_brought_stays_and_what_gardener_made_in_it_goes() {
    let mut keep = Keep::default();
    let config = json!({ "networks": {
        "vpc": { "name": "theirs", "cloudRouter": { "name": "r" } },
        "cloudNAT": { "natIPNames": [{ "name": "manual" }] },
        "subnetWorkers": { "name": "workers" },
    } });
    keep.add_existing(Cloud::Gcp, "shoot--p--c", &config);
    let kept: BTreeSet<&str> = keep.ids().collect();
    assert_eq!(
        kept,
        BTreeSet::from(["networks/theirs", "routers/r", "addresses/manual", "subnetworks/workers"])
    );
    let found = [
        global("Network", "networks/theirs", ""),
        global("NetworkPeering", "networks/theirs/peerings/p", "network=networks/theirs"),
        global("Firewall", "firewalls/theirs", "network=networks/theirs"),
        global("Firewall", "firewalls/shoot", "network=networks/theirs cluster=shoot--p--c"),
        global("Route", "routes/default-route-1", "network=networks/theirs default=true"),
        item("Router", "routers/r", "network=networks/theirs"),
        item("RouterNat", "routers/r/nats/theirs", "router=routers/r"),
        item("RouterNat", "routers/r/nats/shoot", "router=routers/r cluster=shoot--p--c-cloud-nat"),
        item("Address", "addresses/nat-auto", "managed=true router=routers/r"),
        item("Subnetwork", "subnetworks/workers", "network=networks/theirs"),
        item("Disk", "eu-1-b/disks/theirs", "name=theirs"),
    ];
    let plan = plan(&gcp(&found), &keep, None);
    assert_eq!(deleted(&plan), ["eu-1-b/disks/theirs", "routers/r/nats/shoot", "firewalls/shoot"]);
    assert_eq!(immovable(&plan), ["firewalls/theirs"]);
    assert!(plan.leaving.is_empty(), "its router holds the address for ever: {:?}", plan.leaving);
}

#[test]
fn a_service_account_that_is_no_shoots_is_neither_deleted_nor_kept_in_silence() {
    let found = [global("ServiceAccount", "x@pool-17.iam.gserviceaccount.com", "name=x principal=x@p")];
    let of = |keep: &Keep| plan(&gcp(&found), keep, None);
    assert_eq!(immovable(&of(&Keep::default())), ["x@pool-17.iam.gserviceaccount.com"]);
    let mut keep = Keep::default();
    keep.add("x@pool-17.iam.gserviceaccount.com", "a person named it");
    assert!(of(&keep).is_empty());
}

#[test]
fn a_number_of_the_project_is_explained_by_the_items_of_all_regions() {
    let first = gcp(&untouched());
    let second = Inventory { started_at: at(1000), finished_at: at(1030), ..first.clone() };
    let judge = |subnetworks: u64| {
        let mut witness = zero(Cloud::Gcp, at(1001));
        let project = witness.counts.get_mut(&Place::GLOBAL).unwrap();
        for (count, number) in [
            ("project.NETWORKS", 1),
            ("project.FIREWALLS", 1),
            ("project.ROUTES", 1),
            ("project.SUBNETWORKS", subnetworks),
        ] {
            project.insert(CountName::new(count), Count::Known { number });
        }
        verdict(&Question {
            first: &first,
            second: &second,
            witness: &witness,
            keep: &Keep::default(),
            baseline: None,
            settle: SETTLE,
            assume_absent: &BTreeSet::new(),
        })
    };
    assert!(matches!(judge(2), Verdict::Empty(_)), "{:?}", judge(2));
    let more = judge(3);
    assert!(
        matches!(&more, Verdict::Left(left) if matches!(left.as_slice(), [Left::Witness { surplus: 1, .. }])),
        "{more:?}"
    );
}
