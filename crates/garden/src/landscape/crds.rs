//! Our kinds on a control plane.

use super::Landscape;
use allotment_api::{crds, names::FIELD_MANAGER};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
    runtime::wait::{await_condition, conditions::is_crd_established},
};
use std::time::Duration;
use tokio::time::timeout;

/// A server takes well under a second; one that is busy with tests, a few.
const ESTABLISHED_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a kind is not there.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The server did not take it.
    #[error("cannot install CustomResourceDefinition {name}: {source}")]
    Apply {
        /// Which.
        name: String,
        /// Why not.
        source: kube::Error,
    },
    /// The server took it, and does not serve it.
    #[error("CustomResourceDefinition {name} is installed, but was not served after {} seconds", ESTABLISHED_TIMEOUT.as_secs())]
    NotServed {
        /// Which.
        name: String,
    },
}

impl Landscape {
    /// Installs every CRD on the control plane and waits until it is served. Safe to repeat.
    pub async fn install_crds(&self) -> Result<(), InstallError> {
        let api = Api::<CustomResourceDefinition>::all(self.control_plane.clone());
        for crd in crds::all() {
            let name = crd.name_any();
            api.patch(&name, &PatchParams::apply(FIELD_MANAGER).force(), &Patch::Apply(&crd))
                .await
                .map_err(|source| InstallError::Apply { name: name.clone(), source })?;
            match timeout(ESTABLISHED_TIMEOUT, await_condition(api.clone(), &name, is_crd_established()))
                .await
            {
                Ok(Ok(_)) => {}
                Ok(Err(_)) | Err(_) => return Err(InstallError::NotServed { name }),
            }
        }
        Ok(())
    }
}
