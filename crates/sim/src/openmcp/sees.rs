//! What the oracles see on platforms and in gardens: every object that somebody wrote, as it was and as it is.

use super::{
    Place, Realm,
    garden::ShootName,
    inside,
    people::GARDEN_KEY,
    read::{
        CLUSTER_CONFIG, OWN, has_finalizer, kind_of, labelled, number, object_path, order_of, owner_of,
        plot_name, plot_of, shoot_name, text,
    },
};
use crate::{
    hostile::HOSTILE,
    stage::{
        call::Call,
        world::{By, NAMESPACE, World},
    },
};
use allotment_core::{
    check::{Astray, Estate, IsolationViolation, Violation, who},
    openmcp::instance::Instance,
};
use http::Method;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What has been seen.
#[derive(Default)]
pub(crate) struct Sight {
    /// Clusters and Shoots.
    pub(super) estate: Estate,
    /// Everything that was written, as it is now. What is collected with its owner may still be here.
    pub(super) objects: BTreeMap<(Place, String), Value>,
    /// Where each Shoot is, by its UID.
    pub(super) shoots: BTreeMap<String, ShootName>,
    /// AccessRequests, by UID, that somebody tore away from their finalizers, or whose Cluster was: what is left of them in
    /// a Shoot nobody can know.
    pub(super) torn: BTreeSet<String>,
    /// How often somebody wrote something, wherever.
    pub(super) writes: u64,
    /// What was wrong after so many writes: it is asked for again and again.
    pub(super) at_rest: Option<(u64, Vec<Astray>)>,
    /// Whose each Cluster of a name ever was, by platform and name.
    pub(super) owners: BTreeMap<(usize, String), BTreeSet<Instance>>,
    /// After how many writes people found nothing to do, and when.
    pub(super) looked: Option<(u64, u64)>,
    /// Whether somebody changed, field by field, what Shoots are made of: what they are like until that is taken back is not known here.
    pub(super) is_reshaped: bool,
    /// When people last did something about something.
    pub(super) done: BTreeMap<String, u64>,
}

impl Sight {
    /// The objects of a kind in one place, by name.
    pub(super) fn all<'a>(
        &'a self,
        place: &Place,
        plural: &str,
    ) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let here =
            self.objects.iter().filter(move |((at, path), _)| at == place && kind_of(path).0 == plural);
        here.map(|((_, path), object)| (kind_of(path).1, object))
    }

    pub(super) fn get<'a>(&'a self, place: &Place, plural: &str, name: &str) -> Option<&'a Value> {
        let mut all = self.objects.iter();
        let found = all.find(|((at, path), _)| at == place && kind_of(path) == (plural, name));
        found.map(|(_, object)| object)
    }

    /// The most nodes that a Cluster asks for; none: something that it names is not there.
    pub(super) fn nodes_of(&self, platform: usize, cluster: &Value) -> Option<i64> {
        let place = Place::Platform(platform);
        let names = cluster.pointer("/spec/clusterConfigs").and_then(Value::as_array);
        if names.is_some_and(|names| !names.is_empty()) {
            let is_known = |name: &Value| text(name, "/name") == CLUSTER_CONFIG;
            let config = self
                .get(&place, "clusterconfigs", CLUSTER_CONFIG)
                .filter(|_| names.is_some_and(|names| names.iter().all(is_known)))?;
            return Some(number(config, "/spec/patches/0/value"));
        }
        let (_, config) = owner_of(text(cluster, "/spec/profile"))?;
        let config = self.get(&place, "providerconfigs", config)?;
        Some(number(config, "/spec/shootTemplate/spec/provider/workers/0/maximum"))
    }

    /// What Clusters ask for may be something else now.
    fn note_asks(&mut self, realm: &Realm, platform: usize) {
        let place = Place::Platform(platform);
        let clusters: Vec<(String, Value)> =
            self.all(&place, "clusters").map(|(name, it)| (order_name(platform, name), it.clone())).collect();
        for (name, cluster) in clusters {
            let order = order_of(realm, platform, &cluster, self);
            self.estate.orders.insert(name, order);
        }
    }
}

pub(super) fn order_name(platform: usize, cluster: &str) -> String {
    format!("Cluster {cluster} on platform {platform}")
}

/// A process has written something.
pub(crate) fn wrote(world: &World, call: &Call, process: usize, place: &Place) {
    let by = world.realm.as_ref().and_then(|realm| realm.instances.get(process));
    see(world, call, place, by);
}

/// Somebody has who is no provider.
pub(super) fn somebody_wrote(world: &World, call: &Call, place: &Place) {
    see(world, call, place, None);
}

