//! Compute Engine: one collection is like another.

use super::{
    Call, lists,
    operations::in_use,
    quotas,
    reply::{Answer, refused},
    state::{Key, Project},
};
use http::Method;
use serde_json::{Value, json};

/// Collections whose items learn late that they are in use.
const LATE: &[&str] = &["networks", "subnetworks"];

/// Collections that have another name in permissions, by scope.
const GLOBAL_NAMES: &[&str] =
    &["addresses", "forwardingRules", "networkEndpointGroups", "vmExtensionPolicies"];
const REGION_NAMES: &[&str] = &[
    "backendServices",
    "backendBuckets",
    "firewallPolicies",
    "healthChecks",
    "securityPolicies",
    "sslCertificates",
    "sslPolicies",
    "targetHttpProxies",
    "targetHttpsProxies",
    "targetTcpProxies",
    "urlMaps",
];

/// The permission that a call needs.
pub(crate) fn permission(service: &str, call: &Call<'_>) -> String {
    let verb = |is_item: bool| match (call.method.as_str(), is_item) {
        ("GET", true) => "get",
        ("GET", false) => "list",
        ("POST", _) => "create",
        ("DELETE", _) => "delete",
        _ => "update",
    };
    let (scope, rest) = match call.path.as_slice() {
        ["global" | "aggregated", rest @ ..] => (call.path[0], rest),
        ["zones", _, rest @ ..] if !rest.is_empty() => ("zones", rest),
        ["regions", _, rest @ ..] if !rest.is_empty() => ("regions", rest),
        rest => ("", rest),
    };
    match rest {
        [] => "compute.projects.get".to_owned(),
        ["setCommonInstanceMetadata"] => "compute.projects.setCommonInstanceMetadata".to_owned(),
        [collection, name @ ..] => {
            let renamed = |prefix: &str| {
                let (first, others) = collection.split_at(1);
                format!("{prefix}{}{others}", first.to_ascii_uppercase())
            };
            let resource = match scope {
                "global" if GLOBAL_NAMES.contains(collection) => renamed("global"),
                "regions" if REGION_NAMES.contains(collection) => renamed("region"),
                _ => (*collection).to_owned(),
            };
            let verb = name.get(1).copied().unwrap_or_else(|| verb(!name.is_empty()));
            format!("{service}.{resource}.{verb}")
        }
    }
}

pub(crate) fn answer(project: &mut Project, call: &Call<'_>) -> Answer {
    match (&call.method, call.path.as_slice()) {
        (&Method::GET, []) => Answer::ok(quotas::project(project)),
        (&Method::POST, ["setCommonInstanceMetadata"]) => set_metadata(project, call),
        (&Method::GET, ["regions"]) => lists::regions(project, call),
        (&Method::GET, ["regions", region]) => quotas::region(project, region),
        (&Method::GET, ["aggregated", collection]) => lists::aggregated(project, call, collection),
        (_, ["global", rest @ ..]) => in_scope(project, call, "global", rest),
        (_, [kind @ ("zones" | "regions"), place, rest @ ..]) => {
            let scope = format!("{kind}/{place}");
            if !project.scopes().contains(&scope) {
                return refused(400, "invalid", "Invalid value for field: unknown scope");
            }
            in_scope(project, call, &scope, rest)
        }
        _ => refused(404, "notFound", "there is no such method"),
    }
}

fn in_scope(project: &mut Project, call: &Call<'_>, scope: &str, rest: &[&str]) -> Answer {
    match (&call.method, rest) {
        (&Method::GET, ["operations", name]) => match project.ask(scope, name) {
            Some(operation) => Answer::ok(operation),
            None => not_found(project, &Key::new(scope, "operations", name)),
        },
        (&Method::GET, [collection]) => lists::of_scope(project, call, scope, collection),
        (&Method::POST, [collection]) => insert(project, call, scope, collection),
        (&Method::GET, [collection, name]) => {
            let key = Key::new(scope, collection, name);
            match project.resources.get(&key) {
                Some(resource) => Answer::ok(resource.body.clone()),
                None => not_found(project, &key),
            }
        }
        (&Method::PATCH, [collection, name]) => patch(project, call, &Key::new(scope, collection, name)),
        // One of them is deleted at a path of its own.
        (&Method::DELETE, [collection, name] | [collection @ "vmExtensionPolicies", name, "delete"]) => {
            delete(project, &Key::new(scope, collection, name))
        }
        (&Method::POST, [collection, name, action]) => {
            act(project, call, &Key::new(scope, collection, name), action)
        }
        _ => refused(404, "notFound", "there is no such method"),
    }
}

fn not_found(project: &Project, key: &Key) -> Answer {
    let message = format!("The resource 'projects/{}/{}' was not found", project.id, key.path());
    refused(404, "notFound", &message)
}

