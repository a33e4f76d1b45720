//! How much one namespace, and one tenant, may ask for.
//!
//! Caps are judged when something new is asked for: what exists and was granted stays, whatever the caps become. The oldest
//! objects count first, so the newest is the one that is refused.

use crate::{
    pool::Denial,
    tenancy::{Mode, Tenancy},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, fmt};

/// The reason of conditions about objects that are refused because of a cap.
pub const QUOTA_EXCEEDED: &str = "QuotaExceeded";

/// The `quotas` section of the configuration. `namespace` and `tenant` do not count in namespaces of the platform, nor where
/// tenancy is switched off; `platform` does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Quotas {
    /// By one namespace.
    pub namespace: NamespaceQuota,
    /// By one tenant, in all namespaces.
    pub tenant: TenantQuota,
    /// In namespaces of the platform. There is no cap unless one is set.
    pub platform: PlatformQuotas,
}

/// The most of each in one namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NamespaceQuota {
    /// SubscriptionRequests that wait for an account.
    pub waiting_requests: u32,
    /// Clusters.
    pub clusters: u32,
    /// KubeconfigRequests.
    pub kubeconfig_requests: u32,
}

impl Default for NamespaceQuota {
    /// Far above what teams ask for, and far below what a pool, a garden or this process would feel.
    fn default() -> Self {
        Self { waiting_requests: 100, clusters: 200, kubeconfig_requests: 1000 }
    }
}

/// The most of each for one tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TenantQuota {
    /// SubscriptionRequests that wait for an account.
    pub waiting_requests: u32,
    /// Clusters.
    pub clusters: u32,
    /// KubeconfigRequests.
    pub kubeconfig_requests: u32,
}

impl Default for TenantQuota {
    /// A tenant may have several namespaces.
    fn default() -> Self {
        Self { waiting_requests: 200, clusters: 1000, kubeconfig_requests: 5000 }
    }
}

/// Caps in namespaces of the platform.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PlatformQuotas {
    /// In one namespace.
    pub namespace: Quota,
    /// For one tenant.
    pub tenant: Quota,
}

/// The most of each; no cap where it is not set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Quota {
    /// SubscriptionRequests that wait for an account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_requests: Option<u32>,
    /// Clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<u32>,
    /// KubeconfigRequests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig_requests: Option<u32>,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// SubscriptionRequests that wait for an account.
    WaitingRequests,
    /// Clusters.
    Clusters,
    /// KubeconfigRequests.
    KubeconfigRequests,
}

impl Counted {
    fn key(self) -> &'static str {
        match self {
            Self::WaitingRequests => "waitingRequests",
            Self::Clusters => "clusters",
            Self::KubeconfigRequests => "kubeconfigRequests",
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::WaitingRequests => "waiting SubscriptionRequests",
            Self::Clusters => "Clusters",
            Self::KubeconfigRequests => "KubeconfigRequests",
        }
    }

    fn of(self, quota: &Quota) -> Option<u32> {
        match self {
            Self::WaitingRequests => quota.waiting_requests,
            Self::Clusters => quota.clusters,
            Self::KubeconfigRequests => quota.kubeconfig_requests,
        }
    }
}

/// The caps that count for an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    /// For its namespace.
    pub namespace: Option<u32>,
    /// For its tenant.
    pub tenant: Option<u32>,
}

/// Those for whom objects are counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// A namespace.
    Namespace(String),
    /// A tenant.
    Tenant(String),
}

impl fmt::Display for Group {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace(name) => write!(formatter, "namespace {name}"),
            Self::Tenant(name) => write!(formatter, "tenant {name}"),
        }
    }
}

/// A cap that leaves no room for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// Whose.
    pub group: Group,
    /// The cap.
    pub cap: u32,
}

