//! What must hold between the ledger, the labels, the published statuses and the Shoots, at any moment and at rest.

use super::{Books, Held, Seat, Violation, books};
use crate::pool::{AccountName, Entry, Holding, Limit, PoolKey, RequestUid, Tenant};
use allotment_api::kyma::SubscriptionPhase;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// Everything that can be seen of the pools at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// What the ledger says.
    pub books: Books,
    /// The accounts that the ledger has in quarantine.
    pub quarantined: BTreeSet<AccountName>,
    /// The entries of the pool.
    pub entries: BTreeMap<AccountName, Entry>,
    /// The requests that there are.
    pub requests: BTreeMap<RequestUid, Asked>,
    /// The Shoots, by name.
    pub shoots: BTreeMap<String, Grown>,
    /// Accounts whose entries somebody else changed: what their labels say is not our doing.
    pub tampered: BTreeSet<AccountName>,
    /// Requests that somebody tore away: a Shoot for one that was on its way is made nevertheless.
    pub torn: BTreeSet<RequestUid>,
    /// Requests whose status somebody else may write: it says nothing of ours.
    pub untrusted: BTreeSet<RequestUid>,
    /// The tenants who may have several accounts, with the most clusters in each.
    pub limits: BTreeMap<Tenant, Limit>,
    /// The most accounts of one tenant.
    pub cap: Option<u32>,
    /// The credentials of accounts; one that is not named has its own.
    pub credentials: BTreeMap<AccountName, String>,
    /// When the entries of accounts were made.
    pub made: BTreeMap<AccountName, Timestamp>,
    /// Accounts whose entries somebody else ever changed. We may have decided on what they were before.
    pub meddled: BTreeSet<AccountName>,
    /// Accounts that Shoots were in that no assignment stands for. A cache may show some that are gone.
    pub crowded: BTreeSet<AccountName>,
    /// Shoots that came so lately that nobody need have seen them.
    pub young: BTreeSet<String>,
    /// The ledger lost its last commits, is led twice, or is being rebuilt, and does not agree with the world yet. Until it does,
    /// only what requests were told, and the ledger by itself, can be right or wrong.
    pub lost: bool,
    /// Requests whose status came back with their server: it is not what an operator wrote last.
    pub returned: BTreeSet<RequestUid>,
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The pool that it is for; none where it cannot be granted.
    pub pool: Option<PoolKey>,
    /// The tenant that it is for; nobody in a shared pool.
    pub tenant: Option<Tenant>,
    /// How far it is, as its status says.
    pub phase: Option<SubscriptionPhase>,
    /// The account that its status names.
    pub account: Option<AccountName>,
    /// The tenant that its status names.
    pub published_tenant: Option<Tenant>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether somebody else holds it still, and only they can let it go.
    pub held: bool,
}

/// A Shoot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grown {
    /// The account it is in.
    pub account: AccountName,
    /// The request it is for; none: nobody asked us for it.
    pub request: Option<RequestUid>,
}

impl Scene {
    /// What must hold at any moment, between any two writes.
    pub fn violations(&self) -> Vec<Violation> {
        let mut violations = books(&self.books);
        violations.extend(self.promised());
        if !self.lost {
            violations.extend(self.disagreements());
        }
        violations
    }

    /// What the ledger says otherwise than labels, statuses and Shoots.
    pub fn disagreements(&self) -> Vec<Violation> {
        let mut violations = self.published();
        violations.extend(self.labels());
        violations.extend(self.tenants());
        violations.extend(self.full());
        violations.extend(self.shoots_without_seat());
        violations.extend(self.one_account_of_two());
        violations.extend(self.over_cap());
        violations.extend(self.wrong_pools());
        violations
    }

    /// What must hold too when nothing is left to do.
    pub fn at_rest(&self) -> Vec<Violation> {
        let settled = Self { lost: false, returned: BTreeSet::new(), ..self.clone() };
        let mut violations = settled.violations();
        violations.extend(self.unsettled());
        violations.extend(self.leaked());
        violations.extend(self.could_be_served());
        violations
    }

    pub(super) fn row(&self, account: &AccountName) -> Option<&Held> {
        self.books.accounts.iter().find(|held| held.account == *account)
    }

    pub(super) fn seat(&self, request: &RequestUid) -> Option<&Seat> {
        self.books.seats.iter().find(|seat| seat.request == *request)
    }

    pub(super) fn seats_in(&self, account: &AccountName) -> u32 {
        count(self.books.seats.iter().filter(|seat| seat.account == *account))
    }

