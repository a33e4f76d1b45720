//! Where the credentials of an account are in the garden.

use std::{fmt, sync::Arc};

/// Credentials, as `kind/namespace/name`: two bindings with the same ones are the same account.
pub(super) type Credential = Arc<str>;

/// The one text for credentials, by which entries are compared.
pub(super) fn credential(kind: &str, namespace: &str, name: &str) -> Credential {
    format!("{kind}/{namespace}/{name}").into()
}

/// A kind of credentials that a CredentialsBinding can refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CredentialsKind {
    /// A Secret. SecretBindings, and pools of Secrets, have no other.
    Secret,
    /// A Secret that users of the garden cannot read.
    InternalSecret,
    /// An identity whose tokens the garden signs.
    WorkloadIdentity,
}

impl CredentialsKind {
    const ALL: [Self; 3] = [Self::Secret, Self::InternalSecret, Self::WorkloadIdentity];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "Secret",
            Self::InternalSecret => "InternalSecret",
            Self::WorkloadIdentity => "WorkloadIdentity",
        }
    }

    /// The resource, as a Role names it.
    pub fn resource(self) -> &'static str {
        match self {
            Self::Secret => "secrets",
            Self::InternalSecret => "internalsecrets",
            Self::WorkloadIdentity => "workloadidentities",
        }
    }
}

/// Credentials by their place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CredentialsName {
    /// Their kind.
    pub kind: CredentialsKind,
    /// Their namespace.
    pub namespace: String,
    /// Their name.
    pub name: String,
}

impl CredentialsName {
    /// Reads `kind/namespace/name`; none if the kind is not known.
    pub(super) fn read(credential: &Credential) -> Option<Self> {
        let (kind, rest) = credential.split_once('/')?;
        let (namespace, name) = rest.split_once('/')?;
        let kind = CredentialsKind::ALL.into_iter().find(|known| known.as_str() == kind)?;
        Some(Self { kind, namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

impl fmt::Display for CredentialsName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}/{}", self.kind.as_str(), self.namespace, self.name)
    }
}
