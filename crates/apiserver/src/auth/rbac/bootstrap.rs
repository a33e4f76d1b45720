//! The roles and bindings that a fresh cluster has, as far as clients care.
//!
//! Rules name only the kinds that this server has; those of CustomResourceDefinitions join by the labels
//! `rbac.authorization.k8s.io/aggregate-to-{admin,edit,view}`.

use super::{GROUP, Kind, aggregated_rules};
use crate::auth::{AUTHENTICATED, MASTERS, SERVICE_ACCOUNTS, UNAUTHENTICATED};
use serde_json::{Value, json};

const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "delete", "deletecollection", "patch", "update"];
const ALL: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The objects, in the order in which they can be created.
pub(crate) fn bootstrap_objects() -> Vec<(Kind, Value)> {
    let mut roles = roles();
    // `admin` collects `edit`, which collects `view`: three rounds settle it.
    for _ in 0..3 {
        let known = roles.clone();
        for role in &mut roles {
            if let Some(rules) = aggregated_rules(role, &known) {
                role["rules"] = rules;
            }
        }
    }
    let roles = roles.into_iter().map(|role| (Kind::ClusterRole, role));
    roles.chain(bindings().into_iter().map(|binding| (Kind::ClusterRoleBinding, binding))).collect()
}

fn roles() -> Vec<Value> {
    vec![
        role("cluster-admin", &[], json!([rule(&["*"], &["*"], &["*"]), paths(&["*"], &["*"])])),
        collecting("admin", &[]),
        collecting("edit", &["admin"]),
        collecting("view", &["edit"]),
        role(
            "system:aggregate-to-admin",
            &["admin"],
            json!([
                rule(&["authorization.k8s.io"], &["localsubjectaccessreviews"], &["create"]),
                rule(&[GROUP], &["rolebindings", "roles"], ALL),
            ]),
        ),
        role(
            "system:aggregate-to-edit",
            &["edit"],
            json!([
                rule(&[""], &["secrets"], READ),
                rule(&[""], &["serviceaccounts"], &["impersonate"]),
                rule(&[""], &["configmaps", "secrets", "serviceaccounts"], WRITE),
                rule(&[""], &["serviceaccounts/token"], &["create"]),
                rule(&["", "events.k8s.io"], &["events"], WRITE),
                rule(&["coordination.k8s.io"], &["leases"], ALL),
            ]),
        ),
        role(
            "system:aggregate-to-view",
            &["view"],
            json!([
                rule(&[""], &["configmaps", "serviceaccounts"], READ),
                rule(&[""], &["namespaces/status"], READ),
                rule(&[""], &["namespaces"], READ),
                rule(&["", "events.k8s.io"], &["events"], READ),
            ]),
        ),
        role("system:discovery", &[], json!([paths(DISCOVERY, &["get"])])),
        role(
            "system:basic-user",
            &[],
            json!([
                rule(
                    &["authorization.k8s.io"],
                    &["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
                    &["create"]
                ),
                rule(&["authentication.k8s.io"], &["selfsubjectreviews"], &["create"]),
            ]),
        ),
        role("system:public-info-viewer", &[], json!([paths(PUBLIC, &["get"])])),
        role(
            "system:monitoring",
            &[],
            json!([paths(MONITORING, &["get"]), rule(&[""], &["nodes/metrics"], &["get"])]),
        ),
        role("system:service-account-issuer-discovery", &[], json!([paths(ISSUER, &["get"])])),
    ]
}

const DISCOVERY: &[&str] = &[
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
];
const PUBLIC: &[&str] = &["/healthz", "/livez", "/readyz", "/version", "/version/"];
const MONITORING: &[&str] = &[
    "/flagz",
    "/healthz",
    "/healthz/*",
    "/livez",
    "/livez/*",
    "/metrics",
    "/metrics/slis",
    "/readyz",
    "/readyz/*",
    "/statusz",
];
const ISSUER: &[&str] = &[
    "/.well-known/openid-configuration",
    "/.well-known/openid-configuration/",
    "/openid/v1/jwks",
    "/openid/v1/jwks/",
];

fn bindings() -> Vec<Value> {
    vec![
        binding("cluster-admin", &[MASTERS]),
        binding("system:basic-user", &[AUTHENTICATED]),
        binding("system:discovery", &[AUTHENTICATED]),
        binding("system:monitoring", &["system:monitoring"]),
        binding("system:public-info-viewer", &[AUTHENTICATED, UNAUTHENTICATED]),
        binding("system:service-account-issuer-discovery", &[SERVICE_ACCOUNTS]),
    ]
}

fn object(kind: Kind, name: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": kind.name(),
        "metadata": {
            "name": name,
            "labels": { "kubernetes.io/bootstrapping": "rbac-defaults" },
            "annotations": { "rbac.authorization.kubernetes.io/autoupdate": "true" },
        },
    })
}

/// `collected_by` are the roles that collect its rules.
fn role(name: &str, collected_by: &[&str], rules: Value) -> Value {
    let mut role = object(Kind::ClusterRole, name);
    for collector in collected_by {
        role["metadata"]["labels"][format!("{GROUP_LABEL}{collector}")] = json!("true");
    }
    role["rules"] = rules;
    role
}

const GROUP_LABEL: &str = "rbac.authorization.k8s.io/aggregate-to-";

fn collecting(name: &str, collected_by: &[&str]) -> Value {
    let mut role = role(name, collected_by, json!([]));
    let labels = json!({ format!("{GROUP_LABEL}{name}"): "true" });
    role["aggregationRule"] = json!({ "clusterRoleSelectors": [{ "matchLabels": labels }] });
    role
}

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({ "apiGroups": groups, "resources": resources, "verbs": verbs })
}

fn paths(paths: &[&str], verbs: &[&str]) -> Value {
    json!({ "nonResourceURLs": paths, "verbs": verbs })
}

/// A binding to the ClusterRole of the same name.
fn binding(name: &str, groups: &[&str]) -> Value {
    let mut binding = object(Kind::ClusterRoleBinding, name);
    binding["roleRef"] = json!({ "apiGroup": GROUP, "kind": "ClusterRole", "name": name });
    let subjects = groups.iter().map(|group| json!({ "apiGroup": GROUP, "kind": "Group", "name": group }));
    binding["subjects"] = subjects.collect();
    binding
}
