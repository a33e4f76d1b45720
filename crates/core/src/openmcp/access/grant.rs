//! What an AccessRequest has inside a cluster, with the names of the contract.
//!
//! Everything carries the request, and beside upstream's labels the environment and the provider: two providers on one cluster,
//! or one AccessRequest of the same name in two environments, never touch each other's objects.

use crate::{
    access::grant::Parts,
    openmcp::names::{hash8, label_value},
};
use allotment_api::openmcp::{
    AccessRequest, ObjectReference, OidcProviderConfig, PermissionsRequest, RoleKind, RoleRef,
    gardener::names::{annotation, label},
};
use k8s_openapi::api::rbac::v1::Subject;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The API group of roles and bindings.
const RBAC: &str = "rbac.authorization.k8s.io";

/// Before the name of a subject: no prefix for this one.
const VERBATIM: &str = "::";

/// Who hands access out.
#[derive(Clone, Copy, Debug)]
pub struct Provider<'a> {
    /// The environment.
    pub environment: &'a str,
    /// The name of the provider.
    pub name: &'a str,
    /// The namespace of ServiceAccounts inside clusters.
    pub namespace: &'a str,
    /// How prefixes of OpenID Connect are read.
    pub prefixes: Prefixes,
}

/// How prefixes of OpenID Connect are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prefixes {
    /// A colon is appended where it is missing, as the contract was first written.
    #[default]
    WithColon,
    /// As they are written.
    Verbatim,
}

/// The kinds that a request has objects of, in the order in which they are taken away: what lets people in first.
pub const KINDS: [(&str, &str); 6] = [
    ("authentication.gardener.cloud/v1alpha1", OPENID_CONNECT),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("v1", "ServiceAccount"),
];

/// The kind that tells a cluster of an issuer. It is there where the Shoot has the extension.
pub const OPENID_CONNECT: &str = "OpenIDConnect";

/// An object inside a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Its group and version.
    pub api_version: &'static str,
    /// Its kind.
    pub kind: &'static str,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// All of it.
    pub body: Value,
}

/// What an AccessRequest has inside its cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// Eight characters that stand for the request.
    pub hash: String,
    /// Namespaces that are made where they are missing.
    pub namespaces: Vec<String>,
    /// Everything else, in the order in which it is made.
    pub objects: Vec<Object>,
}

/// What a request has. It is one by token or one by OpenID Connect.
pub fn grant(provider: &Provider<'_>, request: &AccessRequest) -> Grant {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    let (namespace, name) = (part(&request.metadata.namespace), part(&request.metadata.name));
    let hash = hash8(&[provider.environment, provider.name, &namespace, &name]);
    let maker = Maker {
        labels: json!({
            (label::MANAGED_BY_NAME): label_value(&name),
            (label::MANAGED_BY_NAMESPACE): label_value(&namespace),
            (label::PROVIDER_NAME): label_value(provider.name),
            (label::ENVIRONMENT): label_value(provider.environment),
        }),
    };
    let mut grant = Grant { hash, namespaces: Vec::new(), objects: Vec::new() };
    match (&request.spec.token, &request.spec.oidc) {
        (Some(token), _) => {
            grant.namespaces.push(provider.namespace.to_owned());
            let mut account = maker.object(
                "v1",
                "ServiceAccount",
                Some(provider.namespace),
                &grant.hash,
                // No pod runs as it.
                json!({ "automountServiceAccountToken": false }),
            );
            account.body["metadata"]["annotations"] =
                json!({ annotation::REQUEST_UID: request.metadata.uid });
            grant.objects.push(account);
            let subjects =
                json!([{ "kind": "ServiceAccount", "name": grant.hash, "namespace": provider.namespace }]);
            for (number, permission) in token.permissions.iter().enumerate() {
                let fallback = format!("openmcp:permission:{}:{number}", grant.hash);
                let role = maker.role(&mut grant, permission, &fallback);
                let binding = maker.binding(&role.name.clone(), &role, subjects.clone());
                grant.objects.push(binding);
            }
            for (number, role) in token.role_refs.iter().enumerate() {
                let name = format!("openmcp:roleref:{}:{number}", grant.hash);
                grant.objects.push(maker.binding(&name, role, subjects.clone()));
            }
        }
        (None, Some(oidc)) => {
            grant.objects.push(maker.issuer(provider, &oidc.provider, &grant.hash));
            for (number, permission) in oidc.roles.iter().enumerate() {
                let fallback = format!("openmcp:{}:{number}", grant.hash);
                maker.role(&mut grant, permission, &fallback);
            }
            let prefixes = prefixes(provider.prefixes, &oidc.provider);
            for (number, bindings) in oidc.provider.role_bindings.iter().enumerate() {
                let subjects: Vec<Value> =
                    bindings.subjects.iter().map(|subject| prefixed(subject, &prefixes)).collect();
                for (place, role) in bindings.role_refs.iter().enumerate() {
                    let name = format!("openmcp:{}:{number}:{place}", grant.hash);
                    grant.objects.push(maker.binding(&name, role, json!(subjects)));
                }
            }
        }
        (None, None) => (),
    }
    grant
}

