//! The world of a run: two servers, a ledger, and everything that is known of what happens in it.

use super::{
    call::{Call, Side},
    coverage::{self, Coverage},
    dice::{Dice, TraceHash, dice_for},
    edit::Edits,
    eyes::Eyes,
    past::{PERSON, Past, WRITERS},
    rates::{Kind, Rates},
    script::{Harm, Options, Spot},
    setting::policy,
};
use crate::{
    access::grants::Issued,
    cleanup::{self, Truth},
    cluster::{garden::Grounds, staff},
    hostile,
    openmcp::{self, Realm},
};
use allotment_apiserver::{
    ApiServer,
    auth::User,
    server::{Answer, Entropy},
    service::Clock,
};
use allotment_clouds::memory::MemoryCloud;
use allotment_core::{
    check::{Scene, Tokens, Violation, entry_change},
    pool::{AccountName, Limit, PoolKey, Tenant},
};
use allotment_garden::embedded::{EmbeddedError, EmbeddedGarden};
use allotment_operator::{
    cluster,
    ledger::{Ledger, LedgerError, Place},
    planted::Planted,
    subscription::Policy,
};
use bytes::Bytes;
use http::{Method, Request};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::time::Instant;

/// The namespace of the project in the garden.
pub(crate) const GARDEN: &str = "garden-sim";

/// The namespace of requests and Leases in the control plane.
pub(crate) const NAMESPACE: &str = "default";

/// What an operator does to lead: it goes on for ever.
const LEASES: [&str; 5] = ["lease", "cluster lease", "kubeconfig lease", "cleanup lease", "provider lease"];

/// Parts of what a request asks for. They are patched one after the other, until one is refused.
const PARTS: [&str; 2] = ["make part", "make inside part"];

/// Runs begin here: days do not matter, and this one is easy to read.
const BEGINNING_SECONDS: i64 = 1_800_000_000;

/// Why a run could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// There is no garden.
    #[error(transparent)]
    Garden(#[from] EmbeddedError),
    /// There is no ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The rules of the simulation are wrong.
    #[error("the rules of the simulation are wrong: {0}")]
    Rules(String),
    /// The configuration of the simulation is wrong.
    #[error("the configuration of the simulation is wrong: {0}")]
    Configuration(String),
    /// A server does not take what the simulation begins with.
    #[error("cannot set up the simulation: {what}: {code} {body}")]
    SetUp {
        /// What was tried.
        what: String,
        /// What the server said.
        code: u16,
        /// And why.
        body: String,
    },
    /// There is no runtime.
    #[error("cannot start the runtime: {0}")]
    Runtime(#[from] std::io::Error),
}

/// Where faults come from.
#[derive(Clone, Debug)]
pub(crate) enum Faults {
    /// From the seed.
    Drawn(Rates),
    /// From a script.
    Listed(BTreeMap<Spot, Harm>),
}

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Operator,
    /// The cleanup operator.
    Cleaner,
    /// Somebody who should not, or who does not tell us.
    Meddler,
    /// Tenants, the cleaner, whoever makes clusters.
    Other,
}

pub(crate) struct World {
    pub(crate) garden: ApiServer,
    pub(crate) control_plane: ApiServer,
    pub(crate) ledger: Ledger,
    pub(crate) policy: Policy,
    pub(crate) options: Options,
    pub(crate) pools: Vec<PoolKey>,
    pub(crate) grounds: Grounds,
    /// The accounts of the cloud behind the pool.
    pub(crate) cloud: MemoryCloud,
    /// Platforms and gardens of openMCP.
    pub(crate) realm: Option<Realm>,
    pub(crate) planted: Option<Planted>,
    pub(crate) clock: Clock,
    started: Instant,
    state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) trace: TraceHash,
    /// What happened, line by line, if somebody wants to read it.
    pub(crate) lines: Option<Vec<String>>,
    pub(crate) coverage: Coverage,
    pub(crate) eyes: Eyes,
    pub(crate) found: Vec<(u64, Violation)>,
    /// The faults that came about.
    pub(crate) happened: BTreeMap<Spot, Harm>,
    /// No more faults.
    pub(crate) calm: bool,
    /// Whose process has ended, by its number.
    pub(crate) crashed: [bool; WRITERS],
    /// Whose process is to stand still, for how many milliseconds.
    pub(crate) pauses: Vec<(usize, u64)>,
    /// Everything that operators wrote, but Leases.
    pub(crate) writes: u64,
    /// Those to servers that changed something, or failed.
    pub(crate) server_writes: u64,
    /// Those that a server refused for what they are, and patches of parts that changed nothing.
    pub(crate) idle_writes: u64,
    pub(crate) calls: u64,
    /// The configuration of the cluster operators, and how often it was changed.
    pub(crate) clusters: cluster::Policy,
    pub(crate) configured: u64,
    /// Every token that was ever published.
    pub(crate) issued: Issued,
    /// Tokens, and what was reason to give them.
    pub(crate) tokens: Tokens,
    /// What people have changed.
    pub(crate) edits: Edits,
    /// The size of disks that it says.
    pub(crate) disk: u64,
    pub(crate) past: Past,
    /// The truth about the accounts of the cloud.
    pub(crate) truth: Truth,
    faults: Faults,
    counts: BTreeMap<(usize, &'static str), u64>,
}

