//! Once it is calm: what people left as it was is put right, as they would be told to.

use super::{
    Place, Realm,
    deed::Patch,
    edited,
    people::{
        GARDEN_KEY, OPERATION, UNKNOWN_VERSION, change, delete, fell, offer_config, offer_landscape,
        patch_config, shoot_path, write,
    },
    providers::{CONFIGS, LANDSCAPES, wiring},
    read::{CLUSTER_CONFIG, annotation, is_deleting, label, owner_of, plot_name, text},
};
use crate::stage::world::World;
use http::Method;
use serde_json::{Value, json};

/// How long people wait for what they did to help before they do it again.
const PATIENCE: u64 = 30_000;

/// Looks at everything and does what is due; whether anything is.
pub(super) fn look(world: &World) -> bool {
    let Some(realm) = &world.realm else { return false };
    realm.grounds.calm();
    let mut is_busy = realm.grounds.is_busy();
    // What has not changed need not be looked at, unless it is time to do something again.
    let writes = realm.sight().writes;
    let is_same =
        realm.sight().looked.is_some_and(|(at, looked)| at == writes && world.millis() < looked + PATIENCE);
    if is_same {
        return is_busy;
    }
    for platform in realm.platforms() {
        let on = Place::Platform(platform);
        is_busy |= obeyed(world, realm, &on);
        is_busy |= configured(world, realm, &on);
        is_busy |= clusters(world, realm, &on, platform);
        is_busy |= accesses(world, realm, &on);
    }
    is_busy |= edited::look(world);
    is_busy |= shoots(world, realm);
    realm.sight().looked = Some((writes, world.millis())).filter(|_| !is_busy);
    is_busy
}

/// Whether it is time to do something again.
fn is_due(world: &World, realm: &Realm, what: String) -> bool {
    let (now, done) = (world.millis(), &mut realm.sight().done);
    let is_due = done.get(&what).is_none_or(|at| now >= at + PATIENCE);
    if is_due {
        done.insert(what, now);
    }
    is_due
}

fn copies(realm: &Realm, on: &Place, plural: &str) -> Vec<(String, Value)> {
    let sight = realm.sight();
    sight.all(on, plural).map(|(name, object)| (name.to_owned(), object.clone())).collect()
}

/// Nobody is to leave anything alone any more.
fn obeyed(world: &World, realm: &Realm, on: &Place) -> bool {
    let mut is_busy = false;
    for plural in ["landscapes", "providerconfigs", "clusters", "accessrequests", "clusterrequests"] {
        for (name, object) in copies(realm, on, plural) {
            // Nothing comes of a word that nobody knows.
            if annotation(&object, OPERATION).is_some_and(|word| word != "reconcile") {
                let without = json!({ "metadata": { "annotations": { OPERATION: null } } });
                change(world, on, plural, &name, &without);
                is_busy = true;
            }
        }
    }
    is_busy
}

/// Landscapes, ProviderConfigs and the ClusterConfig are there and work. What is deleted goes, and what stands in its way.
fn configured(world: &World, realm: &Realm, on: &Place) -> bool {
    let mut is_busy = false;
    let (landscapes, configs) = (copies(realm, on, "landscapes"), copies(realm, on, "providerconfigs"));
    let find =
        |all: &[(String, Value)], name: &str| all.iter().find(|(it, _)| it == name).map(|it| it.1.clone());
    for name in LANDSCAPES {
        match find(&landscapes, name).filter(|landscape| is_whole(world, on, landscape)) {
            Some(landscape) if is_deleting(&landscape) => {
                for (config, _) in
                    configs.iter().filter(|(config, it)| wiring(config).1 == name && !is_deleting(it))
                {
                    delete(world, on, "providerconfigs", config);
                    is_busy = true;
                }
            }
            Some(_) => (),
            // One that leads nowhere does not go, either.
            None => {
                offer_landscape(world, realm, on, name);
                is_busy = true;
            }
        }
    }
    for name in CONFIGS {
        let is_leaving = find(&landscapes, wiring(name).1).is_some_and(|it| is_deleting(&it));
        match find(&configs, name) {
            Some(config) if is_deleting(&config) => {
                for (cluster, _) in copies(realm, on, "clusters").iter().filter(|(_, it)| is_with(it, name)) {
                    delete(world, on, "clusters", cluster);
                    is_busy = true;
                }
            }
            Some(config)
                if text(&config, "/spec/project") == wiring(name).2
                    && text(&config, "/spec/landscapeRef/name") == wiring(name).1 => {}
            None if is_leaving => (),
            _ => {
                offer_config(world, on, name);
                is_busy = true;
            }
        }
    }
    if realm.sight().get(on, "clusterconfigs", CLUSTER_CONFIG).is_none() {
        patch_config(world, on, Patch::Make);
        is_busy = true;
    }
    is_busy
}

