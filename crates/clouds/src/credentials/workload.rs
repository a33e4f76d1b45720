//! Tokens of a workload identity, which a cloud takes for credentials of its own.

use super::CredentialsError;
use crate::Answer;
use secrecy::SecretString;
use serde_json::Value;

/// The source of signed tokens of one workload identity. A client asks for one when it logs in, and again before its
/// session ends: no token is kept.
pub trait WorkloadToken: Send + Sync {
    /// A token of now.
    fn token(&self) -> Answer<'_, SecretString>;
}

/// The `WorkloadIdentityConfig` of a cloud: the `providerConfig` of a workload identity.
pub(super) struct WorkloadConfig<'a>(&'a Value);

impl<'a> WorkloadConfig<'a> {
    /// Reads it, if it is the one of this cloud.
    pub(super) fn read(config: &'a Value, api_version: &'static str) -> Result<Self, CredentialsError> {
        let is = |key: &str, wanted: &str| config.get(key).and_then(Value::as_str) == Some(wanted);
        if is("apiVersion", api_version) && is("kind", "WorkloadIdentityConfig") {
            Ok(Self(config))
        } else {
            Err(CredentialsError::OtherConfig(api_version))
        }
    }

    /// A text that has to be there.
    pub(super) fn text(&self, key: &'static str) -> Result<&'a str, CredentialsError> {
        let value = self.0.get(key).filter(|value| !value.is_null()).ok_or(CredentialsError::Missing(key))?;
        let text = value.as_str().ok_or(CredentialsError::NotText(key))?;
        match text {
            "" => Err(CredentialsError::Missing(key)),
            // A request or a line of a log is forged with less.
            text if text.chars().any(char::is_control) => Err(CredentialsError::NotText(key)),
            text => Ok(text),
        }
    }
}
