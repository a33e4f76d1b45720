use crate::{Server, User, server::Answer};
use bytes::Bytes;
use http::Request;
use jiff::Timestamp;
use serde_json::{Value, json};

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

struct Cluster(Server);

impl Cluster {
    fn new() -> Self {
        let mut seed = 0_u8;
        let entropy = Box::new(move |bytes: &mut [u8]| {
            seed = seed.wrapping_add(1);
            bytes.fill(seed);
        });
        Self(Server::new(entropy, Timestamp::UNIX_EPOCH))
    }

    /// One in which a policy works on ConfigMaps.
    fn with(spec: Value) -> Self {
        let mut cluster = Self::new();
        cluster.police("p", spec, json!(["Deny"]));
        cluster
    }

    fn police(&mut self, name: &str, mut spec: Value, actions: Value) {
        if spec["matchConstraints"].is_null() {
            let rule = json!({ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"] });
            spec["matchConstraints"] = json!({ "resourceRules": [rule] });
        }
        let (code, body, _) =
            self.send("POST", POLICIES, &json!({ "metadata": { "name": name }, "spec": spec }));
        assert_eq!(code, 201, "{body}");
        let binding = json!({ "policyName": name, "validationActions": actions });
        let (code, body, _) =
            self.send("POST", BINDINGS, &json!({ "metadata": { "name": name }, "spec": binding }));
        assert_eq!(code, 201, "{body}");
    }

    fn send(&mut self, method: &str, path: &str, body: &Value) -> (u16, Value, Vec<String>) {
        self.send_as(User::new("me", ["system:masters"]), method, path, body)
    }

    fn send_as(&mut self, user: User, method: &str, path: &str, body: &Value) -> (u16, Value, Vec<String>) {
        let content_type =
            if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .body(body)
            .unwrap();
        let Answer::Now(reply) = self.0.handle(request, Some(user), Timestamp::UNIX_EPOCH) else {
            panic!("that is a watch");
        };
        self.0.do_chores(Timestamp::UNIX_EPOCH);
        (reply.code, serde_json::from_slice(&reply.body).unwrap_or_default(), reply.warnings)
    }

    /// Creates a ConfigMap, and returns what was said against it.
    fn create(&mut self, name: &str) -> String {
        let map = json!({ "metadata": { "name": name }, "data": { "k": "v" } });
        let (code, body, _) = self.send("POST", MAPS, &map);
        if code == 201 { String::new() } else { body["message"].as_str().unwrap_or_default().to_owned() }
    }
}

#[test]
fn a_policy_works_from_its_binding_to_its_end() {
    let mut cluster = Cluster::new();
    let spec = json!({
        "matchConstraints": { "resourceRules": [
            { "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"] }
        ] },
        "validations": [{ "expression": "object.metadata.name != 'a'", "message": "not a" }],
    });
    cluster.send("POST", POLICIES, &json!({ "metadata": { "name": "p" }, "spec": spec }));
    assert!(cluster.0.policies.is_idle());
    assert_eq!(cluster.create("a"), "");
    cluster.send("DELETE", &format!("{MAPS}/a"), &Value::Null);
    let binding = json!({ "policyName": "p", "validationActions": ["Deny"] });
    cluster.send("POST", BINDINGS, &json!({ "metadata": { "name": "b" }, "spec": binding }));
    assert_eq!(
        cluster.create("a"),
        "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: not a"
    );
    assert_eq!(cluster.create("b"), "");
    cluster.send("DELETE", &format!("{BINDINGS}/b"), &Value::Null);
    assert!(cluster.0.policies.is_idle());
    assert_eq!(cluster.create("a"), "");
}

#[test]
fn a_policy_is_there_again_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let now = Timestamp::UNIX_EPOCH;
    {
        let mut cluster = Cluster::new();
        cluster.0.keep_in(folder.path(), now).unwrap();
        cluster.police(
            "p",
            json!({ "validations": [{ "expression": "false", "message": "no" }] }),
            json!(["Deny"]),
        );
        cluster.0.commit(now).unwrap();
    }
    let mut cluster = Cluster::new();
    cluster.0.keep_in(folder.path(), now).unwrap();
    assert!(cluster.create("a").ends_with("denied request: no"));
}

