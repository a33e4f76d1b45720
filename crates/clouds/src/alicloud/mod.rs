//! Alibaba Cloud: one row for each kind, over signed calls.

mod acs3;
mod call;
pub(crate) mod calls;
mod delete;
mod error;
mod hosts;
mod json;
mod list;
mod rows;
mod witness;

#[cfg(test)]
mod tests;

use crate::{
    Answer, Caller, Cloud, Page, PageToken, Refusal,
    credentials::AlicloudCredentials,
    http::{Access, Http, RateLimiter, Retries, ServerClock},
};
use allotment_core::cleanup::{
    Cloud as CloudName, CloudAccountId, Count, CountName, Item, KindName, Place, PlaceState,
};
use futures::{FutureExt, future::BoxFuture};
use jiff::Timestamp;
use ring::rand::SystemRandom;
use rows::Service;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// Everything that a client needs.
pub struct AlicloudConfig {
    /// The credentials.
    pub credentials: AlicloudCredentials,
    /// The HTTP client.
    pub http: Http,
    /// The limiter of all accounts.
    pub limiter: Arc<RateLimiter>,
    /// The name of the account, for the limiter.
    pub name: String,
    /// One server for all services and regions, for test clouds.
    pub endpoint: Option<String>,
    /// The clock.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

/// The regions of a service.
type Regions = Result<BTreeSet<String>, Refusal>;

/// A client for one account.
pub struct Alicloud {
    credentials: AlicloudCredentials,
    http: Http,
    retries: Retries,
    endpoint: Option<String>,
    clock: ServerClock,
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    random: SystemRandom,
    /// The regions of services that are not in all of them; read again with the places.
    regions: Mutex<BTreeMap<&'static str, Regions>>,
}

impl fmt::Debug for Alicloud {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Alicloud").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl Alicloud {
    /// A client.
    pub fn new(config: AlicloudConfig) -> Self {
        let AlicloudConfig { credentials, http, limiter, name, endpoint, now } = config;
        Self {
            credentials,
            http,
            retries: Retries::new(limiter, name),
            endpoint,
            clock: ServerClock::default(),
            now,
            random: SystemRandom::new(),
            regions: Mutex::default(),
        }
    }

    async fn caller(&self) -> Result<Caller, Refusal> {
        let action = "GetCallerIdentity";
        let answer = self.call(&rows::STS, &Place::GLOBAL, action, Vec::new(), Access::Read).await?;
        let (Some(account), Some(arn)) = (json::text(&answer, "AccountId"), json::text(&answer, "Arn"))
        else {
            return Err(call::incomplete(action));
        };
        Ok(Caller { account: CloudAccountId::new(account), principal: arn })
    }

    async fn all_places(&self) -> Result<BTreeMap<Place, PlaceState>, Refusal> {
        let regions = self.ask_regions(&rows::ECS).await?;
        for service in [&rows::SLB, &rows::NLB, &rows::ROS] {
            let of_service = self.ask_regions(service).await;
            self.known_regions(|known| known.insert(service.name, of_service));
        }
        // A region that is sold out keeps what is in it.
        Ok(regions.into_iter().map(|region| (Place::new(region), PlaceState::Enabled)).collect())
    }

    async fn ask_regions(&self, service: &'static Service) -> Regions {
        let action = "DescribeRegions";
        let answer = self.call(service, &hosts::HOME, action, Vec::new(), Access::Read).await?;
        let found = json::find(&answer, service.regions).ok_or_else(|| call::incomplete(action))?;
        let ids: Option<BTreeSet<String>> =
            found.into_iter().map(|region| json::text(region, "RegionId")).collect();
        ids.filter(|ids| !ids.is_empty()).ok_or_else(|| call::incomplete(action))
    }

    /// Whether a service is in a place.
    async fn is_in(&self, service: &'static Service, place: &Place) -> Result<bool, Refusal> {
        if service.everywhere {
            return Ok(true);
        }
        let known = self.known_regions(|known| known.get(service.name).cloned());
        let regions = match known {
            Some(regions) => regions,
            None => self.ask_regions(service).await,
        };
        Ok(regions?.contains(place.as_str()))
    }

    fn known_regions<T>(&self, act: impl FnOnce(&mut BTreeMap<&'static str, Regions>) -> T) -> T {
        act(&mut self.regions.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The host that answers for a service in a region; none for a service without rows.
pub fn host(service: &str, region: &str) -> Option<String> {
    let services = [&rows::ECS, &rows::VPC, &rows::SLB, &rows::NLB, &rows::ROS, &rows::STS];
    let found = services.into_iter().find(|known| known.name == service)?;
    Some(hosts::host(found, &Place::new(region)))
}

impl Cloud for Alicloud {
    fn cloud(&self) -> CloudName {
        CloudName::Alicloud
    }

    fn whoami(&self) -> Answer<'_, Caller> {
        self.caller().boxed()
    }

    fn places(&self) -> Answer<'_, BTreeMap<Place, PlaceState>> {
        self.all_places().boxed()
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
