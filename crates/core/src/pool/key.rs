//! Which pool: the labels that put an account into it, and the selector that finds it.

use allotment_api::names::pool as names;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The label keys of pool entries; configuration, `hap.labels`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

#[cfg(test)]
mod tests {
    use super::*;

    fn key(type_: &str, shared: bool, eu_access: bool) -> PoolKey {
        PoolKey { hyperscaler_type: type_.to_owned(), shared, eu_access }
    }

    #[test]
    fn a_pool_has_a_selector_and_a_name() {
        for (key, selector, name) in [
            (
                key("aws", false, false),
                "hyperscalerType=aws,!dirty,!internal,shared!=true,euAccess!=true",
                "aws",
            ),
            (
                key("aws", false, true),
                "hyperscalerType=aws,!dirty,!internal,shared!=true,euAccess=true",
                "aws (EU)",
            ),
            (
                key("gcp_x", true, false),
                "hyperscalerType=gcp_x,shared=true,!internal,euAccess!=true",
                "gcp_x (shared)",
            ),
            (
                key("aws_cf-eu11", true, true),
                "hyperscalerType=aws_cf-eu11,shared=true,!internal,euAccess=true",
                "aws_cf-eu11 (EU, shared)",
            ),
        ] {
            assert_eq!(key.selector(&LabelKeys::default()), selector);
            assert_eq!(key.to_string(), name);
        }
    }

    #[test]
    fn labels_match_as_the_selector_says() {
        let keys = LabelKeys::default();
        let dedicated = key("aws", false, false);
        let shared = key("aws", true, false);
        let eu = key("aws", false, true);
        for (labels, pools) in [
            (&[("hyperscalerType", "aws")][..], [true, false, false]),
            (&[("hyperscalerType", "gcp")], [false, false, false]),
            (&[], [false, false, false]),
            (&[("hyperscalerType", "aws"), ("tenantName", "t")], [true, false, false]),
            (&[("hyperscalerType", "aws"), ("dirty", "true")], [false, false, false]),
            (&[("hyperscalerType", "aws"), ("dirty", "false")], [false, false, false]),
            (&[("hyperscalerType", "aws"), ("internal", "no")], [false, false, false]),
            (&[("hyperscalerType", "aws"), ("shared", "false"), ("euAccess", "false")], [true, false, false]),
            (&[("hyperscalerType", "aws"), ("shared", "true")], [false, true, false]),
            (&[("hyperscalerType", "aws"), ("shared", "true"), ("dirty", "true")], [false, true, false]),
            (&[("hyperscalerType", "aws"), ("shared", "true"), ("internal", "")], [false, false, false]),
            (&[("hyperscalerType", "aws"), ("euAccess", "true")], [false, false, true]),
        ] {
            let map = labels.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
            assert_eq!([&dedicated, &shared, &eu].map(|pool| pool.matches(&map, &keys)), pools, "{labels:?}");
        }
    }

    #[test]
    fn label_names_are_configuration() {
        let keys: LabelKeys = serde_saphyr::from_str("hyperscalerType: example.com/type\n").unwrap();
        assert_eq!(keys.tenant_name, "tenantName");
        assert!(key("aws", true, true).selector(&keys).starts_with("example.com/type=aws,"));
        assert!(serde_saphyr::from_str::<LabelKeys>("hyperscaler-type: x\n").is_err());
    }
}
