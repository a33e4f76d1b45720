use super::*;

fn request<'a>(
    verb: &'a str,
    group: &'a str,
    resource: &'a str,
    namespace: &'a str,
    name: &'a str,
) -> Attributes<'a> {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    Attributes { verb, group, resource, subresource, namespace, name, path: None }
}

#[test]
fn refusals_say_what_a_real_server_says() {
    let rbac = recorded();
    let on = request;
    let cases = [
        (
            "alice",
            on("list", "", "secrets", "default", ""),
            r#"secrets is forbidden: User "alice" cannot list resource "secrets" in API group "" in the namespace "default""#,
        ),
        (
            "alice",
            on("list", "", "secrets", NAMESPACE, ""),
            r#"secrets is forbidden: User "alice" cannot list resource "secrets" in API group "" in the namespace "auth-test""#,
        ),
        (
            "alice",
            on("get", "", "secrets", NAMESPACE, "two"),
            r#"secrets "two" is forbidden: User "alice" cannot get resource "secrets" in API group "" in the namespace "auth-test""#,
        ),
        (
            "alice",
            on("list", "", "secrets", "", ""),
            r#"secrets is forbidden: User "alice" cannot list resource "secrets" in API group "" at the cluster scope"#,
        ),
        (
            "alice",
            on("get", "", "nodes", "", "n1"),
            r#"nodes "n1" is forbidden: User "alice" cannot get resource "nodes" in API group "" at the cluster scope"#,
        ),
        (
            "alice",
            Attributes::path("get", "/metrics"),
            r#"forbidden: User "alice" cannot get path "/metrics""#,
        ),
        (
            "alice",
            Attributes::path("post", "/nosuch"),
            r#"forbidden: User "alice" cannot post path "/nosuch""#,
        ),
        (
            "system:anonymous",
            Attributes::path("get", "/api"),
            r#"forbidden: User "system:anonymous" cannot get path "/api""#,
        ),
        (
            "system:anonymous",
            on("list", "", "configmaps", "default", ""),
            r#"configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" in the namespace "default""#,
        ),
        (
            "dana",
            on("list", "", "namespaces", "", ""),
            r#"namespaces is forbidden: User "dana" cannot list resource "namespaces" in API group "" at the cluster scope: RBAC: clusterrole.rbac.authorization.k8s.io "auth-test-missing" not found"#,
        ),
        (
            "dana",
            on("list", "", "configmaps", NAMESPACE, ""),
            r#"configmaps is forbidden: User "dana" cannot list resource "configmaps" in API group "" in the namespace "auth-test": RBAC: [clusterrole.rbac.authorization.k8s.io "auth-test-missing" not found, role.rbac.authorization.k8s.io "missing" not found]"#,
        ),
        (
            "alice",
            on("create", "apps", "deployments", NAMESPACE, ""),
            r#"deployments.apps is forbidden: User "alice" cannot create resource "deployments" in API group "apps" in the namespace "auth-test""#,
        ),
        (
            "alice",
            on("deletecollection", "apps", "deployments", NAMESPACE, ""),
            r#"deployments.apps is forbidden: User "alice" cannot deletecollection resource "deployments" in API group "apps" in the namespace "auth-test""#,
        ),
        (
            "alice",
            on("patch", "apps", "deployments/status", NAMESPACE, "d"),
            r#"deployments.apps "d" is forbidden: User "alice" cannot patch resource "deployments/status" in API group "apps" in the namespace "auth-test""#,
        ),
        (
            "alice",
            on("update", "apps", "deployments/scale", NAMESPACE, "d"),
            r#"deployments.apps "d" is forbidden: User "alice" cannot update resource "deployments/scale" in API group "apps" in the namespace "auth-test""#,
        ),
        (
            "we\"ird<b>",
            on("watch", "", "configmaps", NAMESPACE, ""),
            r#"configmaps is forbidden: User "we\"ird&lt;b&gt;" cannot watch resource "configmaps" in API group "" in the namespace "auth-test""#,
        ),
        (
            "alice",
            on("get", "", "namespaces", NAMESPACE, NAMESPACE),
            r#"namespaces "auth-test" is forbidden: User "alice" cannot get resource "namespaces" in API group "" in the namespace "auth-test""#,
        ),
        (
            "alice",
            on("create", "", "serviceaccounts/token", NAMESPACE, "bot"),
            r#"serviceaccounts "bot" is forbidden: User "alice" cannot create resource "serviceaccounts/token" in API group "" in the namespace "auth-test""#,
        ),
        (
            "alice",
            on("list", "nosuch.example.com", "things", "", ""),
            r#"things.nosuch.example.com is forbidden: User "alice" cannot list resource "things" in API group "nosuch.example.com" at the cluster scope"#,
        ),
    ];
    for (name, attributes, message) in cases {
        let who = if name == "system:anonymous" { User::anonymous() } else { User::new(name, [""; 0]) };
        let error = rbac.check(&who, &attributes).unwrap_err();
        assert_eq!((error.code, error.reason, error.message.as_str()), (403, "Forbidden", message));
    }
    let details = |attributes: &Attributes<'_>| {
        let error = rbac.check(&User::new("alice", [""; 0]), attributes).unwrap_err();
        error.to_status()["details"].clone()
    };
    assert_eq!(details(&Attributes::path("get", "/metrics")), json!({}));
    assert_eq!(
        details(&on("patch", "apps", "deployments/status", NAMESPACE, "d")),
        json!({ "name": "d", "group": "apps", "kind": "deployments" })
    );
}

