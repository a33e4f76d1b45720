//! How a kubeconfig becomes a client.

use super::{
    Key,
    guard::{Guard, GuardedConnector},
};
use crate::{metrics::Metrics, process::clients::Count};
use allotment_core::access::kubeconfig::{Credentials, Given};
use base64::{Engine, prelude::BASE64_STANDARD};
use futures::future::BoxFuture;
use http::Response;
use http_body_util::Limited;
use hyper_util::{client::legacy, rt::TokioExecutor};
use kube::{
    Client, Config,
    client::{Body, ClientBuilder, ConfigExt},
    config::{
        AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext,
    },
};
use secrecy::{ExposeSecret, SecretString, zeroize::Zeroizing};
use std::{fmt, sync::Arc, time::Duration};
use tower::{
    BoxError, ServiceBuilder,
    timeout::Timeout,
    util::{BoxCloneSyncService, MapResponseLayer},
};

/// A server that is there answers within a few milliseconds; one that is not must not use up the deadline of a call.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What is read of one answer of a Shoot. Ours are a few kilobytes.
const LONGEST_ANSWER_BYTES: usize = 16 << 20;

/// What is read of one answer of a server that a tenant brought, which could send without end. The longest that an honest one
/// sends are lists of objects that carry our label: a thousand ClusterRoleBindings have about a megabyte.
const LONGEST_FOREIGN_ANSWER_BYTES: usize = 4 << 20;

/// Why there is no client. It never holds a secret.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConnectError(pub String);

type Make = dyn Fn(Key, Given) -> BoxFuture<'static, Result<Client, ConnectError>> + Send + Sync;

/// How a kubeconfig becomes a client: over HTTPS, or, in a simulation, to a server in this process.
#[derive(Clone)]
pub struct Connect(Arc<Make>);

impl Connect {
    /// Over HTTPS. Clients never retry by themselves, and every request is counted. No range is allowed beyond the default
    /// for clusters that tenants bring.
    pub fn over_https(metrics: &Metrics) -> Self {
        Self::over_https_within(metrics, Guard::default())
    }

    /// The same, with a guard that says which addresses are dialled for clusters that tenants bring.
    pub fn over_https_within(metrics: &Metrics, guard: Guard) -> Self {
        let metrics = metrics.clone();
        Self::new(move |key, given| {
            let (count, guard) = (Count::requests("cluster", &metrics), guard.clone());
            Box::pin(async move {
                match key {
                    Key::Shoot { .. } => over_https(given, count, LONGEST_ANSWER_BYTES).await,
                    Key::Byoc { .. } => over_guarded_https(given, count, guard).await,
                }
            })
        })
    }

    /// In a way of one's own.
    pub fn new(
        make: impl Fn(Key, Given) -> BoxFuture<'static, Result<Client, ConnectError>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(make))
    }

    /// Makes a client.
    pub async fn make(&self, key: Key, given: Given) -> Result<Client, ConnectError> {
        (self.0)(key, given).await
    }
}

impl fmt::Debug for Connect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Connect")
    }
}

/// A client over HTTPS, whose requests are counted and whose answers have so many bytes at most.
pub(crate) async fn over_https(
    given: Given,
    count: Count,
    longest_bytes: usize,
) -> Result<Client, ConnectError> {
    let config = configuration(given).await?;
    let builder = ClientBuilder::try_from(config).map_err(|error| ConnectError(error.to_string()))?;
    let limited = MapResponseLayer::new(move |answer: Response<_>| {
        answer.map(|body| Limited::new(body, longest_bytes))
    });
    Ok(builder.with_layer(&limited).with_layer(&count).build())
}

/// A client for a server that a tenant chose. kube's own stack cannot be used: its connector dials any address. Neither kube nor
/// hyper follows redirects, and a proxy of the environment is not used, since it would resolve the name once more.
async fn over_guarded_https(given: Given, count: Count, guard: Guard) -> Result<Client, ConnectError> {
    let refused = |error: kube::Error| ConnectError(error.to_string());
    let config = configuration(given).await?;
    let connector = GuardedConnector { guard, timeout: CONNECT_TIMEOUT };
    let https = config.rustls_https_connector_with_connector(connector).map_err(refused)?;
    let client: legacy::Client<_, Body> =
        // The handshake is part of the time, too.
        legacy::Client::builder(TokioExecutor::new())
            .build(BoxCloneSyncService::new(Timeout::new(https, CONNECT_TIMEOUT)));
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().map_err(refused)?)
        .layer(config.extra_headers_layer().map_err(refused)?)
        .map_err(BoxError::from)
        .service(client);
    let limited = MapResponseLayer::new(|answer: Response<_>| {
        answer.map(|body| Limited::new(body, LONGEST_FOREIGN_ANSWER_BYTES))
    });
    let builder = ClientBuilder::new(service, config.default_namespace);
    Ok(builder.with_layer(&limited).with_layer(&count).build())
}

async fn configuration(given: Given) -> Result<Config, ConnectError> {
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(described(given), &options)
        .await
        .map_err(|error| ConnectError(error.to_string()))?;
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    Ok(config)
}

/// In the words of kube.
fn described(given: Given) -> Kubeconfig {
    const NAME: &str = "target";
    let Given { server, tls_server_name, ca, credentials } = given;
    let cluster = Cluster {
        server: Some(server),
        tls_server_name,
        certificate_authority_data: ca.map(|pem| BASE64_STANDARD.encode(pem)),
        ..Cluster::default()
    };
    let user = match credentials {
        Credentials::Token(token) => AuthInfo { token: Some(token), ..AuthInfo::default() },
        Credentials::Certificate { certificate, key } => {
            let key = Zeroizing::new(BASE64_STANDARD.encode(key.expose_secret()));
            AuthInfo {
                client_certificate_data: Some(BASE64_STANDARD.encode(certificate)),
                client_key_data: Some(SecretString::from(key.as_str())),
                ..AuthInfo::default()
            }
        }
    };
    let context = Context { cluster: NAME.to_owned(), user: Some(NAME.to_owned()), ..Context::default() };
    let name = NAME.to_owned();
    Kubeconfig {
        clusters: vec![NamedCluster {
            name: name.clone(),
            cluster: Some(cluster),
            ..NamedCluster::default()
        }],
        auth_infos: vec![NamedAuthInfo {
            name: name.clone(),
            auth_info: Some(user),
            ..NamedAuthInfo::default()
        }],
        contexts: vec![NamedContext {
            name: name.clone(),
            context: Some(context),
            ..NamedContext::default()
        }],
        current_context: Some(name),
        ..Kubeconfig::default()
    }
}
