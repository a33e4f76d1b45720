//! Which tenants a namespace belongs to, and what follows from it.
//!
//! A tenant writes everything in its own namespace, so nothing in there says who the tenant is: the platform does, by a label on
//! the Namespace or by a table in the configuration. Judged when an account is asked for and when access is granted, never on
//! what is Bound or Issued: a namespace that loses a tenant gets nothing new, and loses nothing.

mod judge;
#[cfg(test)]
mod tests;

pub use judge::{Claim, Judged, TENANT_ALLOWED, claimed, judge, judge_remembered, verdict};

use crate::pool::Tenant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The `tenancy` section of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Tenancy {
    /// `enforced`, or `trusted`: every namespace may name any tenant.
    pub mode: Mode,
    /// The label of Namespaces whose value is the tenant. Only the platform may write it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 317))]
    pub namespace_label: Option<String>,
    /// The tenants of each namespace, instead of a label.
    pub namespaces: BTreeMap<String, Vec<String>>,
    /// Namespaces of the platform, which may name any tenant.
    pub platform: Vec<String>,
}

/// Whether namespaces belong to tenants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A namespace may name its own tenants only.
    #[default]
    Enforced,
    /// Every namespace may name any tenant: whoever may write requests is trusted.
    Trusted,
}

/// What a namespace may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamespaceRole {
    /// Tenancy is switched off: everything.
    Trusted,
    /// It is the platform's: for any tenant.
    Platform,
    /// For these tenants; for nobody where there are none.
    Tenants(BTreeSet<Tenant>),
}

impl NamespaceRole {
    /// Whether it may do what only the platform may.
    pub fn is_privileged(&self) -> bool {
        matches!(self, Self::Trusted | Self::Platform)
    }

    /// The tenant that an object of such a namespace counts for, whatever it names: nobody counts for a tenant of others.
    pub fn counts_for(&self, claimed: Option<&str>) -> Option<String> {
        let Self::Tenants(tenants) = self else { return claimed.map(str::to_owned) };
        let named = tenants.iter().find(|tenant| Some(tenant.as_str()) == claimed);
        let only = tenants.first().filter(|_| tenants.len() == 1);
        named.or(only).map(|tenant| tenant.as_str().to_owned())
    }
}

impl Tenancy {
    /// Tenancy that is switched off.
    pub fn trusted() -> Self {
        Self { mode: Mode::Trusted, ..Self::default() }
    }

    /// The label to read off Namespaces, where they have to be watched.
    pub fn watched_label(&self) -> Option<&str> {
        self.namespace_label.as_deref().filter(|_| self.mode == Mode::Enforced)
    }

    /// What a namespace may ask for. `label` is the value of the namespace label on the Namespace.
    pub fn role_of(&self, namespace: &str, label: Option<&str>) -> NamespaceRole {
        if self.mode == Mode::Trusted {
            return NamespaceRole::Trusted;
        }
        if self.platform.iter().any(|name| name == namespace) {
            return NamespaceRole::Platform;
        }
        let listed = self.namespaces.get(namespace).into_iter().flatten().map(String::as_str);
        let labelled = label.filter(|value| self.namespace_label.is_some() && !value.is_empty());
        NamespaceRole::Tenants(listed.chain(labelled).map(Tenant::new).collect())
    }

    /// Everything that is wrong with it, each with the key below `tenancy`.
    pub fn faults(&self) -> Vec<(&'static str, String)> {
        let Self { mode, namespace_label, namespaces, platform } = self;
        let mut faults = Vec::new();
        let is_empty = namespace_label.is_none() && namespaces.is_empty() && platform.is_empty();
        match mode {
            Mode::Trusted if !is_empty => faults.push((
                "mode",
                "`mode: trusted` lets every namespace name any tenant; remove `namespaceLabel`, `namespaces` and `platform`, \
                 or set `mode: enforced`"
                    .to_owned(),
            )),
            Mode::Enforced if is_empty => faults.push(("", format!("`tenancy` names no namespace: {BOTH_WAYS}"))),
            Mode::Enforced | Mode::Trusted => (),
        }
        if namespace_label.is_some() && !namespaces.is_empty() {
            faults.push((
                "namespaces",
                "`tenancy` has both `namespaceLabel` and `namespaces`: expected one of them".to_owned(),
            ));
        }
        if let Some(both) = platform.iter().find(|name| namespaces.contains_key(*name)) {
            faults.push(("platform", format!("namespace `{both}` is in `platform` and in `namespaces`")));
        }
        faults
    }
}

/// How to say which tenants a namespace has, for whoever has not.
pub const BOTH_WAYS: &str = "say which tenants a namespace has, by a label that only the platform writes \
     (`tenancy: {namespaceLabel: allotment.dev/tenant, platform: [default]}`) or by a table \
     (`tenancy: {namespaces: {team-a: [tenant-1]}, platform: [default]}`), or switch it off (`tenancy: {mode: trusted}`)";
