//! People on platforms and in gardens.

use super::{
    Place, Realm,
    deed::{Access, Alter, Config, Deed, Garden, Land, Patch, Sign},
    garden::ShootName,
    providers::{PROJECTS, wiring},
    read::{CLUSTER_CONFIG, owner_of, text},
    sees,
};
use crate::{
    hostile::HOSTILE,
    stage::{
        call::{Call, Role, Side},
        world::{NAMESPACE, World},
    },
};
use allotment_api::gardener::{OperationState, OperationType};
use allotment_core::openmcp::names;
use allotment_garden::gardenlet::{Failure, Script};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::Method;
use serde_json::{Value, json};

/// The annotation that says what is to be done.
pub(super) const OPERATION: &str = "openmcp.cloud/operation";

/// A version that no CloudProfile has.
pub(super) const UNKNOWN_VERSION: &str = "1.99.1";

/// What stands in the kubeconfigs of gardens, and nowhere else.
pub(super) const GARDEN_KEY: &str = "the-key-to-the-garden";

/// Does what the script says.
pub(crate) fn act(world: &World, deed: &Deed) {
    let Some(realm) = &world.realm else { return };
    let on = |number: &usize| Place::Platform((*number).min(realm.platforms().count().saturating_sub(1)));
    match deed {
        Deed::Landscape { on: number, landscape, what } => land(world, realm, &on(number), landscape, *what),
        Deed::Config { on: number, config: name, what } => config(world, &on(number), name, *what),
        Deed::Patch { on: number, what } => patch_config(world, &on(number), *what),
        Deed::Order { on: number, cluster, profile } => {
            let spec = json!({ "profile": profile, "tenancy": "Exclusive" });
            create(world, &on(number), "clusters", cluster, &json!({ "spec": spec }));
        }
        Deed::Alter { on: number, cluster, what } => {
            change(world, &on(number), "clusters", cluster, &json!({ "spec": altered(*what) }));
        }
        Deed::Cancel { on: number, cluster } => delete(world, &on(number), "clusters", cluster),
        Deed::Tear { on: number, cluster } => tear_cluster(world, realm, &on(number), cluster),
        Deed::Sign { on: number, kind, name, what } => sign(world, realm, &on(number), kind, name, *what),
        Deed::Garden { on: number, cluster, what } => garden(world, realm, &on(number), cluster, *what),
        Deed::Entry { on: number, access, cluster, what } => {
            entry(world, realm, &on(number), (access, cluster), *what);
        }
        Deed::Intrude { on: number, access, cluster, by_request, labelled } => {
            intrude(world, realm, &on(number), (access, cluster), *by_request, *labelled);
        }
        Deed::Book { on: number, request, purpose } => {
            let spec = json!({ "purpose": purpose });
            create(world, &on(number), "clusterrequests", request, &json!({ "spec": spec }));
        }
        Deed::Unbook { on: number, request } => delete(world, &on(number), "clusterrequests", request),
    }
}

/// From the hostile namespace, with the labels of a request that the generic controller has handed to the Cluster's provider.
fn intrude(
    world: &World,
    realm: &Realm,
    on: &Place,
    (name, cluster): (&str, &str),
    by_request: bool,
    labelled: bool,
) {
    let profile = realm.sight().get(on, "clusters", cluster).map(|it| text(it, "/spec/profile").to_owned());
    let provider = profile.as_deref().and_then(owner_of).map(|(owner, _)| owner.provider);
    let labels = profile.zip(provider).filter(|_| labelled).map(|(profile, provider)| {
        json!({ "clusters.openmcp.cloud/profile": profile, "clusters.openmcp.cloud/provider": provider })
    });
    let role = json!({ "kind": "ClusterRole", "name": "cluster-admin" });
    let mut spec = json!({ "token": { "roleRefs": [role] } });
    let refers = if by_request { "requestRef" } else { "clusterRef" };
    spec[refers] = json!({ "name": cluster, "namespace": NAMESPACE });
    let object = json!({
        "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "AccessRequest",
        "metadata": { "name": name, "namespace": HOSTILE, "labels": labels }, "spec": spec,
    });
    let path = format!("/apis/clusters.openmcp.cloud/v1alpha1/namespaces/{HOSTILE}/accessrequests");
    write(world, on, Method::POST, &path, Some(&object));
}

