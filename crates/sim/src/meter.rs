//! Counts what a client asks of a server. Calls do not wobble as seconds do.

use kube::{
    Client, Config,
    client::{Body, ClientBuilder},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};
use tower::{BoxError, Layer, Service};

/// Calls by method, shared by all clients that were made with it.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Mutex<BTreeMap<String, u64>>>);

impl Meter {
    /// A client whose calls are counted. It does not retry by itself.
    pub fn client(&self, mut config: Config) -> Result<Client, kube::Error> {
        config.default_retry = false;
        Ok(ClientBuilder::try_from(config)?.with_layer(self).build())
    }

    /// All calls so far.
    pub fn calls(&self) -> u64 {
        self.lock().values().sum()
    }

    /// The calls so far that may have changed something.
    pub fn writes(&self) -> u64 {
        self.lock().iter().filter(|(method, _)| *method != "GET").map(|(_, calls)| calls).sum()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, u64>> {
        // A count is right or one short, whoever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Layer<S> for Meter {
    type Service = Metered<S>;

    fn layer(&self, inner: S) -> Metered<S> {
        Metered { inner, meter: self.clone() }
    }
}

/// A service whose calls are counted.
#[derive(Clone, Debug)]
pub struct Metered<S> {
    inner: S,
    meter: Meter,
}

impl<S> Service<http::Request<Body>> for Metered<S>
where
    S: Service<http::Request<Body>>,
    S::Error: Into<BoxError>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> S::Future {
        *self.meter.lock().entry(request.method().to_string()).or_default() += 1;
        self.inner.call(request)
    }
}
