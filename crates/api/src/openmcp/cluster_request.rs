//! `ClusterRequest`: give me a cluster for this purpose.

use super::{ObjectReference, Status};
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// Asks for a cluster by purpose. The scheduler finds or makes one, and names it in the status.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "clusters.openmcp.cloud",
    version = "v1alpha1",
    kind = "ClusterRequest",
    doc = "Asks for a cluster by purpose; the status names the one that was found or made.",
    namespaced,
    status = "ClusterRequestStatus",
    derive = "PartialEq",
    shortname = "cr",
    shortname = "creq",
    label("openmcp.cloud/cluster", "platform"),
    selectable = ".spec.purpose",
    selectable = ".status.phase",
    printcolumn(name = "Purpose", type_ = "string", json_path = ".spec.purpose"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Cluster", type_ = "string", json_path = ".status.cluster.name"),
    printcolumn(name = "Cluster-NS", type_ = "string", json_path = ".status.cluster.namespace")
)]
#[x_kube(validation = Rule::new("self == oldSelf").message("spec is immutable"))]
#[serde(rename_all = "camelCase")]
pub struct ClusterRequestSpec {
    /// What the cluster is for: a key of the scheduler's configuration.
    // Bounded because the rule compares it. The scheduler makes names of clusters out of it, which end at 253.
    #[schemars(length(min = 1, max = 253))]
    pub purpose: String,
    /// Keep a deleted request until its cluster is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_for_cluster_deletion: Option<bool>,
}

/// What became of the request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("!has(oldSelf.cluster) || has(self.cluster)").message("cluster may not be removed once set"))]
#[serde(rename_all = "camelCase")]
pub struct ClusterRequestStatus {
    /// What every status has.
    #[serde(flatten)]
    pub common: Status,
    /// The cluster that the request got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self == oldSelf").message("cluster is immutable"))]
    pub cluster: Option<ObjectReference>,
}
