//! What must never be true where several openMCP providers work beside each other.

use std::fmt;

/// Something that must never be true of a provider. Objects are told by a name that people know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Astray {
    /// A provider wrote to something that is another's.
    WroteAnothers(String, String),
    /// Two Shoots are for one Cluster.
    TwoShoots(String, String, String),
    /// A Shoot was made that no Cluster asks for.
    MadeForNobody(String),
    /// A Shoot was made anew for a Cluster that had one, and nobody said so.
    MadeAgain(String, String),
    /// A Cluster was said to have a Shoot that is not its own.
    TookOver(String, String),
    /// A Shoot was deleted whose Cluster is wanted.
    DeletedWhileWanted(String, String),
    /// A finalizer was taken off while something was left.
    LetGoTooEarly(String, String),
    /// A Cluster is said to be ready, and its Shoot never was like that.
    ReadyTooEarly(String),
    /// A request is said to be granted, and is not.
    FalseGrant(String, String),
    /// Something secret stands where it can be read.
    Told(String),
    /// At rest: something that was deleted is still there.
    NeverGone(String),
    /// At rest: what is asked for is not answered.
    Unanswered(String, String),
    /// At rest: something that belongs to nobody.
    LeftBehind(String),
    /// At rest: something was written.
    Restless(String),
}

impl fmt::Display for Astray {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WroteAnothers(who, what) => write!(formatter, "{who} wrote {what}, which is another's"),
            Self::TwoShoots(cluster, one, other) => {
                write!(formatter, "Shoots {one} and {other} are both for {cluster}")
            }
            Self::MadeForNobody(shoot) => {
                write!(formatter, "Shoot {shoot} was made, and no Cluster asks for it")
            }
            Self::MadeAgain(shoot, cluster) => {
                write!(formatter, "Shoot {shoot} was made again for {cluster}, and nobody said so")
            }
            Self::TookOver(cluster, uid) => {
                write!(formatter, "{cluster} is said to have the Shoot with UID {uid}, which is not its own")
            }
            Self::DeletedWhileWanted(shoot, cluster) => {
                write!(formatter, "Shoot {shoot} was deleted, and {cluster} is not")
            }
            Self::LetGoTooEarly(what, left) => {
                write!(formatter, "{what} was let go, and {left} is still there")
            }
            Self::ReadyTooEarly(cluster) => {
                write!(formatter, "{cluster} is said to be ready, and its Shoot never was")
            }
            Self::FalseGrant(request, why) => write!(formatter, "{request} is said to be granted, but {why}"),
            Self::Told(where_) => write!(formatter, "{where_} says something secret"),
            Self::NeverGone(what) => write!(formatter, "{what} was deleted and does not go"),
            Self::Unanswered(what, why) => write!(formatter, "{what} is not answered: {why}"),
            Self::LeftBehind(what) => write!(formatter, "{what} is left behind and belongs to nobody"),
            Self::Restless(why) => write!(formatter, "there is no rest: {why}"),
        }
    }
}
