//! A provider that runs, and what configures it.

use super::platform::{Fault, Platform, create, phase, that};
use allotment_api::{
    gardener::Shoot,
    kyma::Provider,
    openmcp::{
        Cluster, ClusterProfile,
        gardener::{ClusterConfig, Landscape as Garden, ProviderConfig},
    },
};
use allotment_core::openmcp::names::shoot_name;
use allotment_operator::{
    openmcp::{Instance, Landscapes, Parts, landscapes, provider::Operator},
    runtime::controller::Controller as _,
};
use allotment_testing::{Landscape, Script, ShootKey};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use std::{fs, net::SocketAddr, ops::Deref};
use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

/// A platform with a provider that runs, whose name nobody else has.
pub struct Stage {
    pub platform: Platform,
    pub provider: String,
    pub operator: Operator,
}

impl Deref for Stage {
    type Target = Platform;

    fn deref(&self) -> &Platform {
        &self.platform
    }
}

impl Stage {
    pub async fn new(landscape: &Landscape) -> Result<Self, Fault> {
        let mut platform = Platform::with_gardenlet(landscape).await?;
        platform.plot.add_account("acc", Provider::Aws, json!({})).await?;
        let provider = format!("p-{}", platform.plot.project);
        let operator = start(&mut platform, &provider, None);
        Ok(Self { platform, provider, operator })
    }

    /// Crashes, and does not come back yet.
    pub fn crash(&mut self) {
        self.platform.crash();
    }

    /// The same provider again, in a new process.
    pub fn restart(&mut self) {
        self.crash();
        let provider = self.provider.clone();
        self.operator = start(&mut self.platform, &provider, None);
    }

    /// Another provider beside the first, in this environment.
    pub fn start(&mut self, provider: &str, environment: &str) -> Operator {
        start(&mut self.platform, provider, Some(environment))
    }

    pub fn landscapes(&self) -> Api<Garden> {
        Api::all(self.client())
    }

    pub fn configs(&self) -> Api<ProviderConfig> {
        Api::all(self.client())
    }

    pub fn profiles(&self) -> Api<ClusterProfile> {
        Api::all(self.client())
    }

    pub fn cluster_configs(&self) -> Api<ClusterConfig> {
        self.api()
    }

    /// What is called so in this test only, though it has no namespace.
    pub fn own(&self, name: &str) -> String {
        format!("{name}-{}", self.plot.project)
    }

    /// The name of the profile that the config of this name makes.
    pub fn profile_name(&self, config: &str) -> String {
        format!("{}.{}.{}", self.plot.namespace, self.provider, self.own(config))
    }

    pub fn kubeconfig(&self) -> String {
        fs::read_to_string(&self.plot.landscape.garden_kubeconfig).unwrap()
    }

    /// A Landscape with the garden's kubeconfig in it.
    pub async fn landscape(&self, name: &str) -> Result<Garden, Fault> {
        let access = json!({ "inline": self.kubeconfig() });
        create(&self.landscapes(), json!({ "name": self.own(name) }), json!({ "access": access })).await
    }

    pub async fn config(
        &self,
        name: &str,
        landscape: &str,
        provider: &str,
        template: Value,
    ) -> Result<ProviderConfig, Fault> {
        let spec = json!({
            "providerRef": { "name": provider },
            "landscapeRef": { "name": self.own(landscape) },
            "project": self.plot.project,
            "shootTemplate": template,
        });
        create(&self.configs(), json!({ "name": self.own(name) }), spec).await
    }

    /// A Landscape `l` and a config `c` that are ready, and the name of the profile.
    pub async fn ready(&self) -> Result<String, Fault> {
        self.landscape("l").await?;
        self.config("c", "l", &self.provider, template()).await?;
        that(&self.configs(), &self.own("c"), "is ready", |it| phase(it) == "Ready").await?;
        Ok(self.profile_name("c"))
    }

    pub async fn cluster_ready(&self, name: &str) -> Result<Cluster, Fault> {
        that(&self.clusters(), name, "is ready", |it| phase(it) == "Ready").await
    }

    /// The Shoot of a Cluster, once it is recorded.
    pub async fn shoot_of(&self, cluster: &str) -> Result<Shoot, Fault> {
        let uid = "/status/providerStatus/shoot/metadata/uid";
        let cluster =
            that(&self.clusters(), cluster, "has a Shoot", |it| json!(it).pointer(uid).is_some()).await?;
        let name = json!(cluster).pointer("/status/providerStatus/shoot/metadata/name").cloned().unwrap();
        Ok(self.plot.shoots().get(name.as_str().unwrap()).await?)
    }

