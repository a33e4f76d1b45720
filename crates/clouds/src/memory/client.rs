//! Calls to an account in memory.

use super::{
    Faults, MemoryCloud,
    account::{Account, Shown},
    calls::{self, Calls, Listing, Shares},
    model::{Model, Witness},
};
use crate::{Answer, Caller, Cloud, Page, PageToken, Refusal};
use allotment_core::cleanup::{
    Cloud as CloudName, CloudAccountId, Count, CountName, Item, Kind, KindName, Place, PlaceState, Scope,
    ShootHistory, attribute::LOCATION, kinds::table,
};
use futures::{FutureExt, future::BoxFuture};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};
use tokio::time::{Instant, sleep};

/// A client of one account in memory.
#[derive(Clone)]
pub struct MemoryClient {
    cloud: MemoryCloud,
    pub(super) model: &'static Model,
    credentials_of: CloudAccountId,
    history: ShootHistory,
    shares: Shares,
}

impl fmt::Debug for MemoryClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut client = formatter.debug_struct("MemoryClient");
        client
            .field("cloud", &self.model.cloud)
            .field("account", &self.credentials_of)
            .finish_non_exhaustive()
    }
}

/// The account that a call acts on, and the faults of its credentials.
pub(super) struct Target<'a> {
    pub(super) account: &'a mut Account,
    pub(super) faults: &'a mut Faults,
    now: Instant,
}

impl MemoryClient {
    pub(super) fn new(
        cloud: MemoryCloud,
        model: &'static Model,
        credentials_of: CloudAccountId,
        history: ShootHistory,
    ) -> Self {
        Self { cloud, model, credentials_of, history, shares: Shares::default() }
    }

    /// Makes a call, which may stand for several of the real client. It acts when its time is over, so a call that nobody
    /// waits for did nothing.
    pub(super) async fn call<T>(
        &self,
        permission: &str,
        calls: Calls,
        act: impl FnOnce(Target<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        self.wait(&calls).await;
        let (mut state, now) = (self.cloud.lock(), Instant::now());
        let state = &mut *state;
        state.calls += u64::try_from(calls.number).unwrap_or(u64::MAX);
        let faults = state.faults.entry(self.credentials_of.clone()).or_default();
        faults.meet(self.model, permission)?;
        let acts_as = faults.acts_as.as_ref().unwrap_or(&self.credentials_of);
        let account = state.accounts.get_mut(acts_as);
        let is_here = |account: &&mut Account| account.model.cloud == self.model.cloud;
        let account = account.filter(is_here).ok_or_else(|| Refusal::Other {
            code: self.model.codes.no_account.to_owned(),
            message: "the cloud has no such account".to_owned(),
        })?;
        account.advance(now);
        act(Target { account, faults, now })
    }

    /// The limits of the cloud, and the time that its answers take.
    async fn wait(&self, calls: &Calls) {
        let latency = self.cloud.lock().faults.get(&self.credentials_of).map(|faults| faults.latency);
        for _ in 0..calls.number {
            if let Some(pace) = &self.cloud.pace {
                pace.turn(&self.credentials_of, &calls.place, calls.access).await;
            }
            if let Some(latency) = latency.filter(|latency| !latency.is_zero()) {
                sleep(latency).await;
            }
        }
    }

    /// The names of items that can only be found by name; none for kinds that can be listed.
    pub(super) fn names(&self, kind: &Kind) -> Result<Option<BTreeSet<String>>, Refusal> {
        if !matches!(kind.scope, Scope::ByName { .. }) {
            return Ok(None);
        }
        let names = kind.names(&self.history).ok_or_else(|| Refusal::Other {
            code: "HistoryIncomplete".to_owned(),
            message: format!("the history does not name all Shoots of the account: {}s", kind.name),
        })?;
        Ok(Some(names.into_iter().collect()))
    }

    async fn list_kind(
        &self,
        place: &Place,
        kind: &KindName,
        page: Option<&PageToken>,
    ) -> Result<Page, Refusal> {
        let kind = self.model.row(kind.as_str()).ok_or_else(|| Refusal::Other {
            code: "UnknownKind".to_owned(),
            message: format!("the table has no kind {kind}"),
        })?;
        let names = self.names(kind)?;
        let permission = kind.list.last().copied().unwrap_or_default();
        let calls = self.calls_of_listing(place, kind, page, names.as_ref().map_or(0, BTreeSet::len));
        self.call(permission, calls, |target| {
            target.faults.list(self.model, &kind.name(), permission)?;
            let shown = target.shown(place, |item| is_of(item, kind, names.as_ref()))?;
            let items = shown.into_iter().filter(|shown| !shown.is_hidden).map(|shown| shown.item);
            Ok(page_of(items.collect(), page, self.cloud.page_size))
        })
        .await
    }

    /// The calls of a page, by what is there when it is asked for.
    fn calls_of_listing(
        &self,
        place: &Place,
        kind: &'static Kind,
        page: Option<&PageToken>,
        names: usize,
    ) -> Calls {
        let state = self.cloud.lock();
        let account = state.accounts.get(&self.credentials_of);
        let items_of = |kind: &str| {
            let is_it = |item: &Item| item.kind.as_str() == kind && item.place == *place;
            account.map_or(0, |account| account.shown(Instant::now(), is_it).len())
        };
        let before = page.map_or(0, |token| {
            let is_before = |item: &Item| {
                let is_it = item.kind.as_str() == kind.name && item.place == *place;
                is_it && item.id.as_str() <= token.0.as_str()
            };
            account.map_or(0, |account| account.shown(Instant::now(), is_before).len())
        });
        let is_last = items_of(kind.name) <= before + self.cloud.page_size;
        let listing = Listing { kind, place, items_of: &items_of, names, is_last, shares: &self.shares };
        calls::of_listing(self.model, &listing)
    }
}

impl Target<'_> {
    fn is_enabled(&self, place: &Place) -> bool {
        self.account.places.contains(place) && !self.faults.disabled.contains(place)
    }

