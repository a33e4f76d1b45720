//! What a Shoot is rendered from.

use super::{
    Clusters, Defaults, ProviderDefaults,
    facts::Facts,
    problem::{Findings, Problem},
};
use crate::tenancy::NamespaceRole;
use allotment_api::{
    gardener::{CloudProfileSpec, Region, Shoot, ShootSpec, Worker},
    kyma::{Cluster, Core, Infrastructure, Provider},
};
use jiff::Timestamp;

/// What a Shoot is rendered from. Nothing else has a say.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// What is asked for.
    pub cluster: &'a Cluster,
    /// What its namespace may do.
    pub role: &'a NamespaceRole,
    /// The `clusters` section of the configuration.
    pub clusters: &'a Clusters,
    /// The CloudProfile that the configuration names for the provider; of a NamespacedCloudProfile, what its status says.
    pub profile: &'a CloudProfileSpec,
    /// The Shoot as it is now.
    pub live: Option<&'a Shoot>,
    /// The name of the Shoot.
    pub name: &'a str,
    /// The namespace of the project in the garden.
    pub namespace: &'a str,
    /// The binding that the SubscriptionRequest got.
    pub binding: &'a str,
    /// The UID of the SubscriptionRequest.
    pub request: &'a str,
    /// Now: versions have a life.
    pub now: Timestamp,
}

/// The same, looked up.
pub(super) struct Scene<'a> {
    pub input: Input<'a>,
    pub core: &'a Core,
    pub infrastructure: &'a Infrastructure,
    pub provider: Provider,
    pub defaults: &'a ProviderDefaults,
    pub all: &'a Defaults,
    pub facts: Facts<'a>,
    pub region: &'a Region,
    pub live: Option<&'a ShootSpec>,
}

impl<'a> Scene<'a> {
    pub fn new(input: Input<'a>, findings: &mut Findings) -> Option<Self> {
        let spec = &input.cluster.spec;
        let (Some(core), Some(infrastructure)) = (&spec.core, &spec.infrastructure) else {
            findings.problem(Problem::new(
                "spec.infrastructure",
                "a cluster that the tenant brings has no Shoot",
            ));
            return None;
        };
        let provider = infrastructure.provider;
        let Some(defaults) = input.clusters.providers.get(&provider) else {
            let what = format!("clusters on {provider} are not offered here");
            findings.problem(
                Problem::new("spec.infrastructure.provider", what).allowed(input.clusters.providers.keys()),
            );
            return None;
        };
        if input.profile.type_ != provider.as_str() {
            let what = format!("CloudProfile {} is for {:?}", defaults.cloud_profile, input.profile.type_);
            findings.problem(Problem::new(format!("clusters.providers.{provider}.cloudProfile"), what));
            return None;
        }
        let facts = Facts { profile: input.profile, now: input.now };
        let Some(region) = facts.region(&core.region) else {
            let what = format!("CloudProfile {} has no region {:?}", defaults.cloud_profile, core.region);
            findings.problem(Problem::new("spec.core.region", what).allowed(facts.regions()));
            return None;
        };
        let live = input.live.map(|shoot| &shoot.spec);
        let all = &input.clusters.defaults;
        Some(Self { input, core, infrastructure, provider, defaults, all, facts, region, live })
    }

    /// A worker pool of the live Shoot.
    pub fn live_pool(&self, name: &str) -> Option<&'a Worker> {
        self.live?.provider.workers.iter().find(|worker| worker.name == name)
    }

    /// A number that is the same for a Cluster for ever and differs between Clusters, to spread them over zones.
    pub fn lot(&self) -> u64 {
        let metadata = &self.input.cluster.metadata;
        let text = metadata.uid.as_deref().unwrap_or(self.input.name);
        // FNV-1a: short, fixed, and good enough to choose among three.
        text.bytes()
            .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}
