//! What the oracle sees: whose everything is, read in a way of its own, not with the operators' code.

use super::{HOSTILE, SECRET, TENANT, USER, is_qualified};
use crate::stage::{
    call::{Call, Side},
    script::Options,
    world::{By, NAMESPACE, World},
};
use allotment_api::names::label;
use allotment_apiserver::ApiServer;
use allotment_core::{
    check::{Isolation, IsolationViolation, OwnedShoot, Violation},
    pool::{AccountName, RequestUid, Tenant},
};
use http::Method;
use serde_json::Value;
use std::collections::BTreeSet;

/// The kinds inside a Shoot that belong to one request.
const PARTS: [&str; 6] = [
    "/api/v1/serviceaccounts",
    "/api/v1/secrets",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    ROLES,
    "/apis/rbac.authorization.k8s.io/v1/rolebindings",
];

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/roles";

/// Fields of a Shoot's spec whose `name` refers to an object of the garden project.
const REFERENCES: [&str; 3] = ["resourceRef", "credentialsRef", "secretRef"];

/// Fields of a Shoot's spec that are such a name.
const NAMES: [&str; 2] = ["secretName", "configMapName"];

/// Who has what before anybody begins.
pub(crate) fn isolation(options: &Options) -> Isolation {
    let honest = (1..=options.tenants).map(|number| Tenant::new(format!("t{number}"))).collect();
    let tenants = [(NAMESPACE.to_owned(), honest), (HOSTILE.to_owned(), [Tenant::new(TENANT)].into())];
    let belongings = [(SECRET, NAMESPACE), (USER, HOSTILE)];
    Isolation {
        tenants: tenants.into_iter().collect(),
        belongings: belongings.into_iter().map(|(what, whose)| (what.to_owned(), whose.to_owned())).collect(),
        ..Isolation::default()
    }
}

impl World {
    /// An object is like this now, or gone.
    pub(crate) fn see_isolation(&self, call: &Call, by: By, object: Option<&Value>) -> Vec<Violation> {
        let is_honest = !self.is_of_hostile(call, object) && call.plural != "credentialsbindings";
        let mut state = self.state();
        let eyes = &mut state.eyes;
        eyes.honest_writes += u64::from(is_honest && by == By::Operator);
        let found = match call.plural.as_str() {
            "clusters" | "kubeconfigrequests" | "subscriptionrequests" => {
                let namespace = if is_qualified(&call.name) { HOSTILE } else { NAMESPACE };
                if let Some(uid) = object.and_then(|object| object["metadata"]["uid"].as_str()) {
                    eyes.isolation.namespaces.insert(uid.to_owned(), namespace.to_owned());
                }
                Vec::new()
            }
            "shoots" => {
                let after = object.map(owned_shoot);
                let found = match &after {
                    Some(after) if by == By::Operator => {
                        eyes.isolation.shoot_write(&call.name, after, &eyes.scene.books)
                    }
                    _ => Vec::new(),
                };
                match after {
                    Some(after) => drop(eyes.isolation.shoots.insert(call.name.clone(), after)),
                    None => drop(eyes.isolation.shoots.remove(&call.name)),
                }
                found
            }
            "configmaps" if call.side == Side::Garden && by == By::Operator && object.is_none() => {
                eyes.isolation.map_deleted(&call.name).into_iter().collect()
            }
            _ => Vec::new(),
        };
        found.into_iter().map(Violation::from).collect()
    }

    /// Whether a call is about something that the hostile tenant has. To be asked before [`World::see_isolation`], which forgets
    /// a Shoot that is gone.
    pub(crate) fn is_of_hostile(&self, call: &Call, object: Option<&Value>) -> bool {
        let state = self.state();
        let isolation = &state.eyes.isolation;
        let is_hostile = |uid: &str| isolation.namespaces.get(uid).is_some_and(|whose| whose == HOSTILE);
        match (call.plural.as_str(), object) {
            ("shoots", Some(object)) => isolation.namespace_of(&owned_shoot(object)) == Some(HOSTILE),
            ("shoots", None) => {
                let known = isolation.shoots.get(&call.name);
                known.and_then(|shoot| isolation.namespace_of(shoot)) == Some(HOSTILE)
            }
            ("configmaps", Some(object)) => {
                object["metadata"]["labels"][label::CLUSTER_UID].as_str().is_some_and(is_hostile)
            }
            _ => is_qualified(&call.name),
        }
    }

