//! Everything that goes wrong between a client and a server, on purpose.
//!
//! A [`FaultyService`] stands between a client and an [`ApiServer`]. For each call it asks a [`FaultPlan`] what happens to
//! it. [`Dice`] is a plan that draws from one seed, so that a run can be repeated exactly.
//!
//! ```
//! use allotment_apiserver::{ApiServer, User, fault::{CallInfo, Fault}};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::{Api, Client, api::PostParams};
//! use std::{sync::{Arc, Mutex}, time::Duration};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ApiServer::new();
//! // Every write happens, and nobody is told.
//! let plan = |call: &CallInfo| if call.is_write() { Fault::LoseAnswer } else { Fault::None };
//! let me = User::new("me", ["system:masters"]);
//! let service = server.faulty_service(me, Arc::new(Mutex::new(plan)), Duration::from_millis(1));
//! let maps = Api::<ConfigMap>::default_namespaced(Client::new(service, "default"));
//!
//! let mut map = ConfigMap::default();
//! map.metadata.name = Some("lost".to_owned());
//! assert!(maps.create(&PostParams::default(), &map).await.is_err());
//! assert!(maps.get("lost").await.is_ok());
//! # Ok(())
//! # }
//! ```

use crate::{
    auth::User,
    encode,
    error::{ApiError, GroupResource},
    meta,
    resource::StorageKey,
    server::{Answer, Server},
    service::{AnswerBody, ApiServer, WatchFaults, respond_to},
    store::Key,
};
use http::{Method, Request, Response};
use http_body::Body;
use http_body_util::BodyExt;
use jiff::Timestamp;
use std::{
    fmt,
    future::{Future, pending},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};
use tower_service::Service;

/// What happens to a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Nothing.
    None,
    /// It takes this much longer.
    Delay(Duration),
    /// It is refused, and nothing has happened.
    Refuse(Refusal),
    /// It happens, and then the answer is a refusal.
    RefuseAfter(Refusal),
    /// The connection breaks before it happens.
    LoseRequest,
    /// It happens, and the connection breaks before the answer.
    LoseAnswer,
    /// It never happens, and there is never an answer.
    HangBefore,
    /// It happens, and there is never an answer.
    HangAfter,
    /// A read sees the past, this many revisions back.
    Stale(u64),
    /// A watch goes wrong on its way.
    Watch(WatchFaults),
}

/// A refusal that is not the fault of who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 409.
    Conflict,
    /// 429, to be tried again after this many seconds.
    TooManyRequests(u32),
    /// 500.
    InternalError,
    /// 503.
    Unavailable,
    /// 504.
    Timeout,
}

impl Refusal {
    fn error(self) -> ApiError {
        match self {
            Self::Conflict => ApiError::modified(
                GroupResource { group: "", resource: "objects" },
                "of a simulated conflict",
            ),
            Self::TooManyRequests(seconds) => {
                ApiError::too_many_requests("Too many requests, please try again later.", seconds)
            }
            Self::InternalError => ApiError::internal("simulated"),
            Self::Unavailable => ApiError::unavailable("simulated"),
            Self::Timeout => ApiError::timeout("simulated"),
        }
    }
}

/// What a plan knows of a call.
#[derive(Clone, Debug)]
pub struct CallInfo {
    /// The method.
    pub method: Method,
    /// The path.
    pub path: String,
    /// Whether it is a watch.
    pub watch: bool,
}

impl CallInfo {
    /// Whether it may change something.
    pub fn is_write(&self) -> bool {
        !matches!(self.method, Method::GET | Method::HEAD)
    }
}

/// Decides what happens to each call.
pub trait FaultPlan: Send {
    /// What happens to this one.
    fn next(&mut self, call: &CallInfo) -> Fault;
}

impl<F: FnMut(&CallInfo) -> Fault + Send> FaultPlan for F {
    fn next(&mut self, call: &CallInfo) -> Fault {
        self(call)
    }
}

/// How often what happens, in calls out of a thousand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Delays, of up to [`Rates::longest_delay`].
    pub delay: u16,
    /// The longest delay.
    pub longest_delay: Duration,
    /// Refusals of all kinds, before the write.
    pub refuse: u16,
    /// Refusals after the write.
    pub refuse_after: u16,
    /// Requests that are lost.
    pub lose_request: u16,
    /// Answers that are lost.
    pub lose_answer: u16,
    /// Calls that hang, before or after the write.
    pub hang: u16,
    /// Reads that see the past.
    pub stale: u16,
    /// Watches that go wrong.
    pub watch: u16,
}

