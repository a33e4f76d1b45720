//! What can stand in the configuration file. The doc comments are what `allotment config schema` says.

use super::Cleanup;
use allotment_api::kyma::BindingKind;
use allotment_core::{
    access::{Access, address::Byoc},
    cluster::Clusters,
    openmcp::policy::Openmcp,
    pool::{LabelKeys, MultiAccount},
    quotas::Quotas,
    tenancy::Tenancy,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, path::PathBuf};

/// The operators' configuration, as the chart renders it from values of the same names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// The pool of accounts. Taken over while the operators run, but for `bindingKind` and `labels`.
    pub hap: Hap,
    /// The garden.
    pub gardener: Gardener,
    /// Where it is kept who sits in which account.
    pub ledger: LedgerAddress,
    /// What Clusters are made of.
    pub clusters: Clusters,
    /// What kubeconfigs may be asked for.
    pub access: Access,
    /// Which operators run.
    pub controllers: Controllers,
    /// Health, metrics and pages.
    pub server: Server,
    /// Which tenants a namespace may name. There is no default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenancy: Option<Tenancy>,
    /// Where the clusters that tenants bring may be.
    pub byoc: Byoc,
    /// Who reads metrics.
    pub metrics: MetricsAccess,
    /// How much one namespace, and one tenant, may ask for.
    pub quotas: Quotas,
    /// The openMCP provider.
    pub openmcp: Openmcp,
    /// Returned accounts.
    pub cleanup: Cleanup,
}

/// Who reads metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MetricsAccess {
    /// Serve `/metrics` only to bearers of a token who may `get` the URL `/metrics`.
    pub secure: bool,
    /// Serve the ids of tenants and accounts though anybody may read them.
    pub tenant_ids: bool,
}

/// Which account a cluster runs in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Hap {
    /// The rules, as in `aws(PR=cf-eu11) -> EU`; `allotment rules check` has more to say about them.
    pub rule: Vec<String>,
    /// The plans that need a rule.
    pub enabled_plans: Option<Vec<String>>,
    /// Providers of plans, where they differ from the built-in table.
    pub plans: Option<BTreeMap<String, Plan>>,
    /// Who may have several accounts, and when the next one is taken.
    pub multi_hyperscaler_account: MultiAccount,
    /// How many accounts one tenant may hold; 0 means no cap.
    pub max_accounts_per_tenant: u32,
    /// What the pool is made of.
    pub binding_kind: BindingKind,
    /// The keys of the labels on pool entries.
    pub labels: LabelKeys,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Plan {
    /// The clouds that it can be in.
    pub providers: Vec<String>,
}

/// The garden.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Gardener {
    /// The path of a kubeconfig; "" means the one that the control plane is reached with. It is read again when it changes.
    pub kubeconfig: PathBuf,
    /// The namespace of the project.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
    /// How hard the operators may press on the garden's API server.
    #[schemars(range(min = 1))]
    pub requests_per_second: u32,
    /// What the ledger calls this garden; "" means the host name of its API server. One database can keep several gardens.
    pub name: String,
    /// The project; "" means what `namespace` has after `garden-`. It and the name of a Shoot share 21 characters.
    pub project: String,
}

impl Gardener {
    /// The name of the project.
    pub fn project(&self) -> &str {
        match self.project.as_str() {
            "" => self.namespace.strip_prefix("garden-").unwrap_or(&self.namespace),
            project => project,
        }
    }
}

impl Default for Gardener {
    fn default() -> Self {
        Self {
            kubeconfig: PathBuf::new(),
            namespace: "garden-kyma".to_owned(),
            requests_per_second: 50,
            name: String::new(),
            project: String::new(),
        }
    }
}

/// Where the ledger is. The URL can have a password in it, so this does not print it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LedgerAddress {
    /// `sqlite:///path/of/a/file` or `postgres://user:password@host/database`, which must offer TLS.
    pub url: Option<String>,
    /// The path of a file with the URL in it.
    pub url_file: Option<PathBuf>,
    /// Entries of the history stay as they are for so many days, claims and releases for 400 at least; then they are counted per account
    /// and month. What happened to an account since it was last found empty always stays.
    #[schemars(range(min = 30))]
    pub history_days: Option<u16>,
}

impl fmt::Debug for LedgerAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, url_file, history_days } = self;
        let url = url.as_ref().map(|_| "[redacted]");
        let mut parts = formatter.debug_struct("LedgerAddress");
        parts.field("url", &url).field("url_file", url_file).field("history_days", history_days).finish()
    }
}

/// Which operators run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Controllers(pub Vec<Controller>);

impl Default for Controllers {
    fn default() -> Self {
        Self(vec![Controller::Subscription, Controller::Cluster, Controller::Kubeconfig])
    }
}

/// An operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Controller {
    /// Which account each SubscriptionRequest gets.
    Subscription,
    /// Clusters and their Shoots.
    Cluster,
    /// Kubeconfigs.
    Kubeconfig,
    /// Returned accounts.
    Cleanup,
}

impl Controller {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Subscription, Self::Cluster, Self::Kubeconfig, Self::Cleanup];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Subscription => "subscription",
            Self::Cluster => "cluster",
            Self::Kubeconfig => "kubeconfig",
            Self::Cleanup => "cleanup",
        }
    }
}

/// Health, metrics and pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Server {
    /// Where it listens: an IP address and a port.
    pub address: String,
    /// Whether there are metrics with one line for every tenant and every account.
    pub per_object_metrics: bool,
}

impl Default for Server {
    fn default() -> Self {
        Self { address: "127.0.0.1:8080".to_owned(), per_object_metrics: true }
    }
}
