//! The `clusters` section of the configuration.

mod faults;

use super::template::AllowedReference;
use allotment_api::kyma::{AutoUpdate, Provider, TimeWindow};
use ipnet::Ipv4Net;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, net::Ipv4Addr};

/// The `clusters` section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Clusters {
    /// Where KubeconfigRequests find Clusters that are not in their own namespace; empty means nowhere else.
    pub namespace: String,
    /// What the Shoots of a provider begin with. Clusters of a provider that is not here are refused.
    #[schemars(extend("propertyNames" = { "enum": ["alicloud", "aws", "azure", "gcp", "openstack"] }))]
    pub providers: BTreeMap<Provider, ProviderDefaults>,
    /// What all Shoots begin with.
    pub defaults: Defaults,
    /// Objects of the garden's project that tenants' templates may refer to, by name.
    pub references: Vec<AllowedReference>,
    /// How fast a changed configuration is rolled out.
    pub rollout: Rollout,
}

impl Clusters {
    /// Whether NamespacedCloudProfiles have to be followed. Not every garden lets us, so they are followed only then.
    pub fn follows_namespaced_profiles(&self) -> bool {
        let is_namespaced = |defaults: &ProviderDefaults| {
            defaults.cloud_profile_kind == CloudProfileKind::NamespacedCloudProfile
        };
        self.providers.values().any(is_namespaced)
    }
}

/// How fast a changed configuration is rolled out. What a Cluster itself asks for is done at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Rollout {
    /// So many Clusters a minute.
    #[schemars(range(min = 1))]
    pub clusters_per_minute: u32,
}

impl Default for Rollout {
    fn default() -> Self {
        // Slow enough that somebody sees what goes wrong with the first ones, fast enough for 5,000 in a working day.
        Self { clusters_per_minute: 10 }
    }
}

/// What the Shoots of a provider begin with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderDefaults {
    /// The name of the CloudProfile in the garden.
    pub cloud_profile: String,
    /// `CloudProfile` or `NamespacedCloudProfile`.
    #[serde(default)]
    pub cloud_profile_kind: CloudProfileKind,
    /// The range of the nodes, /16 to /24.
    #[serde(default = "nodes")]
    #[schemars(with = "String", extend("format" = "ipv4-cidr"))]
    pub nodes: Ipv4Net,
    /// The range of the pods.
    #[serde(default = "pods")]
    #[schemars(with = "String", extend("format" = "ipv4-cidr"))]
    pub pods: Ipv4Net,
    /// The range of the services.
    #[serde(default = "services")]
    #[schemars(with = "String", extend("format" = "ipv4-cidr"))]
    pub services: Ipv4Net,
    /// What connects the pods: `calico`, `cilium`.
    #[serde(default = "calico")]
    pub networking: String,
    /// The disks of the nodes, where the Cluster does not say.
    #[serde(default)]
    pub volume: DefaultVolume,
    /// The image of the nodes. Without it Gardener takes the CloudProfile's first one and keeps it up to date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_image: Option<DefaultImage>,
    /// The name of the first worker pool.
    #[serde(default = "worker_name")]
    pub worker_name: String,
    /// OpenStack only: where floating addresses come from; the CloudProfile's first one where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floating_pool: Option<String>,
    /// OpenStack only: what makes load balancers; the CloudProfile's first one where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_balancer_provider: Option<String>,
    /// How the API server is reached, by the name of an ExposureClass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposure_class: Option<String>,
}

/// The kinds of CloudProfiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CloudProfileKind {
    /// Of the whole garden.
    #[default]
    CloudProfile,
    /// Of the project.
    NamespacedCloudProfile,
}

/// The disks of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DefaultVolume {
    /// Its type, as the cloud calls it.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// Its size, such as `80Gi`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
}

/// The image of nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DefaultImage {
    /// Its name in the CloudProfile.
    pub name: String,
    /// The oldest version to use; pools that have a newer one keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What all Shoots begin with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Defaults {
    /// The Kubernetes version of new Shoots, `1.35` or `1.35.4`; the CloudProfile's newest where it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// When Gardener may work on them, and what it may update.
    pub maintenance: DefaultMaintenance,
    /// Platform regions whose Shoots are kept to people and places with EU access.
    pub eu_access: Vec<String>,
    /// Whether people may log in to nodes by SSH.
    pub ssh_access: bool,
    /// What extensions want to know, by their type.
    pub extensions: BTreeMap<String, Value>,
    /// Whether Clusters that do not say so themselves are protected from being deleted by accident.
    pub deletion_protection: bool,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            kubernetes_version: None,
            maintenance: DefaultMaintenance::default(),
            // The two regions of the platform that promise it.
            eu_access: vec!["cf-eu11".to_owned(), "cf-ch20".to_owned()],
            ssh_access: false,
            extensions: BTreeMap::new(),
            deletion_protection: false,
        }
    }
}

/// When Gardener may work on Shoots, and what it may update.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DefaultMaintenance {
    /// When; Gardener picks a window where nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_window: Option<TimeWindow>,
    /// When, by region of the cloud.
    pub regions: BTreeMap<String, TimeWindow>,
    /// What; both where it is not set.
    pub auto_update: AutoUpdate,
}

/// What Kyma's broker gives its clusters.
fn nodes() -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(10, 250, 0, 0), 16)
}

fn pods() -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(10, 96, 0, 0), 13)
}

fn services() -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(10, 104, 0, 0), 13)
}

fn calico() -> String {
    "calico".to_owned()
}

fn worker_name() -> String {
    "cpu-worker-0".to_owned()
}
