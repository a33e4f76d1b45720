//! One run: operators and people on one stage, in one order.

use super::{
    call::{Role, Side},
    coverage::Coverage,
    past::{self, Troupe},
    play::Play,
    process::{Actor, Crew, Process},
    script::{Harm, Script, Spot},
    wire::{Sky, Wire},
    world::{Faults, GARDEN, NAMESPACE, SimError, World},
};
use crate::{
    access, cleanup,
    cluster::{garden, staff},
    openmcp,
    subscription::people::People,
};
use allotment_api::kyma::BindingKind;
use allotment_core::{check::Violation, pool::LabelKeys};
use allotment_operator::{
    cleanup as cleaning, cluster, kubeconfig,
    ledger::Ledger,
    metrics::Metrics,
    planted::Planted,
    runtime::{clock::Clock, controller::Controller as _},
    subscription::{Operator, Parts, Settings},
};
use futures::future::{pending, poll_fn, select};
use kube::Client;
use std::{cell::RefCell, collections::BTreeMap, future::Future, sync::Arc, task::Poll};
use tokio::{runtime::Builder, time::sleep_until};

/// How often people look at what they have to do.
const LOOK: u64 = 250;

/// Once nothing goes wrong any more, everything has come to rest after this time. The longest that may have to run out
/// first are a pause (a minute), a Lease, a watch that stalls (290 s), and a look at what waits (a minute).
const REST_WITHIN: u64 = 600_000;

/// It is at rest when it has been so for this long: what fails is tried again after half a minute at the latest, and who
/// waits is looked at every minute, which may show another place in the queue.
const AT_REST: u64 = 70_000;

/// Most writes in that time that are refused or change nothing: a few objects, each retried twice a minute.
const IDLE_AT_REST: u64 = 30;

/// After a resync nothing may be written for this long: what waits is looked at every minute.
const QUIET: u64 = 75_000;

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// A hash of everything that happened, and when.
    pub hash: u64,
    /// What should never be, and when it was, in milliseconds.
    pub violations: Vec<(u64, Violation)>,
    /// The world, what people did, and what went wrong.
    pub script: Script,
    /// The fault that the operators have of their own, in tests.
    pub planted: Option<Planted>,
    /// What was tried.
    pub coverage: Coverage,
    /// Calls of operators.
    pub calls: u64,
    /// Writes of operators, without Leases.
    pub writes: u64,
    /// How long it took in there, in milliseconds.
    pub millis: u64,
    /// What happened, line by line, if that was asked for.
    pub lines: Vec<String>,
}

/// Runs what a seed draws.
pub fn run_seed(play: Play, seed: u64, read: bool) -> Result<Run, SimError> {
    let (script, rates) = play.drawn(seed);
    run(&script, Faults::Drawn(rates), read, None)
}

/// Runs a script.
pub fn run_script(script: &Script, read: bool) -> Result<Run, SimError> {
    run(script, Faults::Listed(script.faults.clone()), read, None)
}

/// Runs what a seed draws, on operators that have a fault of their own (with the feature `planted`).
pub fn run_planted(play: Play, seed: u64, fault: Planted) -> Result<Run, SimError> {
    let (script, rates) = play.drawn(seed);
    run(&script, Faults::Drawn(rates), false, Some(fault))
}

/// Runs a script on operators like those of another run.
pub(crate) fn run_like(other: &Run, script: &Script, read: bool) -> Result<Run, SimError> {
    run(script, Faults::Listed(script.faults.clone()), read, other.planted)
}

fn run(script: &Script, faults: Faults, read: bool, planted: Option<Planted>) -> Result<Run, SimError> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(async {
        let world = Arc::new(World::new(&script.options, faults, read, planted).await?);
        perform(&world, script).await;
        let millis = world.millis();
        let mut state = world.state();
        state.coverage.edits = std::mem::take(&mut state.edits.counts);
        let happened: BTreeMap<Spot, Harm> = std::mem::take(&mut state.happened);
        Ok(Run {
            hash: state.trace.0,
            violations: std::mem::take(&mut state.found),
            script: Script { faults: happened, ..script.clone() },
            planted,
            coverage: std::mem::take(&mut state.coverage),
            calls: state.calls,
            writes: state.writes,
            millis,
            lines: state.lines.take().unwrap_or_default(),
        })
    })
}

