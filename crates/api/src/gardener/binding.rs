//! The two kinds of binding between a Shoot and the credentials of a cloud account.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// Binds a Secret, an InternalSecret or a WorkloadIdentity to a provider. Everything but its metadata is immutable.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "security.gardener.cloud",
    version = "v1alpha1",
    kind = "CredentialsBinding",
    namespaced,
    no_spec,
    schema = "disabled",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct CredentialsBindingFields {
    /// The provider of the account.
    pub provider: BindingProvider,
    /// The credentials.
    pub credentials_ref: CredentialsReference,
}

/// Binds a Secret to a provider. Gardener no longer takes it for new Shoots.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "core.gardener.cloud",
    version = "v1beta1",
    kind = "SecretBinding",
    namespaced,
    no_spec,
    schema = "disabled",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct SecretBindingFields {
    /// The provider of the account; several, separated by commas, in old ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<BindingProvider>,
    /// The Secret.
    pub secret_ref: BindingSecretReference,
}

/// The provider of a binding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindingProvider {
    /// `aws`, `azure`, …
    #[serde(rename = "type")]
    pub type_: String,
}

/// Points at credentials of some kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CredentialsReference {
    /// Group and version.
    pub api_version: String,
    /// `Secret`, `InternalSecret` or `WorkloadIdentity`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
}

/// Points at the Secret of a SecretBinding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindingSecretReference {
    /// Its name.
    pub name: String,
    /// Its namespace; that of the binding where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}
