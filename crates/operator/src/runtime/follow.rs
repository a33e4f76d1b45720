//! Following a kind of object: a list, then a watch, for ever.
//!
//! kube's own watcher hides bookmarks. We need them: what destroys something waits until the cache is at least as new as
//! a moment (see [`Position::reach_live`]).
//!
//! A server that was put back to an older state answers with versions below those that it answered with before. A watch from a
//! version that it has not come to yet stays silent, so a follower compares: each list with what it had seen before, and after a
//! watch the version of now. A server that went back is listed anew. A list alone does not show that: it may come from a cache that
//! lags, and believed it would undo what is known. The version of now, read by itself, decides.

#[cfg(test)]
mod tests;

pub use super::position::Position;
use super::{
    call::{DEADLINE, reason},
    graves::Graves,
    kept::number,
    position::ListStart,
};
use futures::{Stream, StreamExt, stream::BoxStream};
use kube::{
    Api, Resource,
    api::{ListParams, ObjectList, ObjectMeta, PartialObjectMeta, WatchEvent, WatchParams},
    core::DeserializeGuard,
};
use serde::de::DeserializeOwned;
use std::{fmt::Debug, future::Future, time::Duration};
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// How many objects a page of a list has.
const PAGE: u32 = 500;

/// How long a watch is kept open.
const WATCH_SECONDS: u32 = 290;

/// How long a watch is kept open when somebody waits for the cache to catch up: a server sends a bookmark shortly before
/// a watch ends, and otherwise only every minute.
const SHORT_WATCH_SECONDS: u32 = 3;

/// A watch that ends within this time, and the grace after it, is not cut short.
const SHORTEST: Duration = Duration::from_secs(SHORT_WATCH_SECONDS as u64 + 5);

/// A watch that ends this long before its time was not ended by the server's clock.
const EARLY: Duration = Duration::from_secs(2);

/// How long a page of a list may take: it is many objects. There is no limit for the list as a whole: a hundred thousand objects take minutes
/// on a busy server, and a list that is thrown away begins anew and never ends.
const PAGE_DEADLINE: Duration = Duration::from_secs(60);

/// The waits between failing attempts.
const WAITS: [Duration; 5] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// What is learned about a kind.
#[derive(Debug)]
pub enum Seen<K> {
    /// A list begins. What it does not name by its end is gone.
    Restarted,
    /// An object, new or changed.
    Applied(K),
    /// An object that is gone.
    Deleted(K),
    /// The list has ended.
    Listed,
    /// Everything up to this version has been told.
    Reached(u64),
    /// An object that is told of next was deleted before, by its UID: the server was put back to an older state. Nothing that is
    /// remembered of it counts.
    Returned(Box<ObjectMeta>),
    /// An object that cannot be read, by its name.
    Unreadable(String, String),
}

/// Where objects come from: whole, or their metadata only.
pub trait Source: Send + Sync {
    /// What is learned about one object.
    type Item: Clone + Send + 'static;

    /// Where it is, as in `/api/v1/namespaces/a/secrets`.
    fn path(&self) -> &str;

    /// A page of a list.
    fn list(
        &self,
        params: &ListParams,
    ) -> impl Future<Output = Result<ObjectList<Guarded<Self::Item>>, kube::Error>> + Send;

    /// A watch.
    fn watch(
        &self,
        params: &WatchParams,
        version: &str,
    ) -> impl Future<Output = Result<Events<Self::Item>, kube::Error>> + Send;
}

/// An object, or its name and why it cannot be read.
#[derive(Clone, Debug)]
pub struct Guarded<T> {
    item: Result<T, (String, String)>,
    version: Option<String>,
    metadata: ObjectMeta,
}

/// How an object is told of.
type Telling<T> = fn(T) -> Seen<T>;

/// The events of a watch.
pub type Events<T> = BoxStream<'static, Result<WatchEvent<Guarded<T>>, kube::Error>>;

