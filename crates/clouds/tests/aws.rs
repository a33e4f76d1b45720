//! Whole cleanings of AWS accounts, on the test cloud in `clouds/`: moto behind a layer that refuses, pages, delays and checks signatures
//! and rights as AWS does. It is filled, and looked at afterwards, through boto3 alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

use allotment_clouds::{
    Cloud, Patience, Refusal,
    aws::{Aws, AwsConfig},
    credentials::{AwsCredentials, SecretData},
    delete_all,
    http::{Http, RateLimiter, Rates},
    take_inventory, take_witness,
};
use allotment_core::cleanup::{
    Cell, Cloud as CloudName, Inventory, Keep, KindName, Place, Plan, Question, ShootHistory, TechnicalId,
    Verdict, kinds::table, plan, verdict,
};
use allotment_testing::{AwsAccount, AwsCloud, audit_cloud};
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::{Value, json};
use std::{collections::BTreeSet, process::ExitCode, sync::Arc, time::Duration};

/// More passes than any order of deletions needs.
const MOST_PASSES: usize = 8;

/// The Shoot whose leftovers a fill makes.
const SHOOT: &str = "shoot--p--c";

/// Each case has an account of its own.
type Case = (&'static str, fn(&Account) -> BoxFuture<'_, ()>);

const CASES: [Case; 5] = [
    ("a_filled_account_is_cleaned_and_proven_empty", |account| Box::pin(filled(account))),
    ("an_item_that_no_list_shows_keeps_an_account_from_being_empty", |account| Box::pin(hidden(account))),
    ("without_a_history_roles_are_unknown", |account| Box::pin(without_history(account))),
    ("every_kind_that_can_be_deleted_is_in_the_table_or_left_out", |_| Box::pin(audited())),
    ("a_wrong_secret_is_refused_and_never_repeated", |account| Box::pin(wrong_secret(account))),
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
        let http = Http::new(None).unwrap();
        let aws = Aws::new(AwsConfig {
            credentials: AwsCredentials::read(&data).unwrap(),
            history,
            http: http.clone(),
            limiter: Arc::new(RateLimiter::new(Rates { reads: 200.0, writes: 200.0 })),
            name: "test".to_owned(),
            endpoint: Some(self.0.endpoint.clone()),
            now: Arc::new(Timestamp::now),
        });
        (aws, http)
    }
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

/// A kind that a new version of the SDK knows fails this test, and is no gap in a proof.
async fn audited() {
    let known = table(CloudName::Aws).kinds.iter().flat_map(|kind| kind.delete).map(|&name| name.to_owned());
    let faults = audit_cloud("aws", &known.collect()).unwrap();
    assert!(faults.is_empty(), "{faults:#?}");
}