/// What is put before users, and before groups.
struct Before {
    users: String,
    groups: String,
}

fn prefixes(rule: Prefixes, provider: &OidcProviderConfig) -> Before {
    let prefix = |given: &Option<String>| match (given.as_deref(), rule) {
        (None, _) => format!("{}:", provider.name),
        (Some(""), _) => String::new(),
        (Some(given), Prefixes::WithColon) if !given.ends_with(':') => format!("{given}:"),
        (Some(given), _) => given.to_owned(),
    };
    Before { users: prefix(&provider.username_prefix), groups: prefix(&provider.groups_prefix) }
}

fn prefixed(subject: &Subject, before: &Before) -> Value {
    let Subject { kind, name, namespace, api_group: _ } = subject;
    let prefix = match kind.as_str() {
        "User" => before.users.as_str(),
        "Group" => before.groups.as_str(),
        _ => return json!({ "kind": kind, "name": name, "namespace": namespace }),
    };
    let name = match name.strip_prefix(VERBATIM) {
        Some(name) => name.to_owned(),
        None => format!("{prefix}{name}"),
    };
    json!({ "kind": kind, "apiGroup": RBAC, "name": name })
}

struct Maker {
    labels: Value,
}

impl Object {
    /// Whether its name is made of the request's own hash, so that no other request has it.
    pub fn has_name_of(&self, grant: &Grant) -> bool {
        self.name.contains(&grant.hash)
    }

    /// Whether what is there was made for another request: one of the same name, that somebody tore away. What an older
    /// provider made does not say for whom.
    pub fn is_of_another(&self, there: &BTreeMap<String, String>) -> bool {
        let wanted = &self.body["metadata"]["annotations"][annotation::REQUEST_UID];
        there.get(annotation::REQUEST_UID).is_some_and(|there| wanted != there.as_str())
    }
}

impl Maker {
    fn object(
        &self,
        api_version: &'static str,
        kind: &'static str,
        namespace: Option<&str>,
        name: &str,
        body: Value,
    ) -> Object {
        let mut metadata =
            Map::from_iter([("name".to_owned(), json!(name)), ("labels".to_owned(), self.labels.clone())]);
        if let Some(namespace) = namespace {
            metadata.insert("namespace".to_owned(), json!(namespace));
        }
        let mut body = body;
        body["apiVersion"] = json!(api_version);
        body["kind"] = json!(kind);
        body["metadata"] = Value::Object(metadata);
        Object { api_version, kind, namespace: namespace.map(str::to_owned), name: name.to_owned(), body }
    }

