//! `WorkloadIdentity`: an identity whose tokens the garden signs, and a cloud accepts instead of a password.

use kube::CustomResource;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// The shortest life of a token that can be asked for. Gardener may give it a longer one: an hour, unless it is configured.
pub const SHORTEST_TOKEN_SECONDS: i64 = 600;

/// The purpose of a WorkloadIdentity.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "security.gardener.cloud",
    version = "v1alpha1",
    kind = "WorkloadIdentity",
    plural = "workloadidentities",
    namespaced,
    schema = "disabled",
    status = "WorkloadIdentityStatus",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadIdentitySpec {
    /// The audiences of its tokens.
    pub audiences: Vec<String>,
    /// The cloud that accepts them.
    pub target_system: TargetSystem,
}

/// The cloud that accepts tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetSystem {
    /// `aws`, `azure`, …
    #[serde(rename = "type")]
    pub type_: String,
    /// A `WorkloadIdentityConfig` of the cloud: which role, application or account its tokens are exchanged for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<serde_json::Value>,
}

/// The status that Gardener writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadIdentityStatus {
    /// The subject of its tokens.
    #[serde(default)]
    pub sub: String,
}

/// The body that asks for a token, posted to the subresource `token`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadIdentityTokenRequest {
    api_version: &'static str,
    kind: &'static str,
    spec: WorkloadIdentityTokenSpec,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct WorkloadIdentityTokenSpec {
    expiration_seconds: i64,
}

impl WorkloadIdentityTokenRequest {
    /// Asks for a token with this life.
    pub fn new(expiration_seconds: i64) -> Self {
        Self {
            api_version: "security.gardener.cloud/v1alpha1",
            kind: "TokenRequest",
            spec: WorkloadIdentityTokenSpec { expiration_seconds },
        }
    }
}

/// The answer: a signed token.
#[derive(Clone, Debug, Deserialize)]
pub struct IssuedWorkloadToken {
    /// The token.
    pub status: IssuedWorkloadTokenStatus,
}

/// A token of a WorkloadIdentity.
#[derive(Clone, Debug, Deserialize)]
pub struct IssuedWorkloadTokenStatus {
    /// The token. It prints as `[REDACTED]`, and is zeroed when it is dropped.
    pub token: SecretString,
}
