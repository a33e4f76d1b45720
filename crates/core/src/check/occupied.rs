//! What must hold of who gets which account: nobody else's Shoots are in it, it is one account, and it is the right one.

use super::{Grown, Held, Scene, Seat, Violation, scene::count};
use crate::pool::{AccountName, Entry, Holding, PoolKey, RequestUid, Tenant, Twin, is_contested, stands_for};
use std::collections::{BTreeMap, BTreeSet};

impl Scene {
    /// The violations in our writing a tenant's name on an account now.
    pub fn labelling(&self, account: &AccountName, tenant: &Tenant) -> Option<Violation> {
        let is_in_it = |(name, shoot): &(&String, &Grown)| {
            self.are_one(&shoot.account, account) && !self.young.contains(*name)
        };
        let shoots: Vec<String> = self.shoots.iter().filter(is_in_it).map(|(name, _)| name.clone()).collect();
        (!shoots.is_empty()).then(|| Violation::TookOccupied(account.clone(), tenant.clone(), shoots))
    }

    /// Whether an account that is free by its labels is not to be had.
    pub(super) fn is_occupied(&self, account: &AccountName) -> bool {
        let twins = self.twins_of(account);
        let has_shoots = self.shoots.values().any(|shoot| self.are_one(&shoot.account, account));
        has_shoots || stands_for(&twins).is_some_and(|one| one != account)
    }

    /// Whether nothing is in an account, by whichever of its entries.
    pub(super) fn is_empty(&self, account: &AccountName) -> bool {
        self.clusters_in(account, |_| true) == 0
    }

    /// Whether an account that a tenant holds takes new clusters.
    pub(super) fn is_open(&self, account: &AccountName) -> bool {
        !self.quarantined.contains(account) && !is_contested(&self.twins_of(account))
    }

    /// The clusters in an account: assignments, and Shoots that none of them stands for, of those that count.
    pub(super) fn clusters_in(&self, account: &AccountName, counts: impl Fn(&str) -> bool) -> u32 {
        let seats = count(self.books.seats.iter().filter(|seat| self.are_one(&seat.account, account)));
        let mut stood_for = BTreeSet::new();
        let shoots = self.shoots.iter().filter(|(name, _)| counts(name));
        let others =
            shoots.filter(|(_, shoot)| self.are_one(&shoot.account, account)).filter(|(_, shoot)| {
                let seat = shoot.request.as_ref().and_then(|request| self.seat(request));
                let is_seated = seat.is_some_and(|seat| self.are_one(&seat.account, account));
                !(is_seated && stood_for.insert(shoot.request.clone()))
            });
        seats + count(others)
    }

    /// How many accounts a tenant holds, of those that count; entries with the same credentials are one.
    pub(super) fn held_by(&self, tenant: &Tenant, counts: impl Fn(&AccountName) -> bool) -> u32 {
        let held = self.books.accounts.iter().filter(|row| row.holding.takes_clusters_of(tenant));
        let credentials: BTreeSet<&str> =
            held.filter(|row| counts(&row.account)).map(|row| self.credential_of(&row.account)).collect();
        count(credentials.into_iter())
    }

    /// Entries with the same credentials are one account, and one tenant's.
    pub(super) fn one_account_of_two(&self) -> Vec<Violation> {
        let mut groups: BTreeMap<&str, Vec<&Held>> = BTreeMap::new();
        for row in self.books.accounts.iter().filter(|row| !self.is_meddled(&row.account)) {
            if let Holding::Claiming(_) | Holding::Claimed(_) | Holding::Draining(_) = row.holding {
                groups.entry(self.credential_of(&row.account)).or_default().push(row);
            }
        }
        let tenants = |rows: &[&Held]| -> BTreeSet<Tenant> {
            rows.iter().filter_map(|row| row.holding.tenant().cloned()).collect()
        };
        let of_two = groups.into_values().filter(|rows| tenants(rows).len() > 1);
        of_two
            .map(|rows| {
                let accounts = rows.iter().map(|row| row.account.clone()).collect();
                Violation::OneAccountOfTwo(accounts, tenants(&rows).into_iter().collect())
            })
            .collect()
    }