    /// Makes a role, and says what it is called.
    fn role(&self, grant: &mut Grant, permission: &PermissionsRequest, fallback: &str) -> RoleRef {
        let name = permission.name.clone().filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| fallback.to_owned());
        let namespace = permission.namespace.as_deref().filter(|namespace| !namespace.is_empty());
        let kind = if namespace.is_some() { RoleKind::Role } else { RoleKind::ClusterRole };
        if let Some(namespace) = namespace.filter(|_| !permission.disable_automatic_namespace_creation) {
            grant.namespaces.push(namespace.to_owned());
        }
        let body = json!({ "rules": permission.rules });
        grant.objects.push(self.object(
            "rbac.authorization.k8s.io/v1",
            kind.as_str(),
            namespace,
            &name,
            body,
        ));
        RoleRef { name, namespace: namespace.map(str::to_owned), kind }
    }

    fn binding(&self, name: &str, role: &RoleRef, subjects: Value) -> Object {
        let (kind, namespace) = match role.kind {
            RoleKind::Role => ("RoleBinding", role.namespace.as_deref()),
            RoleKind::ClusterRole => ("ClusterRoleBinding", None),
        };
        let role_ref = json!({ "apiGroup": RBAC, "kind": role.kind.as_str(), "name": role.name });
        let body = json!({ "roleRef": role_ref, "subjects": subjects });
        self.object("rbac.authorization.k8s.io/v1", kind, namespace, name, body)
    }

    fn issuer(&self, provider: &Provider<'_>, oidc: &OidcProviderConfig, hash: &str) -> Object {
        let before = prefixes(provider.prefixes, oidc);
        // A hyphen switches a prefix off.
        let or_none = |prefix: String| if prefix.is_empty() { "-".to_owned() } else { prefix };
        let spec = json!({
            "issuerURL": oidc.issuer,
            "audiences": [oidc.client_id],
            "usernameClaim": oidc.username_claim,
            "usernamePrefix": or_none(before.users),
            "groupsClaim": oidc.groups_claim,
            "groupsPrefix": or_none(before.groups),
        });
        self.object(
            "authentication.gardener.cloud/v1alpha1",
            OPENID_CONNECT,
            None,
            hash,
            json!({ "spec": spec }),
        )
    }
}

