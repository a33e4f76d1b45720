//! Values of the configuration that no Shoot can have, whatever the CloudProfiles offer.
//!
//! Found when the file is read: later, every Cluster of the provider would fail of it.

use super::{Clusters, Defaults, ProviderDefaults};
use crate::cluster::{
    maintenance, name, network,
    problem::{Findings, Problem},
    version::Version,
};
use allotment_api::kyma::Provider;

/// The networks that Gardener has extensions for.
const NETWORKS: [&str; 2] = ["calico", "cilium"];

/// The longest name of a worker pool: Gardener makes names of machines of it.
const LONGEST_WORKER: usize = 15;

impl Clusters {
    /// All of them. A problem's field is the path in the file.
    pub fn faults(&self) -> Vec<Problem> {
        let mut findings = Findings::default();
        if !self.namespace.is_empty() && !name::is_label(&self.namespace) {
            let what = format!(
                "{:?} is no name of a namespace: it has lower-case letters, digits and -",
                self.namespace
            );
            findings.problem(Problem::new("clusters.namespace", what));
        }
        for (provider, defaults) in &self.providers {
            of_provider(*provider, defaults, &mut findings);
        }
        of_all(&self.defaults, &mut findings);
        findings.problems
    }
}

fn of_provider(provider: Provider, defaults: &ProviderDefaults, findings: &mut Findings) {
    let field = |key: &str| format!("clusters.providers.{provider}.{key}");
    if defaults.cloud_profile.is_empty() {
        findings
            .problem(Problem::new(field("cloudProfile"), "it is empty: expected the name of a CloudProfile"));
    }
    let networking = defaults.networking.as_str();
    if !NETWORKS.contains(&networking) {
        let what = format!("Gardener has no network {networking:?}");
        findings.problem(Problem::new(field("networking"), what).allowed(NETWORKS));
    }
    network::check_defaults(provider, defaults, findings);
    if let Some(size) = defaults.volume.size.as_deref().filter(|size| !is_size(size)) {
        let what = format!("{size:?} is no size of a disk: expected whole gibibytes, such as 80Gi");
        findings.problem(Problem::new(field("volume.size"), what));
    }
    let worker = defaults.worker_name.as_str();
    if !name::is_label(worker) || worker.len() > LONGEST_WORKER {
        let what = format!(
            "{worker:?} is no name of a worker pool: it has at most {LONGEST_WORKER} lower-case letters, digits and -"
        );
        findings.problem(Problem::new(field("workerName"), what));
    }
    let of_openstack = [
        ("floatingPool", defaults.floating_pool.is_some()),
        ("loadBalancerProvider", defaults.load_balancer_provider.is_some()),
    ];
    if provider != Provider::Openstack {
        for (key, _) in of_openstack.into_iter().filter(|(_, is_set)| *is_set) {
            findings.problem(Problem::new(
                field(key),
                format!("only openstack has it, not {provider}; remove it"),
            ));
        }
    }
}

fn of_all(defaults: &Defaults, findings: &mut Findings) {
    if let Some(version) = &defaults.kubernetes_version
        && Version::parse(version).is_none()
    {
        let what = format!("{version:?} is not a version such as 1.35 or 1.35.4");
        findings.problem(Problem::new("clusters.defaults.kubernetesVersion", what));
    }
    let maintenance = &defaults.maintenance;
    let everywhere = maintenance.time_window.iter().map(|window| ("timeWindow".to_owned(), window));
    let regional = maintenance.regions.iter().map(|(region, window)| (format!("regions.{region}"), window));
    for (key, window) in everywhere.chain(regional) {
        findings.take(maintenance::check(format!("clusters.defaults.maintenance.{key}"), window));
    }
}

/// Gardener takes no other unit for the disks of nodes.
fn is_size(size: &str) -> bool {
    let number = size.strip_suffix("Gi").and_then(|number| number.parse::<u32>().ok());
    number.is_some_and(|number| number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn faults(clusters: Value) -> Vec<String> {
        let clusters: Clusters = serde_json::from_value(clusters).unwrap();
        clusters.faults().iter().map(ToString::to_string).collect()
    }

    fn of_aws(key: &str, value: Value) -> Vec<String> {
        let mut defaults = json!({ "cloudProfile": "aws" });
        defaults[key] = value;
        faults(json!({ "providers": { "aws": defaults } }))
    }

    fn only(found: &[String], expected: &str) {
        assert_eq!(found, [expected]);
    }

    #[test]
    fn defaults_have_no_faults() {
        let all: serde_json::Map<String, Value> = Provider::ALL
            .iter()
            .map(|provider| (provider.to_string(), json!({ "cloudProfile": "x" })))
            .collect();
        assert_eq!(faults(json!({ "providers": all })), Vec::<String>::new());
    }

    #[test]
    fn values_that_no_shoot_of_a_provider_can_have_are_named() {
        only(
            &of_aws("networking", json!("flannel")),
            "clusters.providers.aws.networking: Gardener has no network \"flannel\"; allowed: calico, cilium",
        );
        for size in ["big", "80", "80GB", "0Gi", "-1Gi"] {
            let found = of_aws("volume", json!({ "size": size }));
            assert!(found.len() == 1 && found[0].contains("such as 80Gi"), "{found:?}");
        }
        only(
            &of_aws("floatingPool", json!("ext")),
            "clusters.providers.aws.floatingPool: only openstack has it, not aws; remove it",
        );
        let overlapping = of_aws("nodes", json!("10.96.0.0/16"));
        only(&overlapping, "clusters.providers.aws.pods: 10.96.0.0/13 overlaps 10.96.0.0/16 of the nodes");
        assert_eq!(of_aws("nodes", json!("10.0.0.0/8")).len(), 3, "too large, and both others are in it");
        assert_eq!(of_aws("workerName", json!("a-name-that-is-too-long")).len(), 1);
        assert_eq!(of_aws("cloudProfile", json!("")).len(), 1);
    }

    #[test]
    fn values_that_no_shoot_can_have_are_named() {
        assert_eq!(faults(json!({ "namespace": "Clusters" })).len(), 1);
        assert_eq!(faults(json!({ "defaults": { "kubernetesVersion": "latest" } })).len(), 1);
        let window = |begin: &str| json!({ "begin": begin, "end": "230000+0100" });
        for begin in ["25", "250000+0100", "22:00", "", "220000", "226000+0100", "220000+1500", "230000+0100"]
        {
            let found = faults(json!({ "defaults": { "maintenance": { "timeWindow": window(begin) } } }));
            assert!(
                found.len() == 1 && found[0].starts_with("clusters.defaults.maintenance.timeWindow: "),
                "{begin}: {found:?}"
            );
        }
        let regional = json!({ "eu-central-1": window("220000+0100"), "us-east-1": window("x") });
        let found = faults(json!({ "defaults": { "maintenance": { "regions": regional } } }));
        assert!(found.len() == 1 && found[0].contains("maintenance.regions.us-east-1"), "{found:?}");
    }
}
