//! The expectations are what kube-apiserver 1.36.3 answered to the same requests.

use super::*;
use crate::auth::rbac::tests::{NAMESPACE, recorded};

fn ask(kind: &str, user: &User, body: Value) -> Result<Value, ApiError> {
    let now = "2026-11-15T10:15:33.25Z".parse().unwrap();
    review(&recorded(), kind, NAMESPACE, user, &body, now)
}

fn alice() -> User {
    User::new("alice", ["system:authenticated"])
}

fn spec(spec: Value) -> Value {
    json!({ "apiVersion": "authorization.k8s.io/v1", "spec": spec })
}

const LOCAL: &str = "LocalSubjectAccessReview";
const SUBJECT: &str = "SubjectAccessReview";
const OWN: &str = "SelfSubjectAccessReview";

#[test]
fn an_answer_repeats_the_question() {
    let asked = json!({ "verb": "list", "resource": "configmaps", "namespace": NAMESPACE });
    let status = json!({
        "allowed": true,
        "reason": r#"RBAC: allowed by RoleBinding "reader/auth-test" of Role "reader" to User "alice""#,
    });
    assert_eq!(
        ask(OWN, &alice(), spec(json!({ "resourceAttributes": asked, "x": 1 }))).unwrap(),
        json!({
            "kind": OWN, "apiVersion": "authorization.k8s.io/v1", "metadata": {},
            "spec": { "resourceAttributes": asked }, "status": status,
        })
    );
    assert_eq!(
        ask(LOCAL, &User::anonymous(), spec(json!({ "resourceAttributes": asked, "user": "alice" })))
            .unwrap(),
        json!({
            "kind": LOCAL, "apiVersion": "authorization.k8s.io/v1", "metadata": { "namespace": NAMESPACE },
            "spec": { "resourceAttributes": asked, "user": "alice" }, "status": status,
        })
    );
}

#[test]
fn answers() {
    let list = json!({ "verb": "list", "resource": "configmaps", "namespace": NAMESPACE });
    let health = json!({ "verb": "get", "path": "/healthz" });
    let group = r#"RBAC: allowed by RoleBinding "reader/auth-test" of Role "reader" to Group "readers""#;
    let missing = r#"RBAC: [clusterrole.rbac.authorization.k8s.io "auth-test-missing" not found, role.rbac.authorization.k8s.io "missing" not found]"#;
    let dana = User::new("dana", ["system:authenticated"]);
    let cases = [
        (
            OWN,
            &alice(),
            json!({ "resourceAttributes": { "verb": "list", "resource": "secrets" } }),
            json!({ "allowed": false }),
        ),
        (OWN, &alice(), json!({ "resourceAttributes": {} }), json!({ "allowed": false })),
        (
            OWN,
            &alice(),
            json!({ "nonResourceAttributes": { "verb": "get", "path": "/metrics" } }),
            json!({ "allowed": false }),
        ),
        (OWN, &dana, json!({ "resourceAttributes": list }), json!({ "allowed": false, "reason": missing })),
        (
            OWN,
            &User::new("admin", ["system:masters"]),
            json!({ "resourceAttributes": { "verb": "*" } }),
            json!({ "allowed": true }),
        ),
        (
            SUBJECT,
            &alice(),
            json!({ "resourceAttributes": list, "groups": ["readers"] }),
            json!({ "allowed": true, "reason": group }),
        ),
        (
            SUBJECT,
            &alice(),
            json!({ "resourceAttributes": list, "user": "m", "groups": ["system:masters"] }),
            json!({ "allowed": true }),
        ),
        // Who is asked about is in no group that is not named.
        (
            SUBJECT,
            &alice(),
            json!({ "nonResourceAttributes": health, "user": "alice", "groups": ["g"] }),
            json!({ "allowed": false }),
        ),
        (
            OWN,
            &alice(),
            json!({ "resourceAttributes": {
                "verb": "list", "resource": "configmaps", "namespace": NAMESPACE,
                "labelSelector": { "requirements": [{ "key": "a", "operator": "In", "values": ["b"] }] },
                "fieldSelector": { "requirements": [{ "key": "metadata.name", "operator": "Exists" }] },
            } }),
            json!({
                "allowed": true,
                "reason": r#"RBAC: allowed by RoleBinding "reader/auth-test" of Role "reader" to User "alice""#,
                "evaluationError": "spec.resourceAttributes.fieldSelector ignored due to parse error",
            }),
        ),
    ];
    for (kind, user, asked, status) in cases {
        assert_eq!(ask(kind, user, spec(asked.clone())).unwrap()["status"], status, "{kind} {asked}");
    }
}

