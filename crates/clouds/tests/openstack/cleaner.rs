//! A cleaning as the operator does it, without an operator: list, plan, delete, list again, ask for a verdict.

use allotment_clouds::{
    Patience,
    credentials::{OpenStackCredentials, SecretData},
    delete_all,
    http::{RateLimiter, Rates},
    openstack::{OpenStack, OpenStackConfig},
    take_inventory, take_witness,
};
use allotment_core::cleanup::{Inventory, Keep, Plan, Question, RefusedItem, Verdict, plan, verdict};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

/// More passes than any order of deletions needs.
const MOST_PASSES: usize = 10;

/// A machine that builds beside this test is slow.
const DEADLINE: Duration = Duration::from_secs(180);

/// A client with the keys of a Secret, as quick as the product is by default.
pub fn client(auth_url: &str, keys: &Value) -> OpenStack {
    let keys = keys.as_object().unwrap().iter();
    let data: SecretData =
        keys.map(|(key, value)| (key.clone(), value.as_str().unwrap().as_bytes().to_vec())).collect();
    let config = OpenStackConfig {
        credentials: OpenStackCredentials::read(&data).unwrap(),
        auth_url: Some(auth_url.to_owned()),
        limiter: Arc::new(RateLimiter::new(Rates::default())),
        name: "test".to_owned(),
    };
    OpenStack::new(config).unwrap().with_deadline(DEADLINE)
}

pub async fn listed(cloud: &OpenStack) -> Inventory {
    take_inventory(cloud, &Timestamp::now).await.unwrap()
}

fn planned(inventory: &Inventory) -> Plan {
    let plan = plan(inventory, &Keep::default(), None);
    assert!(plan.unknown.is_empty(), "{:?}", plan.unknown);
    plan
}

/// The end of a cleaning.
pub struct Cleaned {
    pub plan: Plan,
    pub refused: Vec<RefusedItem>,
    pub verdict: Verdict,
}

/// Deletes until nothing is left or two passes change nothing, and asks for a verdict. No time passes between the two
/// listings of a proof: this cloud shows everything at once.
pub async fn clean(cloud: &OpenStack) -> Cleaned {
    let (began, calls) = (Instant::now(), cloud.calls());
    let mut first = listed(cloud).await;
    let mut refused = Vec::new();
    let mut unchanged = 0;
    for pass in 0..MOST_PASSES {
        let plan = planned(&first);
        println!(
            "pass {pass}: {} left after {:.0} s and {} calls",
            plan.remaining().len(),
            began.elapsed().as_secs_f64(),
            cloud.calls() - calls
        );
        if plan.is_empty() || unchanged == 2 {
            break;
        }
        refused = delete_all(cloud, &plan, Patience::default()).await;
        for RefusedItem { key, refusal } in &refused {
            println!("  {key}: {refusal}");
        }
        first = listed(cloud).await;
        unchanged = if planned(&first).remaining() == plan.remaining() { unchanged + 1 } else { 0 };
    }
    let second = listed(cloud).await;
    let witness = take_witness(cloud, &second, &Timestamp::now).await;
    let verdict = verdict(&Question {
        first: &first,
        second: &second,
        witness: &witness,
        keep: &Keep::default(),
        baseline: None,
        settle: SignedDuration::ZERO,
        assume_absent: &BTreeSet::new(),
    });
    Cleaned { plan: planned(&first), refused, verdict }
}
