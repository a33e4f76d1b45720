use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

/// In base64, and plain: neither may show.
const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\nhush-hush\n-----END RSA PRIVATE KEY-----\n";
const TOKEN: &str = "hush-hush-token";

fn encoded(text: &str) -> String {
    BASE64_STANDARD.encode(text)
}

fn with_token() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "contexts": [{ "name": "main", "context": { "cluster": "c", "user": "u" } }],
        "clusters": [{ "name": "c", "cluster": {
            "server": "https://api.example.com:6443", "certificate-authority-data": encoded(CERTIFICATE),
        } }],
        "users": [{ "name": "u", "user": { "token": TOKEN } }],
    })
}

fn with_certificate() -> Value {
    let mut file = with_token();
    file["users"][0]["user"] = json!({
        "client-certificate-data": encoded(CERTIFICATE), "client-key-data": encoded(KEY),
    });
    file
}

fn with(path: &str, value: Value) -> Value {
    let mut file = with_token();
    set(&mut file, path, value);
    file
}

fn set(file: &mut Value, path: &str, value: Value) {
    let (parent, last) = path.rsplit_once('/').unwrap();
    file.pointer_mut(parent).unwrap()[last] = value;
}

fn read_value(file: &Value) -> Result<Given, Refusal> {
    read(file.to_string().as_bytes())
}

#[track_caller]
fn refused(file: &Value, field: &str, fault: Fault) {
    let refusal = read_value(file).unwrap_err();
    assert_eq!(refusal, Refusal { field: field.to_owned(), fault }, "{refusal}");
    for text in [refusal.to_string(), format!("{refusal:?}")] {
        assert!(!text.contains("hush"), "{text}");
        assert!(!text.contains(&encoded(KEY)), "{text}");
    }
}

#[test]
fn a_token_is_taken() {
    let given = read_value(&with_token()).unwrap();
    assert_eq!(given.server, "https://api.example.com:6443");
    assert_eq!(given.ca.as_deref(), Some(CERTIFICATE));
    assert_eq!(given.tls_server_name, None);
    assert!(matches!(&given.credentials, Credentials::Token(token) if token.expose_secret() == TOKEN));
    assert!(!format!("{given:?}").contains("hush"));
}

#[test]
fn a_client_certificate_is_taken() {
    let mut file = with_certificate();
    set(&mut file, "/clusters/0/cluster/tls-server-name", json!("kubernetes"));
    let given = read_value(&file).unwrap();
    assert_eq!(given.tls_server_name.as_deref(), Some("kubernetes"));
    let Credentials::Certificate { certificate, key } = &given.credentials else { panic!("{given:?}") };
    assert_eq!((certificate.as_str(), key.expose_secret()), (CERTIFICATE, KEY));
    assert!(!format!("{given:?}").contains("hush"));
}

#[test]
fn the_current_context_decides() {
    let mut file = with_token();
    let list = |file: &mut Value, name: &str, entry: Value| {
        file[name].as_array_mut().unwrap().push(entry);
    };
    list(&mut file, "contexts", json!({ "name": "other", "context": { "cluster": "d", "user": "v" } }));
    list(&mut file, "clusters", json!({ "name": "d", "cluster": { "server": "https://other.example.com" } }));
    list(&mut file, "users", json!({ "name": "v", "user": { "token": "other" } }));
    assert_eq!(read_value(&file).unwrap().server, "https://api.example.com:6443");
    file["current-context"] = json!("other");
    let given = read_value(&file).unwrap();
    assert_eq!((given.server.as_str(), given.ca), ("https://other.example.com", None));
}

#[test]
fn yaml_is_taken_and_what_is_not_needed_is_passed_over() {
    let text = format!(
        "# from a tool\napiVersion: v1\nkind: Config\npreferences: {{colors: true}}\ncurrent-context: a\ncontexts:\n\
         - name: a\n  context: {{cluster: a, user: a, namespace: default, extensions: []}}\nclusters:\n- name: a\n  \
         cluster:\n    server: https://a/k8s/clusters/c-1\n    proxy-url: ''\n    insecure-skip-tls-verify: false\n\
         users:\n- name: a\n  user:\n    token: {TOKEN}\n    exec: null\n"
    );
    assert_eq!(read(text.as_bytes()).unwrap().server, "https://a/k8s/clusters/c-1");
}

