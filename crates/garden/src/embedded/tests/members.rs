//! Users of a garden who may not do everything, and projects with rules of their own. The words were compared with those
//! of gardener-apiserver 1.150.0.

use super::{Client, SHOOTS, admin, shoot};
use allotment_apiserver::auth::User;
use serde_json::{Value, json};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const BINDINGS: &str = "/apis/security.gardener.cloud/v1alpha1/namespaces/garden-kyma/credentialsbindings";

/// May do everything with Gardener's kinds, and read no Secrets.
fn alice(client: &mut Client) -> User {
    let groups = ["core.gardener.cloud", "security.gardener.cloud"];
    let rules = json!([{ "apiGroups": groups, "resources": ["*"], "verbs": ["*"] }]);
    client.must(
        "POST",
        &format!("{RBAC}/clusterroles"),
        &json!({ "metadata": { "name": "member" }, "rules": rules }),
    );
    let binding = json!({
        "metadata": { "name": "member" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "member" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice" }],
    });
    client.must("POST", &format!("{RBAC}/clusterrolebindings"), &binding);
    User::new("alice", Vec::<String>::new())
}

fn said((code, answer): (u16, Value)) -> String {
    format!("{code} {}", answer["message"].as_str().unwrap_or_default())
}

#[test]
fn nobody_uses_an_account_that_they_may_not_read() {
    let mut client = Client::new();
    client.user = alice(&mut client);
    let binding = json!({
        "metadata": { "name": "mine" }, "provider": { "type": "aws" },
        "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "name": "aws-01", "namespace": "garden-kyma" },
    });
    let refused = "403 credentialsbindings.security.gardener.cloud \"mine\" is forbidden:  cannot reference a Secret you are not allowed to read";
    assert_eq!(said(client.post(BINDINGS, &binding)), refused);
    let made = client.must("POST", SHOOTS, &shoot());
    assert_eq!(made["metadata"]["annotations"]["gardener.cloud/created-by"], "alice");
    let path = format!("{SHOOTS}/emb-s");
    let other = json!({ "spec": { "credentialsBindingName": "aws-02" } });
    let refused = "403 shoots.core.gardener.cloud \"emb-s\" is forbidden: user \"alice\" is not allowed to read the previously referenced Secret \"garden-kyma/aws-01\"";
    assert_eq!(said(client.patch(&path, &other)), refused);
    let reference = json!({ "apiVersion": "v1", "kind": "Secret", "name": "aws-01" });
    let resources = json!({ "spec": { "resources": [{ "name": "a", "resourceRef": reference }] } });
    let refused = "403 shoots.core.gardener.cloud \"emb-s\" is forbidden: cannot reference a resource you are not allowed to read";
    assert_eq!(said(client.patch(&path, &resources)), refused);
}

#[test]
fn a_project_may_want_two_to_delete_and_give_tolerations() {
    let mut client = Client::new();
    let alice = alice(&mut client);
    let projects = "/apis/core.gardener.cloud/v1beta1/projects";
    let spec = json!({ "spec": {
        "dualApprovalForDeletion": [{ "resource": "shoots", "selector": {} }],
        "tolerations": { "defaults": [{ "key": "d" }], "whitelist": [{ "key": "d" }, { "key": "w", "value": "1" }] },
    } });
    client.must("PATCH", &format!("{projects}/kyma"), &spec);
    let mut object = shoot();
    object["spec"]["tolerations"] = json!([{ "key": "w", "value": "2" }]);
    let refused = "403 shoots.core.gardener.cloud \"emb-s\" is forbidden: error while validating tolerations against allowlist: [spec.tolerations[0]: Forbidden: only the following tolerations are allowed: [d w=1]]";
    assert_eq!(said(client.post(SHOOTS, &object)), refused);
    object["spec"]["tolerations"] = json!([{ "key": "w", "value": "1" }]);
    let made = client.must("POST", SHOOTS, &object);
    assert_eq!(made["spec"]["tolerations"], json!([{ "key": "w", "value": "1" }, { "key": "d" }]));

    let path = format!("{SHOOTS}/emb-s");
    let confirm =
        json!({ "metadata": { "annotations": { "confirmation.gardener.cloud/deletion": "true" } } });
    let confirmed = client.must("PATCH", &path, &confirm);
    assert_eq!(confirmed["metadata"]["annotations"]["deletion.gardener.cloud/confirmed-by"], admin().name);
    let refused = "403 shoots.core.gardener.cloud \"emb-s\" is forbidden: you are not allowed to both confirm the deletion and send the actual DELETE request - another subject must perform the deletion";
    assert_eq!(said(client.call("DELETE", &path, "application/json", &Value::Null)), refused);
    client.user = alice;
    client.must("DELETE", &path, &Value::Null);
}

#[test]
fn the_shoots_of_all_providers_are_accepted() {
    let mut client = Client::new();
    for manifest in [
        include_str!("../../../../../landscape/manifests/shoots/alicloud.yaml"),
        include_str!("../../../../../landscape/manifests/shoots/aws.yaml"),
        include_str!("../../../../../landscape/manifests/shoots/az.yaml"),
        include_str!("../../../../../landscape/manifests/shoots/gcp.yaml"),
        include_str!("../../../../../landscape/manifests/shoots/openstack.yaml"),
    ] {
        let shoot: Value = serde_saphyr::from_str(manifest).unwrap();
        let (code, answer) = client.post(SHOOTS, &shoot);
        assert_eq!(code, 201, "{answer}");
    }
}
