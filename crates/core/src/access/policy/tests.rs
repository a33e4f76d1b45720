//! Tables of what policies allow.

use super::*;
use serde_json::json;

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> PolicyRule {
    serde_json::from_value(json!({"apiGroups": groups, "resources": resources, "verbs": verbs})).unwrap()
}

fn refusal(access: &Access, namespace: &str, rules: &[PolicyRule]) -> Option<String> {
    let asking = Asking { namespace, cluster_namespace: "a", cluster: "c" };
    access.refusal(&asking, &Asked { cluster_role: rules, role: &[], role_namespace: None, expiration: 3600 })
}

fn access(policies: serde_json::Value) -> Access {
    serde_json::from_value(json!({ "policies": policies })).unwrap()
}

#[test]
fn without_policies_everybody_has_their_own_clusters() {
    let access = Access::default();
    let pods = [rule(&[""], &["pods"], &["get", "delete"])];
    assert_eq!(refusal(&access, "a", &pods), None);
    assert!(refusal(&access, "b", &pods).unwrap().contains("no policy"));
}

#[test]
fn what_hands_out_more_is_refused_unless_allowed() {
    let default = Access::default();
    let free = access(json!([{"namespaces": ["a"], "dangerous": true}]));
    for (groups, resources, verbs) in [
        (&["rbac.authorization.k8s.io"][..], &["roles"][..], &["bind"][..]),
        (&["rbac.authorization.k8s.io"], &["clusterroles"], &["*"]),
        (&["*"], &["*"], &["get"]),
        (&[""], &["secrets"], &["*"]),
        (&[""], &["serviceaccounts/token"], &["create"]),
        (&[""], &["users"], &["impersonate"]),
        (&["*"], &["secrets"], &["get", "create"]),
        (&[""], &["pods/exec"], &["create"]),
        (&["*"], &["secrets"], &["delete"]),
        (&[""], &["namespaces/finalize"], &["update"]),
        (&["authentication.gardener.cloud"], &["openidconnects"], &["create"]),
    ] {
        let rules = [rule(&[""], &["pods"], &["get"]), rule(groups, resources, verbs)];
        let why = refusal(&default, "a", &rules);
        assert!(why.as_ref().is_some_and(|why| why.starts_with("spec.clusterRole.rules[1]")), "{why:?}");
        assert_eq!(refusal(&free, "a", &rules), None);
    }
    assert_eq!(refusal(&default, "a", &[rule(&["apps"], &["*"], &["get"])]), None);
}

#[test]
fn rules_keep_within_the_policies_taken_together() {
    let access = access(json!([
        {"namespaces": ["a"], "clusterRole": [{"apiGroups": [""], "resources": ["pods", "*/log"], "verbs": ["get", "list"]}]},
        {"namespaces": ["*"], "clusterNamespaces": ["a"], "clusters": ["c"],
         "clusterRole": [{"apiGroups": [""], "resources": ["nodes"], "resourceNames": ["one"], "verbs": ["get"]}]},
    ]));
    assert_eq!(refusal(&access, "a", &[rule(&[""], &["pods", "pods/log"], &["get", "list"])]), None);
    assert!(refusal(&access, "a", &[rule(&[""], &["pods"], &["delete"])]).unwrap().contains("delete pods"));
    assert!(
        refusal(&access, "a", &[rule(&[""], &["nodes"], &["get"])]).is_some(),
        "only the one of that name"
    );
    let mut named = rule(&[""], &["nodes"], &["get"]);
    named.resource_names = vec!["one".to_owned()];
    assert_eq!(refusal(&access, "b", &[named.clone()]), None);
    named.resource_names.push("two".to_owned());
    assert!(refusal(&access, "b", &[named]).is_some());
}

#[test]
fn paths_and_lives_have_their_bounds() {
    let access = access(
        json!([{"namespaces": ["a"], "clusterRole": [{"nonResourceURLs": ["/healthz/*"], "verbs": ["get"]}]}]),
    );
    let path =
        |path: &str| serde_json::from_value(json!({"nonResourceURLs": [path], "verbs": ["get"]})).unwrap();
    assert_eq!(refusal(&access, "a", &[path("/healthz/etcd")]), None);
    assert!(refusal(&access, "a", &[path("/metrics")]).is_some());
    let asking = Asking { namespace: "a", cluster_namespace: "a", cluster: "c" };
    let asked = Asked { cluster_role: &[], role: &[], role_namespace: None, expiration: 90_000 };
    assert!(access.refusal(&asking, &asked).unwrap().contains("maxExpiration"));
}

