//! What cannot be had from a server at will: failures at the right moment, wrong clocks, answers that are broken.

use super::{
    Connect, Key, Parts, TargetTrouble, Targets, check,
    targets::{MOST_KEPT, SHORTEST_KEPT},
};
use crate::{metrics::Metrics, runtime::clock::Clock};
use allotment_core::access::kubeconfig;
use base64::{Engine, prelude::BASE64_STANDARD};
use futures::future::join_all;
use http::{Request, Response};
use jiff::{SignedDuration, Timestamp};
use kube::{Client, client::Body};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    convert::Infallible,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::timeout;
use tracing::{field, span};

mod foreign;

const SECRET: &str = "hush-hush-token";
const UID: &str = "the-uid";

fn shoot() -> Key {
    Key::shoot("s", UID)
}

fn kubeconfig_text() -> String {
    json!({
        "current-context": "c",
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
        "clusters": [{ "name": "c", "cluster": { "server": "https://a.example.com" } }],
        "users": [{ "name": "u", "user": { "token": SECRET } }],
    })
    .to_string()
}

/// A garden that answers after a second, with what it is told to or with a kubeconfig for ten minutes.
#[derive(Clone, Default)]
struct Garden {
    asked: Arc<AtomicUsize>,
    answers: Arc<Mutex<VecDeque<(u16, String)>>>,
    time: Arc<AtomicI64>,
    /// Of the server's clock before ours.
    ahead_seconds: i64,
}

impl Garden {
    fn answers(&self, code: u16, text: impl Into<String>) {
        self.answers.lock().unwrap().push_back((code, text.into()));
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + self.time.load(Ordering::Relaxed)).unwrap()
    }

    fn later(&self, seconds: i64) {
        self.time.fetch_add(seconds, Ordering::Relaxed);
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    fn issued(&self) -> String {
        let ends = self.now() + SignedDuration::from_secs(600 + self.ahead_seconds);
        json!({ "status": {
            "kubeconfig": BASE64_STANDARD.encode(kubeconfig_text()), "expirationTimestamp": ends.to_string(),
        } })
        .to_string()
    }

    async fn handle(self, request: Request<Body>) -> Result<Response<Body>, Infallible> {
        let (code, text) = if request.method() == http::Method::POST {
            self.asked.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_secs(1)).await;
            let told = self.answers.lock().unwrap().pop_front();
            told.unwrap_or_else(|| (201, self.issued()))
        } else {
            (200, metadata())
        };
        Ok(Response::builder().status(code).body(Body::from(text.into_bytes())).unwrap())
    }

    fn targets(&self) -> Targets {
        self.targets_with(Connect::new(|_, _| Box::pin(async { Ok(silent()) })))
    }

    fn targets_with(&self, connect: Connect) -> Targets {
        let (garden, clock) = (self.clone(), self.clone());
        let client = Client::new(tower::service_fn(move |request| garden.clone().handle(request)), "default");
        Targets::new(Parts {
            garden: client.clone(),
            garden_namespace: "garden-a".to_owned(),
            control_plane: client,
            clock: Clock::new(move || clock.now()),
            connect,
            metrics: Metrics::new(),
        })
    }
}

fn metadata() -> String {
    json!({
        "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": { "name": "s", "uid": UID },
    })
    .to_string()
}

fn status(code: u16, message: &str) -> String {
    json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code })
        .to_string()
}

