//! Questions to the authorizer.

use super::*;

pub fn authorizer() -> Vec<Case> {
    let asks = |name: &str, expression: &str| {
        json!({
            "expression": format!("object == null || object.metadata.name != '{name}' || ({expression})"),
            "message": format!("{name} may not")
        })
    };
    let role = |rules: Value| json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "r" }, "rules": rules });
    let bound = |subject: Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "r" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r" },
            "subjects": [subject, { "kind": "ServiceAccount", "name": "bot", "namespace": "{ns}" }]
        })
    };
    let alice = json!({ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "{ns}-alice" });
    let rules = json!([
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get", "update", "label"] },
        { "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine"], "verbs": ["get"] },
        { "apiGroups": ["{group}"], "resources": ["widgets/status"], "verbs": ["own"] }
    ]);
    let secrets = "authorizer.group('').resource('secrets').namespace(request.namespace)";
    let validations = vec![
        asks(
            "group",
            "authorizer.group('').resource('configmaps').namespace(request.namespace).check('label').allowed()",
        ),
        asks(
            "elsewhere",
            "authorizer.group('').resource('configmaps').namespace('default').check('label').allowed()",
        ),
        asks("cluster", "authorizer.group('').resource('configmaps').check('label').allowed()"),
        asks("name", &format!("{secrets}.name('mine').check('get').allowed()")),
        asks("othername", &format!("{secrets}.name('other').check('get').allowed()")),
        asks(
            "sub",
            "authorizer.group('{group}').resource('widgets').subresource('status').namespace('{ns}').check('own').allowed()",
        ),
        asks(
            "nosub",
            "authorizer.group('{group}').resource('widgets').namespace('{ns}').check('own').allowed()",
        ),
        asks("request", "authorizer.requestResource.check('label').allowed()"),
        asks("requestno", "authorizer.requestResource.check('bind').allowed()"),
        asks("path", "authorizer.path('/healthz').check('get').allowed()"),
        asks("pathno", "authorizer.path('/metrics').check('get').allowed()"),
        asks(
            "account",
            "authorizer.serviceAccount('{ns}', 'bot').group('').resource('configmaps').namespace('{ns}').check('get').allowed()",
        ),
        asks(
            "accountno",
            "authorizer.serviceAccount('{ns}', 'other').group('').resource('configmaps').namespace('{ns}').check('get').allowed()",
        ),
        asks("badaccount", "authorizer.serviceAccount('A', 'bot').path('/healthz').check('get').allowed()"),
        asks("badname", "authorizer.serviceAccount('a', 'B').path('/healthz').check('get').allowed()"),
        asks("nopath", "authorizer.path(' ').check('get').allowed()"),
        asks("noresource", "authorizer.group('').resource('').check('get').allowed()"),
        asks("errored", "authorizer.requestResource.check('bind').errored()"),
        asks("error", "authorizer.requestResource.check('bind').error() != ''"),
        asks(
            "selector",
            &format!("{secrets}.labelSelector('a=b').fieldSelector('c=d').check('get').allowed()"),
        ),
        asks("variable", "variables.may.allowed()"),
        json!({
            "expression": "object.metadata.name != 'reason' || authorizer.requestResource.check('label').reason().contains('RBAC: allowed by RoleBinding \"r/{ns}\"')"
        }),
    ];
    let policy = with(
        policy(validations),
        json!({ "spec": { "variables": [{ "name": "may", "expression": "authorizer.requestResource.check('bind')" }] } }),
    );
    let yes = ["group", "name", "sub", "request", "path", "account", "reason"];
    let no = [
        "elsewhere",
        "cluster",
        "othername",
        "nosub",
        "requestno",
        "pathno",
        "accountno",
        "badaccount",
        "badname",
        "nopath",
        "noresource",
        "errored",
        "error",
        "selector",
        "variable",
    ];
    let tried = |name: &str, code: u16| create(CONFIG_MAPS, map(name)).by_user("{ns}-alice").is(code);
    let asked = yes.iter().map(|name| tried(name, 201)).chain(no.iter().map(|name| tried(name, 422)));
    let mut steps = vec![
        create(ROLES, role(rules)),
        create(ROLE_BINDINGS, bound(alice)),
        get(of("none")).by_user("{ns}-alice").until_code(404),
    ];
    steps.extend(asked);
    // Whoever may do everything may do this.
    steps.extend(
        ["cluster", "requestno", "pathno", "variable"].map(|name| create(CONFIG_MAPS, map(name)).is(201)),
    );
    vec![policed("asks_the_authorizer", policy, steps)]
}