    /// Something was written inside a Shoot: whatever is there belongs to the namespace of the Shoot.
    pub(crate) fn see_inside(&self, server: &ApiServer, shoot: &str) {
        let mut found = Vec::new();
        for path in PARTS {
            for part in self.labelled(server, path, label::KUBECONFIG_REQUEST) {
                let metadata = &part["metadata"];
                let Some(request) = metadata["labels"][label::KUBECONFIG_REQUEST].as_str() else { continue };
                let role = metadata["namespace"].as_str().filter(|_| path == ROLES);
                found.extend(self.state().eyes.isolation.grant(shoot, request, role));
            }
        }
        let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
        for binding in self.labelled(server, bindings, label::ADMINISTRATOR) {
            let users = binding["subjects"].as_array().into_iter().flatten();
            for user in users.filter_map(|subject| subject["name"].as_str()) {
                found.extend(self.state().eyes.isolation.administrator(shoot, user));
            }
        }
        self.found(found.into_iter().map(Violation::from).collect());
    }

    /// An operator reads a Secret of the control plane. Nobody honest brings a cluster along, and whoever has a kubeconfig published
    /// to a Secret names it.
    pub(crate) fn see_secret_read(&self, call: &Call) {
        let is_read =
            call.side == Side::ControlPlane && call.method == Method::GET && call.plural == "secrets";
        let is_named = self.state().issued.named.contains(&call.name);
        if is_read && !is_named && !call.name.is_empty() && !is_qualified(&call.name) {
            self.found(vec![IsolationViolation::SecretRead(call.path.clone()).into()]);
        }
    }

    /// At rest, what the platform has locked has nothing.
    pub(crate) fn locked_but_granted(&self) -> Vec<Violation> {
        let (is_locked, isolation) = {
            let state = self.state();
            (state.eyes.locked, state.eyes.isolation.clone())
        };
        let mut found = Vec::new();
        for (name, shoot) in isolation.shoots.iter().filter(|_| is_locked) {
            let server = self.grounds.server(self, &shoot.uid);
            for path in PARTS {
                for part in self.labelled(&server, path, label::KUBECONFIG_REQUEST) {
                    let request = part["metadata"]["labels"][label::KUBECONFIG_REQUEST].as_str();
                    let request = request.unwrap_or_default().to_owned();
                    if isolation.namespaces.get(&request).is_some_and(|whose| whose == HOSTILE) {
                        let what = format!("has something in Shoot {name}");
                        found.push(IsolationViolation::LockedButGranted(request, what).into());
                    }
                }
            }
        }
        found
    }

    /// The Secrets of tokens inside a Shoot, by name.
    pub(crate) fn token_secrets(&self, shoot: &str) -> Vec<String> {
        let server = self.grounds.server(self, shoot);
        let secrets = self.labelled(&server, "/api/v1/secrets", label::KUBECONFIG_REQUEST);
        secrets.iter().filter_map(|secret| secret["metadata"]["name"].as_str().map(str::to_owned)).collect()
    }

    fn labelled(&self, server: &ApiServer, path: &str, label: &str) -> Vec<Value> {
        let path = format!("{path}?labelSelector={label}");
        let (_, list) = self.ask_server(server, Method::GET, &path, None);
        list["items"].as_array().cloned().unwrap_or_default()
    }
}

/// What a request asks for, as the ledger may count it.
pub(crate) fn see_claim(isolation: &mut Isolation, uid: &RequestUid, tenant: Option<&Tenant>) {
    if let Some(tenant) = tenant
        && !isolation.claims.contains_key(uid)
    {
        isolation.claims.insert(uid.clone(), tenant.clone());
    }
}

fn owned_shoot(object: &Value) -> OwnedShoot {
    let labels = &object["metadata"]["labels"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut references = BTreeSet::new();
    collect(&object["spec"], &mut references);
    OwnedShoot {
        uid: text(&object["metadata"]["uid"]).unwrap_or_default(),
        cluster: text(&labels[label::CLUSTER_UID]),
        request: text(&labels[label::SUBSCRIPTION_REQUEST]),
        account: object["spec"]["credentialsBindingName"].as_str().map(AccountName::new),
        references,
    }
}

fn collect(value: &Value, references: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let name = match key.as_str() {
                    key if REFERENCES.contains(&key) => value["name"].as_str(),
                    key if NAMES.contains(&key) => value.as_str(),
                    _ => None,
                };
                references.extend(name.map(str::to_owned));
                collect(value, references);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        _ => (),
    }
}
