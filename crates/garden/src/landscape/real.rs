//! The real thing: etcd, kube-apiserver, kube-controller-manager and gardener-apiserver, from `landscape/`.

use super::{ClientError, Issuer, Landscape, client};
use crate::gardenlet::{SharedServers, ShootServer};
use kube::config::Kubeconfig;
use serde::{Deserialize, Serialize};
use std::{
    env, io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

/// Names the `landscape.json` of a landscape that runs already.
const RUNNING: &str = "ALLOTMENT_LANDSCAPE";

/// `landscape up` gives up by itself after two minutes; this is for the case that it hangs.
const START_TIMEOUT: Duration = Duration::from_secs(180);

/// It ends its servers one after the other, ten seconds each at the very most.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// What `landscape up` prints when everything answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Its folder.
    pub dir: PathBuf,
    /// Its process.
    pub pid: u32,
    /// From start to ready.
    pub ready_seconds: f64,
    /// A project that is there from the beginning.
    pub project: String,
    /// The namespace of that project.
    pub namespace: String,
    /// A kubectl that fits the servers.
    pub kubectl: PathBuf,
    /// The garden.
    pub garden: ServerManifest,
    /// The issuer of the tokens of WorkloadIdentities.
    pub workload_identity: IssuerManifest,
    /// The control plane.
    pub control_plane: ServerManifest,
    /// API servers for Shoots.
    pub shoots: Vec<ShootServerManifest>,
}

/// An API server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerManifest {
    /// Its address.
    pub url: String,
    /// A kubeconfig of its admin.
    pub kubeconfig: PathBuf,
}

/// The issuer of the tokens of WorkloadIdentities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IssuerManifest {
    /// Its URL.
    pub issuer: String,
    /// Its public keys, in a file.
    pub jwks: PathBuf,
}

/// An API server for Shoots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShootServerManifest {
    /// Its name.
    pub name: String,
    /// Its address.
    pub url: String,
    /// A kubeconfig of its admin.
    pub kubeconfig: PathBuf,
    /// The certificate of the CA whose clients it believes.
    pub client_ca_cert: PathBuf,
    /// The key of that CA.
    pub client_ca_key: PathBuf,
    /// The certificate of the CA behind its own certificate.
    pub serving_ca_cert: PathBuf,
}

