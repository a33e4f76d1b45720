use super::*;
use crate::error::FieldError;

fn errors(kind: Kind, mut new: Value, old: Option<&Value>) -> Vec<String> {
    set_defaults(kind, &mut new);
    validate(kind, &new, old).iter().map(FieldError::to_string).collect()
}

#[test]
fn roles() {
    let rule = |rule: Value| json!({ "rules": [rule] });
    let verbs = "rules[0].verbs: Required value: verbs must contain at least one value";
    let groups = "rules[0].apiGroups: Required value: resource rules must supply at least one api group";
    let resources = "rules[0].resources: Required value: resource rules must supply at least one resource";
    let namespaced = r#"rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs"#;
    let both = r#"rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs"#;
    let cases: [(Kind, Value, &[&str]); 7] = [
        (Kind::Role, rule(json!({ "apiGroups": [""], "resources": ["secrets"] })), &[verbs]),
        (Kind::Role, rule(json!({ "verbs": ["get"] })), &[groups, resources]),
        (Kind::Role, rule(json!({})), &[verbs, groups, resources]),
        (Kind::Role, rule(json!({ "verbs": ["get"], "nonResourceURLs": ["/x"] })), &[namespaced]),
        (
            Kind::Role,
            rule(
                json!({ "verbs": ["get"], "nonResourceURLs": ["/x"], "apiGroups": [""], "resources": ["a"] }),
            ),
            &[namespaced, both],
        ),
        (
            Kind::ClusterRole,
            rule(json!({ "verbs": [], "nonResourceURLs": ["/x"], "apiGroups": [""], "resources": ["a"] })),
            &[verbs, both],
        ),
        (Kind::ClusterRole, json!({ "rules": null }), &[]),
    ];
    for (kind, object, expected) in cases {
        assert_eq!(errors(kind, object, None), expected);
    }
}

#[test]
fn names() {
    let cases: [(&str, &[&str]); 4] = [
        ("system:a b", &[]),
        ("x/y", &["may not contain '/'"]),
        (".", &["may not be '.'"]),
        ("a%b/c", &["may not contain '/'", "may not contain '%'"]),
    ];
    for (name, expected) in cases {
        assert_eq!(crate::names::path_segment_errors(name), expected, "{name}");
    }
}

