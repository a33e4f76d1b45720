//! Clients of clouds, from the credentials in the garden.

use super::credentials::{Found, read};
use crate::{runtime::call::CallError, subscription::CredentialsName};
use allotment_clouds::{
    Cloud,
    alicloud::{Alicloud, AlicloudConfig},
    aws::{Aws, AwsConfig},
    azure::{self, Azure, AzureConfig},
    credentials::{
        AlicloudCredentials, AwsCredentials, AzureCredentials, CredentialsError, GcpCredentials,
        OpenStackCredentials,
    },
    gcp::{self, Gcp, GcpConfig},
    http::{Http, RateLimiter, Rates},
    openstack::{OpenStack, OpenStackConfig},
};
use allotment_core::{
    cleanup::{Cloud as CloudName, ShootHistory},
    pool::AccountName,
};
use futures::{FutureExt, future::BoxFuture};
use jiff::Timestamp;
use kube::Client;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// The account that a client is for.
#[derive(Clone, Debug)]
pub struct OpenAccount {
    /// Its pool entry.
    pub name: AccountName,
    /// Its cloud.
    pub cloud: CloudName,
    /// Its credentials; none if they are of a kind that is not known.
    pub credentials: Option<CredentialsName>,
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

/// The clouds behind the credentials of a garden.
pub struct GardenClouds {
    garden: Client,
    limiter: Arc<RateLimiter>,
    endpoints: BTreeMap<CloudName, String>,
    openstack_auth_url: Option<String>,
    azure: PerAccount<azure::Operations>,
    gcp: PerAccount<gcp::Pending>,
}

/// A value for each account of a cloud: its pool entry, and the id in its credentials, which may lead to another account tomorrow. Every
/// listing opens a client of its own, so whatever the clients of an account share is here.
struct PerAccount<T>(Mutex<BTreeMap<(String, String), Arc<T>>>);

impl<T: Default> PerAccount<T> {
    fn new() -> Self {
        Self(Mutex::default())
    }

    fn of(&self, entry: &str, id: &str) -> Arc<T> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry((entry.to_owned(), id.to_owned())).or_default())
    }
}

impl GardenClouds {
    /// With these rates for each account and place.
    pub fn new(garden: Client, rates: Rates) -> Self {
        let limiter = Arc::new(RateLimiter::new(rates));
        Self {
            garden,
            limiter,
            endpoints: BTreeMap::new(),
            openstack_auth_url: None,
            azure: PerAccount::new(),
            gcp: PerAccount::new(),
        }
    }

    /// One server for all services and regions of a cloud, for test clouds. OpenStack has its own address: keystone's.
    #[must_use]
    pub fn with_endpoint(mut self, cloud: CloudName, endpoint: Option<String>) -> Self {
        self.endpoints.extend(endpoint.map(|endpoint| (cloud, endpoint)));
        self
    }

    /// Keystone, for Secrets that do not name it.
    #[must_use]
    pub fn with_openstack_auth_url(mut self, auth_url: Option<String>) -> Self {
        self.openstack_auth_url = auth_url;
        self
    }

    async fn client(&self, account: OpenAccount) -> Result<Arc<dyn Cloud>, OpenError> {
        let OpenAccount { name, cloud, credentials, history } = account;
        let Some(place) = credentials else {
            let because = "its credentials are neither a Secret nor an InternalSecret nor a WorkloadIdentity";
            return Err(OpenError::Unusable(because.to_owned()));
        };
        let unusable = |error: &dyn std::error::Error| OpenError::Unusable(format!("{place}: {error}"));
        let wrong = |error: CredentialsError| unusable(&error);
        let found = read(&self.garden, &place, cloud).await?;
        let (limiter, name) = (self.limiter.clone(), name.to_string());
        let endpoint = self.endpoints.get(&cloud).cloned();
        let http = || Http::new(None).map_err(|error| unusable(&error));
        let now = Arc::new(Timestamp::now);
        match (cloud, found) {
            (CloudName::Aws, found) => {
                let credentials = match found {
                    Found::Data(data) => AwsCredentials::read(&data),
                    Found::Workload { config, token } => AwsCredentials::of_workload(&config, token),
                };
                let (credentials, http) = (credentials.map_err(wrong)?, http()?);
                let config = AwsConfig { credentials, history, http, limiter, name, endpoint, now };
                Ok(Arc::new(Aws::new(config)))
            }
            (CloudName::Azure, found) => {
                let credentials = match found {
                    Found::Data(data) => AzureCredentials::read(&data),
                    Found::Workload { config, token } => AzureCredentials::of_workload(&config, token),
                };
                let (credentials, http) = (credentials.map_err(wrong)?, http()?);
                let begun = self.azure.of(&name, &credentials.subscription);
                let config = AzureConfig { credentials, http, limiter, name, endpoint, now };
                Ok(Arc::new(Azure::new(config).with_operations(begun)))
            }
            (CloudName::Gcp, found) => {
                let credentials = match found {
                    Found::Data(data) => GcpCredentials::read(&data),
                    Found::Workload { config, token } => GcpCredentials::of_workload(&config, token),
                };
                let (credentials, http) = (credentials.map_err(wrong)?, http()?);
                let begun = self.gcp.of(&name, &credentials.project);
                let config = GcpConfig { credentials, http, limiter, name, endpoint, now };
                Ok(Arc::new(Gcp::new(config).map_err(|error| unusable(&error))?.with_pending(begun)))
            }
            (CloudName::Alicloud, Found::Data(data)) => {
                let credentials = AlicloudCredentials::read(&data).map_err(wrong)?;
                let http = http()?;
                let config = AlicloudConfig { credentials, http, limiter, name, endpoint, now };
                Ok(Arc::new(Alicloud::new(config)))
            }
            (CloudName::OpenStack, Found::Data(data)) => {
                let credentials = OpenStackCredentials::read(&data).map_err(wrong)?;
                let auth_url = self.openstack_auth_url.clone();
                let config = OpenStackConfig { credentials, auth_url, limiter, name };
                Ok(Arc::new(OpenStack::new(config).map_err(|error| unusable(&error))?))
            }
            (CloudName::OpenStack | CloudName::Alicloud, Found::Workload { .. }) => {
                Err(OpenError::Unusable(format!("{place}: {cloud} has no workload identities; use a Secret")))
            }
        }
    }
}

impl Clouds for GardenClouds {
    fn open(&self, account: OpenAccount) -> BoxFuture<'_, Result<Arc<dyn Cloud>, OpenError>> {
        self.client(account).boxed()
    }
}
