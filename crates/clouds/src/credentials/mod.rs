//! Credentials from the data of a Secret, in both spellings that Gardener accepts, or from a workload identity.

mod alicloud;
mod aws;
mod azure;
mod gcp;
mod openstack;
mod workload;

pub use alicloud::AlicloudCredentials;
pub use aws::{AwsCredentials, AwsKeys, AwsRole};
pub use azure::{AzureCloud, AzureCredentials, AzureLogin};
pub use gcp::{GcpCredentials, GcpKey, GcpLogin, GcpWorkload};
pub use openstack::{OpenStackCredentials, OpenStackLogin};
pub use workload::WorkloadToken;

use std::collections::BTreeMap;

/// The data of a Secret.
pub type SecretData = BTreeMap<String, Vec<u8>>;

/// Why a Secret or a workload identity holds no credentials. Names keys, never values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// A key is missing.
    #[error("key {0} is missing")]
    Missing(&'static str),
    /// Both spellings of a key are there.
    #[error("keys {0} and {1} are both there; remove one of them")]
    BothSpellings(&'static str, &'static str),
    /// A value cannot be sent.
    #[error("the value of key {0} is not one line of text")]
    NotText(&'static str),
    /// Neither a user nor an application credential.
    #[error("username and password, or applicationCredentialID and applicationCredentialSecret, are needed")]
    NoLogin,
    /// A value that no client can use.
    #[error("{0} cannot be used: {1}")]
    Unusable(&'static str, &'static str),
    /// Both a password and an application credential.
    #[error("password and applicationCredentialSecret are both there; remove one of them")]
    TwoLogins,
    /// The extension of Gardener has a service principal of its own, whose credentials nobody else has.
    #[error(
        "keys clientID and clientSecret are missing: the service principal that Gardener manages cannot be used here; add \
         those of a service principal of the subscription"
    )]
    ManagedPrincipal,
    /// No cloud of Azure.
    #[error("the value of key azureCloud is none of AzurePublic, AzureChina, AzureGovernment")]
    UnknownAzureCloud,
    /// A workload identity for something else.
    #[error("providerConfig is not a WorkloadIdentityConfig of {0}")]
    OtherConfig(&'static str),
    /// A workload identity of AWS without a role.
    #[error("roleARN is not the ARN of a role, such as arn:aws:iam::123456789012:role/NAME")]
    NotARole,
}

/// One key in both spellings.
#[derive(Clone, Copy)]
struct Key(&'static str, &'static str);

impl Key {
    fn optional(self, data: &SecretData) -> Result<Option<String>, CredentialsError> {
        let Self(name, alias) = self;
        let value = match (data.get(name), data.get(alias)) {
            (Some(_), Some(_)) => return Err(CredentialsError::BothSpellings(name, alias)),
            (Some(value), None) | (None, Some(value)) => value,
            (None, None) => return Ok(None),
        };
        let text = std::str::from_utf8(value).map_err(|_| CredentialsError::NotText(name))?;
        // A header or a line of a log is forged with less.
        if text.chars().any(char::is_control) {
            return Err(CredentialsError::NotText(name));
        }
        Ok((!text.is_empty()).then(|| text.to_owned()))
    }

    fn required(self, data: &SecretData) -> Result<String, CredentialsError> {
        self.optional(data)?.ok_or(CredentialsError::Missing(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::SecretData;

    /// The data of a Secret.
    pub(super) fn data(pairs: &[(&str, &str)]) -> SecretData {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
    }
}
