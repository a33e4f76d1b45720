//! The embedded API server beside the real one, in one run: writes, lists, fan-out, start-up, memory.

use super::Measure;
use allotment_apiserver::{ApiServer, auth::User};
use allotment_garden::landscape::RealLandscape;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Api, Client,
    api::{ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
};
use serde_json::{Value, json};
use std::{
    error::Error,
    time::{Duration, Instant},
};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Enough to see the rate, few enough for the real server to be done in seconds.
const WRITES: u32 = 2000;
const LISTED: u32 = 10_000;
const WATCHERS: usize = 100;
const EVENTS: u32 = 100;
/// As many calls are under way at once as a busy operator has.
const CONCURRENCY: usize = 16;
const REMEMBERED: u32 = 100_000;
/// 100,000 small objects are to fit into 150 MB.
const BYTES_PER_OBJECT: f64 = 1500.0;

pub(super) async fn measure(real: &RealLandscape) -> Outcome<Vec<Measure>> {
    let started = Instant::now();
    let server = ApiServer::new();
    let embedded = client(&server);
    embedded.apiserver_version().await?;
    let startup = started.elapsed().as_secs_f64();
    let mut measures = vec![
        Measure::new("API server, start to first answer", startup, "s").against(real.manifest.ready_seconds),
    ];
    let ours = Rates::of(&embedded).await?;
    let theirs = Rates::of(&real.landscape.control_plane).await?;
    measures.extend(ours.against(&theirs));
    measures.push(memory_per_object().await?);
    Ok(measures)
}

fn client(server: &ApiServer) -> Client {
    Client::new(server.service(User::new("bench", ["system:masters"])), "default")
}

/// What one server does in a second, or how long it takes.
struct Rates {
    creates: f64,
    merges: f64,
    applies: f64,
    list_seconds: f64,
    fan_out: f64,
}

impl Rates {
    async fn of(client: &Client) -> Outcome<Self> {
        let namespace = format!("bench-{}", std::process::id());
        let made: Namespace = object("Namespace", json!({ "name": namespace }), None)?;
        Api::all(client.clone()).create(&PostParams::default(), &made).await?;
        let api = Api::<ConfigMap>::namespaced(client.clone(), &namespace);
        let creates = per_second(WRITES, |n| create(&api, n)).await?;
        let merges = per_second(WRITES, |n| merge(&api, n)).await?;
        let applies = per_second(WRITES, |n| apply(&api, n)).await?;
        per_second(LISTED - WRITES, |n| create(&api, WRITES + n)).await?;
        let started = Instant::now();
        let listed = api.list(&ListParams::default().match_any()).await?.items.len();
        let list_seconds = started.elapsed().as_secs_f64();
        if listed < usize::try_from(LISTED)? {
            return Err(format!("listed {listed} of {LISTED}").into());
        }
        let fan_out = fan_out(&api).await?;
        Api::<Namespace>::all(client.clone()).delete(&namespace, &Default::default()).await?;
        Ok(Self { creates, merges, applies, list_seconds, fan_out })
    }

    fn against(&self, theirs: &Self) -> Vec<Measure> {
        let Self { creates, merges, applies, list_seconds, fan_out } = self;
        vec![
            Measure::new("creates, against the real server", *creates, "1/s").against(theirs.creates),
            Measure::new("merge patches, against the real server", *merges, "1/s").against(theirs.merges),
            Measure::new("applies, against the real server", *applies, "1/s").against(theirs.applies),
            Measure::new("a list of 10,000, against the real server", *list_seconds, "s")
                .against(theirs.list_seconds),
            Measure::new("events to 100 watchers, against the real server", *fan_out, "1/s")
                .against(theirs.fan_out),
        ]
    }
}

fn object<K: serde::de::DeserializeOwned>(kind: &str, metadata: Value, data: Option<Value>) -> Outcome<K> {
    let mut object = json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata });
    if let Some(data) = data {
        object["data"] = data;
    }
    Ok(serde_json::from_value(object)?)
}

async fn create(api: &Api<ConfigMap>, n: u32) -> Outcome<()> {
    let made = object(
        "ConfigMap",
        json!({ "name": format!("c{n}"), "labels": { "n": "1" } }),
        Some(json!({ "a": "b" })),
    )?;
    api.create(&PostParams::default(), &made).await?;
    Ok(())
}

async fn merge(api: &Api<ConfigMap>, n: u32) -> Outcome<()> {
    let patch = Patch::Merge(json!({ "data": { "merged": "yes" } }));
    api.patch(&format!("c{n}"), &PatchParams::default(), &patch).await?;
    Ok(())
}

async fn apply(api: &Api<ConfigMap>, n: u32) -> Outcome<()> {
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "applied": "yes" } });
    api.patch(&format!("c{n}"), &PatchParams::apply("bench"), &Patch::Apply(object)).await?;
    Ok(())
}

async fn per_second<F>(times: u32, call: impl Fn(u32) -> F) -> Outcome<f64>
where
    F: Future<Output = Outcome<()>>,
{
    let started = Instant::now();
    stream::iter(0..times).map(call).buffer_unordered(CONCURRENCY).try_collect::<Vec<()>>().await?;
    Ok(f64::from(times) / started.elapsed().as_secs_f64())
}

/// Changes one object again and again, until every watcher has seen every change.
async fn fan_out(api: &Api<ConfigMap>) -> Outcome<f64> {
    let version =
        api.list(&ListParams::default().limit(1)).await?.metadata.resource_version.unwrap_or_default();
    let mut watchers = Vec::new();
    for _ in 0..WATCHERS {
        let (api, version) = (api.clone(), version.clone());
        watchers.push(tokio::spawn(async move {
            let mut seen = 0;
            let mut events = api.watch(&WatchParams::default().timeout(120), &version).await?.boxed();
            while let Some(event) = events.try_next().await? {
                seen += u32::from(matches!(event, WatchEvent::Modified(_)));
                if seen >= EVENTS {
                    break;
                }
            }
            Ok::<u32, kube::Error>(seen)
        }));
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let started = Instant::now();
    for n in 0..EVENTS {
        let patch = Patch::Merge(json!({ "data": { "n": n.to_string() } }));
        api.patch("c0", &PatchParams::default(), &patch).await?;
    }
    let mut seen = 0;
    for watcher in watchers {
        seen += watcher.await??;
    }
    Ok(f64::from(seen) / started.elapsed().as_secs_f64())
}

async fn memory_per_object() -> Outcome<Measure> {
    let server = ApiServer::new();
    let api = Api::<ConfigMap>::default_namespaced(client(&server));
    let before = resident_bytes()?;
    for n in 0..REMEMBERED {
        create(&api, n).await?;
    }
    let bytes = (resident_bytes()? - before) / f64::from(REMEMBERED);
    Ok(Measure::new("memory per small object of 100,000", bytes, "bytes").against(BYTES_PER_OBJECT))
}

/// What this process has in memory, as Linux tells it.
fn resident_bytes() -> Outcome<f64> {
    const PAGE_BYTES: f64 = 4096.0;
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u32 = text.split_whitespace().nth(1).ok_or("statm is not understood")?.parse()?;
    Ok(f64::from(pages) * PAGE_BYTES)
}
