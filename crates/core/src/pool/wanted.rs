//! Which pool a SubscriptionRequest is for.

use super::{PoolKey, Tenant};
use crate::rules::{Request, RuleSet};
use allotment_api::kyma::SubscriptionRequestSpec;

/// The selector for an account that is not one tenant's.
const SHARED: &str = "shared";

/// What may stand before the tenant in a selector.
const TENANT_PREFIX: &str = "globalaccount:";

/// What a request is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The pool.
    pub pool: PoolKey,
    /// The tenant, where the pool gives each its own accounts.
    pub tenant: Option<Tenant>,
    /// The rule that decided, as it is written; none without a plan.
    pub rule: Option<String>,
}

/// Why a request cannot be granted as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// One word for the condition.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

/// Says which pool a request is for. With a plan the rules decide, dedicated or shared too, and the selector only names
/// the tenant; without one, provider and selector do.
pub fn wanted(spec: &SubscriptionRequestSpec, rules: &RuleSet) -> Result<Wanted, Denial> {
    let provider = spec.provider.as_str();
    let tenant = tenant_of(&spec.subscription_selector);
    let Some(plan) = &spec.plan else {
        let pool =
            PoolKey { hyperscaler_type: provider.to_owned(), shared: tenant.is_none(), eu_access: false };
        return Ok(Wanted { pool, tenant, rule: None });
    };
    let request = Request {
        plan,
        provider: Some(provider),
        platform_region: spec.platform_region.as_deref(),
        hyperscaler_region: spec.hyperscaler_region.as_deref(),
    };
    let found = rules.find(&request).map_err(|none| deny("NoRule", none.to_string()))?;
    let pool = found.pool_key().map_err(|fault| deny("NoPool", fault.to_string()))?;
    let rule = Some(found.rule.text.clone());
    match (pool.shared, tenant) {
        (true, _) => Ok(Wanted { pool, tenant: None, rule }),
        (false, Some(tenant)) => Ok(Wanted { pool, tenant: Some(tenant), rule }),
        (false, None) => Err(deny(
            "TenantMissing",
            format!(
                "rule {} gives each tenant accounts of its own, but subscriptionSelector is \"{SHARED}\"; write the tenant there",
                found.rule.text
            ),
        )),
    }
}

/// The tenant that a selector names; none for a shared account.
pub fn tenant_of(selector: &str) -> Option<Tenant> {
    if selector == SHARED {
        return None;
    }
    Some(Tenant::new(selector.strip_prefix(TENANT_PREFIX).unwrap_or(selector)))
}

fn deny(reason: &'static str, message: String) -> Denial {
    Denial { reason, message }
}
