//! Azure, in all its clouds: one row for each kind, over calls of Azure Resource Manager.
//!
//! Resource Manager leaves out of a list whatever the credentials may not read, and says nothing. So every listing ends with
//! the question for the permissions at the subscription (`sight`), and one that may be filtered is refused.

mod call;
pub(crate) mod calls;
mod delete;
mod error;
mod list;
mod operation;
mod rows;
mod sight;
mod token;
mod witness;

#[cfg(test)]
mod tests;

pub use operation::Operations;

use crate::{
    Answer, Caller, Cloud, Page, PageToken, Refusal,
    credentials::{AzureCloud, AzureCredentials},
    http::{Http, RateLimiter, Retries},
};
use allotment_core::cleanup::{
    Cloud as CloudName, CloudAccountId, Count, CountName, Item, KindName, Place, PlaceState,
};
use call::{Call, incomplete};
use futures::{FutureExt, future::BoxFuture};
use jiff::Timestamp;
use serde_json::Value;
use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};
use token::Session;
use tokio::sync::Mutex;

/// Everything that a client needs.
pub struct AzureConfig {
    /// The credentials.
    pub credentials: AzureCredentials,
    /// The HTTP client.
    pub http: Http,
    /// The limiter of all accounts.
    pub limiter: Arc<RateLimiter>,
    /// The name of the account, for the limiter.
    pub name: String,
    /// One server for the login and Resource Manager, for test clouds.
    pub endpoint: Option<String>,
    /// The clock.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

/// A client for one subscription.
pub struct Azure {
    credentials: AzureCredentials,
    hosts: Hosts,
    http: Http,
    retries: Retries,
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    session: Mutex<Option<Arc<Session>>>,
    operations: Arc<Operations>,
    patience: Duration,
}

/// The servers of a cloud of Azure, without a slash at the end.
struct Hosts {
    login: String,
    manager: String,
    /// The resource that tokens are for. A test cloud has the same.
    audience: &'static str,
}

impl Hosts {
    fn of(cloud: AzureCloud, endpoint: Option<String>) -> Self {
        let (login, audience) = match cloud {
            AzureCloud::Public => ("https://login.microsoftonline.com", "https://management.azure.com"),
            AzureCloud::China => ("https://login.chinacloudapi.cn", "https://management.chinacloudapi.cn"),
            AzureCloud::Government => {
                ("https://login.microsoftonline.us", "https://management.usgovcloudapi.net")
            }
        };
        let endpoint = endpoint.map(|endpoint| endpoint.trim_end_matches('/').to_owned());
        let at = |host: &str| endpoint.clone().unwrap_or_else(|| host.to_owned());
        Self { login: at(login), manager: at(audience), audience }
    }
}

/// A subnet goes within seconds, a load balancer within a minute. Whatever takes longer is asked for in the next pass.
const PATIENCE: Duration = Duration::from_secs(90);

impl fmt::Debug for Azure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Azure").field("manager", &self.hosts.manager).finish_non_exhaustive()
    }
}

impl Azure {
    /// A client.
    pub fn new(config: AzureConfig) -> Self {
        let AzureConfig { credentials, http, limiter, name, endpoint, now } = config;
        let hosts = Hosts::of(credentials.cloud, endpoint);
        Self {
            credentials,
            hosts,
            http,
            retries: Retries::new(limiter, name),
            now,
            session: Mutex::default(),
            operations: Arc::default(),
            patience: PATIENCE,
        }
    }

    /// The same with the operations that other clients of the subscription began.
    #[must_use]
    pub fn with_operations(self, operations: Arc<Operations>) -> Self {
        Self { operations, ..self }
    }

    /// `/subscriptions/ID`, as it is sent.
    fn subscription(&self) -> String {
        format!("/subscriptions/{}", call::encode(&self.credentials.subscription))
    }

    /// The subscription that Resource Manager knows by the id of the credentials.
    async fn caller(&self) -> Result<Caller, Refusal> {
        let path = format!("{}?api-version={}", self.subscription(), rows::SUBSCRIPTIONS);
        let body =
            match self.read(&Place::GLOBAL, &Call::get(path, "Microsoft.Resources/subscriptions/read")).await
            {
                Err(Refusal::Gone) => {
                    let message = "there is no subscription with this id, or these credentials do not see it";
                    let code = "SubscriptionNotFound".to_owned();
                    return Err(Refusal::Other { code, message: message.to_owned() });
                }
                answer => answer?,
            };
        let id = body.get("subscriptionId").and_then(Value::as_str).unwrap_or_default();
        if !id.eq_ignore_ascii_case(&self.credentials.subscription) {
            return Err(incomplete("the subscription"));
        }
        let principal = self.session().await?.principal.clone();
        Ok(Caller { account: CloudAccountId::new(id.to_lowercase()), principal })
    }

    /// The locations with machines in them; the others are names for several of these.
    async fn locations(&self) -> Result<BTreeMap<Place, PlaceState>, Refusal> {
        let path = format!("{}/locations?api-version={}", self.subscription(), rows::SUBSCRIPTIONS);
        let call = Call::get(path, "Microsoft.Resources/subscriptions/locations/read");
        let mut places = BTreeMap::new();
        for location in self.read_all(&Place::GLOBAL, call).await? {
            let text = |pointer: &str| location.pointer(pointer).and_then(Value::as_str);
            let name =
                text("/name").filter(|name| !name.is_empty()).ok_or_else(|| incomplete("locations"))?;
            let is_logical = text("/metadata/regionType") == Some("Logical");
            let is_edge = text("/type").is_some_and(|kind| kind != "Region");
            let state = if is_logical || is_edge {
                PlaceState::Disabled { because: "it has no usages of its own".to_owned() }
            } else {
                PlaceState::Enabled
            };
            places.insert(Place::new(name.to_lowercase()), state);
        }
        Ok(places)
    }
}

impl Cloud for Azure {
    fn cloud(&self) -> CloudName {
        CloudName::Azure
    }

    fn whoami(&self) -> Answer<'_, Caller> {
        self.caller().boxed()
    }

    fn places(&self) -> Answer<'_, BTreeMap<Place, PlaceState>> {
        self.locations().boxed()
    }

    fn kinds(&self) -> Vec<KindName> {
        rows::ROWS.iter().map(|row| KindName::of(row.kind)).collect()
    }

    fn list<'a>(
        &'a self,
        _place: &'a Place,
        kind: &'a KindName,
        page: Option<&'a PageToken>,
    ) -> Answer<'a, Page> {
        self.list_row(kind, page).boxed()
    }

    fn delete<'a>(&'a self, item: &'a Item) -> Answer<'a, ()> {
        self.delete_row(item).boxed()
    }

    fn counts<'a>(&'a self, place: &'a Place) -> BoxFuture<'a, BTreeMap<CountName, Count>> {
        self.count(place).boxed()
    }
}