/// Everything is one task, and its parts are asked in one order: who is woken first, which tokio draws by lot, does not
/// matter.
async fn perform(world: &Arc<World>, script: &Script) {
    if world.realm.is_some() {
        return openmcp::perform(world, script).await;
    }
    past::begin(world, script);
    let (cast, mut troupe) = (RefCell::new([0, 1].map(Replica::new)), Troupe::default());
    let mut play = Box::pin(play(world, script, &cast));
    let mut gardenlet: Option<Actor> = match script.options.clusters {
        0 => None,
        _ => Some(Box::pin(garden::tend(world.clone()))),
    };
    poll_fn(|context| {
        let played = play.as_mut().poll(context);
        let pauses = std::mem::take(&mut world.state().pauses);
        for replica in cast.borrow_mut().iter_mut() {
            replica.poll(world, &pauses, context);
        }
        troupe.poll(world, context);
        if let Some(gardenlet) = &mut gardenlet {
            // It never ends.
            let _ = gardenlet.as_mut().poll(context);
        }
        // The first violation says it all; what follows from it would only hide it.
        if world.state().found.is_empty() { played } else { Poll::Ready(()) }
    })
    .await;
}

type Replica = Process<Operators>;

async fn play(world: &Arc<World>, script: &Script, cast: &RefCell<[Replica; 2]>) {
    let mut people = People::default();
    let mut actions = script.actions.clone();
    actions.sort_by_key(|(at, _)| *at);
    let calm = script.options.calm;
    for (at, action) in actions.iter().filter(|(at, _)| *at < calm) {
        people_until(world, &mut people, *at).await;
        world.tell(|| format!("people: {action:?}"));
        people.act(world, action);
    }
    people_until(world, &mut people, calm).await;
    world.tell(|| "calm".to_owned());
    world.state().calm = true;
    if !comes_to_rest(world, &mut people, cast).await {
        return;
    }
    world.tell(|| "at rest".to_owned());
    stays_at_rest(world, &mut people, cast).await;
}

async fn people_until(world: &World, people: &mut People, end: u64) {
    while world.millis() < end {
        let next = (world.millis() / LOOK + 1) * LOOK;
        sleep_until(world.instant(next.min(end))).await;
        if next <= end {
            people.look(world);
        }
    }
}

async fn comes_to_rest(world: &World, people: &mut People, cast: &RefCell<[Replica; 2]>) -> bool {
    let within = if world.options.settle > 0 { cleanup::REST_WITHIN } else { REST_WITHIN };
    let end = world.millis() + within;
    let mut since = None;
    let mut last = (0, 0);
    loop {
        people_until(world, people, world.millis() + LOOK).await;
        let now = world.millis();
        let violations = at_rest(world);
        let awake = cast.borrow().iter().all(Replica::is_awake);
        let (activity, idle) = {
            let state = world.state();
            ((state.server_writes, state.eyes.entry), state.idle_writes)
        };
        let rests = violations.is_empty() && awake && !people.busy && activity == last;
        last = activity;
        since = since.filter(|&(_, before): &(u64, u64)| rests && idle <= before + IDLE_AT_REST);
        let (rested, _) = *since.get_or_insert((now, idle));
        if rests && now >= rested + AT_REST {
            return true;
        }
        if now > end {
            let why = if violations.is_empty() {
                vec![Violation::Restless(format!(
                    "awake {awake}, people busy {}, wrote {activity:?}",
                    people.busy
                ))]
            } else {
                violations
            };
            world.found(why);
            return false;
        }
    }
}

async fn stays_at_rest(world: &World, people: &mut People, cast: &RefCell<[Replica; 2]>) {
    let writes = |world: &World| {
        let state = world.state();
        (state.server_writes, state.eyes.entry, state.eyes.rows.clone())
    };
    let (before, honest_before) = (writes(world), world.state().eyes.honest_writes);
    for replica in cast.borrow().iter() {
        replica.resync();
    }
    people_until(world, people, world.millis() + QUIET).await;
    let after = writes(world);
    let honest = world.state().eyes.honest_writes;
    // A hostile tenant's mess may take a resync to be noticed; that is nothing to the others.
    let is_quiet = if world.options.hostile > 0 { honest == honest_before } else { before == after };
    if !is_quiet {
        let servers = after.0 - before.0;
        let why = format!("a resync wrote {servers} times to servers, {} to the ledger", after.1 - before.1);
        world.found(vec![Violation::Restless(why)]);
    }
    let violations = at_rest(world);
    world.found(violations);
}

