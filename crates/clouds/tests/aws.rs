//! A whole cleaning of an AWS account, on an emulator that somebody filled.
//!
//! Runs if `ALLOTMENT_TEST_AWS_URL` names the server; `ALLOTMENT_TEST_AWS_KEY` (`id:secret`), `ALLOTMENT_TEST_AWS_REGIONS` and
//! `ALLOTMENT_TEST_AWS_SHOOTS` (with commas) say what it was filled with. `ALLOTMENT_TEST_AWS_WITHOUT` names kinds that the
//! emulator does not have: moto, with signatures enforced, refuses those of boto3 to EFS, too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

use allotment_clouds::{
    Answer, Caller, Cloud, Page, PageToken, Patience, Refusal,
    aws::{Aws, AwsConfig},
    credentials::{AwsCredentials, SecretData},
    delete_all,
    http::{Http, RateLimiter, Rates},
    take_inventory, take_witness,
};
use allotment_core::cleanup::{
    Cell, Cloud as CloudName, Count, CountName, Inventory, Item, Keep, KindName, Place, PlaceState, Plan,
    Question, ShootHistory, TechnicalId, Verdict, plan, verdict,
};
use futures::{FutureExt, future::BoxFuture};
use jiff::{SignedDuration, Timestamp};
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    sync::Arc,
    time::Duration,
};

/// More passes than any order of deletions needs.
const MOST_PASSES: usize = 8;

fn variable(name: &str) -> Option<String> {
    env::var(format!("ALLOTMENT_TEST_AWS_{name}")).ok().filter(|value| !value.is_empty())
}

fn list(name: &str, default: &str) -> Vec<String> {
    variable(name).unwrap_or_else(|| default.to_owned()).split(',').map(str::to_owned).collect()
}

fn client(url: String, secret: Option<&str>, history: ShootHistory) -> (Aws, Http) {
    let key = variable("KEY").unwrap_or_else(|| "AKIAIOSFODNN7EXAMPLE:x".to_owned());
    let (id, own) = key.split_once(':').unwrap();
    let data: SecretData = [("accessKeyID", id), ("secretAccessKey", secret.unwrap_or(own))]
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
        endpoint: Some(url),
        now: Arc::new(Timestamp::now),
    });
    (aws, http)
}

/// An emulator has 38 regions; the test needs those that were filled.
struct InRegions(Aws, BTreeSet<String>);

impl Cloud for InRegions {
    fn cloud(&self) -> CloudName {
        self.0.cloud()
    }

    fn whoami(&self) -> Answer<'_, Caller> {
        self.0.whoami()
    }

    fn places(&self) -> Answer<'_, BTreeMap<Place, PlaceState>> {
        async {
            let places = self.0.places().await?;
            Ok(places.into_iter().filter(|(place, _)| self.1.contains(place.as_str())).collect())
        }
        .boxed()
    }

    fn kinds(&self) -> Vec<KindName> {
        self.0.kinds()
    }

    fn list<'a>(
        &'a self,
        place: &'a Place,
        kind: &'a KindName,
        page: Option<&'a PageToken>,
    ) -> Answer<'a, Page> {
        if list("WITHOUT", "").iter().any(|without| without == kind.as_str()) {
            return async { Ok(Page::Absent { because: "the emulator does not have it".to_owned() }) }
                .boxed();
        }
        self.0.list(place, kind, page)
    }

    fn delete<'a>(&'a self, item: &'a Item) -> Answer<'a, ()> {
        self.0.delete(item)
    }

    fn counts<'a>(&'a self, place: &'a Place) -> BoxFuture<'a, BTreeMap<CountName, Count>> {
        self.0.counts(place)
    }
}

/// Kinds that the credentials cannot list, if the emulator enforces Gardener's policy.
fn assumed() -> BTreeSet<KindName> {
    BTreeSet::from([KindName::of("FileSystem"), KindName::of("MountTarget")])
}

fn planned(inventory: &Inventory) -> Plan {
    plan(inventory, &Keep::default(), None).assuming(&assumed())
}

async fn listed(cloud: &dyn Cloud) -> Inventory {
    take_inventory(cloud, &Timestamp::now).await.unwrap()
}

#[tokio::test]
async fn a_filled_account_is_cleaned_and_proven_empty() {
    let Some(url) = variable("URL") else { return };
    let shoots = list("SHOOTS", "shoot--p--a").into_iter().map(TechnicalId::new).collect();
    let regions: BTreeSet<String> =
        list("REGIONS", "eu-central-1,us-east-1,ap-south-1").into_iter().collect();
    let (aws, http) = client(url, None, ShootHistory::Complete(shoots));
    let cloud = InRegions(aws, regions);
    let mut inventory = listed(&cloud).await;
    println!("{} items, {} calls", inventory.items().count(), http.calls());
    for pass in 0..MOST_PASSES {
        let plan = planned(&inventory);
        println!(
            "pass {pass}: {} left, {} unknown, {} calls",
            plan.remaining().len(),
            plan.unknown.len(),
            http.calls()
        );
        assert!(plan.unknown.is_empty(), "{:?}", plan.unknown);
        if plan.is_empty() {
            break;
        }
        let patience = Patience { most: Duration::from_secs(10), every: Duration::from_millis(300) };
        for refused in delete_all(&cloud, &plan, patience).await {
            println!("  {}: {}", refused.key, refused.refusal);
        }
        inventory = listed(&cloud).await;
    }
    let second = listed(&cloud).await;
    let witness = take_witness(&cloud, &second, &Timestamp::now).await;
    let answer = verdict(&Question {
        first: &inventory,
        second: &second,
        witness: &witness,
        keep: &Keep::default(),
        baseline: None,
        settle: SignedDuration::ZERO,
        assume_absent: &assumed(),
    });
    let Verdict::Empty(proof) = &answer else { panic!("{answer:?}") };
    println!("{} calls, proof {}", http.calls(), proof.digest());
    assert!(!serde_json::to_string(proof).unwrap().contains("AKIA"));
}

#[tokio::test]
async fn without_a_history_roles_are_unknown() {
    let Some(url) = variable("URL") else { return };
    let (aws, _) = client(url, None, ShootHistory::Incomplete);
    let cloud = InRegions(aws, BTreeSet::from(["eu-central-1".to_owned()]));
    let inventory = listed(&cloud).await;
    let role = inventory.cell(&Place::GLOBAL, &KindName::of("Role"));
    assert!(matches!(role, Cell::Unknown { missing: None, .. }), "{role:?}");
}

#[tokio::test]
async fn a_wrong_secret_is_refused_and_never_repeated() {
    let Some(url) = variable("URL") else { return };
    let secret = "wrongwrongwrongwrongwrongwrongwrongwrong";
    let (aws, _) = client(url, Some(secret), ShootHistory::Incomplete);
    // An emulator that does not check signatures lets it pass.
    if let Err(refusal) = aws.whoami().await {
        assert!(!format!("{refusal:?}{refusal}").contains(secret));
        assert!(!matches!(refusal, Refusal::Gone | Refusal::Transient { .. }), "{refusal:?}");
    }
}
