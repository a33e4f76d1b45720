//! What is there before anybody begins.

use super::{
    call::Side,
    dice::dice_for,
    eyes::CREDENTIAL,
    rates::account_names,
    script::Options,
    world::{By, GARDEN, SimError, World, entropy},
};
use crate::{cleanup, hostile, subscription};
use allotment_api::crds;
use allotment_apiserver::{ApiServer, Server};
use allotment_core::{
    pool::{Limit, MultiAccount},
    rules,
};
use allotment_operator::subscription::Policy;
use http::Method;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// Which pool a plan goes to.
const RULES: &str = "rule: [aws, 'aws(PR=cf-eu11) -> EU', trial -> S]";

impl World {
    pub(super) fn set_up(&self) -> Result<(), SimError> {
        let must = |side, path: &str, body: &Value| {
            let (code, answer) = self.ask(side, Method::POST, path, Some(body));
            let what = format!("{path} {}", body["metadata"]["name"]);
            if code < 300 { Ok(()) } else { Err(SimError::SetUp { what, code, body: answer.to_string() }) }
        };
        let labels = json!({ "gardener.cloud/role": "project", "project.gardener.cloud/name": "sim" });
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": GARDEN, "labels": labels } });
        must(Side::Garden, "/api/v1/namespaces", &namespace)?;
        let project = json!({ "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Project", "metadata": { "name": "sim" }, "spec": { "namespace": GARDEN } });
        must(Side::Garden, "/apis/core.gardener.cloud/v1beta1/projects", &project)?;
        let is_ours = |crd: &Value| {
            let plural = crd["spec"]["names"]["plural"].as_str();
            plural == Some("subscriptionrequests")
                || (self.options.clusters + self.options.accesses > 0 && plural == Some("accesslocks"))
                || (self.options.clusters > 0 && (is_cluster(crd) || plural == Some("shootadoptions")))
                || (self.options.accesses > 0 && plural == Some("kubeconfigrequests"))
        };
        for crd in crds::all().iter().map(|crd| json!(crd)).filter(is_ours) {
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            must(Side::ControlPlane, path, &crd)?;
        }
        if self.options.hostile > 0 {
            for (side, path, object) in hostile::people::set_up() {
                must(side, &path, &object)?;
            }
        }
        for account in account_names(&self.options) {
            let code = self.add_account(&account);
            if code >= 300 {
                let what = format!("account {account}");
                return Err(SimError::SetUp { what, code, body: String::new() });
            }
        }
        subscription::before::set_up(self);
        if self.options.settle > 0 {
            cleanup::people::set_up(self);
        }
        Ok(())
    }

    /// A control plane of somebody else, with nothing in it but the kind and a namespace.
    pub(super) fn another_control_plane(&self, namespace: &str) -> Result<ApiServer, SimError> {
        let (seed, now) = (self.options.seed, self.clock.clone());
        let server = Server::new(entropy(dice_for(seed, &["another control plane"], 0)), now());
        let server = ApiServer::with(server, now);
        let crds = crds::all().iter().map(|crd| json!(crd)).collect::<Vec<_>>();
        let crd = crds.iter().find(|crd| crd["spec"]["names"]["plural"] == "subscriptionrequests");
        let crd = crd.map(|crd| ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd.clone()));
        let metadata = json!({ "name": namespace });
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata });
        for (path, object) in crd.into_iter().chain([("/api/v1/namespaces", namespace)]) {
            let (code, answer) = self.ask_server(&server, Method::POST, path, Some(&object));
            if code >= 300 {
                return Err(SimError::SetUp { what: path.to_owned(), code, body: answer.to_string() });
            }
        }
        Ok(server)
    }

    /// Puts an account into the pool.
    pub(crate) fn add_account(&self, name: &str) -> u16 {
        let metadata = json!({ "name": name, "namespace": GARDEN });
        let mut data = json!({ "key": CREDENTIAL });
        if self.options.settle > 0 {
            data[cleanup::ACCOUNT] = json!(cleanup::open_account(self, name));
        }
        let secret =
            json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data });
        // It may be there from before.
        self.ask(Side::Garden, Method::POST, &format!("/api/v1/namespaces/{GARDEN}/secrets"), Some(&secret));
        self.add_entry(name, name)
    }

    /// Puts an entry into the pool that its name says, with the credentials of an account.
    pub(crate) fn add_entry(&self, name: &str, credentials: &str) -> u16 {
        let cloud = self.options.cloud();
        let mut labels = json!({ "hyperscalerType": cloud });
        match name.as_bytes().first() {
            Some(b'e') => labels["euAccess"] = json!("true"),
            Some(b's') => labels["shared"] = json!("true"),
            _ => (),
        }
        let binding = json!({
            "apiVersion": "security.gardener.cloud/v1alpha1",
            "kind": "CredentialsBinding",
            "metadata": { "name": name, "namespace": GARDEN, "labels": labels },
            "provider": { "type": cloud },
            "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "name": credentials, "namespace": GARDEN },
        });
        let path = format!("/apis/security.gardener.cloud/v1alpha1/namespaces/{GARDEN}/credentialsbindings");
        self.act(By::Other, Method::POST, &path, Some(&binding))
    }
}

fn is_cluster(crd: &Value) -> bool {
    crd["spec"]["names"]["plural"] == "clusters" && crd["spec"]["group"] == "operator.kyma-project.io"
}

pub(super) fn policy(options: &Options) -> Result<Policy, SimError> {
    let wanted = rules::Options { enabled_plans: Some(Vec::new()), ..rules::Options::default() };
    let loaded = rules::load(RULES, &wanted);
    let findings = || SimError::Rules(format!("{:?}", loaded.findings));
    let rules = loaded.rules.clone().ok_or_else(findings)?;
    let allowed = (1..=options.several).map(|number| format!("t{number}")).collect();
    let limits = BTreeMap::from([("default".to_owned(), Limit(options.limit))]);
    let multi_account = MultiAccount { allowed_global_accounts: allowed, limits };
    let cap = Some(options.cap).filter(|cap| *cap > 0);
    Ok(Policy { rules: Arc::new(rules), multi_account, cap, tenancy: Arc::new(hostile::tenancy(options)) })
}
