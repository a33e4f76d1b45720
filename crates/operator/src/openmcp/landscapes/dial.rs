//! How a kubeconfig becomes the client of a garden, and how that client stays while the credentials change.

use crate::{
    metrics::Metrics,
    process::clients::Count,
    target::{ConnectError, over_https},
};
use allotment_core::access::kubeconfig::Given;
use futures::future::BoxFuture;
use http::Request;
use kube::{
    Client,
    client::{Body, ClientBuilder},
};
use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};
use tower::{limit::RateLimitLayer, service_fn};

/// How hard one garden is pressed where nobody says otherwise; the same as the other operators' default.
pub const REQUESTS_PER_SECOND: u32 = 50;

type Make = dyn Fn(String, Given) -> BoxFuture<'static, Result<Client, ConnectError>> + Send + Sync;

/// How a Landscape of some name is reached: over HTTPS, or, in a simulation, in this process.
#[derive(Clone)]
pub struct Dial {
    make: Arc<Make>,
    requests_per_second: u32,
}

impl Dial {
    /// Over HTTPS. Clients never retry by themselves, and every request is counted.
    pub fn over_https(metrics: &Metrics) -> Self {
        let metrics = metrics.clone();
        Self::new(move |_, given| {
            let count = Count::requests("garden", &metrics);
            Box::pin(async move { over_https(given, count, usize::MAX).await })
        })
    }

    /// In a way of one's own.
    pub fn new(
        make: impl Fn(String, Given) -> BoxFuture<'static, Result<Client, ConnectError>> + Send + Sync + 'static,
    ) -> Self {
        Self { make: Arc::new(make), requests_per_second: REQUESTS_PER_SECOND }
    }

    /// The same, with so many requests to each garden in a second.
    #[must_use]
    pub fn with_rate(mut self, requests_per_second: u32) -> Self {
        self.requests_per_second = requests_per_second;
        self
    }

    pub(super) async fn make(&self, landscape: &str, given: Given) -> Result<Client, ConnectError> {
        (self.make)(landscape.to_owned(), given).await
    }

    pub(super) fn switch(&self, first: Client) -> Switch {
        Switch::new(first, self.requests_per_second)
    }
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dial")
    }
}

/// A client whose credentials can change behind it: what follows a garden goes on with the new ones.
#[derive(Clone)]
pub(super) struct Switch {
    pub(super) client: Client,
    current: Arc<RwLock<Client>>,
}

impl Switch {
    fn new(first: Client, requests_per_second: u32) -> Self {
        let current = Arc::new(RwLock::new(first));
        let forward = {
            let current = current.clone();
            service_fn(move |request: Request<Body>| {
                let client = current.read().unwrap_or_else(PoisonError::into_inner).clone();
                async move { client.send(request).await }
            })
        };
        let limit = RateLimitLayer::new(u64::from(requests_per_second.max(1)), Duration::from_secs(1));
        Self { client: ClientBuilder::new(forward, "default").with_layer(&limit).build(), current }
    }

    /// New requests go by this one; watches go on as they are until they end.
    pub(super) fn set(&self, client: Client) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = client;
    }
}
