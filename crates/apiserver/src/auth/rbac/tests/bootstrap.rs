use super::{super::rule::uncovered, *};

fn find<'a>(objects: &'a [(Kind, Value)], kind: Kind, name: &str) -> &'a Value {
    let found = objects.iter().find(|(k, object)| *k == kind && object["metadata"]["name"] == name);
    &found.unwrap().1
}

#[test]
fn they_look_like_those_of_a_real_cluster() {
    let objects = bootstrap_objects();
    assert_eq!(
        find(&objects, Kind::ClusterRole, "cluster-admin"),
        &json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {
                "name": "cluster-admin",
                "annotations": { "rbac.authorization.kubernetes.io/autoupdate": "true" },
                "labels": { "kubernetes.io/bootstrapping": "rbac-defaults" },
            },
            "rules": [
                { "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] },
                { "nonResourceURLs": ["*"], "verbs": ["*"] },
            ],
        })
    );
    let edit = find(&objects, Kind::ClusterRole, "edit");
    assert_eq!(
        edit["metadata"]["labels"],
        json!({
            "kubernetes.io/bootstrapping": "rbac-defaults",
            "rbac.authorization.k8s.io/aggregate-to-admin": "true",
        })
    );
    assert_eq!(
        edit["aggregationRule"],
        json!({ "clusterRoleSelectors": [{ "matchLabels": { "rbac.authorization.k8s.io/aggregate-to-edit": "true" } }] })
    );
    assert_eq!(
        find(&objects, Kind::ClusterRoleBinding, "system:public-info-viewer"),
        &json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {
                "name": "system:public-info-viewer",
                "annotations": { "rbac.authorization.kubernetes.io/autoupdate": "true" },
                "labels": { "kubernetes.io/bootstrapping": "rbac-defaults" },
            },
            "roleRef": { "apiGroup": GROUP, "kind": "ClusterRole", "name": "system:public-info-viewer" },
            "subjects": [
                { "apiGroup": GROUP, "kind": "Group", "name": "system:authenticated" },
                { "apiGroup": GROUP, "kind": "Group", "name": "system:unauthenticated" },
            ],
        })
    );
    for (kind, object) in &objects {
        assert!(validate(*kind, object, None).is_empty(), "{object}");
    }
}

#[test]
fn admin_has_all_of_edit_which_has_all_of_view() {
    let objects = bootstrap_objects();
    let rules = |name| PolicyRule::all_of(find(&objects, Kind::ClusterRole, name));
    for (more, less) in [("admin", "edit"), ("edit", "view"), ("admin", "system:aggregate-to-admin")] {
        assert!(uncovered(&rules(more), &rules(less)).is_empty(), "{more} {less}");
        assert!(!uncovered(&rules(less), &rules(more)).is_empty(), "{more} {less}");
    }
    assert!(recorded().stale_aggregates().is_empty());
}

#[test]
fn the_rules_of_a_new_kind_join_by_label() {
    let mut rbac = recorded();
    let shoots = json!({ "apiGroups": ["core.gardener.cloud"], "resources": ["shoots"], "verbs": ["get"] });
    rbac.upsert(
        Kind::ClusterRole,
        "",
        "a-shoot-viewer",
        &json!({
            "metadata": { "labels": { "rbac.authorization.k8s.io/aggregate-to-view": "true" } },
            "rules": [shoots, shoots],
        }),
    );
    let mut rounds = 0;
    while let [(name, rules), ..] = rbac.stale_aggregates().as_slice() {
        let (name, rules) = ((*name).to_owned(), rules.iter().map(PolicyRule::to_json).collect::<Value>());
        // The one with the smallest name comes first, and once only.
        assert_eq!(rules.as_array().unwrap().iter().filter(|rule| **rule == shoots).count(), 1);
        let mut role = find(&bootstrap_objects(), Kind::ClusterRole, &name).clone();
        role["rules"] = rules;
        rbac.upsert(Kind::ClusterRole, "", &name, &role);
        rounds += 1;
    }
    assert!((3..=6).contains(&rounds), "{rounds}");
    let get = Attributes {
        verb: "get",
        group: "core.gardener.cloud",
        resource: "shoots",
        namespace: NAMESPACE,
        ..Attributes::default()
    };
    assert!(rbac.authorize(&User::new("adam", [""; 0]), &get).is_allowed());
    assert_eq!(rbac.cluster_roles["view"].rules[0].to_json(), shoots);
}

#[test]
fn selectors_choose_as_everywhere() {
    let role = |name: &str, labels: Value| {
        json!({ "metadata": { "name": name, "labels": labels }, "rules": [
        { "apiGroups": [name], "resources": ["x"], "verbs": ["get"] },
    ] })
    };
    let all = [
        role("b", json!({ "k": "1" })),
        role("a", json!({ "k": "2" })),
        role("c", json!({})),
        role("me", json!({ "k": "1" })),
    ];
    let chosen = |selectors: Value| {
        let mut me = all[3].clone();
        me["aggregationRule"] = json!({ "clusterRoleSelectors": selectors });
        let rules = aggregated_rules(&me, &all).unwrap();
        let groups =
            rules.as_array().unwrap().iter().map(|rule| rule["apiGroups"][0].as_str().unwrap().to_owned());
        groups.collect::<Vec<_>>().join(" ")
    };
    let expression = |operator: &str, values: Value| json!([{ "matchExpressions": [{ "key": "k", "operator": operator, "values": values }] }]);
    let cases = [
        (json!([{}]), "a b c"),
        (json!([{ "matchLabels": { "k": "1" } }]), "b"),
        (json!([{ "matchLabels": { "k": "1" } }, {}]), "b a c"),
        (expression("In", json!(["1", "2"])), "a b"),
        (expression("NotIn", json!(["1"])), "a c"),
        (expression("Exists", json!([])), "a b"),
        (expression("DoesNotExist", json!([])), "c"),
        (json!([]), ""),
    ];
    for (selectors, expected) in cases {
        assert_eq!(chosen(selectors.clone()), expected, "{selectors}");
    }
    assert_eq!(aggregated_rules(&all[0], &all), None);
}
