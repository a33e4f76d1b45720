//! What is followed, kept in an index, and what has to be looked at then.

use super::follow::{Position, Seen, Source, follow};
use std::{
    fmt::Debug,
    sync::{Mutex, PoisonError},
};
use tokio::sync::watch;

/// What is known, of several kinds.
pub trait Index {
    /// Which kind.
    type Followed: Copy + Debug;
    /// Something to look at.
    type Task;

    /// A list begins.
    fn restart(&mut self, what: Self::Followed);

    /// A list has ended: what it did not name is gone.
    fn listed(&mut self, what: Self::Followed) -> Vec<Self::Task>;
}

/// Where what is learned goes.
pub struct Keeper<'a, I: Index> {
    /// What is known.
    pub index: &'a Mutex<I>,
    /// Counts up with every change.
    pub changed: &'a watch::Sender<u64>,
    /// Takes what is to be looked at.
    pub add: &'a (dyn Fn(I::Task) + Send + Sync),
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
        follow(source, labels, Position::new(), |seen| {
            let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
            let tasks = match seen {
                Seen::Restarted => {
                    index.restart(what);
                    Vec::new()
                }
                Seen::Applied(object) => learn(&mut index, object),
                Seen::Deleted(object) => forget(&mut index, object),
                Seen::Listed => index.listed(what),
                Seen::Unreadable(name, why) => {
                    tracing::warn!(?what, name, why, "an object cannot be read; it is left alone");
                    Vec::new()
                }
            };
            drop(index);
            tasks.into_iter().for_each(|task| (self.add)(task));
            self.changed.send_modify(|count| *count += 1);
        })
        .await;
    }
}
