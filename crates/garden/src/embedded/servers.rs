//! The API servers of Shoots: one of our own for each, on a port of its own.

use super::manifests::{self, LoadError, SHOOT_ACCESS};
use crate::gardenlet::{ShootKey, ShootServer, ShootServers};
use allotment_apiserver::{
    ApiServer, Server,
    auth::certificate::{CertificateAuthority, CertificateError, KeyKind},
    https::{Local, LocalError},
    server::{Answer, Entropy},
    service::Clock,
    state::{StateError, kept_authority},
};
use bytes::Bytes;
use futures::future::BoxFuture;
use http::Request;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    error::Error,
    fs, io,
    ops::Bound,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, PoisonError},
};
use tokio::sync::Mutex;

/// Longer than any landscape lasts.
const LIFE: SignedDuration = SignedDuration::from_hours(24 * 365 * 10);

/// Starts an API server for a Shoot when it is first asked for, and ends it some calls after the Shoot is gone.
pub struct EmbeddedServers {
    garden: ApiServer,
    clock: Clock,
    /// Where each remembers, under the UID of its Shoot.
    folder: Option<PathBuf>,
    running: Mutex<Rounds<Running>>,
}

/// How many others are looked at when a Shoot is asked for. More than the one that may be started then, so that servers of
/// Shoots that are gone end faster than new ones begin; no more than that, so that a call costs the same however many run.
const LOOKED_AT: usize = 2;

/// The servers that run, a few of which have their turn each time.
struct Rounds<T> {
    all: BTreeMap<ShootKey, T>,
    /// Whose turn was last.
    last: Option<ShootKey>,
}

impl<T> Default for Rounds<T> {
    fn default() -> Self {
        Self { all: BTreeMap::new(), last: None }
    }
}

