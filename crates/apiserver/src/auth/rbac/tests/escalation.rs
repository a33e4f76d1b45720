use super::{super::rule::uncovered, *};

const ATTEMPT: &str = "is attempting to grant RBAC permissions not currently held:\n";

fn write(
    rbac: &Rbac,
    who: &str,
    kind: Kind,
    path_name: &str,
    new: &Value,
    old: Option<&Value>,
) -> Result<(), ApiError> {
    let namespace = if kind.is_namespaced() { NAMESPACE } else { "" };
    rbac.check_write(&Write { user: &User::new(who, [""; 0]), kind, namespace, path_name, new, old })
}

fn role(rules: Value) -> Value {
    json!({ "metadata": { "name": "x" }, "rules": rules })
}

fn named(mut object: Value) -> Value {
    object["metadata"] = json!({ "name": "x" });
    object
}

#[test]
fn a_role_gives_only_what_its_writer_has() {
    let rbac = recorded();
    let secrets = json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] });
    let two_names = json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["n1", "n2"] });
    let many =
        json!({ "apiGroups": ["", "apps"], "resources": ["secrets", "pods"], "verbs": ["get", "list"] });
    let cases = [
        (
            "walter",
            Kind::Role,
            role(json!([secrets])),
            Some(r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}"#),
        ),
        (
            "walter",
            Kind::Role,
            role(json!([many])),
            Some(concat!(
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}"#,
                "\n",
                r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}"#,
                "\n",
                r#"{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list"]}"#,
                "\n",
                r#"{APIGroups:["apps"], Resources:["secrets"], Verbs:["get" "list"]}"#,
            )),
        ),
        (
            "walter",
            Kind::Role,
            role(json!([two_names])),
            Some(concat!(
                r#"{APIGroups:[""], Resources:["secrets"], ResourceNames:["n1"], Verbs:["get"]}"#,
                "\n",
                r#"{APIGroups:[""], Resources:["secrets"], ResourceNames:["n2"], Verbs:["get"]}"#,
            )),
        ),
        (
            "walter",
            Kind::Role,
            role(json!([{ "apiGroups": [GROUP], "resources": ["roles"], "verbs": ["get"] }])),
            None,
        ),
        (
            "walter",
            Kind::ClusterRole,
            role(json!([{ "nonResourceURLs": ["/metrics", "/x/*"], "verbs": ["get", "post"] }])),
            Some(concat!(
                r#"{NonResourceURLs:["/metrics"], Verbs:["get"]}"#,
                "\n",
                r#"{NonResourceURLs:["/metrics"], Verbs:["post"]}"#,
                "\n",
                r#"{NonResourceURLs:["/x/*"], Verbs:["get"]}"#,
                "\n",
                r#"{NonResourceURLs:["/x/*"], Verbs:["post"]}"#,
            )),
        ),
        (
            "esc",
            Kind::ClusterRole,
            role(json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }])),
            None,
        ),
        ("adam", Kind::Role, role(json!([secrets])), None),
        (
            "adam",
            Kind::Role,
            role(json!([{ "apiGroups": [""], "resources": ["nodes"], "verbs": ["get"] }])),
            Some(r#"{APIGroups:[""], Resources:["nodes"], Verbs:["get"]}"#),
        ),
        (
            "dana",
            Kind::Role,
            role(json!([secrets])),
            Some(
                r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}; resolution errors: [[roles.rbac.authorization.k8s.io "auth-test-missing" not found, roles.rbac.authorization.k8s.io "missing" not found]]"#,
            ),
        ),
        // No verbs, nothing to give away: that is for validation to refuse.
        (
            "walter",
            Kind::Role,
            role(json!([{ "apiGroups": [""], "resources": ["secrets"], "verbs": [] }])),
            None,
        ),
    ];
    for (who, kind, object, missing) in cases {
        let plural = kind.resource();
        let expected = missing.map(|missing| {
            format!(
                r#"{plural}.rbac.authorization.k8s.io "x" is forbidden: user "{who}" (groups=["system:authenticated"]) {ATTEMPT}{missing}"#
            )
        });
        let refused = write(&rbac, who, kind, "", &object, None).err();
        assert_eq!(refused.map(|error| error.message), expected, "{who} {object}");
    }
}

#[test]
fn more_of_what_a_real_server_says_about_roles() {
    let rbac = recorded();
    let all = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }]);
    let unnamed = json!({ "metadata": { "generateName": "x-" }, "rules": all });
    let error = write(&rbac, "walter", Kind::Role, "", &unnamed, None).unwrap_err();
    let start = r#"roles.rbac.authorization.k8s.io is forbidden: user "walter""#;
    assert!(error.message.starts_with(start), "{}", error.message);

    let mut aggregating = role(json!([]));
    aggregating["aggregationRule"] = json!({ "clusterRoleSelectors": [{ "matchLabels": { "a": "b" } }] });
    let must = r#"clusterroles.rbac.authorization.k8s.io "x" is forbidden: must have cluster-admin privileges to use the aggregationRule"#;
    assert_eq!(write(&rbac, "walter", Kind::ClusterRole, "", &aggregating, None).unwrap_err().message, must);
    let was = write(&rbac, "walter", Kind::ClusterRole, "x", &role(json!([])), Some(&aggregating));
    assert_eq!(was.unwrap_err().message, must);

    let master = User::new("root", ["system:masters"]);
    let write_all = Write {
        user: &master,
        kind: Kind::ClusterRole,
        namespace: "",
        path_name: "",
        new: &unnamed,
        old: None,
    };
    rbac.check_write(&write_all).unwrap();
}

