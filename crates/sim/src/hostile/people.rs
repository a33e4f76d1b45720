//! The acts of the hostile tenant and of the platform, carried out.

use super::{
    HOSTILE, SECRET, TENANT, USER,
    deed::{Deed, Forgery, Lie, Theft},
    qualified,
};
use crate::stage::{
    call::Side,
    world::{By, GARDEN, NAMESPACE, World, path_of},
};
use allotment_api::names::{annotation, finalizer, label};
use allotment_core::check::{Owned, Wish};
use http::Method;
use serde_json::{Value, json};

/// The lock of the platform. The operator's own namespace is the honest one here: the hostile tenant has no rights in it.
const LOCK: &str = "stolen";

/// As with honest requests: longer than any run lasts.
const LIFE_SECONDS: u64 = 7200;

/// What the hostile tenant may know of an honest Cluster. Names and UIDs are no secrets.
struct Victim {
    name: String,
    tenant: String,
    wish: Wish,
    /// The Shoot, if there is one: its name can be known once it exists.
    shoot: Option<String>,
    shoot_uid: Option<String>,
    account: Option<String>,
    request: Option<(String, Owned)>,
}

impl Victim {
    fn of(world: &World, name: &str) -> Option<Self> {
        let state = world.state();
        let (fleet, scene) = (&state.eyes.fleet, &state.eyes.scene);
        let wish = fleet.clusters.get(name)?.clone();
        let stand = fleet.shoots.get(&wish.shoot_name);
        let request = fleet.requests.iter().find(|(_, owned)| owned.owner == wish.uid);
        let tenant = request.and_then(|(uid, _)| scene.requests.get(uid)?.tenant.clone());
        Some(Self {
            name: name.to_owned(),
            tenant: tenant.map_or_else(|| "t1".to_owned(), |tenant| tenant.to_string()),
            shoot: stand.map(|_| wish.shoot_name.clone()),
            shoot_uid: stand.map(|stand| stand.uid.clone()),
            account: stand.and_then(|stand| stand.account.as_ref().map(ToString::to_string)),
            request: request.map(|(uid, owned)| (uid.to_string(), owned.clone())),
            wish,
        })
    }

    /// An ownerReference to it.
    fn reference(&self) -> Value {
        let Self { name, wish, .. } = self;
        json!([{ "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": "Cluster", "name": name, "uid": wish.uid }])
    }
}

/// Does what the script says.
pub(crate) fn act(world: &World, deed: &Deed) {
    match deed {
        Deed::Claim { request, selector, label } => claim(world, request, selector, label),
        Deed::Bind { request, victim } => {
            if let Some(victim) = Victim::of(world, victim) {
                bind(world, request, &victim);
            }
        }
        Deed::Pose { request, victim } => {
            if let Some(victim) = Victim::of(world, victim) {
                pose(world, request, &victim);
            }
        }
        Deed::Settle { cluster, lie, victim } => settle(world, cluster, *lie, victim),
        Deed::Forge { cluster, what, victim } => {
            if let Some(victim) = Victim::of(world, victim) {
                forge(world, cluster, *what, &victim);
            }
        }
        Deed::Quit { cluster } => write(world, Method::DELETE, "clusters", cluster, None),
        Deed::Steal { theft, cluster, what, victim } => steal(world, theft, cluster, *what, victim),
        Deed::Lock { on } => lock(world, *on),
        Deed::Protect { cluster } => protect(world, cluster),
    }
}

/// Once it is calm: an honest tenant whose protected Cluster was deleted confirms it, as its condition says.
pub(crate) fn look(world: &World) {
    let clusters = world.state().eyes.fleet.clusters.clone();
    for (name, wish) in clusters.iter().filter(|(_, wish)| wish.protected && wish.deleting) {
        let body = json!({ "metadata": { "annotations": { annotation::CONFIRM_DELETION: wish.uid } } });
        path_of("clusters", name).map(|path| world.act(By::Other, Method::PATCH, &path, Some(&body)));
    }
}

fn claim(world: &World, request: &str, selector: &str, label: &str) {
    let spec = json!({ "provider": "aws", "subscriptionSelector": selector });
    let metadata = json!({ "name": request, "labels": { "globalaccountid": label } });
    create(world, "subscriptionrequests", metadata, spec);
}

/// The request of a Cluster of the hostile tenant, or one that has this name itself.
fn request_of(world: &World, name: &str) -> String {
    let prefix = qualified(&format!("{name}-"));
    let state = world.state();
    let found = state.eyes.requests.keys().find(|key| key.starts_with(&prefix));
    found.and_then(|key| key.split_once('/')).map_or(name, |(_, name)| name).to_owned()
}

fn bind(world: &World, request: &str, victim: &Victim) {
    let Some(account) = &victim.account else { return };
    let status = json!({ "phase": "Bound", "gardenerSecretName": account, "bindingKind": "CredentialsBinding",
        "tenantName": victim.tenant, "hyperscalerType": "aws" });
    let request = request_of(world, request);
    write_status(world, "subscriptionrequests", &request, status);
}

