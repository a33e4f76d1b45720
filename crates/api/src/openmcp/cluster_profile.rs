//! `ClusterProfile`: a kind of cluster that a provider offers.

use super::LocalObjectReference;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Not;

/// A kind of cluster that a provider offers. The provider makes it out of its configuration; a Cluster names it.
///
/// It has no status: it is there, or it is not.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "clusters.openmcp.cloud",
    version = "v1alpha1",
    kind = "ClusterProfile",
    doc = "A kind of cluster that a provider offers, and the Kubernetes versions it comes in.",
    derive = "PartialEq",
    shortname = "cprof",
    shortname = "profile",
    label("openmcp.cloud/cluster", "platform"),
    selectable = ".spec.providerRef.name",
    selectable = ".spec.providerConfigRef.name",
    printcolumn(name = "Provider", type_ = "string", json_path = ".spec.providerRef.name"),
    printcolumn(name = "Config", type_ = "string", json_path = ".spec.providerConfigRef.name")
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterProfileSpec {
    /// The provider that makes the clusters.
    pub provider_ref: LocalObjectReference,
    /// The configuration of the provider that the profile is made from. It is used as the value of a label.
    pub provider_config_ref: LocalObjectReference,
    /// The Kubernetes versions that a cluster may have, the newest first. It may be empty.
    pub supported_versions: Vec<SupportedVersion>,
}

/// A Kubernetes version that a cluster may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SupportedVersion {
    /// The version, such as `1.33.3`.
    #[schemars(length(min = 5))]
    pub version: String,
    /// It still works, and is going away.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub deprecated: bool,
}
