//! The expectations are what kube-apiserver 1.36.3 answered to the same objects and requests.

mod authorize;
mod bootstrap;
mod escalation;
mod validation;

use super::*;
use serde_json::json;

/// The namespace of the recorded requests.
pub(crate) const NAMESPACE: &str = "auth-test";

fn binding(role_kind: &str, role: &str, subjects: Value) -> Value {
    json!({ "roleRef": { "apiGroup": GROUP, "kind": role_kind, "name": role }, "subjects": subjects })
}

fn user(name: &str) -> Value {
    json!({ "kind": "User", "name": name, "apiGroup": GROUP })
}

/// The objects that the real server had when its answers were recorded.
pub(crate) fn recorded() -> Rbac {
    let mut rbac = Rbac::default();
    for (kind, object) in bootstrap_objects() {
        rbac.upsert(kind, "", text(&object["metadata"], "name"), &object);
    }
    let mut namespaced = |kind, name, object: Value| rbac.upsert(kind, NAMESPACE, name, &object);
    namespaced(Kind::Role, "reader", reader());
    let readers = json!([
        user("alice"),
        { "kind": "ServiceAccount", "name": "bot", "namespace": NAMESPACE },
        { "kind": "Group", "name": "readers", "apiGroup": GROUP },
    ]);
    namespaced(Kind::RoleBinding, "reader", binding("Role", "reader", readers));
    let other = json!([{ "kind": "ServiceAccount", "name": "other" }]);
    namespaced(Kind::RoleBinding, "sa-noname", binding("Role", "reader", other));
    namespaced(Kind::RoleBinding, "dangling", binding("Role", "missing", json!([user("dana")])));
    namespaced(Kind::RoleBinding, "editor", binding("ClusterRole", "edit", json!([user("eve")])));
    namespaced(Kind::RoleBinding, "admin", binding("ClusterRole", "admin", json!([user("adam")])));

    let rule = |resources: &[&str], names: &[&str], verbs: &[&str]| json!({ "rules": [{ "apiGroups": [GROUP], "resources": resources, "resourceNames": names, "verbs": verbs }] });
    let mut everywhere = |name: &str, role: Option<Value>, subjects: Value| {
        if let Some(role) = role {
            rbac.upsert(Kind::ClusterRole, "", name, &role);
        }
        let role = if name == "auth-test-dangling" { "auth-test-missing" } else { name };
        rbac.upsert(Kind::ClusterRoleBinding, "", name, &binding("ClusterRole", role, subjects));
    };
    everywhere("auth-test-dangling", None, json!([user("dana")]));
    let writers = json!([user("walter"), user("esc"), user("binder"), user("dana")]);
    let write = ["create", "update", "patch", "get", "list", "delete"];
    everywhere("auth-test-role-writer", Some(rule(&["*"], &[], &write)), writers);
    let escalate = rule(&["roles", "clusterroles"], &[], &["escalate"]);
    everywhere("auth-test-escalate", Some(escalate), json!([user("esc")]));
    let bind = rule(&["clusterroles"], &["edit"], &["bind"]);
    everywhere("auth-test-bind", Some(bind), json!([user("binder")]));
    rbac
}

fn reader() -> Value {
    json!({ "metadata": { "name": "reader", "namespace": NAMESPACE }, "rules": [
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"] },
        { "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["one"], "verbs": ["get"] },
        { "apiGroups": ["*"], "resources": ["*/status"], "verbs": ["update"] },
    ] })
}
