//! `CloudProfile`: what a cloud offers, in the words of the garden's operators.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a cloud offers.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "core.gardener.cloud",
    version = "v1beta1",
    kind = "CloudProfile",
    schema = "disabled",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct CloudProfileSpec {
    /// The provider: `aws`, `azure`, …
    #[serde(rename = "type")]
    pub type_: String,
    /// Kubernetes versions.
    pub kubernetes: KubernetesSettings,
    /// Images of nodes.
    #[serde(default)]
    pub machine_images: Vec<MachineImage>,
    /// Machine types.
    #[serde(default)]
    pub machine_types: Vec<MachineType>,
    /// Volume types.
    #[serde(default)]
    pub volume_types: Vec<VolumeType>,
    /// Regions with their zones.
    #[serde(default)]
    pub regions: Vec<Region>,
    /// What the provider's extension wants to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<Value>,
}

/// What a cloud offers to one project.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "core.gardener.cloud",
    version = "v1beta1",
    kind = "NamespacedCloudProfile",
    namespaced,
    schema = "disabled",
    status = "NamespacedCloudProfileStatus",
    derive = "PartialEq"
)]
pub struct NamespacedCloudProfileSpec {}

/// What became of a NamespacedCloudProfile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NamespacedCloudProfileStatus {
    /// Its parent and itself, merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_profile_spec: Option<CloudProfileSpec>,
}

/// Kubernetes versions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KubernetesSettings {
    /// The versions.
    #[serde(default)]
    pub versions: Vec<ExpirableVersion>,
}

/// A version that has a life. Either `lifecycle` tells its stages, or the older `classification` and `expirationDate` do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpirableVersion {
    /// The version.
    pub version: String,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiration_date: Option<Time>,
    /// `preview`, `supported`, `deprecated`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classification: Option<String>,
    /// Its stages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lifecycle: Vec<LifecycleStage>,
}

/// A stage in the life of a version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LifecycleStage {
    /// `preview`, `supported`, `deprecated`, `expired`.
    pub classification: String,
    /// When it begins; it has begun where this is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
}

/// An image of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineImage {
    /// Its name.
    pub name: String,
    /// Its versions.
    #[serde(default)]
    pub versions: Vec<MachineImageVersion>,
}

/// A version of an image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineImageVersion {
    /// The version and its life.
    #[serde(flatten)]
    pub version: ExpirableVersion,
    /// CPU architectures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub architectures: Vec<String>,
}

/// A machine type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineType {
    /// Its name.
    pub name: String,
    /// CPU architecture, `amd64` where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// Whether it may be used; it may where this is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable: Option<bool>,
    /// What it can do, in CloudProfiles that say it so: `architecture` is then here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capabilities: BTreeMap<String, Vec<String>>,
}

/// A volume type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeType {
    /// Its name.
    pub name: String,
    /// Whether it may be used; it may where this is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable: Option<bool>,
    /// The smallest one there is, such as `20Gi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_size: Option<String>,
}

/// A region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Region {
    /// Its name.
    pub name: String,
    /// Its zones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<Zone>,
    /// Restrictions that Shoots there may ask for, such as `eu-access-only`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_restrictions: Vec<RegionAccessRestriction>,
}

/// A zone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Zone {
    /// Its name.
    pub name: String,
    /// Machine types that it does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unavailable_machine_types: Vec<String>,
    /// Volume types that it does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unavailable_volume_types: Vec<String>,
}

/// A restriction that a region offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegionAccessRestriction {
    /// Its name.
    pub name: String,
}
