//! What a garden has that is not an object: the gardenlet's work, and the API servers of Shoots.

use super::{
    call::{Call, Role, Side},
    dice::dice_for,
    world::{World, admin, entropy},
};
use allotment_api::gardener::Shoot;
use allotment_apiserver::{
    ApiServer,
    auth::certificate::{CertificateAuthority, CertificateError, KeyKind},
    server::Answer,
};
use allotment_garden::gardenlet::{Gardenlet, ShootServer};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use jiff::{SignedDuration, Timestamp};
use kube::{Client, client::Body, runtime::controller::Action};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio::time::sleep;
use tower::{BoxError, service_fn};

/// How often a gardenlet looks at what changed.
const LOOK: Duration = Duration::from_millis(250);

/// Longer than any run lasts, and good at any time of it.
const LIFE: SignedDuration = SignedDuration::from_hours(24 * 365 * 20);

/// The Shoots, by what they are called.
pub(crate) struct Field<K> {
    inner: Mutex<Inner<K>>,
}

struct Inner<K> {
    /// As they are.
    shoots: BTreeMap<K, Value>,
    /// The versions of those that their gardenlet has nothing to do with until they change.
    idle: BTreeMap<K, Value>,
    /// Those that it has trouble with.
    troubled: BTreeSet<K>,
    /// Their API servers, by UID.
    servers: BTreeMap<String, ApiServer>,
}

impl<K> Default for Field<K> {
    fn default() -> Self {
        Self {
            inner: Mutex::new(Inner {
                shoots: BTreeMap::new(),
                idle: BTreeMap::new(),
                troubled: BTreeSet::new(),
                servers: BTreeMap::new(),
            }),
        }
    }
}

impl<K: Ord + Clone> Field<K> {
    fn inner(&self) -> MutexGuard<'_, Inner<K>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A Shoot is like this now, or gone.
    pub(crate) fn see(&self, name: &K, object: Option<&Value>) {
        let mut inner = self.inner();
        match object {
            Some(object) => drop(inner.shoots.insert(name.clone(), object.clone())),
            None => drop(inner.shoots.remove(name)),
        }
    }

    /// What happens to a Shoot is told by a script from now on.
    pub(crate) fn trouble(&self, name: &K) {
        let mut inner = self.inner();
        inner.idle.remove(name);
        inner.troubled.insert(name.clone());
    }

    /// Nothing goes wrong any more with these.
    pub(crate) fn calm(&self) -> BTreeSet<K> {
        let mut inner = self.inner();
        let troubled = std::mem::take(&mut inner.troubled);
        inner.idle.retain(|name, _| !troubled.contains(name));
        troubled
    }

    /// What there is to look at.
    fn busy(&self) -> Vec<(K, Value)> {
        let Inner { shoots, idle, .. } = &*self.inner();
        let busy = shoots.iter().filter(|(name, shoot)| idle.get(*name) != Some(version(shoot)));
        busy.map(|(name, shoot)| (name.clone(), shoot.clone())).collect()
    }

    /// Whether a gardenlet is at work.
    pub(crate) fn is_busy(&self) -> bool {
        !self.busy().is_empty()
    }

    /// The API server of a Shoot, which is made when it is first asked for.
    pub(crate) fn server(&self, uid: &str, make: impl FnOnce() -> ApiServer) -> ApiServer {
        let known = self.inner().servers.get(uid).cloned();
        known.unwrap_or_else(|| {
            let made = make();
            self.inner().servers.insert(uid.to_owned(), made.clone());
            made
        })
    }

    /// Looks after the Shoots, for ever.
    pub(crate) async fn tend<'a>(&self, world: &World, gardenlet: impl Fn(&K) -> Option<&'a Gardenlet>) {
        loop {
            sleep(LOOK).await;
            for (name, object) in self.busy() {
                let version = version(&object).clone();
                let Ok(shoot) = serde_json::from_value::<Shoot>(object) else { continue };
                let Some(gardenlet) = gardenlet(&name) else { continue };
                // What failed is tried again at the next look.
                let done = gardenlet.reconcile(&shoot, world.now()).await;
                if done.is_ok_and(|action| action == Action::await_change()) {
                    self.inner().idle.insert(name, version);
                }
            }
        }
    }
}

fn version(shoot: &Value) -> &Value {
    &shoot["metadata"]["resourceVersion"]
}

/// A garden, as its gardenlet sees it: nothing ever goes wrong there, and `wrote` learns of each write.
pub(crate) fn client_of(
    world: Arc<World>,
    garden: ApiServer,
    role: Role,
    wrote: impl Fn(&World, &Call) + Clone + Send + 'static,
) -> Client {
    let ask = move |request: Request<Body>| {
        let (world, garden, wrote) = (world.clone(), garden.clone(), wrote.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let call = Call::read_as(role, Side::Garden, &parts.method, &parts.uri, &body);
            let (request, now) = (Request::from_parts(parts, body), world.now());
            let answer = garden.with_server(|server| server.handle(request, Some(admin()), now));
            let Answer::Now(reply) = answer else { return Err("the gardenlet does not watch".into()) };
            if call.is_write() && reply.code < 300 {
                wrote(&world, &call);
            }
            Ok::<_, BoxError>(Response::builder().status(reply.code).body(Full::new(reply.body))?)
        }
    };
    Client::new(service_fn(ask), "default")
}

/// A Shoot has an address of its own, which leads nowhere: clients are made for the Shoot that is meant.
pub(crate) fn shoot_at(url: String) -> Result<ShootServer, CertificateError> {
    let authority = authority()?;
    Ok(ShootServer {
        url,
        client_ca_certificate: authority.certificate_pem(),
        client_ca_key: authority.key_pem().into(),
        serving_ca_certificate: authority.certificate_pem(),
    })
}

/// One for all: Gardener wants RSA, which takes its time to make.
fn authority() -> Result<Arc<CertificateAuthority>, CertificateError> {
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