    /// No tenant has more accounts than it may, but those that somebody else gave it.
    pub(super) fn over_cap(&self) -> Vec<Violation> {
        let Some(cap) = self.cap else { return Vec::new() };
        let tenants: BTreeSet<&Tenant> =
            self.books.accounts.iter().filter_map(|row| row.holding.tenant()).collect();
        let ours = |account: &AccountName| !self.is_meddled(account);
        let held = tenants.into_iter().map(|tenant| (tenant, self.held_by(tenant, ours)));
        held.filter(|(_, held)| *held > cap)
            .map(|(tenant, held)| Violation::OverCap(tenant.clone(), held, cap))
            .collect()
    }

    /// A request is in an account of the pool that it is for.
    pub(super) fn wrong_pools(&self) -> Vec<Violation> {
        let seats = self.books.seats.iter().filter(|seat| !self.is_meddled(&seat.account));
        seats
            .filter_map(|seat| {
                let pool = self.requests.get(&seat.request)?.pool.as_ref()?;
                let labelled = self.entries.get(&seat.account)?.pool.as_ref();
                let row = self.row(&seat.account).map(|row| &row.pool);
                let is_right = labelled == Some(pool) && row.is_none_or(|row| row == pool);
                (!is_right).then(|| Violation::WrongPool(seat.clone(), pool.clone()))
            })
            .collect()
    }

    /// The violations in a seat that was just given; `self` is the moment before.
    pub(super) fn seated(&self, after: &Self, seat: &Seat) -> Vec<Violation> {
        let Some(asked) = self.requests.get(&seat.request) else { return Vec::new() };
        // What status and binding prove is healed, whatever the limit says.
        if asked.account.is_some() {
            return Vec::new();
        }
        let mut violations = Vec::new();
        let settled = |name: &str| {
            let is_own = |shoot: &Grown| shoot.request.as_ref() == Some(&seat.request);
            !self.young.contains(name) && !self.shoots.get(name).is_some_and(is_own)
        };
        let clusters = self.clusters_in(&seat.account, settled);
        let limit = seat.tenant.as_ref().and_then(|tenant| self.limits.get(tenant));
        if let Some(limit) = limit.filter(|limit| clusters >= limit.0) {
            violations.push(Violation::OverLimit(seat.account.clone(), clusters + 1, *limit));
        }
        if let (None, Some(pool)) = (&seat.tenant, &asked.pool) {
            let other = self.less_used(&seat.account, pool);
            violations.extend(other.map(|other| Violation::NotLeastUsed(seat.clone(), other.clone())));
        }
        if let (Some(tenant), Some(pool)) = (&seat.tenant, &asked.pool) {
            let was_held = self.row(&seat.account).is_some_and(|row| row.holding.takes_clusters_of(tenant));
            let other = after.whose_turn_it_was(self, seat, tenant, pool).filter(|_| !was_held);
            violations.extend(other.map(|other| Violation::OutOfTurn(seat.clone(), other)));
        }
        violations
    }

    /// The violations in the accounts that were just claimed; `self` is the moment before.
    pub(super) fn claimed(&self, after: &Self) -> Vec<Violation> {
        let Some(cap) = after.cap else { return Vec::new() };
        let new = after.books.accounts.iter().filter_map(|row| match &row.holding {
            Holding::Claiming(tenant)
                if self.row(&row.account).is_none_or(|old| old.holding != row.holding) =>
            {
                Some(tenant)
            }
            _ => None,
        });
        new.map(|tenant| (tenant, after.held_by(tenant, |_| true)))
            .filter(|(_, held)| *held > cap)
            .map(|(tenant, held)| Violation::OverCap(tenant.clone(), held, cap))
            .collect()
    }

