//! Who stands in which queue, and who is woken when.
//!
//! The ledger has the queues and their order. This process remembers only which requests stand in one, so that a watch event
//! about a request that waits costs nothing. A request asks the ledger again when it is *woken*:
//!
//! - a free account wakes the head of the pool's queue, and whoever takes an account wakes the next head;
//! - room in an account of a tenant, or a place below its cap, wakes the first request of that tenant, which wakes the next;
//! - once a minute, the front of each queue is compared with what the statuses say, in case that a wake-up was lost.
//!
//! So the number of requests that wait changes neither what a claim costs nor what an idle minute costs.

use super::{RequestName, Task, Trouble, run::Inner};
use crate::{ledger::RequestKey, runtime::queue::Outcome};
use allotment_core::pool::{OCCUPIED, PoolKey, RequestUid, Tenant, Wanted};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

/// At most so many heads are woken at once. The next ones are woken by those who took an account.
const HEADS_AT_ONCE: usize = 16;

/// How often the front of each queue is compared with the statuses.
const RESYNC: Duration = Duration::from_secs(60);

/// So many tenants that hold accounts and wait for room are woken each time, in turns.
const TENANTS_PER_RESYNC: usize = 16;

/// The queues, as far as this process has to know them.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    places: BTreeMap<RequestUid, Place>,
    lines: BTreeMap<PoolKey, BTreeMap<Option<Tenant>, usize>>,
    woken: BTreeSet<RequestUid>,
    /// The last tenant that a resync has woken.
    last_tenant: Option<Tenant>,
}

/// The queue that a request stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) pool: PoolKey,
    pub(super) tenant: Option<Tenant>,
}

impl Waiting {
    /// The ledger says that these stand in queues, and nobody else.
    pub(super) fn reset(&mut self, all: Vec<(RequestKey, PoolKey, Option<Tenant>)>) {
        *self = Self::default();
        for (request, pool, tenant) in all {
            self.join(&request.uid, Place { pool, tenant });
        }
    }

    fn join(&mut self, request: &RequestUid, place: Place) {
        self.leave(request);
        let line = self.lines.entry(place.pool.clone()).or_default();
        *line.entry(place.tenant.clone()).or_default() += 1;
        self.places.insert(request.clone(), place);
    }

    fn leave(&mut self, request: &RequestUid) -> Option<Place> {
        let place = self.places.remove(request)?;
        if let Some(lines) = self.lines.get_mut(&place.pool) {
            if let Some(length) = lines.get_mut(&place.tenant) {
                *length -= 1;
                if *length == 0 {
                    lines.remove(&place.tenant);
                }
            }
            if lines.is_empty() {
                self.lines.remove(&place.pool);
            }
        }
        Some(place)
    }

    fn has_line(&self, pool: &PoolKey, tenant: &Tenant) -> bool {
        // The key of the map is an Option, so the lookup needs one.
        self.lines.get(pool).is_some_and(|lines| lines.contains_key(&Some(tenant.clone())))
    }
}

impl Inner {
    pub(super) fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request stands in a queue.
    pub(super) fn is_queued(&self, request: &RequestUid) -> bool {
        self.waiting().places.contains_key(request)
    }

    /// Whether a request stands in the queue that it is for.
    pub(super) fn is_queued_for(&self, request: &RequestUid, wanted: &Wanted) -> bool {
        let waiting = self.waiting();
        let place = waiting.places.get(request);
        place.is_some_and(|place| place.pool == wanted.pool && place.tenant == wanted.tenant)
    }

    /// A request is to ask the ledger again.
    fn wake(&self, request: &RequestKey) {
        self.wake_again(&request.uid);
        let RequestKey { uid: _, namespace, name } = request.clone();
        self.add(Task::Request(RequestName { namespace, name }));
    }

    /// The same, where its task is in the queue of tasks already.
    pub(super) fn wake_again(&self, request: &RequestUid) {
        self.waiting().woken.insert(request.clone());
    }

    /// Whether a request was woken; it counts as done.
    pub(super) fn take_wake(&self, request: &RequestUid) -> bool {
        self.waiting().woken.remove(request)
    }

    /// A request stands in a queue now.
    pub(super) fn joined(&self, request: &RequestUid, wanted: &Wanted) {
        let place = Place { pool: wanted.pool.clone(), tenant: wanted.tenant.clone() };
        self.waiting().join(request, place);
    }

    /// A request does not stand in a queue any more: it may have kept those behind from what is free.
    pub(super) fn left(&self, request: &RequestUid) {
        let left = {
            let mut waiting = self.waiting();
            waiting.woken.remove(request);
            waiting.leave(request)
        };
        if let Some(Place { pool, tenant }) = left {
            if let Some(tenant) = &tenant {
                self.wake_line(&pool, tenant);
            }
            self.wake_pool(&pool);
        }
    }

    /// A request has got an account: there may be another one for the next, or room in it for the tenant's next.
    pub(super) fn served(&self, request: &RequestUid, wanted: &Wanted) {
        self.left(request);
        if let Some(tenant) = &wanted.tenant {
            self.wake_line(&wanted.pool, tenant);
        }
        self.wake_pool(&wanted.pool);
    }

