//! Whole cleanings of Alibaba Cloud accounts, on the simulator. It is filled, and looked at afterwards, through the official SDK alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

use allotment_clouds::{
    Cloud, Patience, Refusal,
    alicloud::{Alicloud as Client, AlicloudConfig, host},
    credentials::{AlicloudCredentials, SecretData},
    delete_all,
    http::{Http, RateLimiter, Rates},
    take_inventory, take_witness,
};
use allotment_core::cleanup::{
    Cell, Cloud as CloudName, Inventory, Keep, KindName, Left, Place, Plan, Proof, Question, RefusedItem,
    UnknownCell, Verdict, kinds::table, plan, verdict,
};
use allotment_simulators::{
    alicloud::{Account, Alicloud, Appearing, Credentials, Slow},
    server::Server,
};
use allotment_testing::cloud_script;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    process::ExitCode,
    sync::{Arc, OnceLock},
    time::Duration,
};

/// More passes than any order of deletions needs.
const MOST_PASSES: usize = 8;

const REGIONS: [&str; 2] = ["eu-central-1", "us-east-1"];
const EU: Place = Place::of("eu-central-1");

/// Each case has an account of its own.
type Case = (&'static str, fn(Test) -> BoxFuture<'static, ()>);

const CASES: &[Case] = &[
    ("a_filled_account_is_cleaned_and_proven_empty", |test| Box::pin(filled(test))),
    ("an_untouched_account_is_empty_and_keeps_its_default_vpc", |test| Box::pin(untouched(test))),
    ("a_kind_without_permission_is_unknown", |test| Box::pin(denied(test))),
    ("a_permission_that_is_lost_before_the_witness_is_unknown", |test| Box::pin(lost(test))),
    ("a_prepaid_instance_is_left_and_named_with_its_remedy", |test| Box::pin(prepaid(test))),
    ("a_protection_that_cannot_be_lifted_is_named", |test| Box::pin(protected(test))),
    ("a_throttled_region_is_unknown", |test| Box::pin(throttled(test))),
    ("a_deletion_that_fails_late_is_repeated", |test| Box::pin(late(test))),
    ("a_deletion_that_always_fails_late_leaves_the_item", |test| Box::pin(never(test))),
    ("an_item_that_appears_between_the_listings_is_left", |test| Box::pin(appeared(test))),
    ("an_interface_that_no_list_shows_is_seen_by_the_witness", |test| Box::pin(hidden(test))),
    ("a_wrong_secret_and_a_revoked_key_are_refused_and_never_repeated", |test| Box::pin(refused(test))),
    ("a_service_that_is_not_in_a_region_is_absent", |test| Box::pin(absent(test))),
    ("a_clock_that_is_off_is_corrected", |test| Box::pin(skewed(test))),
    ("pages_that_change_while_they_are_read_are_unknown", |test| Box::pin(moving(test))),
    ("every_kind_that_can_be_deleted_is_in_the_table_or_left_out_with_a_reason", |_| Box::pin(audited())),
];

