//! The API servers of Shoots: one of our own for each, on a port of its own.

use super::manifests::{self, LoadError, SHOOT_ACCESS};
use crate::gardenlet::{ShootKey, ShootServer, ShootServers};
use allotment_apiserver::{
    ApiServer, Server,
    auth::certificate::{CertificateAuthority, CertificateError, KeyKind},
    https::{Local, LocalError},
    server::{Answer, Entropy},
    service::Clock,
};
use bytes::Bytes;
use futures::future::BoxFuture;
use http::Request;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    error::Error,
    sync::{Arc, OnceLock, PoisonError},
};
use tokio::sync::Mutex;

/// Longer than any landscape lasts.
const LIFE: SignedDuration = SignedDuration::from_hours(24 * 365);

/// Starts an API server for a Shoot when it is first asked for, and ends it when the Shoot is gone.
pub struct EmbeddedServers {
    garden: ApiServer,
    clock: Clock,
    running: Mutex<BTreeMap<ShootKey, Running>>,
}

struct Running {
    /// Of the Shoot: one that is made anew under the same name is another one.
    uid: String,
    server: ApiServer,
    local: Local,
}

/// Why a Shoot has no API server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// There is no authority for its clients.
    #[error("cannot make a client CA: {0}")]
    Authority(#[from] CertificateError),
    /// It cannot be reached.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// It did not begin with what every Shoot has.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The Shoot is not there.
    #[error("there is no Shoot {0}")]
    NoShoot(ShootKey),
}

impl EmbeddedServers {
    /// For the Shoots of this garden.
    pub fn new(garden: ApiServer, clock: Clock) -> Self {
        Self { garden, clock, running: Mutex::default() }
    }

    /// The API server of a Shoot, to look into, if it has one.
    pub async fn find(&self, shoot: &ShootKey) -> Option<ApiServer> {
        self.running.lock().await.get(shoot).map(|running| running.server.clone())
    }

    async fn get_or_start(&self, shoot: &ShootKey) -> Result<ShootServer, ServerError> {
        let mut running = self.running.lock().await;
        running.retain(|key, running| self.uid(key).is_some_and(|uid| uid == running.uid));
        if let Some(running) = running.get(shoot) {
            return Ok(running.described());
        }
        let uid = self.uid(shoot).ok_or_else(|| ServerError::NoShoot(shoot.clone()))?;
        let now = (self.clock)();
        let mut server = Server::new(system_entropy(), now);
        manifests::load(&mut server, &SHOOT_ACCESS, now)?;
        let server = ApiServer::with(server, self.clock.clone());
        let local = server.serve_locally(0, Some(client_authority(now)?)).await?;
        tracing::info!(%shoot, url = local.listening.url(), "the API server of a Shoot listens");
        let started = Running { uid, server, local };
        let described = started.described();
        running.insert(shoot.clone(), started);
        Ok(described)
    }

    /// The UID of a Shoot that is there.
    fn uid(&self, shoot: &ShootKey) -> Option<String> {
        let ShootKey { namespace, name } = shoot;
        let path = format!("/apis/core.gardener.cloud/v1beta1/namespaces/{namespace}/shoots/{name}");
        let request = Request::get(path).body(Bytes::new()).ok()?;
        let now = (self.clock)();
        let answer = self.garden.with_server(|server| server.handle(request, Some(manifests::admin()), now));
        let Answer::Now(reply) = answer else { return None };
        let found: Value = serde_json::from_slice(&reply.body).ok()?;
        found["metadata"]["uid"].as_str().map(str::to_owned)
    }
}

impl Running {
    fn described(&self) -> ShootServer {
        ShootServer {
            url: self.local.listening.url(),
            client_ca_certificate: self.local.clients.certificate_pem(),
            client_ca_key: self.local.clients.key_pem().into(),
            serving_ca_certificate: self.local.serving_ca_pem.clone(),
        }
    }
}

impl ShootServers for EmbeddedServers {
    fn server<'a>(
        &'a self,
        shoot: &'a ShootKey,
    ) -> BoxFuture<'a, Result<ShootServer, Box<dyn Error + Send + Sync>>> {
        Box::pin(async move { Ok(self.get_or_start(shoot).await?) })
    }
}

/// The authority behind the clients of all Shoots of this process. Gardener wants RSA, which takes a second or more to
/// make, and far longer without optimisation: hundreds of Shoots would wait for their keys alone. What it costs is that a
/// kubeconfig of one Shoot is believed by another if somebody changes its address; the serving CAs differ, so nobody
/// does by mistake.
fn client_authority(now: Timestamp) -> Result<Arc<CertificateAuthority>, CertificateError> {
    static AUTHORITY: OnceLock<Arc<CertificateAuthority>> = OnceLock::new();
    static MAKING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(authority) = AUTHORITY.get() {
        return Ok(authority.clone());
    }
    let mut entropy = system_entropy();
    let made =
        CertificateAuthority::generate(KeyKind::Rsa2048, "shoot clients", now, now + LIFE, &mut *entropy)?;
    Ok(AUTHORITY.get_or_init(|| Arc::new(made)).clone())
}

/// Randomness of the system.
pub(super) fn system_entropy() -> Entropy {
    Box::new(|bytes| {
        // There is no server without randomness: zeros would make two UIDs alike, and that is noticed at once.
        let _ = getrandom::fill(bytes);
    })
}
