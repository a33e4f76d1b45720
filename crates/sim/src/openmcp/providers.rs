//! Which providers there are.

use allotment_core::openmcp::instance::Instance;
use serde::{Deserialize, Serialize};

/// The two environments.
pub(crate) const ENVIRONMENTS: [&str; 2] = ["east", "west"];

/// The providers, and where they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Providers {
    /// The processes, as in `east/p1+west/p2`: environment and provider of each. Two of the same are replicas.
    pub processes: String,
    /// One for both environments, or one for each.
    pub platforms: usize,
    /// Into how many gardens they lead.
    pub gardens: usize,
    /// Whether one of several leads; if not, every provider has one process.
    pub elect: bool,
    /// Whether ClusterRequests are looked after.
    pub scheduler: bool,
    /// Whether Shoots know of OpenID Connect.
    pub oidc: bool,
}

impl Providers {
    /// Who the processes are, in their order. No more than four.
    pub(crate) fn instances(&self) -> Vec<Instance> {
        let read = |process: &str| {
            let (environment, provider) = process.split_once('/').unwrap_or((process, "p1"));
            Instance { environment: environment.to_owned(), provider: provider.to_owned() }
        };
        self.processes.split('+').map(read).take(4).collect()
    }

    /// The platform of an environment.
    pub(crate) fn platform_of(&self, environment: &str) -> usize {
        usize::from(self.platforms > 1 && environment != ENVIRONMENTS[0])
    }
}

/// The provider, the Landscape and the project of a ProviderConfig: two providers make Shoots in one project.
pub(crate) fn wiring(config: &str) -> (&'static str, &'static str, &'static str) {
    match config {
        "c1" => ("p1", "l1", "one"),
        "c2" => ("p2", "l1", "one"),
        _ => ("p1", "l2", "two"),
    }
}

/// The ProviderConfigs.
pub(crate) const CONFIGS: [&str; 3] = ["c1", "c2", "c3"];

/// The Landscapes.
pub(crate) const LANDSCAPES: [&str; 2] = ["l1", "l2"];

/// The projects of every garden, and their namespaces.
pub(crate) const PROJECTS: [(&str, &str); 2] = [("one", "garden-one"), ("two", "garden-two")];
