//! Whole cleanings of AWS accounts, on the test cloud in `clouds/`: moto behind a layer that refuses, pages, delays and checks signatures
//! and rights as AWS does. It is filled, and looked at afterwards, through boto3 alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod answers;
mod issuer;

use allotment_clouds::{
    Cloud, Patience, Refusal,
    aws::{Aws, AwsConfig, Partition},
    credentials::{AwsCredentials, SecretData},
    delete_all,
    http::{Http, RateLimiter, Rates},
    take_inventory, take_witness,
};
use allotment_core::cleanup::{
    Cell, Cloud as CloudName, Inventory, Keep, KindName, Place, Plan, Question, ShootHistory, TechnicalId,
    Verdict, kinds::table, plan, verdict,
};
use allotment_testing::{AwsAccount, AwsCloud, audit_cloud, cloud_script};
use answers::{answer, error, server};
use futures::future::BoxFuture;
use issuer::Issuer;
use jiff::{SignedDuration, Timestamp};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    process::ExitCode,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// More passes than any order of deletions needs.
const MOST_PASSES: usize = 8;

/// The Shoot whose leftovers a fill makes.
const SHOOT: &str = "shoot--p--c";

/// Each case has an account of its own.
type Case = (&'static str, fn(&Account) -> BoxFuture<'_, ()>);

const CASES: [Case; 7] = [
    ("a_filled_account_is_cleaned_and_proven_empty", |account| Box::pin(filled(account))),
    ("an_item_that_no_list_shows_keeps_an_account_from_being_empty", |account| Box::pin(hidden(account))),
    ("without_a_history_roles_are_unknown", |account| Box::pin(without_history(account))),
    ("every_kind_that_can_be_deleted_is_in_the_table_or_left_out", |_| Box::pin(audited())),
    ("a_wrong_secret_is_refused_and_never_repeated", |account| Box::pin(wrong_secret(account))),
    ("a_workload_identity_cleans_an_account_though_its_sessions_end", |account| {
        Box::pin(of_an_identity(account))
    }),
    ("a_token_is_sent_as_botocore_sends_it", |_| Box::pin(sent_as_by_botocore())),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = CASES.into_iter().map(|(name, run)| {
        Trial::ignorable_test(name, move || {
            let account = match AwsCloud::shared() {
                Ok(cloud) => Account(cloud.account().unwrap()),
                Err(why) => return Ok(Completion::ignored_with(why.0)),
            };
            let runtime = tokio::runtime::Runtime::new().map_err(|error| Failed::from(error.to_string()))?;
            runtime.block_on(run(&account));
            Ok(Completion::Completed)
        })
    });
    let ended = libtest_mimic::run(&arguments, trials.collect());
    AwsCloud::stop_shared();
    ended.exit_code()
}

/// An account of the test cloud, with the rights that Gardener documents.
struct Account(AwsAccount);

impl Account {
    /// Runs a script of the test cloud, with all rights.
    fn script(&self, name: &str, arguments: &[&str]) -> Value {
        self.0.script(name, arguments).unwrap()
    }

    fn client(&self, secret: Option<&str>, history: ShootHistory) -> (Aws, Http) {
        let secret = secret.unwrap_or_else(|| self.0.secret_access_key());
        let data: SecretData = [("accessKeyID", self.0.access_key_id()), ("secretAccessKey", secret)]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()))
            .collect();
        client_with(AwsCredentials::read(&data).unwrap(), &self.0.endpoint, history)
    }
}

fn client_with(credentials: AwsCredentials, endpoint: &str, history: ShootHistory) -> (Aws, Http) {
    let http = Http::new(None).unwrap();
    let aws = Aws::new(AwsConfig {
        credentials,
        history,
        http: http.clone(),
        limiter: Arc::new(RateLimiter::new(Rates { reads: 200.0, writes: 200.0 })),
        name: "test".to_owned(),
        endpoint: Some(endpoint.to_owned()),
        now: Arc::new(Timestamp::now),
    });
    (aws, http)
}

fn history() -> ShootHistory {
    ShootHistory::Complete([TechnicalId::new(SHOOT)].into_iter().collect())
}

/// Kinds that credentials with Gardener's policy can neither list nor make.
fn assumed() -> BTreeSet<KindName> {
    BTreeSet::from([KindName::of("FileSystem"), KindName::of("MountTarget")])
}

fn planned(inventory: &Inventory) -> Plan {
    plan(inventory, &Keep::default(), None).assuming(&assumed())
}

async fn listed(cloud: &dyn Cloud) -> Inventory {
    take_inventory(cloud, &Timestamp::now).await.unwrap()
}

/// Deletes until nothing is left that can be deleted, and judges.
async fn clean(cloud: &dyn Cloud) -> Verdict {
    let mut inventory = listed(cloud).await;
    for _ in 0..MOST_PASSES {
        let plan = planned(&inventory);
        assert!(plan.unknown.is_empty(), "{:?}", plan.unknown);
        if plan.is_empty() {
            break;
        }
        let patience = Patience { most: Duration::from_secs(10), every: Duration::from_millis(300) };
        delete_all(cloud, &plan, patience).await;
        inventory = listed(cloud).await;
    }
    let second = listed(cloud).await;
    let witness = take_witness(cloud, &second, &Timestamp::now).await;
    verdict(&Question {
        first: &inventory,
        second: &second,
        witness: &witness,
        keep: &Keep::default(),
        baseline: None,
        settle: SignedDuration::ZERO,
        assume_absent: &assumed(),
    })
}