impl<K> Source for Api<DeserializeGuard<K>>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    type Item = K;

    fn path(&self) -> &str {
        self.resource_url()
    }

    async fn list(&self, params: &ListParams) -> Result<ObjectList<Guarded<K>>, kube::Error> {
        let list = Api::list(self, params).await?;
        Ok(ObjectList {
            types: list.types,
            metadata: list.metadata,
            items: list.items.into_iter().map(guard).collect(),
        })
    }

    async fn watch(&self, params: &WatchParams, version: &str) -> Result<Events<K>, kube::Error> {
        Ok(boxed(Api::watch(self, params, version).await?, guard))
    }
}

/// Follows only the metadata of a kind: the server then leaves out the rest, which may be secret.
#[derive(Clone, Debug)]
pub struct MetadataOf<K>(pub Api<K>);

impl<K> Source for MetadataOf<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    type Item = PartialObjectMeta<K>;

    fn path(&self) -> &str {
        self.0.resource_url()
    }

    async fn list(&self, params: &ListParams) -> Result<ObjectList<Guarded<Self::Item>>, kube::Error> {
        let list = self.0.list_metadata(params).await?;
        Ok(ObjectList {
            types: list.types,
            metadata: list.metadata,
            items: list.items.into_iter().map(sure).collect(),
        })
    }

    async fn watch(&self, params: &WatchParams, version: &str) -> Result<Events<Self::Item>, kube::Error> {
        Ok(boxed(self.0.watch_metadata(params, version).await?, sure))
    }
}

fn guard<K: Resource<DynamicType = ()>>(DeserializeGuard(read): DeserializeGuard<K>) -> Guarded<K> {
    match read {
        Ok(object) => sure(object),
        Err(invalid) => Guarded {
            version: invalid.metadata.resource_version.clone(),
            item: Err((invalid.metadata.name.clone().unwrap_or_default(), invalid.error)),
            metadata: told_apart(&invalid.metadata),
        },
    }
}

fn sure<K: Resource>(object: K) -> Guarded<K> {
    let metadata = object.meta();
    Guarded { version: metadata.resource_version.clone(), metadata: told_apart(metadata), item: Ok(object) }
}

/// As much of the metadata as tells one object from another of its name.
fn told_apart(metadata: &ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        uid: metadata.uid.clone(),
        deletion_timestamp: metadata.deletion_timestamp.clone(),
        ..ObjectMeta::default()
    }
}

fn boxed<K: 'static, T: 'static>(
    events: impl Stream<Item = Result<WatchEvent<K>, kube::Error>> + Send + 'static,
    guard: fn(K) -> Guarded<T>,
) -> Events<T> {
    let map = move |event| match event {
        WatchEvent::Added(object) => WatchEvent::Added(guard(object)),
        WatchEvent::Modified(object) => WatchEvent::Modified(guard(object)),
        WatchEvent::Deleted(object) => WatchEvent::Deleted(guard(object)),
        WatchEvent::Bookmark(bookmark) => WatchEvent::Bookmark(bookmark),
        WatchEvent::Error(status) => WatchEvent::Error(status),
    };
    events.map(move |event| event.map(map)).boxed()
}

/// Follows a kind for ever, and tells what it sees.
pub async fn follow<S: Source>(
    source: S,
    labels: Option<String>,
    position: Position,
    tell: impl FnMut(Seen<S::Item>),
) {
    let mut follower = Follower { source, labels, position, newest: 0, graves: Graves::default(), tell };
    let mut failures = 0;
    // What nobody has given us access to is said once: only another role helps, and whoever needs it says so by itself.
    let mut is_refused = false;
    loop {
        let result = match follower.list().await {
            Ok(version) => follower.watch_from(version, &mut failures).await,
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            let wait = WAITS[failures.min(WAITS.len() - 1)];
            failures += 1;
            let (path, was_refused) =
                (follower.source.path(), std::mem::replace(&mut is_refused, error.is_refusal()));
            if is_refused && was_refused && failures > 1 {
                tracing::debug!(path, %error, "still cannot follow");
            } else {
                let wait_milliseconds = wait.as_millis();
                tracing::warn!(path, %error, wait_milliseconds, "cannot follow; trying again");
            }
            sleep(wait).await;
        }
    }
}

