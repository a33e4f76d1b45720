//! `ShootAdoption`: this Shoot is that Cluster's from now on.

use crate::condition::{self, Condition};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Has a Cluster take over a Shoot that exists.
///
/// It counts only in the operator's namespace. The operator decides on live reads whether the two fit together.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "allotment.dev",
    version = "v1alpha1",
    kind = "ShootAdoption",
    doc = "Has a Cluster take over a Shoot that exists; the status says what stands against it.",
    namespaced,
    status = "ShootAdoptionStatus",
    derive = "PartialEq",
    category = "allotment-platform",
    printcolumn(name = "Namespace", type_ = "string", json_path = ".spec.clusterNamespace"),
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.clusterName"),
    printcolumn(name = "Shoot", type_ = "string", json_path = ".spec.shootName"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[x_kube(validation = Rule::new("self == oldSelf").message("spec is immutable; delete the ShootAdoption and create another"))]
#[serde(rename_all = "camelCase")]
pub struct ShootAdoptionSpec {
    /// The namespace of the Cluster.
    #[schemars(length(min = 1, max = 63))]
    pub cluster_namespace: String,
    /// The Cluster.
    #[schemars(length(min = 1, max = 253))]
    pub cluster_name: String,
    /// The Shoot, in the garden's project.
    #[schemars(length(min = 1, max = 63))]
    pub shoot_name: String,
    /// Its UID: a Shoot that is made again under the same name is another one.
    #[serde(rename = "shootUID")]
    #[schemars(length(min = 1, max = 63))]
    pub shoot_uid: String,
}

/// How far an adoption is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShootAdoptionStatus {
    /// The generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<ShootAdoptionPhase>,
    /// `Adopted`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list_with_update_time")]
    pub conditions: Vec<Condition>,
}

/// How far an adoption is, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ShootAdoptionPhase {
    /// It goes on.
    Pending,
    /// Something stands against it: the condition says what.
    Refused,
    /// The Shoot is the Cluster's.
    Adopted,
}
