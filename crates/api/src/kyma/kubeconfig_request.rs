//! `KubeconfigRequest`: small, short-lived, revocable access to a cluster.

use crate::{
    condition::{self, Condition},
    rbac::PolicyRule,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The default life of a kubeconfig, in seconds.
pub const DEFAULT_EXPIRATION_SECONDS: i64 = 3600;

fn default_expiration() -> i64 {
    DEFAULT_EXPIRATION_SECONDS
}

/// Asks for a kubeconfig that can do what the rules say, and nothing else, for as long as it says.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "operator.kyma-project.io",
    version = "v1alpha1",
    kind = "KubeconfigRequest",
    doc = "Asks for a kubeconfig of a Cluster that can do what its rules say, for as long as it says; rotated in time, revocable by annotation.",
    namespaced,
    status = "KubeconfigRequestStatus",
    derive = "PartialEq",
    shortname = "kubereq",
    category = "allotment",
    selectable = ".spec.cluster",
    selectable = ".status.phase",
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.cluster"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason"
    ),
    printcolumn(name = "Expires", type_ = "string", json_path = ".status.expirationTimestamp"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[x_kube(
    validation = Rule::new("has(self.clusterRole) || has(self.role)").message("at least one of clusterRole and role must be set"),
    validation = Rule::new("has(self.clusterNamespace) == has(oldSelf.clusterNamespace) && (!has(self.clusterNamespace) || self.clusterNamespace == oldSelf.clusterNamespace)").message("clusterNamespace is immutable").field_path(".clusterNamespace"),
)]
#[serde(rename_all = "camelCase")]
pub struct KubeconfigRequestSpec {
    /// The name of the Cluster.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("cluster is immutable"))]
    pub cluster: String,
    /// The namespace of the Cluster, where a policy allows another one than that of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub cluster_namespace: Option<String>,
    /// What may be done in the whole cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_role: Option<ClusterRoleGrant>,
    /// What may be done in one namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleGrant>,
    /// How long a kubeconfig lives, in seconds. The configuration sets a maximum.
    #[serde(default = "default_expiration")]
    #[schemars(range(min = 600, max = 4294967295_i64))]
    pub expiration: i64,
    /// Put the kubeconfig into this Secret, and not into the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<KubeconfigSecretReference>,
}

/// Rules for the whole cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct ClusterRoleGrant {
    /// The rules.
    #[schemars(length(min = 1, max = 64))]
    // Every API server refuses such a ClusterRole.
    #[x_kube(validation = Rule::new("self.all(rule, has(rule.nonResourceURLs) && size(rule.nonResourceURLs) > 0 ? !(has(rule.apiGroups) && size(rule.apiGroups) > 0) && !(has(rule.resources) && size(rule.resources) > 0) && !(has(rule.resourceNames) && size(rule.resourceNames) > 0) : has(rule.apiGroups) && size(rule.apiGroups) > 0 && has(rule.resources) && size(rule.resources) > 0)").message("a rule has apiGroups and resources, or it has nonResourceURLs and neither of them"))]
    pub rules: Vec<PolicyRule>,
}

/// Rules for one namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoleGrant {
    /// The namespace in the target cluster.
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub namespace: String,
    /// Make the namespace where it does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create_namespace: Option<bool>,
    /// The rules.
    #[schemars(length(min = 1, max = 64))]
    #[x_kube(validation = Rule::new("self.all(rule, !has(rule.nonResourceURLs))").message("nonResourceURLs only work in clusterRole: a Role cannot grant them"))]
    #[x_kube(validation = Rule::new("self.all(rule, has(rule.nonResourceURLs) || (has(rule.apiGroups) && size(rule.apiGroups) > 0 && has(rule.resources) && size(rule.resources) > 0))").message("a rule has apiGroups and resources"))]
    pub rules: Vec<PolicyRule>,
}

