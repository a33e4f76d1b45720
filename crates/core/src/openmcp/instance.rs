//! Which provider this is. Several run beside each other on one platform, and several platforms use one garden.

use super::names::{hash8, profile_name};
use allotment_api::openmcp::ClusterProfile;

/// A provider: one name in one environment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instance {
    /// The environment.
    pub environment: String,
    /// The name of the provider.
    pub provider: String,
}

impl Instance {
    /// The name of the ClusterProfile that a ProviderConfig makes.
    pub fn profile_name(&self, config: &str) -> String {
        profile_name(&self.environment, &self.provider, config)
    }

    /// Whether it made this profile. The name tells the environment, which the spec does not.
    pub fn owns(&self, profile: &ClusterProfile) -> bool {
        let config = &profile.spec.provider_config_ref.name;
        profile.spec.provider_ref.name == self.provider
            && profile.metadata.name.as_deref() == Some(&self.profile_name(config))
    }

    /// Whether a profile of this name would be its own. For profiles that are gone.
    pub fn would_own(&self, profile: &str) -> bool {
        let prefix = self.profile_name("");
        profile.len() > prefix.len() && profile.starts_with(&prefix)
    }

    /// What the Lease of one of its controllers is called: another one for each provider, environment and controller.
    pub fn lease_name(&self, controller: &str) -> String {
        format!("allotment-openmcp-{controller}-{}", hash8(&[&self.environment, &self.provider]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn profile(name: &str, provider: &str, config: &str) -> ClusterProfile {
        serde_json::from_value(json!({
            "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "ClusterProfile", "metadata": {"name": name},
            "spec": {"providerRef": {"name": provider}, "providerConfigRef": {"name": config}, "supportedVersions": []},
        }))
        .unwrap()
    }

    #[test]
    fn a_profile_belongs_to_one_provider_in_one_environment() {
        let me = Instance { environment: "e".to_owned(), provider: "p".to_owned() };
        assert!(me.owns(&profile("e.p.c", "p", "c")));
        assert!(!me.owns(&profile("e.q.c", "q", "c")), "another provider's");
        assert!(!me.owns(&profile("f.p.c", "p", "c")), "another environment's");
        assert!(!me.owns(&profile("e.p.c", "p", "d")), "made by hand");
        assert!(me.would_own("e.p.c") && !me.would_own("e.p.") && !me.would_own("f.p.c"));
    }

    #[test]
    fn leases_do_not_meet() {
        let lease = |environment: &str, provider: &str, controller: &str| {
            Instance { environment: environment.to_owned(), provider: provider.to_owned() }
                .lease_name(controller)
        };
        assert_ne!(lease("e", "p", "cluster"), lease("f", "p", "cluster"));
        assert_ne!(lease("e", "p", "cluster"), lease("e", "q", "cluster"));
        assert_ne!(lease("e", "p", "cluster"), lease("e", "p", "accessrequest"));
    }
}
