//! What can be true of an account.

use super::{AccountName, Tenant};
use std::fmt;

/// Where a dedicated account is on its way from free to free again. A held one has a tenant by type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holding {
    /// Nobody's.
    Free,
    /// Taken in the ledger; the label on the binding is not known to be written yet.
    Claiming(Tenant),
    /// The tenant's, in the ledger and on the binding.
    Claimed(Tenant),
    /// The last cluster is gone; the `dirty` label is not known to be written yet. Takes nothing any more.
    Draining(Tenant),
    /// Waits to be cleaned. Whose it was is not always known: others write the label too.
    Dirty(Option<Tenant>),
}

impl Holding {
    /// The word for it in the ledger, metrics and tables.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Claiming(_) => "claiming",
            Self::Claimed(_) => "claimed",
            Self::Draining(_) => "draining",
            Self::Dirty(_) => "dirty",
        }
    }

    /// Reads what [`Holding::as_str`] and the tenant's column say.
    pub fn parse(word: &str, tenant: Option<Tenant>) -> Option<Self> {
        match (word, tenant) {
            ("free", None) => Some(Self::Free),
            ("claiming", Some(tenant)) => Some(Self::Claiming(tenant)),
            ("claimed", Some(tenant)) => Some(Self::Claimed(tenant)),
            ("draining", Some(tenant)) => Some(Self::Draining(tenant)),
            ("dirty", tenant) => Some(Self::Dirty(tenant)),
            _ => None,
        }
    }

    /// The tenant, if there is one.
    pub fn tenant(&self) -> Option<&Tenant> {
        match self {
            Self::Free => None,
            Self::Claiming(tenant) | Self::Claimed(tenant) | Self::Draining(tenant) => Some(tenant),
            Self::Dirty(tenant) => tenant.as_ref(),
        }
    }

    /// Whether a tenant's clusters may be put here now.
    pub fn takes_clusters_of(&self, tenant: &Tenant) -> bool {
        matches!(self, Self::Claiming(holder) | Self::Claimed(holder) if holder == tenant)
    }
}

impl fmt::Display for Holding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())?;
        self.tenant().map_or(Ok(()), |tenant| write!(formatter, " by {tenant}"))
    }
}

/// An account that a cluster could be put into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Which.
    pub account: AccountName,
    /// The clusters in it: assignments, and Shoots that no assignment stands for.
    pub clusters: u32,
    /// Why it takes no new clusters, if it does not.
    pub closed: Option<Closed>,
}

/// Why an account takes no new clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// Its credentials are known not to work.
    Quarantined,
    /// Another entry with the same credentials says that somebody else uses the account, too.
    Contested,
    /// Its entry was deleted: no Shoot can be made in it, and those that are in it cannot be counted.
    EntryGone,
}

impl Candidate {
    /// Whether new clusters may be put into it.
    pub fn is_open(&self) -> bool {
        self.closed.is_none()
    }
}
