//! What a cluster has from the beginning.

use crate::{
    auth::{
        rbac::{self, Rbac},
        token::TokenSigner,
    },
    chores::Chores,
    kinds::Kinds,
    meta,
    policy::Policies,
    server::{Entropy, Server},
    store::Store,
};
use jiff::Timestamp;
use serde_json::{Value, json};

/// Who signs tokens.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc";

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

impl Server {
    /// A fresh cluster: namespaces, roles, and nothing else. `entropy` makes UIDs, names and the key that signs tokens.
    pub fn new(mut entropy: Entropy, now: Timestamp) -> Self {
        let mut key = [0_u8; 32];
        entropy(&mut key);
        let mut server = Self {
            store: Store::default(),
            kinds: Kinds::builtin(),
            rbac: Rbac::default(),
            tokens: TokenSigner::new(ISSUER, &key),
            chores: Chores::default(),
            policies: Policies::default(),
            warned: Vec::new(),
            extensions: Vec::new(),
            entropy,
            root_ca: String::new(),
            state: None,
            lost: None,
            #[cfg(feature = "planted")]
            planted: None,
        };
        for name in NAMESPACES {
            let mut namespace = json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": { "name": name, "labels": { "kubernetes.io/metadata.name": name } },
                "spec": { "finalizers": ["kubernetes"] }, "status": { "phase": "Active" },
            });
            server.begin_with("", "namespaces", &mut namespace, now);
        }
        for (kind, mut object) in rbac::bootstrap_objects() {
            server.begin_with(rbac::GROUP, kind.resource(), &mut object, now);
        }
        server.do_chores(now);
        server
    }

    fn begin_with(&mut self, group: &str, plural: &str, object: &mut Value, now: Timestamp) {
        let Some(resource) = self.kinds.get(group, "v1", plural).cloned() else { return };
        let uid = self.new_uid();
        let namespace = meta::text(object, "namespace").to_owned();
        meta::prepare_create(object, &namespace, &uid, now);
        self.keep_quietly(&resource, object.clone());
    }

    /// The CA bundle that clients inside the cluster get, as `kube-root-ca.crt` in every namespace made from now on.
    pub(crate) fn set_root_ca(&mut self, bundle: &str) {
        self.root_ca = bundle.to_owned();
    }
}
