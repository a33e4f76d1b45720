//! Servers and stores that the operators cannot work without: when each last did what it was asked for, since when it fails, which
//! work stops, and the remedy.
//!
//! Nothing is probed: every call that the operators make anyway is recorded. A leader reads its fence and renews its Lease every few
//! seconds, so a server that is gone shows within seconds.

use crate::runtime::clock::Clock;
use jiff::{SignedDuration, Timestamp};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

/// A failure that is over sooner is none: API servers restart, connections are closed in the middle of a call.
const GRACE: SignedDuration = SignedDuration::from_secs(5);

/// A server or store, and what is asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependency {
    /// Lists, watches and reads in the garden.
    GardenRead,
    /// Writes in the garden.
    GardenWrite,
    /// Lists, watches and reads in the control plane.
    ControlPlaneRead,
    /// Writes in the control plane.
    ControlPlaneWrite,
    /// The Leases of the operators.
    Lease,
    /// Reads in the ledger.
    LedgerRead,
    /// Writes in the ledger.
    LedgerWrite,
}

impl Dependency {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::GardenRead,
        Self::GardenWrite,
        Self::ControlPlaneRead,
        Self::ControlPlaneWrite,
        Self::Lease,
        Self::LedgerRead,
        Self::LedgerWrite,
    ];

    /// Its name in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GardenRead => "garden-read",
            Self::GardenWrite => "garden-write",
            Self::ControlPlaneRead => "control-plane-read",
            Self::ControlPlaneWrite => "control-plane-write",
            Self::Lease => "lease",
            Self::LedgerRead => "ledger-read",
            Self::LedgerWrite => "ledger-write",
        }
    }

    /// The work that stops while it fails.
    const fn consequence(self) -> &'static str {
        match self {
            Self::GardenRead => {
                "accounts and Shoots are seen as they were; nothing is handed out or given back"
            }
            Self::GardenWrite => "no account is handed out or given back, and no Shoot changes",
            Self::ControlPlaneRead => "requests and Clusters are seen as they were",
            Self::ControlPlaneWrite => "no status is written",
            Self::Lease => "nobody may be leading",
            Self::LedgerRead | Self::LedgerWrite => "no account is handed out or given back",
        }
    }

    /// The first thing to check.
    const fn remedy(self) -> &'static str {
        match self {
            Self::GardenRead | Self::GardenWrite => {
                "check the garden's API server, the network to it, and the kubeconfig in `gardener.kubeconfig`"
            }
            Self::ControlPlaneRead | Self::ControlPlaneWrite => {
                "check the control plane's API server and the operator's ServiceAccount"
            }
            Self::Lease => {
                "check that the operators' namespace (POD_NAMESPACE) exists and that they may get, create and update Leases in it"
            }
            Self::LedgerRead | Self::LedgerWrite => {
                "check the database, its disk and its rights (`allotment ledger verify`)"
            }
        }
    }
}

impl fmt::Display for Dependency {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The record of a process. Clones share it.
#[derive(Clone, Debug)]
pub struct Dependencies {
    clock: Clock,
    states: Arc<Mutex<BTreeMap<Dependency, State>>>,
    /// Counts the failures that began or ended.
    changed: watch::Sender<u64>,
}

#[derive(Clone, Debug, Default)]
struct State {
    succeeded_at: Option<Timestamp>,
    failing: Option<Failing>,
}

#[derive(Clone, Debug)]
struct Failing {
    since: Timestamp,
    error: String,
    is_logged: bool,
}

/// How a dependency is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The server or store.
    pub dependency: Dependency,
    /// When it last worked.
    pub succeeded_at: Option<Timestamp>,
    /// Since when it fails, and the last error; none if it works.
    pub failing: Option<(Timestamp, String)>,
    at: Timestamp,
}

impl Statement {
    /// Whether it fails.
    pub fn is_failing(&self) -> bool {
        self.failing.is_some()
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ago = |moment: Timestamp| self.at.duration_since(moment).as_secs().max(0);
        match (&self.failing, self.succeeded_at) {
            (None, Some(succeeded)) => write!(formatter, "last succeeded {} s ago", ago(succeeded)),
            (None, None) => formatter.write_str("not used yet"),
            (Some((since, error)), succeeded) => {
                write!(formatter, "fails since {since:.0} ({} s): {error}", ago(*since))?;
                if succeeded.is_none() {
                    formatter.write_str("; it never succeeded in this process")?;
                }
                let dependency = self.dependency;
                write!(formatter, "; {}; {}", dependency.consequence(), dependency.remedy())
            }
        }
    }
}

impl Dependencies {
    /// Nothing is known yet.
    pub fn new(clock: Clock) -> Self {
        Self { clock, states: Arc::default(), changed: watch::channel(0).0 }
    }

    /// It did what it was asked for.
    pub fn succeeded(&self, dependency: Dependency) {
        let now = self.clock.now();
        let mut states = self.lock();
        let state = states.entry(dependency).or_default();
        state.succeeded_at = Some(now);
        let Some(Failing { since, is_logged, .. }) = state.failing.take() else { return };
        drop(states);
        self.changed.send_modify(|count| *count += 1);
        if is_logged {
            let seconds = now.duration_since(since).as_secs();
            tracing::info!(%dependency, seconds, "works again");
        }
    }

