//! The clouds of the measurement: in memory, and called no faster than the real ones would be.

use super::{LATENCY, LEFTOVERS, PAGE_SIZE, WINDOW};
use allotment_clouds::{
    Cloud,
    http::{Access, RateLimiter, Rates},
    memory::{Faults, MemoryCloud, Nature, Pace, leftovers_of_shoot},
};
use allotment_core::{
    cleanup::{Cloud as CloudName, CloudAccountId, Item, ItemId, KindName, Place, TechnicalId},
    pool::AccountName,
};
use allotment_operator::{
    cleanup::{Clouds, OpenAccount, OpenError},
    ledger::PastShoot,
};
use futures::{FutureExt, future::BoxFuture};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};
use tokio::time::Instant;

/// The accounts of one cloud, in memory, with the limits and the latency of the real one.
pub(super) struct LimitedClouds {
    pub(super) cloud: MemoryCloud,
    name: CloudName,
    places: Vec<Place>,
    pace: Arc<Limits>,
}

/// The limits, and the reads that kept to them.
#[derive(Debug)]
struct Limits {
    limiter: RateLimiter,
    counted: Mutex<Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    /// Those of the last seconds, by account and place.
    recent: BTreeMap<(CloudAccountId, Place), VecDeque<Instant>>,
    /// The most that there ever were in one of them.
    most: usize,
}

impl Pace for Limits {
    fn turn<'a>(
        &'a self,
        account: &'a CloudAccountId,
        place: &'a Place,
        access: Access,
    ) -> BoxFuture<'a, ()> {
        async move {
            self.limiter.turn(account.as_str(), place, access).await;
            if access == Access::Read {
                self.add(account, place);
            }
        }
        .boxed()
    }
}

impl Limits {
    fn add(&self, account: &CloudAccountId, place: &Place) {
        let Counted { recent, most } = &mut *self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let (recent, now) = (recent.entry((account.clone(), place.clone())).or_default(), Instant::now());
        while recent.front().is_some_and(|at| now.duration_since(*at) >= WINDOW) {
            recent.pop_front();
        }
        recent.push_back(now);
        *most = recent.len().max(*most);
    }
}

pub(super) fn id(account: &AccountName) -> CloudAccountId {
    CloudAccountId::new(account.as_str())
}

impl LimitedClouds {
    pub(super) fn new(name: CloudName, places: &[&'static str]) -> Self {
        let limiter = RateLimiter::new(Rates::default());
        let pace = Arc::new(Limits { limiter, counted: Mutex::default() });
        let cloud = MemoryCloud::new().with_page_size(PAGE_SIZE).with_pace(pace.clone());
        Self { cloud, name, places: places.iter().copied().map(Place::of).collect(), pace }
    }

    /// Leaves so many Shoots' leftovers in an account, in a region each; for several, as many items as are measured.
    pub(super) fn leave_behind(&self, account: &AccountName, shoots: u32) -> Vec<PastShoot> {
        let (id, mut items) = (id(account), 0);
        let mut left = Vec::new();
        for (number, place) in (0..shoots).zip(&self.places) {
            let technical_id = format!("shoot--kyma--s{number}");
            for (item, nature) in leftovers_of_shoot(self.name, &id, &technical_id, place) {
                self.cloud.put(&id, item, nature);
                items += 1;
            }
            left.push(PastShoot { technical_id: TechnicalId::new(technical_id), existing: BTreeSet::new() });
        }
        let more = if shoots > 1 { items..LEFTOVERS } else { 0..0 };
        for (number, place) in more.zip(self.places.first().into_iter().cycle()) {
            let volume = ItemId::new(format!("vol-{number:017}"));
            let item = Item::new(KindName::of("Volume"), place.clone(), volume);
            self.cloud.put(&id, item, Nature::default());
        }
        left
    }

    /// The most reads per second of one place of an account.
    pub(super) fn busiest(&self) -> f64 {
        let most = self.pace.counted.lock().unwrap_or_else(PoisonError::into_inner).most;
        most as f64 / WINDOW.as_secs_f64()
    }
}

impl Clouds for LimitedClouds {
    fn open(&self, account: OpenAccount) -> BoxFuture<'_, Result<Arc<dyn Cloud>, OpenError>> {
        let id = id(&account.name);
        self.cloud.add_account(self.name, id.clone(), self.places.iter().cloned());
        self.cloud.set_faults(&id, Faults { latency: LATENCY, ..Faults::default() });
        let client: Arc<dyn Cloud> = Arc::new(self.cloud.client(account.cloud, &id, account.history));
        async move { Ok(client) }.boxed()
    }
}
