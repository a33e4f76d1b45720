//! A stand-in for the gardenlet, working through kube-rs on any garden: it takes Shoots, drives their status with
//! Gardener's words, publishes what kubeconfigs are made of, and lets deleted Shoots go. It can be told to fail a Shoot,
//! to be slow, or to flap, see [`Script`].
//!
//! What it does not do: schedule, maintain, migrate, or rotate credentials.

mod act;
mod life;
mod script;
mod servers;
#[cfg(test)]
mod tests;
mod words;

pub use script::{ANNOTATION, Failure, Script, Scripts};
pub use servers::{SharedServers, ShootServer, ShootServers};

use allotment_api::gardener::{GardenerIdentity, Shoot};
use futures::StreamExt;
use jiff::Timestamp;
use kube::{
    Api, Client, ResourceExt,
    runtime::{Controller, controller::Action, watcher},
};
use std::{fmt, sync::Arc, time::Duration};
use tokio::task::JoinHandle;

/// How long to wait after an error: gardens in tests come up in seconds.
const AFTER_ERROR: Duration = Duration::from_millis(500);

/// The namespace and name of a Shoot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShootKey {
    /// The namespace of its project.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ShootKey {
    /// That of a Shoot.
    pub fn of(shoot: &Shoot) -> Self {
        Self { namespace: shoot.namespace().unwrap_or_default(), name: shoot.name_any() }
    }
}

impl fmt::Display for ShootKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Why a step could not be made. The next look tries again.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A call to the garden failed.
    #[error("cannot {what} Shoot {shoot}: {source}")]
    Garden {
        /// What was tried.
        what: &'static str,
        /// On which Shoot.
        shoot: ShootKey,
        /// Why it failed.
        source: kube::Error,
    },
    /// There is no API server for the Shoot.
    #[error("cannot get an API server for Shoot {shoot}: {source}")]
    Server {
        /// For which Shoot.
        shoot: ShootKey,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The stand-in.
#[derive(Clone)]
pub struct Gardenlet {
    client: Client,
    servers: Arc<dyn ShootServers>,
    scripts: Scripts,
    identity: GardenerIdentity,
}

impl Gardenlet {
    /// A stand-in on this garden, whose Shoots lead to these API servers.
    pub fn new(client: Client, servers: Arc<dyn ShootServers>, scripts: Scripts) -> Self {
        let identity = GardenerIdentity {
            id: "allotment".to_owned(),
            name: "allotment-gardenlet".to_owned(),
            version: concat!("v", env!("CARGO_PKG_VERSION")).to_owned(),
        };
        Self { client, servers, scripts, identity }
    }

    /// Makes the next step in the life of a Shoot, and says when to look again. The Shoot may come from a cache: every
    /// write carries its resourceVersion.
    pub async fn reconcile(&self, shoot: &Shoot, now: Timestamp) -> Result<Action, Error> {
        let script = self.scripts.of(shoot);
        let step = life::next(shoot, &script, &self.identity, now);
        let key = ShootKey::of(shoot);
        tracing::debug!(shoot = %key, ?step, "gardenlet");
        match step {
            life::Step::Idle => return Ok(Action::await_change()),
            life::Step::Wait(rest) => return Ok(Action::requeue(rest)),
            life::Step::Take => act::take(self, shoot).await?,
            life::Step::LetGo => act::let_go(self, shoot).await?,
            life::Step::Report(status) => act::report(self, shoot, *status).await?,
            life::Step::Publish(status) => act::publish(self, shoot, *status).await?,
        }
        // What was written comes back as an event.
        Ok(Action::await_change())
    }

    /// Runs until the returned handle is dropped: on one namespace, or on the whole garden.
    pub fn start(self, namespace: Option<&str>) -> Running {
        let shoots = match namespace {
            Some(namespace) => Api::<Shoot>::namespaced(self.client.clone(), namespace),
            None => Api::<Shoot>::all(self.client.clone()),
        };
        let stream = Controller::new(shoots, watcher::Config::default()).run(
            |shoot, gardenlet: Arc<Self>| async move { gardenlet.reconcile(&shoot, Timestamp::now()).await },
            |_, error, _| {
                // A conflict only says that the cache was behind.
                let conflict = matches!(error, Error::Garden { source: kube::Error::Api(status), .. } if status.is_conflict());
                if !conflict {
                    tracing::warn!(%error, "gardenlet");
                }
                Action::requeue(AFTER_ERROR)
            },
            Arc::new(self),
        );
        Running(tokio::spawn(stream.for_each(|_| async {})))
    }
}

/// A stand-in that runs; it ends when this is dropped.
#[derive(Debug)]
pub struct Running(JoinHandle<()>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}