fn refusal_in(access: &Access, role_namespace: &str, rules: &[PolicyRule]) -> Option<String> {
    let asking = Asking { namespace: "a", cluster_namespace: "a", cluster: "c" };
    let role_namespace = Some(role_namespace);
    access.refusal(&asking, &Asked { cluster_role: &[], role: rules, role_namespace, expiration: 3600 })
}

/// With which policies a Role may be in which namespaces.
#[test]
fn roles_are_bound_to_namespaces() {
    let pods = [rule(&[""], &["pods"], &["get"])];
    let of = |namespaces: &[&str], is_dangerous: bool| {
        access(json!([{"namespaces": ["a"], "roleNamespaces": namespaces, "dangerous": is_dangerous}]))
    };
    let free = access(json!([{"namespaces": ["a"], "dangerous": true}]));
    for (what, access, allowed) in [
        ("no policies", Access::default(), &["shop", "kube", "my-kube-system"][..]),
        ("dangerous, and no namespaces", free, &["shop", "kube", "my-kube-system"]),
        (
            "globs do not name what is protected",
            of(&["*", "kube-*", "allotment-*"], true),
            &["shop", "kube", "my-kube-system"],
        ),
        ("a name, and not dangerous", of(&["kube-system", "allotment-access"], false), &[]),
        ("a name, and dangerous", of(&["kube-system"], true), &["kube-system"]),
        ("our own", of(&["allotment-access", "sh*p"], true), &["allotment-access", "shop"]),
        ("nothing", of(&[], true), &[]),
    ] {
        for namespace in
            ["shop", "kube", "my-kube-system", "kube-system", "kube-public", "kube-", "allotment-access"]
        {
            let why = refusal_in(&access, namespace, &pods);
            assert_eq!(why.is_none(), allowed.contains(&namespace), "{what}: {namespace}: {why:?}");
            if let Some(why) = why {
                assert!(why.starts_with(&format!("spec.role.namespace: {namespace}: ")), "{why}");
            }
        }
    }
}

/// Also a Role that grants nothing: it could still have the namespace made.
#[test]
fn the_namespace_counts_whatever_the_rules_are() {
    assert!(refusal_in(&Access::default(), "kube-system", &[]).is_some());
    assert!(refusal_in(&Access::default(), "shop", &[]).is_none());
}