impl World {
    pub(crate) async fn new(
        options: &Options,
        faults: Faults,
        read: bool,
        planted: Option<Planted>,
    ) -> Result<Self, SimError> {
        let started = Instant::now();
        let clock: Clock = Arc::new(move || time_at(started.elapsed()));
        let seed = options.seed;
        let numbers = Mutex::new(0);
        let entropy = || {
            let mut number = numbers.lock().unwrap_or_else(PoisonError::into_inner);
            *number += 1;
            entropy(dice_for(seed, &["entropy"], *number))
        };
        let EmbeddedGarden { garden, control_plane, shoots: _ } =
            EmbeddedGarden::with(entropy, clock.clone())?;
        let realm = match &options.openmcp {
            Some(providers) => {
                Some(Realm::new(providers, options.step, &garden, &control_plane, entropy, &clock)?)
            }
            None => None,
        };
        let place = Place { garden: "sim".to_owned(), project: GARDEN.to_owned() };
        let ledger =
            Ledger::open_as("sqlite::memory:", place, "00000000-0000-4000-8000-000000000000").await?;
        let ledger = match planted {
            Some(fault) => ledger.plant(fault),
            None => ledger,
        };
        let policy = policy(options)?;
        let limit = Limit(options.limit);
        let several = (1..=options.several).map(|number| (Tenant::new(format!("t{number}")), limit));
        let scene = Scene { limits: several.collect(), cap: policy.cap, ..Scene::default() };
        let mut eyes = Eyes::new(scene, policy.rules.clone());
        if options.hostile > 0 {
            eyes.isolation = hostile::isolation(options);
        }
        let hyperscaler_type = options.cloud().as_str();
        let pool =
            |shared, eu_access| PoolKey { hyperscaler_type: hyperscaler_type.to_owned(), shared, eu_access };
        let state = State {
            trace: TraceHash::default(),
            lines: read.then(Vec::new),
            coverage: Coverage::default(),
            eyes,
            found: Vec::new(),
            happened: BTreeMap::new(),
            calm: false,
            crashed: [false; WRITERS],
            pauses: Vec::new(),
            writes: 0,
            server_writes: 0,
            idle_writes: 0,
            calls: 0,
            clusters: staff::policy(staff::DISK, options)?,
            configured: 0,
            disk: staff::DISK,
            issued: Issued::default(),
            past: Past::default(),
            truth: Truth::default(),
            tokens: Tokens::default(),
            edits: Edits::default(),
            faults,
            counts: BTreeMap::new(),
        };
        let world = Self {
            garden,
            control_plane,
            ledger,
            policy,
            options: options.clone(),
            pools: vec![pool(false, false), pool(false, true), pool(true, false), pool(true, true)],
            grounds: Grounds::new(options.step),
            cloud: MemoryCloud::new(),
            realm,
            planted,
            clock,
            started,
            state: Mutex::new(state),
        };
        world.set_up()?;
        openmcp::set_up(&world)?;
        Ok(world)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Milliseconds since the beginning.
    pub(crate) fn millis(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn now(&self) -> Timestamp {
        time_at(self.started.elapsed())
    }

    pub(crate) fn instant(&self, millis: u64) -> Instant {
        self.started + std::time::Duration::from_millis(millis)
    }

    pub(crate) fn server(&self, side: Side) -> &ApiServer {
        match side {
            Side::Garden | Side::Shoot => &self.garden,
            Side::ControlPlane => &self.control_plane,
        }
    }

    /// Writes a line into the trace.
    pub(crate) fn tell(&self, line: impl FnOnce() -> String) {
        let line = format!("{:>7} {}", self.millis(), line());
        let mut state = self.state();
        state.trace.add(&line);
        if let Some(lines) = &mut state.lines {
            lines.push(line);
        }
    }

    /// A server has answered a write. What it refuses is tried again from time to time, for somebody may change the world; with it goes
    /// what was patched before.
    pub(crate) fn answered_write(&self, operation: &str, status: Option<u16>, is_same: bool) {
        if LEASES.contains(&operation) {
            return;
        }
        let mut state = self.state();
        match status {
            Some(403 | 404 | 422) => state.idle_writes += 1,
            // A name that is somebody else's.
            Some(409) if PARTS.contains(&operation) => state.idle_writes += 1,
            Some(200) if is_same && PARTS.contains(&operation) => state.idle_writes += 1,
            _ => state.server_writes += 1,
        }
    }

    /// An operator is about to do something: what goes wrong with it, and how long it takes anyway.
    pub(crate) fn begin(
        &self,
        replica: usize,
        operation: &'static str,
        during: &'static str,
        kind: Kind,
    ) -> (Option<Harm>, u64) {
        let seed = self.options.seed;
        let mut state = self.state();
        state.calls += 1;
        let is_write = matches!(kind, Kind::Write | Kind::Commit) && !LEASES.contains(&operation);
        let count = |state: &mut State, replica, operation| {
            let count = state.counts.entry((replica, operation)).or_default();
            *count += 1;
            *count
        };
        let number = count(&mut state, replica, operation);
        let write = is_write.then(|| count(&mut state, 2, "write"));
        if is_write {
            state.writes += 1;
        }
        let who = replica.to_string();
        let latency = dice_for(seed, &["latency", &who, operation], number).between(1, self.options.latency);
        if state.calm || replica == PERSON {
            return (None, latency);
        }
        let spot = Spot { replica, operation: operation.to_owned(), number };
        let harm = match &state.faults {
            Faults::Drawn(rates) => rates.harm(seed, replica, (operation, during), number, kind),
            Faults::Listed(listed) => listed.get(&spot).copied().or_else(|| {
                let spot = Spot { replica: 2, operation: "write".to_owned(), number: write? };
                listed.get(&spot).copied()
            }),
        };
        if let Some(harm) = harm {
            state.happened.insert(spot, harm);
            state.tokens.disturbed();
        }
        (harm, latency)
    }

    /// What happened to an operation is part of what was tried.
    pub(crate) fn tried(&self, operation: &'static str, state: &'static str, harm: Option<Harm>) {
        self.state().coverage.add(operation, state, coverage::word(harm));
    }

    /// The process of an operator ends here.
    pub(crate) fn crash(&self, replica: usize) {
        let mut state = self.state();
        state.crashed[replica] = true;
        state.tokens.disturbed();
        drop(state);
        self.tell(|| format!("operator {replica} crashes"));
    }

    pub(crate) fn is_crashed(&self, replica: usize) -> bool {
        self.state().crashed[replica]
    }

    /// Somebody has written to a server.
    pub(crate) fn wrote(&self, call: &Call, by: By) {
        self.wrote_by(call, by, PERSON);
    }

    /// An operator, or somebody else, has written to a server.
    pub(crate) fn wrote_by(&self, call: &Call, by: By, replica: usize) {
        let Some(path) = path_of(&call.plural, &call.name) else { return };
        self.state().issued.writes += 1;
        let (code, object) = self.ask(call.side, Method::GET, &path, None);
        let object = (code == 200).then_some(&object);
        self.see_cause(call, by, object);
        let is_hostile = self.options.hostile > 0 && self.is_of_hostile(call, object);
        if self.options.hostile > 0 {
            let found = self.see_isolation(call, by, object);
            self.found(found);
        }
        let fleet = self.see_fleet(call, by, object, is_hostile);
        self.found(fleet);
        if call.plural == "kubeconfigrequests" && !is_hostile {
            let access = self.see_access(object);
            self.found(access);
        }
        let now = self.millis();
        let mut state = self.state();
        state.eyes.grow_older(now);
        let mut violations = Vec::new();
        let account = AccountName::new(call.name.as_str());
        let before = state.eyes.scene.entries.get(&account).cloned();
        if call.plural == "credentialsbindings" {
            match (by, state.eyes.scene.entries.get(&account), object) {
                (By::Operator, Some(before), Some(object)) => {
                    let after = state.eyes.entry_of(object);
                    violations = entry_change(&account, before, &after);
                    if let (None, Some(tenant)) = (&before.tenant, &after.tenant) {
                        violations.extend(state.eyes.scene.labelling(&account, tenant));
                        if state.past.was_lost {
                            state.eyes.forgive_label(&account, tenant);
                        }
                    }
                }
                (By::Meddler, ..) => {
                    state.eyes.scene.meddled.insert(account.clone());
                    state.eyes.scene.tampered.insert(account.clone());
                }
                _ => (),
            }
        }
        if by == By::Operator && call.phase.is_some() {
            state.eyes.forget_return(&call.name);
        }
        violations.extend(state.eyes.see(&call.plural, &call.name, object));
        drop(state);
        self.found(violations);
        if self.options.settle > 0 {
            cleanup::wrote(self, call, by, replica, before.as_ref());
        }
    }

    /// The ledger was written.
    pub(crate) fn wrote_ledger(&self) {
        let now = self.millis();
        let mut state = self.state();
        state.eyes.grow_older(now);
        let result = state.eyes.see_ledger(&self.ledger, &self.pools);
        drop(state);
        match result {
            Ok(violations) => self.found(violations),
            Err(error) => self.found(vec![Violation::Untold(error.to_string())]),
        }
        if self.options.settle > 0 {
            cleanup::wrote_ledger(self);
        }
    }

    pub(crate) fn found(&self, violations: Vec<Violation>) {
        let at = self.millis();
        for violation in &violations {
            self.tell(|| format!("VIOLATION: {violation}"));
        }
        self.state().found.extend(violations.into_iter().map(|violation| (at, violation)));
    }

    /// Somebody who is no operator asks a server for something.
    pub(crate) fn ask(&self, side: Side, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        self.ask_server(self.server(side), method, path, body)
    }

    pub(crate) fn ask_server(
        &self,
        server: &ApiServer,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let mut request = Request::builder().method(method.clone()).uri(path);
        if method == Method::PATCH {
            request = request.header("content-type", "application/merge-patch+json");
        }
        let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let Ok(request) = request.body(body) else { return (0, Value::Null) };
        let now = self.now();
        match server.with_server(|server| server.handle(request, Some(admin()), now)) {
            Answer::Now(reply) => (reply.code, serde_json::from_slice(&reply.body).unwrap_or_default()),
            Answer::Watch(_) => (0, Value::Null),
        }
    }

    /// The same, and looks at what came of it.
    pub(crate) fn act(&self, by: By, method: Method, path: &str, body: Option<&Value>) -> u16 {
        let is_ours = path.contains("kyma-project.io");
        let side = if is_ours { Side::ControlPlane } else { Side::Garden };
        let (code, answer) = self.ask(side, method.clone(), path, body);
        self.tell(|| format!("somebody {method} {path} {code}"));
        if code >= 400 {
            if let Some(lines) = &mut self.state().lines {
                lines.push(format!("        {}", answer["message"]));
            }
            return code;
        }
        let bytes = body.map(ToString::to_string).unwrap_or_default();
        if let Ok(uri) = path.parse() {
            self.wrote(&Call::read(side, &method, &uri, bytes.as_bytes()), by);
        }
        code
    }
}

/// Where an object is that the oracles look at.
pub(crate) fn path_of(plural: &str, name: &str) -> Option<String> {
    let (namespace, name) = name.split_once('/').unwrap_or((NAMESPACE, name));
    Some(match plural {
        "subscriptionrequests" => {
            format!("/apis/control-plane.kyma-project.io/v1alpha1/namespaces/{namespace}/{plural}/{name}")
        }
        "credentialsbindings" => {
            format!("/apis/security.gardener.cloud/v1alpha1/namespaces/{GARDEN}/{plural}/{name}")
        }
        "clusters" | "kubeconfigrequests" => {
            format!("/apis/operator.kyma-project.io/v1alpha1/namespaces/{namespace}/{plural}/{name}")
        }
        "configmaps" => format!("/api/v1/namespaces/{GARDEN}/{plural}/{name}"),
        "shoots" => format!("/apis/core.gardener.cloud/v1beta1/namespaces/{GARDEN}/{plural}/{name}"),
        _ => return None,
    })
}

pub(crate) fn admin() -> User {
    User::new("admin", ["system:masters"])
}

pub(crate) fn entropy(mut dice: Dice) -> Entropy {
    Box::new(move |bytes| {
        for chunk in bytes.chunks_mut(8) {
            let drawn = dice.draw().to_le_bytes();
            chunk.copy_from_slice(&drawn[..chunk.len()]);
        }
    })
}

fn time_at(elapsed: std::time::Duration) -> Timestamp {
    let beginning = Timestamp::from_second(BEGINNING_SECONDS).unwrap_or(Timestamp::UNIX_EPOCH);
    let elapsed = SignedDuration::try_from(elapsed).unwrap_or(SignedDuration::MAX);
    beginning.checked_add(elapsed).unwrap_or(Timestamp::MAX)
}
