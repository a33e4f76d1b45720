//! The operators of a process. Each follows, leads and works by itself, with a Lease of its own; they share clients, the way
//! into clusters, and metrics.

use super::{Connections, StartError, WORKERS, own_namespace};
use crate::{
    cleanup, cluster,
    config::{Config, Controller, Settled},
    kubeconfig,
    ledger::{Ledger, Place},
    metrics::Metrics,
    runtime::{clock::Clock, controller::Controller as _},
    subscription,
    target::{self, Connect, Targets},
};
use allotment_clouds::Patience;
use allotment_core::pool::Retention;
use kube::Client;
use std::{future::Future, sync::Arc, time::Duration};
use tokio::{sync::watch, time::sleep};

/// An admin kubeconfig that nobody uses is dropped after a minute; this is how often somebody looks.
const TIDY: Duration = Duration::from_secs(30);

/// Those that run. Cheap to clone.
#[derive(Clone)]
pub struct Operators {
    /// Which account each SubscriptionRequest gets.
    pub subscription: Option<subscription::Operator>,
    /// Clusters and their Shoots.
    pub cluster: Option<cluster::Operator>,
    /// KubeconfigRequests.
    pub kubeconfig: Option<kubeconfig::Operator>,
    /// Returned accounts.
    pub cleanup: Option<cleanup::Operator>,
    targets: Targets,
}

impl Operators {
    /// Makes those that are asked for. The ledger is opened only for the one that needs it.
    pub(super) async fn new(
        controllers: &[Controller],
        settled: &Settled,
        connections: &Connections,
        clouds: Option<Arc<dyn cleanup::Clouds>>,
        identity: &str,
        metrics: &Metrics,
    ) -> Result<Self, StartError> {
        let Connections { control_plane, garden, guard } = connections;
        let (config, clock) = (&settled.config, Clock::system());
        let targets = Targets::new(target::Parts {
            garden: garden.client.clone(),
            garden_namespace: config.gardener.namespace.clone(),
            control_plane: control_plane.clone(),
            clock: clock.clone(),
            connect: Connect::over_https_within(metrics, guard.clone()),
            metrics: metrics.clone(),
        });
        let mut operators =
            Self { subscription: None, cluster: None, kubeconfig: None, cleanup: None, targets };
        // Both operators that need a ledger share its connections.
        let mut opened: Option<Ledger> = None;
        for controller in controllers {
            match controller {
                Controller::Subscription => {
                    let policy = settled.policy().ok_or(StartError::NoRules)?;
                    let ledger = ledger(&mut opened, config, &garden.name, metrics).await?;
                    operators.subscription = Some(
                        subscription::Operator::new(subscription::Parts {
                            control_plane: control_plane.clone(),
                            garden: garden.client.clone(),
                            ledger,
                            settings: subscription_settings(config, identity.to_owned()),
                            policy,
                            clock: clock.clone(),
                            metrics: metrics.clone(),
                        })
                        .tied_to_installation(),
                    );
                }
                Controller::Cluster => {
                    operators.cluster = Some(cluster::Operator::new(cluster::Parts {
                        control_plane: control_plane.clone(),
                        garden: garden.client.clone(),
                        targets: operators.targets.clone(),
                        settings: cluster_settings(config, identity.to_owned()),
                        policy: cluster_policy(settled),
                        clock: clock.clone(),
                        metrics: metrics.clone(),
                    }));
                }
                Controller::Kubeconfig => {
                    operators.kubeconfig = Some(kubeconfig::Operator::new(kubeconfig::Parts {
                        control_plane: control_plane.clone(),
                        garden: garden.client.clone(),
                        targets: operators.targets.clone(),
                        settings: kubeconfig_settings(config, identity.to_owned()),
                        policy: kubeconfig_policy(config),
                        clock: clock.clone(),
                        metrics: metrics.clone(),
                    }));
                }
                Controller::Cleanup => {
                    let clouds = clouds.clone();
                    let clouds =
                        clouds.unwrap_or_else(|| Arc::new(garden_clouds(config, garden.client.clone())));
                    operators.cleanup = Some(cleanup::Operator::new(cleanup::Parts {
                        control_plane: control_plane.clone(),
                        garden: garden.client.clone(),
                        ledger: ledger(&mut opened, config, &garden.name, metrics).await?,
                        clouds,
                        settings: cleanup_settings(config, identity.to_owned()),
                        policy: config.cleanup.policy(),
                        patience: Patience::default(),
                        clock: clock.clone(),
                        metrics: metrics.clone(),
                    }));
                }
            }
        }
        operators.set_fairness(config);
        Ok(operators)
    }

    /// Tells every operator which caps count where, and which namespaces are the platform's.
    pub(super) fn set_fairness(&self, config: &Config) {
        let fairness = config.fairness();
        let Self { subscription, cluster, kubeconfig, cleanup: _, targets: _ } = self;
        subscription.iter().for_each(|operator| operator.set_fairness(fairness.clone()));
        cluster.iter().for_each(|operator| operator.set_fairness(fairness.clone()));
        kubeconfig.iter().for_each(|operator| operator.set_fairness(fairness.clone()));
    }

    /// Whether anything can be run, before anybody is connected to.
    pub(super) fn check(controllers: &[Controller], settled: &Settled) -> Result<(), StartError> {
        if controllers.is_empty() {
            return Err(StartError::NothingToRun);
        }
        if controllers.contains(&Controller::Subscription) && settled.rules.is_none() {
            return Err(StartError::NoRules);
        }
        Ok(())
    }

