//! Servers and stores that fail: the condition `Reconciled` of an object names the failure while it lasts, and no longer.

use super::{
    clusters::{self, Play},
    desk::{self, Desk, reads_config_maps},
    stage::{Fault, Running, Stage},
};
use allotment_api::{
    condition::Condition,
    kyma::{Cluster, ClusterPhase, SubscriptionPhase, SubscriptionRequest},
};
use allotment_operator::{
    dependencies::Dependency,
    ledger::{Ledger, Place},
    metrics::Metrics,
    runtime::{clock::Clock, controller::Controller as _},
    subscription::{Operator, Parts},
};
use allotment_testing::{Landscape, Outcome};
use http::{Method, Request, Response};
use kube::{Client, ResourceExt, client::Body};
use serde_json::json;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tower::service_fn;

/// Time enough for several attempts.
const WATCHED: Duration = Duration::from_secs(3);

/// What becomes of calls of a method to paths that contain a word.
#[derive(Clone)]
enum Failing {
    Answers(Method, &'static str, u16, &'static str),
    Breaks(Method, &'static str),
}

/// A client whose calls can be made to fail.
#[derive(Clone, Default)]
struct Faults(Arc<Mutex<Option<Failing>>>);

impl Faults {
    fn begin(&self, failing: Failing) {
        *self.0.lock().unwrap() = Some(failing);
    }

    fn end(&self) {
        *self.0.lock().unwrap() = None;
    }

    fn on(&self, client: &Client) -> Client {
        let (namespace, client) = (client.default_namespace().to_owned(), client.clone());
        let faults = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let failing = faults.0.lock().unwrap().clone();
            let is = |method: &Method, path: &str| {
                request.method() == method && request.uri().path().contains(path)
            };
            let failing = failing.filter(|failing| match failing {
                Failing::Answers(method, path, ..) | Failing::Breaks(method, path) => is(method, path),
            });
            let client = client.clone();
            async move {
                match failing {
                    None => client.send(request).await,
                    Some(Failing::Breaks(..)) => {
                        let error = std::io::Error::new(
                            std::io::ErrorKind::ConnectionRefused,
                            "connect to 127.0.0.1:6443: connection refused",
                        );
                        Err(kube::Error::Service(Box::new(error)))
                    }
                    Some(Failing::Answers(_, _, code, message)) => {
                        let status = json!({
                            "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "InternalError",
                            "code": code, "message": message,
                        });
                        let answer = Response::builder()
                            .status(code)
                            .body(Body::from(status.to_string().into_bytes()));
                        Ok(answer.unwrap())
                    }
                }
            }
        });
        Client::new(service, namespace)
    }
}

fn reconciled(conditions: Option<&Vec<Condition>>) -> Option<(String, String)> {
    let found = conditions?.iter().find(|condition| condition.type_ == "Reconciled")?;
    Some((found.reason.clone(), found.message.clone()))
}

fn failure_of(request: &SubscriptionRequest) -> Option<(String, String)> {
    reconciled(request.status.as_ref().map(|status| &status.conditions))
}

/// Waits until a request has this failure, and returns its message.
async fn fails(stage: &Stage, name: &str, reason: &str) -> Result<String, Fault> {
    let has = |request: &SubscriptionRequest| failure_of(request).is_some_and(|it| it.0 == reason);
    let request = stage.request_that(name, &format!("has the failure {reason}"), has).await?;
    Ok(failure_of(&request).unwrap().1)
}

async fn recovers(stage: &Stage, name: &str) -> Result<(), Fault> {
    stage.request_that(name, "has no failure", |request| failure_of(request).is_none()).await.map(drop)
}

