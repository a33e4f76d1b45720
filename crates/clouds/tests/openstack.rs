//! A whole cleaning of projects of a real OpenStack.
//!
//! No part of `make test`; `make test-openstack` starts the OpenStack. `CLOUDS_OPENSTACK` names the file with the line that
//! `clouds/up openstack` printed. `CLOUDS_RUN` names the program that fills projects; it is `clouds/run` of this repository if not set.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

use allotment_clouds::{
    Cloud, Patience,
    credentials::{OpenStackCredentials, SecretData},
    delete_all,
    http::{RateLimiter, Rates},
    openstack::{OpenStack, OpenStackConfig},
    take_inventory, take_witness,
};
use allotment_core::cleanup::{
    Inventory, Item, Keep, Plan, Question, RefusedItem, Stuck, Verdict, attribute, plan, verdict,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    env, fs,
    path::PathBuf,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

/// More passes than any order of deletions needs.
const MOST_PASSES: usize = 10;

/// A machine that builds beside this test is slow.
const DEADLINE: Duration = Duration::from_secs(180);

const FIRST: &str = "acct-a";
const SECOND: &str = "acct-b";

struct TestCloud {
    ready: Value,
    run: Option<PathBuf>,
}

impl TestCloud {
    fn find() -> Self {
        let file = env::var_os("CLOUDS_OPENSTACK").filter(|file| !file.is_empty());
        let file =
            file.expect("CLOUDS_OPENSTACK does not name a running OpenStack: run `make test-openstack`");
        let ready = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../clouds/run");
        let run = env::var_os("CLOUDS_RUN").map(PathBuf::from).or(Some(own)).filter(|run| run.exists());
        Self { ready, run }
    }

    fn project(&self, name: &str) -> &Value {
        let projects = self.ready["projects"].as_array().unwrap();
        projects.iter().find(|project| project["name"] == name).unwrap()
    }

    fn client(&self, project: &str, keys: &[(&str, &str)]) -> OpenStack {
        let project = self.project(project);
        let text = |field: &str| project[field].as_str().unwrap().as_bytes().to_vec();
        let common = [("domainName", "domainName"), ("tenantName", "name")];
        let data: SecretData =
            common.iter().chain(keys).map(|(key, field)| ((*key).to_owned(), text(field))).collect();
        let config = OpenStackConfig {
            credentials: OpenStackCredentials::read(&data).unwrap(),
            auth_url: Some(self.ready["authUrl"].as_str().unwrap().to_owned()),
            limiter: Arc::new(RateLimiter::new(Rates { reads: 100.0, writes: 100.0 })),
            name: "test".to_owned(),
        };
        OpenStack::new(config).unwrap().with_deadline(DEADLINE)
    }

    fn with_application_credential(&self, project: &str) -> OpenStack {
        let id = ("applicationCredentialID", "applicationCredentialId");
        self.client(project, &[id, ("applicationCredentialSecret", "applicationCredentialSecret")])
    }

    fn with_password(&self, project: &str) -> OpenStack {
        self.client(project, &[("username", "username"), ("password", "password")])
    }

    /// Runs a script of the test cloud; none if this machine does not have it.
    fn script(&self, arguments: &[&str]) -> Option<Value> {
        let began = Instant::now();
        let output = Command::new(self.run.as_ref()?).arg("openstack").args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        println!("{arguments:?} took {:.0} s", began.elapsed().as_secs_f64());
        Some(serde_json::from_slice(&output.stdout).unwrap())
    }
}

async fn listed(cloud: &OpenStack) -> Inventory {
    take_inventory(cloud, &Timestamp::now).await.unwrap()
}

fn planned(inventory: &Inventory) -> Plan {
    let plan = plan(inventory, &Keep::default(), None);
    assert!(plan.unknown.is_empty(), "{:?}", plan.unknown);
    plan
}

async fn judged(cloud: &OpenStack, first: &Inventory) -> Verdict {
    let second = listed(cloud).await;
    let witness = take_witness(cloud, &second, &Timestamp::now).await;
    verdict(&Question {
        first,
        second: &second,
        witness: &witness,
        keep: &Keep::default(),
        baseline: None,
        settle: SignedDuration::ZERO,
        assume_absent: &BTreeSet::new(),
    })
}

/// Deletes until nothing is left or two passes change nothing.
async fn clean(cloud: &OpenStack) -> (Inventory, Plan, Vec<RefusedItem>) {
    let patience = Patience { most: Duration::from_secs(60), every: Duration::from_secs(1) };
    let (began, calls) = (Instant::now(), cloud.calls());
    let mut inventory = listed(cloud).await;
    let mut refused = Vec::new();
    let mut unchanged = 0;
    for pass in 0..MOST_PASSES {
        let plan = planned(&inventory);
        println!(
            "pass {pass}: {} left after {:.0} s and {} calls",
            plan.remaining().len(),
            began.elapsed().as_secs_f64(),
            cloud.calls() - calls
        );
        if plan.is_empty() || unchanged == 2 {
            break;
        }
        refused = delete_all(cloud, &plan, patience).await;
        for RefusedItem { key, refusal } in &refused {
            println!("  {key}: {refusal}");
        }
        inventory = listed(cloud).await;
        unchanged = if planned(&inventory).remaining() == plan.remaining() { unchanged + 1 } else { 0 };
    }
    let plan = planned(&inventory);
    (inventory, plan, refused)
}

/// The items that a project owns: `(kind, id)`.
fn own(inventory: &Inventory) -> BTreeSet<String> {
    let is_own = |item: &&Item| {
        let owner = item.attribute(attribute::OWNER);
        owner.is_none_or(|owner| owner == inventory.account.as_str())
    };
    inventory.items().filter(is_own).map(|item| item.key().to_string()).collect()
}

async fn assert_identity(cloud: &TestCloud) {
    for client in [cloud.with_application_credential(FIRST), cloud.with_password(FIRST)] {
        let caller = client.whoami().await.unwrap();
        assert_eq!(caller.account.as_str(), cloud.project(FIRST)["projectId"]);
        assert_eq!(caller.principal, cloud.project(FIRST)["userId"].as_str().unwrap());
        let places = client.places().await.unwrap();
        let region = cloud.ready["region"].as_str().unwrap();
        assert_eq!(places.keys().map(|place| place.as_str()).collect::<Vec<_>>(), [region]);
    }
}

/// A load balancer that its provider never finishes, and a network on which another project has a port: everything else
/// goes, and these are named with what blocks them.
async fn assert_stuck(cloud: &TestCloud) {
    let client = cloud.with_application_credential(FIRST);
    let other = cloud.with_password(SECOND);
    let nothing_there = planned(&listed(&client).await).is_empty();
    if nothing_there
        && cloud.script(&["fill", "--project", FIRST, "--stuck", "--shared-with", SECOND]).is_none()
    {
        println!("skipped: nothing is in {FIRST}, and no program that fills it");
        return;
    }
    let of_other = own(&listed(&other).await);
    let (inventory, plan, refused) = clean(&client).await;
    assert_eq!(own(&listed(&other).await), of_other, "the other project is as it was");

    let stuck = Stuck::by_plan(&plan, &refused).expect("a load balancer is in the way");
    println!("stuck: {stuck}");
    assert_eq!(stuck.item.as_ref().unwrap().kind.as_str(), "LoadBalancer");
    assert_eq!(stuck.code, "LoadBalancerPending");
    assert!(stuck.blocked_by.unwrap().contains("PENDING_CREATE"));
    let allowed = ["LoadBalancer", "Port", "Subnet", "Network"];
    for key in plan.remaining() {
        assert!(allowed.contains(&key.kind.as_str()), "{key} could have been deleted");
    }
    let foreign = of_other.iter().find_map(|key| key.strip_prefix("Port ")?.split(' ').next());
    if let Some(port) = foreign {
        let names_it =
            |refused: &RefusedItem| refused.refusal.blocked_by().is_some_and(|by| by.contains(port));
        let kinds: BTreeSet<_> = refused
            .iter()
            .filter(|refused| names_it(refused))
            .map(|refused| refused.key.kind.as_str())
            .collect();
        assert_eq!(kinds, BTreeSet::from(["Network", "Subnet"]), "{port} is in the way: {refused:?}");
    }
    let answer = judged(&client, &inventory).await;
    assert!(matches!(answer, Verdict::Left(_)), "{answer:?}");
}

/// The same leftovers without the stuck load balancer.
async fn assert_empty(cloud: &TestCloud) {
    let client = cloud.with_password(SECOND);
    if cloud.script(&["fill", "--project", SECOND, "--shoot", "shoot--p--d"]).is_none() {
        println!("{SECOND} is cleaned as it is: there is no program that fills it");
    }
    let (inventory, plan, refused) = clean(&client).await;
    assert!(plan.is_empty(), "{refused:?}");
    let answer = judged(&client, &inventory).await;
    let Verdict::Empty(proof) = &answer else { panic!("{answer:?}") };
    println!("{} calls in all, proof {}", client.calls(), proof.digest());
    let printed = serde_json::to_string(proof).unwrap();
    let password = cloud.project(SECOND)["applicationCredentialSecret"].as_str().unwrap();
    assert!(!printed.contains("gAAAA") && !printed.contains(password));
    if let Some(left) = cloud.script(&["left", "--project", SECOND]) {
        assert_eq!(left["empty"], true, "the cloud's own client sees something: {left}");
    }
}

#[tokio::test]
async fn projects_are_cleaned_and_proven_empty_or_stuck_with_the_blocker_named() {
    let cloud = TestCloud::find();
    assert_identity(&cloud).await;
    assert_stuck(&cloud).await;
    assert_empty(&cloud).await;
}