#[test]
fn a_yes_says_by_which_binding() {
    let rbac = recorded();
    let list = request("list", "", "configmaps", NAMESPACE, "");
    let alice = r#"RBAC: allowed by RoleBinding "reader/auth-test" of Role "reader" to User "alice""#;
    let cases = [
        (User::new("alice", [""; 0]), list, alice),
        (User::new("alice", [""; 0]), request("get", "", "secrets", NAMESPACE, "one"), alice),
        (User::new("alice", [""; 0]), request("update", "x", "foos/status", NAMESPACE, ""), alice),
        (
            User::new("bob", ["readers"]),
            list,
            r#"RBAC: allowed by RoleBinding "reader/auth-test" of Role "reader" to Group "readers""#,
        ),
        (
            User::service_account(NAMESPACE, "bot", ""),
            list,
            r#"RBAC: allowed by RoleBinding "reader/auth-test" of Role "reader" to ServiceAccount "bot/auth-test""#,
        ),
        (
            User::service_account(NAMESPACE, "other", ""),
            list,
            r#"RBAC: allowed by RoleBinding "sa-noname/auth-test" of Role "reader" to ServiceAccount "other/auth-test""#,
        ),
        (
            User::new("eve", [""; 0]),
            list,
            r#"RBAC: allowed by RoleBinding "editor/auth-test" of ClusterRole "edit" to User "eve""#,
        ),
        (
            User::new("alice", [""; 0]),
            Attributes::path("get", "/api"),
            r#"RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated""#,
        ),
        (
            User::anonymous(),
            Attributes::path("get", "/version"),
            r#"RBAC: allowed by ClusterRoleBinding "system:public-info-viewer" of ClusterRole "system:public-info-viewer" to Group "system:unauthenticated""#,
        ),
        (User::new("m", ["system:masters"]), request("*", "*", "*", "", ""), ""),
    ];
    for (who, attributes, reason) in cases {
        let decision = rbac.authorize(&who, &attributes);
        assert!(decision.is_allowed(), "{who:?} {attributes:?}");
        assert_eq!(decision.reason(), reason);
    }
}

#[test]
fn what_is_removed_allows_nothing_any_more() {
    let list = request("list", "", "configmaps", NAMESPACE, "");
    let alice = User::new("alice", [""; 0]);
    let mut rbac = recorded();
    assert!(rbac.authorize(&alice, &list).is_allowed());
    rbac.upsert(Kind::RoleBinding, NAMESPACE, "reader", &binding("Role", "reader", json!([user("bob")])));
    assert!(!rbac.authorize(&alice, &list).is_allowed());
    let bob = User::new("bob", [""; 0]);
    assert!(rbac.authorize(&bob, &list).is_allowed());
    rbac.remove(Kind::Role, NAMESPACE, "reader");
    let reason = rbac.authorize(&bob, &list).reason();
    assert_eq!(reason, r#"RBAC: role.rbac.authorization.k8s.io "reader" not found"#);
    rbac.remove(Kind::RoleBinding, NAMESPACE, "reader");
    assert_eq!(rbac.authorize(&bob, &list).reason(), "");
}

#[test]
fn rules_match_as_they_are_written() {
    let cases = [
        (
            json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["pods/log"] }),
            ("get", "", "pods/log"),
            true,
        ),
        (
            json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] }),
            ("get", "", "pods/log"),
            false,
        ),
        (
            json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["pods/log"] }),
            ("get", "", "pods"),
            false,
        ),
        (json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["*"] }), ("get", "", "pods/log"), true),
        (
            json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["*/log"] }),
            ("get", "", "pods/log"),
            true,
        ),
        (
            json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["*/xlog"] }),
            ("get", "", "pods/log"),
            false,
        ),
        (json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["*/log"] }), ("get", "", "pods"), false),
        (json!({ "verbs": ["*"], "apiGroups": ["a"], "resources": ["pods"] }), ("bind", "a", "pods"), true),
        (json!({ "verbs": ["*"], "apiGroups": ["a"], "resources": ["pods"] }), ("bind", "b", "pods"), false),
        (json!({ "verbs": ["*"], "nonResourceURLs": ["*"] }), ("get", "", "pods"), false),
    ];
    for (rule, (verb, group, resource), expected) in cases {
        let matches = PolicyRule::from_json(&rule).allows(&request(verb, group, resource, "", ""));
        assert_eq!(matches, expected, "{rule} {verb} {group} {resource}");
    }
    let paths = [
        ("/api/*", "/api/v1", true),
        ("/api/*", "/api", false),
        ("/api", "/api/v1", false),
        ("*", "/x", true),
    ];
    for (rule, path, expected) in paths {
        let rule = PolicyRule::from_json(&json!({ "verbs": ["get"], "nonResourceURLs": [rule] }));
        assert_eq!(rule.allows(&Attributes::path("get", path)), expected, "{rule:?} {path}");
    }
}

/// Every request pays for this, so it may not grow with the number of bindings of others.
#[test]
fn the_bindings_of_others_do_not_matter() {
    let mut rbac = recorded();
    for i in 0..20_000 {
        let name = format!("tenant-{i}");
        rbac.upsert(
            Kind::ClusterRoleBinding,
            "",
            &name,
            &binding("ClusterRole", "view", json!([user(&name)])),
        );
    }
    let list = request("list", "", "configmaps", NAMESPACE, "");
    let alice = User::new("alice", [""; 0]);
    let begin = std::time::Instant::now();
    for _ in 0..10_000 {
        assert!(rbac.authorize(&alice, &list).is_allowed());
    }
    // Some microseconds each when built without optimisation; looking at all of them would take thousands.
    assert!(begin.elapsed() < std::time::Duration::from_secs(2), "{:?}", begin.elapsed());
}
