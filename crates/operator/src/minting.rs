//! Tokens that clusters gave: counted for each request, and kept until they are published.
//!
//! A token that could not be published is published with the next attempt; no other one is asked for. It is the only secret that
//! outlives a reconcile, and it is dropped as soon as it is published. How many tokens one cause may cost is decided by
//! [`allotment_core::access::minting`].

use allotment_core::access::minting::{Cause, Minted};
use jiff::Timestamp;
use secrecy::SecretString;
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The tokens that clusters gave to this process, by the name of the request. `P` is the purpose of a token; a token with another
/// purpose is never published.
#[derive(Debug)]
pub(crate) struct Minting<N, P> {
    counted: Mutex<BTreeMap<N, Minted>>,
    unpublished: Mutex<BTreeMap<N, Given<P>>>,
}

/// A token as a cluster gave it.
#[derive(Clone, Debug)]
pub(crate) struct Given<P> {
    pub(crate) token: SecretString,
    pub(crate) issued: Timestamp,
    pub(crate) end: Timestamp,
    pub(crate) purpose: P,
}

impl<P> Given<P> {
    /// Half of its life must be left: whoever reads it has it for that long at least.
    fn is_fresh(&self, now: Timestamp) -> bool {
        self.end.duration_since(now).as_millis() * 2 >= self.end.duration_since(self.issued).as_millis()
    }
}

impl<N, P> Default for Minting<N, P> {
    fn default() -> Self {
        Self { counted: Mutex::default(), unpublished: Mutex::default() }
    }
}

impl<N: Ord + Clone, P: Clone + PartialEq> Minting<N, P> {
    /// The token that was given for this purpose and is not published yet.
    pub(crate) fn unpublished(&self, name: &N, purpose: &P, now: Timestamp) -> Option<Given<P>> {
        let kept = lock(&self.unpublished).get(name).cloned();
        kept.filter(|kept| kept.purpose == *purpose && kept.is_fresh(now))
    }

    /// Whether a token waits to be published that was asked for something like this.
    pub(crate) fn keeps(&self, name: &N, is_like: impl FnOnce(&P) -> bool) -> bool {
        lock(&self.unpublished).get(name).is_some_and(|kept| is_like(&kept.purpose))
    }

    /// Counts a token, and keeps it until it is published.
    pub(crate) fn given(&self, name: &N, cause: Cause, given: Given<P>) {
        let mut counted = lock(&self.counted);
        let before = counted.remove(name);
        counted.insert(name.clone(), Minted::count(before, cause, given.issued, given.end));
        lock(&self.unpublished).insert(name.clone(), given);
    }

    /// The moment before which no other token is asked for; none if one may be asked for now.
    pub(crate) fn none_before(&self, name: &N, cause: &Cause, now: Timestamp) -> Option<Timestamp> {
        lock(&self.counted).get(name).and_then(|minted| minted.wait(cause, now))
    }

    /// No token is kept any longer.
    pub(crate) fn forget_unpublished(&self) {
        lock(&self.unpublished).clear();
    }

    /// The token is published: it is not kept any longer.
    pub(crate) fn published(&self, name: &N) {
        lock(&self.unpublished).remove(name);
    }

    /// Forgets the tokens of a request whose access was revoked. Access that is granted anew is another cause.
    pub(crate) fn taken_back(&self, name: &N) {
        lock(&self.unpublished).remove(name);
        lock(&self.counted).remove(name);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