    /// A name in a status is a promise: the ledger keeps it.
    fn published(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        let requests = self.requests.iter().filter(|(request, _)| !self.returned.contains(*request));
        for (request, asked) in requests.filter(|(_, asked)| !asked.deleting) {
            let is_bound = asked.phase == Some(SubscriptionPhase::Bound);
            let Some(account) = &asked.account else {
                violations.extend(is_bound.then(|| Violation::BoundToNothing(request.clone())));
                continue;
            };
            match self.seat(request) {
                Some(seat) if seat.account != *account => {
                    violations.push(Violation::PublishedElsewhere(seat.clone(), account.clone()));
                }
                Some(seat) if seat.tenant != asked.published_tenant => {
                    violations.push(Violation::PublishedFor(seat.clone(), asked.published_tenant.clone()));
                }
                Some(_) => (),
                None => violations.push(Violation::PublishedOnly(request.clone(), account.clone())),
            }
        }
        violations
    }

    /// Labels that nobody else wrote agree with the ledger.
    fn labels(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        for (account, entry) in self.entries.iter().filter(|(account, _)| !self.tampered.contains(account)) {
            if entry.dirty && self.seats_in(account) > 0 {
                violations.push(Violation::DirtyWithSeats(account.clone(), self.seats_in(account)));
            }
            let Some(labelled) = &entry.tenant else { continue };
            let row = self.row(account);
            if row.and_then(|row| row.holding.tenant()) != Some(labelled) {
                let holding = row.map_or(Holding::Free, |row| row.holding.clone());
                violations.push(Violation::LabelledOtherwise(account.clone(), labelled.clone(), holding));
            }
        }
        violations
    }

    /// No dedicated account is two tenants', and no tenant that may have one account has two.
    fn tenants(&self) -> Vec<Violation> {
        let mut tenants: BTreeMap<&AccountName, BTreeSet<&Tenant>> = BTreeMap::new();
        let dedicated = self.books.accounts.iter().filter(|held| !held.pool.shared);
        for held in dedicated.clone() {
            if let Holding::Claiming(tenant) | Holding::Claimed(tenant) | Holding::Draining(tenant) =
                &held.holding
            {
                tenants.entry(&held.account).or_default().insert(tenant);
            }
        }
        let mut also = |account, tenant| {
            if let Some(tenants) = tenants.get_mut(account) {
                tenants.insert(tenant);
            }
        };
        let requests = self.requests.iter().filter(|(request, _)| !self.returned.contains(*request));
        for (_, asked) in requests.filter(|(_, asked)| !asked.deleting) {
            if let (Some(account), Some(tenant)) = (&asked.account, &asked.published_tenant) {
                also(account, tenant);
            }
        }
        for shoot in self.shoots.values() {
            let asked = shoot.request.as_ref().and_then(|uid| self.requests.get(uid));
            if let Some(tenant) = asked.and_then(|asked| asked.tenant.as_ref()) {
                also(&shoot.account, tenant);
            }
        }
        let twice = tenants.into_iter().filter(|(_, tenants)| tenants.len() > 1);
        let mut violations: Vec<Violation> = twice
            .map(|(account, tenants)| {
                Violation::TwoTenants(account.clone(), tenants.into_iter().cloned().collect())
            })
            .collect();
        let mut held: BTreeMap<(&Tenant, &PoolKey), Vec<AccountName>> = BTreeMap::new();
        for row in dedicated.filter(|row| !self.tampered.contains(&row.account)) {
            if let Holding::Claiming(tenant) | Holding::Claimed(tenant) = &row.holding
                && !self.limits.contains_key(tenant)
            {
                held.entry((tenant, &row.pool)).or_default().push(row.account.clone());
            }
        }
        let several = held.into_iter().filter(|(_, accounts)| accounts.len() > 1);
        violations
            .extend(several.map(|((tenant, _), accounts)| Violation::TwoAccounts(tenant.clone(), accounts)));
        violations
    }

    fn full(&self) -> Vec<Violation> {
        let limit = |held: &Held| held.holding.tenant().and_then(|tenant| self.limits.get(tenant)).copied();
        let rows = self.books.accounts.iter().filter(|held| !held.pool.shared);
        rows.filter_map(|held| {
            let (limit, seats) = (limit(held)?, self.seats_in(&held.account));
            (seats > limit.0).then(|| Violation::OverLimit(held.account.clone(), seats, limit))
        })
        .collect()
    }

    /// A request keeps its account for as long as its Shoot is there.
    fn shoots_without_seat(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        for (name, shoot) in &self.shoots {
            let Some(request) = shoot.request.as_ref().filter(|request| !self.torn.contains(*request)) else {
                continue;
            };
            if self.seat(request).is_none_or(|seat| seat.account != shoot.account) {
                violations.push(Violation::ShootWithoutSeat(
                    name.clone(),
                    shoot.account.clone(),
                    request.clone(),
                ));
            }
        }
        violations
    }

