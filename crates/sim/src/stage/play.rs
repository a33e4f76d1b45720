//! What is simulated.

use super::{coverage::Operation, edit, rates::Rates, script::Script};
use crate::{access, cleanup, cluster, hostile, openmcp, subscription};

/// What is simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Play {
    /// Requests for accounts, and people who make Shoots for them.
    #[default]
    Subscription,
    /// Clusters: an operator makes requests and Shoots for them.
    Cluster,
    /// Kubeconfigs of Clusters.
    Access,
    /// Kubeconfigs of Clusters, with a hostile tenant beside honest ones.
    Hostile,
    /// Providers of openMCP.
    Openmcp,
    /// Accounts that are returned, and the cleanup operator.
    Cleanup,
}

impl Play {
    /// Everything that a seed draws.
    pub(crate) fn drawn(self, seed: u64) -> (Script, Rates) {
        let (mut script, rates) = self.drawn_without_edits(seed);
        edit::add(seed, &mut script);
        (script, rates)
    }

    fn drawn_without_edits(self, seed: u64) -> (Script, Rates) {
        match self {
            Self::Subscription => subscription::swarm::drawn(seed),
            Self::Cluster => cluster::swarm::drawn(seed),
            Self::Access => access::swarm::drawn(seed),
            Self::Hostile => hostile::swarm::drawn(seed),
            Self::Openmcp => openmcp::swarm::drawn(seed),
            Self::Cleanup => cleanup::swarm::drawn(seed),
        }
    }

    /// What is played with a crash at every write.
    pub fn scenario(self) -> Script {
        match self {
            Self::Subscription => subscription::scenario::scenario(),
            Self::Cluster => cluster::scenario::scenario(),
            Self::Access => access::scenario::scenario(),
            Self::Hostile => hostile::scenario::scenario(),
            Self::Openmcp => openmcp::scenario::scenario(),
            Self::Cleanup => cleanup::scenario::scenario(),
        }
    }

    /// Whether an operation is one of its operator's, or of nobody that we know.
    pub(crate) fn is_about(self, operation: &str) -> bool {
        let does = |play: Self| play.operations().iter().any(|known| known.name == operation);
        let plays = [Self::Subscription, Self::Cluster, Self::Access, Self::Openmcp, Self::Cleanup];
        does(self) || !plays.into_iter().any(does)
    }

    /// What its operator does.
    pub(crate) fn operations(self) -> &'static [Operation] {
        match self {
            Self::Subscription => &subscription::operations::OPERATIONS,
            Self::Cluster => &cluster::operations::OPERATIONS,
            Self::Access | Self::Hostile => &access::operations::OPERATIONS,
            Self::Openmcp => &openmcp::operations::OPERATIONS,
            Self::Cleanup => &cleanup::operations::OPERATIONS,
        }
    }
}