/// A request with the name, the owner, the finalizers and the labels of an honest Cluster's, which is deleted at once.
fn pose(world: &World, request: &str, victim: &Victim) {
    let name = match &victim.request {
        Some((_, owned)) => owned.name.clone(),
        None => request.to_owned(),
    };
    let uid = victim.request.as_ref().map(|(uid, _)| uid.clone());
    let metadata = json!({
        "name": name,
        "ownerReferences": victim.reference(),
        "finalizers": [finalizer::CLUSTER, finalizer::SUBSCRIPTION],
        "labels": { label::CLUSTER_UID: victim.wish.uid, label::SUBSCRIPTION_REQUEST: uid },
    });
    let reference = json!({ "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": "Cluster",
        "namespace": NAMESPACE, "name": victim.name });
    let spec = json!({ "provider": "aws", "subscriptionSelector": TENANT, "clusterRef": reference });
    create(world, "subscriptionrequests", metadata, spec);
    write(world, Method::DELETE, "subscriptionrequests", &name, None);
}

fn settle(world: &World, cluster: &str, lie: Lie, victim: &str) {
    let victim = Victim::of(world, victim);
    let other = victim.as_ref().map_or("t1", |victim| victim.tenant.as_str());
    let (selector, label) = match lie {
        Lie::Tenant => (other, other),
        Lie::Label => (TENANT, other),
        _ => (TENANT, TENANT),
    };
    let mut spec = json!({
        "core": { "purpose": "Production", "region": "eu-central-1", "kubernetesVersion": "1.34" },
        "infrastructure": {
            "provider": "aws", "machineType": "m5.large", "autoScalerMin": 1, "autoScalerMax": 3,
            "numberOfZones": 1, "subscriptionSelector": format!("globalaccount:{selector}"),
        },
        "administrators": [USER],
    });
    match lie {
        Lie::Name => {
            let Some(shoot) = victim.as_ref().and_then(|victim| victim.shoot.as_ref()) else { return };
            spec["core"]["shootName"] = json!(shoot);
        }
        Lie::Template => {
            let reference = json!({ "apiVersion": "v1", "kind": "Secret", "name": SECRET });
            spec["shootTemplate"] =
                json!({ "spec": { "resources": [{ "name": "mine", "resourceRef": reference }] } });
        }
        Lie::Brought => {
            spec = json!({ "byoc": { "kubeconfigSecretRef": { "name": SECRET, "key": "kubeconfig" } } });
        }
        Lie::None | Lie::Tenant | Lie::Label => (),
    }
    create(world, "clusters", json!({ "name": cluster, "labels": { "globalaccountid": label } }), spec);
}

fn forge(world: &World, cluster: &str, what: Forgery, victim: &Victim) {
    let (shoot, uid) = (&victim.shoot, &victim.shoot_uid);
    let metadata = match what {
        Forgery::Adopt => json!({ "annotations": { annotation::ADOPT_SHOOT: uid } }),
        Forgery::Owner => json!({ "ownerReferences": victim.reference() }),
        Forgery::Labels => {
            let request = victim.request.as_ref().map(|(uid, _)| uid);
            json!({ "labels": { label::CLUSTER_UID: victim.wish.uid, label::SUBSCRIPTION_REQUEST: request } })
        }
        Forgery::Annotations => json!({ "annotations": {
            annotation::RECREATE_SHOOT: "true",
            annotation::RELEASE_SHOOT: uid,
            annotation::CONFIRM_DELETION: victim.wish.uid,
            annotation::CLUSTER: format!("{NAMESPACE}/{}", victim.name),
        } }),
        Forgery::Finalizers => json!({ "finalizers": null }),
        Forgery::Status => {
            if let Some((shoot, uid)) = shoot.as_ref().zip(uid.as_ref()) {
                let status = json!({ "phase": "Ready", "shootName": shoot, "shootUID": uid,
                    "apiServer": format!("https://{shoot}.example.com"), "observedGeneration": 1 });
                write_status(world, "clusters", cluster, status);
            }
            return;
        }
        Forgery::Amnesia => {
            let status =
                json!({ "phase": null, "shootName": null, "shootUID": null, "observedGeneration": null });
            return write_status(world, "clusters", cluster, status);
        }
    };
    write(world, Method::PATCH, "clusters", cluster, Some(&json!({ "metadata": metadata })));
}

