//! Where the scheduler's configuration comes from.

use allotment_core::openmcp::schedule::Scheduler;
use serde::Deserialize;

/// Why a configuration is not taken.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It is not YAML, or has fields that nobody knows.
    #[error("the scheduler's configuration cannot be read: {0}")]
    Unreadable(String),
    /// It is read, and cannot work. One line for each fault.
    #[error("the scheduler's configuration cannot work:\n{}", .0.join("\n"))]
    Faults(Vec<String>),
}

/// Reads and checks a configuration: YAML with the section `scheduler`, as openmcp-operator has it. Its other sections are not
/// ours, and are passed over.
pub fn read(text: &str) -> Result<Scheduler, ConfigError> {
    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        scheduler: Scheduler,
    }
    let File { scheduler } =
        serde_saphyr::from_str(text).map_err(|error| ConfigError::Unreadable(error.to_string()))?;
    let faults: Vec<String> =
        scheduler.check().into_iter().map(|fault| format!("scheduler.{fault}")).collect();
    if faults.is_empty() { Ok(scheduler) } else { Err(ConfigError::Faults(faults)) }
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
        let example = read(include_str!("../../../../../examples/openmcp/scheduler.yaml")).unwrap();
        assert_eq!(example.purpose_mappings.len(), 2);
    }

    #[test]
    fn a_file_of_openmcp_operator_is_read() {
        let read = read(GOOD).unwrap();
        assert_eq!((read.scope, read.strategy), (Scope::Namespaced, Strategy::Random));
        assert_eq!(read.purpose_mappings["workload"].tenancy_count, 20);
    }

    #[test]
    fn o6_what_is_missing_has_defaults_and_what_is_wrong_is_refused_with_its_place() {
        assert_eq!(read("scheduler: {}").unwrap().scope, Scope::Cluster);
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
