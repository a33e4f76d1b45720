//! Clients for API servers: no hidden retries, a limit on how hard they press, and every request counted.

use crate::{
    config::Gardener,
    dependencies::{Dependencies, Dependency},
    metrics::Metrics,
};
use allotment_core::text::one_line;
use http::{Method, Request, Response};
use kube::{
    Client, Config,
    client::{Body, ClientBuilder},
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use std::{
    env,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, PoisonError, RwLock},
    task::{Context, Poll},
    time::{Duration, Instant},
};
use tower::{BoxError, Layer, Service, limit::RateLimitLayer, service_fn};

/// As much of an error's text as is shown.
const LONGEST_REASON: usize = 300;

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The kubeconfig cannot be used.
    #[error("cannot use the kubeconfig {path}: {source}")]
    Kubeconfig {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: KubeconfigError,
    },
    /// There is neither a kubeconfig nor a cluster around this process.
    #[error("there is no way to the {target}: {source}")]
    Nowhere {
        /// What was to be reached.
        target: &'static str,
        /// Why not.
        source: Box<kube::config::InferConfigError>,
    },
    /// The client could not be set up.
    #[error("cannot make a client for the {target}: {source}")]
    Setup {
        /// What for.
        target: &'static str,
        /// Why not.
        source: Box<kube::Error>,
    },
}

/// A client for the control plane: by a kubeconfig file, else as kubectl finds one, else from inside the cluster.
pub async fn control_plane(kubeconfig: Option<&Path>, metrics: &Metrics) -> Result<Client, ClientError> {
    const TARGET: &str = "control plane";
    let config = configuration(kubeconfig, TARGET).await?;
    let setup = |source| ClientError::Setup { target: TARGET, source: Box::new(source) };
    let counted = Count::requests("control-plane", metrics)
        .recording(Dependency::ControlPlaneRead, Dependency::ControlPlaneWrite);
    Ok(ClientBuilder::try_from(config).map_err(setup)?.with_layer(&counted).build())
}

/// The hosts by which the control plane is known to this process.
pub async fn control_plane_hosts(kubeconfig: Option<&Path>) -> Result<Vec<String>, ClientError> {
    let config = configuration(kubeconfig, "control plane").await?;
    let named = config.cluster_url.host().map(str::to_owned);
    // Pods know it by a name, and by an address.
    Ok(named.into_iter().chain(env::var("KUBERNETES_SERVICE_HOST").ok()).collect())
}

/// The garden: a client whose kubeconfig can change behind it.
#[derive(Clone)]
pub struct Garden {
    /// The client.
    pub client: Client,
    /// What the ledger calls the garden.
    pub name: String,
    path: Option<PathBuf>,
    current: Arc<RwLock<Client>>,
    host: Arc<RwLock<Option<String>>>,
}

impl Garden {
    /// Reaches it by its own kubeconfig, else by that of the control plane.
    pub async fn new(
        settings: &Gardener,
        control_plane: Option<&Path>,
        metrics: &Metrics,
    ) -> Result<Self, ClientError> {
        let own = Some(settings.kubeconfig.clone()).filter(|path| !path.as_os_str().is_empty());
        let path = own.or_else(|| control_plane.map(Path::to_owned));
        let config = configuration(path.as_deref(), "garden").await?;
        let name = match settings.name.as_str() {
            "" => config.cluster_url.host().unwrap_or("garden").to_owned(),
            name => name.to_owned(),
        };
        let host = Arc::new(RwLock::new(config.cluster_url.host().map(str::to_owned)));
        let current = Arc::new(RwLock::new(plain(config)?));
        let forward = {
            let current = current.clone();
            service_fn(move |request: Request<Body>| {
                let client = current.read().unwrap_or_else(PoisonError::into_inner).clone();
                async move { client.send(request).await }
            })
        };
        let client = ClientBuilder::new(forward, settings.namespace.clone())
            .with_layer(&RateLimitLayer::new(
                u64::from(settings.requests_per_second.max(1)),
                Duration::from_secs(1),
            ))
            .with_layer(
                &Count::requests("garden", metrics)
                    .recording(Dependency::GardenRead, Dependency::GardenWrite),
            )
            .build();
        Ok(Self { client, name, path, current, host })
    }

