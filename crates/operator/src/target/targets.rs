//! Who has been reached, and one way in at a time for each.
//!
//! An admin kubeconfig costs Gardener a fifth of a second of a core, and opens everything. So it is asked for only when
//! there is something to do, by one of those who need it at the same moment, and is in this memory and nowhere else.

use super::{
    Connect, Key, Reached, TargetTrouble,
    fetch::{Fetched, Version, confirm, fetch},
    trouble::shortened,
};
use crate::{metrics::Metrics, runtime::clock::Clock};
use allotment_core::access::kubeconfig::{Credentials, Given};
use futures::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use secrecy::SecretString;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::time::Instant;

/// The part of its life for which a client is handed out, in percent: whoever got it has the rest to use it.
const USED_PERCENT: i32 = 80;

/// A client is kept that long even if our clock says that it has ended: with a clock that is wrong, every look would cost
/// Gardener a key. A server that does not take it says 401, and then it is forgotten.
pub(super) const SHORTEST_KEPT: SignedDuration = SignedDuration::from_secs(30);

/// A client that nobody has asked for in this time is dropped. What is done to a cluster is done within seconds, and the
/// next look is an hour away.
const IDLE: SignedDuration = SignedDuration::from_secs(60);

/// How many clients are kept, each with its connections. 100,000 clusters that are looked at once an hour, and dropped when
/// they are idle for a minute, are 1,700.
pub(super) const MOST_KEPT: usize = 2048;

/// What it takes to reach clusters.
#[derive(Clone)]
pub struct Parts {
    /// For `shoots/adminkubeconfig`.
    pub garden: Client,
    /// The namespace of our project.
    pub garden_namespace: String,
    /// For Secrets with kubeconfigs that users brought.
    pub control_plane: Client,
    /// The time.
    pub clock: Clock,
    /// How a kubeconfig becomes a client.
    pub connect: Connect,
    /// What is counted.
    pub metrics: Metrics,
}

/// Clusters that can be reached. Cheap to clone; the operators of a process share one.
#[derive(Clone)]
pub struct Targets(Arc<Inner>);

/// What [`Targets`] share.
pub(super) struct Inner {
    parts: Parts,
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    all: BTreeMap<Key, Slot>,
    last_number: u64,
}

#[derive(Default)]
struct Slot {
    held: Option<Held>,
    /// Weak: when all who waited have gone away, so has the call.
    asking: Option<(u64, WeakShared<Asking>)>,
}

type Asking = BoxFuture<'static, Result<Reached, TargetTrouble>>;

#[derive(Clone)]
struct Held {
    reached: Reached,
    /// Of a Shoot: when another one is fetched.
    until: Option<Timestamp>,
    /// Of a Secret: what it was made from.
    version: Option<Version>,
    used: Timestamp,
}

impl Targets {
    /// Nothing is reached yet.
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(Inner { parts, slots: Mutex::default() }))
    }

    /// Reaches a cluster. Whoever asks while somebody else does gets what they get, also if that is trouble.
    pub async fn reach(&self, key: &Key) -> Result<Reached, TargetTrouble> {
        let asking = match self.0.begin(key) {
            Ok(reached) => return Ok(reached),
            Err(asking) => asking,
        };
        asking.await
    }

    /// A client that reaches the same cluster with this token, and nothing else.
    pub async fn with_token(&self, reached: &Reached, token: SecretString) -> Result<Client, TargetTrouble> {
        let given = Given {
            server: reached.server.clone(),
            tls_server_name: reached.tls_server_name.clone(),
            ca: reached.ca.clone(),
            credentials: Credentials::Token(token),
        };
        self.0.parts.connect.make(reached.key.clone(), given).await.map_err(|error| TargetTrouble::NoClient {
            target: reached.key.to_string(),
            because: shortened(&error),
        })
    }

    /// Asks the garden whether a cluster is still there that does not answer. It costs no credentials; of one that a user brought, nobody
    /// knows.
    pub async fn confirm(&self, key: &Key) -> Result<(), TargetTrouble> {
        match key {
            Key::Shoot { name, uid } => confirm(&self.0.parts, name, uid).await,
            Key::Byoc { .. } => Ok(()),
        }
    }

    /// Forgets how a cluster was reached. The next who reaches for it fetches anew.
    pub fn forget(&self, key: &Key) {
        self.0.forget(key, None);
    }

    /// Drops what has ended and what nobody uses. [`Targets::reach`] does so too; call this where nothing is reached for a
    /// long time.
    pub fn tidy(&self) {
        let now = self.0.parts.clock.now();
        self.0.slots().tidy(now);
    }

    /// How many clients are kept.
    pub fn kept(&self) -> usize {
        self.0.slots().all.values().filter(|slot| slot.held.is_some()).count()
    }
}

