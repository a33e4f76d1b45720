//! People who have to do with Clusters.

use super::{
    deed::{Change, Deed, Mark, Trouble},
    fleet::{UNKNOWN_MACHINE, wish_of},
    staff,
};
use crate::{
    access,
    stage::{
        call::Side,
        world::{By, World, path_of},
    },
    subscription::people::{fell, renew},
};
use allotment_api::{
    gardener::{OperationState, OperationType, names::OPERATION},
    names::annotation,
};
use allotment_core::{
    check::{Owned, Stage, Stand},
    pool::RequestUid,
};
use allotment_garden::gardenlet::{Failure, Script};
use http::Method;
use serde_json::{Value, json};

const CLUSTERS: &str = "/apis/operator.kyma-project.io/v1alpha1/namespaces/default/clusters";

/// Does what the script says.
pub(crate) fn act(world: &World, deed: &Deed) {
    match deed {
        Deed::Create { cluster, tenant, rich } => create(world, cluster, tenant, *rich),
        Deed::Change { cluster, what } => patch(world, cluster, &json!({ "spec": changed(*what) })),
        Deed::Mark { cluster, what } => mark(world, cluster, *what),
        Deed::Destroy { cluster } => drop(world.act(By::Other, Method::DELETE, &path(cluster), None)),
        Deed::Loosen { cluster } => {
            let mut state = world.state();
            let uid = state.eyes.fleet.clusters.get(cluster).map(|wish| wish.uid.clone());
            state.eyes.fleet.torn.extend(uid);
            drop(state);
            world.act(By::Other, Method::DELETE, &path(cluster), None);
            patch(world, cluster, &json!({ "metadata": { "finalizers": null } }));
        }
        Deed::Raze { cluster } => with_shoot(world, cluster, fell),
        Deed::Vanish { cluster } => with_shoot(world, cluster, |world, shoot| {
            fell(world, shoot);
            write_shoot(world, shoot, &json!({ "metadata": { "finalizers": null } }));
        }),
        Deed::Swap { cluster } => {
            with_shoot(world, cluster, |world, shoot| renew(world, Side::Garden, "shoots", shoot));
        }
        Deed::Tamper { cluster } => with_shoot(world, cluster, |world, shoot| {
            write_shoot(world, shoot, &json!({ "spec": { "purpose": "testing" } }));
        }),
        Deed::Recall { cluster } => with_request(world, cluster, |path, _| {
            world.act(By::Other, Method::DELETE, path, None);
        }),
        Deed::Sever { cluster } => with_request(world, cluster, |path, uid| {
            world.state().eyes.scene.torn.insert(uid.clone());
            world.act(By::Other, Method::DELETE, path, None);
            let without = json!({ "metadata": { "finalizers": null } });
            world.act(By::Meddler, Method::PATCH, path, Some(&without));
        }),
        Deed::Configure { disk } => configure(world, *disk),
        Deed::Access { access, cluster, what } => access::people::act(world, access, cluster, *what),
        Deed::Trouble { cluster, what } => {
            let name = world.state().eyes.fleet.clusters.get(cluster).map(|wish| wish.shoot_name.clone());
            if let Some(name) = name {
                world.grounds.trouble(&name, script(*what, world.options.step));
            }
        }
    }
}

/// Once it is calm: what people left as it was is put right, as they would be told to.
pub(crate) fn look(world: &World) -> bool {
    let fleet = world.state().eyes.fleet.clone();
    world.grounds.calm();
    for (name, _) in fleet.clusters.iter().filter(|(_, wish)| wish.paused) {
        mark(world, name, Mark::Resume);
    }
    let mut is_busy = false;
    let is_wanted = |name: &str, stand: &Stand| {
        fleet.clusters.values().any(|wish| {
            wish.shoot_uid.as_ref() == Some(&stand.uid) || (wish.shoot_name == *name && !stand.forged)
        })
    };
    // A Shoot that nobody looks after any more.
    for (name, stand) in fleet.shoots.iter().filter(|(_, stand)| !stand.deleting) {
        if !is_wanted(name, stand) {
            fell(world, name);
            is_busy = true;
        }
    }
    // What is left of a Cluster whose request was torn away by force, too: nobody else can know of it.
    for (name, owner) in &fleet.maps {
        let is_owner = |owned: &Owned| owned.owner == *owner;
        if fleet.torn.contains(owner) && !fleet.requests.values().any(is_owner) {
            path_of("configmaps", name).map(|path| world.act(By::Other, Method::DELETE, &path, None));
        }
    }
    // What Gardener stumbled over is put right, and it is told so: the operator would take a quarter of an hour.
    for (name, _) in fleet.shoots.iter().filter(|(_, stand)| stand.stage == Stage::GivenUp) {
        write_shoot(world, name, &json!({ "metadata": { "annotations": { OPERATION: "retry" } } }));
        is_busy = true;
    }
    is_busy
}

fn create(world: &World, cluster: &str, tenant: &str, rich: bool) {
    let mut object = json!({
        "apiVersion": "operator.kyma-project.io/v1alpha1",
        "kind": "Cluster",
        "metadata": { "name": cluster, "labels": { "globalaccountid": tenant } },
        "spec": {
            "core": { "purpose": "Production", "region": "eu-central-1", "kubernetesVersion": "1.34" },
            "infrastructure": {
                "provider": "aws", "machineType": "m5.large", "autoScalerMin": 1, "autoScalerMax": 3,
                "numberOfZones": 1, "subscriptionSelector": format!("globalaccount:{tenant}"),
            },
        },
    });
    if rich {
        object["spec"]["oidcConfig"] = issuer("first");
        object["spec"]["administrators"] = json!(["ann@example.com"]);
    }
    world.act(By::Other, Method::POST, CLUSTERS, Some(&object));
}

