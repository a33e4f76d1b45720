//! `adminkubeconfig` and `viewerkubeconfig`, without HTTPS.

use super::{Client, SHOOTS, now, shoot};
use allotment_apiserver::auth::{
    User,
    certificate::{CertificateAuthority, KeyKind},
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;

use serde_json::{Value, json};
use std::sync::LazyLock;

const INTERNAL_SECRETS: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-kyma/internalsecrets";
const CONFIG_MAPS: &str = "/api/v1/namespaces/garden-kyma/configmaps";

/// Made once: RSA takes its time.
static AUTHORITY: LazyLock<CertificateAuthority> = LazyLock::new(|| {
    let end = now() + SignedDuration::from_hours(24 * 365);
    let mut random = super::super::servers::system_entropy();
    CertificateAuthority::generate(KeyKind::Rsa2048, "clients", now(), end, &mut *random).unwrap()
});

fn base64(text: &str) -> Value {
    json!(ByteString(text.as_bytes().to_vec()))
}

fn decoded(value: &Value) -> String {
    let bytes: ByteString = serde_json::from_value(value.clone()).unwrap();
    String::from_utf8(bytes.0).unwrap()
}

fn ask(client: &mut Client, subresource: &str, body: Value) -> (u16, Value) {
    client.call("POST", &format!("{SHOOTS}/emb-s/{subresource}"), "application/json", &body)
}

fn refusal(client: &mut Client, body: Value) -> String {
    let (code, answer) = ask(client, "adminkubeconfig", body);
    format!("{code} {}", answer["message"].as_str().unwrap_or_default())
}

fn advertise(client: &mut Client, addresses: Value) {
    let status = json!({ "status": { "advertisedAddresses": addresses } });
    client.must("PATCH", &format!("{SHOOTS}/emb-s/status"), &status);
}

fn put_ca(client: &mut Client, certificate: &str, key: &str) {
    client.call("DELETE", &format!("{INTERNAL_SECRETS}/emb-s.ca-client"), "application/json", &Value::Null);
    let secret = json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "InternalSecret",
        "metadata": { "name": "emb-s.ca-client" }, "data": { "ca.crt": base64(certificate), "ca.key": base64(key) },
    });
    client.must("POST", INTERNAL_SECRETS, &secret);
}

fn ready() -> Client {
    let mut client = Client::new();
    client.must("POST", SHOOTS, &shoot());
    advertise(
        &mut client,
        json!([
            { "name": "service-account-issuer", "url": "https://issuer.example.com" },
            { "name": "external", "url": "https://api.example.com:443/path" },
            { "name": "wildcard-tls-seed-bound", "url": "https://seed.example.com" },
        ]),
    );
    put_ca(&mut client, &AUTHORITY.certificate_pem(), &AUTHORITY.key_pem());
    let bundle = json!({ "metadata": { "name": "emb-s.ca-cluster" }, "data": { "ca.crt": "bundle" } });
    client.must("POST", CONFIG_MAPS, &bundle);
    client
}

#[test]
fn what_is_missing_is_named_as_by_the_real_garden() {
    let mut client = Client::new();
    client.must("POST", SHOOTS, &shoot());
    let hour = json!({ "spec": {} });
    let prefix = "422 AdminKubeconfigRequest.authentication.gardener.cloud \"emb-s\" is invalid: status.status: Invalid value: ";
    let suffix = ": no suitable advertised address for kube-apiserver found in .status.advertisedAddresses";
    assert_eq!(refusal(&mut client, hour.clone()), format!("{prefix}null{suffix}"));
    advertise(&mut client, json!([{ "name": "service-account-issuer", "url": "https://127.0.0.1:1" }]));
    let shown = r#"[{"Name":"service-account-issuer","URL":"https://127.0.0.1:1","Application":null}]"#;
    assert_eq!(refusal(&mut client, hour.clone()), format!("{prefix}{shown}{suffix}"));
    advertise(&mut client, json!([{ "name": "external", "url": "https://127.0.0.1:1" }]));
    let internal = "500 Internal error occurred: could not";
    let missing = "get client CA secret: internalsecret.core.gardener.cloud \"emb-s.ca-client\" not found";
    assert_eq!(refusal(&mut client, hour.clone()), format!("{internal} {missing}"));
    let load = format!("{internal} load client CA certificate from secret:");
    for (certificate, key, why) in [
        ("nonsense", "nonsense", "could not decode the PEM-encoded RSA private key"),
        ("nonsense", "-----BEGIN PRIVATE KEY-----", "could not decode the PEM-encoded RSA private key"),
        ("nonsense", &AUTHORITY.key_pem(), "PEM block type must be CERTIFICATE"),
    ] {
        put_ca(&mut client, certificate, key);
        assert_eq!(refusal(&mut client, hour.clone()), format!("{load} {why}"));
    }
    put_ca(&mut client, &AUTHORITY.certificate_pem(), &AUTHORITY.key_pem());
    let missing = "get cluster CA secret: secret \"emb-s.ca-cluster\" not found";
    assert_eq!(refusal(&mut client, hour.clone()), format!("{internal} {missing}"));
    client.must("POST", CONFIG_MAPS, &json!({ "metadata": { "name": "emb-s.ca-cluster" } }));
    assert_eq!(refusal(&mut client, hour), format!("{internal} load cluster CA bundle"));
}