/// A Secret in the namespace of the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KubeconfigSecretReference {
    /// Its name.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"))]
    pub name: String,
    /// The key that holds the kubeconfig; `kubeconfig` where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    // Kubernetes refuses `.` and what begins with `..`.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^\.?[-_A-Za-z0-9][-._A-Za-z0-9]*$"))]
    pub key: Option<String>,
}

/// What became of the request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeconfigRequestStatus {
    /// When the kubeconfig ends. Readers fetch the new one then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiration_timestamp: Option<Time>,
    /// The kubeconfig in base64, unless `spec.secretRef` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    // A CA bundle of 256 KiB, twice in base64, and a token; etcd takes objects of 1.5 MiB.
    #[schemars(length(max = 1048576))]
    pub kubeconfig: Option<String>,
    /// The Secret that holds the kubeconfig, if `spec.secretRef` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<KubeconfigSecretReference>,
    /// When the kubeconfig was issued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued_at: Option<Time>,
    /// Tokens that were asked for and may still be valid. Each is written down before it is asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 4096),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["secret"])
    )]
    pub tokens: Vec<TokenStatus>,
    /// The Shoot that the tokens are of. It is written down before the first of them is asked for, and says where they are whatever becomes of
    /// the Cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shoot: Option<ShootReference>,
    /// Where the kubeconfig of a cluster is that the tenant brought: it stays when its Cluster goes, and has to be reached then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brought: Option<BroughtReference>,
    /// What the kubeconfig was made for: another address, CA or signing key makes another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub made_for: Option<String>,
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<KubeconfigPhase>,
    /// The generation that this status was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Ready`, `PolicyAllowed`, `RulesEffective`, `Revoked`, `Locked`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list_with_update_time")]
    pub conditions: Vec<Condition>,
}

/// One Shoot, and not another one of its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShootReference {
    /// Its name.
    #[schemars(length(max = 253))]
    pub name: String,
    /// Its UID.
    #[schemars(length(max = 253))]
    pub uid: String,
}

/// The Secret with the kubeconfig of a cluster that the tenant brought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BroughtReference {
    /// Its namespace.
    #[schemars(length(max = 253))]
    pub namespace: String,
    /// Its name.
    #[schemars(length(max = 253))]
    pub name: String,
    /// The key; `kubeconfig` where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub key: Option<String>,
}

/// A token, by the Secret in the cluster that it is bound to: it ends with the Secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenStatus {
    /// The name of the Secret.
    #[schemars(length(max = 253))]
    pub secret: String,
    /// What became of it.
    pub state: TokenState,
    /// When it runs out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiration_timestamp: Option<Time>,
    /// When its Secret was gone. Servers may believe the token for some seconds more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Time>,
}

/// What became of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum TokenState {
    /// It is about to be asked for.
    Asked,
    /// It is the one in the kubeconfig.
    Published,
    /// There is a newer one; it runs out by itself.
    Replaced,
    /// It is being ended.
    Ending,
}

/// How far a KubeconfigRequest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum KubeconfigPhase {
    /// Not issued yet.
    Pending,
    /// A valid kubeconfig is published.
    Issued,
    /// The grant is gone and its tokens are refused.
    Revoked,
    /// The policy does not allow it.
    Denied,
}

impl KubeconfigPhase {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Issued, Self::Revoked, Self::Denied];

    /// The phase as it stands in the status.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Issued => "Issued",
            Self::Revoked => "Revoked",
            Self::Denied => "Denied",
        }
    }
}

/// The condition types of a KubeconfigRequest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KubeconfigCondition {
    /// A valid kubeconfig is published.
    Ready,
    /// The policy allows every rule.
    PolicyAllowed,
    /// Every rule matches something in RBAC.
    RulesEffective,
    /// The grant is gone, and the old token was seen to be refused.
    Revoked,
    /// An AccessLock of the platform names it.
    Locked,
}

impl KubeconfigCondition {
    /// The type as it stands in the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::PolicyAllowed => "PolicyAllowed",
            Self::RulesEffective => "RulesEffective",
            Self::Revoked => "Revoked",
            Self::Locked => "Locked",
        }
    }
}