/// Whether there is a Shoot with this UID.
pub(crate) fn has_shoot(world: &World, uid: &str) -> bool {
    world.realm.as_ref().is_some_and(|realm| realm.sight().shoots.contains_key(uid))
}

fn see(world: &World, call: &Call, place: &Place, by: Option<&Instance>) {
    let Some(realm) = &world.realm else { return };
    if ["events", "leases", "namespaces", "customresourcedefinitions"].contains(&call.plural.as_str()) {
        return;
    }
    let path = object_path(&call.path, &call.plural, &call.name);
    let (code, object) = place.ask(world, Method::GET, &path, None);
    let after = (code == 200).then_some(object);
    world.see_cause(call, if by.is_some() { By::Operator } else { By::Other }, after.as_ref());
    if matches!(place, Place::Platform(_)) && path.contains(&format!("/namespaces/{HOSTILE}/")) {
        return world.found(of_hostile(&path, by, after.as_ref()));
    }
    let before = {
        let mut sight = realm.sight();
        sight.writes += 1;
        let key = (place.clone(), path.clone());
        let before = match &after {
            Some(after) => sight.objects.insert(key, after.clone()),
            None => sight.objects.remove(&key),
        };
        // Another one of that name is another object.
        let uid = |object: &Value| text(object, "/metadata/uid").to_owned();
        before.filter(|before| after.as_ref().is_none_or(|after| uid(after) == uid(before)))
    };
    let change = Change { realm, place, path: &path, by, before: before.as_ref(), after: after.as_ref() };
    let mut found = change.seen(world);
    found.extend(change.secrets_told());
    {
        let estate = &mut realm.sight().estate;
        estate.note_fitted();
        found.extend(estate.violations());
    }
    world.found(found.into_iter().map(Violation::from).collect());
}

/// A hostile tenant has nothing on a platform but AccessRequests for what belongs to others: no provider grants any of them.
fn of_hostile(path: &str, by: Option<&Instance>, after: Option<&Value>) -> Vec<Violation> {
    let (kind, name) = kind_of(path);
    let is_granted =
        after.is_some_and(|after| kind == "secrets" || text(after, "/status/phase") == "Granted");
    let found = (by.is_some() && is_granted).then(|| {
        IsolationViolation::GrantInAnothers(name.to_owned(), NAMESPACE.to_owned(), HOSTILE.to_owned())
    });
    found.into_iter().map(Violation::from).collect()
}

/// A write, and whose.
pub(super) struct Change<'a> {
    pub(super) realm: &'a Realm,
    pub(super) place: &'a Place,
    pub(super) path: &'a str,
    /// The provider; none: somebody else.
    pub(super) by: Option<&'a Instance>,
    pub(super) before: Option<&'a Value>,
    pub(super) after: Option<&'a Value>,
}

