//! What must hold when nothing is left to do.

use super::{
    Place, Realm, inside,
    people::OPERATION,
    providers::wiring,
    read::{annotation, is_deleting, labelled, number, owner_of, text},
    staff::TENANTS,
};
use crate::stage::world::World;
use allotment_core::{check::Astray, openmcp::names::hash8};
use serde_json::Value;

/// What is wrong, looked at again only if something was written.
pub(super) fn at_rest(world: &World) -> Vec<Astray> {
    let Some(realm) = &world.realm else { return Vec::new() };
    let (writes, known) = {
        let sight = realm.sight();
        let known = sight.at_rest.as_ref().filter(|(writes, _)| *writes == sight.writes);
        (sight.writes, known.map(|(_, found)| found.clone()))
    };
    if let Some(known) = known {
        return known;
    }
    let found = look(world, realm);
    realm.sight().at_rest = Some((writes, found.clone()));
    found
}

fn look(world: &World, realm: &Realm) -> Vec<Astray> {
    let mut found = realm.sight().estate.at_rest(|owner| realm.instances.contains(owner));
    for platform in realm.platforms() {
        let place = Place::Platform(platform);
        let copies = |plural: &str| {
            let sight = realm.sight();
            sight.all(&place, plural).map(|(_, object)| object.clone()).collect::<Vec<_>>()
        };
        found.extend(copies("landscapes").iter().filter_map(|it| landscape(realm, platform, it)));
        found.extend(copies("providerconfigs").iter().filter_map(|it| config(realm, platform, it)));
        found.extend(profiles(realm, platform));
        found.extend(copies("accessrequests").iter().filter_map(|it| inside::unrest(world, platform, it)));
        found.extend(copies("clusterrequests").iter().filter_map(|it| request(realm, platform, it)));
        found.extend(secrets(world, realm, platform));
        found.extend(tenants(realm, platform));
    }
    if found.is_empty() {
        found.extend(grants(world, realm));
    }
    found
}

/// Whether it is ready and says so of what is asked for now.
fn is_ready(object: &Value) -> bool {
    text(object, "/status/phase") == "Ready"
        && number(object, "/status/observedGeneration") == number(object, "/metadata/generation")
}

fn settled(object: &Value, kind: &str, is_served: bool) -> Option<Astray> {
    let name = format!("{kind} {}", text(object, "/metadata/name"));
    if is_deleting(object) {
        return Some(Astray::NeverGone(name));
    }
    let is_marked = annotation(object, OPERATION).is_some();
    let why = || format!("it is {:?}, a look asked for: {is_marked}", text(object, "/status/phase"));
    (is_served && (is_marked || !is_ready(object))).then(|| Astray::Unanswered(name, why()))
}

/// A provider looks after the Landscapes that its ProviderConfigs lead to, and after those that none leads to.
fn landscape(realm: &Realm, platform: usize, object: &Value) -> Option<Astray> {
    let name = text(object, "/metadata/name");
    let sight = realm.sight();
    let place = Place::Platform(platform);
    let leading: Vec<&str> = sight
        .all(&place, "providerconfigs")
        .filter(|(_, config)| text(config, "/spec/landscapeRef/name") == name)
        .map(|(_, config)| text(config, "/spec/providerRef/name"))
        .collect();
    let mut here = realm.instances.iter().filter(|it| realm.serves(platform, it));
    let is_served = here.any(|it| leading.is_empty() || leading.contains(&it.provider.as_str()));
    settled(object, "Landscape", is_served)
}

fn config(realm: &Realm, platform: usize, object: &Value) -> Option<Astray> {
    let provider = text(object, "/spec/providerRef/name");
    let mut here = realm.instances.iter().filter(|it| realm.serves(platform, it));
    settled(object, "ProviderConfig", here.any(|it| it.provider == provider))
}

/// Every process offers what its ProviderConfigs say, and nothing else.
fn profiles(realm: &Realm, platform: usize) -> Vec<Astray> {
    let sight = realm.sight();
    let place = Place::Platform(platform);
    let mut found = Vec::new();
    for (name, _) in sight.all(&place, "clusterprofiles") {
        let config = owner_of(name).map(|(_, config)| config).unwrap_or_default();
        if sight.get(&place, "providerconfigs", config).is_none() {
            found.push(Astray::LeftBehind(format!("ClusterProfile {name}")));
        }
    }
    for instance in realm.instances.iter().filter(|it| realm.serves(platform, it)) {
        let own = |(name, _): &(&str, &Value)| wiring(name).0 == instance.provider;
        for (config, _) in sight.all(&place, "providerconfigs").filter(own) {
            let name = format!("{}.{}.{config}", instance.environment, instance.provider);
            if sight.get(&place, "clusterprofiles", &name).is_none() {
                let what = format!("ProviderConfig {config}");
                found.push(Astray::Unanswered(what, format!("there is no ClusterProfile {name}")));
            }
        }
    }
    found
}

