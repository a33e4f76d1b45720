//! What stands between an operator and the rest of the world: its calls to servers, and its ledger.

use super::{
    call::{Call, Role, Side},
    eyes::CREDENTIAL,
    past::{self, SECOND, SeenCommit},
    rates::Kind,
    script::Harm,
    world::{By, World, admin},
};
use crate::{
    access::{self, grants::ENDING},
    cleanup, cluster, openmcp,
};
use allotment_apiserver::{
    ApiServer,
    fault::{CallInfo, Fault, Refusal},
    service::{AnswerBody, WatchFaults},
};
use allotment_core::check::Violation;
use allotment_operator::ledger::{Fate, LedgerError, Wait, Weather};
use bytes::Bytes;
use futures::future::poll_fn;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use kube::client::Body;
use std::{
    future::{Future, pending},
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::sleep;
use tower::{BoxError, Service};

/// How long a database that does not answer is waited for.
const LEDGER_DEADLINE: Duration = Duration::from_secs(20);

/// A server as one operator sees it.
#[derive(Clone)]
pub(crate) struct Wire {
    world: Arc<World>,
    server: ApiServer,
    side: Side,
    role: Role,
    pub(super) replica: usize,
    /// The Shoot that it leads into.
    shoot: Option<String>,
    /// Which of several platforms, or gardens, of openMCP.
    number: usize,
}

impl Wire {
    pub(crate) fn new(world: &Arc<World>, side: Side, role: Role, replica: usize) -> Self {
        let server = world.server(side).clone();
        Self { world: world.clone(), server, side, role, replica, shoot: None, number: 0 }
    }

    /// The same, to another server.
    pub(crate) fn with_server(self, server: ApiServer) -> Self {
        Self { server, ..self }
    }

    /// Into the Shoot with this UID.
    pub(crate) fn into_shoot(world: &Arc<World>, role: Role, replica: usize, uid: String) -> Self {
        let server = world.grounds.server(world, &uid);
        let (side, shoot) = (Side::Shoot, Some(uid));
        Self { world: world.clone(), server, side, role, replica, shoot, number: 0 }
    }

    /// To a place of openMCP.
    pub(crate) fn to(world: &Arc<World>, replica: usize, place: &openmcp::Place) -> Option<Self> {
        let server = place.server(world)?;
        let (side, number, shoot) = match place {
            openmcp::Place::Platform(number) => (Side::ControlPlane, *number, None),
            openmcp::Place::Garden(number) => (Side::Garden, *number, None),
            openmcp::Place::Shoot(uid) => (Side::Shoot, 0, Some(uid.clone())),
        };
        Some(Self { world: world.clone(), server, side, role: Role::Openmcp, replica, shoot, number })
    }
}

impl Service<Request<Body>> for Wire {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let wire = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            wire.send(Request::from_parts(parts, body)).await
        })
    }
}