fn is_with(cluster: &Value, config: &str) -> bool {
    !is_deleting(cluster) && owner_of(text(cluster, "/spec/profile")).is_some_and(|(_, of)| of == config)
}

/// Whether a Landscape has a kubeconfig that works.
fn is_whole(world: &World, on: &Place, landscape: &Value) -> bool {
    let inline = text(landscape, "/spec/access/inline");
    if !inline.is_empty() {
        return inline.contains(GARDEN_KEY);
    }
    let (_, secret) = on.ask(world, Method::GET, "/api/v1/namespaces/default/secrets/l2-login", None);
    text(&secret, "/data/kubeconfig").len() > "nonsense".len() * 2
}

/// A Shoot that is gone is asked for again, and what is booked no more is given up by whoever booked it.
fn clusters(world: &World, realm: &Realm, on: &Place, platform: usize) -> bool {
    let mut is_busy = false;
    for (name, cluster) in copies(realm, on, "clusters") {
        let owner = owner_of(text(&cluster, "/spec/profile")).map(|(owner, _)| owner);
        let is_served = owner.is_some_and(|owner| realm.serves(platform, &owner));
        let uid = text(&cluster, "/status/providerStatus/shoot/metadata/uid").to_owned();
        let is_gone = !uid.is_empty() && !realm.sight().shoots.contains_key(&uid);
        if !is_deleting(&cluster) && is_served && is_gone {
            is_busy = true;
            if is_due(world, realm, format!("{on} {name}")) {
                realm.sight().estate.forced.insert(text(&cluster, "/metadata/uid").to_owned());
                let again = json!({ "metadata": { "annotations": { OPERATION: "reconcile" } } });
                change(world, on, "clusters", &name, &again);
            }
        }
        if text(&cluster, "/spec/kubernetes/version") == UNKNOWN_VERSION {
            change(world, on, "clusters", &name, &json!({ "spec": { "kubernetes": null } }));
            is_busy = true;
        }
        // Whoever has a part in what is deleted gives it back.
        let finalizers = cluster.pointer("/metadata/finalizers").and_then(Value::as_array);
        for finalizer in finalizers.into_iter().flatten().filter(|_| is_deleting(&cluster)) {
            let tenant = finalizer.as_str().and_then(|it| it.strip_prefix("request.clusters.openmcp.cloud/"));
            for (request, object) in copies(realm, on, "clusterrequests") {
                if Some(text(&object, "/metadata/uid")) == tenant && !is_deleting(&object) {
                    delete(world, on, "clusterrequests", &request);
                    is_busy = true;
                }
            }
        }
    }
    is_busy
}

/// Labels that are wrong are taken off, as the request says.
fn accesses(world: &World, realm: &Realm, on: &Place) -> bool {
    let mut is_busy = false;
    for (name, request) in copies(realm, on, "accessrequests") {
        let profile = {
            let sight = realm.sight();
            let cluster = sight.get(on, "clusters", text(&request, "/spec/clusterRef/name"));
            cluster.map(|it| text(it, "/spec/profile").to_owned())
        };
        let labelled = label(&request, "clusters.openmcp.cloud/profile");
        let is_wrong = labelled.is_some_and(|labelled| profile.is_some_and(|profile| profile != labelled));
        if is_wrong && !is_deleting(&request) {
            let (provider, profile) = ("clusters.openmcp.cloud/provider", "clusters.openmcp.cloud/profile");
            let without = json!({ "metadata": { "labels": { provider: null, profile: null } } });
            change(world, on, "accessrequests", &name, &without);
            is_busy = true;
        }
    }
    is_busy
}

/// Shoots that nobody can look after are deleted, and Gardener is told to try again.
fn shoots(world: &World, realm: &Realm) -> bool {
    let mut is_busy = false;
    let all: Vec<_> = realm.sight().shoots.values().cloned().collect();
    for shoot in all {
        let Some((plot, is_torn)) = ({
            let sight = realm.sight();
            let plot = sight.estate.plots.get(&plot_name(&shoot)).cloned();
            plot.map(|plot| {
                let is_torn = plot.cluster.as_ref().is_some_and(|uid| sight.estate.torn.contains(uid));
                (plot, is_torn)
            })
        }) else {
            continue;
        };
        if (is_torn || plot.forged) && !plot.deleting {
            fell(world, &shoot);
            is_busy = true;
        }
        if plot.given_up && is_due(world, realm, plot_name(&shoot)) {
            let retry = json!({ "metadata": { "annotations": { "gardener.cloud/operation": "retry" } } });
            write(world, &Place::Garden(shoot.0), Method::PATCH, &shoot_path(&shoot), Some(&retry));
            is_busy = true;
        }
    }
    is_busy
}