fn issuer(client: &str) -> Value {
    json!({ "clientID": client, "issuerURL": "https://issuer.example.com", "usernameClaim": "sub" })
}

fn changed(what: Change) -> Value {
    let infrastructure = |change: Value| json!({ "infrastructure": change });
    match what {
        Change::SmallMachine => infrastructure(json!({ "machineType": "m5.large" })),
        Change::LargeMachine => infrastructure(json!({ "machineType": "m5.xlarge" })),
        Change::UnknownMachine => infrastructure(json!({ "machineType": UNKNOWN_MACHINE })),
        Change::FewNodes => infrastructure(json!({ "autoScalerMax": 3 })),
        Change::ManyNodes => infrastructure(json!({ "autoScalerMax": 7 })),
        Change::MorePools => {
            let pool =
                json!({ "name": "more", "machineType": "m5.large", "autoScalerMin": 0, "autoScalerMax": 2 });
            infrastructure(json!({ "additionalWorkers": [pool] }))
        }
        Change::OnePool => infrastructure(json!({ "additionalWorkers": null })),
        Change::Issuer => json!({ "oidcConfig": issuer("first") }),
        Change::OtherIssuer => json!({ "oidcConfig": issuer("second") }),
        Change::NoIssuer => json!({ "oidcConfig": null }),
        Change::Administrators => json!({ "administrators": ["ann@example.com", "bob@example.com"] }),
        Change::OtherAdministrators => json!({ "administrators": ["cyd@example.com", "bob@example.com"] }),
        Change::NoAdministrators => json!({ "administrators": null }),
        Change::Version => json!({ "core": { "kubernetesVersion": "1.35" } }),
        Change::OldVersion => json!({ "core": { "kubernetesVersion": "1.34" } }),
    }
}

fn mark(world: &World, cluster: &str, what: Mark) {
    let (key, value) = match what {
        Mark::Pause => (annotation::PAUSE, Some("true")),
        Mark::Resume => (annotation::PAUSE, None),
        Mark::Recreate => (annotation::RECREATE_SHOOT, Some("true")),
        Mark::Reconcile => (annotation::RECONCILE, Some("true")),
    };
    patch(world, cluster, &json!({ "metadata": { "annotations": { key: value } } }));
}

fn script(what: Trouble, step_milliseconds: u64) -> Script {
    let plain = Script { step_milliseconds, ..Script::default() };
    let fails = |code: &str, state: OperationState, during: Option<OperationType>| {
        let failure = Failure { state, during, ..Failure::with_code(code) };
        Script { fail: Some(failure), ..plain.clone() }
    };
    match what {
        Trouble::GivesUp => fails("ERR_INFRA_RESOURCES_DEPLETED", OperationState::Failed, None),
        Trouble::Quota => fails("ERR_INFRA_QUOTA_EXCEEDED", OperationState::Failed, None),
        Trouble::Misconfigured => fails("ERR_CONFIGURATION_PROBLEM", OperationState::Failed, None),
        Trouble::Tries => fails("ERR_INFRA_RATE_LIMITS_EXCEEDED", OperationState::Error, None),
        Trouble::KeepsIt => {
            fails("ERR_CLEANUP_CLUSTER_RESOURCES", OperationState::Failed, Some(OperationType::Delete))
        }
        Trouble::Stalls => Script { hold_at: Some(41), ..plain },
        Trouble::Flaps => Script { flap_milliseconds: Some(4000), ..plain },
        Trouble::None => plain,
    }
}

fn configure(world: &World, disk: u64) {
    let Ok(policy) = staff::policy(disk, &world.options) else { return };
    let mut state = world.state();
    state.clusters = policy;
    state.configured += 1;
    state.disk = disk;
    let clusters: Vec<String> = state.eyes.fleet.clusters.keys().cloned().collect();
    drop(state);
    for cluster in clusters {
        let (_, object) = world.ask(Side::ControlPlane, Method::GET, &path(&cluster), None);
        let asks = wish_of(&object, disk).map(|wish| wish.asks);
        if let Some((wish, asks)) = world.state().eyes.fleet.clusters.get_mut(&cluster).zip(asks) {
            wish.asks = asks;
        }
    }
}

fn path(cluster: &str) -> String {
    format!("{CLUSTERS}/{cluster}")
}

fn patch(world: &World, cluster: &str, body: &Value) {
    world.act(By::Other, Method::PATCH, &path(cluster), Some(body));
}

fn write_shoot(world: &World, shoot: &str, body: &Value) {
    if let Some(path) = path_of("shoots", shoot) {
        world.act(By::Other, Method::PATCH, &path, Some(body));
    }
}

/// If there is one.
fn with_shoot(world: &World, cluster: &str, act: impl FnOnce(&World, &str)) {
    let name = {
        let state = world.state();
        let fleet = &state.eyes.fleet;
        let name = fleet.clusters.get(cluster).map(|wish| wish.shoot_name.clone());
        name.filter(|name| fleet.shoots.contains_key(name))
    };
    if let Some(name) = name {
        act(world, &name);
    }
}

fn with_request(world: &World, cluster: &str, act: impl FnOnce(&str, &RequestUid)) {
    let found = {
        let state = world.state();
        let fleet = &state.eyes.fleet;
        let uid = fleet.clusters.get(cluster).map(|wish| &wish.uid);
        let own = fleet.requests.iter().find(|(_, owned)| Some(&owned.owner) == uid);
        own.and_then(|(uid, owned)| path_of("subscriptionrequests", &owned.name).zip(Some(uid.clone())))
    };
    if let Some((path, uid)) = found {
        act(&path, &uid);
    }
}
