//! OpenStack: one row for each kind, over calls with a token of keystone.

mod call;
pub(crate) mod calls;
mod delete;
mod error;
mod keystone;
mod list;
mod rows;
mod services;
mod witness;

#[cfg(test)]
mod tests;

use crate::{
    Answer, Caller, Cloud, Page, PageToken, Refusal,
    credentials::OpenStackCredentials,
    http::{Http, RateLimiter, Retries, TlsError},
};
use allotment_core::cleanup::{
    Cloud as CloudName, CloudAccountId, Count, CountName, Item, KindName, Place, PlaceState,
};
use futures::{FutureExt, future::BoxFuture};
use keystone::Session;
use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};
use tokio::sync::Mutex;

/// Everything that a client needs.
pub struct OpenStackConfig {
    /// The credentials.
    pub credentials: OpenStackCredentials,
    /// Keystone, if the Secret does not name it.
    pub auth_url: Option<String>,
    /// The limiter of all accounts.
    pub limiter: Arc<RateLimiter>,
    /// The name of the account, for the limiter.
    pub name: String,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum OpenStackConfigError {
    /// Certificates would not be checked.
    #[error(
        "insecure is not supported: credentials that delete are sent only to a server that is known; remove it and put \
         the certificates of the cloud's CA into caCert"
    )]
    Insecure,
    /// Nobody says where keystone is.
    #[error("neither the Secret nor the CloudProfile names the authURL of keystone; add it to one of them")]
    NoAuthUrl,
    /// The certificates in the Secret.
    #[error("caCert: {0}")]
    CaCert(#[from] TlsError),
}

/// A client for one project.
pub struct OpenStack {
    credentials: OpenStackCredentials,
    auth_url: String,
    http: Http,
    retries: Retries,
    session: Mutex<Option<Arc<Session>>>,
}

impl fmt::Debug for OpenStack {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OpenStack").field("auth_url", &self.auth_url).finish_non_exhaustive()
    }
}

impl OpenStack {
    /// A client. The Secret's authURL wins over the configured one.
    pub fn new(config: OpenStackConfig) -> Result<Self, OpenStackConfigError> {
        let OpenStackConfig { credentials, auth_url, limiter, name } = config;
        if credentials.insecure {
            return Err(OpenStackConfigError::Insecure);
        }
        let auth_url = credentials.auth_url.clone().or(auth_url).ok_or(OpenStackConfigError::NoAuthUrl)?;
        let auth_url = keystone::auth_url(&auth_url);
        let http = Http::new(credentials.ca_cert.as_deref())?;
        let retries = Retries::new(limiter, name);
        Ok(Self { credentials, auth_url, http, retries, session: Mutex::default() })
    }

    /// The same with another deadline of calls.
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> Self {
        Self { http: self.http.with_deadline(deadline), ..self }
    }

    /// How many calls were made.
    pub fn calls(&self) -> u64 {
        self.http.calls()
    }

    async fn caller(&self) -> Result<Caller, Refusal> {
        let session = self.session().await?;
        let account = CloudAccountId::new(session.project.clone());
        Ok(Caller { account, principal: session.user.clone() })
    }

    async fn regions(&self) -> Result<BTreeMap<Place, PlaceState>, Refusal> {
        let regions = self.session().await?.regions(services::SERVICES);
        Ok(regions.into_iter().map(|region| (region, PlaceState::Enabled)).collect())
    }
}

impl Cloud for OpenStack {
    fn cloud(&self) -> CloudName {
        CloudName::OpenStack
    }

    fn whoami(&self) -> Answer<'_, Caller> {
        self.caller().boxed()
    }

    fn places(&self) -> Answer<'_, BTreeMap<Place, PlaceState>> {
        self.regions().boxed()
    }

    fn kinds(&self) -> Vec<KindName> {
        rows::rows().map(|row| KindName::of(row.kind)).collect()
    }

    fn list<'a>(
        &'a self,
        place: &'a Place,
        kind: &'a KindName,
        page: Option<&'a PageToken>,
    ) -> Answer<'a, Page> {
        self.list_row(place, kind, page).boxed()
    }

    fn delete<'a>(&'a self, item: &'a Item) -> Answer<'a, ()> {
        self.delete_row(item).boxed()
    }

    fn counts<'a>(&'a self, place: &'a Place) -> BoxFuture<'a, BTreeMap<CountName, Count>> {
        self.count(place).boxed()
    }
}