/// What must hold when nothing is left to do.
fn at_rest(world: &World) -> Vec<Violation> {
    let state = world.state();
    let mut violations = state.eyes.scene.at_rest();
    if world.options.clusters > 0 {
        violations.extend(state.eyes.fleet.at_rest().into_iter().map(Violation::from));
    }
    drop(state);
    if world.options.accesses > 0 {
        violations.extend(world.grants_at_rest());
    }
    if world.options.settle > 0 {
        violations.retain(|violation| !cleanup::waits_rightly(world, violation));
        violations.extend(cleanup::at_rest(world));
    }
    violations
}

/// The operators of a process.
#[derive(Default)]
struct Operators {
    first: Option<Operator>,
    /// The one for Clusters.
    second: Option<cluster::Operator>,
    /// The one for kubeconfigs.
    third: Option<kubeconfig::Operator>,
    /// The one that cleans.
    fourth: Option<cleaning::Operator>,
    /// How often the configuration had changed when they were last told.
    configured: u64,
}

impl Crew for Operators {
    const NAME: &'static str = "operator";

    fn begin(&mut self, world: &Arc<World>, replica: usize, identity: String) -> Option<Actor> {
        let wire = Wire::new(world, Side::ControlPlane, Role::Subscription, replica);
        let operator = start(world, wire, identity.clone(), &world.ledger, NAMESPACE);
        self.first = Some(operator.clone());
        if world.options.settle > 0 {
            let fourth = cleanup::staff::start(world, replica, identity);
            (self.fourth, self.configured) = (Some(fourth.clone()), world.state().configured);
            let leads = world.options.leaders > 0 && !world.state().calm;
            return Some(Box::pin(async move {
                let cleans = async { if leads { fourth.run_as_leader().await } else { fourth.run().await } };
                select(Box::pin(operator.run()), Box::pin(cleans)).await;
            }));
        }
        if world.options.clusters == 0 {
            return Some(Box::pin(async move { operator.run().await }));
        }
        let second = staff::start(world, replica, identity.clone());
        let third = (world.options.accesses > 0).then(|| access::staff::start(world, replica, identity));
        self.third.clone_from(&third);
        (self.second, self.configured) = (Some(second.clone()), world.state().configured);
        Some(Box::pin(async move {
            // One of them ends only with the process.
            let third = async {
                match third {
                    Some(third) => third.run().await,
                    None => pending().await,
                }
            };
            let others = select(Box::pin(second.run()), Box::pin(third));
            select(Box::pin(operator.run()), others).await;
        }))
    }

    /// Tells of another configuration.
    fn wake(&mut self, world: &World) {
        let (configured, policy) = {
            let state = world.state();
            (state.configured, state.clusters.clone())
        };
        if let Some(second) = self.second.as_ref().filter(|_| configured != self.configured) {
            second.set_policy(policy);
        }
        if let Some(fourth) = self.fourth.as_ref().filter(|_| configured != self.configured) {
            fourth.set_policy(cleanup::staff::policy(world));
        }
        self.configured = configured;
    }

    fn resync(&self) {
        if let Some(first) = &self.first {
            first.resync();
        }
        if let Some(second) = &self.second {
            second.resync();
        }
        if let Some(third) = &self.third {
            third.resync();
        }
    }
}

/// The operator's own code, as the product puts it together.
pub(super) fn start(
    world: &Arc<World>,
    control_plane: Wire,
    identity: String,
    ledger: &Ledger,
    lease_namespace: &str,
) -> Operator {
    let replica = control_plane.replica;
    let garden = Wire::new(world, Side::Garden, Role::Subscription, replica);
    let clock = world.clone();
    let operator = Operator::new(Parts {
        control_plane: Client::new(control_plane, NAMESPACE),
        garden: Client::new(garden, NAMESPACE),
        ledger: ledger.clone().with_weather(Arc::new(Sky::new(world.clone(), replica))),
        settings: Settings {
            garden_namespace: GARDEN.to_owned(),
            request_namespace: None,
            lease_namespace: lease_namespace.to_owned(),
            identity,
            binding_kind: BindingKind::CredentialsBinding,
            labels: LabelKeys::default(),
            workers: usize::try_from(world.options.workers).unwrap_or(1),
        },
        policy: world.policy.clone(),
        clock: Clock::new(move || clock.now()),
        metrics: Metrics::new(),
    });
    // Not to the installation: copies of a ledger in another namespace are to be told by the ledger alone.
    operator.tied_to_control_plane()
}
