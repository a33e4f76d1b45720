//! What is followed, kept in an index, and what has to be looked at then.

use super::{
    follow::{Position, Seen, Source, follow},
    kept::Progress,
};
use futures::{StreamExt, stream::FuturesUnordered};
use kube::api::ObjectMeta;
use std::{
    collections::BTreeSet,
    fmt::Debug,
    future::Future,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

/// What is known, of several kinds.
pub trait Index {
    /// Which kind.
    type Followed: Copy + Debug;
    /// Something to look at.
    type Task;

    /// Whether every kind has been listed once.
    fn is_complete(&self) -> bool;

    /// Where what is known of a kind is kept.
    fn kept(&mut self, what: Self::Followed) -> &mut dyn Progress;

    /// A list has ended: what it did not name is gone.
    fn listed(&mut self, what: Self::Followed) -> Vec<Self::Task>;

    /// An object is back that was deleted: its server was put back. It is learned next.
    fn returned(&mut self, what: Self::Followed, metadata: &ObjectMeta) {
        let _ = (what, metadata);
    }
}

/// An index, and word of its changes.
#[derive(Debug, Default)]
pub struct Cache<I> {
    index: Mutex<I>,
    /// Counts up with every change.
    changed: watch::Sender<u64>,
}

impl<I: Index> Cache<I> {
    /// Nothing is followed yet.
    pub fn new(index: I) -> Self {
        Self { index: Mutex::new(index), changed: watch::Sender::default() }
    }

    /// What is known now.
    pub fn index(&self) -> MutexGuard<'_, I> {
        // Whoever panicked held it between two complete changes.
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears of every change.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Whether every kind has been listed once.
    pub fn is_complete(&self) -> bool {
        self.index().is_complete()
    }

    /// Waits until every kind has been listed once.
    pub async fn until_complete(&self) {
        let mut changes = self.changes();
        while !self.is_complete() {
            // The sender lives as long as we do.
            let _ = changes.changed().await;
        }
    }

    /// Somebody who follows kinds; `add` takes what is to be looked at.
    pub fn keeper<'a>(&'a self, add: &'a (dyn Fn(I::Task) + Send + Sync)) -> Keeper<'a, I> {
        Keeper { cache: self, add }
    }

    /// Runs a follower for each of these, from when it is first among them, for ever.
    pub async fn follow_each<F: Future<Output = ()>>(
        &self,
        these: impl Fn(&I) -> BTreeSet<String>,
        follower: impl Fn(String) -> F,
    ) {
        let mut changes = self.changes();
        let mut followed = BTreeSet::new();
        let mut followers = FuturesUnordered::new();
        loop {
            let these = these(&self.index());
            for name in these {
                if followed.insert(name.clone()) {
                    followers.push(follower(name));
                }
            }
            tokio::select! {
                biased;
                // The sender lives as long as we do.
                _ = changes.changed() => (),
                Some(()) = followers.next() => (),
            }
        }
    }
}

/// Where what is learned goes.
pub struct Keeper<'a, I: Index> {
    cache: &'a Cache<I>,
    add: &'a (dyn Fn(I::Task) + Send + Sync),
}

impl<I: Index> Keeper<'_, I> {
    /// Follows a kind for ever.
    pub async fn keep<S: Source>(
        &self,
        what: I::Followed,
        source: S,
        labels: Option<String>,
        learn: impl Fn(&mut I, S::Item) -> Vec<I::Task>,
        forget: impl Fn(&mut I, S::Item) -> Vec<I::Task>,
    ) {
        self.keep_up(what, source, labels, Position::new(), learn, forget).await;
    }

    /// The same, for who wants to know how far it has come.
    pub async fn keep_up<S: Source>(
        &self,
        what: I::Followed,
        source: S,
        labels: Option<String>,
        position: Position,
        learn: impl Fn(&mut I, S::Item) -> Vec<I::Task>,
        forget: impl Fn(&mut I, S::Item) -> Vec<I::Task>,
    ) {
        follow(source, labels, position, |seen| {
            let mut index = self.cache.index();
            let tasks = match seen {
                Seen::Restarted => {
                    index.kept(what).restart();
                    Vec::new()
                }
                Seen::Reached(version) => return index.kept(what).reached(version),
                Seen::Applied(object) => learn(&mut index, object),
                Seen::Deleted(object) => forget(&mut index, object),
                Seen::Returned(metadata) => return index.returned(what, &metadata),
                Seen::Listed => index.listed(what),
                Seen::Unreadable(name, why) => {
                    tracing::warn!(?what, name, why, "an object cannot be read; it is left alone");
                    Vec::new()
                }
            };
            drop(index);
            tasks.into_iter().for_each(|task| (self.add)(task));
            self.cache.changed.send_modify(|count| *count += 1);
        })
        .await;
    }
}