fn steal(world: &World, name: &str, cluster: &str, what: Theft, victim: &str) {
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]);
    let whole = json!({ "rules": rules });
    let role = |namespace: &str| json!({ "namespace": namespace, "createNamespace": true, "rules": rules });
    let ask = |mut spec: Value| {
        spec["expiration"] = json!(LIFE_SECONDS);
        create(world, "kubeconfigrequests", json!({ "name": name }), spec);
    };
    let mark = |key: &str, value: &str| {
        let body = json!({ "metadata": { "annotations": { key: value } } });
        write(world, Method::PATCH, "kubeconfigrequests", name, Some(&body));
    };
    match what {
        Theft::Own => ask(json!({ "cluster": cluster, "clusterRole": whole })),
        Theft::Cluster => {
            ask(json!({ "cluster": victim, "clusterNamespace": NAMESPACE, "clusterRole": whole }));
        }
        Theft::Default => ask(json!({ "cluster": victim, "clusterRole": whole })),
        Theft::System => ask(json!({ "cluster": cluster, "role": role("kube-system") })),
        Theft::Tokens => ask(json!({ "cluster": cluster, "role": role("allotment-access") })),
        Theft::Status => {
            let Some(victim) = Victim::of(world, victim) else { return };
            let Some((shoot, uid)) = victim.shoot.zip(victim.shoot_uid) else { return };
            let tokens = world.token_secrets(&uid);
            let tokens: Vec<Value> =
                tokens.iter().map(|secret| json!({ "secret": secret, "state": "Ending" })).collect();
            let status =
                json!({ "phase": "Issued", "shoot": { "name": shoot, "uid": uid }, "tokens": tokens });
            write_status(world, "kubeconfigrequests", name, status);
        }
        Theft::Brought => {
            let brought = json!({ "namespace": NAMESPACE, "name": SECRET, "key": "kubeconfig" });
            let tokens = json!([{ "secret": "any", "state": "Published" }]);
            let status = json!({ "phase": "Issued", "brought": brought, "shoot": null, "tokens": tokens });
            write_status(world, "kubeconfigrequests", name, status);
        }
        Theft::Revoke => mark(annotation::REVOKE, "true"),
        Theft::Restore => mark(annotation::REVOKE, "false"),
        Theft::Rotate => mark(annotation::ROTATE, "true"),
        Theft::Drop => write(world, Method::DELETE, "kubeconfigrequests", name, None),
    }
}

fn lock(world: &World, on: bool) {
    let path = format!("/apis/allotment.dev/v1alpha1/namespaces/{NAMESPACE}/accesslocks");
    let code = if on {
        let lock = json!({ "apiVersion": "allotment.dev/v1alpha1", "kind": "AccessLock",
            "metadata": { "name": LOCK }, "spec": { "namespace": HOSTILE } });
        world.ask(Side::ControlPlane, Method::POST, &path, Some(&lock)).0
    } else {
        world.ask(Side::ControlPlane, Method::DELETE, &format!("{path}/{LOCK}"), None).0
    };
    world.tell(|| format!("the platform locks access: {on} {code}"));
    world.state().eyes.locked = on;
}

/// Only where nobody has deleted it: else an operator may be deleting the Shoot already, and rightly.
fn protect(world: &World, cluster: &str) {
    let is_deleting = world.state().eyes.fleet.clusters.get(cluster).is_none_or(|wish| wish.deleting);
    if let Some(path) = path_of("clusters", cluster).filter(|_| !is_deleting) {
        let body = json!({ "spec": { "deletionProtection": true } });
        world.act(By::Other, Method::PATCH, &path, Some(&body));
    }
}

/// Makes the Secret that the hostile tenant is after, and the hostile namespace.
pub(crate) fn set_up() -> [(Side, String, Value); 3] {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": HOSTILE } });
    let secret = |namespace: &str| {
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": SECRET, "namespace": namespace },
            "stringData": { "kubeconfig": "not for you" } })
    };
    [
        (Side::ControlPlane, "/api/v1/namespaces".to_owned(), namespace),
        (Side::ControlPlane, format!("/api/v1/namespaces/{NAMESPACE}/secrets"), secret(NAMESPACE)),
        (Side::Garden, format!("/api/v1/namespaces/{GARDEN}/secrets"), secret(GARDEN)),
    ]
}

fn create(world: &World, plural: &str, mut metadata: Value, spec: Value) {
    let (group, kind) = match plural {
        "clusters" => ("operator.kyma-project.io", "Cluster"),
        "kubeconfigrequests" => ("operator.kyma-project.io", "KubeconfigRequest"),
        _ => ("control-plane.kyma-project.io", "SubscriptionRequest"),
    };
    metadata["namespace"] = json!(HOSTILE);
    let api = format!("{group}/v1alpha1");
    let object = json!({ "apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec });
    let path = format!("/apis/{api}/namespaces/{HOSTILE}/{plural}");
    world.act(By::Other, Method::POST, &path, Some(&object));
}

fn write(world: &World, method: Method, plural: &str, name: &str, body: Option<&Value>) {
    if let Some(path) = path_of(plural, &qualified(name)) {
        world.act(By::Other, method, &path, body);
    }
}

fn write_status(world: &World, plural: &str, name: &str, status: Value) {
    if let Some(path) = path_of(plural, &qualified(name)) {
        let body = json!({ "status": status });
        world.act(By::Other, Method::PATCH, &format!("{path}/status"), Some(&body));
    }
}
