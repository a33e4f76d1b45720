//! One HTTP client for all clouds: deadlines, bounded bodies, rate limits, retries of reads.

mod clock;
mod limit;
mod retry;

pub use clock::ServerClock;
pub use limit::{Access, RateLimiter, Rates};
pub use retry::Retries;

use crate::Refusal;
use allotment_core::text::one_line;
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, Uri, header::LOCATION};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use rustls::{ClientConfig, crypto::ring, pki_types::CertificateDer, pki_types::pem::PemObject};
use rustls_platform_verifier::Verifier;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::timeout;

/// The longest that one call may take. Listings of large accounts take seconds; half a minute is a fault.
const DEADLINE: Duration = Duration::from_secs(30);

/// The largest body that is read: a page of a thousand items has about a megabyte.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// A client. Cheap to clone; clones share connections and the count of calls.
#[derive(Clone)]
pub struct Http {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    calls: Arc<AtomicU64>,
    deadline: Duration,
}

/// A whole answer.
#[derive(Clone)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, all of it. It may repeat credentials: never log it.
    pub body: Bytes,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// Certificates that cannot be read.
    #[error("the CA certificates are not PEM")]
    NotPem,
    /// rustls refuses them.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
}

impl Http {
    /// A client that trusts the platform's certificates and these, in PEM.
    pub fn new(extra_roots: Option<&str>) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let roots = CertificateDer::pem_slice_iter(extra_roots.unwrap_or_default().as_bytes());
        let roots = roots.collect::<Result<Vec<_>, _>>().map_err(|_| TlsError::NotPem)?;
        if extra_roots.is_some() && roots.is_empty() {
            return Err(TlsError::NotPem);
        }
        let verifier = Verifier::new_with_extra_roots(roots, Arc::clone(&provider))?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        // Plain HTTP is for test clouds; a client of a real one is given https by its endpoints.
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_http1().build();
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(20))
            .build(connector);
        Ok(Self { client, calls: Arc::default(), deadline: DEADLINE })
    }

    /// The same with another deadline.
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// How many calls were made.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Makes one call and reads the whole answer. Redirects are not followed: they would carry credentials elsewhere.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response, Refusal> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let host = request.uri().host().unwrap_or_default().to_owned();
        let transient = |why: &str| Refusal::Transient { why: format!("{host}: {why}") };
        let call = async {
            let answer = self.client.request(request).await.map_err(|error| {
                transient(if error.is_connect() { "cannot connect" } else { "the connection broke" })
            })?;
            let (parts, body) = answer.into_parts();
            let body = Limited::new(body, MOST_BYTES).collect().await;
            let body = body.map_err(|_| transient("the answer is too long or incomplete"))?.to_bytes();
            Ok(Response { status: parts.status, headers: parts.headers, body })
        };
        match timeout(self.deadline, call).await {
            Ok(Ok(answer)) if is_redirect(answer.status) => Err(redirected(&host, &answer)),
            Ok(answer) => answer,
            Err(_) => Err(transient("no answer within the deadline")),
        }
    }
}

/// Those that name another place; `300 Multiple Choices` is how OpenStack lists its versions.
fn is_redirect(status: StatusCode) -> bool {
    status.is_redirection() && !matches!(status, StatusCode::MULTIPLE_CHOICES | StatusCode::NOT_MODIFIED)
}

/// Somebody is between us and the cloud, or the address is wrong: this says nothing about credentials.
fn redirected(host: &str, answer: &Response) -> Refusal {
    let location = answer.headers.get(LOCATION).and_then(|location| location.to_str().ok());
    // Only the host: paths and queries of login pages hold tokens.
    let to = location.and_then(|location| location.parse::<Uri>().ok()?.host().map(ToOwned::to_owned));
    let to = to.map_or_else(|| "elsewhere".to_owned(), |to| format!("to {}", one_line(&to, 100)));
    let message = format!(
        "{host} answers {} and sends us {to}, which is not followed: correct the address, or look for a proxy",
        answer.status.as_u16()
    );
    Refusal::Other { code: "Redirected".to_owned(), message }
}
