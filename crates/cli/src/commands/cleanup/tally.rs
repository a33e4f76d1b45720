//! Counts the calls to a cloud, place by place, for people who wait.

use crate::commands::show::counted;
use allotment_clouds::{Answer, Caller, Cloud, Page, PageToken};
use allotment_core::cleanup::{
    Cloud as CloudName, Count, CountName, Item, ItemKey, KindName, Place, PlaceState, Scope, Stage,
    kinds::table,
};
use allotment_operator::cleanup::{Clouds, GardenClouds, OpenAccount, OpenError};
use futures::{FutureExt, future::BoxFuture};
use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The calls so far.
#[derive(Default)]
pub(super) struct Tally(Mutex<Calls>);

#[derive(Default)]
pub(super) struct Calls {
    pub(super) phase: Phase,
    pub(super) places: BTreeMap<Place, Counts>,
    /// The end of the last listing.
    pub(super) listed_at: Option<Instant>,
    /// The time between the two listings of a proof; none: only one is taken.
    pub(super) settle: Option<Duration>,
    /// Whether the first listing is followed by a second one in any case.
    is_verified: bool,
    listings: usize,
    deleted: usize,
    refused: usize,
    said: Vec<String>,
}

/// The present work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing is called.
    #[default]
    Idle,
    Listing,
    Deleting,
    /// Nothing is left; a second listing follows.
    Settling,
    /// The independent counts are taken.
    Counting,
}

/// The calls in one place.
#[derive(Default)]
pub(super) struct Counts {
    /// The kinds that its listing has.
    pub(super) kinds: usize,
    /// Those that were listed, or refused.
    pub(super) listed: BTreeSet<KindName>,
    /// The items that are to be deleted there, as far as a plan said so.
    pub(super) planned: usize,
    /// Those whose deletion was accepted.
    pub(super) deleted: BTreeSet<ItemKey>,
    /// Those whose deletion was refused last.
    pub(super) refused: BTreeSet<ItemKey>,
    pub(super) counted: bool,
}

impl Tally {
    pub(super) fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A proof is taken, with this time between its listings.
    pub(super) fn proves_in(&self, settle: Duration) {
        let mut calls = self.calls();
        (calls.settle, calls.is_verified) = (Some(settle), true);
    }

    /// The same, once nothing is left: the operator reports when.
    pub(super) fn proves_after_deletions(&self, settle: Duration) {
        self.calls().settle = Some(settle);
    }

    /// So many items are to be deleted in each place.
    pub(super) fn plans<'a>(&self, places: impl Iterator<Item = &'a Place>) {
        let mut calls = self.calls();
        calls.phase = Phase::Idle;
        for place in places {
            calls.places.entry(place.clone()).or_default().planned += 1;
        }
    }

    /// The operator has come to a stage.
    pub(super) fn reached(&self, stage: Stage) {
        let mut calls = self.calls();
        if stage == Stage::Settling && calls.phase != Phase::Settling {
            calls.settles("nothing is left");
        }
    }

    /// Lines for people, each once.
    pub(super) fn take_said(&self) -> Vec<String> {
        mem::take(&mut self.calls().said)
    }
}

impl Calls {
    fn lists(&mut self, cloud: CloudName, places: &BTreeMap<Place, PlaceState>) {
        let enabled = places.iter().filter(|(_, state)| **state == PlaceState::Enabled);
        let everywhere: Vec<Place> = enabled.map(|(place, _)| place.clone()).chain([Place::GLOBAL]).collect();
        let before = match (mem::take(&mut self.deleted), mem::take(&mut self.refused)) {
            (0, 0) => String::new(),
            (deleted, 0) => format!("{} deleted; ", counted(deleted, "item")),
            (deleted, refused) => format!("{} deleted, {refused} refused so far; ", counted(deleted, "item")),
        };
        self.said.push(format!("{before}listing {} ...", counted(everywhere.len() - 1, "place")));
        for place in everywhere {
            let is_here = |scope: &Scope| matches!(scope, Scope::Regional) != place.is_global();
            let kinds = table(cloud).kinds.iter().filter(|kind| is_here(&kind.scope)).count();
            let counts = self.places.entry(place).or_default();
            counts.kinds = kinds;
            counts.listed.clear();
        }
        self.listings += 1;
        (self.phase, self.listed_at) = (Phase::Listing, None);
    }

