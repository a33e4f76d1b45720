//! The calls that a client of the real cloud would make, for whoever counts them or limits their rate.

use super::model::Model;
use crate::{alicloud, aws, azure, gcp, http::Access, openstack};
use allotment_core::cleanup::{Cloud as CloudName, CloudAccountId, Item, Kind, KindName, Place, Scope};
use futures::future::BoxFuture;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// Lets calls wait for their turn, and sees all of them.
pub trait Pace: Send + Sync + fmt::Debug {
    /// Waits until a call may be made. The place is the one whose limit the real client respects.
    fn turn<'a>(&'a self, account: &'a CloudAccountId, place: &'a Place, access: Access)
    -> BoxFuture<'a, ()>;
}

/// Calls of one place.
pub(super) struct Calls {
    pub(super) number: usize,
    pub(super) place: Place,
    pub(super) access: Access,
}

impl Calls {
    fn reads(number: usize, place: Place) -> Self {
        Self { number, place, access: Access::Read }
    }
}

/// The regions that have got their share of a list of all regions, by kind. Clones share them, as clones of a client do.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares(Arc<Mutex<BTreeMap<KindName, BTreeSet<Place>>>>);

impl Shares {
    /// A new listing begins.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Whether a region gets its share of a list that was read for another one.
    fn has(&self, kind: &KindName, place: &Place) -> bool {
        let mut shares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = shares.entry(kind.clone()).or_default();
        let is_read = !taken.is_empty() && !taken.contains(place);
        if !is_read {
            taken.clear();
        }
        taken.insert(place.clone());
        is_read
    }
}

/// The owner of the credentials.
pub(super) fn of_identification(model: &Model) -> Calls {
    let number = match model.cloud {
        // The login tells.
        CloudName::OpenStack => 0,
        _ => 1,
    };
    Calls::reads(number, Place::GLOBAL)
}

/// The places.
pub(super) fn of_places(model: &Model) -> Calls {
    let number = match model.cloud {
        CloudName::OpenStack => 0,
        CloudName::Alicloud => alicloud::calls::OF_PLACES,
        _ => 1,
    };
    Calls::reads(number, Place::GLOBAL)
}

/// One page of a kind: what it has to name one by one, and whether it is the last page.
pub(super) struct Listing<'a> {
    pub(super) kind: &'static Kind,
    pub(super) place: &'a Place,
    /// The number of items of a kind in the place.
    pub(super) items_of: &'a dyn Fn(&str) -> usize,
    /// The number of names to ask for.
    pub(super) names: usize,
    pub(super) is_last: bool,
    pub(super) shares: &'a Shares,
}

/// A page of a listing.
pub(super) fn of_listing(model: &Model, listing: &Listing<'_>) -> Calls {
    let Listing { kind, place, items_of, names, is_last, shares } = listing;
    let last = usize::from(*is_last);
    match model.cloud {
        CloudName::Aws if matches!(kind.scope, Scope::ByName { .. }) => Calls::reads(*names, Place::GLOBAL),
        CloudName::Aws => {
            Calls::reads(1 + aws::calls::holders(kind.name).map_or(0, items_of), (*place).clone())
        }
        // The question whether the list is filtered ends it.
        CloudName::Azure => Calls::reads(1 + last * azure::calls::AFTER_A_LISTING, Place::GLOBAL),
        CloudName::Gcp => match gcp::calls::of_listing(kind.name) {
            gcp::calls::OfListing::Shared(_) if shares.has(&kind.name(), place) => {
                Calls::reads(0, Place::GLOBAL)
            }
            gcp::calls::OfListing::Shared(calls) => Calls::reads(calls, Place::GLOBAL),
            gcp::calls::OfListing::Own => Calls::reads(1, (*place).clone()),
        },
        CloudName::OpenStack => {
            let more = openstack::calls::after_last_page(kind.name, items_of(kind.name));
            Calls::reads(1 + last * more, (*place).clone())
        }
        CloudName::Alicloud => {
            Calls::reads(1 + alicloud::calls::holders(kind.name).map_or(0, items_of), (*place).clone())
        }
    }
}

/// A deletion. Questions for an operation that is under way are not among them: their number follows from its time.
pub(super) fn of_deletion(model: &Model, item: &Item) -> Calls {
    let number = match model.cloud {
        CloudName::Aws => aws::calls::of_deletion(item),
        _ => 1,
    };
    Calls { number, place: item.place.clone(), access: Access::Write }
}

/// A count, or all counts that one permission gives.
pub(super) fn of_count(model: &Model, place: &Place, names: usize, count: &str) -> Calls {
    let number = match model.cloud {
        CloudName::Aws if place.is_global() => names,
        CloudName::Alicloud => alicloud::calls::of_count(count),
        _ => 1,
    };
    Calls::reads(number, place.clone())
}
