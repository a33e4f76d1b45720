//! How far a cache has come.

use super::kept::number;
use crate::planted::{Bed, Planted};
use std::{future::Future, sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, watch},
    time::timeout,
};

/// How far a cache has come. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Position {
    at: Arc<watch::Sender<At>>,
    hurry: Arc<Notify>,
    pub(crate) planted: Arc<Bed>,
}

#[derive(Clone, Copy, Debug, Default)]
struct At {
    version: u64,
    /// Whether a whole list was made since the server was last seen to have gone back. Versions mean nothing before that.
    is_settled: bool,
    /// How often the server was seen to have gone back.
    times_back: u32,
    /// How often somebody asked whether the server has gone back, and up to which of these questions the answer is known.
    asked: u32,
    answered: u32,
}

/// The moment at which a list began.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListStart {
    times_back: u32,
    asked: u32,
}

impl At {
    fn has_reached(self, version: u64) -> bool {
        self.is_settled && self.version >= version
    }
}

impl Position {
    /// At the beginning.
    pub fn new() -> Self {
        let at = Arc::new(watch::channel(At::default()).0);
        Self { at, hurry: Arc::new(Notify::new()), planted: Arc::default() }
    }

    /// The version that the cache has come to; 0 before the first list, and before the next one where the server went back.
    pub fn version(&self) -> u64 {
        let at = *self.at.borrow();
        if at.is_settled { at.version } else { 0 }
    }

    /// Reads the version of now, and waits until the cache is at least as new. Returns whether it came to that in time, and the
    /// version.
    ///
    /// A version below the one that the cache had come to before the read shows that the server was put back to an older state:
    /// what the cache knows is then of no state of the server, and it is listed anew.
    ///
    /// # Errors
    ///
    /// Why the version could not be read.
    pub async fn reach_live<E>(
        &self,
        read: impl Future<Output = Result<u64, E>>,
        limit: Duration,
    ) -> Result<(bool, u64), E> {
        let before = self.version();
        let version = read.await?;
        self.compare_live(before, version);
        Ok((self.reach(version, limit).await, version))
    }

    /// Compares a version that was read live with the one that the cache had come to before the read. Returns whether what the cache
    /// knows is of a state of the server.
    pub fn compare_live(&self, before: u64, version: u64) -> bool {
        if version < before {
            tracing::warn!(version, before, "the server was put back to an older state; it is listed anew");
            self.went_back();
        }
        self.at.borrow().is_settled
    }

    /// Has the follower compare the cache with the server of now, and waits until the cache is of a state of that server. Returns whether it
    /// came to that in time. The cache may still lag: [`Position::reach_live`] waits for that, too, which takes seconds.
    pub async fn confirm(&self, limit: Duration) -> bool {
        let mut changes = self.at.subscribe();
        let mut question = 0;
        self.at.send_modify(|at| {
            at.asked += 1;
            question = at.asked;
        });
        let is_confirmed = changes.wait_for(|at| at.is_settled && at.answered >= question);
        matches!(timeout(limit, is_confirmed).await, Ok(Ok(_)))
    }

    /// Has the follower list anew, whatever versions say, and waits until it has. Returns whether it came to that in time. A server that was
    /// put back and written to since is at a version that shows nothing.
    pub async fn relist(&self, limit: Duration) -> bool {
        let mut changes = self.at.subscribe();
        self.went_back();
        matches!(timeout(limit, changes.wait_for(|at| at.is_settled)).await, Ok(Ok(_)))
    }

    /// Waits until the cache is at least as new as this version, and says whether it came to that in time.
    pub async fn reach(&self, version: u64, limit: Duration) -> bool {
        let mut changes = self.at.subscribe();
        if changes.borrow().has_reached(version) {
            return true;
        }
        self.hurry.notify_one();
        let reached = timeout(limit, changes.wait_for(|now| now.has_reached(version))).await;
        matches!(reached, Ok(Ok(_)))
    }

    /// The server went back: nothing counts before a list that begins from now on has ended.
    pub(super) fn went_back(&self) {
        if self.overlooks_return() {
            return;
        }
        self.at.send_modify(|at| {
            at.is_settled = false;
            at.times_back += 1;
        });
    }

    /// Whether a planted fault has it that servers only go on.
    pub(super) fn overlooks_return(&self) -> bool {
        self.planted.has(Planted::ReturnUnseen)
    }

