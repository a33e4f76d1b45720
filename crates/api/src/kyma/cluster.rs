//! `Cluster`: a Gardener Shoot, or a cluster that the tenant brings along.

use super::{Infrastructure, OidcConfig};
use crate::{
    condition::{self, Condition},
    schema,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Asks for a Kubernetes cluster: one that Gardener makes (`infrastructure`), or one that exists (`byoc`).
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "operator.kyma-project.io",
    version = "v1alpha1",
    kind = "Cluster",
    doc = "Asks for a Kubernetes cluster: one that Gardener makes (infrastructure), or one that exists (byoc).",
    namespaced,
    status = "ClusterStatus",
    derive = "PartialEq",
    shortname = "kcl",
    category = "allotment",
    selectable = ".status.phase",
    printcolumn(name = "Provider", type_ = "string", json_path = ".spec.infrastructure.provider"),
    printcolumn(name = "Region", type_ = "string", json_path = ".spec.core.region"),
    printcolumn(name = "Plan", type_ = "string", json_path = ".metadata.labels.plan"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"ClusterProvisioned\")].reason"
    ),
    printcolumn(name = "Progress", type_ = "integer", json_path = ".status.progress"),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.kubernetesVersion"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Binding",
        type_ = "string",
        json_path = ".status.subscription.bindingName",
        priority = "1"
    ),
    printcolumn(name = "Shoot", type_ = "string", json_path = ".status.shootName", priority = "1")
)]
#[x_kube(
    validation = Rule::new("has(self.infrastructure) != has(self.byoc)").message("exactly one of infrastructure and byoc must be set"),
    validation = Rule::new("has(self.infrastructure) == has(oldSelf.infrastructure)").message("a cluster cannot change from infrastructure to byoc or back"),
    validation = Rule::new("has(self.byoc) || has(self.core)").message("core is required with infrastructure").field_path(".core"),
    validation = Rule::new("has(self.core) || !has(oldSelf.core)").message("core may not be removed once set").field_path(".core"),
    validation = Rule::new("!has(self.byoc) || !has(self.shootTemplate)").message("shootTemplate has no meaning with byoc").field_path(".shootTemplate"),
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    /// What it is for and where it is. Required with `infrastructure`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<Core>,
    /// Gardener's extensions, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
    /// Who may log in by OpenID Connect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oidc_config: Option<OidcConfig>,
    /// More issuers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub additional_oidc_configs: Vec<OidcConfig>,
    /// A cluster that Gardener makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infrastructure: Option<Infrastructure>,
    /// Users who get cluster-admin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 253)), extend("x-kubernetes-list-type" = "set"))]
    pub administrators: Vec<String>,
    /// A cluster that exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byoc: Option<Byoc>,
    /// When Gardener may work on it, and what it may update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<Maintenance>,
    /// A merge patch over the Shoot, for what has no field here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub shoot_template: Option<Value>,
    /// Keeps the Shoot and the account though the Cluster is deleted, until somebody confirms it. The configuration decides
    /// where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_protection: Option<bool>,
}

/// What a cluster is for and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = Rule::new("!has(oldSelf.shootName) || has(self.shootName) && self.shootName == oldSelf.shootName").message("shootName is immutable").field_path(".shootName"),
    validation = Rule::new("has(self.platformRegion) == has(oldSelf.platformRegion) && (!has(self.platformRegion) || self.platformRegion == oldSelf.platformRegion)").message("platformRegion is immutable").field_path(".platformRegion"),
)]
#[serde(rename_all = "camelCase")]
pub struct Core {
    /// `evaluation`, `testing`, `development` or `production`, in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    #[x_kube(validation = Rule::new("self.lowerAscii() in ['evaluation', 'testing', 'development', 'production']").message("purpose must be evaluation, testing, development or production"))]
    pub purpose: Option<String>,
    /// The region in the cloud.
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("region is immutable"))]
    pub region: String,
    /// The region of the platform, which feeds the rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"))]
    pub platform_region: Option<String>,
    /// The Kubernetes version, `1.35` or `1.35.4`; it is never taken down. Gardener's newest where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16), regex(pattern = r"^1\.[0-9]+(\.[0-9]+)?$"))]
    pub kubernetes_version: Option<String>,
    /// The name of the Shoot; derived from the Cluster where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 21), regex(pattern = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"))]
    #[x_kube(validation = Rule::new("!self.contains('--')").message("shootName must not contain two hyphens in a row"))]
    pub shoot_name: Option<String>,
}

/// Gardener's extensions, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Extensions {
    /// Switches the filter of outgoing traffic off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shoot_networking_filter_disabled: Option<bool>,
    /// A cache of image registries in the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_cache: Option<bool>,
    /// Forward the audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_log: Option<bool>,
    /// Certificates for ingresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_service: Option<bool>,
    /// DNS names for ingresses and services.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns_service: Option<bool>,
}

/// A cluster that exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Byoc {
    /// The Secret, in the namespace of the Cluster, with a kubeconfig that is cluster-admin.
    pub kubeconfig_secret_ref: SecretKeyReference,
}

