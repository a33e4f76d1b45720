//! What a client sees when things go wrong, and that the server itself stays right.

#![allow(clippy::panic, clippy::unwrap_used, reason = "these are tests")]

use allotment_apiserver::{
    ApiServer,
    auth::User,
    fault::{CallInfo, Dice, Fault, Rates, Refusal},
    service::WatchFaults,
};
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{ListParams, ObjectMeta, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
};
use serde_json::json;
use std::{
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};

const TICK: Duration = Duration::from_millis(1);

fn admin() -> User {
    User::new("admin", ["system:masters"])
}

fn good(server: &ApiServer) -> Api<ConfigMap> {
    Api::default_namespaced(Client::new(server.service(admin()), "default"))
}

/// A client to whose writes, or reads, or watches one thing happens.
fn bad(server: &ApiServer, plan: impl FnMut(&CallInfo) -> Fault + Send + 'static) -> Api<ConfigMap> {
    let service = server.faulty_service(admin(), Arc::new(Mutex::new(plan)), TICK);
    Api::default_namespaced(Client::new(service, "default"))
}

fn config_map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    }
}

async fn create(api: &Api<ConfigMap>, name: &str) -> Result<ConfigMap, kube::Error> {
    api.create(&PostParams::default(), &config_map(name)).await
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_lost_has_happened_and_a_request_that_is_lost_has_not() {
    let server = ApiServer::new();
    for (fault, happened) in [
        (Fault::LoseRequest, false),
        (Fault::LoseAnswer, true),
        (Fault::Refuse(Refusal::Timeout), false),
        (Fault::RefuseAfter(Refusal::Timeout), true),
    ] {
        let name = format!("{fault:?}").to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "");
        let once = fault.clone();
        assert!(create(&bad(&server, move |_: &CallInfo| once.clone()), &name).await.is_err(), "{fault:?}");
        assert_eq!(good(&server).get_opt(&name).await.unwrap().is_some(), happened, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hung_call_ends_with_the_patience_of_the_client() {
    let server = ApiServer::new();
    for (fault, name, happened) in [(Fault::HangBefore, "before", false), (Fault::HangAfter, "after", true)] {
        let api = bad(&server, move |_: &CallInfo| fault.clone());
        assert!(tokio::time::timeout(Duration::from_secs(60), create(&api, name)).await.is_err());
        assert_eq!(good(&server).get_opt(name).await.unwrap().is_some(), happened, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_are_those_of_a_server() {
    let server = ApiServer::new();
    for (refusal, code, reason) in [
        (Refusal::Conflict, 409, "Conflict"),
        (Refusal::TooManyRequests(3), 429, "TooManyRequests"),
        (Refusal::InternalError, 500, "InternalError"),
        (Refusal::Unavailable, 503, "ServiceUnavailable"),
        (Refusal::Timeout, 504, "Timeout"),
    ] {
        match create(&bad(&server, move |_: &CallInfo| Fault::Refuse(refusal)), "a").await {
            Err(kube::Error::Api(status)) => {
                assert_eq!((status.code, status.reason.as_str()), (code, reason));
            }
            answer => panic!("{refusal:?}: {answer:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stale_read_sees_what_was_there_before() {
    let server = ApiServer::new();
    let made = create(&good(&server), "a").await.unwrap();
    let patch = Patch::Merge(json!({ "data": { "a": "new" } }));
    good(&server).patch("a", &PatchParams::default(), &patch).await.unwrap();
    let stale = bad(&server, |_: &CallInfo| Fault::Stale(1));
    assert_eq!(stale.get("a").await.unwrap().metadata.resource_version, made.metadata.resource_version);
    assert_eq!(stale.list(&ListParams::default()).await.unwrap().items[0].data, None);
    let staler = bad(&server, |_: &CallInfo| Fault::Stale(2));
    assert!(staler.get_opt("a").await.unwrap().is_none());
    assert!(good(&server).get("a").await.unwrap().data.is_some(), "the present is as it was");
}

/// What a watcher is told, in order, until the watch ends.
async fn told(api: &Api<ConfigMap>, version: &str) -> Vec<String> {
    let mut events = pin!(api.watch(&WatchParams::default().timeout(30), version).await.unwrap());
    let mut told = Vec::new();
    while let Some(event) = events.try_next().await.unwrap() {
        told.push(match event {
            WatchEvent::Added(_) => "added".to_owned(),
            WatchEvent::Modified(object) => format!("modified {}", object.data.unwrap_or_default()["n"]),
            WatchEvent::Deleted(_) => "deleted".to_owned(),
            WatchEvent::Bookmark(_) => continue,
            WatchEvent::Error(status) => format!("error {}", status.code),
        });
    }
    told
}

#[tokio::test(start_paused = true)]
async fn watches_break_expire_and_skip() {
    let server = ApiServer::new();
    let start = good(&server).list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    create(&good(&server), "a").await.unwrap();
    for n in 1..=3 {
        let patch = Patch::Merge(json!({ "data": { "n": n.to_string() } }));
        good(&server).patch("a", &PatchParams::default(), &patch).await.unwrap();
    }
    let with = |faults: WatchFaults| bad(&server, move |_: &CallInfo| Fault::Watch(faults.clone()));
    assert_eq!(told(&good(&server), &start).await, ["added", "modified 1", "modified 2", "modified 3"]);
    let dropped = with(WatchFaults { drop_after: Some(2), ..WatchFaults::default() });
    assert_eq!(told(&dropped, &start).await, ["added", "modified 1"]);
    let expired = with(WatchFaults { expire_after: Some(1), ..WatchFaults::default() });
    assert_eq!(told(&expired, &start).await, ["added", "error 410"]);
    let coalesced = with(WatchFaults { coalesce: true, ..WatchFaults::default() });
    assert_eq!(told(&coalesced, &start).await, ["added", "modified 3"]);
}

#[tokio::test(start_paused = true)]
async fn a_history_that_is_forgotten_ends_a_watch() {
    let server = ApiServer::new();
    let start = good(&server).list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    create(&good(&server), "a").await.unwrap();
    server.with_server(allotment_apiserver::Server::compact);
    assert_eq!(told(&good(&server), &start).await, ["error 410"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_can_come_back_as_another() {
    let server = ApiServer::new();
    let first = create(&good(&server), "a").await.unwrap();
    let now = server.now();
    assert!(server.with_server(|server| server.recreate("", "configmaps", "default", "a", now)));
    let second = good(&server).get("a").await.unwrap();
    assert_ne!(second.metadata.uid, first.metadata.uid);
    assert!(!server.with_server(|server| server.recreate("", "configmaps", "default", "b", now)));
}

#[tokio::test(start_paused = true)]
async fn dice_never_leave_a_server_that_is_wrong() {
    let rates = Rates {
        delay: 100,
        longest_delay: Duration::from_secs(2),
        refuse: 100,
        refuse_after: 100,
        lose_request: 50,
        lose_answer: 100,
        hang: 30,
        stale: 100,
        watch: 500,
    };
    let server = ApiServer::new();
    let service = server.faulty_service(admin(), Arc::new(Mutex::new(Dice::new(42, rates))), TICK);
    let api: Api<ConfigMap> = Api::default_namespaced(Client::new(service, "default"));
    let (mut answered, mut failed) = (0, 0);
    for n in 0..300 {
        match tokio::time::timeout(Duration::from_secs(30), create(&api, &format!("c{n}"))).await {
            Ok(Ok(_)) => answered += 1,
            _ => failed += 1,
        }
    }
    let there = good(&server).list(&ListParams::default().labels("")).await.unwrap().items.len() - 1;
    assert!(answered > 100 && failed > 50, "{answered} answered, {failed} failed");
    assert!(there > answered && there < 300, "{there} are there of {answered} that were answered");
}
