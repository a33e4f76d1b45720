//! `Cluster`: a Kubernetes cluster that a provider makes.

use super::{LocalObjectReference, Status};
use crate::schema;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A Kubernetes cluster, made by the provider of its profile. Every other provider leaves it alone.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "clusters.openmcp.cloud",
    version = "v1alpha1",
    kind = "Cluster",
    doc = "A Kubernetes cluster, made by the provider of its profile.",
    namespaced,
    status = "ClusterStatus",
    derive = "PartialEq",
    label("openmcp.cloud/cluster", "platform"),
    selectable = ".spec.profile",
    printcolumn(name = "Purposes", type_ = "string", json_path = ".spec.purposes"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(
        name = "Version",
        type_ = "string",
        json_path = r".metadata.labels.clusters\.openmcp\.cloud/k8sversion"
    ),
    printcolumn(
        name = "Provider",
        type_ = "string",
        json_path = r".metadata.labels.clusters\.openmcp\.cloud/provider"
    ),
    printcolumn(name = "Profile", type_ = "string", json_path = ".spec.profile", priority = "10"),
    printcolumn(
        name = "Info",
        type_ = "string",
        json_path = r".metadata.annotations.clusters\.openmcp\.cloud/providerinfo",
        priority = "10"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    /// The name of the ClusterProfile, which says who makes the cluster and how.
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("profile is immutable"))]
    pub profile: String,
    /// Further configuration, of a kind that the provider defines, in the namespace of the Cluster. Later ones win.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_configs: Vec<LocalObjectReference>,
    /// What is asked of Kubernetes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Kubernetes>,
    /// What the cluster is for; the scheduler looks at it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub purposes: Vec<String>,
    /// Whether several requests may get it.
    pub tenancy: Tenancy,
}

/// What is asked of Kubernetes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kubernetes {
    /// The version that is wanted; the provider chooses where it is not set. The one that runs is in a label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Whether several requests may get a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Tenancy {
    /// One request only.
    Exclusive,
    /// Several requests.
    Shared,
}

/// What became of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// What every status has.
    #[serde(flatten)]
    pub common: Status,
    /// The address of the API server. Deprecated: read `endpoints`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_server: Option<String>,
    /// Whatever the provider wants to keep; nobody else reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub provider_status: Option<Value>,
    /// Where the cluster is reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<Endpoint>,
}

/// Where a cluster is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Endpoint {
    /// What it is, such as `apiserver-external`.
    pub name: String,
    /// Its URL.
    pub url: String,
}
