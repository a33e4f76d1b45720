//! Which accounts are to be had: the lists of free, shared and occupied accounts, as entries and Shoots come and go.
//!
//! Shoots are in an account by any binding with its credentials, in the project that is followed. Entries with the same
//! credentials are one account, and one of them stands for it.

use super::{
    Task,
    credentials::Credential,
    index::{BindingRef, Index, PoolEntry},
    learn::remove_from,
};
use crate::planted::Planted;
use allotment_core::pool::{
    AccountName, Occupied, PoolKey, Twin, is_contested, occupied_sentence, stands_for,
};
use std::collections::BTreeSet;

impl Index {
    /// Why an account is occupied, if it is.
    pub fn why_occupied(&self, account: &AccountName) -> Option<&Occupied> {
        let pool = self.entries.get(account)?.entry.pool.as_ref()?;
        self.occupied.get(pool)?.get(account)
    }

    /// Every occupied account.
    pub fn occupied(&self) -> impl Iterator<Item = (&AccountName, &Occupied)> {
        self.occupied.values().flatten()
    }

    /// The occupied accounts of a pool, for those who wait for it.
    pub fn occupied_in(&self, pool: &PoolKey) -> Option<String> {
        occupied_sentence(self.occupied.get(pool)?.iter())
    }

    /// The other entries with the credentials of an account.
    pub fn twins_of(&self, account: &AccountName) -> Vec<AccountName> {
        let same = self.entries.get(account).and_then(|entry| self.accounts_of.get(&entry.credential));
        same.into_iter().flatten().filter(|other| *other != account).cloned().collect()
    }

    /// Whether the labels of entries with the same credentials say that an account is used in two ways.
    pub fn is_contested(&self, account: &AccountName) -> bool {
        let known = self.entries.get(account);
        known.is_some_and(|entry| is_contested(&self.twins(&entry.credential)))
    }

    /// Credentials that several entries have, as `kind/namespace/name`: one account that looks like several.
    pub fn used_twice(&self) -> impl Iterator<Item = (&str, Vec<Twin<'_>>)> {
        let several = self.accounts_of.iter().filter(|(_, accounts)| accounts.len() > 1);
        several.map(|(credential, _)| (&**credential, self.twins(credential)))
    }

    /// Why an account that was claimed and is not labelled yet must not be labelled, if it must not.
    pub(super) fn in_the_way_of_a_claim(&self, account: &AccountName) -> Option<Occupied> {
        let is_in_use = |twin: &AccountName| {
            let entry = self.entries.get(twin);
            self.taken.contains(twin) || entry.is_some_and(|known| !known.entry.is_free())
        };
        let entries = self.twins_of(account).into_iter().filter(|twin| self.is_entry(twin));
        let other = entries.filter(|_| self.tells_twins_apart()).find(is_in_use);
        let other = other.map(Occupied::SameCredentials).or_else(|| self.users_of_a_gone_entry(account));
        other.or_else(|| self.shoots_that_occupy(account))
    }

    /// How many Shoots are known, if as many as that say everything: one that is being deleted may be gone by now, and
    /// another one may have come in its place.
    pub(super) fn settled_shoots(&self) -> Option<usize> {
        (self.deleting_shoots == 0).then(|| self.shoots())
    }

    /// An account was claimed: it is not free any more, whatever the watch has shown so far.
    pub fn take(&mut self, account: &AccountName) {
        self.taken.insert(account.clone());
        self.relist_with_twins(account);
    }

    /// An account that was taken is not after all.
    pub fn untake(&mut self, account: &AccountName) {
        self.taken.remove(account);
        self.relist_with_twins(account);
    }

    /// Puts the accounts that tasks are about into the lists that they belong to now.
    pub(super) fn relist_touched(&mut self, mut tasks: Vec<Task>) -> Vec<Task> {
        let accounts: BTreeSet<AccountName> = tasks
            .iter()
            .filter_map(|task| match task {
                Task::Account(account) => Some(account.clone()),
                _ => None,
            })
            .collect();
        tasks.extend(accounts.iter().filter_map(|account| self.relist(account)));
        tasks
    }

    /// Puts every account with these credentials into the list that it belongs to now.
    pub(super) fn relist_all(&mut self, credential: &Credential) -> Vec<Task> {
        let accounts = self.accounts_of.get(credential).cloned().unwrap_or_default();
        self.relist_touched(accounts.into_iter().map(Task::Account).collect())
    }

    /// The same without one of them, if there are others.
    pub(super) fn relist_others(&mut self, credential: &Credential, account: &AccountName) -> Vec<Task> {
        let mut accounts = self.accounts_of.get(credential).cloned().unwrap_or_default();
        accounts.remove(account);
        self.relist_touched(accounts.into_iter().map(Task::Account).collect())
    }

