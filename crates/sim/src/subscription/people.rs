//! Everybody but the operators: tenants, whoever makes their clusters, the cleaner, and those who meddle.

use crate::{
    cleanup, cluster, hostile, openmcp,
    stage::{
        call::{Call, Side},
        dice::dice_for,
        edit, past,
        rates::account_names,
        script::{Action, Want},
        world::{By, GARDEN, NAMESPACE, World, path_of},
    },
};
use allotment_api::{
    kyma::SubscriptionPhase,
    names::{annotation, label},
};
use allotment_core::{
    check::{Asked, Scene},
    pool::{AccountName, RequestUid},
};
use http::Method;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Whether a request says that the ledger has lost its account, for good: people delete it, as they are told.
fn is_told_lost(world: &World, scene: &Scene, name: &str, uid: &RequestUid, asked: &Asked) -> bool {
    let has_seat = scene.books.seats.iter().any(|seat| seat.request == *uid);
    if asked.account.is_none() || asked.deleting || has_seat {
        return false;
    }
    let Some(path) = path_of("subscriptionrequests", name) else { return false };
    let (_, request) = world.ask(Side::ControlPlane, Method::GET, &path, None);
    let conditions = request["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|it| it["type"] == "AssignmentKnown" && it["status"] == "False")
}

/// Those who make clusters, and what they still have to do.
#[derive(Default)]
pub(crate) struct People {
    /// Requests whose clusters are to go.
    ending: BTreeSet<String>,
    /// Since when something is to be done.
    since: BTreeMap<(&'static str, String), u64>,
    shoots: u64,
    cleaned_at: u64,
    /// Whether something is still to be done.
    pub(crate) busy: bool,
}

impl People {
    /// Does what the script says.
    pub(crate) fn act(&mut self, world: &World, action: &Action) {
        match action {
            Action::Ask { request, tenant, want } => ask(world, request, tenant, *want),
            Action::Delete { request } => {
                self.ending.insert(request.clone());
            }
            Action::Remove { request } => {
                write(world, By::Other, Method::DELETE, "subscriptionrequests", request, None);
            }
            Action::Unhold { request } => {
                let without = json!({ "metadata": { "finalizers": null } });
                patch(world, "subscriptionrequests", request, &without);
            }
            Action::Renew { request } => renew(world, Side::ControlPlane, "subscriptionrequests", request),
            Action::Replace { account } => renew(world, Side::Garden, "credentialsbindings", account),
            Action::Take { account, tenant } => {
                let free = world
                    .state()
                    .eyes
                    .scene
                    .entries
                    .iter()
                    .any(|(name, entry)| name.as_str() == account && entry.is_free());
                if free {
                    label_entry(world, account, json!({ "tenantName": tenant }));
                }
            }
            Action::Label { account, key, value } => label_entry(world, account, json!({ key: value })),
            Action::Wipe { account } => {
                label_entry(world, account, json!({ "dirty": null, "tenantName": null }));
            }
            Action::Quarantine { account } => annotate(world, account, Some("by hand")),
            Action::Lift { account } => annotate(world, account, None),
            Action::Drop { account } => {
                write(world, By::Meddler, Method::DELETE, "credentialsbindings", account, None);
            }
            Action::Add { account } => drop(world.add_account(account)),
            Action::Grow { shoot, account } => drop(grow(world, shoot, account, None)),
            Action::Stray { shoot, account, request } => stray(world, shoot, account, request),
            Action::Fell { shoot } => fell(world, shoot),
            Action::Refuse { account } => health(world, account, false),
            Action::Accept { account } => health(world, account, true),
            Action::Pause { replica, time } => world.state().pauses.push((*replica, *time)),
            Action::Kill { replica } => world.crash(*replica),
            Action::Past(deed) => past::act(world, *deed),
            Action::Edit(change) => edit::act(world, change),
            Action::Cluster(deed) => cluster::people::act(world, deed),
            Action::Cleanup(deed) => cleanup::people::act(world, deed),
            Action::Hostile(deed) => hostile::people::act(world, deed),
            Action::Openmcp(deed) => openmcp::act(world, deed),
        }
    }

    /// Looks at everything and does what is due.
    pub(crate) fn look(&mut self, world: &World) {
        let (scene, requests) = {
            let state = world.state();
            let names = state.eyes.requests.iter().map(|(name, (uid, _))| (name.clone(), uid.clone()));
            (state.eyes.scene.clone(), names.collect::<Vec<_>>())
        };
        self.busy = past::look(world);
        if world.options.clusters > 0 {
            return self.look_with_clusters(world, &scene);
        }
        for (name, uid) in requests {
            if let Some(asked) = scene.requests.get(&uid) {
                if world.state().calm && is_told_lost(world, &scene, &name, &uid, asked) {
                    self.ending.insert(name.clone());
                }
                self.tend(world, &scene, &name, &uid, asked);
            }
        }
        for (name, shoot) in &scene.shoots {
            let orphan = shoot.request.as_ref().is_some_and(|uid| !scene.requests.contains_key(uid));
            if orphan && self.is_due(world, "fell", name, 6000) {
                fell(world, name);
            }
        }
        if world.options.settle > 0 {
            self.busy |= cleanup::people::look(world);
        } else {
            self.clean(world, &scene);
        }
        // Gardener lets nobody delete a Shoot without its binding: in the end somebody makes it again, as they are told.
        let calm = world.state().calm;
        // A request is not given back while a Shoot carries its label.
        for shoot in scene.shoots.keys().filter(|_| calm) {
            let is_stray = world.state().eyes.strays.contains(shoot);
            if is_stray {
                fell(world, shoot);
            }
        }
        for account in account_names(&world.options).into_iter().filter(|_| calm) {
            if !scene.entries.contains_key(&AccountName::new(account.as_str())) {
                world.add_account(&account);
            }
        }
    }

    /// Operators make the clusters there.
    fn look_with_clusters(&mut self, world: &World, scene: &Scene) {
        self.clean(world, scene);
        if world.state().calm {
            self.busy |= cluster::people::look(world);
            self.busy |= edit::look(world);
            hostile::people::look(world);
        }
        self.busy |= world.grounds.is_busy();
    }

    fn tend(&mut self, world: &World, scene: &Scene, name: &str, uid: &RequestUid, asked: &Asked) {
        let shoot = scene.shoots.iter().find(|(_, shoot)| shoot.request.as_ref() == Some(uid));
        let ending = self.ending.contains(name);
        match shoot {
            Some((shoot, _)) if (asked.deleting || ending) && self.is_due(world, "fell", shoot, 6000) => {
                fell(world, shoot);
            }
            None if ending && !asked.deleting => {
                write(world, By::Other, Method::DELETE, "subscriptionrequests", name, None);
            }
            None if asked.phase == Some(SubscriptionPhase::Bound) && !asked.deleting => {
                let Some(account) = &asked.account else { return };
                // Some never make a cluster of it.
                if dice_for(world.options.seed, &["never", uid.as_str()], 0).happens(200) {
                    return;
                }
                if !self.is_due(world, "grow", uid.as_str(), 4000) {
                    return;
                }
                // The live look that comes before a Shoot is first written: ours, and not dirty.
                let entry = scene.entries.get(account);
                let ours = entry.is_some_and(|entry| {
                    asked.tenant.is_none() || (entry.tenant == asked.tenant && !entry.dirty)
                });
                if ours {
                    self.shoots += 1;
                    grow(world, &format!("c{}", self.shoots), account.as_str(), Some(uid));
                }
            }
            _ => (),
        }
    }

    /// Everything takes its time, each its own.
    fn is_due(&mut self, world: &World, what: &'static str, about: &str, longest: u64) -> bool {
        let now = world.millis();
        let since = *self.since.entry((what, about.to_owned())).or_insert(now);
        let due = now >= since + dice_for(world.options.seed, &[what, about], since).below(longest);
        self.busy |= !due;
        due
    }

    /// The cleaner removes both labels, if nothing is left in the account.
    fn clean(&mut self, world: &World, scene: &Scene) {
        let now = world.millis();
        let dirty = scene.entries.iter().filter(|(account, entry)| {
            let shoots = scene.shoots.values().any(|shoot| shoot.account == **account);
            let seats = scene.books.seats.iter().any(|seat| seat.account == **account);
            entry.dirty && entry.is_dedicated() && !shoots && !seats
        });
        let dirty: Vec<_> = dirty.map(|(account, _)| account.clone()).collect();
        self.busy |= !dirty.is_empty();
        if now < self.cleaned_at + world.options.clean {
            return;
        }
        self.cleaned_at = now;
        let labels = json!({ "metadata": { "labels": { "dirty": null, "tenantName": null } } });
        for account in dirty {
            let account = account.as_str();
            write(world, By::Other, Method::PATCH, "credentialsbindings", account, Some(&labels));
        }
    }
}

fn ask(world: &World, request: &str, tenant: &str, want: Want) {
    let provider = world.options.cloud();
    let spec = match want {
        Want::Own => {
            json!({ "provider": provider, "subscriptionSelector": format!("globalaccount:{tenant}") })
        }
        Want::Plan => json!({ "provider": "aws", "subscriptionSelector": tenant, "plan": "aws" }),
        Want::Eu => {
            json!({ "provider": "aws", "subscriptionSelector": tenant, "plan": "aws", "platformRegion": "cf-eu11" })
        }
        Want::Shared => json!({ "provider": provider, "subscriptionSelector": "shared" }),
        Want::Trial => json!({ "provider": "aws", "subscriptionSelector": tenant, "plan": "trial" }),
        Want::Nothing => json!({ "provider": "aws", "subscriptionSelector": tenant, "plan": "gold" }),
    };
    let object = json!({
        "apiVersion": "control-plane.kyma-project.io/v1alpha1",
        "kind": "SubscriptionRequest",
        "metadata": { "name": request },
        "spec": spec,
    });
    let path =
        format!("/apis/control-plane.kyma-project.io/v1alpha1/namespaces/{NAMESPACE}/subscriptionrequests");
    world.act(By::Other, Method::POST, &path, Some(&object));
}

fn write(world: &World, by: By, method: Method, plural: &str, name: &str, body: Option<&Value>) {
    if let Some(path) = path_of(plural, name) {
        world.act(by, method, &path, body);
    }
}

fn patch(world: &World, plural: &str, name: &str, body: &Value) {
    write(world, By::Meddler, Method::PATCH, plural, name, Some(body));
}

pub(crate) fn label_entry(world: &World, account: &str, labels: Value) {
    patch(world, "credentialsbindings", account, &json!({ "metadata": { "labels": labels } }));
}

fn annotate(world: &World, account: &str, why: Option<&str>) {
    let body = json!({ "metadata": { "annotations": { annotation::QUARANTINE: why } } });
    write(world, By::Other, Method::PATCH, "credentialsbindings", account, Some(&body));
}

/// The same name, another object.
pub(crate) fn renew(world: &World, side: Side, plural: &str, name: &str) {
    let (group, namespace) = match plural {
        "shoots" => ("core.gardener.cloud", GARDEN),
        "credentialsbindings" => ("security.gardener.cloud", GARDEN),
        _ => ("control-plane.kyma-project.io", NAMESPACE),
    };
    let now = world.now();
    let done = world.server(side).with_server(|server| server.recreate(group, plural, namespace, name, now));
    world.tell(|| format!("somebody makes {plural} {name} anew: {done}"));
    let Some(path) = path_of(plural, name) else { return };
    if let Ok(uri) = path.parse() {
        world.wrote(&Call::read(side, &Method::DELETE, &uri, b""), By::Meddler);
    }
}

pub(crate) fn grow(world: &World, name: &str, account: &str, request: Option<&RequestUid>) -> u16 {
    let labels = request.map(|uid| json!({ label::SUBSCRIPTION_REQUEST: uid }));
    let shoot = json!({
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Shoot",
        "metadata": { "name": name, "namespace": GARDEN, "labels": labels.unwrap_or_else(|| json!({})) },
        "spec": {
            "cloudProfile": { "kind": "CloudProfile", "name": "aws" },
            "region": "eu-central-1",
            "purpose": "production",
            "credentialsBindingName": account,
            "kubernetes": { "version": "1.35.4" },
            "networking": {
                "type": "calico", "nodes": "10.250.0.0/16", "pods": "10.96.0.0/13", "services": "10.104.0.0/13",
            },
            "provider": {
                "type": world.options.cloud(),
                "workers": [{
                    "name": "w", "minimum": 1, "maximum": 1, "maxSurge": 1, "maxUnavailable": 0,
                    "zones": ["eu-central-1a"],
                    "machine": { "type": "m6i.large", "image": { "name": "gardenlinux", "version": "1877.10.0" } },
                    "volume": { "type": "gp3", "size": "80Gi" },
                }],
            },
        },
    });
    let path = format!("/apis/core.gardener.cloud/v1beta1/namespaces/{GARDEN}/shoots");
    world.act(By::Other, Method::POST, &path, Some(&shoot))
}

/// A Shoot that names a request and is not its own.
fn stray(world: &World, shoot: &str, account: &str, request: &str) {
    let uid = {
        let mut state = world.state();
        let Some((uid, _)) = state.eyes.requests.get(request) else { return };
        let uid = uid.clone();
        let scene = &state.eyes.scene;
        let pool = scene.requests.get(&uid).and_then(|asked| asked.pool.as_ref());
        let entry = scene.entries.get(&AccountName::new(account));
        // In its own pool it could be the request's own.
        if entry.is_none_or(|entry| entry.pool.is_none() || entry.pool.as_ref() == pool) {
            return;
        }
        state.eyes.strays.insert(shoot.to_owned());
        uid
    };
    grow(world, shoot, account, Some(&uid));
}

pub(crate) fn fell(world: &World, name: &str) {
    let confirm =
        json!({ "metadata": { "annotations": { "confirmation.gardener.cloud/deletion": "true" } } });
    write(world, By::Other, Method::PATCH, "shoots", name, Some(&confirm));
    write(world, By::Other, Method::DELETE, "shoots", name, None);
}

/// The cloud takes the credentials of an account, or does not: every Shoot in it says so.
fn health(world: &World, account: &str, good: bool) {
    let in_it = |scene: &Scene| -> Vec<String> {
        let shoots = scene.shoots.iter().filter(|(_, shoot)| shoot.account.as_str() == account);
        shoots.map(|(name, _)| name.clone()).collect()
    };
    let shoots = in_it(&world.state().eyes.scene);
    let state = if good { "Succeeded" } else { "Error" };
    let operation = json!({ "type": "Create", "state": state, "progress": 10, "description": "-", "lastUpdateTime": world.now() });
    let error = json!([{ "description": "refused", "codes": ["ERR_INFRA_UNAUTHENTICATED"] }]);
    let errors = if good { Value::Null } else { error };
    let status = json!({ "status": { "lastOperation": operation, "lastErrors": errors } });
    for shoot in shoots {
        if let Some(path) = path_of("shoots", &shoot) {
            world.act(By::Other, Method::PATCH, &format!("{path}/status"), Some(&status));
        }
    }
}