    /// Runs until told to stop; every operator that leads gives up its Lease then.
    pub(super) async fn run_until(&self, stop: impl Future<Output = ()>) {
        let stopping = watch::channel(false).0;
        let told = || {
            let mut told = stopping.subscribe();
            async move {
                // The sender lives as long as this does.
                let _ = told.wait_for(|stop| *stop).await;
            }
        };
        let subscription = async {
            if let Some(operator) = &self.subscription {
                operator.run_until(told()).await;
            }
        };
        let cluster = async {
            if let Some(operator) = &self.cluster {
                operator.run_until(told()).await;
            }
        };
        let kubeconfig = async {
            if let Some(operator) = &self.kubeconfig {
                operator.run_until(told()).await;
            }
        };
        let cleanup = async {
            if let Some(operator) = &self.cleanup {
                operator.run_until(told()).await;
            }
        };
        let tell = async {
            stop.await;
            stopping.send_replace(true);
        };
        tokio::select! {
            _ = async {
                tokio::join!(
                    Box::pin(subscription),
                    Box::pin(cluster),
                    Box::pin(kubeconfig),
                    Box::pin(cleanup),
                    tell,
                )
            } => (),
            () = self.tidy() => (),
        }
    }

    /// The Lease of one of them.
    pub(super) fn lease_name(&self) -> Option<&'static str> {
        let subscription = self.subscription.as_ref().map(|_| subscription::LEASE_NAME);
        let cluster = self.cluster.as_ref().map(|_| cluster::LEASE_NAME);
        let kubeconfig = self.kubeconfig.as_ref().map(|_| kubeconfig::LEASE_NAME);
        let cleanup = self.cleanup.as_ref().map(|_| cleanup::LEASE_NAME);
        subscription.or(cluster).or(kubeconfig).or(cleanup)
    }

    async fn tidy(&self) {
        loop {
            sleep(TIDY).await;
            self.targets.tidy();
        }
    }
}

/// The ledger of a configuration, opened once.
async fn ledger(
    opened: &mut Option<Ledger>,
    config: &Config,
    garden: &str,
    metrics: &Metrics,
) -> Result<Ledger, StartError> {
    if let Some(ledger) = opened {
        return Ok(ledger.clone());
    }
    let retention = config.ledger.history_days.map_or_else(Retention::default, Retention::days);
    let place = Place { garden: garden.to_owned(), project: config.gardener.namespace.clone() };
    let ledger = Ledger::open(&config.ledger.read()?, place).await?;
    let ledger = ledger.with_retention(retention).recording(metrics.dependencies().clone());
    Ok(opened.insert(ledger).clone())
}

/// The clouds behind the Secrets of a garden, as a configuration wants them reached.
pub fn garden_clouds(config: &Config, garden: Client) -> cleanup::GardenClouds {
    let named = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let cleanup = &config.cleanup;
    let clouds = cleanup::GardenClouds::new(garden, cleanup.rates());
    let endpoints = cleanup.endpoints().into_iter();
    endpoints
        .fold(clouds, |clouds, (cloud, _, endpoint)| clouds.with_endpoint(cloud, named(endpoint)))
        .with_openstack_auth_url(named(&cleanup.openstack_auth_url))
}

/// The settings of a cleanup operator.
pub fn cleanup_settings(config: &Config, identity: String) -> cleanup::Settings {
    cleanup::Settings {
        garden_namespace: config.gardener.namespace.clone(),
        project: config.gardener.project().to_owned(),
        lease_namespace: own_namespace(),
        identity,
        binding_kind: config.hap.binding_kind,
        labels: config.hap.labels.clone(),
        workers: usize::try_from(config.cleanup.accounts_at_once).unwrap_or(1),
    }
}

/// What a subscription operator made from this configuration does not change while it runs.
pub fn subscription_settings(config: &Config, identity: String) -> subscription::Settings {
    subscription::Settings {
        garden_namespace: config.gardener.namespace.clone(),
        request_namespace: None,
        lease_namespace: own_namespace(),
        identity,
        binding_kind: config.hap.binding_kind,
        labels: config.hap.labels.clone(),
        workers: WORKERS,
    }
}

/// The same for a cluster operator.
pub fn cluster_settings(config: &Config, identity: String) -> cluster::Settings {
    cluster::Settings {
        garden_namespace: config.gardener.namespace.clone(),
        project: config.gardener.project().to_owned(),
        cluster_namespace: None,
        lease_namespace: own_namespace(),
        identity,
        binding_kind: config.hap.binding_kind,
        labels: config.hap.labels.clone(),
        workers: WORKERS,
    }
}

/// The same for a kubeconfig operator.
pub fn kubeconfig_settings(config: &Config, identity: String) -> kubeconfig::Settings {
    kubeconfig::Settings {
        garden_namespace: config.gardener.namespace.clone(),
        request_namespace: None,
        lease_namespace: own_namespace(),
        identity,
        workers: WORKERS,
    }
}

pub(super) fn kubeconfig_policy(config: &Config) -> kubeconfig::Policy {
    kubeconfig::Policy {
        access: Arc::new(config.access.clone()),
        cluster_namespace: config.clusters.namespace.clone(),
        tenancy: config.tenancy(),
    }
}

pub(super) fn cluster_policy(settled: &Settled) -> cluster::Policy {
    let config = &settled.config;
    cluster::Policy {
        clusters: Arc::new(config.clusters.clone()),
        tenancy: Arc::new(config.tenancy.clone().unwrap_or_default()),
        rules: settled.rules.clone(),
    }
}
