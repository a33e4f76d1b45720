//! One pass of deletions: wave after wave, places side by side.

use crate::{Cloud, Refusal, inventory::list_cell};
use allotment_core::cleanup::{
    Cell, Item, ItemKey, KindName, Place, Plan, Planned, RefusedItem, Wave, kinds::table,
};
use futures::{StreamExt, future::BoxFuture, stream};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// So many places are worked on at once.
const PLACES_AT_ONCE: usize = 4;

/// How long a wave waits for deletions that take time.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The longest wait after a wave; the next wave is tried anyway, and refusals only postpone.
    pub most: Duration,
    /// Between two listings.
    pub every: Duration,
}

impl Default for Patience {
    /// A NAT gateway takes about a minute, an instance with a shutdown hook two.
    fn default() -> Self {
        Self { most: Duration::from_secs(120), every: Duration::from_secs(5) }
    }
}

/// So many items of each place are deleted before it is asked again whether to go on: some seconds' work.
const PART: usize = 25;

/// Deletes a wave, in parts. Before each it is asked whether to go on: a wave can be thousands of items, and somebody may
/// stop it.
pub async fn delete_while<'a, E>(
    cloud: &dyn Cloud,
    wave: &Wave,
    patience: Patience,
    go_on: &(dyn Fn() -> BoxFuture<'a, Result<(), E>> + Sync),
) -> Result<Vec<RefusedItem>, E> {
    let (mut accepted, mut refused) = (Vec::new(), Vec::new());
    for part in parts(wave) {
        go_on().await?;
        let (deleted, more) = delete_wave(cloud, &part).await;
        accepted.extend(deleted);
        refused.extend(more);
    }
    wait_until_gone(cloud, accepted, patience).await;
    Ok(refused)
}

fn parts(wave: &Wave) -> Vec<Wave> {
    let mut parts: Vec<Wave> = Vec::new();
    let mut counts: BTreeMap<&Place, usize> = BTreeMap::new();
    for planned in &wave.items {
        let count = counts.entry(&planned.item.place).or_default();
        let number = *count / PART;
        *count += 1;
        while parts.len() <= number {
            parts.push(Wave { number: wave.number, items: Vec::new() });
        }
        parts[number].items.push(planned.clone());
    }
    parts
}

/// Deletes everything in a plan, in its order. Refusals are returned, never hidden; a deletion that was accepted proves
/// nothing: the next listing does.
pub async fn delete_all(cloud: &dyn Cloud, plan: &Plan, patience: Patience) -> Vec<RefusedItem> {
    let mut refused = Vec::new();
    for wave in &plan.waves {
        let (accepted, more) = delete_wave(cloud, wave).await;
        refused.extend(more);
        wait_until_gone(cloud, accepted, patience).await;
    }
    refused
}

async fn delete_wave(cloud: &dyn Cloud, wave: &Wave) -> (Vec<Item>, Vec<RefusedItem>) {
    let mut places: BTreeMap<&Place, Vec<&Planned>> = BTreeMap::new();
    for planned in &wave.items {
        places.entry(&planned.item.place).or_default().push(planned);
    }
    // Collected first: a stream over a closure that borrows is not known to be `Send`.
    let work: Vec<_> = places.into_values().map(|planned| delete_in_place(cloud, planned)).collect();
    let done = stream::iter(work).buffer_unordered(PLACES_AT_ONCE).collect::<Vec<_>>().await;
    let (accepted, refused): (Vec<_>, Vec<_>) = done.into_iter().unzip();
    (accepted.concat(), refused.concat())
}

async fn delete_in_place(cloud: &dyn Cloud, planned: Vec<&Planned>) -> (Vec<Item>, Vec<RefusedItem>) {
    let (mut accepted, mut refused) = (Vec::new(), Vec::new());
    for Planned { item, .. } in planned {
        match cloud.delete(item).await {
            Ok(()) | Err(Refusal::Gone) => accepted.push(item.clone()),
            Err(refusal) => refused.push(RefusedItem { key: item.key(), refusal }),
        }
    }
    (accepted, refused)
}

/// Polls kinds whose deletion takes time. A listing that fails ends the wait for its kind: the next full one tells.
async fn wait_until_gone(cloud: &dyn Cloud, accepted: Vec<Item>, patience: Patience) {
    let table = table(cloud.cloud());
    let is_slow = |item: &Item| table.kind(item.kind.as_str()).is_some_and(|kind| kind.is_slow());
    let mut waiting: BTreeMap<(Place, KindName), BTreeSet<ItemKey>> = BTreeMap::new();
    for item in accepted.iter().filter(|item| is_slow(item)) {
        waiting.entry((item.place.clone(), item.kind.clone())).or_default().insert(item.key());
    }
    let until = Instant::now() + patience.most;
    while !waiting.is_empty() && Instant::now() < until {
        let mut still = BTreeMap::new();
        for ((place, kind), keys) in waiting {
            let Cell::Listed { items } = list_cell(cloud, &place, &kind).await else { continue };
            let row = table.kind(kind.as_str());
            let there = items.iter().filter(|item| !row.is_some_and(|row| row.is_gone(item)));
            let left: BTreeSet<ItemKey> = there.map(Item::key).filter(|key| keys.contains(key)).collect();
            if !left.is_empty() {
                still.insert((place, kind), left);
            }
        }
        waiting = still;
        if !waiting.is_empty() {
            sleep(patience.every).await;
        }
    }
}
