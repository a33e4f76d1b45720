//! Following a kind of object: a list, then a watch, for ever.
//!
//! kube's own watcher hides bookmarks. We need them: what destroys something waits until the cache is at least as new as
//! a moment (see [`Position::reach`]).

use super::{
    call::{DEADLINE, reason},
    kept::number,
};
use futures::{Stream, StreamExt, stream::BoxStream};
use kube::{
    Api, Resource,
    api::{ListParams, ObjectList, PartialObjectMeta, WatchEvent, WatchParams},
    core::DeserializeGuard,
};
use serde::de::DeserializeOwned;
use std::{fmt::Debug, future::Future, pin::pin, sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, timeout, timeout_at},
};

/// How many objects a page of a list has.
const PAGE: u32 = 500;

/// How long a watch is kept open.
const WATCH_SECONDS: u32 = 290;

/// How long a watch is kept open when somebody waits for the cache to catch up: a server sends a bookmark shortly before
/// a watch ends, and otherwise only every minute.
const SHORT_WATCH_SECONDS: u32 = 3;

/// How long a list may take: it is many objects.
const LIST_DEADLINE: Duration = Duration::from_secs(60);

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
    /// An object that cannot be read, by its name.
    Unreadable(String, String),
}

/// How far a cache has come. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Position {
    version: Arc<watch::Sender<u64>>,
    hurry: Arc<Notify>,
}

impl Position {
    /// At the beginning.
    pub fn new() -> Self {
        Self { version: Arc::new(watch::channel(0).0), hurry: Arc::new(Notify::new()) }
    }

    /// The version that the cache has come to; 0 before the first list.
    pub fn version(&self) -> u64 {
        *self.version.borrow()
    }

    /// Waits until the cache is at least as new as this version, and says whether it came to that in time.
    pub async fn reach(&self, version: u64, limit: Duration) -> bool {
        let mut changes = self.version.subscribe();
        if *changes.borrow() >= version {
            return true;
        }
        self.hurry.notify_one();
        let reached = timeout(limit, changes.wait_for(|now| *now >= version)).await;
        matches!(reached, Ok(Ok(_)))
    }

    fn is_at(&self, version: &str) -> u64 {
        // Servers promise that versions of one kind compare as numbers. One that does not is never caught up with.
        let version = number(Some(version));
        self.version.send_if_modified(|known| {
            let newer = version > *known;
            *known = version.max(*known);
            newer
        });
        version
    }
}

impl Default for Position {
    fn default() -> Self {
        Self::new()
    }
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
            version: invalid.metadata.resource_version,
            item: Err((invalid.metadata.name.unwrap_or_default(), invalid.error)),
        },
    }
}