impl fmt::Debug for Targets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Targets").field("kept", &self.kept()).finish_non_exhaustive()
    }
}

impl Inner {
    /// What is there, or what to wait for.
    fn begin(self: &Arc<Self>, key: &Key) -> Result<Reached, Shared<Asking>> {
        let now = self.parts.clock.now();
        let mut slots = self.slots();
        slots.tidy(now);
        slots.last_number += 1;
        let number = slots.last_number;
        let slot = slots.all.entry(key.clone()).or_default();
        if let Some(held) = slot.held.as_mut() {
            held.used = now;
            // What is in a Secret can change at any time, so it is read each time.
            if held.until.is_some() {
                return Ok(held.reached.clone());
            }
        }
        if let Some(asking) = slot.asking.as_ref().and_then(|(_, asking)| asking.upgrade()) {
            return Err(asking);
        }
        let known = slot.held.clone();
        let asking = self.clone().ask(key.clone(), number, known, now).boxed().shared();
        slot.asking = asking.downgrade().map(|weak| (number, weak));
        Err(asking)
    }

    async fn ask(
        self: Arc<Self>,
        key: Key,
        number: u64,
        known: Option<Held>,
        now: Timestamp,
    ) -> Result<Reached, TargetTrouble> {
        let known_version = known.as_ref().and_then(|held| held.version.as_ref());
        let asked = match fetch(&self.parts, &key, known_version).await {
            Ok(None) => Ok(known),
            Ok(Some(fetched)) => self.connect(&key, number, fetched, now).await.map(Some),
            Err(trouble) => Err(trouble),
        };
        let mut slots = self.slots();
        let Some(slot) = slots.all.get_mut(&key) else { return finished(asked, &key) };
        // Otherwise it was forgotten meanwhile, and whoever asks next gets something newer than this.
        if slot.asking.as_ref().is_some_and(|(asking, _)| *asking == number) {
            slot.asking = None;
            slot.held = asked.as_ref().ok().cloned().flatten();
            slots.bound();
        }
        drop(slots);
        finished(asked, &key)
    }

    async fn connect(
        self: &Arc<Self>,
        key: &Key,
        number: u64,
        fetched: Fetched,
        now: Timestamp,
    ) -> Result<Held, TargetTrouble> {
        let Fetched { given, ends, version } = fetched;
        let (server, tls_server_name, ca) =
            (given.server.clone(), given.tls_server_name.clone(), given.ca.clone());
        let client = self.parts.connect.make(key.clone(), given).await.map_err(|error| {
            TargetTrouble::NoClient { target: key.to_string(), because: shortened(&error) }
        })?;
        let until = ends.map(|ends| {
            let life = ends.duration_since(now);
            now + (life * USED_PERCENT / 100).max(SHORTEST_KEPT)
        });
        let targets = Arc::downgrade(self);
        let reached = Reached {
            key: key.clone(),
            client,
            server,
            tls_server_name,
            ca,
            number,
            targets,
            since: Instant::now(),
        };
        Ok(Held { reached, until, version, used: now })
    }

    /// Forgets a client, or whichever there is.
    pub(super) fn forget(&self, key: &Key, number: Option<u64>) {
        let mut slots = self.slots();
        let is_meant = slots.all.get(key).is_some_and(|slot| match (number, &slot.held) {
            (None, _) => true,
            (Some(number), Some(held)) => held.reached.number == number,
            (Some(_), None) => false,
        });
        if is_meant {
            slots.all.remove(key);
        }
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something is held wherever there was no trouble: what is known is only confirmed if it is known.
fn finished(asked: Result<Option<Held>, TargetTrouble>, key: &Key) -> Result<Reached, TargetTrouble> {
    match asked? {
        Some(held) => Ok(Reached { since: Instant::now(), ..held.reached }),
        None => Err(TargetTrouble::Unreadable { what: format!("reach {key}") }),
    }
}

impl Slots {
    fn tidy(&mut self, now: Timestamp) {
        self.all.retain(|_, slot| {
            slot.held.take_if(|held| held.until.is_some_and(|until| until <= now) || held.used + IDLE <= now);
            slot.asking.take_if(|(_, asking)| asking.upgrade().is_none());
            slot.held.is_some() || slot.asking.is_some()
        });
    }

    /// Drops what was not used for the longest time.
    fn bound(&mut self) {
        let held = self.all.iter().filter_map(|(key, slot)| Some((slot.held.as_ref()?.used, key)));
        let mut held: Vec<(Timestamp, &Key)> = held.collect();
        if held.len() <= MOST_KEPT {
            return;
        }
        held.sort();
        let oldest: Vec<Key> =
            held.iter().take(held.len() - MOST_KEPT).map(|(_, key)| (*key).clone()).collect();
        for key in &oldest {
            if let Some(slot) = self.all.get_mut(key) {
                slot.held = None;
            }
        }
    }
}
