//! What must never be true of Clusters and their Shoots.

use crate::pool::{AccountName, RequestUid};
use allotment_api::kyma::ClusterPhase;
use std::fmt;

/// Something that must never be true of a Cluster or its Shoot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Two Shoots of ours are for one request.
    TwoShoots(RequestUid, String, String),
    /// We made a Shoot that no Cluster asks for.
    MadeForNobody(String),
    /// We made a Shoot anew for a Cluster that had one, and nobody said so.
    MadeAgain(String, String),
    /// We wrote to a Shoot that is not ours, with this UID.
    WroteAnothers(String, String),
    /// We moved a Shoot into another account.
    Moved(String, AccountName, AccountName),
    /// We took down the version of Kubernetes.
    TakenDown(String),
    /// We deleted a Shoot whose Cluster is wanted.
    DeletedWhileWanted(String, String),
    /// We deleted a Shoot whose Cluster is protected.
    DeletedWhileProtected(String, String),
    /// We took our finalizer off a Cluster while something of it was left.
    LetGoTooEarly(String, String),
    /// A Cluster is said to be ready, and its Shoot never was like that.
    ReadyTooEarly(String),
    /// At rest: a deleted Cluster that is still there.
    NeverGone(String),
    /// At rest: what the status says is not so.
    Untrue(String, Option<ClusterPhase>, String),
    /// At rest: something whose Cluster is gone.
    LeftBehind(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TwoShoots(request, one, other) => {
                write!(formatter, "Shoots {one} and {other} are both for request {request}")
            }
            Self::MadeForNobody(shoot) => {
                write!(formatter, "Shoot {shoot} was made, and no Cluster asks for it")
            }
            Self::MadeAgain(shoot, cluster) => {
                write!(formatter, "Shoot {shoot} was made again for Cluster {cluster}, and nobody said so")
            }
            Self::WroteAnothers(shoot, uid) => {
                write!(formatter, "Shoot {shoot} was written, but the one with UID {uid} is not ours")
            }
            Self::Moved(shoot, from, to) => {
                write!(formatter, "Shoot {shoot} was moved from account {from} into account {to}")
            }
            Self::TakenDown(shoot) => write!(formatter, "the version of Shoot {shoot} was taken down"),
            Self::DeletedWhileWanted(shoot, cluster) => {
                write!(formatter, "Shoot {shoot} was deleted, and Cluster {cluster} is not")
            }
            Self::DeletedWhileProtected(shoot, cluster) => {
                write!(formatter, "Shoot {shoot} was deleted, and Cluster {cluster} is protected")
            }
            Self::LetGoTooEarly(cluster, left) => {
                write!(formatter, "Cluster {cluster} was let go, and its {left} is still there")
            }
            Self::ReadyTooEarly(cluster) => {
                write!(formatter, "Cluster {cluster} is said to be ready, and its Shoot never was")
            }
            Self::NeverGone(cluster) => write!(formatter, "Cluster {cluster} was deleted and does not go"),
            Self::Untrue(cluster, phase, reason) => {
                let phase = phase.map_or("nothing".to_owned(), |phase| format!("{phase:?}"));
                write!(formatter, "Cluster {cluster} says {phase} ({reason}), and that is not so")
            }
            Self::LeftBehind(what) => write!(formatter, "{what} is left behind, its Cluster is gone"),
        }
    }
}