impl Rates {
    /// No faults.
    pub fn none() -> Self {
        Self {
            delay: 0,
            longest_delay: Duration::ZERO,
            refuse: 0,
            refuse_after: 0,
            lose_request: 0,
            lose_answer: 0,
            hang: 0,
            stale: 0,
            watch: 0,
        }
    }
}

/// A plan drawn from one seed.
#[derive(Clone, Debug)]
pub struct Dice {
    state: u64,
    rates: Rates,
}

impl Dice {
    /// The plan of a seed.
    pub fn new(seed: u64, rates: Rates) -> Self {
        Self { state: seed, rates }
    }

    /// Other rates from now on: none, to see whether everything comes to rest.
    pub fn set_rates(&mut self, rates: Rates) {
        self.rates = rates;
    }

    /// SplitMix64: small, and the same everywhere.
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.draw() % limit.max(1)
    }

    fn refusal(&mut self) -> Refusal {
        match self.below(5) {
            0 => Refusal::Conflict,
            1 => Refusal::TooManyRequests(1),
            2 => Refusal::InternalError,
            3 => Refusal::Unavailable,
            _ => Refusal::Timeout,
        }
    }

    fn watch_faults(&mut self) -> WatchFaults {
        let after = Some(usize::try_from(self.below(8)).unwrap_or_default());
        match self.below(4) {
            0 => WatchFaults { drop_after: after, ..WatchFaults::default() },
            1 => WatchFaults { expire_after: after, ..WatchFaults::default() },
            2 => WatchFaults { coalesce: true, ..WatchFaults::default() },
            _ => {
                let stall = Duration::from_millis(self.below(5000));
                WatchFaults { stall: Some(stall), ..WatchFaults::default() }
            }
        }
    }
}

impl FaultPlan for Dice {
    fn next(&mut self, call: &CallInfo) -> Fault {
        let drawn = u16::try_from(self.below(1000)).unwrap_or_default();
        let rates = self.rates.clone();
        if call.watch {
            return if drawn < rates.watch { Fault::Watch(self.watch_faults()) } else { Fault::None };
        }
        let mut edge = 0;
        let mut hit = |rate: u16| {
            edge += rate;
            drawn < edge
        };
        if hit(rates.delay) {
            let millis = u64::try_from(rates.longest_delay.as_millis()).unwrap_or(u64::MAX);
            return Fault::Delay(Duration::from_millis(self.below(millis)));
        }
        if hit(rates.refuse) {
            return Fault::Refuse(self.refusal());
        }
        if hit(rates.lose_request) {
            return Fault::LoseRequest;
        }
        if hit(rates.hang) {
            return if self.below(2) == 0 { Fault::HangBefore } else { Fault::HangAfter };
        }
        match call.is_write() {
            true if hit(rates.refuse_after) => Fault::RefuseAfter(self.refusal()),
            true if hit(rates.lose_answer) => Fault::LoseAnswer,
            false if hit(rates.stale) => Fault::Stale(1 + self.below(20)),
            _ => Fault::None,
        }
    }
}

/// A plan that several services share.
pub type SharedPlan = Arc<Mutex<dyn FaultPlan>>;

/// A server as one caller sees it through a bad connection.
#[derive(Clone)]
pub struct FaultyService {
    server: ApiServer,
    caller: Option<User>,
    plan: SharedPlan,
    tick: Duration,
}

impl ApiServer {
    /// A service with faults. Every call takes at least one `tick`: with a paused clock, calls that take no time would
    /// keep a loop of them going for ever.
    pub fn faulty_service(&self, caller: User, plan: SharedPlan, tick: Duration) -> FaultyService {
        FaultyService {
            server: self.clone(),
            caller: Some(caller),
            plan,
            tick: tick.max(Duration::from_millis(1)),
        }
    }
}