/// Somebody who follows a kind.
struct Follower<S, F> {
    source: S,
    labels: Option<String>,
    position: Position,
    /// The newest version that the server has told of.
    newest: u64,
    graves: Graves,
    tell: F,
}

#[derive(Debug, thiserror::Error)]
enum FollowError {
    #[error("{}", reason(.0))]
    Kube(#[from] kube::Error),
    #[error("a page of the list took more than {} s", PAGE_DEADLINE.as_secs())]
    SlowList,
    #[error("the watch did not start in {} s", DEADLINE.as_secs())]
    SlowWatch,
    #[error("the server ended the watch: {0}")]
    Ended(String),
    #[error("the list is of version {0}, the server at {1}: it comes from a cache that lags")]
    StaleList(u64, u64),
}

impl FollowError {
    fn is_refusal(&self) -> bool {
        matches!(self, Self::Kube(kube::Error::Api(status)) if status.code == 403)
    }
}

impl<S: Source, F: FnMut(Seen<S::Item>)> Follower<S, F> {
    async fn list(&mut self) -> Result<String, FollowError> {
        let (mut params, start) = (self.params(PAGE), self.position.begins_list());
        let mut first_version = None;
        loop {
            let page = timeout(PAGE_DEADLINE, self.source.list(&params)).await;
            let page = page.map_err(|_| FollowError::SlowList)??;
            if first_version.is_none() {
                self.must_be_of_now(number(page.metadata.resource_version.as_deref())).await?;
                // What we wrote ourselves until now, the list shows or the watch after it, or it is gone again.
                (self.tell)(Seen::Restarted);
            }
            for object in page.items {
                self.tell_applied(object);
            }
            // All pages show the same moment; some servers say which only on the first.
            let version = first_version.get_or_insert(page.metadata.resource_version.unwrap_or_default());
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params.continue_token = Some(token),
                None => {
                    let version = std::mem::take(version);
                    self.has_listed(number(Some(&version)), start);
                    return Ok(version);
                }
            }
        }
    }

    fn has_listed(&mut self, version: u64, start: ListStart) {
        self.newest = version;
        (self.tell)(Seen::Listed);
        self.position.is_listed_at(version, start);
        (self.tell)(Seen::Reached(version));
    }

    /// Watches, again and again, until a list is needed.
    async fn watch_from(&mut self, mut version: String, failures: &mut usize) -> Result<(), FollowError> {
        let mut seconds = WATCH_SECONDS;
        loop {
            let params = WatchParams {
                label_selector: self.labels.clone(),
                timeout: Some(seconds),
                bookmarks: true,
                ..WatchParams::default()
            };
            let started = timeout(DEADLINE, self.source.watch(&params, &version)).await;
            let events = started.map_err(|_| FollowError::SlowWatch)??;
            let ended = self.tell_events(events, seconds, &mut version, failures).await?;
            // Whoever hurries us into a short watch reads the version of now by itself.
            let is_to_compare = ended == Ended::Early || ended == Ended::InTime && seconds == WATCH_SECONDS;
            if is_to_compare && self.has_gone_back().await? {
                return Ok(());
            }
            seconds = match ended {
                Ended::InTime | Ended::Early => WATCH_SECONDS,
                Ended::Hurried => SHORT_WATCH_SECONDS,
                Ended::Outdated => return Ok(()),
            };
        }
    }

