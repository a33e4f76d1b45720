//! The server as a `tower::Service`: what `kube::Client::new` takes.
//!
//! An [`ApiServer`] is shared by all its clients. Each of them is somebody: [`ApiServer::service`] says who, without any
//! credentials, and [`ApiServer::anonymous_service`] leaves that to the token that a request brings.

use crate::{
    auth::User,
    error::ApiError,
    server::{Answer, Entropy, Reply, Server},
    state::StateError,
    watch::{Frames, Watch},
};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body::Body;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use jiff::Timestamp;
use std::{
    convert::Infallible,
    future::Future,
    path::Path,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};
use tokio::sync::watch as channel;
use tower_service::Service;

/// A watch ends after this time if the client does not say otherwise; a real server picks 30 to 60 minutes.
const WATCH_TIMEOUT: Duration = Duration::from_secs(45 * 60);

/// How often a watch that understands bookmarks gets one.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);

/// What time it is: the system's, or a simulation's.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A server that several clients share. Cheap to clone.
#[derive(Clone)]
pub struct ApiServer {
    server: Arc<Mutex<Server>>,
    revision: Arc<channel::Sender<u64>>,
    clock: Clock,
}

/// The body of an answer.
pub type AnswerBody = UnsyncBoxBody<Bytes, Infallible>;

impl ApiServer {
    /// A server with the system's clock and randomness.
    pub fn new() -> Self {
        Self::with(Server::new(system_entropy(), Timestamp::now()), Arc::new(Timestamp::now))
    }

    /// A server with the system's clock and randomness that keeps everything in a folder, and begins with what is in there.
    /// See [`state`](crate::state).
    pub fn kept_in(folder: impl AsRef<Path>) -> Result<Self, StateError> {
        let mut server = Server::new(system_entropy(), Timestamp::now());
        server.keep_in(folder.as_ref(), Timestamp::now())?;
        Ok(Self::with(server, Arc::new(Timestamp::now)))
    }

    /// A server with a clock of its own.
    pub fn with(server: Server, clock: Clock) -> Self {
        let (revision, _) = channel::channel(server.revision());
        let this = Self { server: Arc::new(Mutex::new(server)), revision: Arc::new(revision), clock };
        this.settled(|_| ()).1.ok();
        this
    }

    /// A service for one caller, for `kube::Client::new`.
    pub fn service(&self, caller: User) -> ApiService {
        ApiService { server: self.clone(), caller: Some(caller) }
    }

    /// A service whose callers say who they are, with a token.
    pub fn anonymous_service(&self) -> ApiService {
        ApiService { server: self.clone(), caller: None }
    }

    /// The time, as the server has it.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Looks at the server, or changes it, between two requests. What cannot be kept is not changed.
    pub fn with_server<T>(&self, look: impl FnOnce(&mut Server) -> T) -> T {
        self.settled(look).0
    }

    /// Answers one request.
    pub fn answer(&self, request: Request<Bytes>, caller: Option<User>) -> Response<AnswerBody> {
        self.answer_with(request, caller, WatchFaults::default())
    }

    /// Answers one request; if it is a watch, it goes wrong in this way.
    pub(crate) fn answer_with(
        &self,
        request: Request<Bytes>,
        caller: Option<User>,
        faults: WatchFaults,
    ) -> Response<AnswerBody> {
        let now = (self.clock)();
        let (answer, kept) = self.settled(|server| server.handle(request, caller, now));
        match kept.map_or_else(|error| Answer::refusal(&error), |()| answer) {
            Answer::Watch(watch) => self.stream(*watch, faults),
            answer => respond_to(answer),
        }
    }

    /// Answers a read as it would have been answered some revisions ago.
    pub(crate) fn answer_from_the_past(
        &self,
        request: Request<Bytes>,
        caller: Option<User>,
        back: u64,
    ) -> Response<AnswerBody> {
        let now = (self.clock)();
        respond_to(self.lock().handle_in_the_past(request, caller, now, back))
    }

    /// Does something, and what a cluster does by itself after that; keeps it, and wakes the watchers. Nobody sees
    /// anything before it is kept.
    pub(crate) fn settled<T>(&self, act: impl FnOnce(&mut Server) -> T) -> (T, Result<(), ApiError>) {
        let mut server = self.lock();
        let result = act(&mut server);
        let now = (self.clock)();
        server.do_chores(now);
        let kept = server.commit(now);
        let revision = server.revision();
        drop(server);
        self.revision.send_if_modified(|known| std::mem::replace(known, revision) != revision);
        (result, kept)
    }

    fn lock(&self) -> MutexGuard<'_, Server> {
        // A request that panicked has not written anything: writes are the last thing it does.
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stream(&self, watch: Watch, faults: WatchFaults) -> Response<AnswerBody> {
        let mut response = Response::new(StreamBody::new(self.frames(watch, faults)).boxed_unsync());
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }

