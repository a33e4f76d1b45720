//! The way into the clusters that are handed out: Shoots, and clusters that users brought.
//!
//! | file | what is in it |
//! |---|---|
//! | `targets` | who has been reached, and one way in at a time for each |
//! | `fetch` | where a way in comes from: the garden, or a Secret |
//! | `connect` | how a kubeconfig becomes a client |
//! | `guard` | which addresses are dialled for clusters that tenants bring |
//! | `reached` | calls into a cluster |
//! | `rbac` | RBAC objects there, compared with the wanted ones |
//! | `administrators`, `check` | what is done there |
//! | `trouble` | why it did not work, without secrets |

pub mod administrators;
mod check;
mod connect;
mod fetch;
mod guard;
pub(crate) mod rbac;
mod reached;
mod targets;
#[cfg(test)]
mod tests;
mod trouble;

pub use check::{Standing, check};
pub(crate) use connect::over_https;
pub use connect::{Connect, ConnectError};
pub(crate) use fetch::{Version, read_secret};
pub use guard::Guard;
pub use reached::Reached;
pub use targets::{Parts, Targets};
pub use trouble::TargetTrouble;

use allotment_api::kyma::SecretKeyReference;
use std::fmt;

/// The key of a Secret that holds a kubeconfig where none is said.
pub const DEFAULT_SECRET_KEY: &str = "kubeconfig";

/// Which cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// One that Gardener makes, in our project.
    Shoot {
        /// Its name.
        name: String,
        /// Which one of that name: one that is made anew is another cluster.
        uid: String,
    },
    /// One that a user brought.
    Byoc {
        /// Of the Secret, in the control plane.
        namespace: String,
        /// Of the Secret.
        secret: String,
        /// Where in the Secret the kubeconfig is.
        key: String,
    },
}

impl Key {
    /// A Shoot of our project.
    pub fn shoot(name: impl Into<String>, uid: impl Into<String>) -> Self {
        Self::Shoot { name: name.into(), uid: uid.into() }
    }

    /// A cluster whose kubeconfig is in a Secret of this namespace.
    pub fn byoc(namespace: impl Into<String>, reference: &SecretKeyReference) -> Self {
        let SecretKeyReference { name, key } = reference;
        let key = key.as_deref().unwrap_or(DEFAULT_SECRET_KEY);
        Self::Byoc { namespace: namespace.into(), secret: name.clone(), key: key.to_owned() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shoot { name, uid: _ } => write!(formatter, "Shoot {name}"),
            Self::Byoc { namespace, secret, key: _ } => {
                write!(formatter, "the cluster of Secret {namespace}/{secret}")
            }
        }
    }
}
