//! One leader at a time, by a Lease, after client-go's protocol.
//!
//! Written times are for people only: whether a Lease has run out is judged by how long this process has seen it
//! unchanged, so clocks may disagree. A leader that cannot renew stops before anybody else may start. That is no proof: a
//! process that is paused does not notice, which is why the ledger carries an epoch.

use super::{call::CallError, call::call, clock::Clock};
use crate::dependencies::{Dependencies, Dependency};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api,
    api::{ObjectMeta, PostParams},
};
use std::{future::Future, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout_at},
};

/// How long a Lease holds after it was last renewed; client-go's default.
const LEASE: Duration = Duration::from_secs(15);

/// How long a leader goes on without having renewed: less than [`LEASE`], so that it stops before another starts.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);

/// How often it is renewed, or tried for.
const RETRY: Duration = Duration::from_secs(2);

/// Somebody who would lead.
pub struct Candidate {
    api: Api<Lease>,
    name: String,
    identity: String,
    clock: Clock,
    leading: watch::Sender<bool>,
    dependencies: Option<Dependencies>,
}

/// What was last seen of the Lease, and when by our own clock.
struct Observed {
    lease: Option<Lease>,
    since: Instant,
}

impl Candidate {
    /// A candidate for the Lease of this name. The identity must be another one in every process.
    pub fn new(api: Api<Lease>, name: &str, identity: &str, clock: Clock) -> Self {
        let (name, identity) = (name.to_owned(), identity.to_owned());
        Self { api, name, identity, clock, leading: watch::channel(false).0, dependencies: None }
    }

    /// The same, which records whether the Lease can be read and written.
    #[must_use]
    pub fn recording(self, dependencies: Dependencies) -> Self {
        Self { dependencies: Some(dependencies), ..self }
    }

    /// Whether it leads, as it changes.
    pub fn leading(&self) -> watch::Receiver<bool> {
        self.leading.subscribe()
    }

    /// Leads whenever it can: starts `term` when it has become the leader, drops it when it no longer is. Ends when a term
    /// ends by itself; the Lease is then given up, so that the next leader need not wait.
    pub async fn lead<F: Future<Output = ()>>(&self, mut term: impl FnMut() -> F) {
        // Whoever was dropped while leading, and begins again, does not lead yet.
        self.leading.send_if_modified(std::mem::take);
        loop {
            let mut observed = self.acquire().await;
            tracing::info!(lease = %self.name, identity = %self.identity, "leading");
            self.leading.send_replace(true);
            let ended = tokio::select! {
                biased;
                () = self.keep(&mut observed) => false,
                () = term() => true,
            };
            self.leading.send_replace(false);
            if ended {
                self.give_up(observed).await;
                return;
            }
            tracing::warn!(lease = %self.name, identity = %self.identity, "no longer leading");
        }
    }

    /// Waits until the Lease is ours.
    async fn acquire(&self) -> Observed {
        let mut observed = Observed { lease: None, since: Instant::now() };
        loop {
            match self.recorded(self.try_once(&mut observed).await) {
                Ok(true) => return observed,
                Ok(false) => (),
                Err(error) if error.is_conflict() => (),
                Err(error) => tracing::warn!(%error, lease = %self.name, "cannot try for leadership"),
            }
            sleep(RETRY).await;
        }
    }

    /// Renews until that has not worked for too long.
    async fn keep(&self, observed: &mut Observed) {
        let mut renewed = Instant::now();
        loop {
            sleep(RETRY).await;
            let deadline = renewed + RENEW_DEADLINE;
            // What counts is when the renewal was sent: the server may have had it at once and answered late.
            let sent = Instant::now();
            let tried = timeout_at(deadline, self.try_once(observed)).await;
            match tried.map(|tried| self.recorded(tried)) {
                Ok(Ok(true)) => renewed = sent,
                Ok(Ok(false)) => return,
                Ok(Err(error)) => tracing::warn!(%error, lease = %self.name, "cannot renew"),
                Err(_) => return,
            }
            if Instant::now() >= deadline {
                return;
            }
        }
    }