#[test]
fn programs_and_files_are_refused() {
    let exec = json!({ "apiVersion": "client.authentication.k8s.io/v1", "command": "hush" });
    for (field, value, fault) in [
        ("exec", exec, Fault::Program),
        ("auth-provider", json!({ "name": "hush" }), Fault::Program),
        ("tokenFile", json!("/hush"), Fault::File("token")),
        ("client-certificate", json!("/hush"), Fault::File("client-certificate-data")),
        ("client-key", json!("hush"), Fault::File("client-key-data")),
        ("username", json!("hush"), Fault::Basic),
        ("password", json!("hush"), Fault::Basic),
        ("as", json!("hush"), Fault::Impersonation),
        ("as-uid", json!("hush"), Fault::Impersonation),
        ("as-groups", json!(["hush"]), Fault::Impersonation),
        ("as-user-extra", json!({ "hush": ["hush"] }), Fault::Impersonation),
    ] {
        refused(
            &with(&format!("/users/0/user/{field}"), value.clone()),
            &format!("users[0].user.{field}"),
            fault,
        );
        // Another reader could use an entry that is not in use here.
        let mut unused = with_token();
        unused["users"].as_array_mut().unwrap().push(json!({ "name": "v", "user": { field: value } }));
        refused(&unused, &format!("users[1].user.{field}"), fault);
    }
}

#[test]
fn detours_to_the_server_are_refused() {
    for (field, value, fault) in [
        ("certificate-authority", json!("/hush"), Fault::File("certificate-authority-data")),
        ("insecure-skip-tls-verify", json!(true), Fault::Insecure),
        ("proxy-url", json!("http://hush:hush@proxy"), Fault::Proxy),
    ] {
        refused(
            &with(&format!("/clusters/0/cluster/{field}"), value.clone()),
            &format!("clusters[0].cluster.{field}"),
            fault,
        );
        let mut unused = with_token();
        unused["clusters"].as_array_mut().unwrap().push(json!({ "name": "d", "cluster": { field: value } }));
        refused(&unused, &format!("clusters[1].cluster.{field}"), fault);
    }
}

#[test]
fn it_must_be_clear_what_is_meant() {
    let which = Fault::Missing("say which of the contexts is meant");
    refused(&with("/current-context", json!("")), "current-context", which);
    refused(&with("/current-context", Value::Null), "current-context", which);
    refused(&with("/current-context", json!("hush")), "current-context", Fault::Unknown("contexts"));
    refused(&with("/contexts", json!([])), "current-context", Fault::Unknown("contexts"));
    for (list, field) in [
        ("contexts", "current-context"),
        ("clusters", "contexts[0].context.cluster"),
        ("users", "contexts[0].context.user"),
    ] {
        let mut twice = with_token();
        let entry = twice[list][0].clone();
        twice[list].as_array_mut().unwrap().push(entry);
        refused(&twice, field, Fault::Ambiguous(list));
    }
    refused(
        &with("/contexts/0/context/cluster", json!("hush")),
        "contexts[0].context.cluster",
        Fault::Unknown("clusters"),
    );
    refused(
        &with("/contexts/0/context", json!({ "cluster": "c" })),
        "contexts[0].context.user",
        Fault::Unknown("users"),
    );
}

#[test]
fn only_https_is_taken() {
    let missing = Fault::Missing("say where the API server is, as https://host:port");
    for (server, fault) in [
        ("", missing),
        ("http://api.example.com", Fault::PlainHttp),
        ("http://localhost.example.com", Fault::PlainHttp),
        ("http://10.0.0.1", Fault::PlainHttp),
        ("http://localhost:8080", Fault::PlainHttp),
        ("http://127.0.0.1:1", Fault::PlainHttp),
        ("http://[::1]:1", Fault::PlainHttp),
        ("HTTP://api.example.com", Fault::PlainHttp),
        ("api.example.com", Fault::NotAnAddress),
        ("/api", Fault::NotAnAddress),
        ("unix://hush/sock", Fault::NotAnAddress),
        ("https://", Fault::NotAnAddress),
        ("https://a b", Fault::NotAnAddress),
        ("https://hush:hush@api.example.com", Fault::BusyAddress),
        ("https://api.example.com/?hush=1", Fault::BusyAddress),
        ("https://api.example.com/#hush", Fault::BusyAddress),
    ] {
        refused(&with("/clusters/0/cluster/server", json!(server)), "clusters[0].cluster.server", fault);
    }
    for server in
        ["https://localhost:8080", "https://[::1]:1", "https://[fd00::1]:6443", "HTTPS://a.example.com"]
    {
        let given = read_value(&with("/clusters/0/cluster/server", json!(server))).unwrap();
        assert_eq!(given.server, server);
    }
}