    fn usable(&self, place: &Place) -> Result<(), Refusal> {
        if place.is_global() || self.is_enabled(place) {
            return Ok(());
        }
        let message = format!("the account cannot use {place}");
        Err(Refusal::Other { code: self.account.model.codes.no_place.to_owned(), message })
    }

    /// The items of a place.
    pub(super) fn shown(
        &self,
        place: &Place,
        is_asked_for: impl Fn(&Item) -> bool,
    ) -> Result<Vec<Shown>, Refusal> {
        self.usable(place)?;
        Ok(self.account.shown(self.now, |item| item.place == *place && is_asked_for(item)))
    }

    /// The items that counts of a place have: those of all places for the whole account, and those that live there.
    pub(super) fn counted(
        &self,
        place: &Place,
        is_asked_for: impl Fn(&Item) -> bool,
    ) -> Result<Vec<Shown>, Refusal> {
        self.usable(place)?;
        Ok(self.account.shown(self.now, |item| {
            let location = item.attribute(LOCATION).unwrap_or(item.place.as_str());
            (place.is_global() || location == place.as_str()) && is_asked_for(item)
        }))
    }
}

pub(super) fn is_of(item: &Item, kind: &Kind, names: Option<&BTreeSet<String>>) -> bool {
    item.kind.as_str() == kind.name && names.is_none_or(|names| names.contains(item.id.as_str()))
}

/// The items after the last one of the page before, in order of their ids: items that go in between hide no others.
fn page_of(items: Vec<Item>, after: Option<&PageToken>, size: usize) -> Page {
    let is_next = |item: &Item| after.is_none_or(|after| item.id.as_str() > after.0.as_str());
    let mut items: Vec<_> = items.into_iter().filter(is_next).collect();
    let is_last = items.len() <= size;
    items.truncate(size);
    let last = items.last().map(|item| PageToken(item.id.as_str().to_owned()));
    Page::Items { items, next: last.filter(|_| !is_last) }
}

impl Cloud for MemoryClient {
    fn cloud(&self) -> CloudName {
        self.model.cloud
    }

    fn whoami(&self) -> Answer<'_, Caller> {
        let caller = |target: Target<'_>| {
            let account = target.account.id.clone();
            Ok(Caller { principal: (self.model.principal)(&account), account })
        };
        self.call(self.model.permissions.identify, calls::of_identification(self.model), caller).boxed()
    }

    fn places(&self) -> Answer<'_, BTreeMap<Place, PlaceState>> {
        let places = |target: Target<'_>| {
            let state = |place: &Place| {
                let disabled = || PlaceState::Disabled { because: "not opted in".to_owned() };
                if target.is_enabled(place) { PlaceState::Enabled } else { disabled() }
            };
            self.shares.clear();
            Ok(target.account.places.iter().map(|place| (place.clone(), state(place))).collect())
        };
        self.call(self.model.permissions.places, calls::of_places(self.model), places).boxed()
    }

    fn kinds(&self) -> Vec<KindName> {
        table(self.model.cloud).kinds.iter().map(Kind::name).collect()
    }

    fn list<'a>(
        &'a self,
        place: &'a Place,
        kind: &'a KindName,
        page: Option<&'a PageToken>,
    ) -> Answer<'a, Page> {
        self.list_kind(place, kind, page).boxed()
    }

    fn delete<'a>(&'a self, item: &'a Item) -> Answer<'a, ()> {
        let permission = self.model.row(item.kind.as_str()).and_then(|kind| kind.delete.first());
        let delete = |target: Target<'_>| {
            target.usable(&item.place)?;
            target.account.delete(&item.key(), target.now)?;
            target.faults.answer_deletion()
        };
        let calls = calls::of_deletion(self.model, item);
        self.call(permission.copied().unwrap_or_default(), calls, delete).boxed()
    }

    fn counts<'a>(&'a self, place: &'a Place) -> BoxFuture<'a, BTreeMap<CountName, Count>> {
        match self.model.witness {
            Witness::Names { tags_of } => self.count_by_name(place, tags_of).boxed(),
            Witness::Numbers { sums, without_row } => self.count_by_number(place, sums, without_row).boxed(),
        }
    }
}
