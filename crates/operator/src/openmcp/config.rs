//! The configuration of the provider: a file, or the text of one.

use allotment_core::{
    openmcp::{
        policy::{Openmcp, Policy},
        schedule::Scheduler,
    },
    tenancy::Tenancy,
};
use serde::Deserialize;

/// Why a configuration is not taken.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It is not YAML, or has fields that nobody knows.
    #[error("the configuration of the provider cannot be read: {0}")]
    Unreadable(String),
    /// It is read, and cannot work. One line for each fault.
    #[error("the configuration of the provider cannot work:\n{}", .0.join("\n"))]
    Faults(Vec<String>),
}

/// What a configuration says. Without one every namespace is a tenant's and refers to nothing outside of itself, and no
/// purpose has a Cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// How ClusterRequests are scheduled.
    pub scheduler: Scheduler,
    /// What namespaces may refer to.
    pub policy: Policy,
}

/// Reads and checks a configuration: YAML with the section `scheduler`, as openmcp-operator has it, and the sections `openmcp`
/// and `tenancy`. Its other sections are not ours, and are passed over.
pub fn read(text: &str) -> Result<Config, ConfigError> {
    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        scheduler: Scheduler,
        #[serde(default)]
        openmcp: Openmcp,
        #[serde(default)]
        tenancy: Tenancy,
    }
    let File { scheduler, openmcp, tenancy } =
        serde_saphyr::from_str(text).map_err(|error| ConfigError::Unreadable(error.to_string()))?;
    let mut faults: Vec<String> =
        scheduler.check().into_iter().map(|fault| format!("scheduler.{fault}")).collect();
    // Here a table is not needed: without one, every namespace is for itself.
    let of_tenancy = tenancy.faults().into_iter().filter(|(key, _)| !key.is_empty());
    faults.extend(of_tenancy.map(|(key, fault)| format!("tenancy.{key}: {fault}")));
    if tenancy.namespace_label.is_some() {
        faults.push(
            "tenancy.namespaceLabel: the provider does not read labels of Namespaces; list namespaces in \
             tenancy.namespaces and tenancy.platform"
                .to_owned(),
        );
    }
    let policy = Policy { tenancy, openmcp };
    if faults.is_empty() { Ok(Config { scheduler, policy }) } else { Err(ConfigError::Faults(faults)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use allotment_core::openmcp::schedule::{Scope, Strategy};

    const GOOD: &str = "
managedControlPlane: {mcpClusterPurpose: mcp}
scheduler:
  scope: Namespaced
  strategy: Random
  selectors:
    clusters: {matchLabels: {environment: dev}}
  purposeMappings:
    mcp:
      template: {metadata: {labels: {environment: dev}}, spec: {profile: dev.gardener.small, tenancy: Exclusive}}
    workload:
      tenancyCount: 20
      selector: {matchExpressions: [{key: environment, operator: In, values: [dev]}]}
      template:
        metadata: {namespace: shared, generateName: w-, labels: {environment: dev}}
        spec: {profile: dev.gardener.large, tenancy: Shared, kubernetes: {version: 1.33.3}}
";

    #[test]
    fn the_example_is_read() {
        let example = read(include_str!("../../../../examples/openmcp/scheduler.yaml")).unwrap().scheduler;
        assert_eq!(example.purpose_mappings.len(), 2);
    }

    #[test]
    fn a_file_of_openmcp_operator_is_read() {
        let read = read(GOOD).unwrap().scheduler;
        assert_eq!((read.scope, read.strategy), (Scope::Namespaced, Strategy::Random));
        assert_eq!(read.purpose_mappings["workload"].tenancy_count, 20);
    }

    #[test]
    fn what_namespaces_may_refer_to_is_read() {
        let policy = read("{}").unwrap().policy;
        assert!(!policy.may_refer("a", "b"));
        assert!(read("tenancy: {mode: trusted}").unwrap().policy.may_refer("a", "b"));
        let text = "{openmcp: {crossNamespace: [{from: a, to: b}]}, tenancy: {platform: [p]}}";
        let policy = read(text).unwrap().policy;
        assert!(policy.may_refer("a", "b") && policy.may_refer("p", "x") && !policy.may_refer("b", "a"));
        for (wrong, words) in [
            ("tenancy: {namespaceLabel: a/b}", "does not read labels"),
            ("tenancy: {mode: trusted, platform: [a]}", "tenancy.mode"),
            ("openmcp: {crossNamespaces: []}", "crossNamespaces"),
        ] {
            let fault = read(wrong).unwrap_err().to_string();
            assert!(fault.contains(words), "{fault}");
        }
    }

    #[test]
    fn o6_what_is_missing_has_defaults_and_what_is_wrong_is_refused_with_its_place() {
        assert_eq!(read("scheduler: {}").unwrap().scheduler.scope, Scope::Cluster);
        let wrong = read(&GOOD.replace("strategy: Random", "strategy: Best")).unwrap_err().to_string();
        assert!(wrong.contains("Best"), "{wrong}");
        let wrong = read(&GOOD.replace("scope:", "scop:")).unwrap_err().to_string();
        assert!(wrong.contains("scop"), "{wrong}");
        let labels =
            GOOD.replace("clusters: {matchLabels: {environment: dev}}", "clusters: {matchLabels: {a: b}}");
        let wrong = read(&labels).unwrap_err().to_string();
        assert!(wrong.contains("scheduler.purposeMappings.mcp.template.metadata.labels:"), "{wrong}");
        assert!(wrong.contains("scheduler.purposeMappings.workload.template.metadata.labels:"), "{wrong}");
    }
}
