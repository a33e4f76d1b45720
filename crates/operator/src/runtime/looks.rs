//! Looks into clusters: each has a time of its own, so that thousands are not looked into at once.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// How often a cluster is looked into: what was changed there behind our back is put back within the hour.
const LOOK: Duration = Duration::from_mins(30);

/// Spread over this time.
const JITTER: Duration = Duration::from_mins(25);

/// When to look into the cluster of each again.
#[derive(Debug)]
pub struct Looks<K> {
    from: Instant,
    next: Mutex<BTreeMap<K, Instant>>,
}

impl<K: Ord> Looks<K> {
    /// The first look of each is spread over the time from this moment on.
    pub fn new(from: Instant) -> Self {
        Self { from, next: Mutex::default() }
    }

    /// When the next one is due. `uid` is whose look it is.
    pub fn due(&self, name: &K, uid: Option<&str>) -> Instant {
        self.next().get(name).copied().unwrap_or_else(|| first_look(self.from, uid))
    }

    /// It was looked into now.
    pub fn have_seen(&self, name: K, uid: Option<&str>) {
        self.next().insert(name, next_look(uid));
    }

    /// They are to be looked into now, and not when their time comes.
    pub fn hurry(&self, names: impl IntoIterator<Item = K>) {
        let now = Instant::now();
        self.next().extend(names.into_iter().map(|name| (name, now)));
    }

    /// It is gone.
    pub fn forget(&self, name: &K) {
        self.next().remove(name);
    }

    fn next(&self) -> MutexGuard<'_, BTreeMap<K, Instant>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When to look first, at a start.
pub fn first_look(start: Instant, uid: Option<&str>) -> Instant {
    start + jitter(uid, LOOK + JITTER)
}

/// When to look again, after a look.
pub fn next_look(uid: Option<&str>) -> Instant {
    Instant::now() + LOOK + jitter(uid, JITTER)
}

/// The same for an object for ever, and another one for the next.
fn jitter(uid: Option<&str>, most: Duration) -> Duration {
    let mut hasher = DefaultHasher::new();
    uid.hash(&mut hasher);
    most * u32::try_from(hasher.finish() % 1000).unwrap_or(0) / 1000
}