fn land(world: &World, realm: &Realm, on: &Place, name: &str, what: Land) {
    match what {
        Land::Offer => offer_landscape(world, realm, on, name),
        Land::Break if name == "l2" => {
            let data = json!({ "kubeconfig": BASE64_STANDARD.encode("nonsense") });
            write(world, on, Method::PATCH, &format!("{SECRETS}/l2-login"), Some(&json!({ "data": data })));
        }
        Land::Break => {
            change(world, on, "landscapes", name, &json!({ "spec": { "access": { "inline": "nonsense" } } }));
        }
        Land::Withdraw => delete(world, on, "landscapes", name),
        Land::Tear => tear(world, on, "landscapes", name),
    }
}

/// It is there, with a kubeconfig that works: one in itself, the other one in a Secret.
pub(super) fn offer_landscape(world: &World, realm: &Realm, on: &Place, name: &str) {
    let garden = realm.garden_of(name);
    let kubeconfig = json!({
        "current-context": "c",
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
        "clusters": [{ "name": "c", "cluster": { "server": format!("https://g{garden}.example.com") } }],
        "users": [{ "name": "u", "user": { "token": GARDEN_KEY } }],
    });
    let mut access = json!({ "inline": kubeconfig.to_string() });
    if name == "l2" {
        let data = json!({ "kubeconfig": BASE64_STANDARD.encode(kubeconfig.to_string()) });
        let metadata = json!({ "name": "l2-login", "namespace": "default" });
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data });
        if write(world, on, Method::POST, SECRETS, Some(&secret)) == 409 {
            write(world, on, Method::PATCH, &format!("{SECRETS}/l2-login"), Some(&json!({ "data": data })));
        }
        access = json!({ "secretRef": { "name": "l2-login", "namespace": "default" } });
    }
    put(world, on, "landscapes", name, &json!({ "spec": { "access": access } }));
}

/// The most nodes of Shoots at the beginning.
const NODES: u64 = 2;

fn config(world: &World, on: &Place, name: &str, what: Config) {
    let nodes = |count| json!({ "spec": { "shootTemplate": template(count) } });
    match what {
        Config::Offer => offer_config(world, on, name),
        Config::More => change(world, on, "providerconfigs", name, &nodes(NODES + 1)),
        Config::Fewer => change(world, on, "providerconfigs", name, &nodes(NODES)),
        Config::Astray => {
            change(world, on, "providerconfigs", name, &json!({ "spec": { "project": "nowhere" } }));
        }
        Config::Withdraw => delete(world, on, "providerconfigs", name),
        Config::Tear => tear(world, on, "providerconfigs", name),
    }
}

pub(super) fn offer_config(world: &World, on: &Place, name: &str) {
    let (provider, landscape, project) = wiring(name);
    let spec = json!({
        "providerRef": { "name": provider }, "landscapeRef": { "name": landscape }, "project": project,
        "shootTemplate": template(NODES),
    });
    put(world, on, "providerconfigs", name, &json!({ "spec": spec }));
}

fn template(nodes: u64) -> Value {
    json!({ "spec": {
        "cloudProfile": { "kind": "CloudProfile", "name": "aws" },
        "credentialsBindingName": "acc",
        "region": "eu-central-1",
        "networking": { "type": "calico", "nodes": "10.250.0.0/16" },
        "provider": {
            "type": "aws",
            "infrastructureConfig": {
                "apiVersion": "aws.provider.extensions.gardener.cloud/v1alpha1", "kind": "InfrastructureConfig",
                "networks": { "vpc": { "cidr": "10.250.0.0/16" }, "zones": [{
                    "name": "eu-central-1a", "workers": "10.250.0.0/19", "public": "10.250.32.0/20",
                    "internal": "10.250.48.0/20",
                }] },
            },
            "workers": [{
                "name": "w", "minimum": 1, "maximum": nodes, "zones": ["eu-central-1a"],
                "machine": { "type": "m6i.large" }, "volume": { "type": "gp3", "size": "80Gi" },
            }],
        },
    } })
}

