//! Which Cluster a ClusterRequest gets, and what is done about it.
//!
//! | file | what is there |
//! |---|---|
//! | `config` | the configuration, and what can be wrong with it |
//! | `selector` | which labels an object must have |
//! | `choose` | which Cluster |
//! | `flow` | the next step for a request, from the first to the last |

mod choose;
mod config;
mod flow;
mod selector;
#[cfg(test)]
mod tests;

pub use choose::{Choice, NewCluster, choose};
pub use config::{Mapping, Scheduler, Scope, Selectors, Strategy, Template, TemplateMetadata};
pub use flow::{Decision, Step, View, decide};
pub use selector::{Operator, Requirement, Selector};

use allotment_api::openmcp::{
    Cluster, Tenancy,
    names::{finalizer, label},
};
use std::collections::{BTreeMap, BTreeSet};

/// A Cluster as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Which one of that name.
    pub uid: String,
    /// Which state of it.
    pub resource_version: String,
    /// Its purposes.
    pub purposes: Vec<String>,
    /// Its profile.
    pub profile: String,
    /// Whether several may have it.
    pub tenancy: Tenancy,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Everybody who holds it.
    pub finalizers: Vec<String>,
    /// Whether it goes away.
    pub is_deleting: bool,
}

impl Candidate {
    /// Reads one.
    pub fn of(cluster: &Cluster) -> Self {
        let metadata = &cluster.metadata;
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        Self {
            namespace: part(&metadata.namespace),
            name: part(&metadata.name),
            uid: part(&metadata.uid),
            resource_version: part(&metadata.resource_version),
            purposes: cluster.spec.purposes.clone(),
            profile: cluster.spec.profile.clone(),
            tenancy: cluster.spec.tenancy,
            labels: metadata.labels.clone().unwrap_or_default(),
            annotations: metadata.annotations.clone().unwrap_or_default(),
            finalizers: metadata.finalizers.clone().unwrap_or_default(),
            is_deleting: metadata.deletion_timestamp.is_some(),
        }
    }

    /// The UIDs of the requests that have it.
    pub fn tenants(&self) -> BTreeSet<&str> {
        self.finalizers.iter().filter_map(|name| name.strip_prefix(finalizer::TENANT_PREFIX)).collect()
    }

    /// Whether this request has it.
    pub fn has_tenant(&self, uid: &str) -> bool {
        self.tenants().contains(uid)
    }

    /// Whether it goes with its last tenant.
    pub fn goes_with_its_tenants(&self) -> bool {
        self.labels.get(label::DELETE_WITHOUT_REQUESTS).is_some_and(|value| value == "true")
    }
}