    /// Something of a pool may be free: whose turn is it?
    pub(super) fn wake_pool(&self, pool: &PoolKey) {
        if self.waiting().lines.contains_key(pool) {
            self.add(Task::Pool(pool.clone()));
        }
    }

    /// Something of a tenant has changed: does it help those of its requests that wait?
    pub(super) fn wake_tenant(&self, tenant: &Tenant) {
        let pools: Vec<PoolKey> = {
            let waiting = self.waiting();
            waiting.lines.keys().filter(|pool| waiting.has_line(pool, tenant)).cloned().collect()
        };
        pools.into_iter().for_each(|pool| self.add(Task::Line(pool, tenant.clone())));
    }

    fn wake_line(&self, pool: &PoolKey, tenant: &Tenant) {
        if self.waiting().has_line(pool, tenant) {
            self.add(Task::Line(pool.clone(), tenant.clone()));
        }
    }

    /// Wakes every tenant that waits and holds accounts, and every pool: limits have changed, or a term begins.
    pub(super) fn wake_everybody(&self) {
        let holders: Vec<Tenant> =
            self.index().accounts_per_tenant().map(|(tenant, _)| tenant.clone()).collect();
        holders.iter().for_each(|tenant| self.wake_tenant(tenant));
        let pools: Vec<PoolKey> = self.waiting().lines.keys().cloned().collect();
        pools.iter().for_each(|pool| self.wake_pool(pool));
    }

    /// Wakes those whose turn it is in a pool, as many as there are accounts for.
    pub(super) async fn look_at_pool(&self, pool: &PoolKey) -> Result<Outcome, Trouble> {
        let usable = self.usable(pool, HEADS_AT_ONCE);
        if usable == 0 || !self.waiting().lines.contains_key(pool) {
            return Ok(Outcome::Done);
        }
        let most = u32::try_from(usable).unwrap_or(u32::MAX);
        for head in self.ledger.heads(pool, most).await? {
            self.wake(&head);
        }
        Ok(Outcome::Done)
    }

    /// Wakes the first request of a tenant in a pool.
    pub(super) async fn look_at_line(&self, pool: &PoolKey, tenant: &Tenant) -> Result<Outcome, Trouble> {
        if self.waiting().has_line(pool, tenant)
            && let Some(first) = self.ledger.first_of(pool, tenant).await?
        {
            self.wake(&first);
        }
        Ok(Outcome::Done)
    }

    /// Looks whether a wake-up was lost, and brings the positions of those in front up to date.
    pub(super) async fn look_at_queues(&self) -> Result<Outcome, Trouble> {
        let pools: Vec<PoolKey> = self.waiting().lines.keys().cloned().collect();
        for pool in pools {
            let front = self.ledger.first_in_line(&pool).await?;
            let usable = self.usable(&pool, front.len());
            let occupied = self.index().occupied_in(&pool);
            for (request, place) in front.iter().zip(1_usize..) {
                let told = self.told_position(&request.uid);
                let has_moved = !pool.shared && told != i32::try_from(place).ok();
                if place <= usable || has_moved || !self.is_told(&request.uid, occupied.as_deref()) {
                    self.wake(request);
                }
            }
        }
        for tenant in self.next_tenants() {
            self.wake_tenant(&tenant);
        }
        Ok(Outcome::After(RESYNC))
    }

    /// How many requests what is free in a pool could serve, at most so many.
    fn usable(&self, pool: &PoolKey, most: usize) -> usize {
        let index = self.index();
        if pool.shared {
            // One account serves everybody.
            return if index.shared(pool).is_empty() { 0 } else { most };
        }
        index.free(pool, most).len()
    }

    fn told_position(&self, request: &RequestUid) -> Option<i32> {
        self.index().request_of(request)?.status.as_ref()?.queue_position
    }

    /// Whether the status of a request says which accounts are occupied.
    fn is_told(&self, request: &RequestUid, occupied: Option<&str>) -> bool {
        let request = self.index().request_of(request);
        let status = request.as_ref().and_then(|request| request.status.as_ref());
        let mut messages = status.iter().flat_map(|status| &status.conditions).map(|it| &it.message);
        match occupied {
            Some(occupied) => messages.any(|message| message.contains(occupied)),
            None => !messages.any(|message| message.contains(OCCUPIED)),
        }
    }

    /// The next few of the tenants that hold accounts and wait.
    fn next_tenants(&self) -> Vec<Tenant> {
        let holders: BTreeSet<Tenant> =
            self.index().accounts_per_tenant().map(|(tenant, _)| tenant.clone()).collect();
        let mut waiting = self.waiting();
        let waits = |tenant: &&Tenant| waiting.lines.keys().any(|pool| waiting.has_line(pool, tenant));
        let after = holders.iter().filter(|tenant| Some(*tenant) > waiting.last_tenant.as_ref());
        let around = holders.iter().filter(|tenant| Some(*tenant) <= waiting.last_tenant.as_ref());
        let next: Vec<Tenant> = after.chain(around).filter(waits).take(TENANTS_PER_RESYNC).cloned().collect();
        waiting.last_tenant = next.last().cloned();
        next
    }
}
