//! Rows about who waits for which pool.

use super::{
    LedgerError, RequestKey,
    accounts::{pool_values, read_pool},
    store::{Row, Value},
    transaction::{Transaction, time},
};
use allotment_core::pool::{PoolKey, RequestUid, Tenant, Waiting};
use jiff::Timestamp;

/// A request in the queue.
pub(super) struct Queued {
    pub(super) request: RequestKey,
    pub(super) tenant: Option<Tenant>,
    pub(super) pool: PoolKey,
    ticket: i64,
    pub(super) since: Timestamp,
    /// Whether a free account of the pool would serve it.
    pub(super) wants_free: bool,
}

impl Queued {
    /// As the decision sees it. Nobody's requests, in a shared pool, are served as if they were one tenant's.
    pub(super) fn waiting(&self) -> Waiting {
        Waiting {
            request: self.request.uid.clone(),
            tenant: self.tenant.clone().unwrap_or_else(|| Tenant::new("")),
            ticket: self.ticket,
        }
    }
}

macro_rules! select {
    ($condition:literal) => {
        concat!(
            "SELECT request_uid, namespace, name, tenant, hyperscaler_type, shared, eu_access, ticket, since, wants_free \
             FROM queue WHERE garden = $1 AND project = $2",
            $condition
        )
    };
}

/// Everybody who waits for a pool, in the order of arrival.
pub(super) async fn for_pool(
    transaction: &mut Transaction,
    pool: &PoolKey,
) -> Result<Vec<Queued>, LedgerError> {
    let sql = select!(" AND hyperscaler_type = $3 AND shared = $4 AND eu_access = $5 ORDER BY ticket");
    let rows = transaction.query(sql, &pool_values(pool)).await?;
    rows.iter().map(read).collect()
}

/// Everybody who waits.
pub(super) async fn all(transaction: &mut Transaction) -> Result<Vec<Queued>, LedgerError> {
    let rows = transaction.query(select!(" ORDER BY ticket"), &[]).await?;
    rows.iter().map(read).collect()
}

/// A request's place.
pub(super) async fn of(
    transaction: &mut Transaction,
    request: &RequestUid,
) -> Result<Option<Queued>, LedgerError> {
    let rows = transaction.query(select!(" AND request_uid = $3"), &[Value::from(request.as_str())]).await?;
    rows.first().map(read).transpose()
}

/// Puts a request at the end. The pool is locked, so no two get the same ticket.
pub(super) async fn push(
    transaction: &mut Transaction,
    request: &RequestKey,
    tenant: Option<&Tenant>,
    pool: &PoolKey,
    wants_free: bool,
) -> Result<(), LedgerError> {
    const SQL: &str = "INSERT INTO queue (garden, project, request_uid, namespace, name, tenant, hyperscaler_type, \
         shared, eu_access, since, wants_free, ticket) \
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, COALESCE(MAX(ticket), 0) + 1 FROM queue WHERE garden = $1 AND project = $2 AND hyperscaler_type = $7 AND shared = $8 AND eu_access = $9";
    let RequestKey { uid, namespace, name } = request;
    let mut parameters = vec![
        Value::from(uid.as_str()),
        Value::from(namespace.as_str()),
        Value::from(name.as_str()),
        Value::from(tenant.map(Tenant::as_str)),
    ];
    parameters.extend(pool_values(pool));
    parameters.extend([time(transaction.now), Value::from(wants_free)]);
    transaction.query(SQL, &parameters).await.map(drop)
}

/// A request that waits, waits for something else now.
pub(super) async fn change(
    transaction: &mut Transaction,
    request: &RequestUid,
    wants_free: bool,
) -> Result<(), LedgerError> {
    const SQL: &str =
        "UPDATE queue SET wants_free = $4 WHERE garden = $1 AND project = $2 AND request_uid = $3";
    transaction.query(SQL, &[Value::from(request.as_str()), Value::from(wants_free)]).await.map(drop)
}

/// Takes a request out.
pub(super) async fn remove(transaction: &mut Transaction, request: &RequestUid) -> Result<(), LedgerError> {
    const SQL: &str = "DELETE FROM queue WHERE garden = $1 AND project = $2 AND request_uid = $3";
    transaction.query(SQL, &[Value::from(request.as_str())]).await.map(drop)
}

fn read(row: &Row) -> Result<Queued, LedgerError> {
    Ok(Queued {
        request: RequestKey {
            uid: RequestUid::new(row.text(0)?),
            namespace: row.text(1)?.to_owned(),
            name: row.text(2)?.to_owned(),
        },
        tenant: row.maybe_text(3)?.map(Tenant::new),
        pool: read_pool(row, 4)?,
        ticket: row.int(7)?,
        since: row.time(8)?,
        wants_free: row.yes(9)?,
    })
}
