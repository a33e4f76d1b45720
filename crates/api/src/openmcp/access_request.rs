//! `AccessRequest`: let me into this cluster.

use super::{LocalObjectReference, ObjectReference, OidcProviderConfig, PermissionsRequest, RoleRef, Status};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks for access to a cluster, by token or by OpenID Connect. The provider of the cluster puts a kubeconfig into a Secret.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "clusters.openmcp.cloud",
    version = "v1alpha1",
    kind = "AccessRequest",
    doc = "Asks for access to a cluster, by token or by OpenID Connect; the status names the Secret with the kubeconfig.",
    namespaced,
    status = "AccessRequestStatus",
    derive = "PartialEq",
    shortname = "ar",
    shortname = "areq",
    label("openmcp.cloud/cluster", "platform"),
    selectable = ".status.phase",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase")
)]
#[x_kube(
    validation = Rule::new("!has(oldSelf.clusterRef) || has(self.clusterRef)").message("clusterRef may not be removed once set"),
    validation = Rule::new("!has(oldSelf.requestRef) || has(self.requestRef)").message("requestRef may not be removed once set"),
    validation = Rule::new("(has(self.token) && !has(self.oidc)) || (!has(self.token) && has(self.oidc))").message("exactly one of spec.token or spec.oidc must be set"),
)]
#[serde(rename_all = "camelCase")]
pub struct AccessRequestSpec {
    /// The Cluster. Where it is not set, the Cluster of `requestRef` is filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self == oldSelf").message("clusterRef is immutable"))]
    pub cluster_ref: Option<ObjectReference>,
    /// The ClusterRequest whose Cluster is meant; not read once `clusterRef` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self == oldSelf").message("requestRef is immutable"))]
    pub request_ref: Option<ObjectReference>,
    /// Access by the token of a ServiceAccount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenAccess>,
    /// Access by OpenID Connect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oidc: Option<OidcAccess>,
    /// How long after its creation the request is deleted, in the spelling of Go: `1h30m`. Never, where it is not set.
    // Text and not `kube::core::Duration`: the schema has no pattern, and one bad value would end a watch for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<String>,
}

/// What the ServiceAccount may do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenAccess {
    /// Roles that are made for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<PermissionsRequest>,
    /// Roles that exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub role_refs: Vec<RoleRef>,
}

/// Who may log in, and what they may do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OidcAccess {
    /// The issuer and the bindings.
    #[serde(flatten)]
    pub provider: OidcProviderConfig,
    /// Roles that are made. They are not bound; `roleBindings` can name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<PermissionsRequest>,
}

/// What became of the request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessRequestStatus {
    /// What every status has.
    #[serde(flatten)]
    pub common: Status,
    /// The Secret with the kubeconfig, in the namespace of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
}
