//! The gardenlet, and the API servers of Shoots.

use crate::stage::{
    call::{Call, Side},
    dice::dice_for,
    world::{By, GARDEN, World, admin, entropy},
};
use allotment_api::gardener::Shoot;
use allotment_apiserver::{
    ApiServer, Server,
    auth::certificate::{CertificateAuthority, CertificateError, KeyKind},
    server::Answer,
};
use allotment_garden::gardenlet::{Gardenlet, Script, Scripts, ShootKey, ShootServer, ShootServers};
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use jiff::{SignedDuration, Timestamp};
use kube::{Client, client::Body, runtime::controller::Action};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::sleep;
use tower::{BoxError, Service};

/// How often the gardenlet looks at what changed.
const LOOK: Duration = Duration::from_millis(250);

/// Longer than any run lasts, and good at any time of it.
const LIFE: SignedDuration = SignedDuration::from_hours(24 * 365 * 20);

/// Everything in the garden that is not an object.
pub(crate) struct Grounds {
    pub(super) scripts: Scripts,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The Shoots, as they are.
    shoots: BTreeMap<String, Value>,
    /// Those that the gardenlet has nothing to do with until they change.
    idle: BTreeMap<String, Value>,
    /// Those that it has trouble with.
    troubled: BTreeSet<ShootKey>,
    /// The API servers of Shoots, by UID.
    servers: BTreeMap<String, ApiServer>,
}

impl Grounds {
    pub(crate) fn new(step_milliseconds: u64) -> Self {
        let default = Script { step_milliseconds, ..Script::default() };
        Self { scripts: Scripts::with_default(default), inner: Mutex::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A Shoot is like this now, or gone.
    pub(super) fn see(&self, name: &str, object: Option<&Value>) {
        let mut inner = self.inner();
        match object {
            Some(object) => drop(inner.shoots.insert(name.to_owned(), object.clone())),
            None => drop(inner.shoots.remove(name)),
        }
    }

    /// Tells what happens to a Shoot from now on.
    pub(super) fn trouble(&self, name: &str, script: Script) {
        let key = key_of(name);
        let mut inner = self.inner();
        inner.idle.remove(name);
        inner.troubled.insert(key.clone());
        self.scripts.set(key, script);
    }

    /// Nothing goes wrong any more.
    pub(super) fn calm(&self) {
        let mut inner = self.inner();
        for key in std::mem::take(&mut inner.troubled) {
            inner.idle.remove(&key.name);
            self.scripts.clear(&key);
        }
    }

    /// What there is to look at.
    fn busy(&self) -> Vec<(String, Value)> {
        let Inner { shoots, idle, .. } = &*self.inner();
        let version = |shoot: &Value| shoot["metadata"]["resourceVersion"].clone();
        let busy = shoots.iter().filter(|(name, shoot)| idle.get(*name) != Some(&version(shoot)));
        busy.map(|(name, shoot)| (name.clone(), shoot.clone())).collect()
    }

    /// Whether the gardenlet is at work.
    pub(crate) fn is_busy(&self) -> bool {
        !self.busy().is_empty()
    }

    /// The API server of a Shoot.
    pub(crate) fn server(&self, world: &World, uid: &str) -> ApiServer {
        let now = world.now();
        let make = || {
            let dice = dice_for(world.options.seed, &["shoot", uid], 0);
            ApiServer::with(Server::new(entropy(dice), now), world.clock.clone())
        };
        self.inner().servers.entry(uid.to_owned()).or_insert_with(make).clone()
    }
}

pub(super) fn key_of(name: &str) -> ShootKey {
    ShootKey { namespace: GARDEN.to_owned(), name: name.to_owned() }
}

/// Looks after Shoots, for ever.
pub(crate) async fn tend(world: Arc<World>) {
    let client = Client::new(Spade { world: world.clone() }, GARDEN);
    let gardenlet = Gardenlet::new(client, Arc::new(Addresses), world.grounds.scripts.clone());
    loop {
        sleep(LOOK).await;
        for (name, object) in world.grounds.busy() {
            let version = object["metadata"]["resourceVersion"].clone();
            let Ok(shoot) = serde_json::from_value::<Shoot>(object) else { continue };
            // What failed is tried again at the next look.
            let done = gardenlet.reconcile(&shoot, world.now()).await;
            if done.is_ok_and(|action| action == Action::await_change()) {
                world.grounds.inner().idle.insert(name, version);
            }
        }
    }
}

/// The garden, as the gardenlet sees it: nothing ever goes wrong there.
#[derive(Clone)]
struct Spade {
    world: Arc<World>,
}

impl Service<Request<Body>> for Spade {
    type Response = Response<Full<Bytes>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let world = self.world.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let call = Call::read(Side::Garden, &parts.method, &parts.uri, &body);
            let request = Request::from_parts(parts, body);
            let now = world.now();
            let answer = world.garden.with_server(|server| server.handle(request, Some(admin()), now));
            let Answer::Now(reply) = answer else { return Err("the gardenlet does not watch".into()) };
            if call.is_write() && reply.code < 300 {
                world.tell(|| format!("gardenlet {} {}", call.plural, call.name));
                world.wrote(&call, By::Other);
            }
            Ok(Response::builder().status(reply.code).body(Full::new(reply.body))?)
        })
    }
}

/// Every Shoot has an address of its own, which leads nowhere: clients are made for the Shoot that is meant.
struct Addresses;

impl ShootServers for Addresses {
    fn server<'a>(
        &'a self,
        shoot: &'a ShootKey,
    ) -> BoxFuture<'a, Result<ShootServer, Box<dyn Error + Send + Sync>>> {
        Box::pin(async move {
            let authority = authority()?;
            Ok(ShootServer {
                url: format!("https://{}.example.com", shoot.name),
                client_ca_certificate: authority.certificate_pem(),
                client_ca_key: authority.key_pem().into(),
                serving_ca_certificate: authority.certificate_pem(),
            })
        })
    }
}

/// One for all: Gardener wants RSA, which takes its time to make.
pub(crate) fn authority() -> Result<Arc<CertificateAuthority>, CertificateError> {
    static AUTHORITY: OnceLock<Arc<CertificateAuthority>> = OnceLock::new();
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(authority) = AUTHORITY.get() {
        return Ok(authority.clone());
    }
    let mut entropy = entropy(dice_for(0, &["authority"], 0));
    let begin = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 365 * 50);
    let made = CertificateAuthority::generate(
        KeyKind::Rsa2048,
        "shoot clients",
        begin,
        begin + LIFE,
        &mut *entropy,
    )?;
    Ok(AUTHORITY.get_or_init(|| Arc::new(made)).clone())
}