    /// What happens to the Shoot of a Cluster.
    pub fn script(&self, cluster: &str, script: Script) {
        let name = shoot_name(&self.plot.namespace, cluster);
        self.plot.scripts.set(ShootKey { namespace: self.plot.garden_namespace.clone(), name }, script);
    }

    /// Waits until nothing happens any more.
    pub async fn settled(&self, cluster: &str) -> Result<(String, String), Fault> {
        let versions = async || -> Result<(String, String), Fault> {
            let version = |version: Option<String>| version.unwrap_or_default();
            let shoot = self.shoot_of(cluster).await?;
            Ok((
                version(self.clusters().get(cluster).await?.resource_version()),
                version(shoot.resource_version()),
            ))
        };
        let mut before = versions().await?;
        loop {
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
            let after = versions().await?;
            if after == before {
                return Ok(after);
            }
            before = after;
        }
    }
}

fn start(platform: &mut Platform, provider: &str, environment: Option<&str>) -> Operator {
    let mut parts = platform.parts(provider);
    if let Some(environment) = environment {
        let instance = Instance { environment: environment.to_owned(), provider: provider.to_owned() };
        parts = of(platform, parts, instance);
    }
    let landscapes = parts.landscapes.clone();
    let operator = Operator::new(parts);
    let running = operator.clone();
    platform.run(async move { landscapes.follow().await });
    platform.run(async move { running.run_as_leader().await });
    operator
}

fn of(platform: &Platform, mut parts: Parts, instance: Instance) -> Parts {
    parts.settings.instance = instance.clone();
    parts.landscapes = Landscapes::new(landscapes::Parts {
        platform: platform.client(),
        instance,
        dial: landscapes::Dial::over_https(&platform.metrics),
        connect: allotment_operator::target::Connect::over_https(&platform.metrics),
        clock: platform.clock(),
        metrics: platform.metrics.clone(),
    });
    parts
}

/// A way to the garden that can be cut.
pub struct Tunnel {
    pub address: SocketAddr,
    to: String,
    running: Option<JoinHandle<()>>,
}

impl Tunnel {
    pub async fn to(server: &str) -> Result<Self, Fault> {
        let to = server.trim_start_matches("https://").trim_end_matches('/').to_owned();
        let address = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
        let mut tunnel = Self { address, to, running: None };
        tunnel.open().await?;
        Ok(tunnel)
    }

    pub async fn open(&mut self) -> Result<(), Fault> {
        let (listener, to) = (TcpListener::bind(self.address).await?, self.to.clone());
        self.running = Some(tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut one, _)) = listener.accept().await {
                let to = to.clone();
                connections.spawn(async move {
                    if let Ok(mut other) = TcpStream::connect(to).await {
                        let _ = tokio::io::copy_bidirectional(&mut one, &mut other).await;
                    }
                });
            }
        }));
        Ok(())
    }

    /// Connections that are there end, too.
    pub fn cut(&mut self) {
        self.running.take().into_iter().for_each(|running| running.abort());
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.cut();
    }
}

/// The Shoot to start from.
pub fn template() -> Value {
    json!({
        // The real garden of the tests has no managed issuers.
        "metadata": {
            "labels": { "team": "a" },
            "annotations": { "authentication.gardener.cloud/issuer": "" },
        },
        "spec": {
            "cloudProfile": { "kind": "CloudProfile", "name": "aws" },
            "credentialsBindingName": "acc",
            "region": "eu-central-1",
            "purpose": "evaluation",
            "networking": { "type": "calico", "nodes": "10.250.0.0/16" },
            "provider": {
                "type": "aws",
                "infrastructureConfig": {
                    "apiVersion": "aws.provider.extensions.gardener.cloud/v1alpha1",
                    "kind": "InfrastructureConfig",
                    "networks": {
                        "vpc": { "cidr": "10.250.0.0/16" },
                        "zones": [{
                            "name": "eu-central-1a", "workers": "10.250.0.0/19",
                            "public": "10.250.32.0/20", "internal": "10.250.48.0/20",
                        }],
                    },
                },
                "controlPlaneConfig": {
                    "apiVersion": "aws.provider.extensions.gardener.cloud/v1alpha1", "kind": "ControlPlaneConfig",
                },
                "workers": [{
                    "name": "w", "minimum": 1, "maximum": 2, "zones": ["eu-central-1a"],
                    "machine": { "type": "m6i.large" },
                    "volume": { "type": "gp3", "size": "80Gi" },
                }],
            },
        },
    })
}