#[test]
fn values_that_are_kept_have_a_bound() {
    let long = |bytes: usize| "x".repeat(bytes);
    let server = format!("https://{}", long(LONGEST_SERVER_BYTES));
    let ca = encoded(&format!("-----BEGIN CERTIFICATE-----{}", long(LONGEST_CA_BYTES)));
    for (field, value, most) in [
        ("server", server, LONGEST_SERVER_BYTES),
        ("tls-server-name", long(LONGEST_NAME_BYTES + 1), LONGEST_NAME_BYTES),
        ("certificate-authority-data", ca, LONGEST_CA_BYTES),
    ] {
        let mut file = with("/clusters/0/cluster/server", json!("https://a.example.com"));
        file["clusters"][0]["cluster"][field] = json!(value);
        refused(&file, &format!("clusters[0].cluster.{field}"), Fault::TooLong(most));
    }
    let text = long(LONGEST_TEXT_BYTES + 1);
    assert_eq!(read(text.as_bytes()).unwrap_err().fault, Fault::TooLong(LONGEST_TEXT_BYTES));
}

#[test]
fn credentials_must_be_complete_and_of_one_kind() {
    let none = Fault::Missing("it has no credentials: give a token or a client certificate");
    refused(&with("/users/0/user", json!({})), "users[0].user", none);
    refused(&with("/users/0/user/token", json!("")), "users[0].user", none);
    for token in ["hush hush", "hush\n", "hüsh-hush"] {
        refused(&with("/users/0/user/token", json!(token)), "users[0].user.token", Fault::NotAToken);
    }
    let mut both = with_certificate();
    set(&mut both, "/users/0/user/token", json!(TOKEN));
    refused(&both, "users[0].user.token", Fault::TwoCredentials);
    let without = |field: &str| {
        let mut file = with_certificate();
        file["users"][0]["user"].as_object_mut().unwrap().remove(field);
        file
    };
    refused(
        &without("client-key-data"),
        "users[0].user.client-key-data",
        Fault::Missing("a client certificate is of no use without its key"),
    );
    refused(
        &without("client-certificate-data"),
        "users[0].user.client-certificate-data",
        Fault::Missing("a client key is of no use without its certificate"),
    );
}

#[test]
fn what_should_be_pem_must_be() {
    for wrong in ["hush", "###", &encoded("hush"), KEY] {
        refused(
            &with("/clusters/0/cluster/certificate-authority-data", json!(wrong)),
            "clusters[0].cluster.certificate-authority-data",
            Fault::NotPem("a certificate"),
        );
        let mut file = with_certificate();
        set(&mut file, "/users/0/user/client-key-data", json!(wrong));
        refused(&file, "users[0].user.client-key-data", Fault::NotPem("a private key"));
    }
}

#[test]
fn what_is_not_a_kubeconfig_is_refused_without_quoting_it() {
    for text in
        ["hush", "- hush", "users: {hush: hush}", "users: [{name: [hush]}]", "a: 'hush", "users: hush-hush"]
    {
        let refusal = read(text.as_bytes()).unwrap_err();
        assert!(!format!("{refusal} {refusal:?}").contains("hush"), "{refusal}");
    }
    assert_eq!(read(b"\xff").unwrap_err().fault, Fault::NotText);
    assert_eq!(read(b"").unwrap_err().field, "current-context");
}

proptest! {
    /// Whatever is in it, a refusal does not repeat it.
    #[test]
    fn no_refusal_repeats_the_text(prefix in "[ -~\n]{0,80}", suffix in "[ -~\n]{0,80}") {
        if let Err(refusal) = read(format!("{prefix}hush-hush{suffix}").as_bytes()) {
            prop_assert!(!format!("{refusal} {refusal:?}").contains("hush"), "{}", refusal);
        }
    }
}