pub(super) fn patch_config(world: &World, on: &Place, what: Patch) {
    let patches = |nodes: u64| {
        let patch = json!({ "op": "replace", "path": "/spec/provider/workers/0/maximum", "value": nodes });
        json!({ "spec": { "patches": [patch] } })
    };
    match what {
        Patch::Make => put(world, on, "clusterconfigs", CLUSTER_CONFIG, &patches(5)),
        Patch::Change => change(world, on, "clusterconfigs", CLUSTER_CONFIG, &patches(6)),
        Patch::Remove => delete(world, on, "clusterconfigs", CLUSTER_CONFIG),
    }
}

fn altered(what: Alter) -> Value {
    match what {
        Alter::OldVersion => json!({ "kubernetes": { "version": "1.34" } }),
        Alter::NewVersion => json!({ "kubernetes": { "version": "1.35" } }),
        Alter::UnknownVersion => json!({ "kubernetes": { "version": UNKNOWN_VERSION } }),
        Alter::WithConfig => json!({ "clusterConfigs": [{ "name": CLUSTER_CONFIG }] }),
        Alter::WithoutConfig => json!({ "clusterConfigs": null }),
    }
}

/// What was made for it nobody can see to any more, nor what was made in there.
fn tear_cluster(world: &World, realm: &Realm, on: &Place, cluster: &str) {
    {
        let mut sight = realm.sight();
        let uid = sight.get(on, "clusters", cluster).map(|it| text(it, "/metadata/uid").to_owned());
        sight.estate.torn.extend(uid);
    }
    tear(world, on, "clusters", cluster);
}

fn sign(world: &World, realm: &Realm, on: &Place, kind: &str, name: &str, what: Sign) {
    let value = match what {
        Sign::Reconcile => Some("reconcile"),
        Sign::Ignore => Some("ignore"),
        Sign::Nothing => None,
    };
    if kind == "clusters" && what == Sign::Reconcile {
        let mut sight = realm.sight();
        let uid = sight.get(on, kind, name).map(|it| text(it, "/metadata/uid").to_owned());
        sight.estate.forced.extend(uid);
    }
    let body = json!({ "metadata": { "annotations": { OPERATION: value } } });
    change(world, on, kind, name, &body);
}

fn entry(world: &World, realm: &Realm, on: &Place, (name, cluster): (&str, &str), what: Access) {
    let rule =
        |resource: &str| json!([{ "apiGroups": [""], "resources": [resource], "verbs": ["get", "list"] }]);
    let token = |permission: Value| json!({ "token": { "permissions": [permission], "roleRefs": null }, "oidc": null });
    let spaces = || token(json!({ "rules": rule("namespaces") }));
    let ask = |access: Value| {
        let mut spec = access;
        let known = realm.sight().get(on, "accessrequests", name).is_some();
        if known {
            return change(world, on, "accessrequests", name, &json!({ "spec": spec }));
        }
        let refers = if what == Access::ByRequest { "requestRef" } else { "clusterRef" };
        spec[refers] = json!({ "name": cluster, "namespace": "default" });
        let mut body = json!({ "spec": without_nulls(spec) });
        if what == Access::Mislabelled {
            let (provider, profile) = ("clusters.openmcp.cloud/provider", "clusters.openmcp.cloud/profile");
            body["metadata"] = json!({ "labels": { provider: "p2", profile: "west.p2.c2" } });
        }
        create(world, on, "accessrequests", name, &body);
    };
    match what {
        Access::Spaces | Access::ByRequest | Access::Mislabelled => ask(spaces()),
        Access::Maps => ask(token(json!({ "rules": rule("configmaps") }))),
        Access::Team => ask(token(json!({ "namespace": "team", "rules": rule("configmaps") }))),
        Access::Admin => {
            let role = json!({ "kind": "ClusterRole", "name": "cluster-admin" });
            ask(json!({ "token": { "roleRefs": [role], "permissions": null }, "oidc": null }));
        }
        Access::Wrong => {
            let role = json!({ "kind": "Role", "name": "nowhere" });
            ask(json!({ "token": { "roleRefs": [role], "permissions": null }, "oidc": null }));
        }
        Access::Short => {
            let mut spec = spaces();
            spec["ttl"] = json!("90s");
            ask(spec);
        }
        Access::Login => {
            let bindings = json!([{
                "subjects": [{ "kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io" }],
                "roleRefs": [{ "kind": "ClusterRole", "name": "cluster-admin" }],
            }]);
            ask(json!({ "token": null, "oidc": {
                "name": "team", "issuer": "https://issuer.example.com", "clientID": "us", "roleBindings": bindings,
            } }));
        }
        Access::Drop => delete(world, on, "accessrequests", name),
        Access::Tear => {
            // What it has in a Shoot nobody can know any more.
            realm.sight().torn.insert(format!("{on} {name}"));
            tear(world, on, "accessrequests", name);
        }
        Access::Lose => {
            realm.sight().done.insert(lost(on, name), world.millis());
            write(world, on, Method::DELETE, &format!("{SECRETS}/{name}.kubeconfig"), None);
        }
    }
}