impl Change<'_> {
    fn seen(&self, world: &World) -> Vec<Astray> {
        let (kind, name) = kind_of(self.path);
        match (self.place, kind) {
            (Place::Platform(platform), "clusters") => self.cluster(*platform, name),
            (Place::Platform(platform), "providerconfigs" | "clusterconfigs") => {
                self.realm.sight().note_asks(self.realm, *platform);
                self.config(*platform, kind, name)
            }
            (Place::Platform(_), "clusterprofiles") => {
                let is_own =
                    |by: &Instance| name.starts_with(&format!("{}.{}.", by.environment, by.provider));
                self.anothers(is_own)
            }
            (Place::Platform(_), "secrets") => {
                // It is the request's: another provider takes it over if the Cluster becomes another one's.
                let is_own =
                    |by: &Instance| self.after.is_none_or(|after| labelled(after).as_ref() == Some(by));
                self.anothers(is_own)
            }
            (Place::Platform(platform), "accessrequests") => inside::access(world, self, *platform, name),
            (Place::Garden(garden), "shoots") => self.shoot(*garden),
            (Place::Shoot(uid), _) => self.in_shoot(uid),
            _ => Vec::new(),
        }
    }

    /// Whether something holds before and after.
    fn both(&self, holds: impl Fn(&Value) -> bool) -> bool {
        self.before.is_none_or(&holds) && self.after.is_none_or(&holds)
    }

    pub(super) fn anothers(&self, is_own: impl Fn(&Instance) -> bool) -> Vec<Astray> {
        let by = self.by.filter(|by| !is_own(by));
        let what = || format!("{} in {}", self.path, self.place);
        by.map(|by| Astray::WroteAnothers(who(by), what())).into_iter().collect()
    }

    fn cluster(&self, platform: usize, name: &str) -> Vec<Astray> {
        let (realm, order_name) = (self.realm, order_name(platform, name));
        let mut sight = realm.sight();
        let order = self.after.map(|after| order_of(realm, platform, after, &sight));
        let known = sight.estate.orders.get(&order_name).cloned();
        let before = known.filter(|known| order.as_ref().is_none_or(|order| order.uid == known.uid));
        let found = match self.by {
            Some(by) => sight.estate.cluster_write(by, &order_name, before.as_ref(), order.as_ref()),
            None => Vec::new(),
        };
        if let Some(owner) = order.as_ref().and_then(|order| order.owner.clone()) {
            sight.owners.entry((platform, name.to_owned())).or_default().insert(owner);
        }
        match order {
            Some(order) => {
                if self.by.is_some() && order.phase == "Ready" {
                    sight.estate.forced.remove(&order.uid);
                }
                sight.estate.orders.insert(order_name, order);
            }
            None => drop(sight.estate.orders.remove(&order_name)),
        }
        found
    }

    /// A ProviderConfig is its provider's, and goes when no Cluster is made with it.
    fn config(&self, platform: usize, kind: &str, name: &str) -> Vec<Astray> {
        if kind != "providerconfigs" {
            return Vec::new();
        }
        let is_own = |by: &Instance| self.both(|it| text(it, "/spec/providerRef/name") == by.provider);
        let mut found = self.anothers(is_own);
        let is_held = |object: &Value| has_finalizer(object, &format!("{OWN}/providerconfig"));
        let is_let_go = self.before.is_some_and(is_held) && !self.after.is_some_and(is_held);
        if self.by.is_none() || !is_let_go {
            return found;
        }
        let sight = self.realm.sight();
        let place = Place::Platform(platform);
        let is_with = |cluster: &Value| {
            let owner = owner_of(text(cluster, "/spec/profile"));
            has_finalizer(cluster, &format!("{OWN}/cluster"))
                && owner.is_some_and(|(_, config)| config == name)
        };
        for (cluster, _) in sight.all(&place, "clusters").filter(|(_, cluster)| is_with(cluster)) {
            let left = order_name(platform, cluster);
            found.push(Astray::LetGoTooEarly(format!("ProviderConfig {name}"), left));
        }
        found
    }

    fn shoot(&self, garden: usize) -> Vec<Astray> {
        let name = shoot_name(garden, self.path);
        self.realm.grounds.see(&name, self.after);
        let mut sight = self.realm.sight();
        sight.shoots.retain(|_, known| *known != name);
        if let Some(after) = self.after {
            sight.shoots.insert(text(after, "/metadata/uid").to_owned(), name.clone());
        }
        let plot_name = plot_name(&name);
        let known = sight.estate.plots.get(&plot_name).cloned();
        let uid = self.after.map(|after| text(after, "/metadata/uid"));
        let before = known.filter(|known| uid.is_none_or(|uid| known.uid == uid));
        // Whoever copies the labels of a Cluster's Shoot makes one for that Cluster.
        let is_foreign = self.by.is_none() && self.after.is_some_and(|after| labelled(after).is_none());
        let forged = before.as_ref().map_or(is_foreign, |before| before.forged);
        let plot = self.after.map(|after| plot_of(after, forged));
        let found = match self.by {
            Some(by) => sight.estate.shoot_write(by, &plot_name, before.as_ref(), plot.as_ref()),
            None => {
                let made = plot.as_ref().and_then(|plot| Some((plot.uid.clone(), plot.cluster.clone()?)));
                sight.estate.made.extend(made);
                Vec::new()
            }
        };
        match plot {
            Some(plot) => drop(sight.estate.plots.insert(plot_name, plot)),
            None => drop(sight.estate.plots.remove(&plot_name)),
        }
        found
    }

    /// Everything inside a Shoot says whose it is, and is of the Shoot's own provider.
    fn in_shoot(&self, uid: &str) -> Vec<Astray> {
        let plot = {
            let sight = self.realm.sight();
            sight.estate.plots.values().find(|plot| plot.uid == uid).cloned()
        };
        self.anothers(|by| {
            plot.as_ref().is_none_or(|plot| plot.owner.as_ref() == Some(by))
                && self.both(|object| labelled(object).as_ref() == Some(by))
        })
    }

    /// No status has a kubeconfig in it, or a part of one.
    fn secrets_told(&self) -> Option<Astray> {
        let status = self.after?.get("status")?.to_string();
        let told = [
            "client-key-data",
            "certificate-authority-data",
            "-----BEGIN",
            "eyJ",
            "kind: Config",
            GARDEN_KEY,
        ];
        told.iter().any(|word| status.contains(word)).then(|| Astray::Told(self.path.to_owned()))
    }
}
