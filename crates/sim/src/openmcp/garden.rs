//! The gardenlets, and the API servers of Shoots.

use super::{Place, Realm, sees};
use crate::stage::{
    call::Role,
    dice::dice_for,
    field::{Field, client_of, shoot_at},
    world::{World, entropy},
};
use allotment_apiserver::{ApiServer, Server};
use allotment_garden::gardenlet::{Gardenlet, Script, Scripts, ShootKey, ShootServer, ShootServers};
use futures::future::BoxFuture;
use http::Method;
use serde_json::{Value, json};
use std::{error::Error, sync::Arc};

/// A Shoot: its garden, namespace and name.
pub(super) type ShootName = (usize, String, String);

/// Everything in the gardens that is not an object.
pub(crate) struct Grounds {
    scripts: Vec<Scripts>,
    step_milliseconds: u64,
    field: Field<ShootName>,
}

impl Grounds {
    pub(super) fn new(step_milliseconds: u64, gardens: usize) -> Self {
        let default = Script { step_milliseconds, ..Script::default() };
        let scripts = (0..gardens).map(|_| Scripts::with_default(default.clone())).collect();
        Self { scripts, step_milliseconds, field: Field::default() }
    }

    /// A Shoot is like this now, or gone.
    pub(super) fn see(&self, name: &ShootName, object: Option<&Value>) {
        self.field.see(name, object);
    }

    /// Tells what happens to a Shoot from now on; `script` has no time of its own.
    pub(super) fn trouble(&self, name: &ShootName, script: Script) {
        self.field.trouble(name);
        let script = Script { step_milliseconds: self.step_milliseconds, ..script };
        if let Some(scripts) = self.scripts.get(name.0) {
            scripts.set(key_of(name), script);
        }
    }

    /// Nothing goes wrong any more.
    pub(super) fn calm(&self) {
        for name in self.field.calm() {
            if let Some(scripts) = self.scripts.get(name.0) {
                scripts.clear(&key_of(&name));
            }
        }
    }

    /// Whether a gardenlet is at work.
    pub(super) fn is_busy(&self) -> bool {
        self.field.is_busy()
    }

    /// The API server of a Shoot.
    pub(super) fn server(&self, world: &World, realm: &Realm, uid: &str) -> ApiServer {
        self.field.server(uid, || {
            let dice = dice_for(world.options.seed, &["shoot", uid], 0);
            let server = ApiServer::with(Server::new(entropy(dice), world.now()), world.clock.clone());
            if realm.providers.oidc {
                let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
                world.ask_server(&server, Method::POST, path, Some(&openid_connects()));
            }
            server
        })
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
    let gardenlets: Vec<Gardenlet> = realm
        .gardens
        .iter()
        .zip(&realm.grounds.scripts)
        .enumerate()
        .map(|(garden, (server, scripts))| {
            let client = client_of(world.clone(), server.clone(), Role::Openmcp, move |world, call| {
                world.tell(|| format!("gardenlet {garden} {} {}", call.plural, call.name));
                sees::somebody_wrote(world, call, &Place::Garden(garden));
            });
            Gardenlet::new(client, Arc::new(Addresses { garden }), scripts.clone())
        })
        .collect();
    realm.grounds.field.tend(&world, |(garden, ..)| gardenlets.get(*garden)).await;
}

struct Addresses {
    garden: usize,
}

impl ShootServers for Addresses {
    fn server<'a>(
        &'a self,
        shoot: &'a ShootKey,
    ) -> BoxFuture<'a, Result<ShootServer, Box<dyn Error + Send + Sync>>> {
        let name = (self.garden, shoot.namespace.clone(), shoot.name.clone());
        Box::pin(async move { Ok(shoot_at(address_of(&name))?) })
    }
}

/// The address of a Shoot of this name.
pub(super) fn address_of((garden, namespace, name): &ShootName) -> String {
    format!("https://{name}.{namespace}.g{garden}.example.com")
}
