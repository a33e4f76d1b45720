//! What the oracles see of AccessRequests, and of what they have inside Shoots.

use super::{
    Place,
    garden::address_of,
    people::lost,
    read::{OWN, annotation, has_finalizer, is_deleting, label, labelled, number, owner_of, text},
    sees::Change,
};
use crate::stage::world::World;
use allotment_apiserver::server::Answer;
use allotment_core::{
    check::{Astray, who},
    openmcp::instance::Instance,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Method, Request, header::AUTHORIZATION};
use serde_json::Value;

/// The kinds that a grant is made of, by their paths.
const PARTS: [&str; 6] = [
    "/api/v1/serviceaccounts",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/rbac.authorization.k8s.io/v1/roles",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings",
    "/apis/authentication.gardener.cloud/v1alpha1/openidconnects",
];

/// The longest that a write is on its way.
const IN_FLIGHT: u64 = 60_000;

/// What a token is tried with.
const PROBES: [&str; 3] = ["/api/v1/namespaces", "/api/v1/namespaces/team/configmaps", "/api/v1/secrets"];

/// Somebody has written to an AccessRequest.
pub(super) fn access(world: &World, change: &Change<'_>, platform: usize, name: &str) -> Vec<Astray> {
    let Some(by) = change.by else { return Vec::new() };
    let request = format!("AccessRequest {name} on platform {platform}");
    let mut found = Vec::new();
    // A cache may not know yet that a Cluster of that name is another's now.
    let cluster = change.after.or(change.before).map_or("", |it| text(it, "/spec/clusterRef/name"));
    let owners = change.realm.sight().owners.get(&(platform, cluster.to_owned())).cloned();
    let is_held = |object: &Value| has_finalizer(object, &format!("{OWN}/accessrequest"));
    // The generic controller deletes it when its time is over.
    let is_ended = change.after.is_none() && !change.before.is_some_and(is_held);
    // Nobody can verify labels that lead to a Cluster that is gone.
    let profile = change.after.and_then(|it| label(it, "clusters.openmcp.cloud/profile"));
    let is_labelled = profile.and_then(owner_of).is_some_and(|(owner, _)| owner == *by);
    // A Cluster without a record has no Shoot: whoever finds a deleted request beside it lets the request go.
    let sight = change.realm.sight();
    let has_shoot = sight
        .get(&Place::Platform(platform), "clusters", cluster)
        .is_some_and(|it| !text(it, "/status/providerStatus/shoot/metadata/name").is_empty());
    drop(sight);
    let is_left = change.before.is_some_and(is_deleting) && !has_shoot;
    if !is_ended
        && !is_left
        && !is_labelled
        && provider_part(change.before) != provider_part(change.after)
        && owners.is_some_and(|owners| !owners.contains(by))
    {
        found.push(Astray::WroteAnothers(who(by), request.clone()));
    }
    if let Some(before) = change.before.filter(|before| is_held(before))
        && !change.after.is_some_and(is_held)
    {
        let left = parts(world, by, before).into_iter();
        found.extend(left.map(|left| Astray::LetGoTooEarly(request.clone(), left)));
    }
    let Some(after) = change.after else { return found };
    let told = |object: Option<&Value>| {
        object.map(|it| (text(it, "/status/phase").to_owned(), number(it, "/status/observedGeneration")))
    };
    let is_granted = text(after, "/status/phase") == "Granted";
    // What is on its way when somebody deletes the Secret does not know of it yet.
    let lost = change.realm.sight().done.get(&lost(&Place::Platform(platform), name)).copied();
    let is_late = lost.is_some_and(|lost| world.millis() < lost + IN_FLIGHT);
    // One that is being taken away goes on being called what it was.
    if is_granted && !is_late && !is_deleting(after) && told(change.before) != told(Some(after)) {
        found.extend(grant_fault(world, platform, after).map(|why| Astray::FalseGrant(request, why)));
    }
    found
}

