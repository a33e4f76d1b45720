//! How a kubeconfig becomes a client.

use super::Key;
use crate::{metrics::Metrics, process::clients::Count};
use allotment_core::access::kubeconfig::{Credentials, Given};
use base64::{Engine, prelude::BASE64_STANDARD};
use futures::future::BoxFuture;
use http::Response;
use http_body_util::Limited;
use kube::{
    Client, Config,
    client::ClientBuilder,
    config::{
        AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext,
    },
};
use secrecy::{ExposeSecret, SecretString, zeroize::Zeroizing};
use std::{fmt, sync::Arc, time::Duration};
use tower::util::MapResponseLayer;

/// A server that is there answers within a few milliseconds; one that is not must not use up the deadline of a call.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What is read of one answer. Ours are a few kilobytes; a server that a user brought could send without end.
const LONGEST_ANSWER_BYTES: usize = 16 << 20;

/// Why there is no client. It never holds a secret.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConnectError(pub String);

type Make = dyn Fn(Key, Given) -> BoxFuture<'static, Result<Client, ConnectError>> + Send + Sync;

/// How a kubeconfig becomes a client: over HTTPS, or, in a simulation, to a server in this process.
#[derive(Clone)]
pub struct Connect(Arc<Make>);

impl Connect {
    /// Over HTTPS. Clients never retry by themselves, and every request is counted.
    pub fn over_https(metrics: &Metrics) -> Self {
        let metrics = metrics.clone();
        Self::new(move |_, given| {
            let metrics = metrics.clone();
            Box::pin(async move {
                over_https(given, Count { target: "cluster", metrics }, LONGEST_ANSWER_BYTES).await
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
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(described(given), &options)
        .await
        .map_err(|error| ConnectError(error.to_string()))?;
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    let builder = ClientBuilder::try_from(config).map_err(|error| ConnectError(error.to_string()))?;
    let limited = MapResponseLayer::new(move |answer: Response<_>| {
        answer.map(|body| Limited::new(body, longest_bytes))
    });
    Ok(builder.with_layer(&limited).with_layer(&count).build())
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