pub async fn a_request_repeats_what_the_garden_answers(landscape: Landscape) -> Outcome {
    let (mut stage, faults) = (Stage::new(&landscape).await?, Faults::default());
    stage.accounts(&["a"], json!({ "hyperscalerType": "aws" })).await?;
    stage.plot.landscape.garden = faults.on(&stage.plot.landscape.garden);
    let _running = stage.start();
    faults.begin(Failing::Answers(Method::PATCH, "credentialsbindings", 500, "etcdserver: no leader"));
    stage.ask("r", "ga-1").await?;
    let message = fails(&stage, "r", "ServerError").await?;
    assert!(
        message.contains("etcdserver: no leader (500)") && message.contains("ask the platform"),
        "{message}"
    );
    let version = stage.requests().get("r").await?.resource_version();
    tokio::time::sleep(WATCHED).await;
    assert_eq!(stage.requests().get("r").await?.resource_version(), version, "a retry writes nothing");
    faults.end();
    stage.bound("r").await?;
    recovers(&stage, "r").await?;
    Ok(())
}

pub async fn a_request_says_that_a_server_cannot_be_reached_and_not_where_it_is(
    landscape: Landscape,
) -> Outcome {
    let (mut stage, faults) = (Stage::new(&landscape).await?, Faults::default());
    stage.accounts(&["a"], json!({ "hyperscalerType": "aws" })).await?;
    stage.plot.landscape.garden = faults.on(&stage.plot.landscape.garden);
    let _running = stage.start();
    for (name, failing) in [
        ("refused", Failing::Breaks(Method::PATCH, "credentialsbindings")),
        ("unauthorized", Failing::Answers(Method::PATCH, "credentialsbindings", 401, "Unauthorized")),
        ("unavailable", Failing::Answers(Method::PATCH, "credentialsbindings", 503, "<html>10.0.0.1</html>")),
    ] {
        faults.begin(failing);
        stage.ask(name, "ga-1").await?;
        let message = fails(&stage, name, "ServerUnavailable").await?;
        assert!(message.contains("nothing for you to do"), "{message}");
        assert!(!message.contains("127.0.0.1") && !message.contains("10.0.0.1"), "{message}");
        faults.end();
        stage.bound(name).await?;
        recovers(&stage, name).await?;
        stage.delete(name).await?;
        stage.gone(name).await?;
        stage.labelled("a", "dirty", Some("true")).await?;
        stage.label("a", json!({ "dirty": null, "tenantName": null })).await?;
    }
    Ok(())
}

pub async fn a_cluster_repeats_what_the_garden_answers(landscape: Landscape) -> Outcome {
    let faults = Faults::default();
    let mut failing = landscape.clone();
    failing.garden = faults.on(&landscape.garden);
    faults.begin(Failing::Answers(Method::PATCH, "/shoots/", 500, "the schema has no field spec.wrong"));
    let play = Play::new(&failing, 1).await?;
    play.create("c", |_| ()).await?;
    let failure = |cluster: &Cluster| reconciled(cluster.status.as_ref().map(|status| &status.conditions));
    let cluster = play.that("c", "has a failure", |cluster| failure(cluster).is_some()).await?;
    let (reason, message) = failure(&cluster).unwrap();
    assert_eq!(reason, "ServerError");
    assert!(message.contains("apply Shoot") && message.contains("no field spec.wrong (500)"), "{message}");
    faults.end();
    play.ready("c").await?;
    play.that("c", "has no failure", |cluster| failure(cluster).is_none()).await?;
    play.resync_writes_nothing().await?;
    Ok(())
}

pub async fn a_kubeconfig_request_repeats_what_the_control_plane_answers(landscape: Landscape) -> Outcome {
    let (mut desk, faults) = (Desk::new(&landscape).await?, Faults::default());
    faults.begin(Failing::Answers(Method::PATCH, "/secrets/", 500, "the webhook of secrets is broken"));
    let control_plane = faults.on(&desk.play.stage.plot.landscape.control_plane);
    desk.start_as(control_plane)?;
    // The operator without faults ends with that.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut spec = reads_config_maps();
    spec["secretRef"] = json!({ "name": "access" });
    desk.ask("k", spec).await?;
    let message = desk.because("k", "Reconciled", "ServerError").await?;
    assert!(message.contains("the webhook of secrets is broken (500)"), "{message}");
    faults.end();
    desk.issued("k").await?;
    desk.that("k", "has no failure", |request| desk::condition(request, "Reconciled").is_none()).await?;
    Ok(())
}

