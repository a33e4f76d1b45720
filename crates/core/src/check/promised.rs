//! What must hold of accounts that requests were told of, whatever became of the ledger: a request that is Bound may have a cluster
//! by now.

use super::{Asked, Scene, Violation};
use crate::pool::{AccountName, PoolKey, RequestUid, Tenant};
use allotment_api::kyma::SubscriptionPhase;
use std::collections::{BTreeMap, BTreeSet};

impl Scene {
    /// Limits, caps and one tenant for each account, among the requests that are Bound.
    pub(super) fn promised(&self) -> Vec<Violation> {
        let mut requests: BTreeMap<(&AccountName, &Tenant), u32> = BTreeMap::new();
        let mut tenants: BTreeMap<&AccountName, BTreeSet<&Tenant>> = BTreeMap::new();
        let mut accounts: BTreeMap<&Tenant, BTreeMap<&AccountName, Option<&PoolKey>>> = BTreeMap::new();
        for (asked, account, tenant) in self.bound() {
            *requests.entry((account, tenant)).or_default() += 1;
            tenants.entry(account).or_default().insert(tenant);
            accounts.entry(tenant).or_default().insert(account, asked.pool.as_ref());
        }
        let mut violations = Vec::new();
        for (account, tenants) in tenants.into_iter().filter(|(_, tenants)| tenants.len() > 1) {
            let tenants = tenants.into_iter().cloned().collect();
            violations.push(Violation::TwoTenants(account.clone(), tenants));
        }
        for ((account, tenant), count) in requests {
            if let Some(limit) = self.limits.get(tenant).filter(|limit| count > limit.0) {
                violations.push(Violation::OverLimit(account.clone(), count, *limit));
            }
        }
        for (tenant, accounts) in accounts {
            violations.extend(self.too_many(tenant, &accounts));
        }
        violations
    }

    /// Whether a tenant was told of more accounts than it may have. Accounts that others changed count for nothing, as everywhere.
    fn too_many(
        &self,
        tenant: &Tenant,
        accounts: &BTreeMap<&AccountName, Option<&PoolKey>>,
    ) -> Vec<Violation> {
        let ours = || accounts.iter().filter(|(account, _)| !self.is_meddled(account));
        let mut violations = Vec::new();
        let held: BTreeSet<&str> = ours().map(|(account, _)| self.credential_of(account)).collect();
        let held = u32::try_from(held.len()).unwrap_or(u32::MAX);
        if let Some(cap) = self.cap.filter(|cap| held > *cap) {
            violations.push(Violation::OverCap(tenant.clone(), held, cap));
        }
        if self.limits.contains_key(tenant) {
            return violations;
        }
        let mut by_pool: BTreeMap<&PoolKey, Vec<AccountName>> = BTreeMap::new();
        for (account, pool) in ours() {
            if let Some(pool) = pool {
                by_pool.entry(pool).or_default().push((*account).clone());
            }
        }
        let several = by_pool.into_values().filter(|accounts| accounts.len() > 1);
        violations.extend(several.map(|accounts| Violation::TwoAccounts(tenant.clone(), accounts)));
        violations
    }

    /// The requests of tenants that were told of an account, and neither deleted nor put back since.
    fn bound(&self) -> impl Iterator<Item = (&Asked, &AccountName, &Tenant)> {
        let is_ours = |request: &RequestUid| !self.returned.contains(request);
        self.requests.iter().filter_map(move |(request, asked)| {
            let is_bound = asked.phase == Some(SubscriptionPhase::Bound) && !asked.deleting;
            let (account, tenant) = (asked.account.as_ref()?, asked.published_tenant.as_ref()?);
            (is_bound && is_ours(request)).then_some((asked, account, tenant))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Limit;

    fn scene(requests: &[(&str, &str, &str)]) -> Scene {
        let asked = |account: &str, tenant: &str| Asked {
            pool: Some(PoolKey { hyperscaler_type: "aws".to_owned(), shared: false, eu_access: false }),
            tenant: Some(Tenant::new(tenant)),
            phase: Some(SubscriptionPhase::Bound),
            account: Some(AccountName::new(account)),
            published_tenant: Some(Tenant::new(tenant)),
            deleting: false,
            held: false,
        };
        let requests =
            requests.iter().map(|(uid, tenant, account)| (RequestUid::new(*uid), asked(account, tenant)));
        // Nothing that the ledger says is compared.
        Scene {
            requests: requests.collect(),
            limits: BTreeMap::from([(Tenant::new("many"), Limit(2))]),
            cap: Some(2),
            lost: true,
            ..Scene::default()
        }
    }

    fn found(scene: &Scene) -> String {
        let found: Vec<String> = scene.violations().iter().map(ToString::to_string).collect();
        found.join("; ")
    }

    #[test]
    fn what_requests_were_told_is_kept_within_limits_whatever_the_ledger_says() {
        for (requests, expected) in [
            (&[("1", "one", "a"), ("2", "one", "a"), ("3", "many", "b"), ("4", "many", "c")][..], ""),
            (&[("1", "one", "a"), ("2", "many", "a")], "account a is used by many and one at once"),
            (&[("1", "one", "a"), ("2", "one", "b")], "tenant one may have one account, and has a and b"),
            (
                &[("1", "many", "a"), ("2", "many", "a"), ("3", "many", "a")],
                "account a has 3 clusters, 2 are allowed",
            ),
            (
                &[("1", "many", "a"), ("2", "many", "b"), ("3", "many", "c")],
                "tenant many holds 3 accounts, 2 are allowed",
            ),
        ] {
            assert_eq!(found(&scene(requests)), expected);
        }
    }

    #[test]
    fn a_status_that_came_back_with_its_server_promises_nothing() {
        let mut scene = scene(&[("1", "one", "a"), ("2", "many", "a")]);
        scene.returned.insert(RequestUid::new("1"));
        assert_eq!(found(&scene), "");
        assert!(scene.at_rest().iter().any(|it| matches!(it, Violation::TwoTenants(..))), "it does at rest");
    }

    #[test]
    fn a_ledger_that_went_back_is_not_compared_before_it_is_put_right() {
        let mut scene = scene(&[("1", "one", "a")]);
        assert_eq!(found(&scene), "");
        scene.lost = false;
        assert!(scene.violations().iter().any(|it| matches!(it, Violation::PublishedOnly(..))));
    }
}
