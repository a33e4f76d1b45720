//! Whose ledger this is, and who leads.

use super::{
    Event, LedgerError, LedgerId, Past,
    history::Note,
    store::Value,
    transaction::{Leader, Transaction, time},
};
use allotment_core::pool::{Epoch, Served};

/// Which ledger this is.
pub(super) async fn identity(transaction: &mut Transaction) -> Result<LedgerId, LedgerError> {
    const ANYTHING: &str = "SELECT name FROM accounts WHERE garden = $1 AND project = $2 \
         UNION ALL SELECT request_uid FROM queue WHERE garden = $1 AND project = $2 LIMIT 1";
    let rows = transaction.query_ledger("SELECT id FROM ledger").await?;
    let row = rows.first().ok_or_else(|| transaction.broken("it has no identity"))?;
    let uuid = row.text(0)?.to_owned();
    let epoch = epoch(transaction).await?;
    // A rebuild clears the ledger before it fills it again, and writes the fence last.
    let is_empty = transaction.query(ANYTHING, &[]).await?.is_empty() && !awaits_leader(transaction).await?;
    let served = served(transaction).await?;
    Ok(LedgerId { uuid, epoch, is_empty, served })
}

async fn served(transaction: &mut Transaction) -> Result<Served, LedgerError> {
    const SQL: &str = "SELECT control_plane, installation FROM leaders WHERE garden = $1 AND project = $2";
    let rows = transaction.query(SQL, &[]).await?;
    let Some(row) = rows.first() else { return Ok(Served::default()) };
    let text = |column| Ok(row.maybe_text(column)?.map(ToOwned::to_owned));
    Ok(Served { control_plane: text(0)?, installation: text(1)? })
}

/// Writes down whom the leader serves.
pub(super) async fn serve(transaction: &mut Transaction, served: &Served) -> Result<(), LedgerError> {
    const SQL: &str = "UPDATE leaders SET control_plane = $3, installation = $4 \
         WHERE garden = $1 AND project = $2";
    let Served { control_plane, installation } = served;
    let parameters = [Value::from(control_plane.as_deref()), Value::from(installation.as_deref())];
    transaction.query(SQL, &parameters).await.map(drop)
}

/// The epoch of now; 0 where nobody has led yet.
pub(super) async fn epoch(transaction: &mut Transaction) -> Result<Epoch, LedgerError> {
    const SQL: &str = "SELECT epoch FROM leaders WHERE garden = $1 AND project = $2";
    let rows = transaction.query(SQL, &[]).await?;
    Ok(Epoch(rows.first().map_or(Ok(0), |row| row.int(0))?))
}

/// Begins to lead: waits for the transactions under the old epoch, and refuses all that come after. Refuses where `after` is not the epoch
/// of now: somebody has led since the caller read it.
pub(super) async fn lead(
    transaction: &mut Transaction,
    holder: &str,
    term: &str,
    after: Option<Epoch>,
) -> Result<Epoch, LedgerError> {
    const TERM: &str = "INSERT INTO terms (garden, project, epoch, term) VALUES ($1, $2, $3, $4)";
    const SQL: &str = "INSERT INTO leaders (garden, project, epoch, holder, since) VALUES ($1, $2, 1, $3, $4) \
         ON CONFLICT (garden, project) DO UPDATE \
         SET epoch = leaders.epoch + 1, holder = excluded.holder, since = excluded.since RETURNING epoch";
    let parameters = [Value::from(holder), time(transaction.now)];
    let rows = transaction.query(SQL, &parameters).await?;
    let row = rows.first().ok_or_else(|| transaction.broken("a new epoch got no number"))?;
    let epoch = Epoch(row.int(0)?);
    if let Some(mine) = after.filter(|after| after.0 + 1 != epoch.0) {
        let (current, leader) = (Epoch(epoch.0 - 1), "another process".to_owned());
        return Err(LedgerError::Stale { mine, current, leader });
    }
    transaction.leader = Leader { epoch, holder: holder.to_owned() };
    let because = "leads from now on";
    let note = Note { event: Event::Led, account: None, tenant: None, request: None, because };
    transaction.note(note).await?;
    transaction.query(TERM, &[Value::from(epoch.0), Value::from(term)]).await?;
    Ok(epoch)
}

/// Whether it was made anew, and nobody has led since.
pub(super) async fn awaits_leader(transaction: &mut Transaction) -> Result<bool, LedgerError> {
    const LAST: &str = "SELECT event FROM history WHERE garden = $1 AND project = $2 \
         AND event IN ('led', 'rebuilt') ORDER BY id DESC LIMIT 1";
    let rows = transaction.query(LAST, &[]).await?;
    Ok(rows.first().map(|row| row.text(0)).transpose()? == Some(Event::Rebuilt.as_str()))
}

/// The term that led under an epoch, and which of these entries of the history are not there.
pub(super) async fn past(
    transaction: &mut Transaction,
    epoch: Epoch,
    entries: &[i64],
) -> Result<Past, LedgerError> {
    const TERM: &str = "SELECT term FROM terms WHERE garden = $1 AND project = $2 AND epoch = $3";
    let rows = transaction.query(TERM, &[Value::from(epoch.0)]).await?;
    let term = rows.first().map(|row| row.text(0).map(ToOwned::to_owned)).transpose()?;
    let missing = transaction.missing(entries).await?;
    Ok(Past { term, missing })
}
