//! `AdmissionParameters`: what the admission policies know of the configuration.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the admission policies know of the configuration. The chart writes it.
///
/// A kind of its own and not a ConfigMap: kube-apiserver stops watching the ConfigMaps of policies when the last such policy goes, and
/// does not begin anew when another one comes.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "allotment.dev",
    version = "v1alpha1",
    kind = "AdmissionParameters",
    plural = "admissionparameters",
    singular = "admissionparameters",
    doc = "What the admission policies know of the configuration.",
    namespaced,
    derive = "PartialEq",
    category = "allotment-platform",
    printcolumn(name = "Label", type_ = "string", json_path = ".spec.namespaceLabel"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionParametersSpec {
    /// The user that the operators are.
    #[schemars(length(max = 1024))]
    pub operator: String,
    /// Users of the controllers that delete what belongs to a deleted namespace or owner.
    #[schemars(length(max = 64), inner(length(max = 1024)))]
    pub controllers: Vec<String>,
    /// Namespaces of the platform, which may name any tenant.
    #[schemars(length(max = 4096), inner(length(max = 63)))]
    pub platform: Vec<String>,
    /// The label of Namespaces whose value is the tenant; empty where the table says it.
    #[schemars(length(max = 317))]
    pub namespace_label: String,
    /// The tenants of each namespace.
    #[schemars(extend(
        "maxProperties" = 65536,
        "additionalProperties" = { "type": "array", "maxItems": 1024, "items": { "type": "string", "maxLength": 63 } }
    ))]
    pub namespaces: BTreeMap<String, Vec<String>>,
    /// Whether Clusters that do not say so themselves are protected.
    pub deletion_protection: bool,
    /// Namespaces of the system, inside clusters, that a dangerous policy for access names.
    #[schemars(length(max = 4096), inner(length(max = 63)))]
    pub system_namespaces: Vec<String>,
    /// Objects of the garden's project that `shootTemplate` may refer to. Who may is judged by the operator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4096))]
    pub references: Vec<ListedReference>,
    /// References of openMCP's AccessRequests into other namespaces that are allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4096))]
    pub cross_namespace: Vec<NamespacePair>,
}

/// An object that the configuration allows to refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedReference {
    /// Its kind.
    #[schemars(length(max = 253))]
    pub kind: String,
    /// Its name, or a pattern with `*`.
    #[schemars(length(max = 253))]
    pub name: String,
}

/// A namespace, and one that it may refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamespacePair {
    /// The namespace of the request, as a name or a pattern with `*`.
    #[schemars(length(max = 253))]
    pub from: String,
    /// The namespace that it may refer to, as a name or a pattern with `*`.
    #[schemars(length(max = 253))]
    pub to: String,
}