/// Paths become addresses, as the cloud shows them.
fn expanded(project: &Project, value: &Value) -> Value {
    match value {
        Value::String(text) => {
            let path = text.strip_prefix(&format!("projects/{}/", project.id)).unwrap_or(text);
            let is_path = ["global/", "regions/", "zones/"].iter().any(|start| path.starts_with(start));
            json!(if is_path { project.url(path) } else { text.clone() })
        }
        Value::Array(values) => values.iter().map(|value| expanded(project, value)).collect(),
        Value::Object(fields) => Value::Object(
            fields.iter().map(|(name, value)| (name.clone(), expanded(project, value))).collect(),
        ),
        other => other.clone(),
    }
}

fn insert(project: &mut Project, call: &Call<'_>, scope: &str, collection: &str) -> Answer {
    let name = call.body.get("name").and_then(Value::as_str);
    // The name of such a policy is in the query.
    let Some(name) = name.or_else(|| call.query("name")).filter(|name| !name.is_empty()) else {
        return refused(400, "required", "Required field 'resource.name' not specified");
    };
    let key = Key::new(scope, collection, name);
    if project.resources.contains_key(&key) {
        return refused(409, "alreadyExists", "The resource already exists");
    }
    let body = expanded(project, &call.body);
    if let Some(missing) = project.missing(&body) {
        return refused(400, "invalid", &format!("Invalid value: {missing} was not found"));
    }
    project.put(key.clone(), body, None);
    project.make_with(&key);
    Answer::ok(project.done(&key))
}

fn patch(project: &mut Project, call: &Call<'_>, key: &Key) -> Answer {
    let body = expanded(project, &call.body);
    let Some(resource) = project.resources.get_mut(key) else { return not_found(project, key) };
    for (field, value) in body.as_object().into_iter().flatten() {
        resource.body[field] = value.clone();
    }
    Answer::ok(project.done(key))
}

fn delete(project: &mut Project, key: &Key) -> Answer {
    let Some(resource) = project.resources.get(key) else { return not_found(project, key) };
    if resource.body["deletionProtection"] == json!(true) {
        let message = "Invalid resource usage: 'Resource cannot be deleted if it's protected against deletion. Set \
            the deletionProtection field to false.'.";
        return refused(400, "invalidResourceUsage", message);
    }
    let is_static = resource.body["routeType"] == json!("STATIC");
    if let Some(whole) = resource.part_of.as_ref().filter(|_| !is_static) {
        let message = in_use(&project.id, key, &whole.path());
        return refused(400, "resourceInUseByAnotherResource", &message);
    }
    let user = project.user_of(key).filter(|_| !LATE.contains(&key.collection.as_str()));
    if let Some(user) = user.map(|user| user.path()).or_else(|| project.part_in_use(key)) {
        return refused(400, "resourceInUseByAnotherResource", &in_use(&project.id, key, &user));
    }
    Answer::ok(project.begin_deletion(key))
}

fn act(project: &mut Project, call: &Call<'_>, key: &Key, action: &str) -> Answer {
    let body = expanded(project, &call.body);
    let Some(resource) = project.resources.get_mut(key) else { return not_found(project, key) };
    let list = |resource: &Value, field: &str| {
        resource.get(field).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let without = |values: Vec<Value>, name: &Value| -> Vec<Value> {
        values.into_iter().filter(|value| value["name"] != *name).collect()
    };
    let body_of = &mut resource.body;
    match action {
        "setDeletionProtection" => {
            body_of["deletionProtection"] = json!(call.query("deletionProtection") != Some("false"));
        }
        "addPeering" => {
            let mut peerings = list(body_of, "peerings");
            peerings.push(body["networkPeering"].clone());
            body_of["peerings"] = json!(peerings);
        }
        "removePeering" => body_of["peerings"] = json!(without(list(body_of, "peerings"), &body["name"])),
        "addAssociation" => {
            let mut associations = list(body_of, "associations");
            associations.push(body);
            body_of["associations"] = json!(associations);
        }
        "removeAssociation" => {
            let name = json!(call.query("name"));
            body_of["associations"] = json!(without(list(body_of, "associations"), &name));
        }
        "addInstances" | "addInstance" | "attachNetworkEndpoints" => (),
        _ => return refused(404, "notFound", "there is no such method"),
    }
    Answer::ok(project.done(key))
}

fn set_metadata(project: &mut Project, call: &Call<'_>) -> Answer {
    if call.body.get("fingerprint") != Some(&json!(quotas::fingerprint(project)))
        && !project.metadata.is_empty()
    {
        return refused(
            412,
            "conditionNotMet",
            "Supplied fingerprint does not match current metadata fingerprint.",
        );
    }
    project.metadata = call.body.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
    Answer::ok(project.done(&Key::new("global", "projects", "metadata")))
}
