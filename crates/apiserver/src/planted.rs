//! Faults that can be planted, to see whether a suite of tests notices them. Only with the feature `planted`; without it,
//! asking for one is `false` at compile time.

#![cfg_attr(not(feature = "planted"), expect(unreachable_pub, reason = "public only with the feature"))]

use crate::server::Server;

/// A fault in the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "planted", expect(missing_docs, reason = "the names say what is wrong"))]
pub enum Planted {
    GenerationNotBumped,
    GenerationBumpedByStatus,
    ConflictNotSeen,
    UidPreconditionIgnored,
    StatusWrittenWithObject,
    FinalizerIgnored,
    NewFinalizerWhileDeleting,
    UnchangedWriteKept,
    DryRunKept,
    BookmarkTooEarly,
    DeletionNotWatched,
    LeavingSelectorNotTold,
    LabelSelectorIgnored,
    PageRepeatsLast,
    ExpiredWatchGoesOn,
    OrphansCollected,
    GarbageStays,
    ForegroundDoesNotWait,
    EndingNamespaceTakesMore,
    DefaultsLeftOut,
    UnknownFieldsKept,
    RulesNotChecked,
    ApplyAlwaysForced,
    OwnersNotTracked,
    TokenOutlivesItsSecret,
    EverybodyMayEverything,
    EscalationAllowed,
    DeletePreconditionIgnored,
    PolicyNotEnforced,
    PolicyIgnoresDeletion,
}

#[cfg(feature = "planted")]
impl Planted {
    /// All of them.
    pub const ALL: [Self; 30] = [
        Self::GenerationNotBumped,
        Self::GenerationBumpedByStatus,
        Self::ConflictNotSeen,
        Self::UidPreconditionIgnored,
        Self::StatusWrittenWithObject,
        Self::FinalizerIgnored,
        Self::NewFinalizerWhileDeleting,
        Self::UnchangedWriteKept,
        Self::DryRunKept,
        Self::BookmarkTooEarly,
        Self::DeletionNotWatched,
        Self::LeavingSelectorNotTold,
        Self::LabelSelectorIgnored,
        Self::PageRepeatsLast,
        Self::ExpiredWatchGoesOn,
        Self::OrphansCollected,
        Self::GarbageStays,
        Self::ForegroundDoesNotWait,
        Self::EndingNamespaceTakesMore,
        Self::DefaultsLeftOut,
        Self::UnknownFieldsKept,
        Self::RulesNotChecked,
        Self::ApplyAlwaysForced,
        Self::OwnersNotTracked,
        Self::TokenOutlivesItsSecret,
        Self::EverybodyMayEverything,
        Self::EscalationAllowed,
        Self::DeletePreconditionIgnored,
        Self::PolicyNotEnforced,
        Self::PolicyIgnoresDeletion,
    ];
}

impl Server {
    /// Plants a fault.
    #[cfg(feature = "planted")]
    pub fn plant(&mut self, fault: Planted) {
        self.planted = Some(fault);
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
