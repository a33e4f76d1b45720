//! The kubeconfig subresources of a Shoot.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// The shortest life that Gardener gives a kubeconfig.
pub const SHORTEST_LIFE_SECONDS: i64 = 600;

/// Which kubeconfig of a Shoot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KubeconfigAccess {
    /// `shoots/adminkubeconfig`.
    Admin,
    /// `shoots/viewerkubeconfig`.
    Viewer,
}

impl KubeconfigAccess {
    /// The name of the subresource.
    pub fn subresource(self) -> &'static str {
        match self {
            Self::Admin => "adminkubeconfig",
            Self::Viewer => "viewerkubeconfig",
        }
    }

    /// The body that asks for one. Gardener may give it a shorter life than asked for: read the answer.
    pub fn request(self, expiration_seconds: i64) -> KubeconfigSubresource {
        let kind = match self {
            Self::Admin => "AdminKubeconfigRequest",
            Self::Viewer => "ViewerKubeconfigRequest",
        };
        KubeconfigSubresource {
            api_version: "authentication.gardener.cloud/v1alpha1".to_owned(),
            kind: kind.to_owned(),
            spec: KubeconfigSubresourceSpec { expiration_seconds },
        }
    }
}

/// What is posted to the subresource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeconfigSubresource {
    /// Of the body; it is not a group that is served.
    pub api_version: String,
    /// Of the body.
    pub kind: String,
    /// What is asked for.
    pub spec: KubeconfigSubresourceSpec,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeconfigSubresourceSpec {
    /// For how long, 600 at least.
    pub expiration_seconds: i64,
}

/// What comes back.
#[derive(Clone, Debug, Deserialize)]
pub struct IssuedKubeconfig {
    /// The kubeconfig and its end.
    pub status: IssuedKubeconfigStatus,
}

/// A kubeconfig and its end.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IssuedKubeconfigStatus {
    /// The kubeconfig, in base64. It prints as `[REDACTED]`, and is zeroed when it is dropped.
    pub kubeconfig: SecretString,
    /// When it ends.
    pub expiration_timestamp: Time,
}
