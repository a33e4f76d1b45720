//! Old entries of the history, counted by month.

use super::{
    Event, Ledger, LedgerError, Mode,
    store::{Row, Value},
    transaction::Transaction,
};
use allotment_core::pool::{AccountName, Epoch, OldEntry, Retention, Tenant};
use jiff::Timestamp;
use std::collections::BTreeMap;

/// One transaction examines at most so many entries, because writers of SQLite wait for it.
const BATCH: u32 = 500;

/// Entries that were counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MonthCount {
    /// As in 2026-11.
    pub month: String,
    /// What happened.
    pub event: Event,
    /// For which tenant.
    pub tenant: Option<Tenant>,
    /// How often.
    pub entries: u64,
}

/// How far counting has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// So many entries were replaced by counts.
    pub entries: u64,
    /// Where to go on; none: there is nothing old behind it.
    pub next: Option<i64>,
}

impl Ledger {
    /// Replaces old entries of the history by counts, as far as [`Ledger::with_retention`] allows. Examines one batch of entries after the number
    /// `after`. Entries that this process has seen committed, and all later ones, stay: the fence in the garden names some of them.
    pub async fn count_old(&self, epoch: Epoch, after: i64, now: Timestamp) -> Result<Counted, LedgerError> {
        let retention = self.retention;
        let Some(before) = self.progress().entries.first().copied() else {
            return Ok(Counted { entries: 0, next: None });
        };
        in_transaction!(write self, "count old entries", now, |transaction| {
            transaction.under(epoch).await?;
            count_old(transaction, retention, after, before).await
        })
    }

    /// The entries about an account that were replaced by counts, the oldest first.
    pub async fn months(&self, account: &AccountName) -> Result<Vec<MonthCount>, LedgerError> {
        in_transaction!(read self, "read counts of the history", |transaction| months(transaction, account))
    }
}

/// The columns that entries are counted by.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    account: String,
    month: String,
    tenant: String,
    event: String,
}

async fn count_old(
    transaction: &mut Transaction,
    retention: Retention,
    after: i64,
    before: i64,
) -> Result<Counted, LedgerError> {
    const OLDEST: &str = "SELECT id, at, event, account, tenant, \
         (SELECT max(proof.id) FROM history AS proof WHERE proof.garden = $1 AND proof.project = $2 \
          AND proof.account = entry.account AND proof.event = 'cleaned'), \
         (SELECT count(*) FROM queue WHERE queue.garden = $1 AND queue.project = $2 \
          AND queue.request_uid = entry.request_uid) \
         FROM history AS entry WHERE garden = $1 AND project = $2 AND id > $3 AND id < $4 ORDER BY id LIMIT $5";
    let now = transaction.now;
    let parameters = [Value::from(after), Value::from(before), Value::from(i64::from(BATCH))];
    let rows = transaction.query(OLDEST, &parameters).await?;
    let is_full = rows.len() == BATCH as usize;
    let (mut counts, mut entries, mut last) = (BTreeMap::<Key, i64>::new(), 0, after);
    for row in &rows {
        let entry = old_entry(row)?;
        // Later entries are younger, but for the difference of clocks.
        if !retention.is_old(entry.at, now) {
            return finish(transaction, counts, Counted { entries, next: None }).await;
        }
        last = entry.id;
        let limits_knowledge = Event::parse(row.text(2)?).is_some_and(Event::limits_knowledge);
        if retention.ends(&entry, now) && !limits_knowledge {
            *counts.entry(key(row, entry.at)?).or_default() += 1;
            entries += 1;
            delete(transaction, entry.id).await?;
        }
    }
    finish(transaction, counts, Counted { entries, next: is_full.then_some(last) }).await
}

async fn delete(transaction: &mut Transaction, entry: i64) -> Result<(), LedgerError> {
    const DELETE: &str = "DELETE FROM history WHERE garden = $1 AND project = $2 AND id = $3";
    transaction.query(DELETE, &[Value::from(entry)]).await.map(drop)
}

async fn finish(
    transaction: &mut Transaction,
    counts: BTreeMap<Key, i64>,
    counted: Counted,
) -> Result<Counted, LedgerError> {
    const ADD: &str = "INSERT INTO history_months (garden, project, account, month, tenant, event, entries) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (garden, project, account, month, tenant, event) \
         DO UPDATE SET entries = history_months.entries + excluded.entries";
    for (Key { account, month, tenant, event }, entries) in counts {
        let words = [account, month, tenant, event].map(Value::Text);
        let parameters: Vec<Value> = words.into_iter().chain([Value::from(entries)]).collect();
        transaction.query(ADD, &parameters).await?;
    }
    Ok(counted)
}

fn old_entry(row: &Row) -> Result<OldEntry, LedgerError> {
    Ok(OldEntry {
        id: row.int(0)?,
        at: row.time(1)?,
        // An event that this version does not know is kept as long as any.
        is_claim_or_release: Event::parse(row.text(2)?).is_none_or(Event::is_claim_or_release),
        is_of_account: row.maybe_text(3)?.is_some(),
        last_cleaned: row.maybe_int(5)?,
        waits: row.int(6)? > 0,
    })
}

fn key(row: &Row, at: Timestamp) -> Result<Key, LedgerError> {
    let account = row.maybe_text(3)?.unwrap_or_default().to_owned();
    // Tenants that only ever waited may be invented, so they are counted together.
    let tenant = row.maybe_text(4)?.filter(|_| !account.is_empty()).unwrap_or_default().to_owned();
    let (month, event) = (at.strftime("%Y-%m").to_string(), row.text(2)?.to_owned());
    Ok(Key { account, month, tenant, event })
}

async fn months(
    transaction: &mut Transaction,
    account: &AccountName,
) -> Result<Vec<MonthCount>, LedgerError> {
    const SQL: &str = "SELECT month, event, tenant, entries FROM history_months \
         WHERE garden = $1 AND project = $2 AND account = $3 ORDER BY month, event, tenant";
    let rows = transaction.query(SQL, &[Value::from(account.as_str())]).await?;
    rows.iter().map(month).collect()
}

fn month(row: &Row) -> Result<MonthCount, LedgerError> {
    let tenant = row.text(2)?;
    Ok(MonthCount {
        month: row.text(0)?.to_owned(),
        event: Event::parse(row.text(1)?).ok_or_else(|| row.broken(1, "an event"))?,
        tenant: (!tenant.is_empty()).then(|| Tenant::new(tenant)),
        entries: u64::try_from(row.int(3)?).unwrap_or(0),
    })
}
