//! Whether a namespace may name the tenant that an object names.

use super::NamespaceRole;
use crate::{
    condition::Verdict,
    pool::{Denial, Tenant, tenant_of},
};
use allotment_api::condition::ConditionStatus;
use std::collections::BTreeSet;

/// The condition that reports a namespace without the tenant it names. Where all is well, there is none.
pub const TENANT_ALLOWED: &str = "TenantAllowed";

/// The tenant that an object says it is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claim<'a> {
    /// `subscriptionSelector`; none where the object has none.
    pub selector: Option<&'a str>,
    /// The label `globalaccountid`.
    pub label: Option<&'a str>,
}

/// A claim that is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The tenant; none where the platform names none.
    pub tenant: Option<Tenant>,
    /// An inconsistency that is reported and changes nothing.
    pub note: Option<String>,
}

/// The tenant that an object names, if it names one.
pub fn claimed(claim: &Claim<'_>) -> Option<Tenant> {
    let labelled = claim.label.filter(|value| !value.is_empty()).map(Tenant::new);
    claim.selector.and_then(tenant_of).or(labelled)
}

/// Judges a claim. The tenant is the selector's; for `shared`, and where there is no selector, it is the label's.
pub fn judge(role: &NamespaceRole, namespace: &str, claim: &Claim<'_>) -> Result<Judged, Denial> {
    let selected = claim.selector.and_then(tenant_of);
    let labelled = claim.label.filter(|value| !value.is_empty()).map(Tenant::new);
    let difference = match (&selected, &labelled) {
        (Some(selected), Some(labelled)) if selected != labelled => Some(format!(
            "subscriptionSelector names tenant {selected}, and the label globalaccountid names {labelled}"
        )),
        _ => None,
    };
    let named = claimed(claim);
    let tenants = match role {
        NamespaceRole::Trusted | NamespaceRole::Platform => {
            return Ok(Judged { tenant: named, note: difference });
        }
        NamespaceRole::Tenants(tenants) => tenants,
    };
    if tenants.is_empty() {
        let message = format!(
            "namespace {namespace} belongs to no tenant; the platform team assigns namespaces to tenants (tenancy in the \
             configuration)"
        );
        return Err(Denial { reason: "NoTenant", message });
    }
    if let Some(difference) = difference {
        let message = format!("{difference}; set both to the same tenant, or remove the label");
        return Err(Denial { reason: "TenantsDiffer", message });
    }
    match (named, tenants.len()) {
        (Some(named), _) if tenants.contains(&named) => Ok(Judged { tenant: Some(named), note: None }),
        // The tenant's name is not repeated as existing or not: it may be anybody's.
        (Some(named), _) => Err(Denial {
            reason: "OtherTenant",
            message: format!(
                "namespace {namespace} does not belong to tenant {named}; use one of its own: {}",
                list(tenants)
            ),
        }),
        (None, 1) => Ok(Judged { tenant: tenants.first().cloned(), note: None }),
        (None, _) => Err(Denial {
            reason: "TenantMissing",
            message: format!(
                "namespace {namespace} has several tenants; set the label globalaccountid to one of {}",
                list(tenants)
            ),
        }),
    }
}

/// Judges the tenant that a Shoot was made for, where it is known: labels and selectors can be rewritten by whoever has the namespace.
pub fn judge_remembered(
    role: &NamespaceRole,
    namespace: &str,
    remembered: Option<&str>,
) -> Result<(), Denial> {
    match (role, remembered.map(Tenant::new)) {
        // The tenant is not named: it is not one of this namespace.
        (NamespaceRole::Tenants(tenants), Some(remembered)) if !tenants.contains(&remembered) => {
            Err(Denial {
                reason: "OtherTenant",
                message: format!(
                    "the cluster was made for a tenant that namespace {namespace} does not belong to; the platform team can hand it \
                 over"
                ),
            })
        }
        _ => Ok(()),
    }
}

/// The condition for a judgement; none where there is nothing to report.
pub fn verdict(judgement: &Result<Judged, Denial>) -> Option<Verdict> {
    let (status, reason, message) = match judgement {
        Ok(Judged { note: None, .. }) => return None,
        Ok(Judged { note: Some(note), .. }) => (ConditionStatus::True, "TenantsDiffer", note.clone()),
        Err(Denial { reason, message }) => (ConditionStatus::False, *reason, message.clone()),
    };
    Some(Verdict { type_: TENANT_ALLOWED, status, reason, message })
}

fn list(tenants: &BTreeSet<Tenant>) -> String {
    /// Enough to recognise one's own; a status is no place for hundreds.
    const MOST: usize = 10;
    let shown: Vec<&str> = tenants.iter().take(MOST).map(Tenant::as_str).collect();
    let more = tenants.len().saturating_sub(MOST);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}