#[test]
fn lives_have_their_limits() {
    let mut client = ready();
    let wrong =
        "422 AdminKubeconfigRequest.authentication.gardener.cloud \"\" is invalid: spec.expirationSeconds: ";
    let of = |seconds: i64| json!({ "spec": { "expirationSeconds": seconds } });
    let short = "Invalid value: 599: may not specify a duration less than 10 minutes";
    assert_eq!(refusal(&mut client, of(599)), format!("{wrong}{short}"));
    let long = "Too long: may not be more than 4294967295 bytes";
    assert_eq!(refusal(&mut client, of(1 << 32)), format!("{wrong}{long}"));
    for (asked, seconds) in [(of(600), 600), (of(90_000), 86_400), (json!({ "spec": {} }), 3_600)] {
        let (code, answer) = ask(&mut client, "adminkubeconfig", asked);
        assert_eq!(code, 201, "{answer}");
        assert_eq!(answer["spec"]["expirationSeconds"], seconds);
        let end: Timestamp = answer["status"]["expirationTimestamp"].as_str().unwrap().parse().unwrap();
        assert_eq!(end, now() + SignedDuration::from_secs(seconds));
    }
    let (code, answer) =
        ask(&mut client, "adminkubeconfig", json!({ "kind": "ViewerKubeconfigRequest", "spec": {} }));
    assert_eq!(code, 400, "{answer}");
}

#[test]
fn a_kubeconfig_has_a_context_for_every_address() {
    let (_, answer) = ask(&mut ready(), "adminkubeconfig", json!({ "spec": {} }));
    assert_eq!(answer["kind"], "AdminKubeconfigRequest");
    let kubeconfig: Value = serde_json::from_str(&decoded(&answer["status"]["kubeconfig"])).unwrap();
    let (first, second) = ("garden-kyma--emb-s-external", "garden-kyma--emb-s-wildcard-tls-seed-bound");
    assert_eq!(kubeconfig["current-context"], first);
    let bundle = base64("bundle");
    assert_eq!(
        kubeconfig["clusters"],
        json!([
            { "name": first, "cluster": { "server": "https://api.example.com:443", "certificate-authority-data": bundle } },
            { "name": second, "cluster": { "server": "https://seed.example.com" } },
        ])
    );
    assert_eq!(
        kubeconfig["contexts"],
        json!([
            { "name": first, "context": { "cluster": first, "user": first } },
            { "name": second, "context": { "cluster": second, "user": first } },
        ])
    );
    assert_eq!(kubeconfig["users"][0]["name"], first);
}

#[test]
fn a_certificate_says_who_asked_and_what_they_may() {
    let mut client = ready();
    let resources = ["shoots/adminkubeconfig", "shoots/viewerkubeconfig"];
    let rule = json!({ "apiGroups": ["core.gardener.cloud"], "resources": resources, "verbs": ["create"] });
    let role = json!({ "metadata": { "name": "member" }, "rules": [rule] });
    client.must("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", &role);
    let binding = json!({
        "metadata": { "name": "member" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "member" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice" }],
    });
    client.must("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding);
    let alice = User::new("alice", Vec::<String>::new());
    for (user, subresource, name, group) in [
        (None, "adminkubeconfig", "gardener.cloud:admin:admin", "gardener.cloud:system:admins"),
        (None, "viewerkubeconfig", "gardener.cloud:viewer:admin", "gardener.cloud:system:viewers"),
        (Some(&alice), "adminkubeconfig", "gardener.cloud:admin:alice", "gardener.cloud:project:admins"),
        (Some(&alice), "viewerkubeconfig", "gardener.cloud:viewer:alice", "gardener.cloud:project:viewers"),
    ] {
        client.user = user.cloned().unwrap_or_else(super::admin);
        let (code, answer) = ask(&mut client, subresource, json!({ "spec": { "expirationSeconds": 600 } }));
        assert_eq!(code, 201, "{answer}");
        let kubeconfig: Value = serde_json::from_str(&decoded(&answer["status"]["kubeconfig"])).unwrap();
        let pem = decoded(&kubeconfig["users"][0]["user"]["client-certificate-data"]);
        let body: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
        let certificate: ByteString = serde_json::from_value(json!(body)).unwrap();
        let certificate = certificate.0;
        let user = AUTHORITY.user_from_certificate(&certificate, now()).unwrap();
        assert_eq!((user.name.as_str(), user.groups[0].as_str()), (name, group));
        let later = now() + SignedDuration::from_secs(601);
        assert_eq!(AUTHORITY.user_from_certificate(&certificate, later), None, "it has run out");
    }
    client.user = User::new("bob", Vec::<String>::new());
    let (code, _) = ask(&mut client, "adminkubeconfig", json!({ "spec": {} }));
    assert_eq!(code, 403);
}
