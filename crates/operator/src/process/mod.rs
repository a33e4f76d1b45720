//! Everything put together, as `allotment run` runs it.

pub mod clients;
mod operators;
mod reload;

pub use operators::{Operators, cleanup_settings, cluster_settings, garden_clouds, subscription_settings};

use crate::{
    cleanup::Clouds,
    config::{self, AddressError, Config, Controller, Loaded, Settled},
    ledger::LedgerError,
    metrics::Metrics,
    runtime::{clock::Clock, events::Recorder},
    server::{self, Health},
    stray::tell_strays,
    target::Guard,
};
use allotment_core::{rules::Finding, tenancy::Mode};
use clients::{ClientError, Garden};
use kube::Client;
use reload::{About, Reload};
use std::{
    env, fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::{net::TcpListener, sync::watch};

/// Where the Lease is outside of a pod.
const DEFAULT_NAMESPACE: &str = "default";

/// As many objects are looked at at once by one operator: enough to keep a garden busy, few enough to be fair to it.
const WORKERS: usize = 8;

/// What a process is started with.
#[derive(Clone, Default)]
pub struct Options {
    /// The configuration file.
    pub config: PathBuf,
    /// The control plane's kubeconfig; none: as kubectl finds it, or the cluster around this process.
    pub kubeconfig: Option<PathBuf>,
    /// The operators to run, whatever the configuration says.
    pub controllers: Option<Vec<Controller>>,
    /// The clouds behind the accounts; none: those that their Secrets lead to.
    pub clouds: Option<Arc<dyn Clouds>>,
}

/// Why a process does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The configuration is bad.
    #[error("{path} is refused: {} findings", .findings.len())]
    Config {
        /// Which.
        path: PathBuf,
        /// Everything that is wrong with it.
        findings: Vec<Finding>,
    },
    /// No operator is asked for.
    #[error(
        "there is nothing to run: `controllers` names none of `subscription`, `cluster`, `kubeconfig` and `cleanup`"
    )]
    NothingToRun,
    /// The operator that hands out accounts runs by nothing else.
    #[error("the operator `subscription` needs rules, and the configuration has no `hap.rule`")]
    NoRules,
    /// A server cannot be reached.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// It is not known where the ledger is.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The ledger cannot be opened.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The port is taken, say.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: String,
        /// Why not.
        source: io::Error,
    },
}

/// What a configuration leads to.
pub struct Connections {
    /// Where requests and Clusters are.
    pub control_plane: Client,
    /// Where accounts and Shoots are.
    pub garden: Garden,
    /// Which addresses are dialled for clusters that tenants bring.
    pub guard: Guard,
}

impl Connections {
    /// Makes the clients.
    pub async fn open(
        config: &Config,
        kubeconfig: Option<&Path>,
        metrics: &Metrics,
    ) -> Result<Self, ClientError> {
        let control_plane = clients::control_plane(kubeconfig, metrics).await?;
        let garden = Garden::new(&config.gardener, kubeconfig, metrics).await?;
        let guard = Guard::new(config.byoc.clone());
        for host in clients::control_plane_hosts(kubeconfig).await?.into_iter().chain(garden.host()) {
            guard.add_own_server(&host);
        }
        Ok(Self { control_plane, garden, guard })
    }
}

/// Reads a configuration file; the findings are in the error if it is bad.
pub fn read(path: &Path) -> Result<(String, Settled), StartError> {
    let text =
        fs::read_to_string(path).map_err(|source| StartError::Read { path: path.to_owned(), source })?;
    let Loaded { settled, findings } = config::load(&text);
    let settled = settled.ok_or_else(|| StartError::Config { path: path.to_owned(), findings })?;
    Ok((text, settled))
}

/// A process that is ready to run.
pub struct Process {
    operators: Operators,
    control_plane: Client,
    recorder: Recorder,
    listener: TcpListener,
    health: Health,
    reload: Reload,
}

