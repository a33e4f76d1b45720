//! Which pool: the labels that put an account into it, and the selector that finds it.

use allotment_api::names::pool as names;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The label keys of pool entries; configuration, `hap.labels`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LabelKeys {
    /// Which pool the account is in.
    pub hyperscaler_type: String,
    /// The tenant who holds it.
    pub tenant_name: String,
    /// `true` while it waits to be cleaned.
    pub dirty: String,
    /// Set on accounts that tenants never get.
    pub internal: String,
    /// `true` on accounts that several tenants use at once.
    pub shared: String,
    /// `true` on accounts for regions with EU access only.
    pub eu_access: String,
}

impl Default for LabelKeys {
    fn default() -> Self {
        Self {
            hyperscaler_type: names::HYPERSCALER_TYPE.to_owned(),
            tenant_name: names::TENANT_NAME.to_owned(),
            dirty: names::DIRTY.to_owned(),
            internal: names::INTERNAL.to_owned(),
            shared: names::SHARED.to_owned(),
            eu_access: names::EU_ACCESS.to_owned(),
        }
    }
}

/// A pool: all accounts with the same type, for one tenant each or shared, with EU access or without.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolKey {
    /// `<provider>[_<platform region>][_<hyperscaler region>]`.
    pub hyperscaler_type: String,
    /// Whether several tenants use an account of it at once.
    pub shared: bool,
    /// Whether it is for regions with EU access only.
    pub eu_access: bool,
}

impl PoolKey {
    /// The selector for accounts that may get a new cluster, as kubectl takes it.
    pub fn selector(&self, keys: &LabelKeys) -> String {
        let LabelKeys { hyperscaler_type, tenant_name: _, dirty, internal, shared, eu_access } = keys;
        let type_ = format!("{hyperscaler_type}={}", self.hyperscaler_type);
        let eu = if self.eu_access { format!("{eu_access}=true") } else { format!("{eu_access}!=true") };
        if self.shared {
            format!("{type_},{shared}=true,!{internal},{eu}")
        } else {
            format!("{type_},!{dirty},!{internal},{shared}!=true,{eu}")
        }
    }

    /// Whether [`PoolKey::selector`] selects these labels.
    pub fn matches(&self, labels: &BTreeMap<String, String>, keys: &LabelKeys) -> bool {
        let is_true = |key: &String| labels.get(key).is_some_and(|value| value == "true");
        labels.get(&keys.hyperscaler_type).is_some_and(|type_| *type_ == self.hyperscaler_type)
            && is_true(&keys.shared) == self.shared
            && is_true(&keys.eu_access) == self.eu_access
            && !labels.contains_key(&keys.internal)
            && (self.shared || !labels.contains_key(&keys.dirty))
    }
}

impl fmt::Display for PoolKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.hyperscaler_type)?;
        match (self.eu_access, self.shared) {
            (false, false) => Ok(()),
            (true, false) => formatter.write_str(" (EU)"),
            (false, true) => formatter.write_str(" (shared)"),
            (true, true) => formatter.write_str(" (EU, shared)"),
        }
    }
}
