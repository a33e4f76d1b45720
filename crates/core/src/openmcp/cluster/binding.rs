//! Whether a Shoot may be made in the account that its ProviderConfig names.
//!
//! The account may be one of a pool that Allotment, or somebody else with the same labels, hands out. What its binding says
//! in the garden counts, and it is read live before a Shoot goes into it.

use crate::{
    pool::{Entry, LabelKeys},
    tenancy::NamespaceRole,
};
use serde_json::Value;
use std::{collections::BTreeMap, fmt};

/// The binding of an account: what a Shoot names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// `CredentialsBinding` or `SecretBinding`.
    pub kind: BindingKind,
    /// Its name.
    pub name: String,
}

/// The kinds of bindings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingKind {
    /// Of `security.gardener.cloud`.
    CredentialsBinding,
    /// Of `core.gardener.cloud`, for Kubernetes versions before 1.34.
    SecretBinding,
}

/// What a live read of a binding showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Account {
    /// It is not there.
    Missing,
    /// The login may not read it: why, in the garden's words.
    Unreadable(String),
    /// It is there.
    Found {
        /// Its labels.
        labels: BTreeMap<String, String>,
        /// Why it is in quarantine.
        quarantine: Option<String>,
    },
}

impl Binding {
    /// The binding that a Shoot names. A Shoot without workers has none.
    pub(super) fn of(shoot: &Value) -> Option<Self> {
        let named =
            |field: &str| shoot["spec"][field].as_str().filter(|name| !name.is_empty()).map(str::to_owned);
        let credentials = named("credentialsBindingName").map(|name| (BindingKind::CredentialsBinding, name));
        let secret = || named("secretBindingName").map(|name| (BindingKind::SecretBinding, name));
        credentials.or_else(secret).map(|(kind, name)| Self { kind, name })
    }

    /// Why no Shoot may be made in it, for a Cluster whose namespace has this role.
    pub(super) fn refusal(&self, account: &Account, role: &NamespaceRole) -> Option<String> {
        let (labels, quarantine) = match account {
            Account::Missing => {
                return Some(format!(
                    "the project in the garden has no {self}, which the ProviderConfig names"
                ));
            }
            Account::Unreadable(why) => {
                return Some(format!(
                    "{self}, which the ProviderConfig names, cannot be read, and no Shoot is made in an account that was not \
                     verified. Give the login of the Landscape the right to get {}: {why}",
                    self.kind.plural()
                ));
            }
            Account::Found { labels, quarantine } => (labels, quarantine.as_deref()),
        };
        let keys = LabelKeys::default();
        let entry = Entry::read(labels, quarantine, &keys);
        let refuse =
            |why: String| Some(format!("no Shoot is made in {self}, which the ProviderConfig names: {why}"));
        if entry.internal {
            return refuse(format!("its label {} keeps it from tenants", keys.internal));
        }
        // Whatever its value: pools are selected by the absence of this label.
        if labels.contains_key(&keys.dirty) {
            return refuse(format!("its label {} says that it waits to be cleaned", keys.dirty));
        }
        if let Some(why) = entry.quarantine {
            return refuse(format!("it is in quarantine ({why})"));
        }
        let tenant = entry.tenant?;
        match role {
            NamespaceRole::Tenants(own) if own.contains(&tenant) => None,
            // The message does not say whose: whoever reads it may be another tenant.
            _ => refuse(format!(
                "its label {} gives it to a tenant that the namespace of this Cluster does not belong to",
                keys.tenant_name
            )),
        }
    }
}

impl BindingKind {
    /// As it stands in paths.
    pub fn plural(self) -> &'static str {
        match self {
            Self::CredentialsBinding => "credentialsbindings.security.gardener.cloud",
            Self::SecretBinding => "secretbindings.core.gardener.cloud",
        }
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.kind, self.name)
    }
}