/// Each name of an expression, in a message.
#[test]
fn expressions_see_the_request() {
    for (expression, said) in [
        ("'' + object.metadata.name", "a"),
        ("string(oldObject == null)", "true"),
        ("request.operation + request.kind.kind + request.resource.resource", "CREATEConfigMapconfigmaps"),
        ("request.name + request.namespace + string(request.dryRun)", "adefaultfalse"),
        ("request.userInfo.username + request.userInfo.groups[0]", "mesystem:masters"),
        ("request.options.kind + string(has(request.subResource))", "CreateOptionsfalse"),
        ("namespaceObject.metadata.name + namespaceObject.status.phase", "defaultActive"),
        ("variables.twice", "aa"),
        ("variables.later", "aa!"),
        // What fails falls back to the message.
        ("variables.broken", "m"),
        ("object.missing + ''", "m"),
    ] {
        let mut cluster = Cluster::with(json!({
            "variables": [
                { "name": "twice", "expression": "string(object.metadata.name) + object.metadata.name" },
                { "name": "later", "expression": "variables.twice + '!'" },
                { "name": "broken", "expression": "string(object.missing.field)" },
            ],
            "validations": [{ "expression": "false", "message": "m", "messageExpression": expression }],
        }));
        let found = cluster.create("a");
        assert_eq!(found.split("denied request: ").nth(1), Some(said), "{expression}: {found}");
    }
}

#[test]
fn a_failure_denies_unless_it_is_ignored() {
    for (failure, expression, said) in [
        (
            "Fail",
            "object.missing == 1",
            "expression 'object.missing == 1' resulted in error: no such key: missing",
        ),
        ("Ignore", "object.missing == 1", ""),
        ("Ignore", "object.kind == 'Other'", "failed expression: object.kind == 'Other'"),
        (
            "Fail",
            "variables.x == 1",
            "expression 'variables.x == 1' resulted in error: composited variable \"x\" fails to evaluate: no such key: gone",
        ),
        (
            "Fail",
            "[1, 2, 3].all(i, lists.range(1000).all(j, lists.range(1000).all(k, true)))",
            "expression '[1, 2, 3].all(i, lists.range(1000).all(j, lists.range(1000).all(k, true)))' resulted in error: operation cancelled: actual cost limit exceeded",
        ),
    ] {
        let mut cluster = Cluster::with(json!({
            "failurePolicy": failure,
            "variables": [{ "name": "x", "expression": "object.gone" }],
            "validations": [{ "expression": expression }],
        }));
        let found = cluster.create("a");
        assert_eq!(found.split("denied request: ").nth(1).unwrap_or_default(), said, "{expression}");
    }
}

#[test]
fn warnings_come_with_answers_and_with_refusals() {
    let mut cluster = Cluster::new();
    let never = |message: &str| json!({ "validations": [{ "expression": "false", "message": message }] });
    cluster.police("w", never("careful"), json!(["Warn"]));
    let map = json!({ "metadata": { "name": "a" } });
    let careful = "Validation failed for ValidatingAdmissionPolicy 'w' with binding 'w': careful";
    let (code, _, warnings) = cluster.send("POST", MAPS, &map);
    assert_eq!((code, warnings), (201, vec![careful.to_owned()]));
    cluster.police("d", never("never"), json!(["Deny"]));
    let (code, _, warnings) = cluster.send("PATCH", &format!("{MAPS}/a"), &json!({ "data": { "k": "v" } }));
    assert_eq!((code, warnings), (422, vec![careful.to_owned()]));
    // A read has nothing to do with it.
    let (code, _, warnings) = cluster.send("GET", &format!("{MAPS}/a"), &Value::Null);
    assert_eq!((code, warnings), (200, Vec::new()));
}

#[test]
fn deletions_one_by_one_and_all_at_once() {
    let mut cluster = Cluster::with(json!({ "validations": [{
        "expression": "object != null || oldObject.metadata.name != 'b'", "reason": "Forbidden",
        "messageExpression": "oldObject.metadata.name + (has(request.name) ? ' by name' : ' among all')",
    }] }));
    for name in ["a", "b", "c"] {
        assert_eq!(cluster.create(name), "");
    }
    let (code, body, _) = cluster.send("DELETE", &format!("{MAPS}/b"), &Value::Null);
    assert_eq!((code, body["reason"].as_str()), (403, Some("Forbidden")));
    assert!(body["message"].as_str().unwrap().ends_with("b by name"), "{body}");
    let (code, body, _) = cluster.send("DELETE", MAPS, &Value::Null);
    assert_eq!(code, 403);
    assert!(body["message"].as_str().unwrap().starts_with("configmaps \"Unknown\" is forbidden"), "{body}");
    assert!(body["message"].as_str().unwrap().ends_with("b among all"), "{body}");
    assert_eq!(cluster.send("GET", &format!("{MAPS}/b"), &Value::Null).0, 200);
}

