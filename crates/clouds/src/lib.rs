//! Lists and deletes everything in a cloud account, through thin HTTP clients.
//!
//! The crate knows nothing of Kubernetes and decides nothing: `allotment_core::cleanup` has the tables of kinds, plans
//! and verdicts; [`Cloud`] makes the calls; [`take_inventory`], [`take_witness`] and [`delete_all`] drive them.
//!
//! The SDKs of the clouds are not used: the one for EC2 alone has 1.2 million lines, and a listing needs one call per kind.
//!
//! | module | content |
//! |---|---|
//! | [`alicloud`] | Alibaba Cloud |
//! | [`aws`] | AWS |
//! | [`azure`] | Azure |
//! | [`credentials`] | credentials from the data of a Secret, in both spellings; tokens of workload identities |
//! | [`gcp`] | Google Cloud |
//! | [`http`] | one HTTP client: deadlines, bounded bodies, retries, rate limits |
//! | [`memory`] | accounts of all these clouds that exist in memory, for simulations and the demo |
//! | [`openstack`] | OpenStack |

pub mod alicloud;
pub mod aws;
pub mod azure;
pub mod credentials;
mod delete;
pub mod gcp;
pub mod http;
mod inventory;
pub mod memory;
pub mod openstack;

pub use allotment_core::cleanup::Refusal;
pub use delete::{Patience, delete_all, delete_while};
pub use inventory::{take_inventory, take_witness};

use allotment_core::cleanup::{
    Cloud as CloudName, CloudAccountId, Count, CountName, Item, KindName, Place, PlaceState,
};
use futures::future::BoxFuture;
use std::collections::BTreeMap;

/// The answer of a cloud.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, Refusal>>;

/// The account and the principal that credentials belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The account.
    pub account: CloudAccountId,
    /// The principal, in the cloud's words: an ARN, a user id.
    pub principal: String,
}

/// The position at which a listing continues. Opaque: only the client that made it reads it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageToken(pub String);

/// One page of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Page {
    /// Some items, and where to go on.
    Items {
        /// The items, also those that the cloud shows though they are gone.
        items: Vec<Item>,
        /// The next page; none if this was the last one.
        next: Option<PageToken>,
    },
    /// The account does not have the service.
    Absent {
        /// Why.
        because: String,
    },
}

/// A cloud account that can be listed and cleaned. A simulation brings its own.
pub trait Cloud: Send + Sync {
    /// The table that it follows.
    fn cloud(&self) -> CloudName;

    /// The owner of the credentials.
    fn whoami(&self) -> Answer<'_, Caller>;

    /// The places of the account, without [`Place::GLOBAL`].
    fn places(&self) -> Answer<'_, BTreeMap<Place, PlaceState>>;

    /// The kinds that it can list and delete: those of its table.
    fn kinds(&self) -> Vec<KindName>;

    /// One page of a kind in a place.
    fn list<'a>(
        &'a self,
        place: &'a Place,
        kind: &'a KindName,
        page: Option<&'a PageToken>,
    ) -> Answer<'a, Page>;

    /// Deletes an item, with all preparatory calls. An item that is gone already is no error.
    fn delete<'a>(&'a self, item: &'a Item) -> Answer<'a, ()>;

    /// The independent counts of a place. A count that was refused is [`Count::Refused`], never missing and never zero.
    fn counts<'a>(&'a self, place: &'a Place) -> BoxFuture<'a, BTreeMap<CountName, Count>>;
}