/// An operator whose dependencies a test can have fail.
fn start_with(stage: &Stage, metrics: &Metrics) -> Running {
    let operator = Operator::new(Parts {
        control_plane: stage.plot.landscape.control_plane.clone(),
        garden: stage.plot.landscape.garden.clone(),
        ledger: stage.ledger.clone(),
        settings: stage.settings("one"),
        policy: stage.policy(super::stage::RULES),
        clock: Clock::system(),
        metrics: metrics.clone(),
    });
    Running::new(operator, |operator| async move { operator.run_as_leader().await })
}

pub async fn those_that_wait_are_told_of_lasting_failures_though_nobody_wakes_them(
    landscape: Landscape,
) -> Outcome {
    let (stage, metrics) = (Stage::new(&landscape).await?, Metrics::new());
    let _running = start_with(&stage, &metrics);
    stage.ask("waits", "ga-1").await?;
    stage.in_phase("waits", SubscriptionPhase::Waiting).await?;
    for (dependency, reason) in [
        (Dependency::LedgerWrite, "LedgerUnavailable"),
        (Dependency::LedgerRead, "LedgerUnavailable"),
        (Dependency::GardenRead, "GardenUnavailable"),
        (Dependency::GardenWrite, "GardenUnavailable"),
    ] {
        metrics.dependencies().failed(dependency, "10.0.0.1 does not answer");
        let message = fails(&stage, "waits", reason).await?;
        assert!(message.contains("nothing for you to do") && !message.contains("10.0.0.1"), "{message}");
        let request = stage.requests().get("waits").await?;
        assert_eq!(request.status.unwrap().phase, Some(SubscriptionPhase::Waiting));
        metrics.dependencies().succeeded(dependency);
        recovers(&stage, "waits").await?;
    }
    Ok(())
}

pub async fn those_that_wait_are_told_that_nothing_is_handed_out(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    {
        let _first = stage.start();
        stage.ask("waits", "ga-1").await?;
        stage.in_phase("waits", SubscriptionPhase::Waiting).await?;
    }
    let place = Place { garden: "test".to_owned(), project: stage.plot.garden_namespace.clone() };
    let other = Ledger::open("sqlite::memory:", place).await?;
    let halted = stage.start_with("two", &other);
    stage.ask("new", "ga-2").await?;
    for name in ["waits", "new"] {
        let message = fails(&stage, name, "Halted").await?;
        assert!(message.contains("nothing for you to do"), "{message}");
    }
    drop(halted);
    let _running = stage.start();
    stage.in_phase("new", SubscriptionPhase::Waiting).await?;
    recovers(&stage, "waits").await?;
    recovers(&stage, "new").await?;
    Ok(())
}

pub async fn a_cluster_that_waits_for_an_account_is_told_of_its_requests_failure(
    landscape: Landscape,
) -> Outcome {
    let (stage, metrics) = (Stage::with_gardenlet(&landscape).await?, Metrics::new());
    let _running = start_with(&stage, &metrics);
    let play = Play::without_subscriptions(stage)?;
    play.create("c", |_| ()).await?;
    play.that("c", "waits", |cluster| {
        cluster.status.as_ref().is_some_and(|status| status.phase == Some(ClusterPhase::Waiting))
    })
    .await?;
    metrics.dependencies().failed(Dependency::LedgerWrite, "its disk is full");
    let says = |cluster: &Cluster| {
        clusters::condition(cluster, "ClusterProvisioned")
            .is_some_and(|it| it.2.contains("ledger of accounts"))
    };
    play.that("c", "names the ledger", says).await?;
    metrics.dependencies().succeeded(Dependency::LedgerWrite);
    play.that("c", "does not name the ledger", |cluster| !says(cluster)).await?;
    Ok(())
}
