//! `Project`: who owns a namespace of the garden.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// A project of the garden.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "core.gardener.cloud",
    version = "v1beta1",
    kind = "Project",
    schema = "disabled",
    status = "ProjectStatus",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct ProjectSpec {
    /// The namespace of its Shoots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// What Gardener says of the project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectStatus {
    /// `Pending`, `Ready`, `Failed`, `Terminating`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}