    /// A conflict is an answer too: somebody else was faster.
    fn recorded(&self, tried: Result<bool, CallError>) -> Result<bool, CallError> {
        if let Some(dependencies) = &self.dependencies {
            match &tried {
                Err(error) if !error.is_conflict() => {
                    dependencies.failed(Dependency::Lease, error.to_string());
                }
                Ok(_) | Err(_) => dependencies.succeeded(Dependency::Lease),
            }
        }
        tried
    }

    /// Takes or renews the Lease, if it may. Returns whether it is ours.
    async fn try_once(&self, observed: &mut Observed) -> Result<bool, CallError> {
        let what = |verb: &str| format!("{verb} Lease {}", self.name);
        let Some(lease) = call(|| what("read"), self.api.get_opt(&self.name)).await? else {
            let lease = self.written_by_us(None);
            observed.remember(Some(
                call(|| what("create"), self.api.create(&PostParams::default(), &lease)).await?,
            ));
            return Ok(true);
        };
        observed.remember(Some(lease));
        let Some(lease) = &observed.lease else { return Ok(false) };
        let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default();
        if holder != self.identity && !holder.is_empty() && observed.since.elapsed() < term_of(lease) {
            return Ok(false);
        }
        let ours = self.written_by_us(Some(lease));
        let params = PostParams::default();
        let written = self.api.replace(&self.name, &params, &ours);
        observed.remember(Some(call(|| what("renew"), written).await?));
        Ok(true)
    }

    async fn give_up(&self, observed: Observed) {
        let Some(mut lease) = observed.lease else { return };
        lease.spec.get_or_insert_default().holder_identity = None;
        let params = PostParams::default();
        let given_up = self.api.replace(&self.name, &params, &lease);
        // Nothing is lost if this fails: the others wait until it has run out.
        let _ = call(|| format!("give up Lease {}", self.name), given_up).await;
    }

    fn written_by_us(&self, before: Option<&Lease>) -> Lease {
        let now = self.clock.now();
        let mut lease = before.cloned().unwrap_or_else(|| Lease {
            metadata: ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() },
            spec: None,
        });
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() != Some(self.identity.as_str()) {
            let LeaseSpec { holder_identity, acquire_time, lease_transitions, .. } = &mut *spec;
            let had_a_holder = holder_identity.replace(self.identity.clone()).is_some();
            *acquire_time = Some(micro(now));
            *lease_transitions = Some(lease_transitions.unwrap_or(0) + i32::from(had_a_holder));
        }
        spec.renew_time = Some(micro(now));
        spec.lease_duration_seconds = i32::try_from(LEASE.as_secs()).ok();
        lease
    }
}

impl Observed {
    /// The time runs from when the Lease last changed before our eyes.
    fn remember(&mut self, lease: Option<Lease>) {
        let version =
            |lease: &Option<Lease>| lease.as_ref().and_then(|lease| lease.metadata.resource_version.clone());
        if version(&self.lease) != version(&lease) {
            self.since = Instant::now();
        }
        self.lease = lease;
    }
}

/// Who holds a Lease, by the times that are written in it: for people, who cannot wait and see.
pub async fn holder(api: &Api<Lease>, name: &str, now: Timestamp) -> Result<Option<String>, CallError> {
    let lease = call(|| format!("read Lease {name}"), api.get_opt(name)).await?;
    Ok(lease.and_then(|lease| {
        let term = SignedDuration::try_from(term_of(&lease)).ok()?;
        let LeaseSpec { holder_identity, renew_time, .. } = lease.spec?;
        let holds = renew_time.is_some_and(|renewed| now.duration_since(renewed.0) < term);
        holder_identity.filter(|holder| holds && !holder.is_empty())
    }))
}

/// How long the holder asked for.
fn term_of(lease: &Lease) -> Duration {
    let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
    seconds.and_then(|seconds| u64::try_from(seconds).ok()).map_or(LEASE, Duration::from_secs)
}

fn micro(time: Timestamp) -> MicroTime {
    MicroTime(time)
}