    /// A list begins; [`Position::is_listed_at`] wants to know when it did.
    pub(super) fn begins_list(&self) -> ListStart {
        let At { times_back, asked, .. } = *self.at.borrow();
        ListStart { times_back, asked }
    }

    /// A list has ended: this is the version, also if it is a lower one. It counts unless the server went back meanwhile.
    pub(super) fn is_listed_at(&self, version: u64, start: ListStart) {
        self.at.send_modify(|at| {
            at.version = version;
            at.is_settled = at.times_back == start.times_back;
            at.answered = at.answered.max(start.asked);
        });
    }

    /// Waits until somebody asks whether the server has gone back, and returns the number of the question.
    pub(super) async fn is_asked(&self) -> u32 {
        let mut changes = self.at.subscribe();
        let asked = changes.wait_for(|at| at.asked > at.answered).await;
        // The sender lives as long as this does.
        asked.map_or(0, |at| at.asked)
    }

    /// The server has not gone back, as of this question.
    pub(super) fn has_answered(&self, question: u32) {
        self.at.send_modify(|at| at.answered = at.answered.max(question));
    }

    /// A watch has told of everything up to this version.
    pub(super) fn is_at(&self, version: &str) -> u64 {
        // Servers promise that versions of one kind compare as numbers. One that does not is never caught up with.
        let version = number(Some(version));
        self.at.send_if_modified(|at| {
            let is_newer = at.is_settled && version > at.version;
            if is_newer {
                at.version = version;
            }
            is_newer
        });
        version
    }

    /// Waits until somebody waits for the cache to catch up.
    pub(super) async fn is_hurried(&self) {
        self.hurry.notified().await;
    }

    /// Waits until another list is needed, after the first.
    pub(super) async fn is_to_list(&self) {
        // The sender lives as long as this does.
        let _ = self.at.subscribe().wait_for(|at| !at.is_settled).await;
    }
}

impl Default for Position {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    const SHORT: Duration = Duration::from_millis(1);

    fn list(position: &Position, version: u64) {
        position.is_listed_at(version, position.begins_list());
    }

    async fn reach(position: &Position, live: u64) -> bool {
        let read = async { Ok::<_, Infallible>(live) };
        position.reach_live(read, SHORT).await.unwrap().0
    }

    #[tokio::test(start_paused = true)]
    async fn a_cache_is_as_new_as_what_it_was_told() {
        let position = Position::new();
        assert!(!reach(&position, 0).await, "nothing has been listed");
        list(&position, 5);
        assert!(reach(&position, 5).await && !reach(&position, 6).await);
        position.is_at("7");
        assert!(reach(&position, 7).await);
        assert_eq!(position.version(), 7);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_went_back_is_waited_for() {
        let position = Position::new();
        list(&position, 100);
        assert!(!reach(&position, 40).await, "what the cache knows is of another past");
        // What a watch says before the next list is of that past, too.
        position.is_at("101");
        assert!(!reach(&position, 40).await);
        list(&position, 41);
        assert!(reach(&position, 41).await);
        assert_eq!(position.version(), 41);
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_that_began_before_the_server_went_back_settles_nothing() {
        let position = Position::new();
        list(&position, 100);
        let begun = position.begins_list();
        position.went_back();
        position.is_listed_at(110, begun);
        assert!(!reach(&position, 40).await);
        list(&position, 40);
        assert!(reach(&position, 40).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cache_is_confirmed_by_a_comparison_or_a_list_that_began_later() {
        let position = Position::new();
        list(&position, 100);
        assert!(!position.confirm(SHORT).await, "nobody has compared");
        let start = position.begins_list();
        assert!(!position.confirm(SHORT).await);
        let asked = position.is_asked().await;
        position.is_listed_at(101, start);
        assert!(position.at.borrow().answered < asked, "that list began before the question");
        position.has_answered(asked);
        let listed = async { list(&position, 102) };
        let (confirmed, ()) = futures::join!(position.confirm(SHORT), listed);
        assert!(confirmed);
        let returned = async {
            position.went_back();
            position.has_answered(position.is_asked().await);
        };
        let (confirmed, ()) = futures::join!(position.confirm(SHORT), returned);
        assert!(!confirmed, "the list that it needs is not there");
    }

    #[tokio::test(start_paused = true)]
    async fn a_follower_that_is_faster_than_a_read_proves_nothing() {
        let position = Position::new();
        list(&position, 100);
        let read = async {
            position.is_at("120");
            Ok::<_, Infallible>(110)
        };
        assert_eq!(position.reach_live(read, SHORT).await, Ok((true, 110)));
    }
}