impl Wire {
    async fn send(self, request: Request<Bytes>) -> Result<Response<AnswerBody>, BoxError> {
        let Self { world, server, side, role, replica, shoot, number } = self;
        let call = Call::read_as(role, side, request.method(), request.uri(), request.body());
        let is_patch = request.method() == Method::PATCH;
        let kind = kind_of(&call);
        let state = state_of(&world, role, &call);
        let (harm, latency) = world.begin(replica, call.operation, state, kind);
        let began = world.millis();
        world.tried(call.operation, state, harm);
        if call.is_write() && String::from_utf8_lossy(request.body()).contains(CREDENTIAL) {
            world.found(vec![Violation::Told(format!("a credential is sent to {}", call.path))]);
        }
        if world.options.hostile > 0 && role != Role::Openmcp {
            world.see_secret_read(&call);
        }
        if harm == Some(Harm::CrashBefore) {
            sleep(Duration::from_millis(latency)).await;
            world.crash(replica);
            return pending().await;
        }
        let fault = fault_of(harm);
        let plan = Arc::new(Mutex::new(move |_: &CallInfo| fault.clone()));
        if shoot.as_ref().is_some_and(|uid| !is_there(&world, role, uid)) {
            sleep(Duration::from_millis(latency)).await;
            return Err("connection refused: the Shoot is gone".into());
        }
        let mut service = server.faulty_service(admin(), plan, Duration::from_millis(latency));
        let mut answer = service.call(request.map(Full::new));
        let mut has_changed = false;
        let answer = poll_fn(|context| {
            // A process that has ended sends nothing more.
            if world.is_crashed(replica) {
                return Poll::Pending;
            }
            let before = server.with_server(|server| server.revision());
            let polled = answer.as_mut().poll(context);
            if server.with_server(|server| server.revision()) != before {
                has_changed = true;
                world.tell(|| format!("operator {replica} wrote {} {}", call.operation, call.name));
                match &shoot {
                    _ if role == Role::Openmcp => {
                        let place = openmcp::Place::of(side, number, shoot.as_deref());
                        openmcp::wrote(&world, &call, replica, &place);
                    }
                    Some(uid) => {
                        world.look_into(&server, uid);
                        if world.options.hostile > 0 {
                            world.see_inside(&server, uid);
                        }
                        world.state().issued.writes += 1;
                        if ENDING.contains(&call.operation) {
                            world.see_ended(uid);
                        }
                    }
                    None => {
                        let by = if role == Role::Cleanup { By::Cleaner } else { By::Operator };
                        world.wrote_by(&call, by, replica);
                        if call.operation == "identity" {
                            past::has_written(&world, replica);
                        }
                        if call.phase.as_deref() == Some("Bound") {
                            past::has_bound(&world, &call);
                        }
                    }
                }
            }
            polled
        })
        .await;
        if call.operation == "read identity" && answer.is_ok() {
            past::has_read(&world, replica);
        }
        if answer.as_ref().is_ok_and(|answer| answer.status().is_success()) {
            if call.operation == cleanup::call::LIVE_ENTRY {
                cleanup::has_checked(&world, replica, &call.name, began);
            }
            world.see_token(&server, &call);
        }
        if kind == Kind::Write {
            let status = answer.as_ref().ok().map(|answer| answer.status().as_u16());
            world.answered_write(call.operation, status, is_patch && !has_changed);
        }
        world.tell(|| {
            let outcome = answer.as_ref().map_or(0, |answer| answer.status().as_u16());
            format!(
                "operator {replica} {} {} {outcome} {}",
                call.operation,
                call.name,
                super::coverage::word(harm)
            )
        });
        if harm == Some(Harm::CrashAfter) {
            world.crash(replica);
            return pending().await;
        }
        answer
    }
}

/// Whether there is a Shoot with this UID.
fn is_there(world: &World, role: Role, uid: &str) -> bool {
    match role {
        Role::Openmcp => openmcp::has_shoot(world, uid),
        _ => world.has_shoot(uid),
    }
}

fn kind_of(call: &Call) -> Kind {
    match call.operation {
        _ if call.is_write() => Kind::Write,
        operation if operation.starts_with("watch ") => Kind::Watch,
        operation if operation.starts_with("list ") => Kind::List,
        _ => Kind::Read,
    }
}

/// The state that matters to a call.
fn state_of(world: &World, role: Role, call: &Call) -> &'static str {
    if role == Role::Openmcp {
        return openmcp::call::state_of(world, call);
    }
    let state = world.state();
    match call.operation {
        "finalizer" | "finalizer off" if state.eyes.is_exhausted() => "exhausted",
        "finalizer" | "finalizer off" => "free",
        "read entry" | "tenant label" | "dirty label" => state.eyes.holding_of(&call.name),
        "quarantine" | "lift" => match state.eyes.holding_of(&call.name) {
            "claiming" | "claimed" | "draining" => "held",
            _ => "not held",
        },
        "publish" => match call.phase.as_deref() {
            Some("Bound") => "Bound",
            Some("Waiting") => "Waiting",
            Some("Releasing") => "Releasing",
            _ => "other",
        },
        "access status" => access::call::state_of(call.phase.as_deref()),
        operation => cluster::call::state_of(operation, &state.eyes.fleet, call),
    }
}

fn fault_of(harm: Option<Harm>) -> Fault {
    let refusal = |code| match code {
        409 => Refusal::Conflict,
        429 => Refusal::TooManyRequests(1),
        503 => Refusal::Unavailable,
        504 => Refusal::Timeout,
        _ => Refusal::InternalError,
    };
    let none = WatchFaults::default();
    match harm {
        None | Some(Harm::CrashBefore | Harm::CrashAfter) => Fault::None,
        Some(Harm::Delay { time }) => Fault::Delay(Duration::from_millis(time)),
        Some(Harm::Refuse { code }) => Fault::Refuse(refusal(code)),
        Some(Harm::RefuseAfter { code }) => Fault::RefuseAfter(refusal(code)),
        Some(Harm::LoseRequest) => Fault::LoseRequest,
        Some(Harm::LoseAnswer) => Fault::LoseAnswer,
        Some(Harm::HangBefore) => Fault::HangBefore,
        Some(Harm::HangAfter) => Fault::HangAfter,
        Some(Harm::Stale { back }) => Fault::Stale(back),
        Some(Harm::WatchDrop { after }) => Fault::Watch(WatchFaults { drop_after: Some(after), ..none }),
        Some(Harm::WatchExpire { after }) => Fault::Watch(WatchFaults { expire_after: Some(after), ..none }),
        Some(Harm::WatchCoalesce) => Fault::Watch(WatchFaults { coalesce: true, ..none }),
        Some(Harm::WatchStall { time }) => {
            Fault::Watch(WatchFaults { stall: Some(Duration::from_millis(time)), ..none })
        }
    }
}

