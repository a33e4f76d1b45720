//! What the labels and annotations of a pool entry say about its account.

use super::{LabelKeys, PoolKey, Tenant};
use std::collections::BTreeMap;

/// A pool entry as its labels have it. Nothing is believed here yet; see [`super::account_step`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The pool; none where the type is missing.
    pub pool: Option<PoolKey>,
    /// The tenant who holds it.
    pub tenant: Option<Tenant>,
    /// Whether it waits to be cleaned.
    pub dirty: bool,
    /// Whether tenants never get it.
    pub internal: bool,
    /// Whether the pool's own selector finds it.
    pub selectable: bool,
    /// Why it takes no new clusters, from the annotation.
    pub quarantine: Option<String>,
}

impl Entry {
    /// Reads labels, and the annotation that says why the account is in quarantine.
    pub fn read(labels: &BTreeMap<String, String>, quarantine: Option<&str>, keys: &LabelKeys) -> Self {
        let is_true = |key: &String| labels.get(key).is_some_and(|value| value == "true");
        let pool =
            labels.get(&keys.hyperscaler_type).filter(|type_| !type_.is_empty()).map(|type_| PoolKey {
                hyperscaler_type: type_.clone(),
                shared: is_true(&keys.shared),
                eu_access: is_true(&keys.eu_access),
            });
        Self {
            selectable: pool.as_ref().is_some_and(|pool| pool.matches(labels, keys)),
            tenant: labels.get(&keys.tenant_name).filter(|name| !name.is_empty()).map(Tenant::new),
            dirty: is_true(&keys.dirty),
            internal: labels.contains_key(&keys.internal),
            quarantine: quarantine.map(str::to_owned),
            pool,
        }
    }

    /// Whether it belongs to one tenant at a time, and is ours to hand out and take back.
    pub fn is_dedicated(&self) -> bool {
        !self.internal && self.pool.as_ref().is_some_and(|pool| !pool.shared)
    }

    /// Whether a tenant could get it, as far as its labels go.
    pub fn is_free(&self) -> bool {
        self.is_dedicated() && self.selectable && self.tenant.is_none() && self.quarantine.is_none()
    }

    /// Whether it is a shared account that takes clusters.
    pub fn is_shared(&self) -> bool {
        self.selectable && self.pool.as_ref().is_some_and(|pool| pool.shared)
    }

    /// Why no selector finds it though somebody seems to have meant otherwise, with the remedy.
    pub fn stranded(&self, labels: &BTreeMap<String, String>, keys: &LabelKeys) -> Option<String> {
        let Some(pool) = &self.pool else {
            return Some(format!("has no label {0}; set {0}=<provider>", keys.hyperscaler_type));
        };
        let odd = |key: &String| {
            labels.get(key).filter(|value| *value != "true").map(|value| (key.clone(), value.clone()))
        };
        let presence = [odd(&keys.dirty).filter(|_| !pool.shared), odd(&keys.internal)];
        if let Some((key, value)) = presence.into_iter().flatten().next() {
            return Some(format!(
                "is in no pool: the label {key}={value:?} counts as set, whatever its value; remove the label or set it to \"true\""
            ));
        }
        let flags = [odd(&keys.shared), odd(&keys.eu_access)]
            .into_iter()
            .flatten()
            .find(|(_, value)| value != "false");
        flags.map(|(key, value)| {
            format!("has the label {key}={value:?}, which is neither true nor false; it counts as false")
        })
    }
}
