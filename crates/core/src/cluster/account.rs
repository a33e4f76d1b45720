//! Whether a Shoot may be made in an account, by the pool entries on its credentials as they are now.
//!
//! A status that names the account proves nothing: it may be forged, and the entry may have changed since. Two entries on the
//! same credentials are one account, so every one of them has to agree.

use crate::{
    pool::{Entry, LabelKeys, account_is_for, account_is_of_pool},
    rules::RuleSet,
};
use allotment_api::{kyma::SubscriptionRequestSpec, names::annotation};
use std::collections::BTreeMap;

/// A pool entry: its labels and annotations.
#[derive(Clone, Debug, Default)]
pub struct LiveEntry {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
}

/// Why no Shoot may be made in the account; none if one may. Without `rules` the pool is not compared.
pub fn account_refusal(
    request: &SubscriptionRequestSpec,
    entries: &[LiveEntry],
    keys: &LabelKeys,
    rules: Option<&RuleSet>,
) -> Option<String> {
    if entries.is_empty() {
        return Some("there is no pool entry on its credentials".to_owned());
    }
    entries.iter().find_map(|entry| refusal_of(request, entry, keys, rules))
}

fn refusal_of(
    request: &SubscriptionRequestSpec,
    entry: &LiveEntry,
    keys: &LabelKeys,
    rules: Option<&RuleSet>,
) -> Option<String> {
    let quarantine = entry.annotations.get(annotation::QUARANTINE).map(String::as_str);
    let read = Entry::read(&entry.labels, quarantine, keys);
    if let Err(why) = account_is_for(&request.subscription_selector, &entry.labels, keys, true) {
        return Some(why.to_owned());
    }
    if read.quarantine.is_some() {
        return Some("it is in quarantine".to_owned());
    }
    if read.tenant.is_none() && !read.is_shared() {
        return Some("nobody holds it".to_owned());
    }
    rules.and_then(|rules| account_is_of_pool(request, rules, &entry.labels, keys, true).err())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;
    use allotment_api::kyma::Provider;

    fn request(selector: &str, plan: &str) -> SubscriptionRequestSpec {
        SubscriptionRequestSpec {
            provider: Provider::Aws,
            subscription_selector: selector.to_owned(),
            plan: Some(plan.to_owned()),
            platform_region: None,
            hyperscaler_region: None,
            cluster_ref: None,
        }
    }

    fn entry(labels: &[(&str, &str)]) -> LiveEntry {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        LiveEntry { labels: labels.iter().map(owned).collect(), annotations: BTreeMap::new() }
    }

    fn refusal(request: &SubscriptionRequestSpec, entries: &[LiveEntry]) -> [Option<String>; 2] {
        let options = rules::Options { enabled_plans: Some(Vec::new()), ..rules::Options::default() };
        let rules = rules::load("rule: [aws, trial -> S]", &options).rules.unwrap();
        let keys = LabelKeys::default();
        [
            account_refusal(request, entries, &keys, Some(&rules)),
            account_refusal(request, entries, &keys, None),
        ]
    }

    #[test]
    fn an_account_must_be_held_by_the_tenant_or_be_shared() {
        let aws = ("hyperscalerType", "aws");
        let (dedicated, shared) = (request("t-1", "aws"), request("shared", "trial"));
        let own = [aws, ("tenantName", "t-1")];
        let allowed =
            |request: &_, labels: &[(&str, &str)]| refusal(request, &[entry(labels)]) == [None, None];
        assert!(allowed(&dedicated, &own));
        assert!(allowed(&shared, &[aws, ("shared", "true")]));
        for (request, labels) in [
            (&dedicated, &[aws][..]),
            (&dedicated, &[]),
            (&dedicated, &[("tenantName", "")]),
            (&dedicated, &[aws, ("tenantName", "t-2")]),
            (&dedicated, &[aws, ("tenantName", "t-1"), ("dirty", "true")]),
            (&dedicated, &[aws, ("tenantName", "t-1"), ("internal", "true")]),
            (&shared, &[aws]),
            (&shared, &[]),
            (&shared, &own),
            (&shared, &[aws, ("shared", "true"), ("internal", "")]),
            (&shared, &[aws, ("shared", "false")]),
        ] {
            let found = refusal(request, &[entry(labels)]);
            assert!(found.iter().all(Option::is_some), "{labels:?}: {found:?}");
        }
    }

    #[test]
    fn an_account_in_quarantine_gets_no_shoot() {
        for (request, labels) in [
            (request("t-1", "aws"), vec![("hyperscalerType", "aws"), ("tenantName", "t-1")]),
            (request("shared", "trial"), vec![("hyperscalerType", "aws"), ("shared", "true")]),
        ] {
            let mut entry = entry(&labels);
            entry.annotations.insert(annotation::QUARANTINE.to_owned(), "why".to_owned());
            let expected = Some("it is in quarantine".to_owned());
            assert_eq!(refusal(&request, &[entry]), [expected.clone(), expected]);
        }
    }

    #[test]
    fn every_entry_on_the_same_credentials_has_to_agree() {
        let (aws, request) = (("hyperscalerType", "aws"), request("t-1", "aws"));
        let own = entry(&[aws, ("tenantName", "t-1")]);
        let others = entry(&[aws, ("tenantName", "t-2")]);
        assert_eq!(refusal(&request, &[own.clone(), own.clone()]), [None, None]);
        assert!(refusal(&request, &[own, others]).iter().all(Option::is_some));
        assert!(refusal(&request, &[]).iter().all(Option::is_some));
    }
}
