//! The calls that the clouds in memory count are those that the clients make, here on the simulators. Benchmarks rely on it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

use allotment_clouds::{
    Cloud,
    alicloud::{Alicloud, AlicloudConfig},
    azure::{Azure, AzureConfig},
    credentials::{AlicloudCredentials, AzureCredentials, GcpCredentials, SecretData},
    gcp::{Gcp, GcpConfig},
    http::{Http, RateLimiter, Rates},
    memory::MemoryCloud,
    take_inventory, take_witness,
};
use allotment_core::cleanup::{CloudAccountId, Place, ShootHistory};
use allotment_simulators::{
    alicloud::Alicloud as AlicloudSimulator,
    azure::Azure as AzureSimulator,
    gcp::{GcpCloud, Setup},
    server::Server,
};
use jiff::Timestamp;
use std::{collections::BTreeSet, sync::Arc};

/// A login is no call that a limit concerns; the others are counted.
const LOGIN: u64 = 1;

fn limiter() -> Arc<RateLimiter> {
    Arc::new(RateLimiter::new(Rates { reads: 10_000.0, writes: 10_000.0 }))
}

fn data(pairs: &[(&str, &str)]) -> SecretData {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect()
}

/// Lists and counts a new account, by its client, and the same account in memory. Returns the calls of both.
async fn compare(client: &dyn Cloud, http: &Http) -> (u64, u64) {
    let inventory = take_inventory(client, &Timestamp::now).await.unwrap();
    assert!(inventory.unknown().is_empty(), "{:?}", inventory.unknown());
    take_witness(client, &inventory, &Timestamp::now).await;
    let places: Vec<Place> = inventory.enabled_places();
    assert!(!places.is_empty());
    let (memory, account) = (MemoryCloud::new().with_page_size(500), CloudAccountId::of("a"));
    memory.add_account(client.cloud(), account.clone(), places.clone());
    let history = ShootHistory::Complete(BTreeSet::new());
    let in_memory = memory.client(client.cloud(), &account, history);
    let same = take_inventory(&in_memory, &Timestamp::now).await.unwrap();
    take_witness(&in_memory, &same, &Timestamp::now).await;
    assert_eq!(same.enabled_places(), places);
    (http.calls(), memory.calls())
}

#[tokio::test(flavor = "multi_thread")]
async fn azure() {
    let simulator = AzureSimulator::start().unwrap();
    let (account, http) = (simulator.account(), Http::new(None).unwrap());
    let secret = data(&[
        ("subscriptionID", &account.subscription),
        ("tenantID", &account.tenant),
        ("clientID", &account.own.client),
        ("clientSecret", &account.own.secret),
    ]);
    let client = Azure::new(AzureConfig {
        credentials: AzureCredentials::read(&secret).unwrap(),
        http: http.clone(),
        limiter: limiter(),
        name: "a".to_owned(),
        endpoint: Some(account.endpoint.clone()),
        now: Arc::new(Timestamp::now),
    });
    let (real, counted) = compare(&client, &http).await;
    assert_eq!(real, counted + LOGIN);
}

#[tokio::test(flavor = "multi_thread")]
async fn gcp() {
    let cloud = GcpCloud::new();
    let server = Server::start(cloud.clone()).unwrap();
    let (project, http) = (cloud.project(&Setup::default()), Http::new(None).unwrap());
    let key = project.key(&server.endpoint()).to_string();
    let client = Gcp::new(GcpConfig {
        credentials: GcpCredentials::read(&data(&[("serviceaccount.json", &key)])).unwrap(),
        http: http.clone(),
        limiter: limiter(),
        name: "a".to_owned(),
        endpoint: Some(server.endpoint()),
        now: Arc::new(Timestamp::now),
    });
    let (real, counted) = compare(&client.unwrap(), &http).await;
    assert_eq!(real, counted + LOGIN);
}

/// Every call is signed by itself: nobody logs in.
#[tokio::test(flavor = "multi_thread")]
async fn alicloud() {
    let (cloud, server) = AlicloudSimulator::start().unwrap();
    let (account, http) = (cloud.account(&["eu-central-1", "us-east-1"]), Http::new(None).unwrap());
    let secret =
        data(&[("accessKeyID", &account.access_key_id), ("accessKeySecret", &account.access_key_secret)]);
    let client = Alicloud::new(AlicloudConfig {
        credentials: AlicloudCredentials::read(&secret).unwrap(),
        http: http.clone(),
        limiter: limiter(),
        name: "a".to_owned(),
        endpoint: Some(server.endpoint()),
        now: Arc::new(Timestamp::now),
    });
    let (real, counted) = compare(&client, &http).await;
    assert_eq!(real, counted);
}
