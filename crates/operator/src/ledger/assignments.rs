//! Rows about who is in which account.

use super::{
    LedgerError, RequestKey,
    accounts::{pool_values, read_pool},
    store::{Row, Value},
    transaction::{Transaction, time},
};
use allotment_core::pool::{AccountName, PoolKey, RequestUid, Tenant};
use jiff::Timestamp;

/// A request that has an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Which.
    pub request: RequestKey,
    /// Whose; nobody's in a shared pool.
    pub tenant: Option<Tenant>,
    /// The account.
    pub account: AccountName,
    /// The pool in which that was decided.
    pub pool: PoolKey,
    /// The cluster it is for, if the request says.
    pub cluster: Option<String>,
    /// Since when.
    pub since: Timestamp,
}

macro_rules! select {
    ($condition:literal) => {
        concat!(
            "SELECT request_uid, namespace, name, tenant, account, hyperscaler_type, shared, eu_access, cluster, since \
             FROM assignments WHERE garden = $1 AND project = $2",
            $condition
        )
    };
}

/// Every assignment, by the request's UID.
pub(super) async fn all(transaction: &mut Transaction) -> Result<Vec<Assignment>, LedgerError> {
    let rows = transaction.query(select!(" ORDER BY request_uid"), &[]).await?;
    rows.iter().map(read).collect()
}

/// A request's.
pub(super) async fn of(
    transaction: &mut Transaction,
    request: &RequestUid,
) -> Result<Option<Assignment>, LedgerError> {
    let rows = transaction.query(select!(" AND request_uid = $3"), &[Value::from(request.as_str())]).await?;
    rows.first().map(read).transpose()
}

/// An account's.
pub(super) async fn within(
    transaction: &mut Transaction,
    account: &AccountName,
) -> Result<Vec<Assignment>, LedgerError> {
    let sql = select!(" AND account = $3 ORDER BY request_uid");
    let rows = transaction.query(sql, &[Value::from(account.as_str())]).await?;
    rows.iter().map(read).collect()
}

/// Writes one. The request has none yet: a second one is refused by the table's key.
pub(super) async fn insert(
    transaction: &mut Transaction,
    assignment: &Assignment,
) -> Result<(), LedgerError> {
    const SQL: &str = "INSERT INTO assignments (garden, project, request_uid, namespace, name, tenant, account, \
         hyperscaler_type, shared, eu_access, cluster, since) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    let Assignment { request: RequestKey { uid, namespace, name }, tenant, account, pool, cluster, since } =
        assignment;
    let mut parameters = vec![
        Value::from(uid.as_str()),
        Value::from(namespace.as_str()),
        Value::from(name.as_str()),
        Value::from(tenant.as_ref().map(Tenant::as_str)),
        Value::from(account.as_str()),
    ];
    parameters.extend(pool_values(pool));
    parameters.extend([Value::from(cluster.as_deref()), time(*since)]);
    transaction.query(SQL, &parameters).await.map(drop)
}

/// Takes one away.
pub(super) async fn delete(transaction: &mut Transaction, request: &RequestUid) -> Result<(), LedgerError> {
    const SQL: &str = "DELETE FROM assignments WHERE garden = $1 AND project = $2 AND request_uid = $3";
    transaction.query(SQL, &[Value::from(request.as_str())]).await.map(drop)
}

fn read(row: &Row) -> Result<Assignment, LedgerError> {
    Ok(Assignment {
        request: RequestKey {
            uid: RequestUid::new(row.text(0)?),
            namespace: row.text(1)?.to_owned(),
            name: row.text(2)?.to_owned(),
        },
        tenant: row.maybe_text(3)?.map(Tenant::new),
        account: AccountName::new(row.text(4)?),
        pool: read_pool(row, 5)?,
        cluster: row.maybe_text(8)?.map(ToOwned::to_owned),
        since: row.time(9)?,
    })
}
