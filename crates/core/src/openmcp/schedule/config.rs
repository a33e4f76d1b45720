//! The configuration of the scheduler, and what can be wrong with it.

use super::selector::Selector;
use allotment_api::openmcp::{ClusterSpec, Tenancy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The `scheduler` section of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Scheduler {
    /// Whether Clusters of other namespaces than the request's are looked at.
    pub scope: Scope,
    /// Which of several Clusters with room.
    pub strategy: Strategy,
    /// Which requests are looked at, and which Clusters may be handed out.
    pub selectors: Selectors,
    /// What a purpose gets.
    pub purpose_mappings: BTreeMap<String, Mapping>,
}

/// Where Clusters are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Scope {
    /// Everywhere.
    #[default]
    Cluster,
    /// In the namespace of the request.
    Namespaced,
}

/// Which of several Clusters with room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Strategy {
    /// The one with the fewest tenants.
    #[default]
    Balanced,
    /// Any: the lot that is drawn is given.
    Random,
    /// The first by name.
    Simple,
}

/// Which requests are looked at, and which Clusters may be handed out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Selectors {
    /// For Clusters of every purpose.
    pub clusters: Selector,
    /// For requests.
    pub requests: Selector,
}

/// What a purpose gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mapping {
    /// How many requests share a Cluster; 0 means any number. For exclusive ones it is 0.
    #[serde(default)]
    pub tenancy_count: u32,
    /// What a Cluster must have to be taken, beside what is asked of all.
    #[serde(default)]
    pub selector: Selector,
    /// What new Clusters are like.
    pub template: Template,
}

/// What new Clusters are like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Template {
    /// Name, namespace, labels and annotations.
    #[serde(default)]
    pub metadata: TemplateMetadata,
    /// The spec.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub spec: ClusterSpec,
}

/// Name, namespace, labels and annotations of new Clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TemplateMetadata {
    /// The name, for a shared Cluster with any number of tenants.
    pub name: Option<String>,
    /// How names begin.
    pub generate_name: Option<String>,
    /// The namespace; that of the request where it is not set.
    pub namespace: Option<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

impl Scheduler {
    /// What is wrong with it, each with its place. A scheduler does not start with any of it.
    pub fn check(&self) -> Vec<String> {
        let Self { scope: _, strategy: _, selectors, purpose_mappings } = self;
        let mut faults = selectors.clusters.check("selectors.clusters");
        faults.extend(selectors.requests.check("selectors.requests"));
        for (purpose, mapping) in purpose_mappings {
            let place = format!("purposeMappings.{purpose}");
            faults.extend(mapping.check(&place, &selectors.clusters));
            if purpose.is_empty() {
                faults.push("purposeMappings: a purpose is not empty".to_owned());
            }
        }
        faults
    }
}

impl Mapping {
    fn check(&self, place: &str, global: &Selector) -> Vec<String> {
        let Self { tenancy_count, selector, template: Template { metadata, spec } } = self;
        let mut faults = selector.check(&format!("{place}.selector"));
        if spec.profile.is_empty() {
            faults.push(format!("{place}.template.spec.profile: it is needed to make Clusters"));
        }
        if spec.tenancy == Tenancy::Exclusive && *tenancy_count != 0 {
            faults.push(format!("{place}.tenancyCount: it is 0 where the template's tenancy is Exclusive"));
        }
        // A Cluster that is made must be found again.
        if !global.and(selector).matches(&metadata.labels) {
            faults.push(format!(
                "{place}.template.metadata.labels: they do not match selectors.clusters and {place}.selector"
            ));
        }
        faults
    }
}