    async fn tell_events(
        &mut self,
        mut events: Events<S::Item>,
        seconds: u32,
        version: &mut String,
        failures: &mut usize,
    ) -> Result<Ended, FollowError> {
        let end = Instant::now() + Duration::from_secs(u64::from(seconds));
        // A connection that died silently ends no watch: wait a little longer than the server should.
        let silence = end + Duration::from_secs(5);
        let is_long = seconds > SHORT_WATCH_SECONDS;
        loop {
            let position = self.position.clone();
            let event = tokio::select! {
                biased;
                () = position.is_to_list() => return Ok(Ended::Outdated),
                question = position.is_asked() => {
                    if self.has_gone_back().await? {
                        return Ok(Ended::Outdated);
                    }
                    position.has_answered(question);
                    continue;
                }
                event = timeout_at(silence, events.next()) => event,
                () = position.is_hurried(), if is_long && silence.duration_since(Instant::now()) > SHORTEST => {
                    return Ok(Ended::Hurried);
                }
            };
            let event = match event {
                Ok(Some(event)) => event?,
                Ok(None) if Instant::now() + EARLY < end => return Ok(Ended::Early),
                Ok(None) | Err(_) => return Ok(Ended::InTime),
            };
            *failures = 0;
            let told = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    let now = object.version.clone();
                    self.tell_applied(object);
                    now
                }
                WatchEvent::Deleted(object) => {
                    // Who leaves the selector is told of like this, too, and may come back.
                    let metadata = &object.metadata;
                    if metadata.deletion_timestamp.is_some() || self.labels.is_none() {
                        self.graves.dig(metadata.uid.as_deref());
                    }
                    tell_one(object.item, Seen::Deleted, &mut self.tell);
                    object.version
                }
                WatchEvent::Bookmark(bookmark) => Some(bookmark.metadata.resource_version),
                WatchEvent::Error(status) if status.code == 410 => return Ok(Ended::Outdated),
                WatchEvent::Error(status) => return Err(FollowError::Ended(status.message)),
            };
            let Some(now) = told else { continue };
            if number(Some(&now)) < number(Some(version)) && !self.position.overlooks_return() {
                // Nothing is said to be newer than what is not there any more.
                self.position.went_back();
                return Ok(Ended::Outdated);
            }
            self.newest = self.newest.max(number(Some(&now)));
            (self.tell)(Seen::Reached(self.position.is_at(&now)));
            *version = now;
        }
    }

    /// Whoever ends watches before their time may have been put back.
    async fn has_gone_back(&self) -> Result<bool, FollowError> {
        let is_back = self.version_of_now().await? < self.newest && !self.position.overlooks_return();
        if is_back {
            self.position.went_back();
        }
        Ok(is_back)
    }

    /// A list of an older version than was seen is one of a server that went back, or of a cache that lags.
    async fn must_be_of_now(&self, version: u64) -> Result<(), FollowError> {
        if version >= self.newest {
            return Ok(());
        }
        let now = self.version_of_now().await?;
        if now >= self.newest {
            return Err(FollowError::StaleList(version, now));
        }
        self.tell_of_return(version);
        Ok(())
    }

    /// The version that the server has come to. Without a version in the question, it answers by its quorum.
    async fn version_of_now(&self) -> Result<u64, FollowError> {
        let params = self.params(1);
        let page =
            timeout(DEADLINE, self.source.list(&params)).await.map_err(|_| FollowError::SlowList)??;
        Ok(number(page.metadata.resource_version.as_deref()))
    }

    fn tell_of_return(&self, version: u64) {
        let (path, before) = (self.source.path(), self.newest);
        tracing::warn!(
            path,
            version,
            before,
            "the server was put back to an older state; everything is listed and reconciled as it is now"
        );
    }

    fn tell_applied(&mut self, object: Guarded<S::Item>) {
        if self.graves.opened(object.metadata.uid.as_deref()) {
            let (path, name) = (self.source.path(), object.metadata.name.as_deref().unwrap_or_default());
            let because = "its server was put back to an older state";
            tracing::warn!(path, name, uid = ?object.metadata.uid, because, "a deleted object is back");
            (self.tell)(Seen::Returned(Box::new(object.metadata)));
        }
        tell_one(object.item, Seen::Applied, &mut self.tell);
    }

    fn params(&self, limit: u32) -> ListParams {
        ListParams { label_selector: self.labels.clone(), limit: Some(limit), ..ListParams::default() }
    }
}

/// How a watch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// When it was to end.
    InTime,
    /// Before that.
    Early,
    /// By ourselves: somebody waits for a bookmark.
    Hurried,
    /// Its version is of no use any more.
    Outdated,
}

fn tell_one<T>(item: Result<T, (String, String)>, seen: Telling<T>, tell: &mut impl FnMut(Seen<T>)) {
    match item {
        Ok(object) => tell(seen(object)),
        Err((name, why)) => tell(Seen::Unreadable(name, why)),
    }
}
