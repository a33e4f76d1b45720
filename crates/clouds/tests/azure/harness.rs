//! What the cases share: scripts of the SDK, clients, and whole cleanings.

use allotment_clouds::{
    Cloud, Patience,
    azure::{Azure, AzureConfig},
    credentials::{AzureCredentials, SecretData},
    delete_all,
    http::{Http, RateLimiter, Rates},
    take_inventory, take_witness,
};
use allotment_core::cleanup::{Inventory, Keep, Left, Question, RefusedItem, Verdict, plan, verdict};
use allotment_simulators::azure::{Account, Principal};
use allotment_testing::cloud_script;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// More passes than any order of deletions needs.
const MOST_PASSES: usize = 8;

/// Runs a script with the credentials of a principal.
pub fn script(account: &Account, name: &str, arguments: &[&str], principal: &Principal) -> Value {
    let assertion = account.workload_token();
    let environment = [
        ("AZURE_ENDPOINT", account.endpoint.as_str()),
        ("AZURE_SUBSCRIPTION_ID", &account.subscription),
        ("AZURE_TENANT_ID", &account.tenant),
        ("AZURE_CLIENT_ID", &principal.client),
        ("AZURE_CLIENT_SECRET", &principal.secret),
        ("AZURE_ASSERTION", &assertion),
    ];
    cloud_script("azure", name, arguments, &environment).unwrap()
}

pub fn fill(account: &Account, arguments: &[&str]) -> Value {
    script(account, "fill", arguments, &account.own)
}

pub fn left(account: &Account) -> Value {
    script(account, "left", &[], &account.admin)
}

pub fn credentials(account: &Account, secret: &str) -> AzureCredentials {
    let data: SecretData = [
        ("subscriptionID", account.subscription.as_str()),
        ("tenantID", &account.tenant),
        ("clientID", &account.own.client),
        ("clientSecret", secret),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()))
    .collect();
    AzureCredentials::read(&data).unwrap()
}

pub fn client_with(account: &Account, credentials: AzureCredentials) -> (Azure, Http) {
    let http = Http::new(None).unwrap();
    let azure = Azure::new(AzureConfig {
        credentials,
        http: http.clone(),
        limiter: Arc::new(RateLimiter::new(Rates { reads: 1000.0, writes: 1000.0 })),
        name: "test".to_owned(),
        endpoint: Some(account.endpoint.clone()),
        now: Arc::new(Timestamp::now),
    });
    (azure, http)
}

pub fn client(account: &Account) -> Azure {
    client_with(account, credentials(account, &account.own.secret)).0
}

pub async fn listed(cloud: &dyn Cloud) -> Inventory {
    take_inventory(cloud, &Timestamp::now).await.unwrap()
}

/// The end of a cleaning.
pub struct Cleaned {
    pub verdict: Verdict,
    pub refused: Vec<RefusedItem>,
    pub passes: usize,
}

impl Cleaned {
    /// Whatever a person could read of it.
    pub fn told(&self) -> String {
        let proof = match &self.verdict {
            Verdict::Empty(proof) => serde_json::to_string(proof).unwrap(),
            other => format!("{other:?}"),
        };
        let refused: Vec<String> = self.refused.iter().map(|it| format!("{it:?} {}", it.refusal)).collect();
        format!("{proof} {}", refused.join(" "))
    }

    pub fn ids(&self) -> Vec<String> {
        let Verdict::Left(left) = &self.verdict else { panic!("{}", self.told()) };
        left.iter()
            .map(|left| match left {
                Left::Listing(key) => key.id.as_str().to_owned(),
                Left::Witness { place, count, surplus, .. } => format!("{place} {count} {surplus}"),
            })
            .collect()
    }
}

/// Deletes until nothing is left that can be deleted, and judges.
pub async fn clean(cloud: &dyn Cloud, keep: &Keep) -> Cleaned {
    let mut inventory = listed(cloud).await;
    let (mut refused, mut passes) = (Vec::new(), 0);
    while passes < MOST_PASSES {
        let plan = plan(&inventory, keep, None);
        if plan.deletions().next().is_none() && plan.leaving.is_empty() {
            break;
        }
        passes += 1;
        let patience = Patience { most: Duration::from_secs(3), every: Duration::from_millis(20) };
        refused.extend(delete_all(cloud, &plan, patience).await);
        inventory = listed(cloud).await;
    }
    let second = listed(cloud).await;
    let witness = take_witness(cloud, &second, &Timestamp::now).await;
    let verdict = verdict(&Question {
        first: &inventory,
        second: &second,
        witness: &witness,
        keep,
        baseline: None,
        settle: SignedDuration::ZERO,
        assume_absent: &BTreeSet::new(),
    });
    Cleaned { verdict, refused, passes }
}

pub fn assert_tells_no_secret(account: &Account, told: &str) {
    let assertion = account.workload_token();
    let signature = assertion.rsplit('.').next().unwrap();
    for secret in [account.own.secret.as_str(), signature, "eyJ0eXAi", "hush"] {
        assert!(!told.contains(secret), "{secret}: {told}");
    }
}
