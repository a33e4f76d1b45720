//! Whether an account is for whoever asks, by the labels of its entry alone.

use super::{
    Entry, LabelKeys,
    wanted::{tenant_of, wanted},
};
use crate::rules::RuleSet;
use allotment_api::kyma::SubscriptionRequestSpec;
use std::collections::BTreeMap;

/// Whether an account is for the tenant that a selector names, by the labels of its entry. What a request's status says of its
/// account and its tenant proves nothing: it may be forged. `labels_tell` is false where the pool is made of other objects, and
/// these have no labels.
///
/// # Errors
///
/// Why it is not.
pub fn account_is_for(
    selector: &str,
    labels: &BTreeMap<String, String>,
    keys: &LabelKeys,
    labels_tell: bool,
) -> Result<(), &'static str> {
    let entry = Entry::read(labels, None, keys);
    match (tenant_of(selector), &entry.tenant) {
        _ if entry.dirty => Err("it is dirty"),
        _ if entry.internal => Err("tenants never get it"),
        (tenant, Some(holder)) if tenant.as_ref() != Some(holder) => Err("another tenant holds it"),
        (_, None) if labels_tell && entry.is_dedicated() => Err("nobody holds it"),
        _ => Ok(()),
    }
}

/// Whether an account is one of the pool that the rules give a request. A shared account carries no tenant to compare, so that a forged
/// status could name any of them.
///
/// # Errors
///
/// Why it is not.
pub fn account_is_of_pool(
    request: &SubscriptionRequestSpec,
    rules: &RuleSet,
    labels: &BTreeMap<String, String>,
    keys: &LabelKeys,
    labels_tell: bool,
) -> Result<(), String> {
    let wanted = wanted(request, rules)
        .map_err(|denial| format!("its SubscriptionRequest gets none: {}", denial.message))?;
    let pool = Entry::read(labels, None, keys).pool;
    match pool {
        pool if !labels_tell || pool.as_ref() == Some(&wanted.pool) => Ok(()),
        // The pools of others are not told.
        _ => Err(format!("it is not in pool {}, which the rules give", wanted.pool)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;
    use allotment_api::kyma::Provider;

    #[test]
    fn an_account_is_of_the_pool_that_the_rules_give() {
        let options = rules::Options { enabled_plans: Some(Vec::new()), ..rules::Options::default() };
        let text = "rule: [aws, 'aws(PR=cf-eu11) -> EU', trial -> S]";
        let rules = rules::load(text, &options).rules.unwrap();
        let of = |plan: Option<&str>, selector: &str, labels: &[(&str, &str)], tell| {
            let spec = SubscriptionRequestSpec {
                provider: Provider::Aws,
                subscription_selector: selector.to_owned(),
                plan: plan.map(str::to_owned),
                platform_region: Some("cf-eu11".to_owned()),
                hyperscaler_region: Some("eu-central-1".to_owned()),
                cluster_ref: None,
            };
            let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            account_is_of_pool(&spec, &rules, &labels, &LabelKeys::default(), tell)
        };
        let (aws, gcp, shared, eu) = (
            ("hyperscalerType", "aws"),
            ("hyperscalerType", "gcp"),
            ("shared", "true"),
            ("euAccess", "true"),
        );
        assert_eq!(of(Some("trial"), "shared", &[aws, shared], true), Ok(()));
        assert_eq!(of(None, "shared", &[aws, shared], true), Ok(()));
        assert_eq!(of(Some("aws"), "t-1", &[aws, eu, ("tenantName", "t-1")], true), Ok(()));
        assert!(
            of(Some("aws"), "shared", &[aws, shared], true).is_err(),
            "the rule is for dedicated accounts"
        );
        assert!(of(Some("none"), "shared", &[aws, shared], true).is_err(), "there is no rule");
        assert!(of(Some("none"), "shared", &[], false).is_err(), "whatever tells");
        assert!(of(Some("trial"), "shared", &[gcp, shared], true).is_err());
        assert!(of(Some("trial"), "shared", &[aws, shared, eu], true).is_err());
        assert!(of(Some("trial"), "shared", &[aws], true).is_err());
        assert!(of(Some("aws"), "t-1", &[aws, shared], true).is_err());
        assert!(of(None, "t-1", &[aws, eu], true).is_err());
        assert_eq!(of(Some("trial"), "shared", &[], false), Ok(()), "the labels are elsewhere");
    }

    #[test]
    fn an_account_is_the_holders_or_shared() {
        let of = |selector: &str, labels: &[(&str, &str)], tell| {
            let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            account_is_for(selector, &labels, &LabelKeys::default(), tell)
        };
        let aws = ("hyperscalerType", "aws");
        assert_eq!(of("globalaccount:t-1", &[aws, ("tenantName", "t-1")], true), Ok(()));
        assert!(of("t-1", &[aws, ("tenantName", "t-2")], true).is_err());
        assert!(of("shared", &[aws, ("tenantName", "t-2")], true).is_err());
        assert!(of("t-1", &[aws], true).is_err(), "a free account is not the tenant's");
        assert_eq!(of("t-1", &[], false), Ok(()), "the labels are elsewhere");
        assert!(of("t-1", &[aws, ("tenantName", "t-1"), ("dirty", "true")], true).is_err());
        assert!(of("t-1", &[aws, ("internal", "true")], true).is_err());
        assert_eq!(of("t-1", &[aws, ("shared", "true")], true), Ok(()));
        assert_eq!(of("shared", &[aws, ("shared", "true")], true), Ok(()));
    }
}
