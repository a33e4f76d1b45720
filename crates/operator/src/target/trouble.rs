//! Why a cluster was not reached, or did not do what it was asked for.

use crate::runtime::call::CallError;
use allotment_core::{access::kubeconfig::Refusal, text::one_line};
use std::{error::Error, io, sync::Arc};

/// A server may answer with anything, and what it says ends in conditions.
const LONGEST_CHARACTERS: usize = 500;

/// Why a cluster was not reached, or did not do what it was asked for. Never holds a secret. Cheap to clone: all who
/// wait for the same cluster get the same.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TargetTrouble {
    /// Gardener has not made enough of it yet.
    #[error("Shoot {shoot} cannot be reached yet: {because}")]
    NotReady {
        /// Which.
        shoot: String,
        /// What is missing.
        because: String,
    },
    /// There is no such Shoot.
    #[error("Shoot {shoot} is not there")]
    NoShoot {
        /// Which.
        shoot: String,
    },
    /// The Shoot of this name is not the one that was meant.
    #[error("Shoot {shoot} is gone, and another one has its name")]
    OtherShoot {
        /// Which.
        shoot: String,
    },
    /// There is no such Secret.
    #[error("Secret {namespace}/{secret} is not there: create it, with a kubeconfig under the key {key}")]
    NoSecret {
        /// Its namespace.
        namespace: String,
        /// Its name.
        secret: String,
        /// Where the kubeconfig would be.
        key: String,
    },
    /// The Secret has no such key.
    #[error("Secret {namespace}/{secret} has no key {key}: put the kubeconfig there")]
    NoSecretKey {
        /// Its namespace.
        namespace: String,
        /// Its name.
        secret: String,
        /// Where the kubeconfig would be.
        key: String,
    },
    /// We may not read it.
    #[error(
        "the operators may not read Secret {namespace}/{secret}: add {namespace} to rbac.byocSecretNamespaces of the chart"
    )]
    SecretForbidden {
        /// Its namespace.
        namespace: String,
        /// Its name.
        secret: String,
    },
    /// The kubeconfig is not taken.
    #[error("the kubeconfig of {target} is not taken: {refusal}")]
    Refused {
        /// Which cluster.
        target: String,
        /// Why not.
        refusal: Refusal,
    },
    /// No client could be made of it.
    #[error("cannot make a client for {target}: {because}")]
    NoClient {
        /// Which cluster.
        target: String,
        /// Why not.
        because: String,
    },
    /// An answer that holds a secret, and is not understood. What is wrong with it is not said, since that could quote it.
    #[error("cannot {what}: the answer is not understood")]
    Unreadable {
        /// What was tried.
        what: String,
    },
    /// It does not know us, or no longer.
    #[error("{target} does not take our credentials: {because}")]
    Unauthorized {
        /// Which cluster.
        target: String,
        /// What was tried, and what it said.
        because: String,
    },
    /// It is not who it should be.
    #[error("{target} is not trusted: {because}")]
    Untrusted {
        /// Which cluster.
        target: String,
        /// What is wrong with its certificate.
        because: String,
    },
    /// There is no way to it.
    #[error("{target} does not answer: {because}")]
    Unreachable {
        /// Which cluster.
        target: String,
        /// What is in the way.
        because: String,
    },
    /// Something of others has a name that we need.
    #[error(
        "{what} in {target} is not ours, or is being deleted, and its name is needed: delete it, or remove what holds it"
    )]
    Taken {
        /// Which cluster.
        target: String,
        /// What.
        what: String,
    },
    /// A call failed.
    #[error("{}", shortened(.0))]
    Call(Arc<CallError>),
}

impl TargetTrouble {
    /// One of a few words, for metrics.
    pub fn category(&self) -> &'static str {
        match self {
            Self::NotReady { .. } => "not-ready",
            Self::NoShoot { .. } | Self::OtherShoot { .. } => "gone",
            Self::NoSecret { .. } | Self::NoSecretKey { .. } => "no-secret",
            Self::SecretForbidden { .. } => "forbidden",
            Self::Refused { .. } | Self::NoClient { .. } => "kubeconfig",
            Self::Unreadable { .. } => "unreadable",
            Self::Unauthorized { .. } => "unauthorized",
            Self::Untrusted { .. } => "untrusted",
            Self::Unreachable { .. } => "connection",
            Self::Taken { .. } => "taken",
            Self::Call(error) => error.category(),
        }
    }

    /// Whether only a change of what users gave us helps, so that trying again is of no use before.
    pub fn is_lasting(&self) -> bool {
        match self {
            Self::NoSecret { .. }
            | Self::NoSecretKey { .. }
            | Self::Refused { .. }
            | Self::NoClient { .. } => true,
            Self::NotReady { .. }
            | Self::NoShoot { .. }
            | Self::OtherShoot { .. }
            | Self::SecretForbidden { .. }
            | Self::Unreadable { .. }
            | Self::Unauthorized { .. }
            | Self::Untrusted { .. }
            | Self::Unreachable { .. }
            | Self::Taken { .. }
            | Self::Call(_) => false,
        }
    }
}

impl From<CallError> for TargetTrouble {
    fn from(error: CallError) -> Self {
        Self::Call(Arc::new(error))
    }
}

/// Why no answer came.
pub(super) enum NoAnswer {
    /// One of the two certificates.
    Certificate(String),
    /// The way to it.
    Way(String),
}

/// Why no answer came, if none did. What is on top of such an error says only that something below it failed.
pub(super) fn no_answer(error: &CallError) -> Option<NoAnswer> {
    let CallError::Refused { source, .. } = error else { return None };
    let mut error: &(dyn Error + 'static) = match &**source {
        kube::Error::Service(error) => &**error,
        kube::Error::HyperError(error) => error,
        _ => return None,
    };
    loop {
        if error.is::<rustls::Error>() {
            // It may list every name in the certificate.
            return Some(NoAnswer::Certificate(shortened(&error)));
        }
        // An I/O error passes over what it holds.
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        match held.map(|held| held as &(dyn Error + 'static)).or_else(|| error.source()) {
            Some(below) => error = below,
            None => return Some(NoAnswer::Way(shortened(&error))),
        }
    }
}

/// As much as a person reads, on one line.
pub(super) fn shortened(text: &(impl ToString + ?Sized)) -> String {
    one_line(&text.to_string(), LONGEST_CHARACTERS)
}
