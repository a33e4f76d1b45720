//! Google Cloud: one row for each kind, over calls with a token of a service account.

mod call;
pub(crate) mod calls;
mod delete;
mod error;
mod iam;
mod jwt;
mod list;
mod metadata;
mod operation;
mod read;
mod rows;
mod session;
mod witness;

#[cfg(test)]
mod tests;

pub use operation::{Patience, Pending};

use crate::{
    Answer, Caller, Cloud, Page, PageToken, Refusal,
    credentials::GcpCredentials,
    http::{Http, RateLimiter, Retries, ServerClock},
};
use allotment_core::cleanup::{
    Cloud as CloudName, CloudAccountId, Count, CountName, Item, KindName, Place, PlaceState,
};
use call::{Call, incomplete};
use futures::{FutureExt, future::BoxFuture};
use jiff::Timestamp;
use list::Shares;
use serde_json::Value;
use session::Session;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};
use tokio::sync::Mutex;

/// Everything that a client needs.
pub struct GcpConfig {
    /// The credentials.
    pub credentials: GcpCredentials,
    /// The HTTP client.
    pub http: Http,
    /// The limiter of all accounts.
    pub limiter: Arc<RateLimiter>,
    /// The name of the account, for the limiter.
    pub name: String,
    /// One server for all services, for test clouds.
    pub endpoint: Option<String>,
    /// The clock.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

/// Why there is no client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GcpConfigError {
    /// The credentials name a server that is not Google's.
    #[error("{0} is no address of Google: credentials that delete are sent to Google only; correct it")]
    ForeignAddress(&'static str),
}

/// A client for one project.
pub struct Gcp {
    credentials: GcpCredentials,
    http: Http,
    retries: Retries,
    endpoint: Option<String>,
    clock: ServerClock,
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    patience: Patience,
    session: Mutex<Option<Arc<Session>>>,
    regions: Mutex<BTreeSet<Place>>,
    shares: Shares,
    pending: Arc<Pending>,
}

impl fmt::Debug for Gcp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Gcp").field("project", &self.credentials.project).finish_non_exhaustive()
    }
}

impl Gcp {
    /// A client.
    pub fn new(config: GcpConfig) -> Result<Self, GcpConfigError> {
        let GcpConfig { credentials, http, limiter, name, endpoint, now } = config;
        if let Some(key) = session::foreign_address(&credentials, endpoint.as_deref()) {
            return Err(GcpConfigError::ForeignAddress(key));
        }
        Ok(Self {
            credentials,
            http,
            retries: Retries::new(limiter, name),
            endpoint,
            clock: ServerClock::default(),
            now,
            patience: Patience::default(),
            session: Mutex::default(),
            regions: Mutex::default(),
            shares: Shares::default(),
            pending: Arc::default(),
        })
    }

    /// The same with another patience with operations.
    #[must_use]
    pub fn with_patience(self, patience: Patience) -> Self {
        Self { patience, ..self }
    }

    /// The same with the deletions that other clients of the project began.
    #[must_use]
    pub fn with_pending(self, pending: Arc<Pending>) -> Self {
        Self { pending, ..self }
    }

    async fn project(&self) -> Result<Value, Refusal> {
        let call = Call::get(self.compute(""), "compute.projects.get");
        let project = self.call(&Place::GLOBAL, &call).await?;
        match project.get("name").and_then(Value::as_str) {
            Some(name) if name == self.credentials.project => Ok(project),
            _ => Err(incomplete("projects.get")),
        }
    }

    /// The id that Compute Engine gives a project. It is neither the project id, which people choose, nor the project number:
    /// that one needs the Resource Manager API, which Gardener does not ask anybody to enable.
    async fn caller(&self) -> Result<Caller, Refusal> {
        let project = self.project().await?;
        let id = project.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| incomplete("projects.get"))?;
        Ok(Caller { account: CloudAccountId::new(id), principal: self.credentials.principal().to_owned() })
    }

    async fn list_regions(&self) -> Result<BTreeMap<Place, PlaceState>, Refusal> {
        let mut places = BTreeMap::new();
        for region in self.all_pages(&Place::GLOBAL, "regions", "compute.regions.list").await? {
            let name = region.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| incomplete("regions.list"))?;
            places.insert(Place::new(name), PlaceState::Enabled);
        }
        // A new listing begins: it shares nothing with the one before.
        self.shares.clear().await;
        *self.regions.lock().await = places.keys().cloned().collect();
        Ok(places)
    }
}

impl Cloud for Gcp {
    fn cloud(&self) -> CloudName {
        CloudName::Gcp
    }

    fn whoami(&self) -> Answer<'_, Caller> {
        self.caller().boxed()
    }

    fn places(&self) -> Answer<'_, BTreeMap<Place, PlaceState>> {
        self.list_regions().boxed()
    }

    fn kinds(&self) -> Vec<KindName> {
        rows::kinds().map(KindName::of).collect()
    }

    fn list<'a>(
        &'a self,
        place: &'a Place,
        kind: &'a KindName,
        page: Option<&'a PageToken>,
    ) -> Answer<'a, Page> {
        match kind.as_str() {
            rows::METADATA => self.list_metadata().boxed(),
            rows::SERVICE_ACCOUNT => self.list_accounts(page).boxed(),
            _ => self.list_row(place, kind, page).boxed(),
        }
    }

    fn delete<'a>(&'a self, item: &'a Item) -> Answer<'a, ()> {
        self.delete_item(item).boxed()
    }

    fn counts<'a>(&'a self, place: &'a Place) -> BoxFuture<'a, BTreeMap<CountName, Count>> {
        self.count(place).boxed()
    }
}
