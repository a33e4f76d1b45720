//! Rules of RBAC as users write them into requests.

use k8s_openapi::api::rbac::v1 as rbac;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What may be done with which resources. The bounds keep a request small enough to be checked rule by rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRule {
    /// API groups, `""` for the core group, `"*"` for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 253)))]
    pub api_groups: Vec<String>,
    /// Resources, in lower case plural (`secrets`), `"*"` for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 253)))]
    pub resources: Vec<String>,
    /// Only objects with these names; empty: all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 253)))]
    pub resource_names: Vec<String>,
    /// Paths that are not resources, such as `/healthz`; cluster-wide rules only.
    #[serde(default, rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 253)))]
    pub non_resource_urls: Vec<String>,
    /// Verbs, `"*"` for all.
    #[schemars(length(min = 1, max = 64), inner(length(min = 1, max = 64)))]
    pub verbs: Vec<String>,
}

impl From<PolicyRule> for rbac::PolicyRule {
    fn from(rule: PolicyRule) -> Self {
        let PolicyRule { api_groups, resources, resource_names, non_resource_urls, verbs } = rule;
        let some = |list: Vec<String>| (!list.is_empty()).then_some(list);
        Self {
            api_groups: some(api_groups),
            resources: some(resources),
            resource_names: some(resource_names),
            non_resource_urls: some(non_resource_urls),
            verbs,
        }
    }
}
