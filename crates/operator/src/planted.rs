//! Faults of today's systems that can be planted, to see whether the simulation finds them. Only with the feature
//! `planted`; without it, asking for one is `false` at compile time, and planting one does nothing.

use crate::{
    cleanup, cluster, kubeconfig, ledger::Ledger, openmcp::Landscapes, runtime::follow::Position,
    subscription::Index,
};

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Planted {
    /// Which accounts a tenant has is looked up before what is decided on is locked.
    TenantOutsideTheLock,
    /// How many clusters are in an account is counted before that.
    LimitCountedThenWritten,
    /// The last one out of an account is who leaves no Shoot behind, whoever else has a seat in it.
    ReleaseLooksOnlyAtShoots,
    /// A binding is labelled whatever has become of it since it was read.
    BindingWithoutVersion,
    /// A Shoot that could not be read is gone.
    FailedReadIsGone,
    /// A Shoot of somebody else does not occupy an account.
    ShootsOccupyNothing,
    /// Entries with the same credentials are accounts of their own.
    SameCredentialsTwice,
    /// Shoots of requests that have no seat count as nothing.
    ShootsWithoutSeatUncounted,
    /// The most accounts of a tenant are not looked at.
    CapIgnored,
    /// Writing transactions do not look whether the database still has the last entries of the history.
    RecentUncounted,
    /// A request is told that it has an account before the fence is written.
    BoundBeforeFence,
    /// The fence is written whatever has become of it since it was read.
    FenceWithoutVersion,
    /// A term begins also where the ledger is older than the fence.
    OlderLedgerLeads,
    /// A fence that is missing makes a first start, whatever else is there.
    MissingFenceIsFirstStart,
    /// A term begins also where the fence names another ledger.
    AnyLedgerLeads,
    /// A term begins also where the fence names another control plane.
    AnyControlPlane,
    /// Versions of Shoots that go back are taken for old news.
    ReturnUnseen,
    /// A status that says Bound is not compared with the ledger.
    BoundNeverCompared,
    /// The epoch is raised before the ledger is compared with the fence.
    EpochRaisedFirst,
    /// A Shoot is applied whatever has become of it since it was read.
    ShootWithoutVersion,
    /// A Shoot that is missing is made again.
    MissingShootMadeAgain,
    /// A Cluster is let go without a last look for its request.
    ClusterLetGoUnseen,
    /// A token whose Secret is deleted is refused.
    EndedIsRefused,
    /// One API server that refuses a token speaks for all.
    OneServerForAll,
    /// A leaked token is ended before there is another one.
    OldTokenEndedFirst,
    /// A token is written down when it is there.
    TokenWrittenDownLater,
    /// A grant is gone with its Cluster.
    GoneWithCluster,
    /// A cluster that does not answer is gone.
    SilentIsGone,
    /// A field inside a field of a status stays when it is gone.
    StatusFieldsStayBehind,
    /// A namespace may name any tenant.
    AnyTenantForAll,
    /// The annotation on a Cluster makes the Shoot that it names the Cluster's.
    AdoptedByAnnotation,
    /// `status.shootUID` makes a Shoot the Cluster's.
    OwnedByStatus,
    /// A template may refer to any object of the garden project.
    AnyReferenceForAll,
    /// The ConfigMaps of the Cluster that an ownerReference of a request names are deleted with the request.
    MapsOfForgedOwner,
    /// A Role may be in any namespace of a cluster.
    AnyRoleNamespace,
    /// A protected Cluster is deleted like any other.
    ProtectionIgnored,
    /// The annotation that takes back a revocation takes back a lock.
    LockUndone,
    /// Of openMCP: a Shoot of the right name is the Cluster's, whoever made it.
    TakenByName,
    /// Of openMCP: a Shoot that cannot be read is gone.
    UnreadIsGone,
    /// Of openMCP: what is granted no more stays where it is.
    NothingTakenBack,
    /// Of openMCP: a grant that could not be taken away is forgotten.
    WithdrawnUnseen,
    /// Of openMCP: an AccessRequest may refer to any namespace.
    AnyNamespaceForAll,
    /// An account is free after one listing that found nothing.
    FreedAfterOneListing,
    /// A wave of deletions begins without another check of its account.
    WavesUnchecked,
    /// The account of the cloud that credentials lead to is the right one.
    AnyCloudAccount,
    /// A kind that could not be listed is empty.
    UnknownIsEmpty,
    /// The ids that people keep are not looked at.
    KeepIgnored,
    /// The counts are not compared with the listings.
    WitnessIgnored,
    /// The baseline is not looked at.
    BaselineIgnored,
}

impl Planted {
    /// Those of the cluster operator.
    pub const OF_CLUSTERS: [Self; 3] =
        [Self::ShootWithoutVersion, Self::MissingShootMadeAgain, Self::ClusterLetGoUnseen];

    /// Those of the kubeconfig operator.
    pub const OF_ACCESS: [Self; 7] = [
        Self::EndedIsRefused,
        Self::OneServerForAll,
        Self::OldTokenEndedFirst,
        Self::TokenWrittenDownLater,
        Self::GoneWithCluster,
        Self::SilentIsGone,
        Self::StatusFieldsStayBehind,
    ];

