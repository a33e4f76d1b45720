//! What several kinds of the contract have in common: references, the status, roles and OpenID Connect.
//!
//! Names that a rule compares are bounded to what Kubernetes allows for a name, because the server estimates what a rule may
//! cost from the longest value. Upstream sets no bound; a longer name cannot belong to any object.

use crate::condition::{self, Condition};
use k8s_openapi::api::rbac::v1::{PolicyRule, Subject};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Not;

/// Points at an object in some namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ObjectReference {
    /// The name of the object.
    #[schemars(length(max = 253))]
    pub name: String,
    /// The namespace of the object.
    #[schemars(length(max = 63))]
    pub namespace: String,
}

/// Points at an object in the same namespace, or at one that has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct LocalObjectReference {
    /// The name of the object. An empty one is accepted, as everywhere in Kubernetes, and points at nothing.
    #[serde(default)]
    #[schemars(length(max = 253))]
    pub name: String,
}

/// What every status has. Both fields are required as soon as there is a status: a patch of one condition must bring them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The `metadata.generation` that was looked at last.
    pub observed_generation: i64,
    /// How far it is.
    // Text and not an enum: other controllers write it too, and one unknown word would end a watch for all. The words of the
    // contract are `names::Phase` and `names::RequestPhase`.
    pub phase: String,
    /// What is observed about the object, one entry per type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list")]
    pub conditions: Vec<Condition>,
}

/// Points at a role in the target cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct RoleRef {
    /// The name of the role.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The namespace of a Role. It means nothing for a ClusterRole; the schema does not check it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// `Role` or `ClusterRole`.
    pub kind: RoleKind,
}

/// The kinds of role in RBAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum RoleKind {
    /// For one namespace.
    Role,
    /// For the whole cluster.
    ClusterRole,
}

impl RoleKind {
    /// The kind as RBAC spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Role => "Role",
            Self::ClusterRole => "ClusterRole",
        }
    }
}

/// Binds subjects to roles: each of them to each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoleBindings {
    /// Who. Users and groups get the prefix of the OIDC provider.
    pub subjects: Vec<Subject>,
    /// Which roles. A role that does not exist grants nothing.
    pub role_refs: Vec<RoleRef>,
}

/// Rules that become a role in the target cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionsRequest {
    /// The name of the role; a name is made up where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A Role in this namespace; a ClusterRole where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Do not make the namespace where it does not exist.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub disable_automatic_namespace_creation: bool,
    /// The rules, as RBAC has them.
    // The type of Kubernetes and not `crate::rbac::PolicyRule`, whose bounds would refuse what upstream accepts.
    pub rules: Vec<PolicyRule>,
}

fn groups_claim() -> String {
    "groups".to_owned()
}

fn username_claim() -> String {
    "sub".to_owned()
}

/// An issuer of OpenID Connect, and what its users may do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct OidcProviderConfig {
    /// The name of the provider, which goes into the names of objects.
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    #[x_kube(validation = Rule::new("self != \"system\"").message("'system' is a reserved string and may not be used as OIDC provider name"))]
    pub name: String,
    /// The URL of the issuer.
    #[schemars(length(min = 1), regex(pattern = r"^https?://[^\s/$.?#].[^\s]*$"))]
    pub issuer: String,
    /// The client ID, which is the audience of the tokens.
    #[serde(rename = "clientID")]
    #[schemars(length(min = 1))]
    pub client_id: String,
    /// What is put before every group, as it is written; the name and a colon where it is not set, nothing where it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups_prefix: Option<String>,
    /// The claim that holds the groups.
    #[serde(default = "groups_claim")]
    pub groups_claim: String,
    /// What is put before every user, as it is written; the name and a colon where it is not set, nothing where it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username_prefix: Option<String>,
    /// The claim that holds the user.
    #[serde(default = "username_claim")]
    pub username_claim: String,
    /// More scopes that a login asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_scopes: Vec<String>,
    /// Who is bound to which roles.
    pub role_bindings: Vec<RoleBindings>,
}
