//! Whole cleanings of projects of a real OpenStack, beside those of `openstack project cleanup`.
//!
//! No part of `make test`; `make test-openstack` starts the OpenStack. `CLOUDS_OPENSTACK` names the file with the line that
//! `clouds/up openstack` printed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

mod cleaner;
mod comparison;

use allotment_clouds::{Cloud, openstack::OpenStack};
use allotment_core::cleanup::{Inventory, Item, RefusedItem, Stuck, Verdict, attribute};
use allotment_testing::{OpenStackCloud, OpenStackProject};
use cleaner::{Cleaned, client, listed};
use comparison::Comparison;
use std::{collections::BTreeSet, thread, time::Instant};

const SHOOT: &str = "of a Shoot";
const BLOCKED: &str = "the same, with a stuck load balancer and a foreign port";

/// The items that a project owns: `(kind, id)`.
async fn own(cloud: &OpenStack) -> BTreeSet<String> {
    let inventory: Inventory = listed(cloud).await;
    let is_own = |item: &&Item| {
        let owner = item.attribute(attribute::OWNER);
        owner.is_none_or(|owner| owner == inventory.account.as_str())
    };
    inventory.items().filter(is_own).map(|item| item.key().to_string()).collect()
}

async fn assert_identity(cloud: &OpenStackCloud, project: &OpenStackProject) {
    for keys in [project.application_credential_keys(), project.password_keys()] {
        let client = client(cloud.auth_url(), &keys);
        let caller = client.whoami().await.unwrap();
        assert_eq!((caller.account.as_str(), caller.principal.as_str()), (project.id(), project.user_id()));
        let places = client.places().await.unwrap();
        assert_eq!(places.keys().map(|place| place.as_str()).collect::<Vec<_>>(), [cloud.region()]);
    }
}

fn assert_empty(cleaned: &Cleaned, project: &OpenStackProject) {
    let Cleaned { plan, refused, verdict } = cleaned;
    assert!(plan.is_empty(), "{refused:?}");
    let Verdict::Empty(proof) = verdict else { panic!("{verdict:?}") };
    println!("proof {}", proof.digest());
    let printed = serde_json::to_string(proof).unwrap();
    assert!(!printed.contains("gAAAA") && !printed.contains(project.secret()));
    let left = project.script("left", &[]).unwrap();
    assert_eq!(left["empty"], true, "the cloud's own client sees something: {left}");
}

/// Everything goes but the load balancer that its provider never finishes, and the network on which another project has a
/// port; these are named with what blocks them.
fn assert_stuck(cleaned: &Cleaned, foreign_ports: &BTreeSet<String>) {
    let Cleaned { plan, refused, verdict } = cleaned;
    let stuck = Stuck::by_plan(plan, refused).expect("a load balancer is in the way");
    println!("stuck: {stuck}");
    assert_eq!(stuck.item.as_ref().unwrap().kind.as_str(), "LoadBalancer");
    assert_eq!(stuck.code, "LoadBalancerPending");
    assert!(stuck.blocked_by.unwrap().contains("PENDING_CREATE"));
    let allowed = ["LoadBalancer", "Port", "Subnet", "Network"];
    for key in plan.remaining() {
        assert!(allowed.contains(&key.kind.as_str()), "{key} could have been deleted");
    }
    let names_port = |refused: &&RefusedItem| {
        let by = refused.refusal.blocked_by().unwrap_or_default();
        foreign_ports.iter().any(|port| by.contains(port.as_str()))
    };
    let kinds: BTreeSet<_> =
        refused.iter().filter(names_port).map(|refused| refused.key.kind.as_str()).collect();
    assert_eq!(kinds, BTreeSet::from(["Network", "Subnet"]), "a foreign port is in the way: {refused:?}");
    assert!(matches!(verdict, Verdict::Left(_)), "{verdict:?}");
}

/// Fills all projects at the same time: a fill waits for servers and volumes most of the time.
fn fill_all(projects: &[(&OpenStackProject, &[&str])]) {
    let began = Instant::now();
    thread::scope(|scope| {
        for (project, arguments) in projects {
            scope.spawn(|| project.script("fill", arguments).unwrap());
        }
    });
    println!("{} projects are filled after {:.0} s", projects.len(), began.elapsed().as_secs_f64());
}

#[tokio::test]
async fn projects_are_cleaned_and_proven_empty_or_stuck_with_the_blocker_named() {
    let cloud = OpenStackCloud::find().unwrap();
    let [peers, ours, peers_blocked, ours_blocked, neighbour] =
        std::array::from_fn(|_| cloud.project().unwrap());
    assert_identity(&cloud, &ours).await;
    let blocked = ["--stuck", "--shared-with", neighbour.name()];
    fill_all(&[(&peers, &[]), (&ours, &[]), (&peers_blocked, &blocked), (&ours_blocked, &blocked)]);
    let other = client(cloud.auth_url(), &neighbour.password_keys());
    let of_neighbour = own(&other).await;

    let counter = cloud.counted().unwrap();
    let mut comparison = Comparison::default();
    comparison.peer(SHOOT, &peers, &counter);
    let emptied = comparison.own(SHOOT, &ours, &ours.password_keys(), &counter).await;
    comparison.peer(BLOCKED, &peers_blocked, &counter);
    let keys = ours_blocked.application_credential_keys();
    let stuck = comparison.own(BLOCKED, &ours_blocked, &keys, &counter).await;
    comparison.print();

    assert_empty(&emptied, &ours);
    let foreign_ports = of_neighbour.iter().filter_map(|key| key.strip_prefix("Port ")?.split(' ').next());
    assert_stuck(&stuck, &foreign_ports.map(str::to_owned).collect());
    assert_eq!(own(&other).await, of_neighbour, "the other project is as it was");
}