#[test]
fn what_the_garbage_collector_changes_needs_no_rights() {
    let rbac = recorded();
    let old = reader();
    let mut finalized = old.clone();
    finalized["metadata"]["finalizers"] = json!(["a/b"]);
    finalized["metadata"]["managedFields"] = json!([{}]);
    write(&rbac, "walter", Kind::Role, "reader", &finalized, Some(&old)).unwrap();
    let mut labelled = old.clone();
    labelled["metadata"]["labels"] = json!({ "a": "b" });
    let error = write(&rbac, "walter", Kind::Role, "reader", &labelled, Some(&old)).unwrap_err();
    let missing = concat!(
        r#"{APIGroups:[""], Resources:["configmaps"], Verbs:["get" "list"]}"#,
        "\n",
        r#"{APIGroups:[""], Resources:["secrets"], ResourceNames:["one"], Verbs:["get"]}"#,
        "\n",
        r#"{APIGroups:["*"], Resources:["*/status"], Verbs:["update"]}"#,
    );
    let expected = format!(
        r#"roles.rbac.authorization.k8s.io "reader" is forbidden: user "walter" (groups=["system:authenticated"]) {ATTEMPT}{missing}"#
    );
    assert_eq!(error.message, expected);
}

#[test]
fn a_binding_gives_only_what_its_writer_has_or_may_bind() {
    let rbac = recorded();
    let to = |kind: &str, name: &str| named(binding(kind, name, json!([user("q")])));
    let cases = [
        ("binder", Kind::RoleBinding, to("ClusterRole", "edit"), None),
        ("binder", Kind::ClusterRoleBinding, to("ClusterRole", "edit"), None),
        (
            "walter",
            Kind::RoleBinding,
            to("Role", "nope"),
            Some((404, r#"rolebindings.rbac.authorization.k8s.io "nope" not found"#.to_owned())),
        ),
        (
            "walter",
            Kind::RoleBinding,
            to("ClusterRole", "nope"),
            Some((404, r#"rolebindings.rbac.authorization.k8s.io "nope" not found"#.to_owned())),
        ),
        (
            "walter",
            Kind::RoleBinding,
            to("Foo", "nope"),
            Some((500, r#"unsupported role reference kind: "Foo""#.to_owned())),
        ),
        (
            "walter",
            Kind::ClusterRoleBinding,
            to("ClusterRole", "cluster-admin"),
            Some((
                403,
                format!(
                    r#"clusterrolebindings.rbac.authorization.k8s.io "x" is forbidden: user "walter" (groups=["system:authenticated"]) {ATTEMPT}{{APIGroups:["*"], Resources:["*"], Verbs:["*"]}}
{{NonResourceURLs:["*"], Verbs:["*"]}}"#
                ),
            )),
        ),
        (
            "adam",
            Kind::RoleBinding,
            to("Role", "reader"),
            Some((
                403,
                format!(
                    r#"rolebindings.rbac.authorization.k8s.io "x" is forbidden: user "adam" (groups=["system:authenticated"]) {ATTEMPT}{{APIGroups:["*"], Resources:["*/status"], Verbs:["update"]}}"#
                ),
            )),
        ),
    ];
    for (who, kind, object, expected) in cases {
        let refused = write(&rbac, who, kind, "", &object, None).err();
        assert_eq!(refused.map(|error| (error.code, error.message)), expected, "{who} {object}");
    }
}

#[test]
fn covering_is_by_atoms() {
    let rules = |rules: Value| PolicyRule::all_of(&json!({ "rules": rules }));
    let one = |resources: &[&str], names: &[&str], verbs: &[&str]| json!({ "apiGroups": [""], "resources": resources, "resourceNames": names, "verbs": verbs });
    let cases = [
        (
            json!([one(&["a"], &[], &["get"]), one(&["a"], &[], &["list"])]),
            json!([one(&["a"], &[], &["get", "list"])]),
            true,
        ),
        (json!([one(&["*"], &[], &["get"])]), json!([one(&["a/b"], &[], &["get"])]), true),
        (json!([one(&["*/b"], &[], &["get"])]), json!([one(&["a/b"], &[], &["get"])]), true),
        (json!([one(&["*/b"], &[], &["get"])]), json!([one(&["*"], &[], &["get"])]), false),
        (json!([one(&["a"], &["x"], &["get"])]), json!([one(&["a"], &[], &["get"])]), false),
        (json!([one(&["a"], &["x", "y"], &["get"])]), json!([one(&["a"], &["x"], &["get"])]), true),
        (json!([one(&["a"], &[], &["*"])]), json!([one(&["a"], &["x"], &["get"])]), true),
        (json!([one(&["a"], &[], &["get"])]), json!([one(&["a"], &[], &["*"])]), false),
        (
            json!([{ "nonResourceURLs": ["/a/*"], "verbs": ["get"] }]),
            json!([{ "nonResourceURLs": ["/a/b/*"], "verbs": ["get"] }]),
            true,
        ),
        (
            json!([{ "nonResourceURLs": ["/a/*"], "verbs": ["get"] }]),
            json!([{ "nonResourceURLs": ["/a"], "verbs": ["get"] }]),
            false,
        ),
        (json!([]), json!([]), true),
    ];
    for (owned, requested, expected) in cases {
        let requested_rules = rules(requested.clone());
        assert_eq!(
            uncovered(&rules(owned.clone()), &requested_rules).is_empty(),
            expected,
            "{owned} {requested}"
        );
    }
}
