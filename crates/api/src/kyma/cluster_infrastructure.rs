//! Where a Cluster runs and on what machines.

use super::Provider;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

fn one_zone() -> i32 {
    1
}

/// A cluster that Gardener makes: the cloud, the machines, the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = Rule::new("self.autoScalerMin <= self.autoScalerMax").message("autoScalerMin must not be above autoScalerMax").field_path(".autoScalerMin"),
    validation = Rule::new("self.autoScalerMax >= self.numberOfZones").message("autoScalerMax must be at least numberOfZones: every zone needs a node").field_path(".autoScalerMax"),
    validation = Rule::new("!has(self.zones) || size(self.zones) == self.numberOfZones").message("zones must name as many zones as numberOfZones says").field_path(".zones"),
)]
#[serde(rename_all = "camelCase")]
pub struct Infrastructure {
    /// The machine type, as the cloud calls it.
    #[schemars(length(min = 1, max = 63))]
    pub machine_type: String,
    /// The fewest nodes.
    #[schemars(range(min = 1, max = 1000))]
    pub auto_scaler_min: i32,
    /// The most nodes.
    #[schemars(range(min = 1, max = 1000))]
    pub auto_scaler_max: i32,
    /// The cloud.
    #[x_kube(validation = Rule::new("self == oldSelf").message("provider is immutable"))]
    pub provider: Provider,
    /// Over how many zones the nodes are spread.
    #[serde(default = "one_zone")]
    #[schemars(range(min = 1, max = 8))]
    pub number_of_zones: i32,
    /// Which account: `shared`, or the tenant as `globalaccount:<id>` or `<id>`.
    #[schemars(
        length(min = 1, max = 77),
        regex(pattern = r"^(globalaccount:)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$")
    )]
    pub subscription_selector: String,
    /// These zones, and no others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 8), inner(length(min = 1, max = 63)), extend("x-kubernetes-list-type" = "set"))]
    pub zones: Option<Vec<String>>,
    /// The disks of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
    /// The network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub networking: Option<Networking>,
    /// Labels on the nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    pub labels: BTreeMap<String, String>,
    /// Taints on the nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub taints: Vec<Taint>,
    /// More worker pools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub additional_workers: Vec<WorkerPool>,
    /// What the control plane survives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_availability: Option<FailureTolerance>,
    /// Who may reach the API server, as CIDRs; everybody where it is not set.
    #[serde(default, rename = "apiServerACL", skip_serializing_if = "Option::is_none")]
    pub api_server_acl: Option<ApiServerAcl>,
    /// Keep the cluster to people and places with EU access.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eu_access: Option<bool>,
}

/// A disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Volume {
    /// Its type, as the cloud calls it; the provider's default where it is not set.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub type_: Option<String>,
    /// Its size, such as `80Gi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16), regex(pattern = r"^[1-9][0-9]*Gi$"))]
    pub size: Option<String>,
}

/// The network of a cluster. Its ranges cannot change once it is made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = Rule::new("!has(oldSelf.nodes) || has(self.nodes) && self.nodes == oldSelf.nodes").message("nodes is immutable").field_path(".nodes"),
    validation = Rule::new("!has(oldSelf.pods) || has(self.pods) && self.pods == oldSelf.pods").message("pods is immutable").field_path(".pods"),
    validation = Rule::new("!has(oldSelf.services) || has(self.services) && self.services == oldSelf.services").message("services is immutable").field_path(".services"),
)]
#[serde(rename_all = "camelCase")]
pub struct Networking {
    /// The range of the nodes, /16 to /24.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 43))]
    #[x_kube(validation = Rule::new("isCIDR(self)").message("nodes must be a CIDR such as 10.250.0.0/16"))]
    pub nodes: Option<String>,
    /// The range of the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 43))]
    #[x_kube(validation = Rule::new("isCIDR(self)").message("pods must be a CIDR such as 10.96.0.0/13"))]
    pub pods: Option<String>,
    /// The range of the services.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 43))]
    #[x_kube(validation = Rule::new("isCIDR(self)").message("services must be a CIDR such as 10.104.0.0/13"))]
    pub services: Option<String>,
    /// IPv4 and IPv6 side by side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dual_stack: Option<bool>,
}

/// One more worker pool. What it does not say, it takes from the first one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = Rule::new("self.autoScalerMin <= self.autoScalerMax").message("autoScalerMin must not be above autoScalerMax").field_path(".autoScalerMin"),
)]
#[serde(rename_all = "camelCase")]
pub struct WorkerPool {
    /// Its name, unique in the cluster.
    #[schemars(length(min = 1, max = 15), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// The machine type, as the cloud calls it.
    #[schemars(length(min = 1, max = 63))]
    pub machine_type: String,
    /// The fewest nodes; a further pool may go down to none.
    #[schemars(range(min = 0, max = 1000))]
    pub auto_scaler_min: i32,
    /// The most nodes.
    #[schemars(range(min = 0, max = 1000))]
    pub auto_scaler_max: i32,
    /// These zones; those of the first pool where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 8), inner(length(min = 1, max = 63)), extend("x-kubernetes-list-type" = "set"))]
    pub zones: Option<Vec<String>>,
    /// The disks of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
    /// Labels on the nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    pub labels: BTreeMap<String, String>,
    /// Taints on the nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub taints: Vec<Taint>,
}

/// Keeps pods off a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Taint {
    /// The key.
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
    /// The value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub value: Option<String>,
    /// What happens to pods that do not tolerate it.
    pub effect: TaintEffect,
}

/// What a taint does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TaintEffect {
    /// New pods stay away.
    NoSchedule,
    /// New pods stay away if they can.
    PreferNoSchedule,
    /// Pods that are there have to go.
    NoExecute,
}

/// What a highly available control plane survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FailureTolerance {
    /// The loss of a node.
    Node,
    /// The loss of a zone.
    Zone,
}

/// Who may reach the API server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
pub struct ApiServerAcl {
    /// The ranges that may.
    #[serde(rename = "allowedCIDRs")]
    #[schemars(length(min = 1, max = 50), inner(length(max = 43)), extend("x-kubernetes-list-type" = "set"))]
    #[x_kube(validation = Rule::new("self.all(cidr, isCIDR(cidr))").message("allowedCIDRs must be CIDRs such as 10.0.0.0/8"))]
    pub allowed_cidrs: Vec<String>,
}