/// What a merge takes away need not be said of what is new.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            fields.map(|(key, value)| (key, without_nulls(value))).collect()
        }
        other => other,
    }
}

fn garden(world: &World, realm: &Realm, on: &Place, cluster: &str, what: Garden) {
    if what == Garden::Squat {
        return squat(world, realm, on, cluster);
    }
    let Some(shoot) = shoot_of(realm, on, cluster) else { return };
    let (place, path) = (Place::Garden(shoot.0), shoot_path(&shoot));
    let failure = |state, during| {
        let failure = Failure { state, during, ..Failure::with_code("ERR_INFRA_RESOURCES_DEPLETED") };
        Script { fail: Some(failure), ..Script::default() }
    };
    let script = match what {
        Garden::Raze => return fell(world, &shoot),
        Garden::Vanish => {
            fell(world, &shoot);
            let body = json!({ "metadata": { "finalizers": null } });
            write(world, &place, Method::PATCH, &path, Some(&body));
            return;
        }
        Garden::Swap => return swap(world, realm, &shoot),
        Garden::Tamper => {
            let body = json!({ "spec": { "purpose": "testing" } });
            write(world, &place, Method::PATCH, &path, Some(&body));
            return;
        }
        Garden::Squat | Garden::Heals => Script::default(),
        Garden::GivesUp => failure(OperationState::Failed, None),
        Garden::KeepsIt => failure(OperationState::Failed, Some(OperationType::Delete)),
        Garden::Tries => failure(OperationState::Error, None),
        Garden::Stalls => Script { hold_at: Some(41), ..Script::default() },
        Garden::Flaps => Script { flap_milliseconds: Some(4000), ..Script::default() },
    };
    realm.grounds.trouble(&shoot, script);
}

/// The Shoot that the status of a Cluster names.
pub(super) fn shoot_of(realm: &Realm, on: &Place, cluster: &str) -> Option<ShootName> {
    let sight = realm.sight();
    let status = sight.get(on, "clusters", cluster)?.pointer("/status/providerStatus")?;
    let part = |pointer: &str| status.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let garden = realm.garden_of(&part("/landscape")?);
    Some((garden, part("/shoot/metadata/namespace")?, part("/shoot/metadata/name")?))
}

pub(super) fn shoot_path((_, namespace, name): &ShootName) -> String {
    format!("/apis/core.gardener.cloud/v1beta1/namespaces/{namespace}/shoots/{name}")
}

/// Deletes a Shoot, as a person would.
pub(super) fn fell(world: &World, shoot: &ShootName) {
    let (place, path) = (Place::Garden(shoot.0), shoot_path(shoot));
    let confirm =
        json!({ "metadata": { "annotations": { "confirmation.gardener.cloud/deletion": "true" } } });
    write(world, &place, Method::PATCH, &path, Some(&confirm));
    write(world, &place, Method::DELETE, &path, None);
}

/// The same name and labels, another Shoot.
fn swap(world: &World, realm: &Realm, shoot: &ShootName) {
    let (now, path) = (world.now(), shoot_path(shoot));
    let Some(server) = realm.gardens.get(shoot.0) else { return };
    let done = server
        .with_server(|server| server.recreate("core.gardener.cloud", "shoots", &shoot.1, &shoot.2, now));
    world.tell(|| format!("somebody makes Shoot {} anew: {done}", shoot.2));
    told(world, &Place::Garden(shoot.0), &Method::DELETE, &path, "");
}

