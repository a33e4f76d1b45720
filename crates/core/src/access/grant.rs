//! What there is in a cluster for a KubeconfigRequest, and the kubeconfig itself.
//!
//! Everything carries the request's UID as a label and is found by it, so that nothing is left behind; names follow from the
//! UID, so that an operator that was killed and started again makes the same.

use super::rules::{Mended, normalise};
use allotment_api::{
    kyma::KubeconfigRequest,
    names::{annotation, label},
    rbac::PolicyRule,
};
use k8s_openapi::api::rbac::v1 as rbac;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Where ServiceAccounts and the Secrets of their tokens are.
pub const NAMESPACE: &str = "allotment-access";

/// As much of the name of the request as a person needs to know which it is.
const SLUG_LENGTH: usize = 40;

/// The kinds of object that a grant is made of, beside tokens, in the order in which they are taken away: the bindings first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Binds the ClusterRole.
    ClusterRoleBinding,
    /// Binds the Role.
    RoleBinding,
    /// The rules for the whole cluster.
    ClusterRole,
    /// The rules for one namespace.
    Role,
    /// Who.
    ServiceAccount,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::ClusterRoleBinding, Self::RoleBinding, Self::ClusterRole, Self::Role, Self::ServiceAccount];
}

/// An object of a grant.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// All of it.
    pub body: Value,
}

/// What a KubeconfigRequest grants.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// The name of the ServiceAccount, the roles and the bindings.
    pub name: String,
    /// The request's UID.
    pub uid: String,
    /// The request, for people.
    pub owner: String,
    /// The rules for the whole cluster.
    pub cluster_role: Vec<PolicyRule>,
    /// The rules for one namespace.
    pub role: Vec<PolicyRule>,
    /// That namespace.
    pub namespace: Option<String>,
    /// Whether it is made where it is missing.
    pub creates_namespace: bool,
}

impl Grant {
    /// What a request asks for, and what of it had to be mended.
    pub fn of(request: &KubeconfigRequest) -> (Self, Vec<Mended>) {
        let (metadata, spec) = (&request.metadata, &request.spec);
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        let (namespace, name, uid) = (part(&metadata.namespace), part(&metadata.name), part(&metadata.uid));
        let rules = spec.cluster_role.as_ref().map(|role| role.rules.as_slice()).unwrap_or_default();
        let (cluster_role, mut mended) = normalise("spec.clusterRole.rules", rules);
        let rules = spec.role.as_ref().map(|role| role.rules.as_slice()).unwrap_or_default();
        let (role, more) = normalise("spec.role.rules", rules);
        mended.extend(more);
        let grant = Self {
            name: derived(&namespace, &name, &uid),
            owner: format!("{namespace}/{name}"),
            uid,
            cluster_role,
            role,
            namespace: spec.role.as_ref().map(|role| role.namespace.clone()),
            creates_namespace: spec.role.as_ref().is_some_and(|role| role.create_namespace == Some(true)),
        };
        (grant, mended)
    }

    /// The name of the Secret that the token of this number is bound to.
    pub fn token_secret(&self, number: u32) -> String {
        format!("{}-{number}", self.name)
    }

    /// Whether a Secret of this name is one that a token of this grant is bound to.
    pub fn is_token_secret(&self, name: &str) -> bool {
        let number = name.strip_prefix(self.name.as_str()).and_then(|rest| rest.strip_prefix('-'));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    }

