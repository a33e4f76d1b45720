//! `AccessLock`: nobody gets in while it exists.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// Keeps everybody out of Clusters: while it exists, nothing is granted or renewed, and grants are revoked.
///
/// It counts only in the operator's namespace. Whoever may write there locks and unlocks; a tenant can do neither.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "allotment.dev",
    version = "v1alpha1",
    kind = "AccessLock",
    doc = "Keeps everybody out of the Clusters that it names: grants are revoked, and nothing is granted while it exists.",
    namespaced,
    derive = "PartialEq",
    category = "allotment-platform",
    printcolumn(name = "Namespace", type_ = "string", json_path = ".spec.namespace"),
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.cluster"),
    printcolumn(name = "Request", type_ = "string", json_path = ".spec.request"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct AccessLockSpec {
    /// The namespace of the requests and Clusters.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
    /// The Cluster; every Cluster of the namespace where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub cluster: Option<String>,
    /// The KubeconfigRequest or AccessRequest; every request, and the administrators, where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub request: Option<String>,
    /// Why, for the platform team; tenants do not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub reason: Option<String>,
}
