//! `Landscape`: a Gardener, and how to log in to it.

use crate::openmcp::{ObjectReference, Status};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A Gardener, and how to log in to it. The status lists the projects that the login may use.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "gardener.clusters.openmcp.cloud",
    version = "v1alpha1",
    kind = "Landscape",
    doc = "A Gardener, and how to log in to it; the status lists the projects that can be used.",
    status = "LandscapeStatus",
    derive = "PartialEq",
    shortname = "gpls",
    label("openmcp.cloud/cluster", "platform"),
    selectable = ".status.phase",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "APIServer", type_ = "string", json_path = ".status.apiServer")
)]
pub struct LandscapeSpec {
    /// How to log in to the garden cluster.
    pub access: LandscapeAccess,
}

/// How to log in to the garden cluster: one of the two. The schema does not check that.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LandscapeAccess {
    /// The kubeconfig itself. Everybody who can read the Landscape can read it: a Secret is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline: Option<String>,
    /// The Secret with the kubeconfig in the key `kubeconfig`, or else with `host`, `token` and `ca.crt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<ObjectReference>,
}

impl fmt::Debug for LandscapeAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inline, secret_ref } = self;
        f.debug_struct("LandscapeAccess")
            .field("inline", &inline.as_ref().map(|_| "[redacted]"))
            .field("secret_ref", secret_ref)
            .finish()
    }
}

/// What became of the login.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LandscapeStatus {
    /// What every status has.
    #[serde(flatten)]
    pub common: Status,
    /// The address of the garden cluster; empty while it is not known.
    pub api_server: String,
    /// The projects that can be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<LandscapeProject>,
}

/// A project that can be used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct LandscapeProject {
    /// The name of the project.
    pub name: String,
    /// The namespace in the garden cluster that belongs to it.
    pub namespace: String,
}