impl Process {
    /// Reads the configuration, makes the clients, opens the ledger if it is needed, and listens. Nothing happens before
    /// [`Process::run_until`].
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let Options { config: path, kubeconfig, controllers, clouds } = options;
        let (text, settled) = read(&path)?;
        let controllers = controllers.unwrap_or_else(|| settled.config.controllers.0.clone());
        Operators::check(&controllers, &settled)?;
        let (metrics, identity) = (Metrics::new(), identity());
        let connections = Connections::open(&settled.config, kubeconfig.as_deref(), &metrics).await?;
        let operators =
            Operators::new(&controllers, &settled, &connections, clouds, &identity, &metrics).await?;
        let lease = operators.lease_name().ok_or(StartError::NothingToRun)?;
        let Connections { control_plane, garden, guard } = connections;
        let config = settled.config;
        let listener = TcpListener::bind(&config.server.address)
            .await
            .map_err(|source| StartError::Listen { address: config.server.address.clone(), source })?;
        tracing::info!(%identity, garden = %garden.name, "starting");
        let recorder =
            Recorder::new(control_plane.clone(), "allotment.dev/operator", &identity, Clock::system());
        let about = About { pod: env::var("POD_NAME").ok(), lease, namespace: own_namespace() };
        let rejected = watch::channel(None).0;
        let tenancy = watch::channel(config.tenancy().mode).0;
        warn_if_trusted(config.tenancy().mode);
        let health = Health {
            operators: operators.clone(),
            rejected: rejected.subscribe(),
            tenancy: tenancy.subscribe(),
            metrics: metrics.clone(),
            per_object: config.server.per_object_metrics,
            access: config.metrics.clone(),
            control_plane: control_plane.clone(),
        };
        let reload = Reload {
            path,
            text,
            config,
            operators: operators.clone(),
            garden,
            guard,
            metrics,
            recorder: recorder.clone(),
            about,
            rejected,
            tenancy,
        };
        Ok(Self { operators, control_plane, recorder, listener, health, reload })
    }

    /// Where health and metrics are.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// The operators that run.
    pub fn operators(&self) -> &Operators {
        &self.operators
    }

    /// Runs until told to stop; the Leases are given up then.
    pub async fn run_until(self, stop: impl Future<Output = ()>) {
        let Self { operators, control_plane, recorder, listener, health, reload } = self;
        let own_namespace = own_namespace();
        tokio::select! {
            () = operators.run_until(stop) => (),
            () = Box::pin(tell_strays(&control_plane, &own_namespace, &recorder)) => (),
            () = Box::pin(reload.follow()) => (),
            result = server::serve(listener, health) => {
                // Whoever watches over us has to notice, and starts us anew.
                if let Err(error) = result {
                    tracing::error!(%error, "the server for health and metrics has ended");
                }
            }
        }
    }
}

/// Whoever reads the log has to know that nothing keeps tenants apart.
fn warn_if_trusted(mode: Mode) {
    if mode == Mode::Trusted {
        tracing::warn!("tenancy is {}", server::TRUSTED);
    }
}

/// The namespace that this process is in.
pub fn own_namespace() -> String {
    env::var("POD_NAMESPACE").unwrap_or_else(|_| DEFAULT_NAMESPACE.to_owned())
}

/// Who this process is: another one in every process, also where a pod's container was restarted.
pub fn identity() -> String {
    let host = env::var("POD_NAME").or_else(|_| env::var("HOSTNAME")).ok();
    let host = host.or_else(|| fs::read_to_string("/etc/hostname").ok());
    let host = host.as_deref().map(str::trim).filter(|host| !host.is_empty()).unwrap_or("allotment");
    let mut random = [0; 4];
    // Without random numbers the process id has to do.
    if getrandom::fill(&mut random).is_err() {
        random = std::process::id().to_be_bytes();
    }
    format!("{host}_{:08x}", u32::from_be_bytes(random))
}