impl Exceeded {
    /// What the object's status says.
    pub fn denial(&self, counted: Counted) -> Denial {
        let Self { group, cap } = self;
        let remedy = match counted {
            Counted::WaitingRequests => "wait until some of them have an account, delete some",
            Counted::Clusters | Counted::KubeconfigRequests => "delete some",
        };
        let key = match group {
            Group::Namespace(_) => "namespace",
            Group::Tenant(_) => "tenant",
        };
        Denial {
            reason: QUOTA_EXCEEDED,
            message: format!(
                "{group} has {cap} {} and may have {cap} at most; {remedy}, or ask the platform team to raise \
                 quotas.{key}.{}",
                counted.noun(),
                counted.key()
            ),
        }
    }
}

/// Which namespaces are the platform's, and which caps count where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fairness {
    quotas: Quotas,
    platform: BTreeSet<String>,
    /// Only the caps of the platform count, in all namespaces.
    trusted: bool,
}

impl Fairness {
    /// From the configuration.
    pub fn new(tenancy: &Tenancy, quotas: &Quotas) -> Self {
        let platform = tenancy.platform.iter().cloned().collect();
        Self { quotas: quotas.clone(), platform, trusted: tenancy.mode == Mode::Trusted }
    }

    /// All namespaces are trusted, and nothing is capped.
    pub fn trusted() -> Self {
        Self::new(&Tenancy::trusted(), &Quotas::default())
    }

    /// Whether objects of many tenants are in a namespace, so that turns go over tenants there.
    pub fn is_platform(&self, namespace: &str) -> bool {
        self.platform.contains(namespace)
    }

    /// The caps that count for objects in a namespace.
    pub fn caps(&self, namespace: &str, counted: Counted) -> Caps {
        let Quotas { namespace: by_namespace, tenant: by_tenant, platform } = &self.quotas;
        if self.trusted || self.is_platform(namespace) {
            return Caps { namespace: counted.of(&platform.namespace), tenant: counted.of(&platform.tenant) };
        }
        let NamespaceQuota { waiting_requests, clusters, kubeconfig_requests } = by_namespace.clone();
        let of_namespace = Quota {
            waiting_requests: Some(waiting_requests),
            clusters: Some(clusters),
            kubeconfig_requests: Some(kubeconfig_requests),
        };
        let TenantQuota { waiting_requests, clusters, kubeconfig_requests } = by_tenant.clone();
        let of_tenant = Quota {
            waiting_requests: Some(waiting_requests),
            clusters: Some(clusters),
            kubeconfig_requests: Some(kubeconfig_requests),
        };
        Caps { namespace: counted.of(&of_namespace), tenant: counted.of(&of_tenant) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fairness(quotas: Quotas) -> Fairness {
        let platform = vec!["ops".to_owned()];
        Fairness::new(&Tenancy { platform, ..Tenancy::default() }, &quotas)
    }

    #[test]
    fn the_platform_has_no_caps_unless_they_are_set() {
        let defaults = fairness(Quotas::default());
        let caps = defaults.caps("team-a", Counted::Clusters);
        assert_eq!(caps, Caps { namespace: Some(200), tenant: Some(1000) });
        assert_eq!(defaults.caps("ops", Counted::Clusters), Caps::default());
        assert_eq!(Fairness::trusted().caps("team-a", Counted::Clusters), Caps::default());
        let tenant = Quota { clusters: Some(3), ..Quota::default() };
        let platform = PlatformQuotas { tenant, ..PlatformQuotas::default() };
        let set = fairness(Quotas { platform, ..Quotas::default() });
        assert_eq!(set.caps("ops", Counted::Clusters), Caps { namespace: None, tenant: Some(3) });
        assert_eq!(set.caps("ops", Counted::KubeconfigRequests), Caps::default());
    }

    #[test]
    fn a_refusal_says_the_number_the_cap_and_what_to_do() {
        let exceeded = Exceeded { group: Group::Namespace("team-a".to_owned()), cap: 3 };
        assert_eq!(
            exceeded.denial(Counted::Clusters).message,
            "namespace team-a has 3 Clusters and may have 3 at most; delete some, or ask the platform team to raise \
             quotas.namespace.clusters"
        );
    }
}
