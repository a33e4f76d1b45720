//! Many events to many watchers, all of which see all of them in the same order.

use super::{
    Measure, Outcome,
    side::{Side, Sides, create_small, per_second},
};
use futures::{StreamExt, TryStreamExt, future::try_join_all};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{ListParams, Patch, PatchParams, Request, WatchEvent, WatchParams},
};
use serde::Deserialize;
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

const WATCHERS: usize = 100;
const EVENTS: u32 = 10_000;

/// More than calls are under way at once, so that no two of them change the same object.
const OBJECTS: u32 = 100;

/// So far the slowest watcher may be behind. Both servers end watches that fall too far behind, one after 4,096 events, the
/// other when its buffers are full: what is measured is how fast events come through, not how long they can wait.
const BEHIND_AT_MOST: u32 = 1000;

/// Longer than the slowest server needs.
const GIVE_UP_AFTER: Duration = Duration::from_secs(120);

pub(super) async fn measure(sides: &Sides) -> Outcome<Measure> {
    let (ours, theirs) = (rate(&sides.embedded).await?, rate(&sides.real).await?);
    Ok(Measure::new("10,000 events to 100 watchers", ours, "deliveries/s").against(theirs))
}

/// As much of an object as a watcher needs to know that it saw it.
#[derive(Clone, Deserialize)]
struct Glance {
    metadata: GlanceMetadata,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GlanceMetadata {
    resource_version: String,
}

async fn rate(side: &Side) -> Outcome<f64> {
    let api = side.config_maps();
    per_second(OBJECTS, async |n| create_small(&api, &format!("fan-{n}")).await).await?;
    let version =
        api.list(&ListParams::default().limit(1)).await?.metadata.resource_version.unwrap_or_default();
    let progress: Vec<Arc<AtomicU32>> = (0..WATCHERS).map(|_| Arc::default()).collect();
    let mut watchers = Vec::new();
    for seen in &progress {
        let (side, version, seen) = (api.clone(), version.clone(), seen.clone());
        watchers.push(tokio::spawn(tokio::time::timeout(GIVE_UP_AFTER, async move {
            watch(&side, &version, &seen).await
        })));
    }
    let started = Instant::now();
    let write = async |n: u32| {
        while progress.iter().any(|seen| seen.load(Ordering::Relaxed) + BEHIND_AT_MOST < n) {
            if started.elapsed() > GIVE_UP_AFTER {
                return Err("the watchers are too far behind".into());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let patch = Patch::Merge(json!({ "data": { "n": n.to_string() } }));
        api.patch(&format!("fan-{}", n % OBJECTS), &PatchParams::default(), &patch).await?;
        Ok(())
    };
    per_second(EVENTS, write).await?;
    let mut all = Vec::new();
    for watched in try_join_all(watchers).await? {
        all.push(watched.map_err(|_| "a watcher did not see all events in time")??);
    }
    let seconds = started.elapsed().as_secs_f64();
    if all.iter().any(|versions| *versions != all[0]) {
        return Err("two watchers saw events in different orders".into());
    }
    Ok(f64::from(EVENTS) * f64::from(u32::try_from(WATCHERS)?) / seconds)
}

/// Watches until all events are seen, and says at which versions they were. They only ever go up.
async fn watch(api: &Api<ConfigMap>, version: &str, seen: &AtomicU32) -> Outcome<Vec<u64>> {
    let timeout = u32::try_from(GIVE_UP_AFTER.as_secs())?;
    let parameters = WatchParams::default().timeout(timeout).disable_bookmarks();
    let request = Request::new(api.resource_url()).watch(&parameters, version)?;
    let mut events = api.clone().into_client().request_events::<Glance>(request).await?.boxed();
    let mut versions: Vec<u64> = Vec::new();
    while versions.len() < usize::try_from(EVENTS)? {
        let Some(event) = events.try_next().await? else {
            return Err(format!("a watch ended after {} events", versions.len()).into());
        };
        let WatchEvent::Modified(glance) = event else { return Err("an event that nobody made".into()) };
        let version = glance.metadata.resource_version.parse()?;
        if versions.last().is_some_and(|last| *last >= version) {
            return Err("a watcher saw events out of order".into());
        }
        versions.push(version);
        seen.fetch_add(1, Ordering::Relaxed);
    }
    Ok(versions)
}