/// Why there is no real landscape.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    /// What it is built with is not there. Not a fault of ours: tests skip.
    #[error("Go is not installed: the real API servers are built with it, from landscape/")]
    GoMissing,
    /// It is not where a checkout has it.
    #[error(
        "there is no landscape/build here: the real API servers are built from a checkout of the repository; go into one, or \
         start them elsewhere and name their landscape.json in {}",
        RUNNING
    )]
    NoCheckout,
    /// It could not be built.
    #[error("landscape/build failed ({0})")]
    Build(ExitStatus),
    /// A program could not be run.
    #[error("cannot run {program}: {source}")]
    Run {
        /// Which.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It came to an end before it was ready.
    #[error("landscape up ended before everything answered; what it said is above")]
    Ended,
    /// It did not become ready.
    #[error("landscape up was not ready after {} seconds", START_TIMEOUT.as_secs())]
    TimedOut,
    /// What it says of itself cannot be read.
    #[error("cannot read {what}: {source}")]
    Read {
        /// What.
        what: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is not what we know.
    #[error("what landscape up printed is not understood: {0}")]
    Manifest(#[from] serde_json::Error),
    /// Its servers cannot be talked to.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// A real landscape, and the process that runs it if we started it.
pub struct RealLandscape {
    /// What to work with.
    pub landscape: Landscape,
    /// What it says of itself.
    pub manifest: Manifest,
    process: Option<Child>,
}

impl RealLandscape {
    /// Finds the one that `ALLOTMENT_LANDSCAPE` names, else builds and starts one.
    pub async fn find_or_start(shoot_servers: usize) -> Result<Self, Unavailable> {
        match env::var_os(RUNNING).filter(|path| !path.is_empty()) {
            Some(path) => Self::find(Path::new(&path)).await,
            None => Self::start(&build().await?, shoot_servers).await,
        }
    }

    /// Uses one that runs already, by its `landscape.json`.
    pub async fn find(manifest: &Path) -> Result<Self, Unavailable> {
        let manifest: Manifest = serde_json::from_str(&read(manifest)?)?;
        Ok(Self { landscape: connect(&manifest).await?, manifest, process: None })
    }

    /// Starts one. It ends with this process, however that ends: it watches its standard input.
    pub async fn start(binary: &Path, shoot_servers: usize) -> Result<Self, Unavailable> {
        let dir = env::temp_dir().join(format!("allotment-landscape-{}", std::process::id()));
        let mut process = Command::new(binary)
            .arg("up")
            .arg("--watch-stdin")
            .arg("--dir")
            .arg(&dir)
            .args(["--shoots", &shoot_servers.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| Unavailable::Run { program: binary.to_owned(), source })?;
        let output = process.stdout.take().ok_or(Unavailable::Ended)?;
        let line = timeout(START_TIMEOUT, BufReader::new(output).lines().next_line())
            .await
            .map_err(|_| Unavailable::TimedOut)?
            .ok()
            .flatten()
            .ok_or(Unavailable::Ended)?;
        let manifest: Manifest = serde_json::from_str(&line)?;
        tracing::info!(seconds = manifest.ready_seconds, "the real landscape is ready");
        Ok(Self { landscape: connect(&manifest).await?, manifest, process: Some(process) })
    }

    /// Stops it if we started it, and waits until everything is gone.
    pub async fn stop(mut self) {
        if let Some(mut process) = self.process.take() {
            drop(process.stdin.take());
            if timeout(STOP_TIMEOUT, process.wait()).await.is_err() {
                tracing::warn!(pid = self.manifest.pid, "the real landscape did not stop; killing it");
                // It is gone already if this fails.
                let _ = process.kill().await;
            }
        }
    }
}

/// Builds the binary, which takes seconds when nothing has changed.
async fn build() -> Result<PathBuf, Unavailable> {
    let root = checkout().ok_or(Unavailable::NoCheckout)?;
    let script = root.join("landscape/build");
    if Command::new("go").arg("version").stdout(Stdio::null()).status().await.is_err() {
        return Err(Unavailable::GoMissing);
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let binary = target.join("landscape");
    let status = Command::new(&script)
        .arg(&binary)
        .status()
        .await
        .map_err(|source| Unavailable::Run { program: script, source })?;
    if !status.success() {
        return Err(Unavailable::Build(status));
    }
    Ok(binary)
}

/// The checkout that this was built from; where that is gone, as for a binary that came from elsewhere, the one around the
/// working directory.
fn checkout() -> Option<PathBuf> {
    let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map(Path::to_owned);
    let here = env::current_dir().ok();
    let around = here.iter().flat_map(|here| here.ancestors()).map(Path::to_owned);
    built_from.into_iter().chain(around).find(|root| root.join("landscape/build").is_file())
}

async fn connect(manifest: &Manifest) -> Result<Landscape, Unavailable> {
    let servers = manifest.shoots.iter().map(shoot_server).collect::<Result<Vec<_>, _>>()?;
    let IssuerManifest { issuer, jwks } = &manifest.workload_identity;
    let issuer = Issuer { url: issuer.clone(), jwks: serde_json::from_str(&read(jwks)?)? };
    Ok(Landscape {
        garden: client(kubeconfig(&manifest.garden)?).await?,
        control_plane: client(kubeconfig(&manifest.control_plane)?).await?,
        servers: Arc::new(SharedServers::new(servers)),
        garden_kubeconfig: manifest.garden.kubeconfig.clone(),
        control_plane_kubeconfig: manifest.control_plane.kubeconfig.clone(),
        kubectl: manifest.kubectl.clone(),
        issuer: Some(issuer),
    })
}

fn kubeconfig(server: &ServerManifest) -> Result<Kubeconfig, ClientError> {
    Ok(Kubeconfig::read_from(&server.kubeconfig)?)
}

fn shoot_server(manifest: &ShootServerManifest) -> Result<ShootServer, Unavailable> {
    Ok(ShootServer {
        url: manifest.url.clone(),
        client_ca_certificate: read(&manifest.client_ca_cert)?,
        client_ca_key: read(&manifest.client_ca_key)?.into(),
        serving_ca_certificate: read(&manifest.serving_ca_cert)?,
    })
}

fn read(path: &Path) -> Result<String, Unavailable> {
    std::fs::read_to_string(path).map_err(|source| Unavailable::Read { what: path.to_owned(), source })
}
