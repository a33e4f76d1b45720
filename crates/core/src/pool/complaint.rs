//! Something about the pool that a person should know, with the remedy.

use super::AccountName;
use serde::Serialize;
use std::fmt;

/// What kind of complaint it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ailment {
    /// An entry without a type, or with labels that put it in no pool.
    Stranded,
    /// Two entries with the same credentials: one account that looks like two.
    SameCredentials,
    /// Two entries whose credentials lead to one account of the cloud.
    SameCloudAccount,
    /// Nobody holds it and nobody gets it: a Shoot is in it.
    Occupied,
    /// The Secret behind an entry does not exist.
    MissingSecret,
    /// It has waited to be cleaned for long.
    DirtyForLong,
    /// Its cleaning needs a person.
    CleanupStuck,
    /// It may not be cleaned, for a reason that lasts.
    CleanupWaits,
    /// It takes no new clusters.
    Quarantined,
    /// Requests wait for a pool.
    Exhausted,
    /// The ledger knows an account whose entry is gone.
    EntryGone,
    /// Ledger and binding name different tenants.
    Tenant,
    /// Ledger and binding do not agree on whether it is dirty.
    Dirty,
    /// Ledger and labels name different pools.
    Pool,
    /// Ledger and annotation do not agree on the quarantine.
    Quarantine,
    /// A request's status names an account that the ledger does not give it.
    NotAssigned,
    /// A request waits, but is not in the queue.
    NotQueued,
    /// The ledger has an account or a place in the queue for a request that is gone.
    RequestGone,
    /// A Shoot is in another account than its request.
    ShootElsewhere,
    /// A Shoot is in an account that waits to be cleaned.
    ShootInEmpty,
    /// A Cluster says that it is ready, and its Shoot is not there or not its own.
    NotReady,
    /// The ledger contradicts itself.
    Books,
    /// The ledger is not the one that the garden was served from, or an old one.
    Identity,
}

impl Ailment {
    /// The word in JSON and on the terminal.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stranded => "stranded",
            Self::SameCredentials => "same-credentials",
            Self::SameCloudAccount => "same-cloud-account",
            Self::Occupied => "occupied",
            Self::MissingSecret => "missing-secret",
            Self::DirtyForLong => "dirty-for-long",
            Self::CleanupStuck => "cleanup-stuck",
            Self::CleanupWaits => "cleanup-waits",
            Self::Quarantined => "quarantined",
            Self::Exhausted => "exhausted",
            Self::EntryGone => "entry-gone",
            Self::Tenant => "tenant",
            Self::Dirty => "dirty",
            Self::Pool => "pool",
            Self::Quarantine => "quarantine",
            Self::NotAssigned => "not-assigned",
            Self::NotQueued => "not-queued",
            Self::RequestGone => "request-gone",
            Self::ShootElsewhere => "shoot-elsewhere",
            Self::ShootInEmpty => "shoot-in-empty",
            Self::NotReady => "not-ready",
            Self::Books => "books",
            Self::Identity => "identity",
        }
    }
}

/// Something that a person should know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Complaint {
    /// What kind it is.
    pub code: Ailment,
    /// The account that it is about, if it is about one.
    pub account: Option<AccountName>,
    /// What is the matter.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}; {}", self.code.as_str(), self.message, self.remedy)
    }
}
