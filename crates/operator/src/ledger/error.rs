//! What can go wrong with the ledger, for the person who reads it at night.

use allotment_core::pool::{AccountName, Epoch};

/// An operation on the ledger that did not happen, or of which it is not known whether it did.
///
/// No message holds the ledger's URL or any part of it: there is a password in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// `ledger.url` is not one that can be used.
    #[error("ledger.url cannot be used: {0}")]
    Address(String),
    /// The database does not answer. It may or may not have done what was asked; repeating it is safe.
    #[error("ledger: cannot {doing}: {because}; it is tried again")]
    Unavailable {
        /// Which operation.
        doing: &'static str,
        /// What the database or the network said.
        because: String,
    },
    /// Others were faster, or hold what is needed. Nothing happened; repeating it is safe.
    #[error("ledger: cannot {doing} now: {because}; it is tried again")]
    Contended {
        /// Which operation.
        doing: &'static str,
        /// What the database said.
        because: String,
    },
    /// Another process leads. Nothing happened, and this process must stop writing.
    #[error("ledger: leads no longer: writes under epoch {mine}, but {leader} leads under epoch {current}")]
    Stale {
        /// The writer's epoch.
        mine: Epoch,
        /// The ledger's.
        current: Epoch,
        /// Who raised it.
        leader: String,
    },
    /// The database does not hold an entry any more that this process has seen committed. Nothing happened, and this process must stop
    /// writing.
    #[error(
        "ledger: cannot {doing}: entry {missing} of the history was committed and is not there any more: the database was put back to \
         an older state, or another server took over without the last commits"
    )]
    WentBack {
        /// Which operation.
        doing: &'static str,
        /// The entry.
        missing: i64,
    },
    /// A newer Allotment has written this ledger.
    #[error(
        "the ledger has schema version {found}, this binary knows versions up to {known}: a newer Allotment has opened it; \
         run that version or a later one (there is no way back but a backup)"
    )]
    Newer {
        /// The database's version.
        found: i64,
        /// The newest that this binary knows.
        known: i64,
    },
    /// The account has changed since it was looked at. Look again.
    #[error("ledger: account {account} has changed since it was looked at; it is looked at again")]
    Changed {
        /// Which.
        account: AccountName,
    },
    /// The account has assignments, and what was asked for needs it to have none.
    #[error(
        "ledger: cannot {doing} account {account}: {clusters} requests are assigned to it; release them first, or put it in \
         quarantine"
    )]
    Occupied {
        /// Which operation.
        doing: &'static str,
        /// Which.
        account: AccountName,
        /// How many.
        clusters: u32,
    },
    /// What the ledger says contradicts what was asked for.
    #[error("ledger: cannot {doing} account {account}: {because}")]
    Refused {
        /// Which operation.
        doing: &'static str,
        /// Which.
        account: AccountName,
        /// What the ledger says.
        because: String,
    },
    /// The database does not hold what we wrote, or does not understand us.
    #[error(
        "ledger: cannot {doing}: {because}; if the database was changed by hand, run `allotment ledger verify`, else this is \
         a fault of Allotment"
    )]
    Broken {
        /// Which operation.
        doing: &'static str,
        /// What was found.
        because: String,
    },
}

impl LedgerError {
    /// One word for metrics.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Address(_) => "address",
            Self::Unavailable { .. } => "unavailable",
            Self::Contended { .. } => "contended",
            Self::Stale { .. } => "stale",
            Self::WentBack { .. } => "went-back",
            Self::Newer { .. } => "newer",
            Self::Changed { .. } => "changed",
            Self::Occupied { .. } => "occupied",
            Self::Refused { .. } => "refused",
            Self::Broken { .. } => "broken",
        }
    }

    /// Whether the database failed, and not what was asked of it.
    pub fn is_of_the_database(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Broken { .. })
    }

    /// Whether the same operation may succeed when it is repeated as it is.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Contended { .. })
    }
}
