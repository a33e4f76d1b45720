//! A garden, a control plane and shoot API servers, started together: what every behaviour test runs on.
//!
//! A [`Landscape`] is shared; each test works on a [`Plot`] of its own, with its own project, namespaces and stand-in of
//! the gardenlet, so that tests do not see each other.

mod crds;
mod plot;
mod real;

pub use crds::InstallError;
pub use plot::{Plot, PlotError};
pub use real::{IssuerManifest, Manifest, RealLandscape, ServerManifest, ShootServerManifest, Unavailable};

use crate::gardenlet::ShootServers;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use std::{path::PathBuf, sync::Arc};

/// A garden and a control plane, and the API servers that Shoots lead to.
#[derive(Clone)]
pub struct Landscape {
    /// Admin of the garden.
    pub garden: Client,
    /// Admin of the control plane, where the operators' own kinds live.
    pub control_plane: Client,
    /// Where the API servers of Shoots come from.
    pub servers: Arc<dyn ShootServers>,
    /// A kubeconfig file for the garden, for kubectl.
    pub garden_kubeconfig: PathBuf,
    /// A kubeconfig file for the control plane, for kubectl.
    pub control_plane_kubeconfig: PathBuf,
    /// A kubectl that fits.
    pub kubectl: PathBuf,
    /// The issuer of the tokens of WorkloadIdentities; the embedded garden has none.
    pub issuer: Option<Issuer>,
}

/// The issuer of the tokens of WorkloadIdentities.
#[derive(Clone, Debug, PartialEq)]
pub struct Issuer {
    /// Its URL, where nothing listens.
    pub url: String,
    /// Its public keys.
    pub jwks: serde_json::Value,
}

/// Why a client could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The kubeconfig is not one.
    #[error("cannot use the kubeconfig: {0}")]
    Kubeconfig(#[from] KubeconfigError),
    /// The client could not be set up.
    #[error("cannot make a client: {0}")]
    Client(#[from] kube::Error),
}

/// A client for a kubeconfig. It does not retry by itself: whoever calls decides that.
pub async fn client(kubeconfig: Kubeconfig) -> Result<Client, ClientError> {
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}
