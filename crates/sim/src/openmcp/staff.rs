//! A process of a provider, as the product puts it together.

use super::{Place, Realm};
use crate::stage::{
    wire::Wire,
    world::{NAMESPACE, World},
};
use allotment_core::openmcp::schedule::Scheduler;
use allotment_operator::{
    metrics::Metrics,
    openmcp::{
        Landscapes, Parts, Settings, access, config,
        landscapes::{self, Dial},
        process::{Controller, Controllers},
    },
    runtime::clock::Clock,
    target::{Connect, ConnectError, Key},
};
use kube::Client;
use std::{collections::BTreeSet, sync::Arc};

/// What a process runs, about to start. Nothing if it has no place to be.
pub(super) fn start(world: &Arc<World>, process: usize, identity: String) -> Option<Controllers> {
    let realm = world.realm.as_ref()?;
    let instance = realm.instances.get(process)?.clone();
    let number = realm.providers.platform_of(&instance.environment);
    let platform = Client::new(Wire::to(world, process, &Place::Platform(number))?, NAMESPACE);
    let clock = world.clone();
    let (clock, metrics) = (Clock::new(move || clock.now()), Metrics::new());
    let landscapes = Landscapes::new(landscapes::Parts {
        platform: platform.clone(),
        instance: instance.clone(),
        dial: dial(world, process),
        connect: connect(world, process),
        clock: clock.clone(),
        metrics: metrics.clone(),
    });
    let landscapes = match world.planted {
        Some(fault) => landscapes.plant(fault),
        None => landscapes,
    };
    let settings = Settings {
        instance,
        identity,
        lease_namespace: realm.providers.elect.then(|| NAMESPACE.to_owned()),
        own_namespace: NAMESPACE.to_owned(),
        namespace: None,
        policy: Arc::default(),
        workers: usize::try_from(world.options.workers).unwrap_or(1),
    };
    let parts = Parts { platform, landscapes, settings, clock, metrics };
    let wanted = controllers(realm, process, number);
    Some(Controllers::new(&parts, &wanted, access::Settings::default(), scheduling(realm, number)))
}

/// There is one of those that every provider of a platform could run; a Lease, where there are Leases, sees to that.
fn controllers(realm: &Realm, process: usize, platform: usize) -> BTreeSet<Controller> {
    let mut wanted = BTreeSet::from([Controller::Cluster, Controller::AccessRequest]);
    let is_here = |other: &usize| {
        let instance = realm.instances.get(*other);
        instance.is_some_and(|other| realm.providers.platform_of(&other.environment) == platform)
    };
    if realm.providers.elect || !(0..process).any(|other| is_here(&other)) {
        wanted.insert(Controller::Generic);
        wanted.extend(Some(Controller::Scheduler).filter(|_| realm.providers.scheduler));
    }
    wanted
}

/// How many share a Cluster.
pub(super) const TENANTS: usize = 2;

/// What each purpose gets: a Cluster of one's own, or a part of one.
fn scheduling(realm: &Realm, platform: usize) -> Scheduler {
    let here = realm.instances.iter().find(|it| realm.providers.platform_of(&it.environment) == platform);
    let Some(instance) = here else { return Scheduler::default() };
    let config = if instance.provider == "p2" { "c2" } else { "c1" };
    let profile = instance.profile_name(config);
    let text = format!(
        "scheduler:
  purposeMappings:
    own: {{template: {{spec: {{profile: {profile}, tenancy: Exclusive}}}}}}
    part: {{tenancyCount: {TENANTS}, template: {{metadata: {{generateName: part-}}, spec: {{profile: {profile}, tenancy: Shared}}}}}}
"
    );
    config::read(&text).map(|config| config.scheduler).unwrap_or_default()
}

/// The kubeconfig of a Landscape says which garden; its credentials are not looked at.
fn dial(world: &Arc<World>, process: usize) -> Dial {
    let world = world.clone();
    Dial::new(move |_, given| {
        let world = world.clone();
        Box::pin(async move {
            let number = given.server.strip_prefix("https://g").and_then(|rest| rest.split('.').next());
            let number = number.and_then(|number| number.parse().ok());
            let wire = number.and_then(|number| Wire::to(&world, process, &Place::Garden(number)));
            let wire = wire.ok_or_else(|| ConnectError("there is no garden of this address".to_owned()))?;
            Ok(Client::new(wire, NAMESPACE))
        })
    })
}

fn connect(world: &Arc<World>, process: usize) -> Connect {
    let world = world.clone();
    Connect::new(move |key, _| {
        let world = world.clone();
        Box::pin(async move {
            let Key::Shoot { uid, .. } = key else {
                return Err(ConnectError("nobody brings a cluster along".to_owned()));
            };
            let wire = Wire::to(&world, process, &Place::Shoot(uid));
            let wire = wire.ok_or_else(|| ConnectError("there is no such Shoot".to_owned()))?;
            Ok(Client::new(wire, NAMESPACE))
        })
    })
}