/// A policy that names a namespace of the system allows what its rules say there, and another policy's rules do not count there.
#[test]
fn policies_for_other_namespaces_do_not_help() {
    let access = access(json!([
        {"namespaces": ["a"], "roleNamespaces": ["kube-system"], "dangerous": true,
         "role": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
        {"namespaces": ["a"], "dangerous": true},
    ]));
    assert_eq!(refusal_in(&access, "kube-system", &[rule(&[""], &["pods"], &["get"])]), None);
    let why = refusal_in(&access, "kube-system", &[rule(&[""], &["secrets"], &["get"])]).unwrap();
    assert!(why.contains("spec.role.rules[0]: get secrets: it is more than"), "{why}");
    assert_eq!(refusal_in(&access, "shop", &[rule(&[""], &["secrets"], &["*"])]), None);
}

#[test]
fn workloads_and_commands_are_allowed_in_a_role() {
    let rules = [rule(&["", "apps"], &["pods", "deployments", "pods/exec"], &["create", "get", "patch"])];
    assert_eq!(refusal_in(&Access::default(), "shop", &rules), None);
    assert!(refusal(&Access::default(), "a", &rules).unwrap().contains("create pods"));
}

/// The example of a KubeconfigRequest, as it is written there.
#[test]
fn the_example_is_allowed() {
    let text = include_str!("../../../../../examples/kubeconfig-request.yaml");
    let request: allotment_api::kyma::KubeconfigRequest = serde_saphyr::from_str(text).unwrap();
    let (grant, _) = grant::Grant::of(&request);
    let asking = Asking { namespace: "default", cluster_namespace: "default", cluster: "example-cluster" };
    let asked = Asked {
        cluster_role: &grant.cluster_role,
        role: &grant.role,
        role_namespace: grant.namespace.as_deref(),
        expiration: request.spec.expiration,
    };
    assert_eq!(Access::default().refusal(&asking, &asked), None);
}

#[test]
fn globs_match_as_people_expect() {
    for (pattern, text, matches) in [
        ("*", "", true),
        ("*", "shop", true),
        ("shop", "shop", true),
        ("shop", "shop-1", false),
        ("shop-*", "shop-1", true),
        ("shop-*", "shop-", true),
        ("*-test", "shop-test", true),
        ("*-test", "shop-tests", false),
        ("a*a", "a", false),
        ("a*a", "aa", true),
        ("t-*-b-*-x", "t-1-b-2-x", true),
        ("t-*-b-*-x", "t-1-b-x", false),
        ("a**b", "ab", true),
        ("*a*a*", "a", false),
        ("*a*a*", "xaxax", true),
    ] {
        assert_eq!(matches_glob(pattern, text), matches, "{pattern} {text}");
    }
}

mod always {
    use super::*;
    use proptest::prelude::*;

    fn word(words: &'static [&'static str]) -> impl Strategy<Value = String> {
        prop::sample::select(words).prop_map(str::to_owned)
    }

    fn any_rule() -> impl Strategy<Value = PolicyRule> {
        let groups = prop::collection::vec(word(&["", "apps", "rbac.authorization.k8s.io", "*"]), 1..3);
        let resources = prop::collection::vec(
            word(&[
                "pods",
                "pods/exec",
                "secrets",
                "roles",
                "deployments",
                "serviceaccounts/token",
                "*/exec",
                "*",
            ]),
            1..3,
        );
        let verbs = prop::collection::vec(word(&["get", "create", "bind", "impersonate", "*"]), 1..3);
        (groups, resources, verbs).prop_map(|(api_groups, resources, verbs)| PolicyRule {
            api_groups,
            resources,
            verbs,
            ..PolicyRule::default()
        })
    }

    fn any_policy() -> impl Strategy<Value = Policy> {
        let rules = || prop::option::of(prop::collection::vec(any_rule(), 0..3));
        let namespaces = prop::collection::vec(
            word(&["*", "kube-*", "kube-system", "allotment-access", "shop", "s*"]),
            0..3,
        );
        (rules(), rules(), prop::option::of(namespaces), any::<bool>()).prop_map(
            |(cluster_role, role, role_namespaces, dangerous)| Policy {
                namespaces: vec![ALL.to_owned()],
                cluster_namespaces: vec![ALL.to_owned()],
                cluster_role,
                role,
                role_namespaces,
                dangerous,
                ..Policy::default()
            },
        )
    }

    proptest! {
        /// Except in the namespaces that only a name opens.
        #[test]
        fn role_namespaces_never_allow_more_than_a_policy_without_them(
            policies in prop::collection::vec(any_policy(), 1..4),
            rules in prop::collection::vec(any_rule(), 0..3),
            cluster_rules in prop::collection::vec(any_rule(), 0..2),
            namespace in word(&["shop", "store", "kube-system", "kube-public", "allotment-access"]),
        ) {
            let asking = Asking { namespace: "a", cluster_namespace: "b", cluster: "c" };
            let asked = Asked { cluster_role: &cluster_rules, role: &rules, role_namespace: Some(&namespace), expiration: 600 };
            let bounded = Access { policies: policies.clone(), ..Access::default() };
            let mut free = bounded.clone();
            free.policies.iter_mut().for_each(|policy| policy.role_namespaces = None);
            let (bounded, free) = (bounded.refusal(&asking, &asked), free.refusal(&asking, &asked));
            if is_protected(&namespace) {
                let names_it = |policy: &Policy| policy.dangerous && policy.role_namespaces.iter().flatten().any(|it| *it == namespace);
                prop_assert!(free.is_some());
                prop_assert!(bounded.is_some() || policies.iter().any(names_it));
            } else {
                prop_assert!(bounded.is_some() || free.is_none(), "{free:?}");
            }
        }

        /// A dangerous policy allows whatever the same policy allows without that.
        #[test]
        fn dangerous_never_allows_less(policy in any_policy(), rules in prop::collection::vec(any_rule(), 0..3)) {
            let asking = Asking { namespace: "a", cluster_namespace: "b", cluster: "c" };
            let asked = Asked { cluster_role: &rules, role: &rules, role_namespace: Some("shop"), expiration: 600 };
            let refusal = |dangerous| Access { policies: vec![Policy { dangerous, ..policy.clone() }], ..Access::default() }.refusal(&asking, &asked);
            prop_assert!(refusal(false).is_some() || refusal(true).is_none());
        }
    }
}
