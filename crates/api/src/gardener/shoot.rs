//! `Shoot`: what is asked of Gardener.

use super::ShootStatus;
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A cluster of Gardener's.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "core.gardener.cloud",
    version = "v1beta1",
    kind = "Shoot",
    namespaced,
    schema = "disabled",
    status = "ShootStatus",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct ShootSpec {
    /// What the cloud offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_profile: Option<CloudProfileReference>,
    /// The account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_binding_name: Option<String>,
    /// The account, of old Shoots: read, never written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_binding_name: Option<String>,
    /// The region.
    pub region: String,
    /// `evaluation`, `testing`, `development`, `production`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// The version and the API server.
    #[serde(default)]
    pub kubernetes: Kubernetes,
    /// The network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub networking: Option<ShootNetworking>,
    /// The cloud and the machines.
    pub provider: ShootProvider,
    /// When Gardener may work on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<ShootMaintenance>,
    /// Extensions. Atomic under server-side apply: others' entries have to be merged in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<ShootExtension>,
    /// Objects that extensions refer to. Atomic too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<NamedResourceReference>,
    /// Names. Its providers are atomic too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns: Option<ShootDns>,
    /// The control plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ShootControlPlane>,
    /// Such as `eu-access-only`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_restrictions: Vec<AccessRestriction>,
    /// Whether it sleeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hibernation: Option<Hibernation>,
    /// Where the control plane runs; the scheduler's business.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_name: Option<String>,
}

/// Points at a CloudProfile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloudProfileReference {
    /// `CloudProfile` or `NamespacedCloudProfile`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// The version and the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kubernetes {
    /// The version; Gardener fills in what is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The API server.
    #[serde(default, rename = "kubeAPIServer", skip_serializing_if = "Option::is_none")]
    pub kube_api_server: Option<KubeApiServer>,
    /// What gives pods the resources they need.
    #[serde(default, rename = "verticalPodAutoscaler", skip_serializing_if = "Option::is_none")]
    pub vertical_pod_autoscaler: Option<VerticalPodAutoscaler>,
}

/// What gives pods the resources they need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerticalPodAutoscaler {
    /// It does.
    pub enabled: bool,
}

/// The API server of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeApiServer {
    /// Who may log in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_authentication: Option<StructuredAuthentication>,
}

/// Who may log in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StructuredAuthentication {
    /// A ConfigMap in the project namespace. A change of its content alone is not rolled out.
    pub config_map_name: String,
}

/// The network of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShootNetworking {
    /// `calico`, `cilium`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// The range of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<String>,
    /// The range of the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<String>,
    /// The range of the services.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub services: Option<String>,
    /// `IPv4`, `IPv6`.
    #[serde(default, rename = "ipFamilies", skip_serializing_if = "Vec::is_empty")]
    pub ip_families: Vec<String>,
    /// What the network's extension wants to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<Value>,
}

/// The cloud and the machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShootProvider {
    /// `aws`, `azure`, …
    #[serde(rename = "type")]
    pub type_: String,
    /// Of the provider's extension; Gardener itself does not look into it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infrastructure_config: Option<Value>,
    /// Of the provider's extension; Gardener itself does not look into it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_config: Option<Value>,
    /// Worker pools, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<Worker>,
}

/// A worker pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Worker {
    /// Its name.
    pub name: String,
    /// The machines.
    pub machine: Machine,
    /// The fewest nodes.
    pub minimum: i32,
    /// The most nodes.
    pub maximum: i32,
    /// How many more nodes there may be during an update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
    /// How many nodes may be missing during an update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    /// The disk of a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<WorkerVolume>,
    /// The zones. Atomic under server-side apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// Labels on the nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Taints on the nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// Of the provider's extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<Value>,
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Its type, as the cloud calls it.
    #[serde(rename = "type")]
    pub type_: String,
    /// Its image; Gardener fills in what is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<MachineImageReference>,
    /// CPU architecture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
}

/// Points at an image of the CloudProfile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineImageReference {
    /// Its name.
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The disk of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerVolume {
    /// Its type, as the cloud calls it.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// Its size, such as `80Gi`.
    pub size: String,
}

/// When Gardener may work on a Shoot, and what it may update.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShootMaintenance {
    /// What.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_update: Option<MaintenanceAutoUpdate>,
    /// When; Gardener picks a window at random where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_window: Option<MaintenanceTimeWindow>,
}

/// What Gardener may update by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MaintenanceAutoUpdate {
    /// The patch version of Kubernetes.
    pub kubernetes_version: bool,
    /// The image of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_image_version: Option<bool>,
}

/// A daily window: `220000+0100`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaintenanceTimeWindow {
    /// Its begin.
    pub begin: String,
    /// Its end.
    pub end: String,
}

/// An extension of a Shoot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShootExtension {
    /// `shoot-networking-filter`, …
    #[serde(rename = "type")]
    pub type_: String,
    /// Of the extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<Value>,
    /// Switched off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
}

/// An object that extensions refer to by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedResourceReference {
    /// The name that they use.
    pub name: String,
    /// The object.
    pub resource_ref: ResourceReference,
}

/// An object in the project namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceReference {
    /// Group and version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// The names of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShootDns {
    /// What its names end with; Gardener gives it one where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Who serves the names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<Value>,
}

/// The control plane of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShootControlPlane {
    /// What it survives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_availability: Option<HighAvailability>,
}

/// What a control plane survives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HighAvailability {
    /// What it survives.
    pub failure_tolerance: FailureToleranceType,
}

/// `node` or `zone`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureToleranceType {
    /// `node` or `zone`.
    #[serde(rename = "type")]
    pub type_: String,
}

/// A restriction that the region offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessRestriction {
    /// Its name.
    pub name: String,
    /// Its options.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

/// Whether a Shoot sleeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hibernation {
    /// It does, or is to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}