fn sure<K: Resource>(object: K) -> Guarded<K> {
    Guarded { version: object.meta().resource_version.clone(), item: Ok(object) }
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
    mut tell: impl FnMut(Seen<S::Item>),
) {
    let mut failures = 0;
    // What nobody has given us access to is said once: only another role helps, and whoever needs it says so by itself.
    let mut is_refused = false;
    loop {
        let result = match list(&source, labels.as_deref(), &position, &mut tell).await {
            Ok(version) => {
                watch_from(&source, labels.as_deref(), version, &position, &mut failures, &mut tell).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            let wait = WAITS[failures.min(WAITS.len() - 1)];
            failures += 1;
            let was_refused = std::mem::replace(&mut is_refused, error.is_refusal());
            if is_refused && was_refused && failures > 1 {
                tracing::debug!(path = source.path(), %error, "still cannot follow");
            } else {
                let (path, wait_milliseconds) = (source.path(), wait.as_millis());
                tracing::warn!(path, %error, wait_milliseconds, "cannot follow; trying again");
            }
            sleep(wait).await;
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum FollowError {
    #[error("{}", reason(.0))]
    Kube(#[from] kube::Error),
    #[error("the list took more than {} s", LIST_DEADLINE.as_secs())]
    SlowList,
    #[error("the watch did not start in {} s", DEADLINE.as_secs())]
    SlowWatch,
    #[error("the server ended the watch: {0}")]
    Ended(String),
}

impl FollowError {
    fn is_refusal(&self) -> bool {
        matches!(self, Self::Kube(kube::Error::Api(status)) if status.code == 403)
    }
}

async fn list<S: Source>(
    source: &S,
    labels: Option<&str>,
    position: &Position,
    tell: &mut impl FnMut(Seen<S::Item>),
) -> Result<String, FollowError> {
    let mut params =
        ListParams { label_selector: labels.map(str::to_owned), limit: Some(PAGE), ..ListParams::default() };
    let end = Instant::now() + LIST_DEADLINE;
    let mut first_version = None;
    loop {
        let page = timeout_at(end, source.list(&params)).await.map_err(|_| FollowError::SlowList)??;
        // What we wrote ourselves until now, the list shows or the watch after it, or it is gone again.
        if first_version.is_none() {
            tell(Seen::Restarted);
        }
        for object in page.items {
            tell_one(object.item, Seen::Applied, tell);
        }
        // All pages show the same moment; some servers say which only on the first.
        let version = first_version.get_or_insert(page.metadata.resource_version.unwrap_or_default());
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => {
                tell(Seen::Listed);
                tell(Seen::Reached(position.is_at(version)));
                return Ok(std::mem::take(version));
            }
        }
    }
}

/// Watches, again and again, until a list is needed.
async fn watch_from<S: Source>(
    source: &S,
    labels: Option<&str>,
    mut version: String,
    position: &Position,
    failures: &mut usize,
    tell: &mut impl FnMut(Seen<S::Item>),
) -> Result<(), FollowError> {
    let mut seconds = WATCH_SECONDS;
    loop {
        let params = WatchParams {
            label_selector: labels.map(str::to_owned),
            timeout: Some(seconds),
            bookmarks: true,
            ..WatchParams::default()
        };
        let started = timeout(DEADLINE, source.watch(&params, &version)).await;
        let mut events = started.map_err(|_| FollowError::SlowWatch)??;
        // A connection that died silently ends no watch: wait a little longer than the server should.
        let silence = Instant::now() + Duration::from_secs(u64::from(seconds) + 5);
        seconds = WATCH_SECONDS;
        loop {
            let event = {
                let mut hurry = pin!(position.hurry.notified());
                tokio::select! {
                    biased;
                    event = timeout_at(silence, events.next()) => event,
                    () = &mut hurry, if silence.duration_since(Instant::now()) > Duration::from_secs(u64::from(SHORT_WATCH_SECONDS) + 5) => {
                        seconds = SHORT_WATCH_SECONDS;
                        break;
                    }
                }
            };
            let Ok(Some(event)) = event else { break };
            *failures = 0;
            let (object, seen): (_, Telling<S::Item>) = match event? {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, Seen::Applied),
                WatchEvent::Deleted(object) => (object, Seen::Deleted),
                WatchEvent::Bookmark(bookmark) => {
                    tell(Seen::Reached(position.is_at(&bookmark.metadata.resource_version)));
                    version = bookmark.metadata.resource_version;
                    continue;
                }
                WatchEvent::Error(status) if status.code == 410 => return Ok(()),
                WatchEvent::Error(status) => return Err(FollowError::Ended(status.message)),
            };
            let now = object.version;
            tell_one(object.item, seen, tell);
            if let Some(now) = now {
                tell(Seen::Reached(position.is_at(&now)));
                version = now;
            }
        }
    }
}

fn tell_one<T>(item: Result<T, (String, String)>, seen: Telling<T>, tell: &mut impl FnMut(Seen<T>)) {
    match item {
        Ok(object) => tell(seen(object)),
        Err((name, why)) => tell(Seen::Unreadable(name, why)),
    }
}