    /// It did not. The error names no secret.
    pub fn failed(&self, dependency: Dependency, error: impl Into<String>) {
        let now = self.clock.now();
        let mut states = self.lock();
        let state = states.entry(dependency).or_default();
        let fresh = || Failing { since: now, error: String::new(), is_logged: false };
        if state.failing.is_none() {
            self.changed.send_modify(|count| *count += 1);
        }
        let failing = state.failing.get_or_insert_with(fresh);
        failing.error = error.into();
        if !failing.is_logged && now.duration_since(failing.since) >= GRACE {
            failing.is_logged = true;
            let (since, error) = (failing.since, failing.error.as_str());
            tracing::error!(
                %dependency, %since, error,
                because = dependency.consequence(), remedy = dependency.remedy(), "fails"
            );
        }
    }

    /// How each is.
    pub fn statements(&self) -> Vec<Statement> {
        let (at, states) = (self.clock.now(), self.lock());
        let known = |dependency: &Dependency| states.get(dependency).map(|state| (*dependency, state));
        let statement = |(dependency, state): (Dependency, &State)| {
            let failing = state.failing.as_ref().filter(|failing| at.duration_since(failing.since) >= GRACE);
            Statement {
                dependency,
                succeeded_at: state.succeeded_at,
                failing: failing.map(|failing| (failing.since, failing.error.clone())),
                at,
            }
        };
        Dependency::ALL.iter().filter_map(known).map(statement).collect()
    }

    /// Those of these that fail for longer than the grace, in the order in which they are given.
    pub fn failing(&self, of: &[Dependency]) -> Vec<Dependency> {
        let (at, states) = (self.clock.now(), self.lock());
        let fails = |dependency: &&Dependency| {
            let failing = states.get(*dependency).and_then(|state| state.failing.as_ref());
            failing.is_some_and(|failing| at.duration_since(failing.since) >= GRACE)
        };
        of.iter().filter(fails).copied().collect()
    }

    /// Waits until one of these fails, though it may be for a moment only.
    pub async fn until_one_fails(&self, of: &[Dependency]) {
        let mut changes = self.changed.subscribe();
        let fails = || {
            let states = self.lock();
            of.iter().any(|it| states.get(it).is_some_and(|state| state.failing.is_some()))
        };
        while !fails() {
            // The sender lives as long as we do.
            let _ = changes.changed().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Dependency, State>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Dependencies {
    fn default() -> Self {
        Self::new(Clock::system())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI64, Ordering};

    fn at_second() -> (Arc<AtomicI64>, Dependencies) {
        let seconds = Arc::new(AtomicI64::new(0));
        let read = seconds.clone();
        let clock = Clock::new(move || Timestamp::from_second(read.load(Ordering::Relaxed)).unwrap());
        (seconds, Dependencies::new(clock))
    }

    fn only(dependencies: &Dependencies) -> Statement {
        let mut statements = dependencies.statements();
        assert_eq!(statements.len(), 1, "{statements:?}");
        statements.remove(0)
    }

    #[test]
    fn a_failure_shows_after_the_grace_with_its_begin_its_consequence_and_the_remedy() {
        let (seconds, dependencies) = at_second();
        dependencies.succeeded(Dependency::GardenRead);
        seconds.store(100, Ordering::Relaxed);
        dependencies.failed(Dependency::GardenRead, "connection refused");
        seconds.store(104, Ordering::Relaxed);
        assert!(!only(&dependencies).is_failing());
        seconds.store(160, Ordering::Relaxed);
        dependencies.failed(Dependency::GardenRead, "no answer in 10 s");
        assert_eq!(dependencies.failing(&Dependency::ALL), [Dependency::GardenRead]);
        assert_eq!(dependencies.failing(&[Dependency::Lease]), []);
        let text = only(&dependencies).to_string();
        assert!(text.starts_with("fails since 1970-01-01T00:01:40Z (60 s): no answer in 10 s; "), "{text}");
        assert!(text.contains("nothing is handed out") && text.contains("gardener.kubeconfig"), "{text}");
    }

    #[test]
    fn a_success_ends_a_failure_and_the_next_one_begins_anew() {
        let (seconds, dependencies) = at_second();
        dependencies.failed(Dependency::Lease, "namespaces \"a\" not found (404)");
        seconds.store(60, Ordering::Relaxed);
        assert!(only(&dependencies).to_string().contains("it never succeeded in this process"));
        dependencies.succeeded(Dependency::Lease);
        assert_eq!(only(&dependencies).to_string(), "last succeeded 0 s ago");
        dependencies.failed(Dependency::Lease, "again");
        assert!(!only(&dependencies).is_failing());
    }

    #[test]
    fn a_dependency_that_nobody_used_is_not_stated() {
        assert_eq!(at_second().1.statements(), Vec::new());
    }
}
