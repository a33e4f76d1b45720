//! What ever happened, by whom and why.

use super::{
    LedgerError, RequestKey,
    store::{Row, Value},
    transaction::Transaction,
};
use allotment_core::pool::{AccountName, Epoch, RequestUid, Tenant};
use jiff::Timestamp;
use std::fmt;

/// The kinds of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// A free account was taken for a tenant, in the ledger.
    Claimed,
    /// The tenant's name is known to be on the binding.
    Confirmed,
    /// A request got an account.
    Assigned,
    /// A request that has an account asked again: the answer to the first time may have been lost.
    Kept,
    /// A request has to wait.
    Queued,
    /// A request gave back its account, or its place in the queue.
    Released,
    /// An account's last cluster is gone.
    Draining,
    /// An account waits to be cleaned.
    Dirty,
    /// An account is free again.
    Cleaned,
    /// An account was found to be a tenant's.
    Adopted,
    /// Somebody outside took the account before the claim was on the binding.
    Lost,
    /// An account takes no new clusters, for a reason.
    Quarantined,
    /// It does again.
    Lifted,
    /// An account is no longer in the garden.
    Retired,
    /// An account is in another pool.
    Repooled,
    /// The ledger began on a pool that was in use: earlier uses of its accounts are not known.
    TookOver,
    /// Everything but the history was thrown away, to be made anew from the cluster.
    Rebuilt,
    /// Somebody began to lead.
    Led,
}

impl Event {
    const ALL: [Self; 18] = [
        Self::Claimed,
        Self::Confirmed,
        Self::Assigned,
        Self::Kept,
        Self::Queued,
        Self::Released,
        Self::Draining,
        Self::Dirty,
        Self::Cleaned,
        Self::Adopted,
        Self::Lost,
        Self::Quarantined,
        Self::Lifted,
        Self::Retired,
        Self::Repooled,
        Self::TookOver,
        Self::Rebuilt,
        Self::Led,
    ];

    /// The word for it in the ledger and in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Confirmed => "confirmed",
            Self::Assigned => "assigned",
            Self::Kept => "kept",
            Self::Queued => "queued",
            Self::Released => "released",
            Self::Draining => "draining",
            Self::Dirty => "dirty",
            Self::Cleaned => "cleaned",
            Self::Adopted => "adopted",
            Self::Lost => "lost",
            Self::Quarantined => "quarantined",
            Self::Lifted => "lifted",
            Self::Retired => "retired",
            Self::Repooled => "repooled",
            Self::TookOver => "took-over",
            Self::Rebuilt => "rebuilt",
            Self::Led => "led",
        }
    }

    /// Whether it says who got or gave back an account.
    pub(super) fn is_claim_or_release(self) -> bool {
        match self {
            Self::Claimed
            | Self::Confirmed
            | Self::Assigned
            | Self::Kept
            | Self::Released
            | Self::Adopted
            | Self::Lost
            | Self::TookOver
            | Self::Rebuilt => true,
            Self::Queued
            | Self::Draining
            | Self::Dirty
            | Self::Cleaned
            | Self::Quarantined
            | Self::Lifted
            | Self::Retired
            | Self::Repooled
            | Self::Led => false,
        }
    }

    /// Whether uses of accounts before it may be unknown. Such an entry is never replaced by a count.
    pub(super) fn limits_knowledge(self) -> bool {
        matches!(self, Self::TookOver | Self::Rebuilt)
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.as_str() == word)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Which entries.
#[derive(Clone, Copy, Debug)]
pub enum About<'a> {
    /// All of the garden project.
    Everything,
    /// Those about an account.
    Account(&'a AccountName),
    /// Those about a request.
    Request(&'a RequestUid),
}

/// An entry of the history.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its number. Later entries about the same thing have higher ones.
    pub id: i64,
    /// When.
    pub at: Timestamp,
    /// What.
    pub event: Event,
    /// To which account.
    pub account: Option<AccountName>,
    /// For which tenant.
    pub tenant: Option<Tenant>,
    /// For which request.
    pub request_uid: Option<RequestUid>,
    /// That request's namespace and name.
    pub request: Option<String>,
    /// Who led then.
    pub by: String,
    /// Why, for people.
    pub because: String,
    /// Under which epoch.
    pub epoch: Epoch,
}

/// An entry to be made.
pub(super) struct Note<'a> {
    pub(super) event: Event,
    pub(super) account: Option<&'a AccountName>,
    pub(super) tenant: Option<&'a Tenant>,
    pub(super) request: Option<&'a RequestKey>,
    pub(super) because: &'a str,
}

macro_rules! select {
    ($condition:literal) => {
        concat!(
            "SELECT id, at, event, account, tenant, request_uid, request, actor, because, epoch FROM history \
             WHERE garden = $1 AND project = $2",
            $condition,
            " ORDER BY id DESC LIMIT $3"
        )
    };
}

/// The newest entries, the oldest of them first.
pub(super) async fn read(
    transaction: &mut Transaction,
    about: About<'_>,
    limit: u32,
) -> Result<Vec<Entry>, LedgerError> {
    let limit = Value::from(i64::from(limit));
    let rows = match about {
        About::Everything => transaction.query(select!(""), &[limit]).await,
        About::Account(account) => {
            transaction.query(select!(" AND account = $4"), &[limit, Value::from(account.as_str())]).await
        }
        About::Request(uid) => {
            transaction.query(select!(" AND request_uid = $4"), &[limit, Value::from(uid.as_str())]).await
        }
    };
    rows?.iter().rev().map(entry).collect()
}

/// What last happened to a request.
pub(super) async fn last(
    transaction: &mut Transaction,
    request: &RequestUid,
) -> Result<Option<Event>, LedgerError> {
    let entries = read(transaction, About::Request(request), 1).await?;
    Ok(entries.last().map(|entry| entry.event))
}

/// Whether an account was last claimed for this tenant, by a request. Neither a person's label nor a cleaned account is.
pub(super) async fn was_claimed_for(
    transaction: &mut Transaction,
    account: &AccountName,
    tenant: &Tenant,
) -> Result<bool, LedgerError> {
    const SQL: &str = "SELECT event, tenant FROM history WHERE garden = $1 AND project = $2 AND account = $3 \
         AND event IN ('claimed', 'adopted', 'cleaned', 'lost') ORDER BY id DESC LIMIT 1";
    let rows = transaction.query(SQL, &[Value::from(account.as_str())]).await?;
    let Some(row) = rows.first() else { return Ok(false) };
    Ok(row.text(0)? == Event::Claimed.as_str() && row.maybe_text(1)? == Some(tenant.as_str()))
}

fn entry(row: &Row) -> Result<Entry, LedgerError> {
    Ok(Entry {
        id: row.int(0)?,
        at: row.time(1)?,
        event: Event::parse(row.text(2)?).ok_or_else(|| row.broken(2, "an event"))?,
        account: row.maybe_text(3)?.map(AccountName::new),
        tenant: row.maybe_text(4)?.map(Tenant::new),
        request_uid: row.maybe_text(5)?.map(RequestUid::new),
        request: row.maybe_text(6)?.map(ToOwned::to_owned),
        by: row.text(7)?.to_owned(),
        because: row.text(8)?.to_owned(),
        epoch: Epoch(row.int(9)?),
    })
}
