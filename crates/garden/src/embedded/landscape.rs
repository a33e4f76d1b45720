//! A whole landscape in this process.

use super::{
    fields::FieldsError,
    garden::Garden,
    manifests::{self, GARDEN, LoadError, POOL, admin},
    servers::{EmbeddedServers, ServerError, system_entropy},
};
use crate::landscape::Landscape;
use allotment_apiserver::{
    ApiServer, Server,
    https::{Local, LocalError},
    server::Entropy,
    service::Clock,
    state::StateError,
};
use jiff::Timestamp;
use kube::Client;
use serde_json::Value;
use std::{
    env, fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

/// A garden and a control plane, and an API server for every Shoot.
pub struct EmbeddedGarden {
    /// With Gardener's kinds, the CloudProfiles and the pool of accounts of the real landscape.
    pub garden: ApiServer,
    /// Empty: the CRDs are installed by whoever needs them.
    pub control_plane: ApiServer,
    /// Where the API servers of Shoots come from.
    pub shoots: Arc<EmbeddedServers>,
}

/// Why there is no garden.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// The kinds are not understood.
    #[error(transparent)]
    Fields(#[from] FieldsError),
    /// It did not begin with what it should.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It cannot be reached.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// It does not remember.
    #[error(transparent)]
    State(#[from] StateError),
    /// The API server of a Shoot that was there before does not come back.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The kubeconfigs could not be written.
    #[error("cannot write {path}: {source}")]
    File {
        /// Where to.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl EmbeddedGarden {
    /// One with the system's clock and randomness.
    pub fn new() -> Result<Self, EmbeddedError> {
        Self::with(system_entropy, Arc::new(Timestamp::now))
    }

    /// One with a clock of its own. Every server gets its own source of randomness.
    pub fn with(entropy: impl Fn() -> Entropy, clock: Clock) -> Result<Self, EmbeddedError> {
        let garden = garden_server(entropy(), entropy(), clock())?;
        Ok(Self::of(garden, Server::new(entropy(), clock()), clock, None))
    }

    /// One that remembers in a folder, with the system's clock and randomness.
    pub fn kept_in(folder: &Path) -> Result<Self, EmbeddedError> {
        let now = Timestamp::now();
        let mut garden = garden_server(system_entropy(), system_entropy(), now)?;
        garden.keep_in(&folder.join("garden"), now)?;
        let mut control_plane = Server::new(system_entropy(), now);
        control_plane.keep_in(&folder.join("control-plane"), now)?;
        Ok(Self::of(garden, control_plane, Arc::new(Timestamp::now), Some(folder.join("shoots"))))
    }

    fn of(garden: Server, control_plane: Server, clock: Clock, shoots: Option<PathBuf>) -> Self {
        let garden = ApiServer::with(garden, clock.clone());
        let control_plane = ApiServer::with(control_plane, clock.clone());
        let shoots = Arc::new(EmbeddedServers::new(garden.clone(), clock, shoots));
        Self { garden, control_plane, shoots }
    }
}

/// A garden as one value: `keys` is for the kubeconfigs that it issues.
pub fn garden_server(entropy: Entropy, keys: Entropy, now: Timestamp) -> Result<Server, EmbeddedError> {
    let mut server = Server::new(entropy, now);
    server.extend(Box::new(Garden::new(keys)?));
    manifests::load(&mut server, &GARDEN, now)?;
    manifests::load(&mut server, &POOL, now)?;
    Ok(server)
}

/// A landscape that is ready at once. It ends, with its servers and files, when this is dropped.
pub struct EmbeddedLandscape {
    /// What to work with.
    pub landscape: Landscape,
    /// What it is made of.
    pub embedded: EmbeddedGarden,
    /// The garden over HTTPS.
    pub garden: Local,
    /// The control plane over HTTPS.
    pub control_plane: Local,
    folder: PathBuf,
    is_temporary: bool,
}

impl EmbeddedLandscape {
    /// Starts one. Its clients talk to the servers directly; its kubeconfigs lead over HTTPS.
    pub async fn start() -> Result<Self, EmbeddedError> {
        Self::of(EmbeddedGarden::new()?, new_folder()?, true).await
    }

    /// Starts one that remembers in a folder, and goes on where it was.
    pub async fn start_in(folder: &Path) -> Result<Self, EmbeddedError> {
        let embedded = EmbeddedGarden::kept_in(folder)?;
        embedded.shoots.resume().await?;
        Self::of(embedded, folder.to_owned(), false).await
    }

    async fn of(
        embedded: EmbeddedGarden,
        folder: PathBuf,
        is_temporary: bool,
    ) -> Result<Self, EmbeddedError> {
        let garden = embedded.garden.serve_locally(0, None).await?;
        let control_plane = embedded.control_plane.serve_locally(0, None).await?;
        let landscape = Landscape {
            garden: client(&embedded.garden),
            control_plane: client(&embedded.control_plane),
            servers: embedded.shoots.clone(),
            garden_kubeconfig: write(&folder, "garden.kubeconfig", &garden.admin_kubeconfig)?,
            control_plane_kubeconfig: write(
                &folder,
                "control-plane.kubeconfig",
                &control_plane.admin_kubeconfig,
            )?,
            // Whichever is in the path: ours is built with the real landscape.
            kubectl: PathBuf::from("kubectl"),
            issuer: None,
        };
        Ok(Self { landscape, embedded, garden, control_plane, folder, is_temporary })
    }
}

impl Drop for EmbeddedLandscape {
    fn drop(&mut self) {
        if !self.is_temporary {
            return;
        }
        // Somebody else may have tidied up already.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A client that may do everything.
fn client(server: &ApiServer) -> Client {
    Client::new(server.service(admin()), "default")
}

/// A folder that nobody else reads: the kubeconfigs hold keys.
fn new_folder() -> Result<PathBuf, EmbeddedError> {
    use std::os::unix::fs::DirBuilderExt;
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let path = env::temp_dir().join(format!("allotment-embedded-{}-{count}", std::process::id()));
    match fs::DirBuilder::new().mode(0o700).recursive(true).create(&path) {
        Ok(()) => Ok(path),
        Err(source) => Err(EmbeddedError::File { path, source }),
    }
}

fn write(folder: &Path, name: &str, kubeconfig: &Value) -> Result<PathBuf, EmbeddedError> {
    let path = folder.join(name);
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
    match file.and_then(|mut file| file.write_all(kubeconfig.to_string().as_bytes())) {
        Ok(()) => Ok(path),
        Err(source) => Err(EmbeddedError::File { path, source }),
    }
}