static CLOUD: OnceLock<(Arc<Alicloud>, Server)> = OnceLock::new();

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let packages = if arguments.list { Ok(Value::Null) } else { cloud_script("alicloud", "audit", &[], &[]) };
    let trials = CASES.iter().map(|(name, run)| {
        let (run, packages) = (*run, packages.clone());
        Trial::ignorable_test(*name, move || {
            match packages {
                Err(why) if why.contains("clouds/install") => return Ok(Completion::ignored_with(why)),
                Err(why) => return Err(Failed::from(why)),
                Ok(_) => (),
            }
            let runtime = tokio::runtime::Runtime::new().map_err(|error| Failed::from(error.to_string()))?;
            runtime.block_on(run(Test::new()));
            Ok(Completion::Completed)
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// An account of the simulator.
struct Test {
    cloud: &'static Alicloud,
    endpoint: String,
    credentials: Credentials,
}

impl Test {
    fn new() -> Self {
        let (cloud, server) = CLOUD.get_or_init(|| Alicloud::start().unwrap());
        Self { cloud, endpoint: server.endpoint(), credentials: cloud.account(&REGIONS) }
    }

    fn account<T>(&self, act: impl FnOnce(&mut Account<'_>) -> T) -> T {
        self.cloud.of(&self.credentials, act).unwrap()
    }

    /// Runs a script through the SDK, with all rights.
    fn script(&self, name: &str, arguments: &[&str]) -> Value {
        let environment = [
            ("ALICLOUD_ENDPOINT", self.endpoint.as_str()),
            ("ALICLOUD_ACCESS_KEY_ID", &self.credentials.admin_key_id),
            ("ALICLOUD_ACCESS_KEY_SECRET", &self.credentials.admin_key_secret),
        ];
        cloud_script("alicloud", name, arguments, &environment).unwrap()
    }

    fn fill(&self, more: &[&str]) -> Value {
        let made = self.script("fill", &[&["--region", EU.as_str()], more].concat());
        made[EU.as_str()].clone()
    }

    fn left(&self) -> Value {
        self.script("left", &[])
    }

    fn client(&self, secret: Option<&str>) -> (Client, Http) {
        let secret = secret.unwrap_or(&self.credentials.access_key_secret);
        let pairs = [("accessKeyID", self.credentials.access_key_id.as_str()), ("accessKeySecret", secret)];
        let data: SecretData =
            pairs.into_iter().map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec())).collect();
        let http = Http::new(None).unwrap();
        let client = Client::new(AlicloudConfig {
            credentials: AlicloudCredentials::read(&data).unwrap(),
            http: http.clone(),
            limiter: Arc::new(RateLimiter::new(Rates { reads: 1000.0, writes: 1000.0 })),
            name: self.credentials.account.clone(),
            endpoint: Some(self.endpoint.clone()),
            now: Arc::new(Timestamp::now),
        });
        (client, http)
    }
}

async fn listed(cloud: &dyn Cloud) -> Inventory {
    take_inventory(cloud, &Timestamp::now).await.unwrap()
}

fn planned(inventory: &Inventory) -> Plan {
    plan(inventory, &Keep::default(), None)
}

async fn judged(cloud: &dyn Cloud, first: &Inventory) -> Verdict {
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

/// Deletes until nothing is left that can be deleted, and judges. The refusals of the last pass come along.
async fn clean(cloud: &dyn Cloud) -> (Verdict, Vec<RefusedItem>) {
    let mut inventory = listed(cloud).await;
    let mut refused = Vec::new();
    for _ in 0..MOST_PASSES {
        let plan = planned(&inventory);
        if plan.is_empty() {
            break;
        }
        let patience = Patience { most: Duration::from_secs(5), every: Duration::from_millis(5) };
        refused = delete_all(cloud, &plan, patience).await;
        inventory = listed(cloud).await;
    }
    (judged(cloud, &inventory).await, refused)
}

fn empty(answer: Verdict) -> Box<Proof> {
    match answer {
        Verdict::Empty(proof) => proof,
        other => panic!("{other:?}"),
    }
}

fn unknown(answer: Verdict) -> Vec<UnknownCell> {
    match answer {
        Verdict::Unknown(cells) => cells,
        other => panic!("{other:?}"),
    }
}

/// The ids that a listing left.
fn left(answer: &Verdict) -> BTreeSet<String> {
    let Verdict::Left(left) = answer else { panic!("{answer:?}") };
    let listed = left.iter().filter_map(|left| match left {
        Left::Listing(key) => Some(key.id.as_str().to_owned()),
        Left::Witness { .. } => None,
    });
    listed.collect()
}

fn first(made: &Value, kind: &str) -> String {
    made[kind][0].as_str().unwrap().to_owned()
}

async fn filled(test: Test) {
    let made = test.script("fill", &["--protect"]);
    let items: usize = REGIONS
        .iter()
        .flat_map(|region| made[region].as_object().unwrap().values())
        .map(|ids| ids.as_array().unwrap().len())
        .sum();
    assert!(items >= 130, "{items} items were made by name");
    assert_eq!(test.left()["empty"], false);
    test.account(|account| {
        account.page(3);
        account.slow(Slow::Calls(12));
        account.throttle_every(97);
    });
    let (client, http) = test.client(None);
    let inventory = listed(&client).await;
    let plan = planned(&inventory);
    assert_eq!((plan.unknown.as_slice(), plan.immovable.as_slice()), (&[][..], &[][..]));
    let found: BTreeSet<&str> = inventory.items().map(|item| item.kind.as_str()).collect();
    let known: BTreeSet<&str> = table(CloudName::Alicloud).kinds.iter().map(|kind| kind.name).collect();
    assert_eq!(found, known, "the fill makes something of every kind");
    let (answer, refused) = clean(&client).await;
    let proof = empty(answer);
    let printed = format!("{} {refused:?} {client:?}", serde_json::to_string(&proof).unwrap());
    for secret in [&test.credentials.access_key_id, &test.credentials.access_key_secret] {
        assert!(!printed.contains(secret.as_str()), "{printed}");
    }
    let gone = test.left();
    assert_eq!(gone["empty"], true, "{gone}");
    assert_eq!(test.account(|account| account.left()), Vec::<String>::new());
    // Some passes over two regions, in small pages: more would mean that something is asked for again and again.
    assert!(http.calls() < 6000, "{} calls for {} items", http.calls(), inventory.items().count());
}

async fn untouched(test: Test) {
    let (client, http) = test.client(None);
    let first = listed(&client).await;
    // Who, where, and one call for each kind in each region; routes and rules ask for each table and group.
    let calls = 5 + REGIONS.len() * (table(CloudName::Alicloud).kinds.len() + 1);
    assert_eq!(http.calls(), u64::try_from(calls).unwrap());
    let kept = planned(&first).kept;
    assert_eq!(kept.len(), 3 * REGIONS.len(), "{kept:?}");
    let proof = empty(judged(&client, &first).await);
    assert!(proof.witness.iter().all(|count| count.number == Some(0)), "{:?}", proof.witness);
    let caller = client.whoami().await.unwrap();
    assert_eq!(caller.account.as_str(), test.credentials.account);
}

async fn denied(test: Test) {
    test.account(|account| account.deny("ecs:DescribeDisks"));
    let (client, _) = test.client(None);
    let cells = unknown(clean(&client).await.0);
    assert_eq!(cells.len(), REGIONS.len());
    for cell in cells {
        assert_eq!(cell.missing.as_deref(), Some("ecs:DescribeDisks"));
        assert_eq!(cell.kind, Some(KindName::of("Disk")));
    }
    test.account(|account| {
        account.allow("ecs:DescribeDisks");
        account.deny("nlb:DescribeRegions");
    });
    let cells = unknown(clean(&client).await.0);
    assert!(cells.iter().all(|cell| cell.missing.as_deref() == Some("nlb:DescribeRegions")), "{cells:?}");
    assert_eq!(cells.len(), 3 * REGIONS.len(), "a service that nobody may ask about is not absent");
}

async fn lost(test: Test) {
    test.account(|account| account.lose("ecs:DescribeNetworkInterfaces", 2 * 2));
    let (client, _) = test.client(None);
    let first = listed(&client).await;
    let cells = unknown(judged(&client, &first).await);
    assert_eq!(cells.len(), REGIONS.len());
    assert!(
        cells.iter().all(|cell| cell.because.starts_with("count network-interfaces: denied")),
        "{cells:?}"
    );
}

async fn prepaid(test: Test) {
    let made = test.fill(&["--prepaid"]);
    let instance = first(&made, "prepaid");
    let (client, _) = test.client(None);
    let plan = planned(&listed(&client).await);
    let immovable = plan.immovable.iter().find(|immovable| immovable.item.id.as_str() == instance).unwrap();
    assert_eq!(immovable.item.name.as_deref(), Some("bought"));
    assert!(immovable.because.contains("paid in advance"), "{}", immovable.because);
    assert!(immovable.remedy.contains("pay-as-you-go"), "{}", immovable.remedy);
    let (answer, _) = clean(&client).await;
    let left = left(&answer);
    assert!(left.contains(&instance), "{left:?}");
    assert!(left.contains(&first(&made, "vpc")), "its network stays with it: {left:?}");
    assert!(!left.contains(&first(&made, "load-balancer")), "everything else goes: {left:?}");
}

async fn protected(test: Test) {
    let made = test.fill(&["--protect"]);
    test.account(|account| account.deny("ecs:ModifyInstanceAttribute"));
    let (client, _) = test.client(None);
    let (answer, refused) = clean(&client).await;
    let instance = first(&made, "instance");
    assert!(left(&answer).contains(&instance));
    let refusal = &refused.iter().find(|refused| refused.key.id.as_str() == instance).unwrap().refusal;
    assert_eq!(refusal.missing(), Some("ecs:ModifyInstanceAttribute"), "{refusal:?}");
}

async fn throttled(test: Test) {
    test.account(|account| account.throttle("us-east-1", "vpc:DescribeVpcs"));
    let (client, _) = test.client(None);
    let first = listed(&client).await;
    let cell = first.cell(&Place::of("us-east-1"), &KindName::of("Vpc"));
    assert!(matches!(&cell, Cell::Unknown { because, missing: None } if because == "throttled"), "{cell:?}");
    assert!(matches!(first.cell(&EU, &KindName::of("Vpc")), Cell::Listed { .. }));
    // A route table stays with its VPC, so nobody knows whether it stays.
    let answer = judged(&client, &first).await;
    assert!(!matches!(answer, Verdict::Empty(_)), "{answer:?}");
}

async fn late(test: Test) {
    let made = test.fill(&[]);
    let nat = first(&made, "nat-gateway");
    test.account(|account| {
        account.slow(Slow::Calls(3));
        account.fail_late(&nat, 1);
    });
    let (client, _) = test.client(None);
    empty(clean(&client).await.0);
    assert_eq!(test.left()["empty"], true);
}

async fn never(test: Test) {
    let made = test.fill(&[]);
    let balancer = first(&made, "network-load-balancer");
    test.account(|account| {
        account.slow(Slow::Real(Duration::from_millis(20)));
        account.fail_late(&balancer, u32::MAX);
    });
    let (client, _) = test.client(None);
    let (answer, _) = clean(&client).await;
    assert!(left(&answer).contains(&balancer));
    assert_eq!(test.left()["empty"], false);
}

async fn appeared(test: Test) {
    let (client, _) = test.client(None);
    let first = listed(&client).await;
    assert!(planned(&first).is_empty());
    let fields =
        json!({ "Status": "Available", "Type": "data", "DiskChargeType": "PostPaid", "Tags": { "Tag": [] } });
    let before = "ecs:DescribeDisks".to_owned();
    let disk = Appearing { before, call: 3, kind: "Disk", region: EU.as_str().to_owned(), fields };
    test.account(|account| account.appear(disk));
    // Each listing made the call once for each region.
    let second = judged(&client, &first).await;
    assert_eq!(left(&second).len(), 1, "{second:?}");
}

async fn hidden(test: Test) {
    let fields = json!({ "NetworkInterfaceId": "eni-of-a-database", "Status": "InUse", "Type": "Secondary", "ServiceManaged": true,
        "InstanceId": "rm-1", "VpcId": "vpc-x", "Tags": { "Tag": [] } });
    test.account(|account| {
        account.add("NetworkInterface", EU.as_str(), "eni-of-a-database", fields);
        account.hide("eni-of-a-database");
    });
    let (client, _) = test.client(None);
    let (answer, _) = clean(&client).await;
    let Verdict::Left(left) = &answer else { panic!("{answer:?}") };
    let [Left::Witness { place, ids, .. }] = left.as_slice() else { panic!("{left:?}") };
    assert_eq!((place, ids), (&EU, &BTreeSet::from(["eni-of-a-database".to_owned()])));
}

async fn refused(test: Test) {
    let secret = "WrongSecretWrongSecretWrongSec";
    let (client, _) = test.client(Some(secret));
    let refusal = client.whoami().await.unwrap_err();
    let printed = format!("{refusal:?} {refusal} {client:?}");
    for hush in [secret, &test.credentials.access_key_id, "ACS3"] {
        assert!(!printed.contains(hush), "{printed}");
    }
    assert!(
        matches!(&refusal, Refusal::Other { code, .. } if code == "SignatureDoesNotMatch"),
        "{refusal:?}"
    );
    test.account(|account| account.revoke_keys());
    let (client, _) = test.client(None);
    let refusal = client.whoami().await.unwrap_err();
    assert_eq!(refusal.code(), "InvalidAccessKeyId.Inactive");
    assert!(refusal.missing().is_none() && !refusal.is_temporary(), "{refusal:?}");
    assert!(client.places().await.is_err());
}

async fn absent(test: Test) {
    test.account(|account| account.without("nlb", "us-east-1"));
    let (client, _) = test.client(None);
    let first = listed(&client).await;
    let cell = first.cell(&Place::of("us-east-1"), &KindName::of("ServerGroup"));
    assert!(matches!(&cell, Cell::Absent { because } if because.contains("nlb")), "{cell:?}");
    let proof = empty(judged(&client, &first).await);
    assert_eq!(proof.absent.len(), 3);
}

async fn skewed(test: Test) {
    test.account(|account| account.skew(3600));
    let (client, http) = test.client(None);
    client.whoami().await.unwrap();
    assert_eq!(http.calls(), 2);
    client.whoami().await.unwrap();
    assert_eq!(http.calls(), 3, "the offset is remembered");
}

async fn moving(test: Test) {
    let made = test.fill(&[]);
    assert!(made["vswitch"].as_array().unwrap().len() == 2);
    test.account(|account| account.page(1));
    let fields =
        json!({ "Status": "Available", "VpcId": "vpc-x", "IsDefault": false, "Tags": { "Tag": [] } });
    let before = "vpc:DescribeVSwitches".to_owned();
    let region = EU.as_str().to_owned();
    test.account(|account| account.appear(Appearing { before, call: 2, kind: "VSwitch", region, fields }));
    let (client, _) = test.client(None);
    let kind = KindName::of("VSwitch");
    let allotment_clouds::Page::Items { next, .. } = client.list(&EU, &kind, None).await.unwrap() else {
        panic!()
    };
    let refusal = client.list(&EU, &kind, next.as_ref()).await.unwrap_err();
    assert!(matches!(refusal, Refusal::Transient { .. }), "{refusal:?}");
}

async fn audited() {
    let audit = cloud_script("alicloud", "audit", &[], &[]).unwrap();
    let texts = |value: &Value| -> BTreeSet<String> {
        value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let deletes = texts(&audit["deletes"]);
    let made: BTreeSet<String> = table(CloudName::Alicloud)
        .kinds
        .iter()
        .flat_map(|kind| kind.delete)
        .map(|name| (*name).to_owned())
        .collect();
    let lines = include_str!("../../../clouds/alicloud/left-out.txt").lines();
    let left_out: BTreeMap<String, &str> = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once(": ").expect("service:Call: reason"))
        .map(|(call, reason)| (call.to_owned(), reason))
        .collect();
    let missing: Vec<_> =
        deletes.iter().filter(|call| !made.contains(*call) && !left_out.contains_key(*call)).collect();
    assert!(missing.is_empty(), "neither in the table nor in clouds/alicloud/left-out.txt: {missing:?}");
    let stale: Vec<_> =
        left_out.keys().filter(|call| !deletes.contains(*call) || made.contains(*call)).collect();
    assert!(stale.is_empty(), "out of date in clouds/alicloud/left-out.txt: {stale:?}");
    assert!(left_out.values().all(|reason| !reason.is_empty()));
    for (service, regions) in audit["hosts"].as_object().unwrap() {
        for (region, expected) in regions.as_object().unwrap() {
            assert_eq!(host(service, region).as_deref(), expected.as_str(), "{service} in {region}");
        }
    }
}