/// What only a provider writes to an AccessRequest: the rest is the generic controller's.
fn provider_part(request: Option<&Value>) -> Option<(bool, Value, Vec<Value>)> {
    let request = request?;
    let conditions = request.pointer("/status/conditions").and_then(Value::as_array);
    let conditions = conditions.into_iter().flatten().filter(|condition| condition["type"] != "Resolved");
    let is_held = has_finalizer(request, &format!("{OWN}/accessrequest"));
    Some((is_held, request["status"]["secretRef"].clone(), conditions.cloned().collect()))
}

/// The provider of the Cluster that a request names.
pub(super) fn owner(world: &World, platform: usize, request: Option<&Value>) -> Option<Instance> {
    let realm = world.realm.as_ref()?;
    let cluster = text(request?, "/spec/clusterRef/name");
    let sight = realm.sight();
    let place = Place::Platform(platform);
    let cluster = sight.get(&place, "clusters", cluster)?;
    let (owner, _) = owner_of(text(cluster, "/spec/profile"))?;
    Some(owner).filter(|owner| realm.providers.platform_of(&owner.environment) == platform)
}

/// Everything of a request that is in a Shoot of this provider, as people would name it.
fn parts(world: &World, by: &Instance, request: &Value) -> Vec<String> {
    let name = text(request, "/metadata/name");
    let all = everything(world).into_iter();
    let own = all.filter(|part| part.owner.as_ref() == Some(by) && part.request == name && !part.is_torn);
    own.map(|part| part.name).collect()
}

/// Something inside a Shoot.
pub(super) struct Part {
    pub(super) name: String,
    pub(super) owner: Option<Instance>,
    /// The AccessRequest that it was made for.
    pub(super) request: String,
    /// The Shoot that it is in, by UID.
    pub(super) shoot: String,
    /// Whether nobody can see to that Shoot any more.
    pub(super) is_torn: bool,
}

/// Everything that providers have inside Shoots.
pub(super) fn everything(world: &World) -> Vec<Part> {
    let Some(realm) = &world.realm else { return Vec::new() };
    let shoots: Vec<(String, bool)> = {
        let sight = realm.sight();
        let is_torn = |uid: &String| {
            let plot = sight.estate.plots.values().find(|plot| plot.uid == *uid);
            plot.and_then(|plot| plot.cluster.as_ref()).is_some_and(|it| sight.estate.torn.contains(it))
        };
        sight.shoots.keys().map(|uid| (uid.clone(), is_torn(uid))).collect()
    };
    let mut all = Vec::new();
    for (shoot, is_torn) in shoots {
        for path in PARTS {
            let path = format!("{path}?labelSelector={OWN}/managed-by-name");
            for object in Place::Shoot(shoot.clone()).list(world, &path) {
                let request = label(&object, &format!("{OWN}/managed-by-name")).unwrap_or_default();
                all.push(Part {
                    name: format!(
                        "{} {} in Shoot {shoot}",
                        text(&object, "/kind"),
                        text(&object, "/metadata/name")
                    ),
                    owner: labelled(&object),
                    request: request.to_owned(),
                    shoot: shoot.clone(),
                    is_torn,
                });
            }
        }
    }
    all
}

/// Why a request that is said to be granted is not. A Shoot that somebody took away is no fault of the provider's.
pub(super) fn grant_fault(world: &World, platform: usize, request: &Value) -> Option<String> {
    let name = text(request, "/metadata/name");
    let secret = format!("/api/v1/namespaces/default/secrets/{name}.kubeconfig");
    let (code, secret) = Place::Platform(platform).ask(world, Method::GET, &secret, None);
    if code != 200 || text(&secret, "/metadata/ownerReferences/0/uid") != text(request, "/metadata/uid") {
        return Some("it has no Secret of its own".to_owned());
    }
    let decoded = BASE64_STANDARD.decode(text(&secret, "/data/kubeconfig")).unwrap_or_default();
    let Ok(kubeconfig) = serde_json::from_slice::<Value>(&decoded) else {
        return Some("its kubeconfig cannot be read".to_owned());
    };
    let shoot = shoot_at(world, &secret, text(&kubeconfig, "/clusters/0/cluster/server"))?;
    let token = text(&kubeconfig, "/users/0/user/token");
    if request.pointer("/spec/oidc").is_some() {
        let is_login = kubeconfig.pointer("/users/0/user/exec").is_some() && token.is_empty();
        return (!is_login).then(|| "its kubeconfig is not one for a login".to_owned());
    }
    let answers = PROBES.map(|probe| probed(world, &shoot, token, probe));
    if answers.contains(&401) {
        return Some("its token is refused".to_owned());
    }
    let may = answers.map(|code| code == 200);
    let asked = asked(request);
    (may != asked).then(|| format!("it may {may:?}, and asks for {asked:?} of {PROBES:?}"))
}

