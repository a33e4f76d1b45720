//! `ClusterConfig`: what is special about the Shoot of one Cluster.

use super::{NamedResourceReference, ShootExtension};
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::Not;

/// What is special about the Shoot of one Cluster. A Cluster names it in `spec.clusterConfigs`.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "gardener.clusters.openmcp.cloud",
    version = "v1alpha1",
    kind = "ClusterConfig",
    doc = "What is special about the Shoot of one Cluster: extensions, resources and patches.",
    namespaced,
    derive = "PartialEq",
    shortname = "gccfg",
    label("openmcp.cloud/cluster", "platform")
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterConfigSpec {
    /// How the patches are applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch_options: Option<PatchOptions>,
    /// Patches over the Shoot, applied in order after the extensions and resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<JsonPatch>,
    /// Extensions that the Shoot has; one of the same type is replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<ShootExtension>,
    /// Resources that the Shoot refers to; one of the same name is replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<NamedResourceReference>,
}

/// How patches are applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatchOptions {
    /// To remove what is not there is no error.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub ignore_missing_on_remove: bool,
    /// To add below what is not there makes the parents first.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub create_missing_on_add: bool,
}

/// One operation of a JSON patch ([RFC 6902](https://datatracker.ietf.org/doc/html/rfc6902#section-4)).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonPatch {
    /// What is done.
    pub op: PatchOperation,
    /// Where: a JSON pointer (`/spec/region`), or names with dots (`spec.region`).
    pub path: String,
    /// The value, for `add`, `replace` and `test`.
    // A null does not reach us: a server takes it out of the object, here as in upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_value")]
    pub value: Option<Value>,
    /// From where, for `move` and `copy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PatchOperation {
    /// Refuses the patch if the value is another one.
    Test,
    /// Takes a value out.
    Remove,
    /// Puts a value in.
    Add,
    /// Puts a value in the place of another.
    Replace,
    /// Takes a value from one place to another.
    Move,
    /// Puts a value from one place into another too.
    Copy,
}

/// The schema of a value of any type, not only an object.
fn any_value(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
}
