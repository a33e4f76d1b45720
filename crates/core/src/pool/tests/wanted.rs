//! Which pool a request is for, and what its status says.

use super::super::*;
use crate::rules;
use allotment_api::kyma::{SubscriptionPhase, SubscriptionRequestSpec};
use jiff::Timestamp;
use serde_json::{Value, json};

fn ask(spec: Value) -> Result<Wanted, Denial> {
    let options = rules::Options { enabled_plans: Some(Vec::new()), ..rules::Options::default() };
    let text = "rule: [aws, 'aws(PR=cf-eu11) -> EU', trial -> S, 'gcp -> PR']";
    let rules = rules::load(text, &options).rules.unwrap();
    let spec: SubscriptionRequestSpec = serde_json::from_value(spec).unwrap();
    wanted(&spec, &rules)
}

#[test]
fn without_a_plan_provider_and_selector_decide() {
    for selector in ["globalaccount:abcd-0001", "abcd-0001"] {
        let wanted = ask(json!({ "provider": "aws", "subscriptionSelector": selector })).unwrap();
        assert_eq!(wanted.tenant, Some(Tenant::new("abcd-0001")));
        assert_eq!(wanted.pool.to_string(), "aws");
        assert_eq!(wanted.rule, None);
    }
    let wanted = ask(json!({ "provider": "gcp", "subscriptionSelector": "shared" })).unwrap();
    assert_eq!((wanted.tenant, wanted.pool.to_string()), (None, "gcp (shared)".to_owned()));
}

#[test]
fn with_a_plan_the_rules_decide_and_the_selector_names_the_tenant() {
    let plan = |plan: &str, selector: &str, region: &str| {
        ask(
            json!({ "provider": "aws", "subscriptionSelector": selector, "plan": plan, "platformRegion": region }),
        )
    };
    let wanted = plan("aws", "ga-1", "cf-eu11").unwrap();
    assert_eq!(wanted.pool.to_string(), "aws (EU)");
    assert_eq!(wanted.rule.as_deref(), Some("aws(PR=cf-eu11) -> EU"));
    let wanted = plan("trial", "ga-1", "x").unwrap();
    assert_eq!((wanted.tenant, wanted.pool.shared), (None, true), "shared by the rule, whoever asks");
    assert_eq!(plan("aws", "shared", "x").unwrap_err().reason, "TenantMissing");
    assert_eq!(plan("gold", "ga-1", "x").unwrap_err().reason, "NoRule");
    assert_eq!(plan("gcp", "ga-1", "x").unwrap_err().reason, "NoRule", "gcp is not in aws");
    let nowhere = ask(json!({ "provider": "gcp", "subscriptionSelector": "ga-1", "plan": "gcp" }));
    assert_eq!(nowhere.unwrap_err().reason, "NoPool", "the rule wants a region");
}

#[test]
fn a_status_that_says_so_already_is_not_another_one() {
    let wanted = ask(json!({ "provider": "aws", "subscriptionSelector": "ga-1" })).unwrap();
    let bound = Progress::Bound {
        wanted: wanted.clone(),
        account: AccountName::new("a"),
        binding: "a".to_owned(),
        kind: Default::default(),
        secret: None,
    };
    let [early, late] = [1, 2].map(|second| Timestamp::from_second(second).unwrap());
    let status = bound.status(None, Some(1), early);
    assert_eq!(bound.status(Some(&status), Some(1), late), status);
    assert_eq!(status.phase, Some(SubscriptionPhase::Bound));
    assert_eq!(status.gardener_secret_name.as_deref(), Some("a"));
    let lack = Lack::PoolExhausted { pool: wanted.pool.clone(), spoken_for: 0 };
    let waiting =
        Progress::Waiting { wanted, position: 3, lack, occupied: None }.status(None, Some(1), early);
    assert_eq!(waiting.queue_position, Some(3));
    assert!(waiting.conditions.iter().all(|condition| condition.message.contains("place 3")));
    let then = bound.status(Some(&waiting), Some(1), late);
    assert_eq!(then.queue_position, None);
    let releasing = Progress::Releasing { because: "x".to_owned() }.status(Some(&status), Some(1), late);
    assert_eq!(releasing.gardener_secret_name.as_deref(), Some("a"), "readers still find what they use");
}