/// Which of the probes a request asks for.
fn asked(request: &Value) -> [bool; 3] {
    let list = |pointer: &str| request.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    let is_admin =
        |role: &Value| text(role, "/kind") == "ClusterRole" && text(role, "/name") == "cluster-admin";
    if list("/spec/token/roleRefs").any(is_admin) {
        return [true; 3];
    }
    let may = |resource: &str, namespace: Option<&str>| {
        list("/spec/token/permissions").any(|permission| {
            let place = permission["namespace"].as_str().filter(|place| !place.is_empty());
            let rules = permission["rules"].as_array().into_iter().flatten();
            (place.is_none() || place == namespace) && rules.into_iter().any(|rule| lets_list(rule, resource))
        })
    };
    [may("namespaces", None), may("configmaps", Some("team")), may("secrets", None)]
}

/// Whether a rule lets somebody list a resource of the core group.
fn lets_list(rule: &Value, resource: &str) -> bool {
    let names = |field: &str, wanted: &str| {
        rule[field].as_array().is_some_and(|all| all.iter().any(|one| one == wanted || one == "*"))
    };
    names("apiGroups", "")
        && names("resources", resource)
        && names("verbs", "list")
        && rule["resourceNames"].as_array().is_none_or(Vec::is_empty)
}

/// The UID of the Shoot that a Secret is for, if it is still there and has this address.
fn shoot_at(world: &World, secret: &Value, address: &str) -> Option<String> {
    let uid = annotation(secret, &format!("{OWN}/shoot-uid"))?;
    let sight = world.realm.as_ref()?.sight();
    sight.shoots.get(uid).filter(|name| address_of(name) == address).map(|_| uid.to_owned())
}

fn probed(world: &World, shoot: &str, token: &str, path: &str) -> u16 {
    let request = Request::builder().uri(path).header(AUTHORIZATION, format!("Bearer {token}"));
    let (Ok(request), now) = (request.body(Bytes::new()), world.now()) else { return 0 };
    let Some(server) = Place::Shoot(shoot.to_owned()).server(world) else { return 0 };
    match server.with_server(|server| server.handle(request, None, now)) {
        Answer::Now(reply) => reply.code,
        Answer::Watch(_) => 0,
    }
}

/// Whether a request waits for what only people can do, and says for what.
pub(super) fn rightly_waits(request: &Value) -> bool {
    waits_for_namespace(request) || waits_for_name(request)
}

/// Whether a request says that it waits for a namespace, and it is one that we do not make.
fn waits_for_namespace(request: &Value) -> bool {
    let roles = ["/spec/token/permissions", "/spec/oidc/roles"];
    let mut roles = roles.iter().filter_map(|path| request.pointer(path)?.as_array()).flatten();
    says(request, "NamespaceMissing")
        && (refers_to_namespace(request)
            || roles.any(|role| role["disableAutomaticNamespaceCreation"] == true))
}

/// Whether a request says that it waits for a name that somebody else has, and names the role that every server has.
fn waits_for_name(request: &Value) -> bool {
    let permissions = request.pointer("/spec/token/permissions").and_then(Value::as_array);
    let mut permissions = permissions.into_iter().flatten();
    says(request, "NameTaken") && permissions.any(|permission| permission["name"] == "cluster-admin")
}

