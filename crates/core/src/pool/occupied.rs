//! Why an account that nobody holds is not free: somebody's Shoots are in it, or another entry with the same credentials stands
//! for it.

use super::{AccountName, Entry, Tenant};
use jiff::Timestamp;
use serde::Serialize;
use std::{collections::BTreeSet, fmt};

/// At most so many accounts are named in a sentence.
const NAMED: usize = 3;

/// How [`occupied_sentence`] begins.
pub const OCCUPIED: &str = "occupied: ";

/// Why an account is not free, though its labels are those of a free one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Occupied {
    /// So many Shoots are in it, whoever made them.
    Shoots(u32),
    /// This entry has the same credentials, and stands for the account.
    SameCredentials(AccountName),
    /// The statuses of so many requests name it, and its labels do not name their tenant.
    Requests(u32),
    /// This entry had the same credentials. It was deleted, and requests still use the account.
    EntryGone(AccountName),
}

impl fmt::Display for Occupied {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shoots(1) => formatter.write_str("has 1 Shoot in it"),
            Self::Shoots(count) => write!(formatter, "has {count} Shoots in it"),
            Self::SameCredentials(other) => write!(formatter, "has the same credentials as {other}"),
            Self::Requests(1) => formatter.write_str("is named by the status of 1 request"),
            Self::Requests(count) => write!(formatter, "is named by the statuses of {count} requests"),
            Self::EntryGone(other) => {
                write!(formatter, "has the credentials of {other}, which was deleted and is still used")
            }
        }
    }
}

/// The occupied accounts of a pool in one sentence, for those who wait; none if there are none. Shoots are counted, not named:
/// tenants read this, and a name may be another tenant's.
pub fn occupied_sentence<'a>(
    mut accounts: impl Iterator<Item = (&'a AccountName, &'a Occupied)>,
) -> Option<String> {
    let named: Vec<String> =
        accounts.by_ref().take(NAMED).map(|(account, why)| format!("{account} {why}")).collect();
    let more = match accounts.count() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    (!named.is_empty()).then(|| format!("{OCCUPIED}{}{more}", named.join(", ")))
}

/// A pool entry, beside others with the same credentials.
#[derive(Clone, Copy, Debug)]
pub struct Twin<'a> {
    /// Which.
    pub account: &'a AccountName,
    /// What its labels say.
    pub entry: &'a Entry,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// Whether it was claimed a moment ago, and its labels do not show it yet.
    pub taken: bool,
}

/// Who uses an account, as the labels of one entry say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Use<'a> {
    Tenant(&'a Tenant),
    /// Whoever cleans it destroys its content.
    Cleaner,
    Everybody,
    Platform,
}

impl<'a> Twin<'a> {
    /// Whether it is an entry of a pool, or says at least that somebody uses the account.
    fn is_entry(&self) -> bool {
        let Entry { pool, tenant, dirty, internal, .. } = self.entry;
        pool.is_some() || tenant.is_some() || *dirty || *internal
    }

    /// Entries that somebody uses, or that no tenant can get, stand for an account before free ones.
    fn rank(&self) -> u8 {
        match self.entry {
            _ if self.taken => 0,
            entry if entry.is_free() => 2,
            entry if entry.is_shared() => 1,
            _ => 0,
        }
    }

    fn used_by(&self) -> Option<Use<'a>> {
        let Entry { tenant, dirty, internal, .. } = self.entry;
        match tenant {
            _ if *dirty => Some(Use::Cleaner),
            Some(tenant) => Some(Use::Tenant(tenant)),
            None if *internal => Some(Use::Platform),
            None if self.entry.is_shared() => Some(Use::Everybody),
            None => None,
        }
    }
}

/// The entry that stands for the account of several with the same credentials: one in use, else the oldest, then by name.
pub fn stands_for<'a>(twins: &[Twin<'a>]) -> Option<&'a AccountName> {
    let entries = twins.iter().filter(|twin| twin.is_entry());
    let order = |twin: &&Twin<'a>| (twin.rank(), twin.created.unwrap_or(Timestamp::MAX), twin.account);
    entries.min_by_key(order).map(|twin| twin.account)
}

/// Whether entries with the same credentials say that the account is used in two ways, by two tenants or by one while
/// another cleans it. It gets nothing new then.
pub fn is_contested(twins: &[Twin<'_>]) -> bool {
    let uses: BTreeSet<Use<'_>> = twins.iter().filter_map(Twin::used_by).collect();
    uses.len() > 1
}

#[cfg(test)]
mod tests;
