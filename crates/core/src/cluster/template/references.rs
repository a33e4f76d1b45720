//! What a namespace may refer to.

use crate::{glob::matches, pool::Tenant, tenancy::NamespaceRole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// An object in the garden project that tenants may refer to. All tenants share the project and none has rights in it, so
/// nothing there proves whose an object is: only this list does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowedReference {
    /// Its kind: `Secret`, `ConfigMap`, `WorkloadIdentity`; `Extension` for the type of an extension.
    #[schemars(extend("enum" = ["Secret", "ConfigMap", "WorkloadIdentity", "Extension"]))]
    pub kind: String,
    /// Its name, or a pattern with `*`.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The namespaces whose Clusters may refer to it, as names or patterns with `*`; all of them where neither they nor tenants
    /// are set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Vec<String>>,
    /// The tenants in whose namespaces Clusters may refer to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenants: Option<Vec<String>>,
}

impl AllowedReference {
    fn is_for(&self, namespace: &str, own: &BTreeSet<Tenant>) -> bool {
        let Self { kind: _, name: _, namespaces, tenants } = self;
        (namespaces.is_none() && tenants.is_none())
            || namespaces.iter().flatten().any(|pattern| matches(pattern, namespace))
            || tenants.iter().flatten().any(|tenant| own.contains(&Tenant::new(tenant)))
    }
}

/// What whoever writes in a namespace may do with a Shoot.
#[derive(Clone, Debug)]
pub(crate) enum Rights<'a> {
    /// Everything but fields of the renderer's.
    Platform,
    /// What is allowed to tenants, and these references.
    Tenant(Vec<&'a AllowedReference>),
}

impl<'a> Rights<'a> {
    /// The rights of a namespace.
    pub(crate) fn of(role: &NamespaceRole, namespace: &str, references: &'a [AllowedReference]) -> Self {
        match role {
            NamespaceRole::Platform | NamespaceRole::Trusted => Self::Platform,
            NamespaceRole::Tenants(tenants) => {
                Self::Tenant(references.iter().filter(|one| one.is_for(namespace, tenants)).collect())
            }
        }
    }

    pub(super) fn may_refer(&self, kind: &str, name: &str) -> bool {
        match self {
            Self::Platform => true,
            Self::Tenant(references) => {
                let is_it = |one: &&&AllowedReference| one.kind == kind && matches(&one.name, name);
                !name.is_empty() && references.iter().find(is_it).is_some()
            }
        }
    }

    /// The names of a kind that are allowed.
    pub(super) fn names(&self, kind: &str) -> Vec<&'a str> {
        match self {
            Self::Platform => Vec::new(),
            Self::Tenant(references) => {
                let of_kind = references.iter().filter(|one| one.kind == kind);
                of_kind.map(|one| one.name.as_str()).collect()
            }
        }
    }
}
