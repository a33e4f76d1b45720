//! `ProviderConfig`: what the Shoots of one ClusterProfile look like.

use super::ShootExtension;
use crate::{
    openmcp::{LocalObjectReference, Status},
    schema,
};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the Shoots of one ClusterProfile look like, and where they are made. The provider makes the profile out of it.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "gardener.clusters.openmcp.cloud",
    version = "v1alpha1",
    kind = "ProviderConfig",
    doc = "What the Shoots of one ClusterProfile look like, and where they are made.",
    status = "ProviderConfigStatus",
    derive = "PartialEq",
    shortname = "gpcfg",
    label("openmcp.cloud/cluster", "platform"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase")
)]
#[serde(rename_all = "camelCase")]
pub struct ProviderConfigSpec {
    /// The provider that it belongs to; the others leave it alone.
    #[x_kube(validation = Rule::new("self == oldSelf").message("providerRef is immutable"))]
    pub provider_ref: LocalObjectReference,
    /// The Landscape that the Shoots are made in.
    pub landscape_ref: LocalObjectReference,
    /// The project that the Shoots are made in.
    #[schemars(length(min = 1))]
    pub project: String,
    /// The Shoot to start from: `metadata` with labels and annotations, and `spec`. Gardener checks it.
    #[schemars(schema_with = "schema::any_object")]
    pub shoot_template: Value,
    /// Extensions that every Shoot has. Where it is not set, or null, that is `shoot-oidc-service`; where it is empty, none.
    // Null is in the schema too (`openmcp::crds`): clients in Go apply it, since their type has no `omitempty` here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforced_shoot_extensions: Option<Vec<ShootExtension>>,
}

/// Whether the profile could be made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderConfigStatus {
    /// What every status has.
    #[serde(flatten)]
    pub common: Status,
}
