//! How many accounts a tenant may have, and how many clusters an account (seed 002).

use super::Tenant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The most clusters in one account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Limit(pub u32);

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

/// `hap.multiHyperscalerAccount`: who may have several accounts, and when the next one is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MultiAccount {
    /// `[]`: nobody; `["*"]`: everybody; else those listed.
    pub allowed_global_accounts: Vec<String>,
    /// `default`, and a limit per provider.
    pub limits: BTreeMap<String, Limit>,
}

/// The key in `limits` that stands for every provider that is not listed.
const DEFAULT: &str = "default";

/// Seed 002's default, where the configuration has none.
const DEFAULT_LIMIT: Limit = Limit(3);

impl MultiAccount {
    /// What is wrong with it, for people.
    pub fn faults(&self, providers: &[&str]) -> Vec<String> {
        let mut faults = Vec::new();
        for (provider, limit) in &self.limits {
            if provider != DEFAULT && !providers.contains(&provider.as_str()) {
                faults.push(format!(
                    "multiHyperscalerAccount.limits.{provider}: no such provider; there are {}, and default",
                    providers.join(", ")
                ));
            }
            if limit.0 == 0 {
                faults.push(format!(
                    "multiHyperscalerAccount.limits.{provider}: must be at least 1; leave it out for the default"
                ));
            }
        }
        if self.allowed_global_accounts.len() > 1
            && self.allowed_global_accounts.iter().any(|name| name == "*")
        {
            faults.push(r#"multiHyperscalerAccount.allowedGlobalAccounts: "*" stands alone"#.to_owned());
        }
        faults
    }

    /// How many accounts this tenant may have with this provider, and how full each may get.
    pub fn of(&self, tenant: &Tenant, provider: &str) -> Accounts {
        let listed = |name: &String| name == "*" || name == tenant.as_str();
        if !self.allowed_global_accounts.iter().any(listed) {
            return Accounts::One;
        }
        let limit = self.limits.get(provider).or_else(|| self.limits.get(DEFAULT));
        Accounts::Several(limit.copied().unwrap_or(DEFAULT_LIMIT))
    }
}

/// How many accounts a tenant may have in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accounts {
    /// One that takes every cluster (seed 000).
    One,
    /// Another one whenever all are at the limit (seed 002).
    Several(Limit),
}