    /// A shared account of a pool that is surely known to have fewer clusters than this one.
    fn less_used(&self, account: &AccountName, pool: &PoolKey) -> Option<&AccountName> {
        // Shoots that no assignment stands for are counted from a cache; the others are exact.
        let has_others =
            |account: &AccountName| self.clusters_in(account, |_| true) != self.seats_in(account);
        let is_sure = |(other, entry): &(&AccountName, &Entry)| {
            entry.is_shared()
                && entry.pool.as_ref() == Some(pool)
                && !self.is_meddled(other)
                && !self.quarantined.contains(*other)
                && !self.is_occupied_twin(other)
                && !self.crowded.contains(*other)
                && !has_others(other)
        };
        let seats = self.seats_in(account);
        if has_others(account) {
            return None;
        }
        self.entries
            .iter()
            .filter(is_sure)
            .map(|(other, _)| other)
            .find(|other| *other != account && self.seats_in(other) > 0 && self.seats_in(other) < seats)
    }

    /// Somebody who waited for a free account before this request, and for whom there is none now; `self` is the moment after.
    /// Only where no account of the pool was changed by others: what was decided on may have been more.
    fn whose_turn_it_was(
        &self,
        before: &Self,
        seat: &Seat,
        tenant: &Tenant,
        pool: &PoolKey,
    ) -> Option<RequestUid> {
        let of_pool = || self.entries.iter().filter(|(_, entry)| entry.pool.as_ref() == Some(pool));
        let is_odd = |account: &AccountName| {
            let has_shoots = self.shoots.values().any(|shoot| {
                shoot.account == *account
                    && shoot.request.as_ref().is_none_or(|request| self.seat(request).is_none())
            });
            let was_crowded = has_shoots || self.crowded.contains(account);
            self.is_meddled(account) || was_crowded || self.twins_of(account).len() > 1
        };
        let has_gone = self.meddled.iter().any(|account| !self.entries.contains_key(account));
        if has_gone || of_pool().any(|(account, _)| is_odd(account)) {
            return None;
        }
        let is_free = |account: &AccountName, entry: &Entry| {
            entry.is_free()
                && self.row(account).is_none_or(|row| row.holding == Holding::Free)
                && self.seats_in(account) == 0
                && !self.quarantined.contains(account)
        };
        let free = count(of_pool().filter(|(account, entry)| is_free(account, entry)));
        let waiting = before.books.waiting.iter().take_while(|request| **request != seat.request);
        let mut tenants = BTreeSet::new();
        let mut ahead = waiting.filter(|request| {
            before.requests.get(*request).is_some_and(|asked| {
                let other = asked.tenant.as_ref().filter(|other| *other != tenant);
                asked.pool.as_ref() == Some(pool)
                    && !asked.deleting
                    && other.is_some_and(|other| self.may_claim(other, pool) && tenants.insert(other.clone()))
            })
        });
        ahead.nth(usize::try_from(free).unwrap_or(usize::MAX)).cloned()
    }

    /// Whether a free account is what a tenant lacks.
    fn may_claim(&self, tenant: &Tenant, pool: &PoolKey) -> bool {
        let mut own = self
            .books
            .accounts
            .iter()
            .filter(|row| row.holding.takes_clusters_of(tenant) && row.pool == *pool);
        // Whoever waits for something else has to ask again before it waits for an account, and whether accounts have room is
        // counted from a cache in part.
        self.cap.is_none() && !self.limits.contains_key(tenant) && own.next().is_none()
    }

    pub(super) fn is_occupied_twin(&self, account: &AccountName) -> bool {
        let twins = self.twins_of(account);
        is_contested(&twins) || stands_for(&twins).is_some_and(|one| one != account)
    }

    fn twins_of(&self, account: &AccountName) -> Vec<Twin<'_>> {
        let entries = self.entries.iter().filter(|(other, _)| self.are_one(other, account));
        let twin = |(account, entry)| {
            let held = self.row(account).is_some_and(|row| row.holding != Holding::Free);
            Twin { account, entry, created: self.made.get(account).copied(), taken: held }
        };
        entries.map(twin).collect()
    }

    pub(super) fn credential_of<'a>(&'a self, account: &'a AccountName) -> &'a str {
        self.credentials.get(account).map_or(account.as_str(), String::as_str)
    }

    fn are_one(&self, one: &AccountName, other: &AccountName) -> bool {
        self.credential_of(one) == self.credential_of(other)
    }

    pub(super) fn is_meddled(&self, account: &AccountName) -> bool {
        self.meddled.contains(account) || self.tampered.contains(account)
    }
}

#[cfg(test)]
mod tests;