    /// Puts an account into the list that it belongs to now. Returns the task of its pool if that has one more to give.
    pub(super) fn relist(&mut self, account: &AccountName) -> Option<Task> {
        let known = self.entries.get(account)?;
        let (is_free, is_shared) = (known.entry.is_free(), known.entry.is_shared());
        let pool = known.entry.pool.clone().filter(|_| is_free || is_shared)?;
        let why = self.occupies(account, known);
        let was_listed = self.is_listed_as_free(account);
        self.unlist_from(&pool, account);
        if let Some(why) = why {
            self.occupied.entry(pool).or_default().insert(account.clone(), why);
            return None;
        }
        let list = if is_free { &mut self.free } else { &mut self.shared };
        list.entry(pool.clone()).or_default().insert(account.clone());
        (!was_listed || is_shared).then_some(Task::Pool(pool))
    }

    /// Whether an account is in the list of free ones.
    pub(super) fn is_listed_as_free(&self, account: &AccountName) -> bool {
        let pool = self.entries.get(account).and_then(|known| known.entry.pool.as_ref());
        pool.and_then(|pool| self.free.get(pool)).is_some_and(|free| free.contains(account))
    }

    /// Takes an account out of the lists of a pool.
    pub(super) fn unlist_from(&mut self, pool: &PoolKey, account: &AccountName) {
        remove_from(&mut self.free, pool, account);
        remove_from(&mut self.shared, pool, account);
        if let Some(occupied) = self.occupied.get_mut(pool) {
            occupied.remove(account);
            if occupied.is_empty() {
                self.occupied.remove(pool);
            }
        }
    }

    pub(super) fn credential_of(&self, binding: &BindingRef) -> Option<&Credential> {
        match binding {
            BindingRef::Credentials(name) => self.credentials_bindings.get(name),
            BindingRef::Secret(name) => self.secret_bindings.get(name),
        }
    }

    /// Whoever took the account, or gave it back, wakes those who wait.
    fn relist_with_twins(&mut self, account: &AccountName) {
        self.relist(account);
        for twin in self.twins_of(account) {
            self.relist(&twin);
        }
    }

    /// Why an account that is free or shared by its labels is not to be had.
    fn occupies(&self, account: &AccountName, known: &PoolEntry) -> Option<Occupied> {
        let stands = match self.tells_twins_apart() {
            true => stands_for(&self.twins(&known.credential)).filter(|one| *one != account),
            false => None,
        };
        let other = stands.cloned().map(Occupied::SameCredentials);
        if other.is_some() || !known.entry.is_free() {
            return other;
        }
        let used = self.users_of_a_gone_entry(account).or_else(|| self.users_of(account, known));
        used.or_else(|| self.shoots_that_occupy(account))
    }

    /// Requests whose statuses name an account that is free by its labels: somebody took the label away, or the ledger is younger
    /// than they are.
    fn users_of(&self, account: &AccountName, known: &PoolEntry) -> Option<Occupied> {
        let users = self.used_by.get(&known.credential)?.values().filter(|used| *used == account).count();
        let users = u32::try_from(users).unwrap_or(u32::MAX);
        (users > 0 && !self.planted.has(Planted::ShootsOccupyNothing)).then_some(Occupied::Requests(users))
    }

    /// The entry that requests have who use the credentials of an account, if it was deleted.
    fn users_of_a_gone_entry(&self, account: &AccountName) -> Option<Occupied> {
        let users = self.used_by.get(&self.entries.get(account)?.credential)?;
        let mut gone = users.values().filter(|used| !self.entries.contains_key(*used));
        gone.next().filter(|_| self.tells_twins_apart()).cloned().map(Occupied::EntryGone)
    }

    fn shoots_that_occupy(&self, account: &AccountName) -> Option<Occupied> {
        let count = self.count_shoots(account).all;
        (count > 0 && !self.planted.has(Planted::ShootsOccupyNothing)).then_some(Occupied::Shoots(count))
    }

    fn tells_twins_apart(&self) -> bool {
        !self.planted.has(Planted::SameCredentialsTwice)
    }

    fn is_entry(&self, account: &AccountName) -> bool {
        self.entries
            .get(account)
            .is_some_and(|known| known.entry.pool.is_some() || known.entry.tenant.is_some())
    }

    fn twins(&self, credential: &Credential) -> Vec<Twin<'_>> {
        let accounts = self.accounts_of.get(credential).into_iter().flatten();
        let twin = |account| {
            let (account, known) = self.entries.get_key_value(account)?;
            let taken = self.taken.contains(account);
            Some(Twin { account, entry: &known.entry, created: known.created, taken })
        };
        accounts.filter_map(twin).collect()
    }
}

#[cfg(test)]
mod tests;