impl Server {
    /// Somebody deletes an object, whatever holds it, and makes it anew: the same name and spec, another UID. Returns
    /// whether there was one.
    pub fn recreate(
        &mut self,
        group: &str,
        plural: &str,
        namespace: &str,
        name: &str,
        now: Timestamp,
    ) -> bool {
        let kind = StorageKey { group: group.to_owned(), plural: plural.to_owned() };
        let stored = self.store.get(&kind, &Key::new(namespace, name)).map(|stored| stored.bytes.clone());
        let (Some(bytes), Some(resource)) = (stored, self.kinds.stored_at(&kind).cloned()) else {
            return false;
        };
        let Ok(mut object) = encode::read(&bytes) else { return false };
        if self.discard(&resource, object.clone()).is_err() {
            return false;
        }
        let uid = self.new_uid();
        meta::prepare_create(&mut object, namespace, &uid, now);
        let metadata = meta::metadata(&mut object);
        for field in ["finalizers", "ownerReferences", "managedFields"] {
            metadata.remove(field);
        }
        if resource.is_custom() {
            metadata.insert("generation".into(), serde_json::json!(1));
        }
        if resource.status {
            object.as_object_mut().map(|fields| fields.remove("status"));
        }
        self.keep(&resource, object).is_ok()
    }
}

/// The connection broke.
#[derive(Debug)]
pub struct ConnectionLost;

impl fmt::Display for ConnectionLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("connection lost (simulated)")
    }
}

impl std::error::Error for ConnectionLost {}

impl<B> Service<Request<B>> for FaultyService
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    type Response = Response<AnswerBody>;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Self { server, caller, plan, tick } = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let call = CallInfo {
                method: parts.method.clone(),
                path: parts.uri.path().to_owned(),
                watch: parts.uri.query().is_some_and(|query| query.contains("watch=")),
            };
            let body = body.collect().await?.to_bytes();
            let request = Request::from_parts(parts, body);
            let fault = plan.lock().unwrap_or_else(PoisonError::into_inner).next(&call);
            tokio::time::sleep(tick).await;
            let refuse = |refusal: Refusal| respond_to(Answer::refusal(&refusal.error()));
            match fault {
                Fault::None => {}
                Fault::Delay(time) => tokio::time::sleep(time).await,
                Fault::Refuse(refusal) => return Ok(refuse(refusal)),
                Fault::LoseRequest => return Err(ConnectionLost.into()),
                Fault::HangBefore => pending().await,
                Fault::RefuseAfter(refusal) => {
                    server.answer(request, caller);
                    return Ok(refuse(refusal));
                }
                Fault::LoseAnswer => {
                    server.answer(request, caller);
                    return Err(ConnectionLost.into());
                }
                Fault::HangAfter => {
                    server.answer(request, caller);
                    return pending().await;
                }
                Fault::Stale(back) => return Ok(server.answer_from_the_past(request, caller, back)),
                Fault::Watch(faults) => return Ok(server.answer_with(request, caller, faults)),
            }
            Ok(server.answer(request, caller))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates() -> Rates {
        Rates {
            delay: 100,
            longest_delay: Duration::from_secs(1),
            refuse: 100,
            lose_answer: 100,
            stale: 100,
            watch: 500,
            ..Rates::none()
        }
    }

    fn drawn(seed: u64) -> Vec<Fault> {
        let mut dice = Dice::new(seed, rates());
        let call = |n: usize| CallInfo {
            method: if n.is_multiple_of(2) { Method::GET } else { Method::PUT },
            path: "/".to_owned(),
            watch: n.is_multiple_of(3),
        };
        (0..1000).map(|n| dice.next(&call(n))).collect()
    }

    #[test]
    fn a_seed_draws_the_same_again() {
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
    }

    #[test]
    fn every_kind_that_has_a_rate_comes_up_and_no_other() {
        let drawn = drawn(1);
        let any = |is: fn(&Fault) -> bool| drawn.iter().any(is);
        assert!(any(|fault| matches!(fault, Fault::Delay(_))));
        assert!(any(|fault| matches!(fault, Fault::Refuse(_))));
        assert!(any(|fault| matches!(fault, Fault::LoseAnswer)));
        assert!(any(|fault| matches!(fault, Fault::Stale(_))));
        assert!(any(|fault| matches!(fault, Fault::Watch(_))));
        assert!(!any(|fault| matches!(fault, Fault::HangBefore | Fault::HangAfter | Fault::LoseRequest)));
    }
}