    /// Those that only a hostile tenant makes use of.
    pub const OF_HOSTILE: [Self; 9] = [
        Self::AnyTenantForAll,
        Self::AdoptedByAnnotation,
        Self::OwnedByStatus,
        Self::AnyReferenceForAll,
        Self::MapsOfForgedOwner,
        Self::AnyRoleNamespace,
        Self::ProtectionIgnored,
        Self::LockUndone,
        Self::AnyNamespaceForAll,
    ];

    /// Those of the cleanup operator.
    pub const OF_CLEANUP: [Self; 7] = [
        Self::FreedAfterOneListing,
        Self::WavesUnchecked,
        Self::AnyCloudAccount,
        Self::UnknownIsEmpty,
        Self::KeepIgnored,
        Self::WitnessIgnored,
        Self::BaselineIgnored,
    ];

    /// Those of the providers of openMCP.
    pub const OF_OPENMCP: [Self; 4] =
        [Self::TakenByName, Self::UnreadIsGone, Self::NothingTakenBack, Self::WithdrawnUnseen];

    /// Those of the subscription operator and the ledger.
    pub const ALL: [Self; 19] = [
        Self::TenantOutsideTheLock,
        Self::LimitCountedThenWritten,
        Self::ReleaseLooksOnlyAtShoots,
        Self::BindingWithoutVersion,
        Self::FailedReadIsGone,
        Self::ShootsOccupyNothing,
        Self::SameCredentialsTwice,
        Self::ShootsWithoutSeatUncounted,
        Self::CapIgnored,
        Self::RecentUncounted,
        Self::BoundBeforeFence,
        Self::FenceWithoutVersion,
        Self::OlderLedgerLeads,
        Self::MissingFenceIsFirstStart,
        Self::AnyLedgerLeads,
        Self::AnyControlPlane,
        Self::ReturnUnseen,
        Self::BoundNeverCompared,
        Self::EpochRaisedFirst,
    ];
}

impl Ledger {
    /// Plants a fault, in the ledger or in whoever uses it.
    #[must_use]
    #[cfg(feature = "planted")]
    pub fn plant(mut self, fault: Planted) -> Self {
        self.planted = Some(fault);
        self
    }

    /// Plants nothing: the feature is off.
    #[must_use]
    #[cfg(not(feature = "planted"))]
    pub fn plant(self, _: Planted) -> Self {
        self
    }

    /// Whether a fault is planted.
    #[cfg(feature = "planted")]
    pub(crate) fn has(&self, fault: Planted) -> bool {
        self.planted == Some(fault)
    }

    /// Whether a fault is planted: never.
    #[cfg(not(feature = "planted"))]
    pub(crate) const fn has(&self, _: Planted) -> bool {
        false
    }
}

/// Where a fault is planted in what is shared; without the feature it takes no room.
#[derive(Debug, Default)]
pub(crate) struct Bed(#[cfg(feature = "planted")] std::sync::OnceLock<Planted>);

impl Bed {
    #[cfg(feature = "planted")]
    fn plant(&self, fault: Planted) {
        // One is all that a run has.
        let _ = self.0.set(fault);
    }

    #[cfg(not(feature = "planted"))]
    const fn plant(&self, _: Planted) {}

    /// Whether a fault is planted.
    #[cfg(feature = "planted")]
    pub(crate) fn has(&self, fault: Planted) -> bool {
        self.0.get() == Some(&fault)
    }

    /// Whether a fault is planted: never.
    #[cfg(not(feature = "planted"))]
    pub(crate) const fn has(&self, _: Planted) -> bool {
        false
    }
}

impl Index {
    /// Plants what is planted in a ledger.
    #[cfg(feature = "planted")]
    pub(crate) fn planted_like(self, ledger: &Ledger) -> Self {
        if let Some(fault) = ledger.planted {
            self.planted.plant(fault);
        }
        self
    }

    /// Plants nothing: the feature is off.
    #[cfg(not(feature = "planted"))]
    pub(crate) const fn planted_like(self, _: &Ledger) -> Self {
        self
    }
}

impl Position {
    /// Plants what is planted in a ledger.
    #[cfg(feature = "planted")]
    pub(crate) fn planted_like(self, ledger: &Ledger) -> Self {
        if let Some(fault) = ledger.planted {
            self.planted.plant(fault);
        }
        self
    }

    /// Plants nothing: the feature is off.
    #[cfg(not(feature = "planted"))]
    pub(crate) const fn planted_like(self, _: &Ledger) -> Self {
        self
    }
}

impl cluster::Operator {
    /// Plants a fault, with the feature.
    #[must_use]
    pub fn plant(self, fault: Planted) -> Self {
        self.0.planted.plant(fault);
        self
    }
}

impl kubeconfig::Operator {
    /// Plants a fault, with the feature.
    #[must_use]
    pub fn plant(self, fault: Planted) -> Self {
        self.0.planted.plant(fault);
        self
    }
}

impl cleanup::Operator {
    /// Plants a fault, with the feature.
    #[must_use]
    pub fn plant(self, fault: Planted) -> Self {
        self.inner().planted.plant(fault);
        self
    }
}

impl Landscapes {
    /// Plants a fault, with the feature, in whichever controller has it: this is what those of one process share.
    #[must_use]
    pub fn plant(self, fault: Planted) -> Self {
        self.0.planted.plant(fault);
        self
    }

    /// Whether a fault is planted.
    pub(crate) fn has(&self, fault: Planted) -> bool {
        self.0.planted.has(fault)
    }
}
