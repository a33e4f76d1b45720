//! The gardenlets, and the API servers of Shoots.

use super::{Place, Realm, sees};
use crate::{
    cluster::garden::authority,
    stage::{
        call::{Call, Role, Side},
        dice::dice_for,
        world::{World, admin, entropy},
    },
};
use allotment_api::gardener::Shoot;
use allotment_apiserver::{ApiServer, Server, server::Answer};
use allotment_garden::gardenlet::{Gardenlet, Script, Scripts, ShootKey, ShootServer, ShootServers};
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use kube::{Client, client::Body, runtime::controller::Action};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::sleep;
use tower::{BoxError, Service};

/// How often a gardenlet looks at what changed.
const LOOK: Duration = Duration::from_millis(250);

/// A Shoot: its garden, namespace and name.
pub(super) type ShootName = (usize, String, String);

/// Everything in the gardens that is not an object.
pub(crate) struct Grounds {
    scripts: Vec<Scripts>,
    step_milliseconds: u64,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The Shoots, as they are.
    shoots: BTreeMap<ShootName, Value>,
    /// Those that their gardenlet has nothing to do with until they change.
    idle: BTreeMap<ShootName, Value>,
    troubled: BTreeSet<ShootName>,
    /// The API servers of Shoots, by UID.
    servers: BTreeMap<String, ApiServer>,
}

impl Grounds {
    pub(super) fn new(step_milliseconds: u64, gardens: usize) -> Self {
        let default = Script { step_milliseconds, ..Script::default() };
        let scripts = (0..gardens).map(|_| Scripts::with_default(default.clone())).collect();
        Self { scripts, step_milliseconds, inner: Mutex::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A Shoot is like this now, or gone.
    pub(super) fn see(&self, name: &ShootName, object: Option<&Value>) {
        let mut inner = self.inner();
        match object {
            Some(object) => drop(inner.shoots.insert(name.clone(), object.clone())),
            None => drop(inner.shoots.remove(name)),
        }
    }

    /// Tells what happens to a Shoot from now on; `script` has no time of its own.
    pub(super) fn trouble(&self, name: &ShootName, script: Script) {
        let mut inner = self.inner();
        inner.idle.remove(name);
        inner.troubled.insert(name.clone());
        let script = Script { step_milliseconds: self.step_milliseconds, ..script };
        if let Some(scripts) = self.scripts.get(name.0) {
            scripts.set(key_of(name), script);
        }
    }

    /// Nothing goes wrong any more.
    pub(super) fn calm(&self) {
        let mut inner = self.inner();
        for name in std::mem::take(&mut inner.troubled) {
            inner.idle.remove(&name);
            if let Some(scripts) = self.scripts.get(name.0) {
                scripts.clear(&key_of(&name));
            }
        }
    }

    fn busy(&self) -> Vec<(ShootName, Value)> {
        let Inner { shoots, idle, .. } = &*self.inner();
        let version = |shoot: &Value| shoot["metadata"]["resourceVersion"].clone();
        let busy = shoots.iter().filter(|(name, shoot)| idle.get(*name) != Some(&version(shoot)));
        busy.map(|(name, shoot)| (name.clone(), shoot.clone())).collect()
    }

    /// Whether a gardenlet is at work.
    pub(super) fn is_busy(&self) -> bool {
        !self.busy().is_empty()
    }

    /// The API server of a Shoot.
    pub(super) fn server(&self, world: &World, realm: &Realm, uid: &str) -> ApiServer {
        if let Some(server) = self.inner().servers.get(uid) {
            return server.clone();
        }
        let dice = dice_for(world.options.seed, &["shoot", uid], 0);
        let server = ApiServer::with(Server::new(entropy(dice), world.now()), world.clock.clone());
        if realm.providers.oidc {
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            world.ask_server(&server, Method::POST, path, Some(&openid_connects()));
        }
        self.inner().servers.insert(uid.to_owned(), server.clone());
        server
    }
}

fn key_of((_, namespace, name): &ShootName) -> ShootKey {
    ShootKey { namespace: namespace.clone(), name: name.clone() }
}

/// As much of the kind of Gardener's extension as is written.
fn openid_connects() -> Value {
    let spec = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let version = json!({
        "name": "v1alpha1", "served": true, "storage": true,
        "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "openidconnects.authentication.gardener.cloud" },
        "spec": {
            "group": "authentication.gardener.cloud",
            "names": {
                "kind": "OpenIDConnect", "listKind": "OpenIDConnectList", "plural": "openidconnects",
                "singular": "openidconnect",
            },
            "scope": "Cluster",
            "versions": [version],
        },
    })
}

/// Looks after the Shoots of all gardens, for ever.
pub(super) async fn tend(world: Arc<World>) {
    let Some(realm) = &world.realm else { return };
    let gardenlets: Vec<Gardenlet> = (0..realm.gardens.len())
        .map(|garden| {
            let client = Client::new(Spade { world: world.clone(), garden }, "default");
            let scripts = realm.grounds.scripts.get(garden).cloned().unwrap_or_default();
            Gardenlet::new(client, Arc::new(Addresses { garden }), scripts)
        })
        .collect();
    loop {
        sleep(LOOK).await;
        for (name, object) in realm.grounds.busy() {
            let version = object["metadata"]["resourceVersion"].clone();
            let Ok(shoot) = serde_json::from_value::<Shoot>(object) else { continue };
            let Some(gardenlet) = gardenlets.get(name.0) else { continue };
            // What failed is tried again at the next look.
            let done = gardenlet.reconcile(&shoot, world.now()).await;
            if done.is_ok_and(|action| action == Action::await_change()) {
                realm.grounds.inner().idle.insert(name, version);
            }
        }
    }
}

/// A garden, as its gardenlet sees it: nothing ever goes wrong there.
#[derive(Clone)]
struct Spade {
    world: Arc<World>,
    garden: usize,
}

impl Service<Request<Body>> for Spade {
    type Response = Response<Full<Bytes>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self { world, garden } = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let call = Call::read_as(Role::Openmcp, Side::Garden, &parts.method, &parts.uri, &body);
            let request = Request::from_parts(parts, body);
            let (now, place) = (world.now(), Place::Garden(garden));
            let server = place.server(&world).ok_or("there is no such garden")?;
            let answer = server.with_server(|server| server.handle(request, Some(admin()), now));
            let Answer::Now(reply) = answer else { return Err("the gardenlet does not watch".into()) };
            if call.is_write() && reply.code < 300 {
                world.tell(|| format!("gardenlet {garden} {} {}", call.plural, call.name));
                sees::somebody_wrote(&world, &call, &place);
            }
            Ok(Response::builder().status(reply.code).body(Full::new(reply.body))?)
        })
    }
}

/// Every Shoot has an address of its own, which leads nowhere: clients are made for the Shoot that is meant.
struct Addresses {
    garden: usize,
}

impl ShootServers for Addresses {
    fn server<'a>(
        &'a self,
        shoot: &'a ShootKey,
    ) -> BoxFuture<'a, Result<ShootServer, Box<dyn Error + Send + Sync>>> {
        Box::pin(async move {
            let authority = authority()?;
            Ok(ShootServer {
                url: address_of(&(self.garden, shoot.namespace.clone(), shoot.name.clone())),
                client_ca_certificate: authority.certificate_pem(),
                client_ca_key: authority.key_pem().into(),
                serving_ca_certificate: authority.certificate_pem(),
            })
        })
    }
}

/// The address of a Shoot of this name.
pub(super) fn address_of((garden, namespace, name): &ShootName) -> String {
    format!("https://{name}.{namespace}.g{garden}.example.com")
}
