//! Azure.

use super::{CredentialsError, Key, SecretData, WorkloadToken, workload::WorkloadConfig};
use secrecy::SecretString;
use serde_json::Value;
use std::{fmt, sync::Arc};

/// Credentials of Azure: those of a service principal, for one subscription.
#[derive(Clone, Debug)]
pub struct AzureCredentials {
    /// The subscription.
    pub subscription: String,
    /// The directory of the service principal.
    pub tenant: String,
    /// The application of the service principal.
    pub client: String,
    /// How to log in.
    pub login: AzureLogin,
    /// The cloud of Azure: public, China or Government.
    pub cloud: AzureCloud,
}

/// How to log in to Azure.
#[derive(Clone)]
pub enum AzureLogin {
    /// With a secret of the application.
    Secret(SecretString),
    /// With tokens of a workload identity, which the application trusts.
    Workload(Arc<dyn WorkloadToken>),
}

impl fmt::Debug for AzureLogin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Secret(_) => "Secret([redacted])",
            Self::Workload(_) => "Workload",
        })
    }
}

/// One of the clouds of Azure, which share nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AzureCloud {
    /// Everywhere else.
    #[default]
    Public,
    /// In China, by 21Vianet.
    China,
    /// For the government of the USA.
    Government,
}

const CONFIG: &str = "azure.provider.extensions.gardener.cloud/v1alpha1";

const SUBSCRIPTION: Key = Key("subscriptionID", "AZURE_SUBSCRIPTION_ID");
const TENANT: Key = Key("tenantID", "AZURE_TENANT_ID");
const CLIENT: Key = Key("clientID", "AZURE_CLIENT_ID");
const SECRET: Key = Key("clientSecret", "AZURE_CLIENT_SECRET");
const CLOUD: Key = Key("azureCloud", "AZURE_CLOUD");

impl AzureCredentials {
    /// Reads them from a Secret.
    pub fn read(data: &SecretData) -> Result<Self, CredentialsError> {
        let (subscription, tenant) = (SUBSCRIPTION.required(data)?, TENANT.required(data)?);
        let (client, secret) = match (CLIENT.optional(data)?, SECRET.optional(data)?) {
            (Some(client), Some(secret)) => (client, secret),
            (None, None) => return Err(CredentialsError::ManagedPrincipal),
            (None, Some(_)) => return Err(CredentialsError::Missing(CLIENT.0)),
            (Some(_), None) => return Err(CredentialsError::Missing(SECRET.0)),
        };
        let cloud = match CLOUD.optional(data)?.as_deref() {
            None | Some("AzurePublic") => AzureCloud::Public,
            Some("AzureChina") => AzureCloud::China,
            Some("AzureGovernment") => AzureCloud::Government,
            Some(_) => return Err(CredentialsError::UnknownAzureCloud),
        };
        Ok(Self { subscription, tenant, client, login: AzureLogin::Secret(secret.into()), cloud })
    }

    /// Those of a workload identity, from its `providerConfig` and its tokens.
    pub fn of_workload(config: &Value, tokens: Arc<dyn WorkloadToken>) -> Result<Self, CredentialsError> {
        let config = WorkloadConfig::read(config, CONFIG)?;
        Ok(Self {
            subscription: config.text(SUBSCRIPTION.0)?.to_owned(),
            tenant: config.text(TENANT.0)?.to_owned(),
            client: config.text(CLIENT.0)?.to_owned(),
            login: AzureLogin::Workload(tokens),
            cloud: AzureCloud::Public,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::data, *};
    use crate::Answer;
    use futures::FutureExt;
    use serde_json::json;

    const BASE: [(&str, &str); 2] = [("subscriptionID", "s"), ("AZURE_TENANT_ID", "t")];

    fn read(more: &[(&str, &str)]) -> Result<AzureCredentials, CredentialsError> {
        AzureCredentials::read(&data(&[&BASE[..], more].concat()))
    }

    #[test]
    fn both_spellings_of_azure_are_read_and_never_printed() {
        for (client, secret, cloud) in [
            ("clientID", "clientSecret", "azureCloud"),
            ("AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_CLOUD"),
        ] {
            let credentials = read(&[(client, "c"), (secret, "hush"), (cloud, "AzureChina")]).unwrap();
            assert_eq!((credentials.client.as_str(), credentials.cloud), ("c", AzureCloud::China));
            assert!(!format!("{credentials:?}").contains("hush"));
        }
        let elsewhere = read(&[("clientID", "c"), ("clientSecret", "hush"), ("azureCloud", "Moon-7")]);
        let told = elsewhere.unwrap_err().to_string();
        assert_eq!(told, "the value of key azureCloud is none of AzurePublic, AzureChina, AzureGovernment");
    }

    #[test]
    fn a_managed_service_principal_is_no_credentials() {
        let told = read(&[]).unwrap_err().to_string();
        assert!(told.contains("clientID and clientSecret are missing"), "{told}");
        assert_eq!(read(&[("clientID", "c")]).unwrap_err(), CredentialsError::Missing("clientSecret"));
        assert_eq!(read(&[("clientSecret", "c")]).unwrap_err(), CredentialsError::Missing("clientID"));
    }

    struct Tokens;

    impl WorkloadToken for Tokens {
        fn token(&self) -> Answer<'_, SecretString> {
            async { Ok("token-of-the-garden".into()) }.boxed()
        }
    }

    #[test]
    fn a_workload_identity_names_application_directory_and_subscription() {
        let read = |config: Value| AzureCredentials::of_workload(&config, Arc::new(Tokens));
        let config = json!({
            "apiVersion": CONFIG, "kind": "WorkloadIdentityConfig",
            "clientID": "c", "tenantID": "t", "subscriptionID": "s",
        });
        let credentials = read(config.clone()).unwrap();
        assert_eq!((credentials.subscription.as_str(), credentials.tenant.as_str()), ("s", "t"));
        let with = |key: &str, value: Value| {
            let mut config = config.clone();
            config[key] = value;
            read(config).unwrap_err()
        };
        assert_eq!(with("subscriptionID", Value::Null), CredentialsError::Missing("subscriptionID"));
        assert_eq!(with("tenantID", json!("t\nhush")), CredentialsError::NotText("tenantID"));
        let of_aws = json!("aws.provider.extensions.gardener.cloud/v1alpha1");
        assert_eq!(with("apiVersion", of_aws), CredentialsError::OtherConfig(CONFIG));
    }
}