#[test]
fn the_authorizer_speaks_for_the_caller() {
    let mut cluster = Cluster::with(json!({ "validations": [{
        "expression": "authorizer.requestResource.check('label').allowed()", "message": "may not label",
    }] }));
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let may = |verbs: Value| json!({ "metadata": { "name": "r" }, "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": verbs }] });
    cluster.send("POST", &format!("{rbac}/roles"), &may(json!(["create"])));
    cluster.send("POST", &format!("{rbac}/rolebindings"), &json!({
        "metadata": { "name": "r" }, "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r" },
        "subjects": [{ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann" }],
    }));
    let ann = || User::new("ann", ["staff"]);
    let map = json!({ "metadata": { "name": "a" } });
    assert_eq!(cluster.send_as(ann(), "POST", MAPS, &map).0, 422);
    cluster.send("PUT", &format!("{rbac}/roles/r"), &may(json!(["create", "label"])));
    assert_eq!(cluster.send_as(ann(), "POST", MAPS, &map).0, 201);
}

#[test]
fn a_policy_that_denies_everything_can_be_taken_back() {
    let rule = json!({ "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"] });
    let mut cluster = Cluster::with(json!({
        "matchConstraints": { "resourceRules": [rule] }, "validations": [{ "expression": "false" }],
    }));
    assert_ne!(cluster.create("a"), "");
    assert_eq!(cluster.send("POST", "/api/v1/namespaces", &json!({ "metadata": { "name": "n" } })).0, 422);
    assert_eq!(cluster.send("DELETE", &format!("{BINDINGS}/p"), &Value::Null).0, 200);
    assert_eq!(cluster.create("a"), "");
}

#[test]
fn a_variable_that_asks_for_itself_ends() {
    let mut cluster = Cluster::with(json!({
        "variables": [{ "name": "x", "expression": "true" }, { "name": "x", "expression": "variables.x" }],
        "validations": [{ "expression": "variables.x" }],
    }));
    assert!(cluster.create("a").contains("no such key: x"));
}

#[test]
fn what_does_not_compile_is_refused() {
    let mut cluster = Cluster::new();
    for (expression, why) in [
        ("object.x", "must evaluate to bool but got dyn"),
        (
            "other == 1",
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'other' (in container '')\n | other == 1\n | ^",
        ),
        (
            "request.other == 1",
            "compilation failed: ERROR: <input>:1:8: undefined field 'other'\n | request.other == 1\n | .......^",
        ),
        (
            "request == 1",
            "compilation failed: ERROR: <input>:1:9: found no matching overload for '_==_' applied to '(kubernetes.AdmissionRequest, int)'\n | request == 1\n | ........^",
        ),
        ("params.x == 1", "undeclared reference to 'params'"),
        ("variables.x == 1", "undeclared reference to 'variables'"),
    ] {
        let rule = json!({ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"] });
        let spec = json!({ "matchConstraints": { "resourceRules": [rule] }, "validations": [{ "expression": expression }] });
        let (code, body, _) =
            cluster.send("POST", POLICIES, &json!({ "metadata": { "name": "p" }, "spec": spec }));
        assert_eq!(code, 422);
        let message = body["details"]["causes"][0]["message"].as_str().unwrap();
        assert!(message.contains(why), "{expression}: {message}");
    }
}

#[test]
fn controllers_are_not_exempt_unless_a_policy_says_so() {
    for exempt in [false, true] {
        let mut cluster = Cluster::new();
        let kept = "object != null || oldObject.metadata.name != 'kept'";
        let by_controller = "request.userInfo.username.startsWith('system:serviceaccount:kube-system:')";
        let expression = if exempt { format!("{kept} || {by_controller}") } else { kept.to_owned() };
        cluster.police("p", json!({ "validations": [{ "expression": expression }] }), json!(["Deny"]));
        let owner = json!({ "metadata": { "name": "owner" } });
        let (_, owner, _) = cluster.send("POST", MAPS, &owner);
        let owners = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"],
        }]);
        cluster.send("POST", MAPS, &json!({ "metadata": { "name": "kept", "ownerReferences": owners } }));
        cluster.send("POST", "/api/v1/namespaces", &json!({ "metadata": { "name": "n" } }));
        let there = "/api/v1/namespaces/n/configmaps";
        cluster.send("POST", there, &json!({ "metadata": { "name": "kept" } }));
        cluster.send("DELETE", &format!("{MAPS}/owner"), &Value::Null);
        cluster.send("DELETE", "/api/v1/namespaces/n", &Value::Null);
        let code = if exempt { 404 } else { 200 };
        for path in [format!("{MAPS}/kept"), format!("{there}/kept"), "/api/v1/namespaces/n".to_owned()] {
            assert_eq!(cluster.send("GET", &path, &Value::Null).0, code, "{path}");
        }
        // What was held goes as soon as nothing is in its way.
        cluster.send("DELETE", &format!("{BINDINGS}/p"), &Value::Null);
        for path in [format!("{MAPS}/kept"), "/api/v1/namespaces/n".to_owned()] {
            assert_eq!(cluster.send("GET", &path, &Value::Null).0, 404, "{path}");
        }
    }
}