    /// Everything but tokens, in the order in which it is made: the bindings last.
    pub fn objects(&self) -> Vec<Object> {
        let Self { name, .. } = self;
        let subject = json!([{ "kind": "ServiceAccount", "name": name, "namespace": NAMESPACE }]);
        let rules = |rules: &[PolicyRule]| {
            json!(rules.iter().cloned().map(rbac::PolicyRule::from).collect::<Vec<_>>())
        };
        let role_ref =
            |kind: &str| json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name });
        let mut all = vec![self.object(Kind::ServiceAccount, Some(NAMESPACE), json!({}))];
        if !self.cluster_role.is_empty() {
            let body = json!({ "rules": rules(&self.cluster_role) });
            all.push(self.object(Kind::ClusterRole, None, body));
        }
        if let Some(namespace) = self.namespace.as_deref().filter(|_| !self.role.is_empty()) {
            all.push(self.object(Kind::Role, Some(namespace), json!({ "rules": rules(&self.role) })));
            let body = json!({ "roleRef": role_ref("Role"), "subjects": subject });
            all.push(self.object(Kind::RoleBinding, Some(namespace), body));
        }
        if !self.cluster_role.is_empty() {
            let body = json!({ "roleRef": role_ref("ClusterRole"), "subjects": subject });
            all.push(self.object(Kind::ClusterRoleBinding, None, body));
        }
        all
    }

    /// What is common to everything of this grant.
    pub fn metadata(&self, name: &str, namespace: Option<&str>) -> Value {
        let mut metadata = json!({
            "name": name,
            "labels": { (label::KUBECONFIG_REQUEST): self.uid },
            "annotations": { (annotation::KUBECONFIG_REQUEST): self.owner },
        });
        if let Some(namespace) = namespace {
            metadata["namespace"] = json!(namespace);
        }
        metadata
    }

    fn object(&self, kind: Kind, namespace: Option<&str>, mut body: Value) -> Object {
        let (version, word) = match kind {
            Kind::ClusterRoleBinding => ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
            Kind::RoleBinding => ("rbac.authorization.k8s.io/v1", "RoleBinding"),
            Kind::ClusterRole => ("rbac.authorization.k8s.io/v1", "ClusterRole"),
            Kind::Role => ("rbac.authorization.k8s.io/v1", "Role"),
            Kind::ServiceAccount => ("v1", "ServiceAccount"),
        };
        body["apiVersion"] = json!(version);
        body["kind"] = json!(word);
        body["metadata"] = self.metadata(&self.name, namespace);
        if kind == Kind::ServiceAccount {
            // No pod runs as it.
            body["automountServiceAccountToken"] = json!(false);
        }
        Object { kind, namespace: namespace.map(str::to_owned), name: self.name.clone(), body }
    }
}

/// What a kubeconfig is made of.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The Cluster, for people.
    pub cluster: &'a str,
    /// The address.
    pub server: &'a str,
    /// The name in its certificate, where it is not that of the address.
    pub tls_server_name: Option<&'a str>,
    /// Who signed its certificate, in base64.
    pub ca: Option<&'a str>,
    /// The namespace that kubectl works in.
    pub namespace: Option<&'a str>,
}

/// A kubeconfig. JSON, which is YAML; the token is put in by whoever holds it.
pub fn kubeconfig(parts: &Parts<'_>, user: &str, token: &str) -> String {
    let Parts { cluster, server, tls_server_name, ca, namespace } = parts;
    let mut to = json!({ "server": server });
    let mut set = |key: &str, value: Option<&str>| {
        if let Some(value) = value {
            to[key] = json!(value);
        }
    };
    set("tls-server-name", *tls_server_name);
    set("certificate-authority-data", *ca);
    let mut context = json!({ "cluster": cluster, "user": user });
    if let Some(namespace) = namespace {
        context["namespace"] = json!(namespace);
    }
    let all = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": cluster, "cluster": to }],
        "users": [{ "name": user, "user": { "token": token } }],
        "contexts": [{ "name": cluster, "context": context }],
        "current-context": cluster,
    });
    format!("{all:#}\n")
}

/// Of a cluster's address and CA, to notice that they are others.
pub fn place(server: &str, ca: Option<&str>) -> String {
    hash(&[server, ca.unwrap_or_default()], 8)
}

fn derived(namespace: &str, name: &str, uid: &str) -> String {
    let slug: String = format!("{namespace}-{name}")
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .take(SLUG_LENGTH)
        .collect();
    format!("allotment-{}-{}", slug.trim_matches('-'), hash(&[namespace, name, uid], 8))
}

fn hash(parts: &[&str], bytes: usize) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
}
