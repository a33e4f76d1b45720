//! AWS, in all partitions: one row for each kind, over signed calls.

mod call;
pub(crate) mod calls;
mod delete;
mod efs;
mod error;
mod iam;
mod list;
mod partition;
mod role;
mod rows;
mod sigv4;
mod witness;
mod xml;

#[cfg(test)]
mod tests;

pub use partition::Partition;

use crate::{
    Answer, Caller, Cloud, Page, PageToken,
    credentials::AwsCredentials,
    http::{Access, Http, RateLimiter, Retries, ServerClock},
};
use allotment_core::cleanup::{
    Cloud as CloudName, CloudAccountId, Count, CountName, Item, KindName, Place, PlaceState, ShootHistory,
};
use futures::{FutureExt, future::BoxFuture};
use jiff::Timestamp;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

/// Everything that a client needs.
pub struct AwsConfig {
    /// The credentials.
    pub credentials: AwsCredentials,
    /// The Shoots that the account ever had: roles and instance profiles are found by their names.
    pub history: ShootHistory,
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

/// A client for one account.
pub struct Aws {
    login: role::Login,
    partition: Partition,
    history: ShootHistory,
    http: Http,
    retries: Retries,
    endpoint: Option<String>,
    clock: ServerClock,
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl fmt::Debug for Aws {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Aws").field("partition", &self.partition).finish_non_exhaustive()
    }
}

impl Aws {
    /// A client.
    pub fn new(config: AwsConfig) -> Self {
        let AwsConfig { credentials, history, http, limiter, name, endpoint, now } = config;
        let (partition, login) = (credentials.partition(), role::Login::new(credentials));
        let (retries, clock) = (Retries::new(limiter, name), ServerClock::default());
        Self { login, partition, history, http, retries, endpoint, clock, now }
    }

    async fn caller(&self) -> Result<Caller, crate::Refusal> {
        let home = self.partition.home();
        let answer = self.query(&rows::STS, &home, "GetCallerIdentity", Vec::new(), Access::Read).await?;
        let document = xml::parse(&answer)?;
        let field =
            |name: &str| xml::text(document.root_element(), &format!("GetCallerIdentityResult/{name}"));
        let (Some(account), Some(arn)) = (field("Account"), field("Arn")) else {
            return Err(call::incomplete("GetCallerIdentity"));
        };
        Ok(Caller { account: CloudAccountId::new(account), principal: iam::principal(&arn) })
    }

    async fn regions(&self) -> Result<BTreeMap<Place, PlaceState>, crate::Refusal> {
        let home = self.partition.home();
        let mut places = BTreeMap::new();
        let mut tokens = BTreeSet::new();
        let mut token: Option<String> = None;
        loop {
            let mut all = vec![("AllRegions".to_owned(), "true".to_owned())];
            all.extend(token.clone().map(|token| (rows::UNSIZED.parameter.to_owned(), token)));
            let answer = self.query(&rows::EC2, &home, "DescribeRegions", all, Access::Read).await?;
            let document = xml::parse(&answer)?;
            for region in xml::find(document.root_element(), "regionInfo/item") {
                let name =
                    xml::text(region, "regionName").ok_or_else(|| call::incomplete("DescribeRegions"))?;
                // An unknown status is no reason to leave a region out.
                let state = match xml::text(region, "optInStatus").as_deref() {
                    Some("not-opted-in") => PlaceState::Disabled { because: "not opted in".to_owned() },
                    _ => PlaceState::Enabled,
                };
                places.insert(Place::new(name), state);
            }
            token = xml::text(document.root_element(), rows::UNSIZED.field);
            match &token {
                None => return Ok(places),
                Some(token) if !tokens.insert(token.clone()) => {
                    return Err(call::incomplete("DescribeRegions"));
                }
                Some(_) => (),
            }
        }
    }
}

impl Cloud for Aws {
    fn cloud(&self) -> CloudName {
        CloudName::Aws
    }

    fn whoami(&self) -> Answer<'_, Caller> {
        self.caller().boxed()
    }

    fn places(&self) -> Answer<'_, BTreeMap<Place, PlaceState>> {
        self.regions().boxed()
    }

    fn kinds(&self) -> Vec<KindName> {
        let others = [efs::MOUNT_TARGET, efs::FILE_SYSTEM, iam::INSTANCE_PROFILE, iam::ROLE];
        rows::rows().map(|row| KindName::of(row.kind)).chain(others.map(KindName::of)).collect()
    }

    fn list<'a>(
        &'a self,
        place: &'a Place,
        kind: &'a KindName,
        page: Option<&'a PageToken>,
    ) -> Answer<'a, Page> {
        match kind.as_str() {
            efs::MOUNT_TARGET => self.mount_targets(place, page).boxed(),
            efs::FILE_SYSTEM => self.file_systems(place, page).boxed(),
            iam::INSTANCE_PROFILE | iam::ROLE => self.by_name(kind, page).boxed(),
            _ => self.list_row(place, kind, page).boxed(),
        }
    }

    fn delete<'a>(&'a self, item: &'a Item) -> Answer<'a, ()> {
        match item.kind.as_str() {
            efs::MOUNT_TARGET | efs::FILE_SYSTEM => self.delete_efs(item).boxed(),
            iam::INSTANCE_PROFILE => self.delete_profile(item).boxed(),
            iam::ROLE => self.delete_role(item).boxed(),
            _ => self.delete_row(item).boxed(),
        }
    }

    fn counts<'a>(&'a self, place: &'a Place) -> BoxFuture<'a, BTreeMap<CountName, Count>> {
        self.count(place).boxed()
    }
}