/// A cluster that has nothing to say.
fn silent() -> Client {
    let service = tower::service_fn(async |_: Request<Body>| {
        Ok::<_, Infallible>(Response::builder().status(404).body(Body::from(Vec::new())).unwrap())
    });
    Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn trouble_is_shared_and_the_next_who_asks_tries_again() {
    let garden = Garden::default();
    garden.answers(503, status(503, "busy"));
    let targets = garden.targets();
    let key = shoot();
    for answer in join_all((0..5).map(|_| targets.reach(&key))).await {
        let trouble = answer.unwrap_err();
        assert_eq!(trouble.to_string(), "cannot get an admin kubeconfig of Shoot s: busy (503)");
        assert_eq!(trouble.category(), "server");
    }
    assert_eq!((garden.asked(), targets.kept()), (1, 0));
    targets.reach(&key).await.unwrap();
    assert_eq!((garden.asked(), targets.kept()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn whoever_goes_away_takes_nothing_from_the_others() {
    let garden = Garden::default();
    let targets = garden.targets();
    let key = shoot();
    let impatient = timeout(Duration::from_millis(500), targets.reach(&key));
    let (gone, stayed) = tokio::join!(impatient, targets.reach(&key));
    assert!(gone.is_err());
    stayed.unwrap();
    assert_eq!(garden.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_waits_for_any_more_is_not_waited_for() {
    let garden = Garden::default();
    let targets = garden.targets();
    let key = shoot();
    timeout(Duration::from_millis(500), targets.reach(&key)).await.unwrap_err();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    targets.reach(&key).await.unwrap();
    assert_eq!(garden.asked(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_was_asked_for_before_it_was_forgotten_is_not_kept() {
    let garden = Garden::default();
    let targets = garden.targets();
    let key = shoot();
    let forget = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        targets.forget(&key);
    };
    let (reached, ()) = tokio::join!(targets.reach(&key), forget);
    reached.unwrap();
    assert_eq!(targets.kept(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_old_client_does_not_make_a_new_one_forgotten() {
    let garden = Garden::default();
    let targets = garden.targets();
    let key = shoot();
    let unauthorized = || crate::runtime::call::CallError::Refused {
        what: "try".to_owned(),
        source: Box::new(kube::Error::Api(
            kube::core::Status::failure("no", "Unauthorized").with_code(401).boxed(),
        )),
    };
    let old = targets.reach(&key).await.unwrap();
    targets.forget(&key);
    let new = targets.reach(&key).await.unwrap();
    assert_eq!(old.trouble(unauthorized()).category(), "unauthorized");
    assert_eq!(targets.kept(), 1);
    new.trouble(unauthorized());
    assert_eq!(targets.kept(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_end_that_the_server_says_decides() {
    // The server's clock is this far before ours, and ours is used when asking again after so many seconds.
    for (ahead_seconds, kept_seconds) in [(0, 480), (-300, 240), (-600, 30), (-86_400, 30)] {
        let garden = Garden { ahead_seconds, ..Garden::default() };
        let targets = garden.targets();
        let key = shoot();
        targets.reach(&key).await.unwrap();
        for _ in 0..kept_seconds - 1 {
            garden.later(1);
            targets.reach(&key).await.unwrap();
        }
        assert_eq!(garden.asked(), 1, "{ahead_seconds}");
        garden.later(1);
        targets.reach(&key).await.unwrap();
        assert_eq!(garden.asked(), 2, "{ahead_seconds}");
    }
    assert_eq!(SHORTEST_KEPT, SignedDuration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn so_many_are_kept_and_those_not_used_for_longest_go() {
    let garden = Garden::default();
    let targets = garden.targets();
    let key = |number: usize| Key::shoot(format!("s{number}"), UID);
    join_all((0..MOST_KEPT).map(|number| {
        let targets = targets.clone();
        async move { targets.reach(&key(number)).await.map(drop) }
    }))
    .await
    .into_iter()
    .for_each(Result::unwrap);
    garden.later(1);
    for number in 1..MOST_KEPT {
        targets.reach(&key(number)).await.unwrap();
    }
    targets.reach(&key(MOST_KEPT)).await.unwrap();
    assert_eq!(targets.kept(), MOST_KEPT);
    let asked = garden.asked();
    targets.reach(&key(1)).await.unwrap();
    assert_eq!(garden.asked(), asked);
    targets.reach(&key(0)).await.unwrap();
    assert_eq!(garden.asked(), asked + 1);
    garden.later(60);
    targets.tidy();
    assert_eq!(targets.kept(), 0);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_said_to_be_so() {
    let text = kubeconfig_text().replace("https://a.example.com", "https://127.0.0.1:1");
    let garden = Garden::default();
    let https = Connect::over_https(&Metrics::new());
    let connect = Connect::new(move |key, _| {
        let (https, given) = (https.clone(), kubeconfig::read(text.as_bytes()).unwrap());
        Box::pin(async move { https.make(key, given).await })
    });
    let targets = garden.targets_with(connect);
    let trouble = check(&targets.reach(&shoot()).await.unwrap()).await.unwrap_err();
    assert!(matches!(trouble, TargetTrouble::Unreachable { .. }), "{trouble:?}");
    assert!(trouble.to_string().starts_with("Shoot s does not answer: Connection refused"), "{trouble}");
    assert_eq!(targets.kept(), 1, "new credentials would not help");
}

#[tokio::test(start_paused = true)]
async fn what_servers_say_is_cut_short() {
    let garden = Garden::default();
    garden.answers(500, status(500, &"ü".repeat(100_000)));
    let trouble = garden.targets().reach(&shoot()).await.unwrap_err();
    assert_eq!(trouble.to_string().chars().count(), 503);
}

/// Everything that is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl field::Visit for Log {
    fn record_debug(&mut self, _: &field::Field, value: &dyn fmt::Debug) {
        self.0.lock().unwrap().push_str(&format!("{value:?}\n"));
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        span.record(&mut self.clone());
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut self.clone());
    }
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// Whatever goes wrong with an answer, what is in it is neither told nor logged.
#[tokio::test(start_paused = true)]
async fn secrets_are_not_told() {
    let log = Log::default();
    let _logging = tracing::subscriber::set_default(log.clone());
    tracing::info!("the log works");
    let encoded = BASE64_STANDARD.encode(kubeconfig_text());
    let issued = |kubeconfig: Value, end: &str| {
        json!({ "status": { "kubeconfig": kubeconfig, "expirationTimestamp": end } }).to_string()
    };
    let end = "2030-01-01T00:00:00Z";
    let exec = BASE64_STANDARD.encode(kubeconfig_text().replace("\"token\"", "\"exec\""));
    for answer in [
        issued(json!([encoded]), end),
        issued(json!(encoded), SECRET),
        issued(json!(kubeconfig_text()), end),
        issued(json!(BASE64_STANDARD.encode(SECRET)), end),
        issued(json!(exec), end),
        SECRET.to_owned(),
        format!("{encoded}\n{}", kubeconfig_text()),
    ] {
        let garden = Garden::default();
        garden.answers(201, answer.clone());
        let trouble = garden.targets().reach(&shoot()).await.unwrap_err();
        assert!(matches!(trouble.category(), "unreadable" | "kubeconfig"), "{answer}: {trouble}");
        for told in [trouble.to_string(), format!("{trouble:?}"), log.0.lock().unwrap().clone()] {
            assert!(!told.contains("hush") && !told.contains(&encoded[..40]), "{answer}: {told}");
        }
    }
    let targets = Garden::default().targets_with(Connect::new(|_, given| {
        let told = format!("{given:?}");
        Box::pin(async move { Err(super::ConnectError(told)) })
    }));
    let told = targets.reach(&shoot()).await.unwrap_err();
    assert!(format!("{told} {told:?} {targets:?}").contains("https://a.example.com"), "{told}");
    let targets = Garden::default().targets();
    let reached = targets.reach(&shoot()).await.unwrap();
    let told = format!("{told} {told:?} {targets:?} {reached:?} {}", log.0.lock().unwrap());
    assert!(!told.contains("hush") && !told.contains(&encoded[..40]), "{told}");
    assert!(told.contains("the log works"));
}
