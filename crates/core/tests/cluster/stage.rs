//! What the tests render from: the CloudProfiles of the landscapes, and a Cluster for each provider.

use allotment_api::{
    gardener::{CloudProfile, CloudProfileSpec, Shoot},
    kyma::{Cluster, Provider},
};
use allotment_core::{
    cluster::{Clusters, Input, Problem, Problems, Rendered, render},
    tenancy::NamespaceRole,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::OnceLock};

pub const UID: &str = "0a7b3c51-3a52-4c8f-9d3e-6f1f2f1c9a01";

/// The configuration of the chart, where no value is changed.
pub const CONFIGURATION: &str = "
providers:
  aws: {cloudProfile: aws}
  azure: {cloudProfile: az}
  gcp: {cloudProfile: gcp}
  openstack: {cloudProfile: converged-cloud}
  alicloud: {cloudProfile: alicloud}
";

pub struct Stage {
    pub cluster: Value,
    pub clusters: Clusters,
    pub profile: CloudProfileSpec,
    pub live: Option<Shoot>,
    pub role: NamespaceRole,
}

/// The CloudProfile of a landscape. Reading one takes longer than rendering a hundred Shoots.
pub fn profile(provider: Provider) -> CloudProfileSpec {
    static ALL: OnceLock<BTreeMap<Provider, CloudProfileSpec>> = OnceLock::new();
    ALL.get_or_init(|| Provider::ALL.map(|provider| (provider, read(provider))).into())[&provider].clone()
}

fn read(provider: Provider) -> CloudProfileSpec {
    let text = match provider {
        Provider::Aws => include_str!("../../../../landscape/manifests/garden/20-cloudprofile-aws.yaml"),
        Provider::Azure => include_str!("../../../../landscape/manifests/garden/20-cloudprofile-az.yaml"),
        Provider::Gcp => include_str!("../../../../landscape/manifests/garden/20-cloudprofile-gcp.yaml"),
        Provider::Openstack => {
            include_str!("../../../../landscape/manifests/garden/20-cloudprofile-converged-cloud.yaml")
        }
        Provider::Alicloud => {
            include_str!("../../../../landscape/manifests/garden/20-cloudprofile-alicloud.yaml")
        }
    };
    serde_saphyr::from_str::<CloudProfile>(text).unwrap().spec
}

/// A region with three zones, and a machine type that all of them have.
pub fn usual(provider: Provider) -> (&'static str, &'static str) {
    match provider {
        Provider::Aws => ("eu-central-1", "m6i.large"),
        Provider::Azure => ("westeurope", "Standard_D4s_v5"),
        Provider::Gcp => ("europe-west3", "n2-standard-4"),
        Provider::Openstack => ("eu-de-1", "g_c4_m16"),
        Provider::Alicloud => ("eu-central-1", "ecs.g8i.large"),
    }
}

impl Stage {
    pub fn new(provider: Provider) -> Self {
        let (region, machine) = usual(provider);
        let cluster = json!({
            "apiVersion": "operator.kyma-project.io/v1alpha1",
            "kind": "Cluster",
            "metadata": { "name": "example", "namespace": "tenants", "uid": UID },
            "spec": {
                "core": { "purpose": "Production", "region": region },
                "infrastructure": {
                    "provider": provider, "machineType": machine, "autoScalerMin": 3, "autoScalerMax": 20,
                    "numberOfZones": 3, "subscriptionSelector": "shared",
                },
            },
        });
        static CLUSTERS: OnceLock<Clusters> = OnceLock::new();
        let clusters = CLUSTERS.get_or_init(|| serde_saphyr::from_str(CONFIGURATION).unwrap()).clone();
        Self { cluster, clusters, profile: profile(provider), live: None, role: NamespaceRole::Platform }
    }

    /// With another value in the Cluster, by a path such as `spec.core.region`.
    pub fn with(mut self, path: &str, value: Value) -> Self {
        self.set(path, value);
        self
    }

    pub fn set(&mut self, path: &str, value: Value) {
        let place = path.split('.').fold(&mut self.cluster, |place, step| &mut place[step]);
        *place = value;
    }

    pub fn infrastructure(self, field: &str, value: Value) -> Self {
        self.with(&format!("spec.infrastructure.{field}"), value)
    }

    pub fn render(&self) -> Result<Rendered, Problems> {
        let cluster: Cluster = serde_json::from_value(self.cluster.clone()).unwrap();
        render(&Input {
            cluster: &cluster,
            role: &self.role,
            clusters: &self.clusters,
            profile: &self.profile,
            live: self.live.as_ref(),
            name: "c-example",
            namespace: "garden-kyma",
            binding: "account-1",
            request: "request-uid",
            now: "2026-08-01T00:00:00Z".parse::<Timestamp>().unwrap(),
        })
    }

    pub fn shoot(&self) -> Value {
        self.render().unwrap_or_else(|problems| panic!("{problems}")).shoot
    }

    /// Makes what is rendered now the live Shoot.
    pub fn roll_out(&mut self) -> Value {
        let shoot = self.shoot();
        self.live = Some(serde_json::from_value(shoot.clone()).unwrap());
        shoot
    }

    pub fn problems(&self) -> Vec<Problem> {
        self.render().expect_err("it renders").0
    }

    /// The only problem, as it is told.
    pub fn problem(&self) -> String {
        let problems = self.problems();
        assert_eq!(problems.len(), 1, "{problems:#?}");
        problems[0].to_string()
    }
}

pub fn zones(shoot: &Value) -> Vec<String> {
    serde_json::from_value(shoot["spec"]["provider"]["workers"][0]["zones"].clone()).unwrap_or_default()
}

/// The Cluster is what differs.
impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}", self.cluster)
    }
}