/// The ledger as one operator sees it.
pub(crate) struct Sky {
    world: Arc<World>,
    replica: usize,
    /// The process ends with the transaction that is about to commit.
    last: AtomicBool,
    seen: Mutex<SeenCommit>,
    /// Whether the process hears of the transaction that is about to commit.
    is_answered: AtomicBool,
}

impl Sky {
    pub(crate) fn new(world: Arc<World>, replica: usize) -> Self {
        let (last, is_answered) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { world, replica, last, seen: Mutex::default(), is_answered }
    }
}

impl Weather for Sky {
    fn before(&self, operation: &'static str) -> Option<Wait<Result<(), LedgerError>>> {
        let (world, replica) = (self.world.clone(), self.replica);
        let way = way_of(operation);
        let (harm, latency) = world.begin(replica, way, "any", Kind::LedgerWay);
        if way == operation {
            world.tried("read ledger", "any", harm);
        } else if harm.is_some() {
            // What gets there is counted at its commit.
            world.tried(operation, pressure(&world), harm);
        }
        let unavailable =
            move |because: &str| LedgerError::Unavailable { doing: operation, because: because.to_owned() };
        Some(Box::pin(async move {
            sleep(Duration::from_millis(latency)).await;
            match harm {
                Some(Harm::Delay { time }) => sleep(Duration::from_millis(time)).await,
                Some(Harm::HangBefore) => {
                    sleep(LEDGER_DEADLINE).await;
                    return Err(unavailable("it does not answer"));
                }
                Some(_) => return Err(unavailable("it refuses")),
                None => (),
            }
            if world.is_crashed(replica) {
                return pending().await;
            }
            Ok(())
        }))
    }

    fn on(&self, operation: &'static str) -> Fate {
        let Self { world, replica, last, is_answered, .. } = self;
        if world.is_crashed(*replica) {
            return Fate::HangBefore;
        }
        let (harm, _) = world.begin(*replica, operation, "any", Kind::Commit);
        world.tried(operation, pressure(world), harm);
        world.tell(|| format!("operator {replica} ledger {operation} {}", super::coverage::word(harm)));
        is_answered.store(harm.is_none(), Ordering::Relaxed);
        match harm {
            None => Fate::Go,
            Some(Harm::CrashBefore) => {
                world.crash(*replica);
                Fate::HangBefore
            }
            Some(Harm::CrashAfter) => {
                last.store(true, Ordering::Relaxed);
                Fate::HangAfter
            }
            Some(Harm::LoseAnswer | Harm::RefuseAfter { .. } | Harm::HangAfter) => Fate::FailAfter,
            Some(_) => Fate::FailBefore,
        }
    }

    fn committed(&self, operation: &'static str) {
        if operation == "lead" {
            past::has_led(&self.world, self.replica);
        }
        // Another installation has a ledger of its own.
        if self.replica != SECOND {
            self.world.wrote_ledger();
            past::remember(&self.world);
            let is_answered = self.is_answered.load(Ordering::Relaxed);
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.commit(&self.world, operation, is_answered);
        }
        if self.last.load(Ordering::Relaxed) {
            self.world.crash(self.replica);
        }
    }
}

fn pressure(world: &World) -> &'static str {
    if world.state().eyes.is_exhausted() { "exhausted" } else { "free" }
}

/// The way to the database goes wrong apart from what is done there.
fn way_of(operation: &'static str) -> &'static str {
    match operation {
        "lead" => "way to lead",
        "reserve" => "way to reserve",
        "confirm" => "way to confirm",
        "lose" => "way to lose",
        "release" => "way to release",
        "withdraw" => "way to withdraw",
        "learn" => "way to learn",
        "assign" => "way to assign",
        "write a cleaning" => "way to a cleaning",
        "write a proof" => "way to a proof",
        "end a cleaning" => "way to an end",
        "remember a Shoot" => "way to remember",
        "record a new cloud account" => "way to record",
        "add a baseline" => "way to a baseline",
        other => other,
    }
}