impl<T> Rounds<T> {
    /// Whose turn is next, and the one after; from the beginning again after the last.
    fn next(&mut self) -> Vec<ShootKey> {
        let after = self.last.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let rest = self.all.range::<ShootKey, _>((after, Bound::Unbounded));
        let turn: Vec<ShootKey> = rest.map(|(key, _)| key.clone()).take(LOOKED_AT).collect();
        self.last = turn.last().filter(|_| turn.len() == LOOKED_AT).cloned();
        turn
    }
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
    /// It does not remember.
    #[error(transparent)]
    State(#[from] StateError),
    /// What was there before cannot be looked at.
    #[error("cannot read {folder}: {source}")]
    Folder {
        /// Where it is.
        folder: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The Shoot is not there.
    #[error("there is no Shoot {0}")]
    NoShoot(ShootKey),
}

impl EmbeddedServers {
    /// For the Shoots of this garden. They remember if there is a folder for it.
    pub fn new(garden: ApiServer, clock: Clock, folder: Option<PathBuf>) -> Self {
        Self { garden, clock, folder, running: Mutex::default() }
    }

    /// Starts those that ran the last time, and forgets those whose Shoot is gone.
    pub async fn resume(&self) -> Result<(), ServerError> {
        let Some(folder) = self.folder.as_ref().filter(|folder| folder.exists()) else { return Ok(()) };
        let shoots = self.read("/apis/core.gardener.cloud/v1beta1/shoots").unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let shoots: BTreeMap<String, ShootKey> = shoots["items"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|shoot| &shoot["metadata"])
            .map(|shoot| {
                let key = ShootKey { namespace: text(&shoot["namespace"]), name: text(&shoot["name"]) };
                (text(&shoot["uid"]), key)
            })
            .collect();
        let entries =
            fs::read_dir(folder).map_err(|source| ServerError::Folder { folder: folder.clone(), source })?;
        for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
            match shoots.get(&*entry.file_name().to_string_lossy()) {
                Some(shoot) => drop(self.get_or_start(shoot).await?),
                None => forget(&entry.path()),
            }
        }
        Ok(())
    }

    /// The API server of a Shoot, to look into, if it has one.
    pub async fn find(&self, shoot: &ShootKey) -> Option<ApiServer> {
        self.running.lock().await.all.get(shoot).map(|running| running.server.clone())
    }

    async fn get_or_start(&self, shoot: &ShootKey) -> Result<ShootServer, ServerError> {
        let mut running = self.running.lock().await;
        for key in running.next() {
            let uid = self.uid(&key);
            if running.all.get(&key).is_some_and(|running| Some(&running.uid) != uid.as_ref()) {
                tracing::info!(shoot = %key, "the API server of a Shoot that is gone ends");
                self.end(running.all.remove(&key));
            }
        }
        let Some(uid) = self.uid(shoot) else {
            self.end(running.all.remove(shoot));
            return Err(ServerError::NoShoot(shoot.clone()));
        };
        if let Some(running) = running.all.get(shoot).filter(|running| running.uid == uid) {
            return Ok(running.described());
        }
        let now = (self.clock)();
        let mut server = Server::new(system_entropy(), now);
        manifests::load(&mut server, &SHOOT_ACCESS, now)?;
        if let Some(folder) = &self.folder {
            server.keep_in(&folder.join(&uid), now)?;
        }
        let server = ApiServer::with(server, self.clock.clone());
        let local = server.serve_locally(0, Some(self.client_authority(now)?)).await?;
        tracing::info!(%shoot, url = local.listening.url(), "the API server of a Shoot listens");
        let started = Running { uid, server, local };
        let described = started.described();
        self.end(running.all.insert(shoot.clone(), started));
        Ok(described)
    }

    /// One whose Shoot is gone.
    fn end(&self, running: Option<Running>) {
        if let (Some(running), Some(folder)) = (running, &self.folder) {
            forget(&folder.join(&running.uid));
        }
    }

    /// Who signs for the clients of all Shoots.
    fn client_authority(&self, now: Timestamp) -> Result<Arc<CertificateAuthority>, ServerError> {
        let Some(folder) = &self.folder else { return Ok(client_authority(now)?) };
        let make = || make_client_authority(now);
        Ok(Arc::new(kept_authority(&folder.join("clients.pem"), make)?))
    }

    /// The UID of a Shoot that is there.
    fn uid(&self, shoot: &ShootKey) -> Option<String> {
        let ShootKey { namespace, name } = shoot;
        let path = format!("/apis/core.gardener.cloud/v1beta1/namespaces/{namespace}/shoots/{name}");
        self.read(&path)?["metadata"]["uid"].as_str().map(str::to_owned)
    }

    /// What the garden has there.
    fn read(&self, path: &str) -> Option<Value> {
        let request = Request::get(path).body(Bytes::new()).ok()?;
        let now = (self.clock)();
        let answer = self.garden.with_server(|server| server.handle(request, Some(manifests::admin()), now));
        let Answer::Now(reply) = answer else { return None };
        serde_json::from_slice(&reply.body).ok()
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
    let made = make_client_authority(now)?;
    Ok(AUTHORITY.get_or_init(|| Arc::new(made)).clone())
}

fn make_client_authority(now: Timestamp) -> Result<CertificateAuthority, CertificateError> {
    let mut entropy = system_entropy();
    CertificateAuthority::generate(KeyKind::Rsa2048, "shoot clients", now, now + LIFE, &mut *entropy)
}

/// Nobody reads it any more; if it cannot go now, it does the next time.
fn forget(folder: &Path) {
    if let Err(error) = fs::remove_dir_all(folder) {
        tracing::warn!(folder = %folder.display(), %error, "what a Shoot left behind cannot be removed");
    }
}

/// Randomness of the system.
pub(super) fn system_entropy() -> Entropy {
    Box::new(|bytes| {
        // There is no server without randomness: zeros would make two UIDs alike, and that is noticed at once.
        let _ = getrandom::fill(bytes);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::EmbeddedLandscape;
    use allotment_api::kyma::Provider;
    use kube::api::{DeleteParams, Patch, PatchParams};
    use serde_json::json;

    fn key(n: usize) -> ShootKey {
        ShootKey { namespace: format!("garden-{}", n % 7), name: format!("s{n}") }
    }

    #[test]
    fn a_call_looks_at_as_many_however_many_run_and_everybody_has_a_turn() {
        for count in [0, 1, 2, 3, 2000, 20_000] {
            let mut rounds = Rounds { all: (0..count).map(|n| (key(n), ())).collect(), last: None };
            for _ in 0..3 {
                let mut seen = Vec::new();
                for _ in 0..=count / LOOKED_AT {
                    let turn = rounds.next();
                    assert!(turn.len() <= LOOKED_AT, "{count}");
                    seen.extend(turn);
                }
                seen.sort();
                seen.dedup();
                assert_eq!(seen.len(), count);
            }
        }
    }

    #[test]
    fn turns_go_on_when_the_last_one_is_gone() {
        let mut rounds = Rounds { all: (0..6).map(|n| (key(n), ())).collect(), last: None };
        let first = rounds.next();
        for key in &first {
            rounds.all.remove(key);
        }
        assert!(rounds.next().iter().all(|key| !first.contains(key)));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn servers_of_shoots_that_are_gone_end_and_a_new_shoot_has_a_new_one() {
        let embedded = EmbeddedLandscape::start().await.unwrap();
        let plot = embedded.landscape.plot_without_gardenlet().await.unwrap();
        plot.add_account("account", Provider::Aws, json!({})).await.unwrap();
        let mut shoot: Value = serde_saphyr::from_str(super::super::tests::SHOOT).unwrap();
        shoot["spec"]["credentialsBindingName"] = json!("account");
        shoot["metadata"]["namespace"] = json!(plot.garden_namespace);
        shoot["metadata"]["annotations"] = json!({ "confirmation.gardener.cloud/deletion": "true" });
        let key = |name: &str| ShootKey { namespace: plot.garden_namespace.clone(), name: name.to_owned() };
        let servers = &embedded.embedded.shoots;
        let make = async |name: &str| {
            let mut shoot = shoot.clone();
            shoot["metadata"]["name"] = json!(name);
            plot.shoots().patch(name, &PatchParams::apply("test"), &Patch::Apply(shoot)).await.unwrap();
        };
        for name in ["a", "b", "c"] {
            make(name).await;
        }
        let first = servers.server(&key("a")).await.unwrap().url;
        assert_eq!(servers.server(&key("a")).await.unwrap().url, first);
        servers.server(&key("b")).await.unwrap();
        plot.shoots().delete("a", &DeleteParams::default()).await.unwrap();
        plot.shoots().delete("b", &DeleteParams::default()).await.unwrap();
        servers.server(&key("a")).await.unwrap_err();
        for _ in 0..3 {
            servers.server(&key("c")).await.unwrap();
        }
        assert!(servers.find(&key("b")).await.is_none());
        make("a").await;
        assert_ne!(servers.server(&key("a")).await.unwrap().url, first);
    }
}