#[test]
fn aggregation_rules() {
    let at_least = "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil";
    let invalid = "aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.";
    let label = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    let part = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let at = "aggregationRule.clusterRoleSelectors[0]";
    let rule = |selectors: Value| json!({ "aggregationRule": { "clusterRoleSelectors": selectors } });
    assert_eq!(errors(Kind::ClusterRole, json!({ "aggregationRule": {} }), None), [at_least]);
    assert_eq!(errors(Kind::ClusterRole, rule(json!([])), None), [at_least]);
    let no_values = rule(json!([{ "matchExpressions": [{ "key": "a", "operator": "In" }] }]));
    assert_eq!(
        errors(Kind::ClusterRole, no_values, None),
        [
            "aggregationRule.clusterRoleSelectors[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            invalid,
        ]
    );
    let all_wrong = rule(json!([{
        "matchLabels": { "a b": "c d" },
        "matchExpressions": [
            { "key": "a", "operator": "Foo", "values": ["x y"] },
            { "key": "!", "operator": "Exists", "values": ["b"] },
        ],
    }]));
    let expected = [
        format!(r#"{at}.matchLabels: Invalid value: "a b": {part}"#),
        format!(r#"{at}.matchLabels: Invalid value: "c d": {label}"#),
        format!(r#"{at}.matchExpressions[0].operator: Invalid value: "Foo": not a valid selector operator"#),
        format!(r#"{at}.matchExpressions[0].values[0]: Invalid value: "x y": {label}"#),
        format!(
            "{at}.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        ),
        format!(r#"{at}.matchExpressions[1].key: Invalid value: "!": {part}"#),
        invalid.to_owned(),
    ];
    assert_eq!(errors(Kind::ClusterRole, all_wrong, None), expected);
}

#[test]
fn bindings() {
    let cases: [(Kind, Value, &[&str]); 5] = [
        (
            Kind::RoleBinding,
            json!({}),
            &[
                r#"roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole""#,
                "roleRef.name: Required value",
            ],
        ),
        (
            Kind::RoleBinding,
            json!({ "roleRef": { "kind": "Role", "name": "a/b" } }),
            &[r#"roleRef.name: Invalid value: "a/b": may not contain '/'"#],
        ),
        (
            Kind::RoleBinding,
            json!({ "roleRef": { "apiGroup": "foo", "kind": "Foo", "name": "a" }, "subjects": [
                { "kind": "User" }, { "kind": "Foo", "name": "x" },
                { "kind": "ServiceAccount", "name": "A_", "apiGroup": "x" },
                { "kind": "Group", "name": "g", "apiGroup": "x" }, {},
            ] }),
            &[
                r#"roleRef.apiGroup: Unsupported value: "foo": supported values: "rbac.authorization.k8s.io""#,
                r#"roleRef.kind: Unsupported value: "Foo": supported values: "Role", "ClusterRole""#,
                "subjects[0].name: Required value",
                r#"subjects[1].kind: Unsupported value: "Foo": supported values: "ServiceAccount", "User", "Group""#,
                r#"subjects[2].name: Invalid value: "A_": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
                r#"subjects[2].apiGroup: Unsupported value: "x": supported values: """#,
                r#"subjects[3].apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io""#,
                "subjects[4].name: Required value",
                r#"subjects[4].kind: Unsupported value: "": supported values: "ServiceAccount", "User", "Group""#,
            ],
        ),
        (
            Kind::ClusterRoleBinding,
            json!({ "roleRef": { "kind": "Role", "name": "a" }, "subjects": [{ "kind": "ServiceAccount", "name": "a" }] }),
            &[
                r#"roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole""#,
                "subjects[0].namespace: Required value",
            ],
        ),
        (
            Kind::ClusterRoleBinding,
            json!({ "roleRef": { "kind": "ClusterRole", "name": "a" }, "subjects": [
                { "kind": "User", "name": "a" }, { "kind": "ServiceAccount", "name": "a", "namespace": "b" },
                { "kind": "Group", "name": "g" },
            ] }),
            &[],
        ),
    ];
    for (kind, object, expected) in cases {
        assert_eq!(errors(kind, object, None), expected);
    }
}

#[test]
fn the_role_of_a_binding_stays() {
    let old = binding("Role", "reader", json!([]));
    let other = errors(Kind::RoleBinding, binding("Role", "other", json!([])), Some(&old));
    let message = r#"roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"other"}: cannot change roleRef"#;
    assert_eq!(other, [message]);
    let mut without_group = old.clone();
    without_group["roleRef"] = json!({ "kind": "Role", "name": "reader" });
    assert_eq!(errors(Kind::RoleBinding, without_group, Some(&old)), [""; 0]);
    let old = binding("ClusterRole", "auth-test-bind", json!([]));
    let error = errors(Kind::ClusterRoleBinding, binding("Role", "other", json!([])), Some(&old));
    assert_eq!(
        error,
        [r#"roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole""#, message]
    );
}

#[test]
fn defaults() {
    let mut given = json!({ "roleRef": { "kind": "Role", "name": "a" }, "subjects": [
        { "kind": "User", "name": "u" }, { "kind": "ServiceAccount", "name": "s" }, { "kind": "Foo", "name": "f" },
    ] });
    set_defaults(Kind::RoleBinding, &mut given);
    assert_eq!(
        given,
        json!({ "roleRef": { "apiGroup": GROUP, "kind": "Role", "name": "a" }, "subjects": [
        { "apiGroup": GROUP, "kind": "User", "name": "u" }, { "kind": "ServiceAccount", "name": "s" },
        { "kind": "Foo", "name": "f" },
    ] })
    );
}
