//! Everything put together, as `allotment openmcp run` runs it.

use super::{
    Instance, Landscapes, Parts, Settings, access,
    config::Config,
    generic,
    landscapes::{self, Dial},
    provider, scheduler, serve,
};
use crate::{
    metrics::Metrics,
    process::{
        clients::{self, ClientError},
        identity, own_namespace,
    },
    runtime::{clock::Clock, controller::Controller as _},
    target::Connect,
};
use allotment_core::{openmcp::schedule::Scheduler, tenancy::Mode};
use kube::Client;
use std::{
    collections::BTreeSet,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::{net::TcpListener, sync::watch};

/// As many objects are looked at at once in each landscape: enough to keep a garden busy, few enough to be fair to it.
const WORKERS: usize = 8;

/// What can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// Landscapes, ProviderConfigs and Clusters.
    Cluster,
    /// AccessRequests of this provider.
    AccessRequest,
    /// AccessRequests until their provider has them. openmcp-operator does that too: run one of the two.
    Generic,
    /// ClusterRequests. openmcp-operator does that too: run one of the two.
    Scheduler,
}

/// What a process is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which provider this is.
    pub instance: Instance,
    /// The platform's kubeconfig; none: as kubectl finds it, or the cluster around this process.
    pub kubeconfig: Option<PathBuf>,
    /// What is run.
    pub controllers: BTreeSet<Controller>,
    /// How access is handed out.
    pub access: access::Settings,
    /// How ClusterRequests are scheduled, and what namespaces may refer to.
    pub config: Config,
    /// How hard each garden is pressed.
    pub requests_per_second: u32,
    /// Whether there are several replicas, of which one leads.
    pub leader_elect: bool,
    /// Where metrics are, as Go's flags say it.
    pub metrics_address: String,
    /// Where health is, as Go's flags say it.
    pub health_address: String,
}

/// Why a process does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The environment is part of the names of everything.
    #[error("--environment is empty: say which environment this is, as openmcp-operator does")]
    NoEnvironment,
    /// So is the provider.
    #[error("--provider-name is empty: say the name of the ClusterProvider")]
    NoProvider,
    /// Both are part of names.
    #[error(
        "{flag}={value} cannot be part of the name of a ClusterProfile: use lower-case letters, digits, - and ."
    )]
    BadName {
        /// Which flag.
        flag: &'static str,
        /// What it says.
        value: String,
    },
    /// No controller is asked for.
    #[error("there is nothing to run: --controllers names none")]
    NothingToRun,
    /// The platform cannot be reached.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A folder without a kubeconfig.
    #[error("{0} is a folder without a file `kubeconfig`")]
    NoKubeconfig(PathBuf),
    /// The port is taken, say.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: String,
        /// Why not.
        source: io::Error,
    },
}

/// Whether this can be a provider.
pub fn check(instance: &Instance) -> Result<(), StartError> {
    if instance.environment.trim().is_empty() {
        return Err(StartError::NoEnvironment);
    }
    if instance.provider.trim().is_empty() {
        return Err(StartError::NoProvider);
    }
    for (flag, value) in [("--environment", &instance.environment), ("--provider-name", &instance.provider)] {
        let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let is_fine = value.split('.').all(|part| {
            part.starts_with(is_end) && part.ends_with(is_end) && part.chars().all(|c| is_end(c) || c == '-')
        });
        if !is_fine {
            return Err(StartError::BadName { flag, value: value.clone() });
        }
    }
    Ok(())
}

/// A client for the platform. A folder stands for the file `kubeconfig` in it.
pub async fn platform(kubeconfig: Option<&Path>, metrics: &Metrics) -> Result<Client, StartError> {
    let inside = kubeconfig.filter(|path| path.is_dir()).map(|path| path.join("kubeconfig"));
    if let (Some(inside), Some(folder)) = (&inside, kubeconfig)
        && !inside.is_file()
    {
        return Err(StartError::NoKubeconfig(folder.to_owned()));
    }
    Ok(clients::control_plane(inside.as_deref().or(kubeconfig), metrics).await?)
}

/// The controllers that run. Cheap to clone.
#[derive(Clone)]
pub struct Controllers {
    /// The gardens.
    pub landscapes: Landscapes,
    /// Landscapes, ProviderConfigs and Clusters.
    pub provider: Option<provider::Operator>,
    /// AccessRequests of this provider.
    pub access: Option<access::Operator>,
    /// AccessRequests until their provider has them.
    pub generic: Option<generic::Operator>,
    /// ClusterRequests.
    pub scheduler: Option<scheduler::Operator>,
}

impl Controllers {
    /// Makes those that are asked for.
    pub fn new(
        parts: &Parts,
        wanted: &BTreeSet<Controller>,
        access: access::Settings,
        scheduler: Scheduler,
    ) -> Self {
        let is_wanted = |controller| wanted.contains(&controller);
        Self {
            landscapes: parts.landscapes.clone(),
            provider: is_wanted(Controller::Cluster).then(|| provider::Operator::new(parts.clone())),
            access: is_wanted(Controller::AccessRequest)
                .then(|| access::Operator::new(parts.clone(), access)),
            generic: is_wanted(Controller::Generic).then(|| generic::Operator::new(parts.clone())),
            scheduler: is_wanted(Controller::Scheduler)
                .then(|| scheduler::Operator::new(parts.clone(), scheduler)),
        }
    }

