//! Counting what an operator asks of embedded servers.

use allotment_apiserver::{ApiServer, auth::User};
use http_body::Body as _;
use kube::{Client, client::Body};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};
use tower::Service;

pub(super) fn client(server: &ApiServer) -> Client {
    Client::new(server.service(admin()), "default")
}

fn admin() -> User {
    User::new("bench", ["system:masters"])
}

pub(super) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted
        .get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or_default()
}

/// Calls and bytes, both ways, but for watches and Events.
#[derive(Debug, Default)]
pub(super) struct Tally {
    calls: AtomicU64,
    writes: AtomicU64,
    bytes: AtomicU64,
}

impl Tally {
    /// A client whose calls are counted.
    pub(super) fn client(self: &Arc<Self>, server: &ApiServer) -> Client {
        let inner = server.service(admin());
        Client::new(Counted { inner, tally: self.clone() }, "default")
    }

    pub(super) fn reset(&self) {
        self.writes.store(0, Ordering::Relaxed);
        self.calls.store(0, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
    }

    /// Calls and bytes for each.
    pub(super) fn per(&self, times: u32) -> (f64, f64) {
        let each = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64 / f64::from(times);
        (each(&self.calls), each(&self.bytes))
    }

    /// Calls that may have changed something.
    pub(super) fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

/// A service whose calls are counted.
#[derive(Clone)]
struct Counted<S> {
    inner: S,
    tally: Arc<Tally>,
}

impl<S, B> Service<http::Request<Body>> for Counted<S>
where
    S: Service<http::Request<Body>, Response = http::Response<B>>,
    S::Future: Send + 'static,
    B: http_body::Body,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = futures::future::BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let uncounted = request.uri().query().is_some_and(|query| query.contains("watch=true"))
            || request.uri().path().contains("/events.k8s.io/");
        // Who asks what it may do changes nothing.
        let is_question = request.uri().path().contains("/authorization.k8s.io/");
        let is_write = request.method() != http::Method::GET && !is_question;
        let sent = request.body().size_hint().exact().unwrap_or(0);
        let (answer, tally) = (self.inner.call(request), self.tally.clone());
        Box::pin(async move {
            let answer = answer.await?;
            if !uncounted {
                tally.calls.fetch_add(1, Ordering::Relaxed);
                tally.writes.fetch_add(u64::from(is_write), Ordering::Relaxed);
                tally
                    .bytes
                    .fetch_add(sent + answer.body().size_hint().exact().unwrap_or(0), Ordering::Relaxed);
            }
            Ok(answer)
        })
    }
}