async fn filled(account: &Account) {
    account.script("fill", &["--protect"]);
    assert_eq!(account.script("left", &[])["empty"], false);
    let (aws, _) = account.client(None, history());
    let answer = clean(&aws).await;
    let Verdict::Empty(proof) = &answer else { panic!("{answer:?}") };
    assert!(!serde_json::to_string(proof).unwrap().contains("AKIA"));
    let left = account.script("left", &[]);
    assert_eq!(left["empty"], true, "{left}");
}

async fn hidden(account: &Account) {
    let made = account.script("fill", &["--region", "eu-central-1"]);
    let volume = made["eu-central-1"]["volume"][0].as_str().unwrap();
    account.0.control("hide", &json!({ "ids": [volume] })).unwrap();
    let (aws, _) = account.client(None, history());
    let answer = clean(&aws).await;
    assert!(!matches!(answer, Verdict::Empty(_)), "{answer:?}");
    assert_eq!(account.script("left", &[])["empty"], false);
}

async fn without_history(account: &Account) {
    let (aws, _) = account.client(None, ShootHistory::Incomplete);
    let inventory = listed(&aws).await;
    let role = inventory.cell(&Place::GLOBAL, &KindName::of("Role"));
    assert!(matches!(role, Cell::Unknown { missing: None, .. }), "{role:?}");
}

async fn wrong_secret(account: &Account) {
    let secret = "wrongwrongwrongwrongwrongwrongwrongwrong";
    let (aws, _) = account.client(Some(secret), ShootHistory::Incomplete);
    let refusal = aws.whoami().await.unwrap_err();
    assert!(!format!("{refusal:?}{refusal}").contains(secret));
    assert!(!matches!(refusal, Refusal::Gone | Refusal::Transient { .. }), "{refusal:?}");
}

/// A session that has ended refuses many calls at once; they wait for one new session, and go on.
async fn of_an_identity(account: &Account) {
    account.script("fill", &["--region", "eu-central-1"]);
    let issuer = Arc::new(Issuer::new());
    let role = account.0.control("roles", &issuer.trust()).unwrap()["roleArn"].as_str().unwrap().to_owned();
    let (aws, _) = client_with(issuer.credentials(&role), &account.0.endpoint, history());
    let caller = aws.whoami().await.unwrap();
    assert_eq!((caller.account.as_str(), caller.principal.as_str()), (account.0.id(), role.as_str()));
    account.0.control_delete("sessions").unwrap();
    let answer = clean(&aws).await;
    let Verdict::Empty(proof) = &answer else { panic!("{answer:?}") };
    let proof = serde_json::to_string(proof).unwrap();
    assert!(!proof.contains("ASIA") && !proof.contains("eyJ"), "{proof}");
    let left = account.script("left", &[]);
    assert_eq!(left["empty"], true, "{left}");
    account.0.control_delete("sessions").unwrap();
    aws.whoami().await.unwrap();
    assert_eq!(
        issuer.issued.load(Ordering::Relaxed),
        3,
        "one for each session, however many calls were refused"
    );
    account.0.control_delete("roles").unwrap();
    let refusal = aws.whoami().await.unwrap_err();
    assert!(!matches!(refusal, Refusal::Gone | Refusal::Transient { .. }), "{refusal:?}");
}

/// The same role and token through botocore, which only writes down what it would send.
async fn sent_as_by_botocore() {
    for (region, role) in [
        ("us-east-1", "arn:aws:iam::123456789012:role/gardener"),
        ("cn-north-1", "arn:aws-cn:iam::123456789012:role/some/path/gardener"),
    ] {
        let (url, requests) = server(vec![answer("403 Forbidden", "", &error("AccessDenied", ""))]).await;
        let issuer = Arc::new(Issuer::new());
        let (aws, _) = client_with(issuer.credentials(role), &url, ShootHistory::Incomplete);
        aws.whoami().await.unwrap_err();
        let request = requests.lock().unwrap()[0].clone();
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        let token = body.split("WebIdentityToken=").nth(1).unwrap();
        let theirs =
            cloud_script("aws", "web-identity", &[region, role, "allotment-cleanup", token], &[]).unwrap();
        assert_eq!(body, theirs["body"].as_str().unwrap());
        assert!(head.starts_with("POST / HTTP/1.1") && theirs["method"] == "POST", "{head}");
        let host = Partition::of(region).host("sts", &Place::new(region));
        assert_eq!(theirs["url"], format!("https://{host}/"));
        assert!(
            head.contains(&format!("content-type: {}", theirs["contentType"].as_str().unwrap())),
            "{head}"
        );
        assert!(!head.contains("authorization:") && theirs["authorization"] == false, "{head}");
    }
}

/// A kind that a new version of the SDK knows fails this test, and is no gap in a proof.
async fn audited() {
    let known = table(CloudName::Aws).kinds.iter().flat_map(|kind| kind.delete).map(|&name| name.to_owned());
    let faults = audit_cloud("aws", &known.collect()).unwrap();
    assert!(faults.is_empty(), "{faults:#?}");
}
