//! AWS accounts that exist in memory, for simulations and the demo.
//!
//! They follow the table of AWS: items block each other, deletions take time, and counts see more than lists. There is
//! no randomness and no clock but [`tokio::time`]'s, so one seed of a simulation replays everything.
//!
//! An item that names another one's id in an attribute blocks the deletion of that one, unless the table says that it
//! goes with it. [`HOLDS`] and [`GOES_WITH_HOLDER`] say the rest: an instance holds its interfaces and volumes.
//!
//! ```
//! use allotment_clouds::{Cloud, memory::{MemoryCloud, leftovers_of_shoot}};
//! use allotment_core::cleanup::{CloudAccountId, Place, ShootHistory};
//!
//! let (cloud, account, place) = (MemoryCloud::new(), CloudAccountId::of("123456789012"), Place::of("eu-1"));
//! cloud.add_account(account.clone(), [place.clone()]);
//! assert!(cloud.leftovers(&account).is_empty());
//! for (item, nature) in leftovers_of_shoot("shoot--p--c", &place) {
//!     cloud.put(&account, item, nature);
//! }
//! let client = cloud.client(&account, ShootHistory::Incomplete);
//! assert!(!client.kinds().is_empty());
//! ```

mod account;
mod client;
mod dependencies;
mod faults;
mod nature;
mod pristine;
mod shoot;
mod states;

#[cfg(test)]
mod tests;

pub use client::MemoryClient;
pub use dependencies::{GOES_WITH_HOLDER, HOLDS};
pub use faults::Faults;
pub use nature::Nature;
pub use shoot::leftovers_of_shoot;

use account::Account;
use allotment_core::cleanup::{CloudAccountId, Item, ItemKey, Kind, Place, ShootHistory, kinds::table};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::time::Instant;

/// Accounts of a cloud that exists in memory. Clones share them.
#[derive(Clone, Debug)]
pub struct MemoryCloud {
    state: Arc<Mutex<State>>,
    page_size: usize,
}

/// Small, so that almost every listing has several pages.
const PAGE_SIZE: usize = 2;

impl Default for MemoryCloud {
    fn default() -> Self {
        Self { state: Arc::default(), page_size: PAGE_SIZE }
    }
}

#[derive(Debug, Default)]
struct State {
    accounts: BTreeMap<CloudAccountId, Account>,
    /// By the account that the credentials were made for.
    faults: BTreeMap<CloudAccountId, Faults>,
    calls: u64,
}

/// A deletion that the cloud accepted. The item may still be leaving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// The item.
    pub item: ItemKey,
    /// The time of the call.
    pub at: Instant,
}

impl MemoryCloud {
    /// A cloud without accounts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lists so many items in a page.
    #[must_use]
    pub fn with_page_size(self, page_size: usize) -> Self {
        Self { page_size, ..self }
    }

    /// Adds an account with everything that AWS puts into a new one, in each place: a default VPC with its parts. An
    /// account that is there already gets the places that it lacks.
    pub fn add_account(&self, id: CloudAccountId, places: impl IntoIterator<Item = Place>) {
        let mut state = self.lock();
        let account = state.accounts.entry(id.clone()).or_insert_with(|| Account::new(id));
        places.into_iter().for_each(|place| account.add_place(place));
    }

    /// Puts an item into an account; its owner is the account unless it names another. One with the same key is
    /// replaced. An account or place that is missing is added.
    pub fn put(&self, account: &CloudAccountId, item: Item, nature: Nature) {
        self.add_account(
            account.clone(),
            [item.place.clone()].into_iter().filter(|place| !place.is_global()),
        );
        if let Some(account) = self.lock().accounts.get_mut(account) {
            account.put(item, nature, Instant::now());
        }
    }

    /// Removes an item at once, as whoever made it does. What it holds, and what is part of it, goes with it or is free.
    pub fn remove(&self, account: &CloudAccountId, item: &ItemKey) {
        if let Some(account) = self.lock().accounts.get_mut(account) {
            account.remove(item, Instant::now());
        }
    }

    /// A client with the credentials of an account. Roles and instance profiles are found through the history.
    pub fn client(&self, account: &CloudAccountId, history: ShootHistory) -> MemoryClient {
        MemoryClient::new(self.clone(), account.clone(), history)
    }

    /// Everything that is really there, also hidden items, those that no list shows yet, and those that are leaving.
    pub fn items(&self, account: &CloudAccountId) -> Vec<Item> {
        self.inspect(account, |account| account.items(|_| true))
    }

    /// Everything that is really there and did not come with the account.
    pub fn leftovers(&self, account: &CloudAccountId) -> Vec<Item> {
        self.inspect(account, |account| account.items(|stored| !stored.came_with_account))
    }

    /// The accepted deletions, in order. Items that go with another one are not among them.
    pub fn deletions(&self, account: &CloudAccountId) -> Vec<Deletion> {
        self.inspect(account, |account| account.deletions.clone())
    }

    /// The faults that clients of an account meet.
    pub fn faults(&self, account: &CloudAccountId) -> Faults {
        self.lock().faults.get(account).cloned().unwrap_or_default()
    }

    /// Replaces the faults that clients of an account meet.
    pub fn set_faults(&self, account: &CloudAccountId, faults: Faults) {
        self.lock().faults.insert(account.clone(), faults);
    }

    /// The number of calls of all clients.
    pub fn calls(&self) -> u64 {
        self.lock().calls
    }

    fn inspect<T: Default>(&self, account: &CloudAccountId, read: impl FnOnce(&Account) -> T) -> T {
        let mut state = self.lock();
        let Some(account) = state.accounts.get_mut(account) else { return T::default() };
        account.advance(Instant::now());
        read(account)
    }

    /// A panic elsewhere leaves whole items behind, so the state is usable.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The row of a kind in the table of AWS.
fn row(kind: &str) -> Option<&'static Kind> {
    table(allotment_core::cleanup::Cloud::Aws).kind(kind)
}
