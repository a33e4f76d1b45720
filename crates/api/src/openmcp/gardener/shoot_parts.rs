//! The parts of a Shoot that configurations carry, in Gardener's own form.

use crate::schema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An extension of a Shoot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShootExtension {
    /// Its type, such as `shoot-oidc-service`.
    #[serde(rename = "type")]
    pub type_: String,
    /// What is passed to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub provider_config: Option<Value>,
    /// Switches an extension off that every Shoot gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
}

/// A resource of the project that a Shoot refers to by a name of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamedResourceReference {
    /// The name that the Shoot uses.
    pub name: String,
    /// The resource.
    pub resource_ref: CrossVersionObjectReference,
}

/// Points at an object in the namespace of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct CrossVersionObjectReference {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its group and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
}