    fn frames(
        &self,
        mut watch: Watch,
        faults: WatchFaults,
    ) -> impl futures_core::Stream<Item = Result<http_body::Frame<Bytes>, Infallible>> + use<> {
        let this = self.clone();
        let mut changed = self.revision.subscribe();
        let time = watch.timeout_seconds.map_or(WATCH_TIMEOUT, Duration::from_secs);
        async_stream::stream! {
            let end = tokio::time::sleep(time);
            tokio::pin!(end);
            let mut bookmark = tokio::time::interval(BOOKMARK_EVERY);
            bookmark.tick().await;
            let mut sent = 0;
            loop {
                if let Some(time) = faults.stall {
                    tokio::time::sleep(time).await;
                }
                changed.borrow_and_update();
                watch.at((this.clock)());
                // The lock is gone before anything is sent.
                let Frames { mut frames, ended } = this.lock().poll(&mut watch);
                if faults.coalesce {
                    frames = coalesced(frames);
                }
                for frame in frames {
                    if faults.drop_after.is_some_and(|after| sent >= after) {
                        return;
                    }
                    if faults.expire_after.is_some_and(|after| sent >= after) {
                        let frame = this.lock().expire(&watch);
                        yield Ok(http_body::Frame::data(frame));
                        return;
                    }
                    sent += 1;
                    yield Ok(http_body::Frame::data(frame));
                }
                if ended {
                    return;
                }
                tokio::select! {
                    biased;
                    () = &mut end => {
                        if watch.bookmarks {
                            let frame = this.lock().bookmark(&watch);
                            yield Ok(http_body::Frame::data(frame));
                        }
                        return;
                    }
                    _ = bookmark.tick(), if watch.bookmarks => {
                        let frame = this.lock().bookmark(&watch);
                        yield Ok(http_body::Frame::data(frame));
                    }
                    result = changed.changed() => if result.is_err() { return },
                }
            }
        }
    }
}

fn system_entropy() -> Entropy {
    Box::new(|bytes| {
        // There is no server without randomness: zeros would make two UIDs alike, and that is noticed at once.
        let _ = getrandom::fill(bytes);
    })
}

/// How a watch goes wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchFaults {
    /// The connection breaks after this many events.
    pub drop_after: Option<usize>,
    /// The history is forgotten after this many events.
    pub expire_after: Option<usize>,
    /// Of several changes to an object that come at once, only the last is told.
    pub coalesce: bool,
    /// Every event comes this much later.
    pub stall: Option<Duration>,
}

/// Leaves out changes that a later one in the same batch makes old. What was added or is gone stays told.
fn coalesced(frames: Vec<Bytes>) -> Vec<Bytes> {
    let uid = |frame: &Bytes| -> Option<(String, String)> {
        let event: serde_json::Value = serde_json::from_slice(frame).ok()?;
        let uid = event["object"]["metadata"]["uid"].as_str()?;
        Some((event["type"].as_str()?.to_owned(), uid.to_owned()))
    };
    let known: Vec<Option<(String, String)>> = frames.iter().map(uid).collect();
    let outdated = |place: usize| {
        let Some((kind, uid)) = &known[place] else { return false };
        kind == "MODIFIED"
            && known[place + 1..].iter().flatten().any(|(later, of)| later == "MODIFIED" && of == uid)
    };
    let keep: Vec<bool> = (0..frames.len()).map(|place| !outdated(place)).collect();
    frames.into_iter().zip(keep).filter(|(_, keep)| *keep).map(|(frame, _)| frame).collect()
}

impl Default for ApiServer {
    fn default() -> Self {
        Self::new()
    }
}

/// The HTTP answer. A watch has to be streamed; whoever asks for one in another way gets nothing of it.
pub(crate) fn respond_to(answer: Answer) -> Response<AnswerBody> {
    let Answer::Now(reply) = answer else { return Response::new(Full::default().boxed_unsync()) };
    let Reply { code, body, content_type, warnings, retry_after_seconds } = reply;
    let mut response = Response::new(Full::new(body).boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    for warning in warnings {
        let text = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\"")) {
            headers.append(header::WARNING, value);
        }
    }
    if let Some(seconds) = retry_after_seconds {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// A server as one caller sees it.
#[derive(Clone)]
pub struct ApiService {
    server: ApiServer,
    caller: Option<User>,
}

impl<B> Service<Request<B>> for ApiService
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    type Response = Response<AnswerBody>;
    type Error = B::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, B::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), B::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Self { server, caller } = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            Ok(server.answer(Request::from_parts(parts, body), caller))
        })
    }
}
