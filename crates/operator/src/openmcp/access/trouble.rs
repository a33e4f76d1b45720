//! Why a look at a request did not come to its end.

use crate::{
    runtime::{call::CallError, queue::Outcome, work::Obstacle},
    target::TargetTrouble,
};
use allotment_api::openmcp::{
    gardener::names::{AccessReason, Reason},
    names::Reason as CommonReason,
};
use allotment_core::openmcp::access::{Fate, Hitch};
use jiff::Timestamp;

/// Why a look at a request did not come to its end. It is looked at again.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The platform.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The status says what is the matter.
    #[error("{0}")]
    Hitch(String),
    /// The decisions do not come to an end.
    #[error("reconcile did not converge after 12 steps (bug)")]
    Endless,
}

impl Obstacle for Trouble {
    fn category(&self) -> &'static str {
        match self {
            Self::Call(error) => error.category(),
            Self::Hitch(_) => "target-cluster",
            Self::Endless => "bug",
        }
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self::Call(error) if error.is_conflict() => Outcome::Again,
            _ => Outcome::Failed,
        }
    }
}

/// What stands in the way inside a cluster.
#[derive(Debug, thiserror::Error)]
pub(super) enum InsideTrouble {
    /// The cluster.
    #[error(transparent)]
    Target(#[from] TargetTrouble),
    /// It cannot tell who logs in.
    #[error(
        "the cluster does not know the kind OpenIDConnect: its Shoot needs the extension shoot-oidc-service"
    )]
    NoOpenIdConnect,
    /// A namespace.
    #[error(
        "namespace {0} is not there: create it; permissions without disableAutomaticNamespaceCreation have it created, roleRefs never do"
    )]
    NoNamespace(String),
    /// A name.
    #[error(
        "{0} is there and does not belong to this request: give another name, or delete it if nobody needs it"
    )]
    Taken(String),
    /// Something that can only be of a request that was torn away.
    #[error("something is there that was made for another request of this name")]
    LeftBehind,
    /// As many tokens as this were given for the same cause.
    #[error(
        "tokens were issued again and again for the same reason, and the next one waits until {until}: find out who removes or changes \
         the Secret; a change of the request gets one at once"
    )]
    TooManyTokens { until: Timestamp },
    /// What is asked for is no role, or no binding.
    #[error("{0}")]
    Invalid(String),
}

impl InsideTrouble {
    /// What it means for the request. A Shoot that Gardener works on may learn of OpenID Connect yet.
    pub(super) fn hitch(&self, is_ready: bool) -> Hitch {
        let shoot = Reason::ShootClusterInteractionProblem.as_str();
        let (reason, fate) = match self {
            Self::Target(TargetTrouble::NoShoot { .. } | TargetTrouble::OtherShoot { .. }) => {
                (Reason::ShootNotFound.as_str(), Fate::Gone)
            }
            Self::Target(TargetTrouble::NotReady { .. }) => {
                (AccessReason::ClusterNotReady.as_str(), Fate::Passes)
            }
            Self::Target(_) | Self::LeftBehind => (shoot, Fate::Passes),
            Self::NoOpenIdConnect => {
                let fate = if is_ready { Fate::Lasts } else { Fate::Passes };
                (AccessReason::OidcNotSupported.as_str(), fate)
            }
            Self::NoNamespace(_) => (AccessReason::NamespaceMissing.as_str(), Fate::Passes),
            Self::Taken(_) => (AccessReason::NameTaken.as_str(), Fate::Passes),
            Self::TooManyTokens { .. } => (AccessReason::TooManyTokens.as_str(), Fate::Passes),
            Self::Invalid(_) => (CommonReason::ConfigurationProblem.as_str(), Fate::Lasts),
        };
        Hitch { reason, message: self.to_string(), fate }
    }
}
