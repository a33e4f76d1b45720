//! Faults of today's systems that can be planted, to see whether the simulation finds them. Only with the feature
//! `planted`; without it, asking for one is `false` at compile time, and planting one does nothing.

use crate::ledger::Ledger;

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
}

impl Planted {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::TenantOutsideTheLock,
        Self::LimitCountedThenWritten,
        Self::ReleaseLooksOnlyAtShoots,
        Self::BindingWithoutVersion,
        Self::FailedReadIsGone,
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