/// A key of a Secret in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretKeyReference {
    /// The name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key; `kubeconfig` where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub key: Option<String>,
}

/// When Gardener may work on a cluster, and what it may update.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Maintenance {
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_window: Option<TimeWindow>,
    /// What.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_update: Option<AutoUpdate>,
}

/// A daily window, in Gardener's spelling: `220000+0100`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeWindow {
    /// Its begin.
    #[schemars(
        length(max = 11),
        regex(pattern = r"^([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9][+-](0[0-9]|1[0-4])[0-5][0-9]$")
    )]
    pub begin: String,
    /// Its end.
    #[schemars(
        length(max = 11),
        regex(pattern = r"^([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9][+-](0[0-9]|1[0-4])[0-5][0-9]$")
    )]
    pub end: String,
}

/// What Gardener may update by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoUpdate {
    /// The patch version of Kubernetes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<bool>,
    /// The image of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_image_version: Option<bool>,
}

/// What became of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<ClusterPhase>,
    /// Of the operation under way, in per cent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub progress: Option<i32>,
    /// The name of the Shoot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub shoot_name: Option<String>,
    /// The UID of the Shoot: another one under the same name is not ours.
    #[serde(default, rename = "shootUID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub shoot_uid: Option<String>,
    /// The address of the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub api_server: Option<String>,
    /// The Kubernetes version that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub kubernetes_version: Option<String>,
    /// The account that it runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription: Option<SubscriptionStatus>,
    /// Users who have cluster-admin by us.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), inner(length(max = 253)), extend("x-kubernetes-list-type" = "set"))]
    pub administrators: Vec<String>,
    /// How often Gardener was asked to try again since it last succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub retries: Option<i32>,
    /// What Gardener did last, in its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<OperationStatus>,
    /// The generation that this status was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Ready`, `Reconciling`, `Stalled`, `ClusterProvisioned`, `SubscriptionReady`, `ShootHealthy`, `AdministratorsApplied`, `OIDCApplied`, `ShootAdopted`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list_with_update_time")]
    pub conditions: Vec<Condition>,
}

/// How far a Cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum ClusterPhase {
    /// Nothing is made yet.
    Pending,
    /// It waits for an account.
    Waiting,
    /// Gardener makes it.
    Creating,
    /// It can be used, and is as asked for.
    Ready,
    /// Gardener changes it.
    Updating,
    /// It is made, but not all of it works; a condition says what does not.
    Unhealthy,
    /// What is asked for cannot be had as it is; a condition names the field. A cluster that runs goes on running.
    Invalid,
    /// Only the platform can mend it; a condition says what.
    Blocked,
    /// Gardener failed, or the Shoot is not what it was; a condition says why.
    Failed,
    /// It is going away.
    Deleting,
}

impl ClusterPhase {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Pending,
        Self::Waiting,
        Self::Creating,
        Self::Ready,
        Self::Updating,
        Self::Unhealthy,
        Self::Invalid,
        Self::Blocked,
        Self::Failed,
        Self::Deleting,
    ];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Waiting => "Waiting",
            Self::Creating => "Creating",
            Self::Ready => "Ready",
            Self::Updating => "Updating",
            Self::Unhealthy => "Unhealthy",
            Self::Invalid => "Invalid",
            Self::Blocked => "Blocked",
            Self::Failed => "Failed",
            Self::Deleting => "Deleting",
        }
    }
}

/// The account that a cluster runs in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionStatus {
    /// The SubscriptionRequest.
    #[schemars(length(max = 253))]
    pub name: String,
    /// The binding that it got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub binding_name: Option<String>,
}

/// What Gardener did last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperationStatus {
    /// `Create`, `Reconcile`, `Delete`, …
    #[serde(rename = "type")]
    #[schemars(length(max = 64))]
    pub type_: String,
    /// `Processing`, `Succeeded`, `Error`, `Failed`, …
    #[schemars(length(max = 64))]
    pub state: String,
    /// In Gardener's words.
    #[schemars(length(max = 32768))]
    pub description: String,
    /// When Gardener said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
}

/// The condition types of a Cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClusterCondition {
    /// The cluster is made and as asked for.
    ClusterProvisioned,
    /// It has an account.
    SubscriptionReady,
    /// Gardener's own conditions hold.
    ShootHealthy,
    /// Every administrator has cluster-admin, and nobody else by us.
    AdministratorsApplied,
    /// The issuers are rolled out.
    OidcApplied,
    /// The Shoot that an annotation asks for is adopted; false while the annotation is there, since only the platform adopts.
    ShootAdopted,
}

impl ClusterCondition {
    /// The type as it stands in the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClusterProvisioned => "ClusterProvisioned",
            Self::SubscriptionReady => "SubscriptionReady",
            Self::ShootHealthy => "ShootHealthy",
            Self::AdministratorsApplied => "AdministratorsApplied",
            Self::OidcApplied => "OIDCApplied",
            Self::ShootAdopted => "ShootAdopted",
        }
    }
}