fn request(realm: &Realm, platform: usize, object: &Value) -> Option<Astray> {
    let name = format!("ClusterRequest {}", text(object, "/metadata/name"));
    let is_served = realm.providers.scheduler && realm.instances.iter().any(|it| realm.serves(platform, it));
    if !is_served {
        return None;
    }
    if is_deleting(object) {
        return Some(Astray::NeverGone(name));
    }
    let (phase, cluster) = (text(object, "/status/phase"), text(object, "/status/cluster/name"));
    let is_known = ["own", "part"].contains(&text(object, "/spec/purpose"));
    let place = Place::Platform(platform);
    let is_answered = match phase {
        "Granted" => realm.sight().get(&place, "clusters", cluster).is_some(),
        "Denied" => !is_known,
        // The name of its Cluster follows from its own. One that was made for a request of this name before, and that others
        // fill by now, is in its way, as the contract has it.
        _ => {
            let name = format!("part-{}", hash8(&["default", text(object, "/metadata/name")]));
            let sight = realm.sight();
            let same =
                sight.get(&place, "clusters", &name).filter(|_| text(object, "/spec/purpose") == "part");
            same.is_some_and(|cluster| tenants_of(cluster).count() == TENANTS)
        }
    };
    (!is_answered).then(|| Astray::Unanswered(name, format!("it is {phase:?}, with Cluster {cluster:?}")))
}

/// Nobody holds a Cluster who is gone.
fn tenants(realm: &Realm, platform: usize) -> Vec<Astray> {
    let sight = realm.sight();
    let place = Place::Platform(platform);
    let requests: Vec<&str> =
        sight.all(&place, "clusterrequests").map(|(_, it)| text(it, "/metadata/uid")).collect();
    let mut found = Vec::new();
    for (name, cluster) in sight.all(&place, "clusters") {
        for tenant in tenants_of(cluster).filter(|tenant| !requests.contains(tenant)) {
            found.push(Astray::LeftBehind(format!("tenant {tenant} of Cluster {name}")));
        }
    }
    found
}

fn tenants_of(cluster: &Value) -> impl Iterator<Item = &str> {
    let finalizers = cluster.pointer("/metadata/finalizers").and_then(Value::as_array);
    let finalizers = finalizers.into_iter().flatten().filter_map(Value::as_str);
    finalizers.filter_map(|it| it.strip_prefix("request.clusters.openmcp.cloud/"))
}

/// Every Secret of a provider belongs to an AccessRequest.
fn secrets(world: &World, realm: &Realm, platform: usize) -> Vec<Astray> {
    let place = Place::Platform(platform);
    let all = place.list(world, "/api/v1/namespaces/default/secrets");
    let sight = realm.sight();
    let is_left = |secret: &&Value| {
        let owner = text(secret, "/metadata/ownerReferences/0/uid");
        labelled(secret).is_some()
            && !sight.all(&place, "accessrequests").any(|(_, it)| text(it, "/metadata/uid") == owner)
    };
    let left = all.iter().filter(is_left);
    left.map(|secret| Astray::LeftBehind(format!("Secret {}", text(secret, "/metadata/name")))).collect()
}

/// Everything inside a Shoot belongs to a request that has something.
fn grants(world: &World, realm: &Realm) -> Vec<Astray> {
    let all = inside::everything(world);
    let sight = realm.sight();
    let is_asked = |part: &inside::Part| {
        let Some(owner) = &part.owner else { return false };
        let place = Place::Platform(realm.providers.platform_of(&owner.environment));
        let request = sight.get(&place, "accessrequests", &part.request);
        let is_torn = sight.torn.contains(&format!("{place} {}", part.request));
        is_torn
            || request.is_some_and(|request| {
                let cluster = sight.get(&place, "clusters", text(request, "/spec/clusterRef/name"));
                let shoot = cluster.map(|it| text(it, "/status/providerStatus/shoot/metadata/uid"));
                // A part of what is asked for may be there, and has no token.
                let has_some = text(request, "/status/phase") == "Granted" || inside::rightly_waits(request);
                has_some && shoot == Some(part.shoot.as_str())
            })
    };
    all.into_iter().filter(|part| !is_asked(part)).map(|part| Astray::LeftBehind(part.name)).collect()
}
