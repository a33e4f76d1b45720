//! The gardenlet, and the API servers of Shoots.

use crate::stage::{
    call::Role,
    dice::dice_for,
    field::{Field, client_of, shoot_at},
    world::{By, GARDEN, World, entropy},
};
use allotment_apiserver::{ApiServer, Server};
use allotment_garden::gardenlet::{Gardenlet, Script, Scripts, ShootKey, ShootServer, ShootServers};
use futures::future::BoxFuture;
use serde_json::Value;
use std::{error::Error, sync::Arc};

/// Everything in the garden that is not an object.
pub(crate) struct Grounds {
    scripts: Scripts,
    field: Field<String>,
}

impl Grounds {
    pub(crate) fn new(step_milliseconds: u64) -> Self {
        let default = Script { step_milliseconds, ..Script::default() };
        Self { scripts: Scripts::with_default(default), field: Field::default() }
    }

    /// A Shoot is like this now, or gone.
    pub(super) fn see(&self, name: &str, object: Option<&Value>) {
        self.field.see(&name.to_owned(), object);
    }

    /// Tells what happens to a Shoot from now on.
    pub(super) fn trouble(&self, name: &str, script: Script) {
        self.field.trouble(&name.to_owned());
        self.scripts.set(key_of(name), script);
    }

    /// Nothing goes wrong any more.
    pub(super) fn calm(&self) {
        for name in self.field.calm() {
            self.scripts.clear(&key_of(&name));
        }
    }

    /// Whether the gardenlet is at work.
    pub(crate) fn is_busy(&self) -> bool {
        self.field.is_busy()
    }

    /// The API server of a Shoot.
    pub(crate) fn server(&self, world: &World, uid: &str) -> ApiServer {
        self.field.server(uid, || {
            let dice = dice_for(world.options.seed, &["shoot", uid], 0);
            ApiServer::with(Server::new(entropy(dice), world.now()), world.clock.clone())
        })
    }
}

fn key_of(name: &str) -> ShootKey {
    ShootKey { namespace: GARDEN.to_owned(), name: name.to_owned() }
}

/// Looks after Shoots, for ever.
pub(crate) async fn tend(world: Arc<World>) {
    let client = client_of(world.clone(), world.garden.clone(), Role::Subscription, |world, call| {
        world.tell(|| format!("gardenlet {} {}", call.plural, call.name));
        world.wrote(call, By::Other);
    });
    let gardenlet = Gardenlet::new(client, Arc::new(Addresses), world.grounds.scripts.clone());
    world.grounds.field.tend(&world, |_| Some(&gardenlet)).await;
}

struct Addresses;

impl ShootServers for Addresses {
    fn server<'a>(
        &'a self,
        shoot: &'a ShootKey,
    ) -> BoxFuture<'a, Result<ShootServer, Box<dyn Error + Send + Sync>>> {
        Box::pin(async move { Ok(shoot_at(format!("https://{}.example.com", shoot.name))?) })
    }
}