    /// The kubeconfig file that it is reached by, if it is one.
    pub fn kubeconfig(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The host that it is reached at.
    pub fn host(&self) -> Option<String> {
        self.host.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the kubeconfig again. New requests go by it; watches go on as they are until they end.
    pub async fn read_kubeconfig_again(&self) -> Result<(), ClientError> {
        let config = configuration(self.path.as_deref(), "garden").await?;
        let host = config.cluster_url.host().map(str::to_owned);
        let fresh = plain(config)?;
        *self.host.write().unwrap_or_else(PoisonError::into_inner) = host;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }
}

fn plain(config: Config) -> Result<Client, ClientError> {
    Client::try_from(config)
        .map_err(|source| ClientError::Setup { target: "garden", source: Box::new(source) })
}

async fn configuration(path: Option<&Path>, target: &'static str) -> Result<Config, ClientError> {
    let mut config = match path {
        Some(path) => {
            let fault = |source| ClientError::Kubeconfig { path: path.to_owned(), source };
            let kubeconfig = Kubeconfig::read_from(path).map_err(fault)?;
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(fault)?
        }
        None => Config::infer()
            .await
            .map_err(|source| ClientError::Nowhere { target, source: Box::new(source) })?,
    };
    // Whoever calls decides about that: a repeated write whose answer was lost must not look like a refusal.
    config.default_retry = false;
    Ok(config)
}

/// Counts requests by what came of them.
#[derive(Clone)]
pub(crate) struct Count {
    target: &'static str,
    metrics: Metrics,
    /// The dependencies that reads and writes count for; none for servers of which there are many.
    dependencies: Option<[Dependency; 2]>,
}

impl Count {
    pub(crate) fn requests(target: &'static str, metrics: &Metrics) -> Self {
        Self { target, metrics: metrics.clone(), dependencies: None }
    }

    fn recording(self, reads: Dependency, writes: Dependency) -> Self {
        Self { dependencies: Some([reads, writes]), ..self }
    }

    /// Begins to record a request.
    fn begin(&self, verb: &str) -> Pending {
        let is_read = matches!(verb, "get" | "list" | "watch");
        let dependency = self.dependencies.map(|[reads, writes]| if is_read { reads } else { writes });
        let dependency = dependency.map(|it| (self.metrics.dependencies().clone(), it));
        Pending { dependency, started: Instant::now() }
    }
}

impl<S> Layer<S> for Count {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { count: self.clone(), inner }
    }
}

pub(crate) struct Counted<S> {
    count: Count,
    inner: S,
}

type Answer<B> = Pin<Box<dyn Future<Output = Result<Response<B>, BoxError>> + Send>>;

impl<S, B> Service<Request<Body>> for Counted<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    B: 'static,
    S::Error: Into<BoxError> + 'static,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = Answer<B>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Count { target, metrics, .. } = self.count.clone();
        let verb = verb(request.method(), request.uri().path(), request.uri().query().unwrap_or_default());
        let answer = self.inner.call(request);
        let mut pending = self.count.begin(verb);
        Box::pin(async move {
            let answer: Result<Response<B>, BoxError> = answer.await.map_err(Into::into);
            let code = answer.as_ref().map(|answer| answer.status().as_u16());
            metrics.api_request(target, verb, code.as_ref().ok().copied());
            pending.answered(code.map_err(|error| reason(&**error)));
            answer
        })
    }
}

/// A request that was given up later than this had no answer; one that was given up sooner was not wanted any more.
const UNANSWERED: Duration = Duration::from_secs(3);

/// A request without an answer yet. Callers have deadlines and drop it.
struct Pending {
    dependency: Option<(Dependencies, Dependency)>,
    started: Instant,
}

impl Pending {
    /// A refusal of one object says nothing about the server; refused credentials and a gateway's errors do.
    fn answered(&mut self, answer: Result<u16, String>) {
        let Some((dependencies, dependency)) = self.dependency.take() else { return };
        match answer {
            Ok(401) => dependencies.failed(dependency, "the server does not accept the credentials (401)"),
            Ok(code @ 502..=504) => dependencies.failed(dependency, format!("the server answers {code}")),
            // Too many requests, missing rights, and failures of one object.
            Ok(403 | 429 | 500) => (),
            Ok(_) => dependencies.succeeded(dependency),
            Err(error) => dependencies.failed(dependency, error),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let waited = self.started.elapsed();
        if let Some((dependencies, dependency)) = self.dependency.take().filter(|_| waited >= UNANSWERED) {
            dependencies.failed(dependency, format!("no answer in {} s", waited.as_secs()));
        }
    }
}

/// The innermost cause: the outer ones only repeat that a request failed.
fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    one_line(&cause.to_string(), LONGEST_REASON)
}

/// The verb of a request, as RBAC has it.
fn verb(method: &Method, path: &str, query: &str) -> &'static str {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let behind_version = if parts.first() == Some(&"api") { 2 } else { 3 };
    let rest = parts.get(behind_version..).unwrap_or_default();
    let in_namespace = rest.first() == Some(&"namespaces") && rest.len() > 2;
    let is_named = rest.len() > if in_namespace { 3 } else { 1 };
    match *method {
        Method::GET if query.split('&').any(|part| part == "watch=true" || part == "watch=1") => "watch",
        Method::GET if is_named => "get",
        Method::GET => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if is_named => "delete",
        Method::DELETE => "deletecollection",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_the_verbs_of_rbac() {
        for (method, path, query, expected) in [
            (Method::GET, "/api/v1/namespaces/a/secrets/s", "", "get"),
            (Method::GET, "/api/v1/namespaces/a/secrets", "limit=1", "list"),
            (Method::GET, "/api/v1/namespaces/a", "", "get"),
            (Method::GET, "/api/v1/namespaces", "", "list"),
            (Method::GET, "/apis/core.gardener.cloud/v1beta1/namespaces/a/shoots", "&watch=true", "watch"),
            (Method::GET, "/apis/g/v1/things", "", "list"),
            (Method::PATCH, "/apis/g/v1/namespaces/a/things/t/status", "", "patch"),
            (Method::DELETE, "/apis/g/v1/namespaces/a/things/t", "", "delete"),
            (Method::DELETE, "/apis/g/v1/namespaces/a/things", "", "deletecollection"),
            (Method::PUT, "/apis/coordination.k8s.io/v1/namespaces/a/leases/l", "", "update"),
        ] {
            assert_eq!(verb(&method, path, query), expected, "{method} {path}?{query}");
        }
    }
}