/// Somebody else's Shoot where the Cluster's would be.
fn squat(world: &World, realm: &Realm, on: &Place, cluster: &str) {
    let profile = {
        let sight = realm.sight();
        sight.get(on, "clusters", cluster).map(|it| text(it, "/spec/profile").to_owned())
    };
    let profile = profile.unwrap_or_else(|| "east.p1.c1".to_owned());
    let Some((_, config)) = owner_of(&profile) else { return };
    let (_, landscape, project) = wiring(config);
    let namespace = PROJECTS.iter().find(|(name, _)| *name == project).map_or("", |(_, namespace)| namespace);
    let name = names::shoot_name("default", cluster);
    let mut spec = template(1)["spec"].clone();
    spec["kubernetes"] = json!({ "version": "1.35.4" });
    let body = json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": { "name": name, "namespace": namespace }, "spec": spec,
    });
    let shoot = (realm.garden_of(landscape), namespace.to_owned(), name);
    let path = shoot_path(&shoot);
    let path = path.rsplit_once('/').map_or("", |(path, _)| path);
    write(world, &Place::Garden(shoot.0), Method::POST, path, Some(&body));
}

const SECRETS: &str = "/api/v1/namespaces/default/secrets";

fn collection(plural: &str) -> String {
    match plural {
        "clusters" | "accessrequests" | "clusterrequests" => {
            format!("/apis/clusters.openmcp.cloud/v1alpha1/namespaces/default/{plural}")
        }
        "clusterprofiles" => format!("/apis/clusters.openmcp.cloud/v1alpha1/{plural}"),
        "clusterconfigs" => {
            format!("/apis/gardener.clusters.openmcp.cloud/v1alpha1/namespaces/default/{plural}")
        }
        _ => format!("/apis/gardener.clusters.openmcp.cloud/v1alpha1/{plural}"),
    }
}

fn create(world: &World, on: &Place, plural: &str, name: &str, body: &Value) -> u16 {
    let kind = match plural {
        "clusters" => "Cluster",
        "accessrequests" => "AccessRequest",
        "clusterrequests" => "ClusterRequest",
        "landscapes" => "Landscape",
        "providerconfigs" => "ProviderConfig",
        _ => "ClusterConfig",
    };
    let path = collection(plural);
    let version = if path.contains("/apis/gardener.") { "gardener." } else { "" };
    let mut object = body.clone();
    object["apiVersion"] = json!(format!("{version}clusters.openmcp.cloud/v1alpha1"));
    object["kind"] = json!(kind);
    object["metadata"]["name"] = json!(name);
    write(world, on, Method::POST, &path, Some(&object))
}

/// Creates, or changes what is there.
fn put(world: &World, on: &Place, plural: &str, name: &str, body: &Value) {
    if create(world, on, plural, name, body) == 409 {
        change(world, on, plural, name, body);
    }
}

pub(super) fn change(world: &World, on: &Place, plural: &str, name: &str, body: &Value) {
    write(world, on, Method::PATCH, &format!("{}/{name}", collection(plural)), Some(body));
}

pub(super) fn delete(world: &World, on: &Place, plural: &str, name: &str) {
    write(world, on, Method::DELETE, &format!("{}/{name}", collection(plural)), None);
}

/// Deletes, and takes all finalizers off.
fn tear(world: &World, on: &Place, plural: &str, name: &str) {
    delete(world, on, plural, name);
    change(world, on, plural, name, &json!({ "metadata": { "finalizers": null } }));
}

pub(crate) fn write(world: &World, place: &Place, method: Method, path: &str, body: Option<&Value>) -> u16 {
    let (code, answer) = place.ask(world, method.clone(), path, body);
    world.tell(|| format!("somebody {method} {path} in {place} {code}"));
    if code >= 400 {
        if let Some(lines) = &mut world.state().lines {
            lines.push(format!("        {}", answer["message"]));
        }
        return code;
    }
    told(world, place, &method, path, &body.map(ToString::to_string).unwrap_or_default());
    code
}

fn told(world: &World, place: &Place, method: &Method, path: &str, body: &str) {
    if let Ok(uri) = path.parse() {
        let side = if matches!(place, Place::Garden(_)) { Side::Garden } else { Side::ControlPlane };
        let call = Call::read_as(Role::Openmcp, side, method, &uri, body.as_bytes());
        sees::somebody_wrote(world, &call, place);
    }
}

/// How it is remembered that somebody deleted the Secret of an AccessRequest.
pub(super) fn lost(on: &Place, request: &str) -> String {
    format!("{on} lost {request}")
}