fn says(request: &Value, reason: &str) -> bool {
    let conditions = request.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| condition["reason"] == reason)
}

/// Whether a request asks for a Role that is there already, in a namespace.
fn refers_to_namespace(request: &Value) -> bool {
    text(request, "/spec/token/roleRefs/0/kind") == "Role"
        && !text(request, "/spec/token/roleRefs/0/namespace").is_empty()
}

/// Whether a request asks for a role that no server takes.
fn has_impossible_rule(request: &Value) -> bool {
    let roles = ["/spec/token/permissions", "/spec/oidc/roles"];
    let roles = roles.iter().filter_map(|path| request.pointer(path)?.as_array()).flatten();
    let is_impossible = |role: &Value, rule: &Value| {
        let has = |field: &str| rule[field].as_array().is_some_and(|words| !words.is_empty());
        let is_namespaced = role["namespace"].as_str().is_some_and(|namespace| !namespace.is_empty());
        match has("nonResourceURLs") {
            true => is_namespaced || has("apiGroups") || has("resources") || has("resourceNames"),
            false => !has("apiGroups") || !has("resources"),
        }
    };
    let rules = |role: &Value| role["rules"].as_array().cloned().unwrap_or_default();
    roles.clone().any(|role| rules(role).iter().any(|rule| is_impossible(role, rule)))
}

/// Why a request is not as it should be when nothing is left to do.
pub(super) fn unrest(world: &World, platform: usize, request: &Value) -> Option<Astray> {
    let realm = world.realm.as_ref()?;
    let (name, phase) = (text(request, "/metadata/name"), text(request, "/status/phase"));
    let request_name = format!("AccessRequest {name} on platform {platform}");
    if is_deleting(request) {
        return Some(Astray::NeverGone(request_name));
    }
    let unanswered = |why: String| Some(Astray::Unanswered(request_name.clone(), why));
    let is_here = |it: &Instance| realm.providers.platform_of(&it.environment) == platform;
    if !realm.instances.iter().any(is_here) {
        return None;
    }
    if request.pointer("/spec/ttl").is_some() {
        return unanswered("its time is over soon, and then it goes".to_owned());
    }
    let owner = owner(world, platform, Some(request)).filter(|owner| realm.serves(platform, owner));
    if owner.is_none() {
        return (phase == "Granted" || phase.is_empty())
            .then_some(())
            .and_then(|()| unanswered(format!("it is {phase:?}, and nobody is there who could grant it")));
    }
    let is_login = request.pointer("/spec/oidc").is_some();
    let is_wrong = text(request, "/spec/token/roleRefs/0/kind") == "Role" && !refers_to_namespace(request);
    if phase == "Pending" && rightly_waits(request) {
        return None;
    }
    if is_wrong || has_impossible_rule(request) || is_login && !realm.providers.oidc {
        return if phase == "Denied" {
            None
        } else {
            unanswered(format!("it is {phase:?}, and cannot be granted"))
        };
    }
    if phase != "Granted"
        || number(request, "/status/observedGeneration") != number(request, "/metadata/generation")
    {
        return unanswered(format!("it is {phase:?}"));
    }
    let is_of_cluster = {
        let (place, sight) = (Place::Platform(platform), realm.sight());
        let cluster = sight.get(&place, "clusters", text(request, "/spec/clusterRef/name"));
        let shoot = cluster.map(|it| text(it, "/status/providerStatus/shoot/metadata/uid").to_owned());
        drop(sight);
        let path = format!("/api/v1/namespaces/default/secrets/{name}.kubeconfig");
        let (_, secret) = place.ask(world, Method::GET, &path, None);
        shoot.as_deref() == annotation(&secret, &format!("{OWN}/shoot-uid"))
    };
    if !is_of_cluster {
        return unanswered("its kubeconfig is for another Shoot".to_owned());
    }
    grant_fault(world, platform, request).map(|why| Astray::FalseGrant(request_name, why))
}