/// The kubeconfig of who logs in by OpenID Connect: it holds no secret.
pub fn login(cluster: &ObjectReference, parts: &Parts<'_>, oidc: &OidcProviderConfig) -> Value {
    let name = format!("{}--{}", cluster.namespace, cluster.name);
    let context = format!("{name}--{}", oidc.name);
    let mut arguments = vec![
        "oidc-login".to_owned(),
        "get-token".to_owned(),
        "--grant-type=auto".to_owned(),
        format!("--oidc-issuer-url={}", oidc.issuer),
        format!("--oidc-client-id={}", oidc.client_id),
    ];
    arguments.extend(oidc.extra_scopes.iter().map(|scope| format!("--oidc-extra-scope={scope}")));
    arguments.push("--oidc-pkce-method=auto".to_owned());
    let mut to = json!({ "server": parts.server });
    for (key, value) in [("tls-server-name", parts.tls_server_name), ("certificate-authority-data", parts.ca)]
    {
        if let Some(value) = value {
            to[key] = json!(value);
        }
    }
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": name, "cluster": to }],
        "contexts": [{ "name": context, "context": { "cluster": name, "user": oidc.name } }],
        "current-context": context,
        "users": [{ "name": oidc.name, "user": { "exec": {
            "apiVersion": "client.authentication.k8s.io/v1beta1", "command": "kubectl", "args": arguments,
        }}}],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(environment: &str) -> Provider<'_> {
        Provider { environment, name: "gardener", namespace: "accessrequests", prefixes: Prefixes::WithColon }
    }

    fn request(spec: Value) -> AccessRequest {
        serde_json::from_value(json!({
            "apiVersion": "clusters.openmcp.cloud/v1alpha1",
            "kind": "AccessRequest",
            "metadata": {"name": "a", "namespace": "n"},
            "spec": spec,
        }))
        .unwrap()
    }

    fn shown(grant: &Grant) -> Vec<String> {
        let one = |object: &Object| {
            let namespace =
                object.namespace.as_deref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
            format!("{} {namespace}{}", object.kind, object.name.replace(&grant.hash, "H"))
        };
        grant.objects.iter().map(one).collect()
    }

    #[test]
    fn a_token_has_the_names_of_the_contract() {
        let grant = grant(
            &provider("prod"),
            &request(json!({"token": {
                "permissions": [
                    {"rules": []},
                    {"name": "own", "namespace": "x", "rules": []},
                    {"namespace": "y", "disableAutomaticNamespaceCreation": true, "rules": []},
                ],
                "roleRefs": [{"kind": "ClusterRole", "name": "admin"}, {"kind": "Role", "name": "r", "namespace": "z"}],
            }})),
        );
        assert_eq!(grant.hash, hash8(&["prod", "gardener", "n", "a"]));
        assert_eq!(grant.namespaces, ["accessrequests", "x"]);
        assert_eq!(
            shown(&grant),
            [
                "ServiceAccount accessrequests/H",
                "ClusterRole openmcp:permission:H:0",
                "ClusterRoleBinding openmcp:permission:H:0",
                "Role x/own",
                "RoleBinding x/own",
                "Role y/openmcp:permission:H:2",
                "RoleBinding y/openmcp:permission:H:2",
                "ClusterRoleBinding openmcp:roleref:H:0",
                "RoleBinding z/openmcp:roleref:H:1",
            ]
        );
    }

    fn oidc(prefix: Option<&str>) -> AccessRequest {
        let mut oidc = json!({
            "name": "idp", "issuer": "https://issuer.example.com", "clientID": "c", "extraScopes": ["groups"],
            "roleBindings": [{
                "subjects": [
                    {"kind": "User", "name": "ann"}, {"kind": "Group", "name": "::verbatim"},
                    {"kind": "ServiceAccount", "name": "s", "namespace": "t"},
                ],
                "roleRefs": [{"kind": "ClusterRole", "name": "admin"}],
            }],
        });
        if let Some(prefix) = prefix {
            oidc["usernamePrefix"] = json!(prefix);
        }
        request(json!({"oidc": oidc}))
    }

    #[test]
    fn users_get_the_prefix_of_their_provider() {
        let user = |request: &AccessRequest, prefixes: Prefixes| {
            let grant = grant(&Provider { prefixes, ..provider("prod") }, request);
            let binding = grant.objects.iter().find(|object| object.kind == "ClusterRoleBinding").unwrap();
            let names: Vec<String> = binding.body["subjects"]
                .as_array()
                .unwrap()
                .iter()
                .map(|subject| subject["name"].as_str().unwrap().to_owned())
                .collect();
            let issuer = &grant.objects[0].body["spec"]["usernamePrefix"];
            (names, issuer.as_str().unwrap().to_owned())
        };
        let expected = |name: &str, prefix: &str| {
            (vec![name.to_owned(), "verbatim".to_owned(), "s".to_owned()], prefix.to_owned())
        };
        assert_eq!(user(&oidc(None), Prefixes::Verbatim), expected("idp:ann", "idp:"));
        assert_eq!(user(&oidc(Some("x")), Prefixes::WithColon), expected("x:ann", "x:"));
        assert_eq!(user(&oidc(Some("x")), Prefixes::Verbatim), expected("xann", "x"));
        assert_eq!(user(&oidc(Some("")), Prefixes::WithColon), expected("ann", "-"));
    }

    #[test]
    fn g6_two_environments_never_meet() {
        let request = oidc(None);
        let (one, other) = (grant(&provider("dev"), &request), grant(&provider("prod"), &request));
        assert_ne!(one.hash, other.hash);
        for object in &one.objects {
            assert_eq!(object.body["metadata"]["labels"][label::ENVIRONMENT], "dev");
        }
    }

    #[test]
    fn a_login_holds_no_secret_and_asks_for_the_scopes() {
        let request = oidc(None);
        let cluster = ObjectReference { name: "c".to_owned(), namespace: "n".to_owned() };
        let parts = Parts {
            cluster: "",
            server: "https://e",
            tls_server_name: None,
            ca: Some("Q0E="),
            namespace: None,
        };
        let login = login(&cluster, &parts, &request.spec.oidc.as_ref().unwrap().provider);
        assert_eq!(login["current-context"], "n--c--idp");
        let arguments = login["users"][0]["user"]["exec"]["args"].as_array().unwrap();
        assert!(arguments.contains(&json!("--oidc-extra-scope=groups")));
    }
}