#[test]
fn refusals() {
    let path = json!({ "path": "/x", "verb": "get" });
    let list = json!({ "verb": "list", "resource": "configmaps" });
    let exactly = "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified";
    let at_least = r#"spec.user: Invalid value: "": at least one of user or group must be specified"#;
    let cases = [
        (OWN, spec(json!({})), exactly.to_owned()),
        (OWN, json!({}), exactly.to_owned()),
        (
            OWN,
            spec(json!({ "resourceAttributes": {}, "nonResourceAttributes": path })),
            r#"spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes"#.to_owned(),
        ),
        (
            OWN,
            json!({ "metadata": { "name": "x" }, "spec": { "resourceAttributes": {} } }),
            r#"metadata: Invalid value: {"name":"x"}: must be empty"#.to_owned(),
        ),
        (
            OWN,
            spec(json!({ "resourceAttributes": {
                "fieldSelector": {},
                "labelSelector": { "rawSelector": "a=b", "requirements": [{ "key": "a", "operator": "In", "values": ["b"] }] },
            } })),
            r#"[spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required, spec.resourceAttributes.labelSelector.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements]"#.to_owned(),
        ),
        (SUBJECT, spec(json!({ "resourceAttributes": { "verb": "list" } })), at_least.to_owned()),
        (SUBJECT, spec(json!({})), format!("[{exactly}, {at_least}]")),
        (
            SUBJECT,
            json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "user": "a", "resourceAttributes": {}, "nonResourceAttributes": {} } }),
            r#"[spec.nonResourceAttributes: Invalid value: {"Path":"","Verb":""}: cannot be specified in combination with resourceAttributes, metadata: Invalid value: {"labels":{"a":"b"}}: must be empty]"#.to_owned(),
        ),
        (
            LOCAL,
            spec(json!({ "user": "alice", "resourceAttributes": list })),
            r#"spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace"#.to_owned(),
        ),
        (
            LOCAL,
            spec(json!({ "user": "alice", "resourceAttributes": { "namespace": "default" } })),
            r#"spec.resourceAttributes.namespace: Invalid value: "default": must match metadata.namespace"#.to_owned(),
        ),
        (
            LOCAL,
            spec(json!({ "user": "alice", "nonResourceAttributes": { "verb": "list", "path": "/x" } })),
            r#"spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"list"}: disallowed on this kind of request"#.to_owned(),
        ),
    ];
    for (kind, body, message) in cases {
        let error = ask(kind, &alice(), body.clone()).unwrap_err();
        let expected = format!(r#".authorization.k8s.io "" is invalid: {message}"#);
        assert_eq!((error.code, error.message), (422, expected), "{kind} {body}");
    }
    let elsewhere = json!({ "metadata": { "namespace": "default" }, "spec": { "user": "a", "resourceAttributes": list } });
    let error = ask(LOCAL, &alice(), elsewhere).unwrap_err();
    let message = "the namespace of the provided object does not match the namespace sent on the request";
    assert_eq!((error.code, error.message.as_str()), (400, message));
}

#[test]
fn all_rules_of_somebody() {
    let answer = ask("SelfSubjectRulesReview", &alice(), spec(json!({ "namespace": NAMESPACE }))).unwrap();
    assert_eq!(
        answer,
        json!({
            "kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}, "spec": {},
            "status": {
                "resourceRules": [
                    { "verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"] },
                    { "verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"] },
                    { "verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"] },
                    { "verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["one"] },
                    { "verbs": ["update"], "apiGroups": ["*"], "resources": ["*/status"] },
                ],
                "nonResourceRules": [
                    { "verbs": ["get"], "nonResourceURLs": ["/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/"] },
                    { "verbs": ["get"], "nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"] },
                ],
                "incomplete": false,
            },
        })
    );
    let dana = User::new("dana", ["system:authenticated"]);
    let answer = ask("SelfSubjectRulesReview", &dana, spec(json!({ "namespace": NAMESPACE }))).unwrap();
    assert_eq!(
        answer["status"]["evaluationError"],
        r#"[clusterrole.rbac.authorization.k8s.io "auth-test-missing" not found, role.rbac.authorization.k8s.io "missing" not found]"#
    );
    let error = ask("SelfSubjectRulesReview", &alice(), spec(json!({}))).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (400, "no namespace on request"));
}

#[test]
fn who_am_i() {
    let mut user = User::new("alice", ["g"]);
    user.uid = "77".to_owned();
    user.extra.insert("scopes".to_owned(), vec!["a".to_owned(), "b".to_owned()]);
    let body = json!({ "metadata": { "name": "x" } });
    assert_eq!(
        ask("SelfSubjectReview", &user, body).unwrap(),
        json!({
            "kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1",
            "metadata": { "creationTimestamp": "2026-11-15T10:15:33Z" },
            "status": { "userInfo": {
                "username": "alice", "uid": "77", "groups": ["g", "system:authenticated"],
                "extra": { "scopes": ["a", "b"] },
            } },
        })
    );
}
