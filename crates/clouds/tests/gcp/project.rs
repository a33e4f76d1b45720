//! A project of the simulator, and a whole cleaning of it.

use allotment_clouds::{
    Cloud, Patience, Refusal,
    credentials::{GcpCredentials, SecretData, WorkloadToken},
    delete_all,
    gcp::{Gcp, GcpConfig, Patience as OperationPatience},
    http::{Http, RateLimiter, Rates},
    take_inventory, take_witness,
};
use allotment_core::cleanup::{Inventory, Keep, Plan, Question, RefusedItem, Verdict, plan, verdict};
use allotment_simulators::{
    gcp::{GcpCloud, GcpProject, Setup},
    server::Server,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
    time::Duration,
};

/// More passes than any order of deletions needs.
const MOST_PASSES: usize = 8;

/// One cloud for all cases.
fn cloud() -> &'static (Arc<GcpCloud>, Server) {
    static CLOUD: OnceLock<(Arc<GcpCloud>, Server)> = OnceLock::new();
    CLOUD.get_or_init(|| {
        let cloud = GcpCloud::new();
        let server = Server::start(cloud.clone()).unwrap();
        (cloud, server)
    })
}

/// Whether this machine can have Google's packages; the first time they are installed.
pub(crate) fn packages() -> Result<(), String> {
    static FOUND: OnceLock<Result<(), String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let printed = allotment_testing::cloud_script("gcp", "rows", &["--print"], &[]);
        printed.map(|_| ()).or_else(|why| if why.contains("clouds/install") { Err(why) } else { Ok(()) })
    });
    found.clone()
}

pub(crate) struct Project {
    pub(crate) cloud: GcpProject,
    pub(crate) http: Http,
}

impl Project {
    pub(crate) fn new() -> Self {
        let cloud = cloud().0.project(&Setup::default());
        Self { cloud, http: Http::new(None).unwrap() }
    }

    pub(crate) fn endpoint() -> String {
        cloud().1.endpoint()
    }

    /// Runs a script with Google's packages.
    pub(crate) fn script(&self, name: &str, arguments: &[&str]) -> Value {
        let (endpoint, key) = (Self::endpoint(), self.cloud.key(&Self::endpoint()).to_string());
        let environment = [("GCP_ENDPOINT", endpoint.as_str()), ("GCP_KEY", key.as_str())];
        allotment_testing::cloud_script("gcp", name, arguments, &environment).unwrap()
    }

    pub(crate) fn client(&self) -> Gcp {
        let key = self.cloud.key(&Self::endpoint()).to_string();
        let data: SecretData = [("serviceaccount.json".to_owned(), key.into_bytes())].into();
        self.client_with(GcpCredentials::read(&data).unwrap())
    }

    pub(crate) fn client_of_workload(&self, token: Arc<dyn WorkloadToken>) -> Gcp {
        let config = self.cloud.workload_config(&Self::endpoint());
        self.client_with(GcpCredentials::of_workload(&config, token).unwrap())
    }

    fn client_with(&self, credentials: GcpCredentials) -> Gcp {
        let config = GcpConfig {
            credentials,
            http: self.http.clone(),
            limiter: Arc::new(RateLimiter::new(Rates { reads: 500.0, writes: 500.0 })),
            name: self.cloud.id().to_owned(),
            endpoint: Some(Self::endpoint()),
            now: Arc::new(Timestamp::now),
        };
        Gcp::new(config).unwrap().with_patience(OperationPatience {
            first: Duration::from_millis(2),
            every: Duration::from_millis(20),
            most: Duration::from_secs(5),
            machine: Duration::from_millis(5),
        })
    }

    /// No key, no token and no assertion is in a text.
    pub(crate) fn assert_no_secret(text: &str) {
        for secret in ["PRIVATE KEY", "ya29.", "eyJ", "subject-of-"] {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
        let line = allotment_simulators::gcp::PRIVATE_KEY.lines().nth(1).unwrap();
        assert!(!text.contains(line));
    }
}

pub(crate) async fn listed(cloud: &dyn Cloud) -> Inventory {
    take_inventory(cloud, &Timestamp::now).await.unwrap()
}

pub(crate) fn planned(inventory: &Inventory) -> Plan {
    plan(inventory, &Keep::default(), None)
}

/// Deletes until nothing is left that can be deleted.
pub(crate) async fn clean(cloud: &dyn Cloud, keep: &Keep) -> (Inventory, Vec<RefusedItem>) {
    let mut inventory = listed(cloud).await;
    let mut refused = Vec::new();
    for _ in 0..MOST_PASSES {
        let planned = plan(&inventory, keep, None);
        if planned.deletions().next().is_none() {
            break;
        }
        let patience = Patience { most: Duration::from_secs(5), every: Duration::from_millis(50) };
        refused = delete_all(cloud, &planned, patience).await;
        let before = planned.remaining();
        inventory = listed(cloud).await;
        if plan(&inventory, keep, None).remaining() == before {
            break;
        }
    }
    for RefusedItem { refusal, .. } in &refused {
        Project::assert_no_secret(&format!("{refusal} {refusal:?}"));
    }
    (inventory, refused)
}

/// The verdict on this listing and another one.
pub(crate) async fn judged(cloud: &dyn Cloud, first: &Inventory, keep: &Keep) -> Verdict {
    let second = listed(cloud).await;
    let witness = take_witness(cloud, &second, &Timestamp::now).await;
    let answer = verdict(&Question {
        first,
        second: &second,
        witness: &witness,
        keep,
        baseline: None,
        settle: SignedDuration::ZERO,
        assume_absent: &BTreeSet::new(),
    });
    Project::assert_no_secret(&format!("{answer:?}"));
    answer
}

/// The refusal of an item.
pub(crate) fn refusal_of<'a>(refused: &'a [RefusedItem], kind: &str) -> &'a Refusal {
    let found = refused.iter().find(|refused| refused.key.kind.as_str() == kind);
    &found.unwrap_or_else(|| panic!("no {kind} was refused: {refused:?}")).refusal
}
