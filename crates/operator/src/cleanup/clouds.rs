//! Clients of clouds, from the Secrets in the garden.

use crate::runtime::call::{CallError, call};
use allotment_clouds::{
    Cloud,
    aws::{Aws, AwsConfig},
    credentials::{AwsCredentials, OpenStackCredentials, SecretData},
    http::{Http, RateLimiter, Rates},
    openstack::{OpenStack, OpenStackConfig},
};
use allotment_core::{
    cleanup::{Cloud as CloudName, ShootHistory},
    pool::AccountName,
};
use futures::{FutureExt, future::BoxFuture};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use std::sync::Arc;

/// The account that a client is for.
#[derive(Clone, Debug)]
pub struct OpenAccount {
    /// Its pool entry.
    pub name: AccountName,
    /// Its cloud.
    pub cloud: CloudName,
    /// Namespace and name of its Secret; none if its credentials are something else.
    pub secret: Option<(String, String)>,
    /// Its Shoots: roles are found by their names.
    pub history: ShootHistory,
}

/// Opens clients. The simulation brings its own.
pub trait Clouds: Send + Sync {
    /// A client with the credentials of now.
    fn open(&self, account: OpenAccount) -> BoxFuture<'_, Result<Arc<dyn Cloud>, OpenError>>;
}

/// There is no client.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The garden does not answer, or refuses.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A person has to correct the credentials. Names keys, never values.
    #[error("{0}")]
    Unusable(String),
}

/// The clouds behind the Secrets of a garden.
pub struct GardenClouds {
    garden: Client,
    limiter: Arc<RateLimiter>,
    aws_endpoint: Option<String>,
    openstack_auth_url: Option<String>,
}

impl GardenClouds {
    /// With these rates for each account and place.
    pub fn new(garden: Client, rates: Rates) -> Self {
        let limiter = Arc::new(RateLimiter::new(rates));
        Self { garden, limiter, aws_endpoint: None, openstack_auth_url: None }
    }

    /// One server for all services and regions of AWS, for test clouds.
    #[must_use]
    pub fn with_aws_endpoint(mut self, endpoint: Option<String>) -> Self {
        self.aws_endpoint = endpoint;
        self
    }

    /// Keystone, for Secrets that do not name it.
    #[must_use]
    pub fn with_openstack_auth_url(mut self, auth_url: Option<String>) -> Self {
        self.openstack_auth_url = auth_url;
        self
    }

    async fn read(&self, secret: &(String, String)) -> Result<SecretData, OpenError> {
        let (namespace, name) = secret;
        let api: Api<Secret> = Api::namespaced(self.garden.clone(), namespace);
        let found = call(|| format!("read Secret {namespace}/{name}"), api.get_opt(name)).await?;
        let Some(found) = found else {
            return Err(OpenError::Unusable(format!("Secret {namespace}/{name} is not there")));
        };
        Ok(found.data.unwrap_or_default().into_iter().map(|(key, value)| (key, value.0)).collect())
    }

    async fn client(&self, account: OpenAccount) -> Result<Arc<dyn Cloud>, OpenError> {
        let OpenAccount { name, cloud, secret, history } = account;
        let Some(secret) = secret else {
            let because = "its credentials are no Secret, and no others are supported";
            return Err(OpenError::Unusable(because.to_owned()));
        };
        let data = self.read(&secret).await?;
        let unusable = |error: &dyn std::error::Error| {
            let (namespace, secret) = &secret;
            OpenError::Unusable(format!("Secret {namespace}/{secret}: {error}"))
        };
        let (limiter, name) = (self.limiter.clone(), name.to_string());
        match cloud {
            CloudName::Aws => {
                let credentials = AwsCredentials::read(&data).map_err(|error| unusable(&error))?;
                let http = Http::new(None).map_err(|error| unusable(&error))?;
                let endpoint = self.aws_endpoint.clone();
                let now = Arc::new(Timestamp::now);
                let config = AwsConfig { credentials, history, http, limiter, name, endpoint, now };
                Ok(Arc::new(Aws::new(config)))
            }
            CloudName::Azure | CloudName::Gcp | CloudName::Alicloud => {
                Err(OpenError::Unusable(format!("there is no client of {cloud}")))
            }
            CloudName::OpenStack => {
                let credentials = OpenStackCredentials::read(&data).map_err(|error| unusable(&error))?;
                let auth_url = self.openstack_auth_url.clone();
                let config = OpenStackConfig { credentials, auth_url, limiter, name };
                Ok(Arc::new(OpenStack::new(config).map_err(|error| unusable(&error))?))
            }
        }
    }
}

impl Clouds for GardenClouds {
    fn open(&self, account: OpenAccount) -> BoxFuture<'_, Result<Arc<dyn Cloud>, OpenError>> {
        self.client(account).boxed()
    }
}