    fn unsettled(&self) -> Vec<Violation> {
        let settled = [SubscriptionPhase::Bound, SubscriptionPhase::Waiting, SubscriptionPhase::Denied];
        let mut violations = Vec::new();
        for (request, asked) in self.requests.iter().filter(|(uid, _)| !self.untrusted.contains(*uid)) {
            if asked.deleting {
                if asked.held {
                    continue;
                }
                violations.push(Violation::NeverReleased(request.clone()));
            } else if !asked.phase.is_some_and(|phase| settled.contains(&phase)) {
                violations.push(Violation::NeverDecided(request.clone()));
            }
            let waits = asked.phase == Some(SubscriptionPhase::Waiting);
            if !asked.deleting && waits != self.books.waiting.contains(request) {
                violations.push(Violation::WaitsOtherwise(request.clone(), waits));
            }
        }
        let gone = self.books.waiting.iter().filter(|request| !self.requests.contains_key(request));
        violations.extend(gone.map(|request| Violation::GoneButWaiting(request.clone())));
        violations
    }

    fn leaked(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        // A request keeps its account for as long as its Shoot is there.
        let has_shoot =
            |seat: &Seat| self.shoots.values().any(|shoot| shoot.request.as_ref() == Some(&seat.request));
        let gone = self.books.seats.iter().filter(|seat| !self.requests.contains_key(&seat.request));
        for seat in gone.filter(|seat| !has_shoot(seat)) {
            violations.push(Violation::GoneButSeated(seat.clone()));
        }
        for held in &self.books.accounts {
            let empty = self.is_empty(&held.account);
            let never_at_rest = match &held.holding {
                // Its entry is gone: only a person can tell.
                _ if !self.entries.contains_key(&held.account) => false,
                Holding::Claiming(_) => true,
                Holding::Claimed(_) => empty && !self.tampered.contains(&held.account),
                Holding::Draining(_) => empty && !self.tampered.contains(&held.account),
                Holding::Free | Holding::Dirty(_) => false,
            };
            if never_at_rest {
                violations.push(Violation::Leaked(held.account.clone(), held.holding.clone()));
            }
        }
        violations
    }

    /// Whoever waits, waits for something that is not there.
    fn could_be_served(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        for (request, asked) in &self.requests {
            let waits = asked.phase == Some(SubscriptionPhase::Waiting) && !asked.deleting;
            let Some(pool) = asked.pool.as_ref().filter(|_| waits) else { continue };
            let usable = match &asked.tenant {
                None => self.usable_shared(pool),
                Some(tenant) => self.usable_of(tenant, pool),
            };
            if let Some(account) = usable {
                violations.push(Violation::CouldBeServed(request.clone(), account.clone()));
            }
        }
        violations
    }

    fn usable_shared(&self, pool: &PoolKey) -> Option<&AccountName> {
        let usable = |(account, entry): &(&AccountName, &Entry)| {
            let is_nobodys =
                self.row(account).is_none_or(|row| row.holding == Holding::Free && row.pool.shared);
            entry.is_shared()
                && entry.pool.as_ref() == Some(pool)
                && is_nobodys
                && !self.quarantined.contains(account)
                && !self.is_occupied_twin(account)
        };
        self.entries.iter().find(usable).map(|(account, _)| account)
    }

    fn usable_of(&self, tenant: &Tenant, pool: &PoolKey) -> Option<&AccountName> {
        let holds = |row: &&Held| row.holding.takes_clusters_of(tenant);
        let mut own = self.books.accounts.iter().filter(holds).filter(|row| row.pool == *pool).peekable();
        let limit = self.limits.get(tenant);
        if limit.is_none() && own.peek().is_some() {
            return own.find(|row| self.is_open(&row.account)).map(|row| &row.account);
        }
        let has_room = |row: &&Held| {
            let clusters = self.clusters_in(&row.account, |_| true);
            self.is_open(&row.account) && limit.is_some_and(|limit| clusters < limit.0)
        };
        if let Some(row) = own.find(has_room) {
            return Some(&row.account);
        }
        if self.cap.is_some_and(|cap| self.held_by(tenant, |_| true) >= cap) {
            return None;
        }
        let is_free = |(account, entry): &(&AccountName, &Entry)| {
            let row = self.row(account);
            entry.is_free()
                && entry.pool.as_ref() == Some(pool)
                && row.is_none_or(|row| row.holding == Holding::Free)
                && self.seats_in(account) == 0
                && !self.quarantined.contains(account)
                && !self.is_occupied(account)
        };
        self.entries.iter().find(is_free).map(|(account, _)| account)
    }
}

pub(super) fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}
