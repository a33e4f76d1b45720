//! `InternalSecret`: a Secret that users of the garden cannot read.

use k8s_openapi::ByteString;
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// A Secret of Gardener's own.
#[derive(CustomResource, Clone, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "core.gardener.cloud",
    version = "v1beta1",
    kind = "InternalSecret",
    namespaced,
    no_spec,
    schema = "disabled",
    derive = "PartialEq"
)]
pub struct InternalSecretFields {
    /// What is secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, ByteString>,
    /// As with a Secret.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
}

impl fmt::Debug for InternalSecretFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.data.keys().collect();
        f.debug_struct("InternalSecretFields").field("keys", &keys).field("data", &"[redacted]").finish()
    }
}
