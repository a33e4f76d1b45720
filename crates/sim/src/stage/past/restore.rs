//! Servers that are put back to an older state.

use super::{Restored, guard::changed};
use crate::stage::{
    call::Side,
    world::{GARDEN, NAMESPACE, World},
};
use allotment_api::names::label;
use allotment_core::pool::{AccountName, RequestUid};
use http::Method;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Puts a server back by so many writes, but not behind the beginning.
pub(super) fn put_back(world: &World, server: Restored, writes: u64) {
    let (side, floor, kinds): (Side, usize, &[&str]) = match server {
        Restored::Garden => (Side::Garden, 0, &["credentialsbindings", "shoots"]),
        Restored::ControlPlane => (Side::ControlPlane, 1, &["subscriptionrequests"]),
    };
    let floor = world.state().past.floors[floor];
    let read = || -> BTreeMap<&str, BTreeMap<String, Value>> {
        kinds.iter().map(|plural| (*plural, list(world, side, plural))).collect()
    };
    let before = read();
    let back = world
        .server(side)
        .with_server(|server| server.put_back(writes.min(server.revision().saturating_sub(floor))));
    world.tell(|| format!("{server:?} is put back by {back} writes"));
    changed(world);
    let after = read();
    for plural in kinds {
        let (before, after) = (&before[plural], &after[plural]);
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names.into_iter().filter(|name| before.get(*name) != after.get(*name)) {
            let (before, after) = (before.get(name), after.get(name));
            mark(world, plural, name, before, after);
            // What is wrong is wrong by nobody's doing.
            drop(world.state().eyes.see(plural, name, after));
        }
    }
}

fn list(world: &World, side: Side, plural: &str) -> BTreeMap<String, Value> {
    let (group, namespace) = match plural {
        "shoots" => ("core.gardener.cloud/v1beta1", GARDEN),
        "credentialsbindings" => ("security.gardener.cloud/v1alpha1", GARDEN),
        _ => ("control-plane.kyma-project.io/v1alpha1", NAMESPACE),
    };
    let path = format!("/apis/{group}/namespaces/{namespace}/{plural}");
    let (_, list) = world.ask(side, Method::GET, &path, None);
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let named = |item: Value| Some((item["metadata"]["name"].as_str()?.to_owned(), item));
    items.into_iter().filter_map(named).collect()
}

/// Notes what the oracles must know of an object that is another one now.
fn mark(world: &World, plural: &str, name: &str, before: Option<&Value>, after: Option<&Value>) {
    let mut state = world.state();
    let scene = &mut state.eyes.scene;
    match plural {
        "credentialsbindings" => {
            scene.meddled.insert(AccountName::new(name));
            scene.tampered.insert(AccountName::new(name));
        }
        "shoots" => {
            // The request of a Shoot that is back may have given its account away since.
            let request = after.and_then(|it| it["metadata"]["labels"][label::SUBSCRIPTION_REQUEST].as_str());
            scene.torn.extend(request.map(RequestUid::new));
        }
        _ => {
            let uid = |object: Option<&Value>| object?["metadata"]["uid"].as_str().map(RequestUid::new);
            scene.torn.extend(uid(before));
            scene.torn.extend(uid(after));
            scene.returned.extend(uid(after));
        }
    }
}