    /// Whether everything on the platform has been listed once. No garden is waited for.
    pub fn is_complete(&self) -> bool {
        self.landscapes.is_listed()
            && self.provider.as_ref().is_none_or(provider::Operator::is_complete)
            && self.access.as_ref().is_none_or(access::Operator::is_complete)
            && self.generic.as_ref().is_none_or(generic::Operator::is_complete)
            && self.scheduler.as_ref().is_none_or(scheduler::Operator::is_complete)
    }

    /// Runs until told to stop; whichever leads gives up its Lease then.
    pub async fn run_until(&self, stop: impl Future<Output = ()>) {
        let stopping = watch::channel(false).0;
        let told = || {
            let mut told = stopping.subscribe();
            async move {
                // The sender lives as long as this does.
                let _ = told.wait_for(|stop| *stop).await;
            }
        };
        let provider = async {
            if let Some(controller) = &self.provider {
                controller.run_until(told()).await;
            }
        };
        let access = async {
            if let Some(controller) = &self.access {
                controller.run_until(told()).await;
            }
        };
        let generic = async {
            if let Some(controller) = &self.generic {
                controller.run_until(told()).await;
            }
        };
        let scheduler = async {
            if let Some(controller) = &self.scheduler {
                controller.run_until(told()).await;
            }
        };
        let tell = async {
            stop.await;
            stopping.send_replace(true);
        };
        let all = async {
            tokio::join!(Box::pin(provider), Box::pin(access), Box::pin(generic), Box::pin(scheduler), tell)
        };
        tokio::select! {
            // In one order, so that a simulation can repeat it.
            biased;
            _ = all => (),
            () = Box::pin(self.landscapes.follow()) => (),
        }
    }
}

/// A process that is ready to run.
pub struct Process {
    controllers: Controllers,
    metrics: Metrics,
    metrics_listener: Option<TcpListener>,
    health_listener: Option<TcpListener>,
}

impl Process {
    /// Makes the clients and listens. Nothing happens before [`Process::run_until`].
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let Options {
            instance,
            kubeconfig,
            controllers,
            access,
            config: Config { scheduler, policy },
            requests_per_second,
            leader_elect,
            metrics_address,
            health_address,
        } = options;
        check(&instance)?;
        if controllers.is_empty() {
            return Err(StartError::NothingToRun);
        }
        let metrics = Metrics::new();
        let platform = platform(kubeconfig.as_deref(), &metrics).await?;
        let clock = Clock::system();
        let landscapes = Landscapes::new(landscapes::Parts {
            platform: platform.clone(),
            instance: instance.clone(),
            dial: Dial::over_https(&metrics).with_rate(requests_per_second),
            connect: Connect::over_https(&metrics),
            clock: clock.clone(),
            metrics: metrics.clone(),
        });
        let settings = Settings {
            instance,
            identity: identity(),
            lease_namespace: leader_elect.then(own_namespace),
            own_namespace: own_namespace(),
            namespace: None,
            policy: Arc::new(policy),
            workers: WORKERS,
        };
        let Settings { identity, instance, .. } = &settings;
        tracing::info!(%identity, environment = instance.environment, provider = instance.provider, "starting");
        if settings.policy.tenancy.mode == Mode::Trusted {
            tracing::warn!("tenancy is trusted: every namespace may refer to Clusters of every other");
        }
        let parts = Parts { platform, landscapes, settings, clock, metrics: metrics.clone() };
        let controllers = Controllers::new(&parts, &controllers, access, scheduler);
        let metrics_listener = bound(&metrics_address).await?;
        let health_listener = bound(&health_address).await?;
        Ok(Self { controllers, metrics, metrics_listener, health_listener })
    }

    /// Where metrics and health are.
    pub fn addresses(&self) -> [Option<SocketAddr>; 2] {
        let address = |listener: &Option<TcpListener>| listener.as_ref()?.local_addr().ok();
        [address(&self.metrics_listener), address(&self.health_listener)]
    }

    /// Runs until told to stop; the Leases are given up then.
    pub async fn run_until(self, stop: impl Future<Output = ()>) {
        let Self { controllers, metrics, metrics_listener, health_listener } = self;
        tokio::select! {
            () = controllers.run_until(stop) => (),
            () = serve::serve(metrics_listener, serve::metrics(metrics)) => (),
            () = serve::serve(health_listener, serve::health(controllers.clone())) => (),
        }
    }
}

async fn bound(address: &str) -> Result<Option<TcpListener>, StartError> {
    serve::listen(address).await.map_err(|source| StartError::Listen { address: address.to_owned(), source })
}
