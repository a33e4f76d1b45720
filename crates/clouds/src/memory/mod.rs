//! Cloud accounts that exist in memory, of any cloud with a table, for simulations and the demo.
//!
//! They follow the tables of [`allotment_core::cleanup::kinds`]: items block each other, deletions take time, and counts see
//! more than lists. `models` has the particulars of each cloud as data: the items of a new account, the leftovers of a Shoot,
//! states, codes and counts. There is no randomness and no clock but [`tokio::time`]'s, so one seed of a simulation replays
//! everything.
//!
//! An item that names another one's id in an attribute blocks the deletion of that one, unless the table says that it
//! goes with it. [`HOLDS`] and [`GOES_WITH_HOLDER`] say the rest: an instance holds its interfaces and volumes.
//!
//! ```
//! use allotment_clouds::{Cloud, memory::{MemoryCloud, leftovers_of_shoot}};
//! use allotment_core::cleanup::{Cloud as CloudName, CloudAccountId, Place, ShootHistory};
//!
//! let (cloud, account, place) = (MemoryCloud::new(), CloudAccountId::of("subscription-1"), Place::of("eu-1"));
//! cloud.add_account(CloudName::Azure, account.clone(), [place.clone()]);
//! assert!(cloud.leftovers(&account).is_empty());
//! for (item, nature) in leftovers_of_shoot(CloudName::Azure, &account, "shoot--p--c", &place) {
//!     cloud.put(&account, item, nature);
//! }
//! let client = cloud.client(CloudName::Azure, &account, ShootHistory::Incomplete);
//! assert!(!client.kinds().is_empty());
//! ```

mod account;
mod calls;
mod client;
mod counts;
mod dependencies;
mod faults;
mod model;
mod models;
mod nature;
mod shoot;

#[cfg(test)]
mod tests;

pub use calls::Pace;
pub use client::MemoryClient;
pub use dependencies::{GOES_WITH_HOLDER, HOLDS};
pub use faults::Faults;
pub use nature::Nature;
pub use shoot::leftovers_of_shoot;

use account::Account;
use allotment_core::cleanup::{Cloud as CloudName, CloudAccountId, Item, ItemKey, Place, ShootHistory};
use model::model;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::time::Instant;

/// Accounts of clouds that exist in memory. Clones share them.
#[derive(Clone)]
pub struct MemoryCloud {
    state: Arc<Mutex<State>>,
    page_size: usize,
    pace: Option<Arc<dyn Pace>>,
}

impl fmt::Debug for MemoryCloud {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let accounts: Vec<CloudAccountId> = self.lock().accounts.keys().cloned().collect();
        formatter.debug_struct("MemoryCloud").field("accounts", &accounts).finish_non_exhaustive()
    }
}

/// The code with which a cloud refuses credentials that it does not accept, see [`Faults::revoked`].
pub fn code_of_revoked(cloud: CloudName) -> &'static str {
    model(cloud).codes.revoked
}

/// Small, so that almost every listing has several pages.
const PAGE_SIZE: usize = 2;

impl Default for MemoryCloud {
    fn default() -> Self {
        Self { state: Arc::default(), page_size: PAGE_SIZE, pace: None }
    }
}

#[derive(Default)]
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

    /// Calls wait for their turn, in the places whose limits clients of the real clouds respect.
    #[must_use]
    pub fn with_pace(self, pace: Arc<dyn Pace>) -> Self {
        Self { pace: Some(pace), ..self }
    }

    /// Adds an account with everything that the cloud puts into a new one, in each place: on AWS a default VPC with its
    /// parts. An account that is there already gets the places that it lacks, and stays one of its cloud.
    pub fn add_account(&self, cloud: CloudName, id: CloudAccountId, places: impl IntoIterator<Item = Place>) {
        let mut state = self.lock();
        let account = state.accounts.entry(id.clone()).or_insert_with(|| Account::new(model(cloud), id));
        places.into_iter().for_each(|place| account.add_place(place));
    }

    /// Puts an item into an account; its owner is the account unless it names another. One with the same key is
    /// replaced. A place that is missing is added; an account that was never added gets nothing.
    pub fn put(&self, account: &CloudAccountId, item: Item, nature: Nature) {
        if let Some(account) = self.lock().accounts.get_mut(account) {
            if !item.place.is_global() {
                account.add_place(item.place.clone());
            }
            account.put(item, nature, Instant::now());
        }
    }

    /// Removes an item at once, as whoever made it does. What it holds, and what is part of it, goes with it or is free.
    pub fn remove(&self, account: &CloudAccountId, item: &ItemKey) {
        if let Some(account) = self.lock().accounts.get_mut(account) {
            account.remove(item, Instant::now());
        }
    }

    /// A client of a cloud, with the credentials of an account. Roles and instance profiles of AWS are found through the history.
    pub fn client(&self, cloud: CloudName, account: &CloudAccountId, history: ShootHistory) -> MemoryClient {
        MemoryClient::new(self.clone(), model(cloud), account.clone(), history)
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

    /// The number of calls that clients of the real clouds would have made.
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