    fn listed(&mut self, place: &Place, kind: &KindName) {
        let counts = self.places.entry(place.clone()).or_default();
        counts.listed.insert(kind.clone());
        let is_over = self.places.values().all(|counts| counts.listed.len() >= counts.kinds);
        if self.phase == Phase::Listing && is_over {
            (self.phase, self.listed_at) = (Phase::Idle, Some(Instant::now()));
            if self.is_verified && self.listings == 1 {
                self.settles("listed once");
            }
        }
    }

    /// The first of two listings is over.
    fn settles(&mut self, because: &str) {
        if let Some(settle) = self.settle {
            let seconds = settle.as_secs();
            self.said.push(format!("{because}; the second listing begins after {seconds} s ..."));
            self.phase = Phase::Settling;
        }
    }

    fn deletes(&mut self) {
        if self.phase != Phase::Deleting {
            let planned: usize = self.places.values().map(|counts| counts.planned).sum();
            let done: usize = self.places.values().map(|counts| counts.deleted.len()).sum();
            let left = planned.saturating_sub(done);
            self.said.push(if left > 0 {
                format!("deleting {} ...", counted(left, "item"))
            } else {
                "deleting ...".to_owned()
            });
            self.phase = Phase::Deleting;
        }
    }

    fn deleted(&mut self, key: ItemKey, is_accepted: bool) {
        let counts = self.places.entry(key.place.clone()).or_default();
        if is_accepted {
            counts.refused.remove(&key);
            counts.deleted.insert(key);
            self.deleted += 1;
        } else {
            counts.refused.insert(key);
            self.refused += 1;
        }
    }

    fn counts(&mut self) {
        if self.phase != Phase::Counting {
            self.said.push("comparing with independent counts ...".to_owned());
            self.phase = Phase::Counting;
            self.places.values_mut().for_each(|counts| counts.counted = false);
        }
    }
}

/// Clouds whose calls are counted.
pub(super) struct CountedClouds {
    inner: GardenClouds,
    tally: Arc<Tally>,
}

impl CountedClouds {
    pub(super) fn new(inner: GardenClouds, tally: Arc<Tally>) -> Self {
        Self { inner, tally }
    }
}

impl Clouds for CountedClouds {
    fn open(&self, account: OpenAccount) -> BoxFuture<'_, Result<Arc<dyn Cloud>, OpenError>> {
        async move {
            let inner = self.inner.open(account).await?;
            Ok(Arc::new(Counted { inner, tally: self.tally.clone() }) as Arc<dyn Cloud>)
        }
        .boxed()
    }
}

struct Counted {
    inner: Arc<dyn Cloud>,
    tally: Arc<Tally>,
}

impl Cloud for Counted {
    fn cloud(&self) -> CloudName {
        self.inner.cloud()
    }

    fn whoami(&self) -> Answer<'_, Caller> {
        self.inner.whoami()
    }

    /// Every listing begins with this.
    fn places(&self) -> Answer<'_, BTreeMap<Place, PlaceState>> {
        async move {
            let places = self.inner.places().await?;
            self.tally.calls().lists(self.inner.cloud(), &places);
            Ok(places)
        }
        .boxed()
    }

    fn kinds(&self) -> Vec<KindName> {
        self.inner.kinds()
    }

    fn list<'a>(
        &'a self,
        place: &'a Place,
        kind: &'a KindName,
        page: Option<&'a PageToken>,
    ) -> Answer<'a, Page> {
        async move {
            let answer = self.inner.list(place, kind, page).await;
            if !matches!(answer, Ok(Page::Items { next: Some(_), .. })) {
                self.tally.calls().listed(place, kind);
            }
            answer
        }
        .boxed()
    }

    fn delete<'a>(&'a self, item: &'a Item) -> Answer<'a, ()> {
        async move {
            self.tally.calls().deletes();
            let answer = self.inner.delete(item).await;
            self.tally.calls().deleted(item.key(), answer.is_ok());
            answer
        }
        .boxed()
    }

    fn counts<'a>(&'a self, place: &'a Place) -> BoxFuture<'a, BTreeMap<CountName, Count>> {
        async move {
            self.tally.calls().counts();
            let counts = self.inner.counts(place).await;
            self.tally.calls().places.entry(place.clone()).or_default().counted = true;
            counts
        }
        .boxed()
    }
}
