//! Rows about who waits for which pool.
//!
//! A tenant's first request in a queue has the tenant's place in the round (`turn`); those behind it have none. Whoever takes a
//! first request out gives the place to the tenant's next one, so the pool and the tenant must be locked. Every statement that
//! a decision needs reads an index, and at most a few rows: a queue may hold 100,000.

use super::{
    LedgerError, RequestKey,
    accounts::{pool_values, read_pool},
    store::{Row, Value},
    transaction::{Transaction, time},
};
use allotment_core::pool::{
    Ahead, EXACT_POSITIONS, Line, PoolKey, RequestUid, Tenant, Waiting, about, ahead_in_round,
};
use jiff::Timestamp;

/// A request in the queue.
pub(super) struct Queued {
    pub(super) request: RequestKey,
    pub(super) tenant: Option<Tenant>,
    pub(super) pool: PoolKey,
    ticket: i64,
    pub(super) since: Timestamp,
    /// Whether a free account of the pool would serve it. It counts where the request has the tenant's place.
    pub(super) wants_free: bool,
    /// The tenant's place in the round, for the tenant's first request. In a shared pool everybody has one.
    pub(super) turn: Option<i64>,
}

impl Queued {
    /// As the decision sees it. Nobody's requests, in a shared pool, are served as if they were one tenant's.
    pub(super) fn waiting(&self) -> Waiting {
        Waiting {
            request: self.request.uid.clone(),
            tenant: self.tenant.clone().unwrap_or_else(|| Tenant::new("")),
            ticket: self.ticket,
            turn: self.turn,
        }
    }
}

macro_rules! select {
    ($condition:literal) => {
        concat!(
            "SELECT request_uid, namespace, name, tenant, hyperscaler_type, shared, eu_access, ticket, since, wants_free, turn \
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

/// How many are served before a request, by the places of the round that come first.
pub(super) async fn ahead(
    transaction: &mut Transaction,
    pool: &PoolKey,
    tenant: &Tenant,
    queued: Option<&Queued>,
) -> Result<Ahead, LedgerError> {
    let ticket = queued.map_or(i64::MAX, |queued| queued.ticket);
    let (own, turn) = match queued.and_then(|queued| queued.turn) {
        Some(turn) => (0, turn),
        None => behind(transaction, pool, tenant, ticket).await?,
    };
    let exactly = if own >= EXACT_POSITIONS {
        None
    } else if own == 0 {
        ahead_in_round(0, turn, &before(transaction, pool, turn).await?)
    } else {
        ahead_in_round(own, turn, &lines(transaction, pool, tenant, own + 1).await?)
    };
    match exactly {
        Some(ahead) => Ok(Ahead::Exactly(ahead)),
        None => {
            let (first, last) = tickets(transaction, pool).await?;
            Ok(about(first, ticket.min(last.saturating_add(1))))
        }
    }
}

/// How many requests of the tenant came before this ticket, at most [`EXACT_POSITIONS`], and the tenant's place.
async fn behind(
    transaction: &mut Transaction,
    pool: &PoolKey,
    tenant: &Tenant,
    ticket: i64,
) -> Result<(u32, i64), LedgerError> {
    const SQL: &str = "SELECT ticket, turn FROM queue WHERE garden = $1 AND project = $2 AND hyperscaler_type = $3 \
         AND shared = $4 AND eu_access = $5 AND tenant = $6 ORDER BY ticket LIMIT $7";
    let mut parameters = pool_values(pool).to_vec();
    parameters.extend([Value::from(tenant.as_str()), Value::from(i64::from(EXACT_POSITIONS))]);
    let rows = transaction.query(SQL, &parameters).await?;
    let turn = rows.first().map(|row| row.maybe_int(1)).transpose()?.flatten();
    let mut before = 0;
    for row in &rows {
        before += u32::from(row.int(0)? < ticket);
    }
    Ok((before, turn.unwrap_or(i64::MAX)))
}

/// The first places of the round that are before this one.
async fn before(transaction: &mut Transaction, pool: &PoolKey, turn: i64) -> Result<Vec<Line>, LedgerError> {
    const SQL: &str = "SELECT turn FROM queue WHERE garden = $1 AND project = $2 AND hyperscaler_type = $3 \
         AND shared = $4 AND eu_access = $5 AND wants_free = 1 AND turn > 0 AND turn < $6 ORDER BY turn LIMIT $7";
    let mut parameters = pool_values(pool).to_vec();
    parameters.extend([Value::from(turn), Value::from(i64::from(EXACT_POSITIONS))]);
    let rows = transaction.query(SQL, &parameters).await?;
    rows.iter().map(|row| Ok(Line { turn: row.int(0)?, length: 1 })).collect()
}

/// The first places of the round but a tenant's own, each with the length of its line, counted up to `most`.
async fn lines(
    transaction: &mut Transaction,
    pool: &PoolKey,
    tenant: &Tenant,
    most: u32,
) -> Result<Vec<Line>, LedgerError> {
    const SQL: &str = "SELECT place.turn, (SELECT COUNT(*) FROM (SELECT 1 FROM queue AS waiter \
         WHERE waiter.garden = place.garden AND waiter.project = place.project \
         AND waiter.hyperscaler_type = place.hyperscaler_type AND waiter.shared = place.shared \
         AND waiter.eu_access = place.eu_access AND waiter.tenant = place.tenant LIMIT $8) AS few) \
         FROM queue AS place WHERE place.garden = $1 AND place.project = $2 AND place.hyperscaler_type = $3 \
         AND place.shared = $4 AND place.eu_access = $5 AND place.wants_free = 1 AND place.turn > 0 \
         AND place.tenant <> $6 ORDER BY place.turn LIMIT $7";
    let mut parameters = pool_values(pool).to_vec();
    parameters.extend([
        Value::from(tenant.as_str()),
        Value::from(i64::from(EXACT_POSITIONS)),
        Value::from(i64::from(most)),
    ]);
    let rows = transaction.query(SQL, &parameters).await?;
    let line = |row: &Row| {
        let length = u32::try_from(row.int(1)?).unwrap_or(u32::MAX);
        Ok(Line { turn: row.int(0)?, length })
    };
    rows.iter().map(line).collect()
}

/// The first and the last ticket of a queue.
async fn tickets(transaction: &mut Transaction, pool: &PoolKey) -> Result<(i64, i64), LedgerError> {
    const FIRST: &str = "SELECT ticket FROM queue WHERE garden = $1 AND project = $2 AND hyperscaler_type = $3 \
         AND shared = $4 AND eu_access = $5 ORDER BY ticket LIMIT 1";
    const LAST: &str = "SELECT ticket FROM queue WHERE garden = $1 AND project = $2 AND hyperscaler_type = $3 \
         AND shared = $4 AND eu_access = $5 ORDER BY ticket DESC LIMIT 1";
    let first = transaction.query(FIRST, &pool_values(pool)).await?;
    let last = transaction.query(LAST, &pool_values(pool)).await?;
    let ticket = |rows: &[Row]| rows.first().map_or(Ok(0), |row| row.int(0));
    Ok((ticket(&first)?, ticket(&last)?))
}

/// The first places of the round: one request of each tenant that a free account would serve.
pub(super) async fn heads(
    transaction: &mut Transaction,
    pool: &PoolKey,
    most: u32,
) -> Result<Vec<Queued>, LedgerError> {
    let sql = select!(
        " AND hyperscaler_type = $3 AND shared = $4 AND eu_access = $5 AND wants_free = 1 AND turn > 0 \
         ORDER BY turn LIMIT $6"
    );
    let mut parameters = pool_values(pool).to_vec();
    parameters.push(Value::from(i64::from(most)));
    let rows = transaction.query(sql, &parameters).await?;
    rows.iter().map(read).collect()
}

/// The first requests of a tenant.
pub(super) async fn of_tenant(
    transaction: &mut Transaction,
    pool: &PoolKey,
    tenant: &Tenant,
    most: u32,
) -> Result<Vec<Queued>, LedgerError> {
    let sql = select!(
        " AND hyperscaler_type = $3 AND shared = $4 AND eu_access = $5 AND tenant = $6 ORDER BY ticket LIMIT $7"
    );
    let mut parameters = pool_values(pool).to_vec();
    parameters.extend([Value::from(tenant.as_str()), Value::from(i64::from(most))]);
    let rows = transaction.query(sql, &parameters).await?;
    rows.iter().map(read).collect()
}

/// How many wait for each pool, and since when the first of them has.
pub(super) async fn lengths(
    transaction: &mut Transaction,
) -> Result<Vec<(PoolKey, u64, Timestamp)>, LedgerError> {
    const SQL: &str = "SELECT hyperscaler_type, shared, eu_access, COUNT(*), MIN(since) FROM queue \
         WHERE garden = $1 AND project = $2 GROUP BY hyperscaler_type, shared, eu_access \
         ORDER BY hyperscaler_type, shared, eu_access";
    let rows = transaction.query(SQL, &[]).await?;
    let read = |row: &Row| {
        let length = u64::try_from(row.int(3)?).unwrap_or_default();
        Ok((read_pool(row, 0)?, length, row.time(4)?))
    };
    rows.iter().map(read).collect()
}

/// Puts a request at the end, and a tenant that did not wait yet at the end of the place. The pool is locked, so no two get
/// the same ticket.
pub(super) async fn push(
    transaction: &mut Transaction,
    request: &RequestKey,
    tenant: Option<&Tenant>,
    pool: &PoolKey,
    wants_free: bool,
) -> Result<(), LedgerError> {
    const SQL: &str = "INSERT INTO queue (garden, project, request_uid, namespace, name, tenant, hyperscaler_type, \
         shared, eu_access, since, wants_free, turn, ticket) \
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, COALESCE(MAX(ticket), 0) + 1 FROM queue WHERE garden = $1 AND project = $2 AND hyperscaler_type = $7 AND shared = $8 AND eu_access = $9";
    let has_place = match tenant {
        Some(tenant) => !of_tenant(transaction, pool, tenant, 1).await?.is_empty(),
        None => false,
    };
    let turn = if has_place { None } else { Some(end_of_round(transaction, pool).await?) };
    let RequestKey { uid, namespace, name } = request;
    let mut parameters = vec![
        Value::from(uid.as_str()),
        Value::from(namespace.as_str()),
        Value::from(name.as_str()),
        Value::from(tenant.map(Tenant::as_str)),
    ];
    parameters.extend(pool_values(pool));
    parameters.extend([
        time(transaction.now),
        Value::from(wants_free),
        turn.map_or(Value::Null, Value::from),
    ]);
    transaction.query(SQL, &parameters).await.map(drop)
}

/// A place behind all others. Those that no free account would serve have kept theirs, and count too.
async fn end_of_round(transaction: &mut Transaction, pool: &PoolKey) -> Result<i64, LedgerError> {
    const SQL: &str = "SELECT turn FROM queue WHERE garden = $1 AND project = $2 AND hyperscaler_type = $3 \
         AND shared = $4 AND eu_access = $5 AND wants_free = $6 AND turn > 0 ORDER BY turn DESC LIMIT 1";
    let mut last = 0;
    for wants_free in [true, false] {
        let mut parameters = pool_values(pool).to_vec();
        parameters.push(Value::from(wants_free));
        let rows = transaction.query(SQL, &parameters).await?;
        last = rows.first().map_or(Ok(0), |row| row.int(0))?.max(last);
    }
    Ok(last + 1)
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

/// Why a request leaves the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaves {
    /// It was given a free account: the tenant goes to the end of the place.
    Served,
    /// It took nothing that others wait for: the tenant keeps its place.
    Otherwise,
}

/// Takes a request out. Its tenant's next request gets the tenant's place. The tenant and the pool are locked, and the row was
/// read after that.
pub(super) async fn remove(
    transaction: &mut Transaction,
    queued: &Queued,
    leaves: Leaves,
) -> Result<(), LedgerError> {
    const DELETE: &str = "DELETE FROM queue WHERE garden = $1 AND project = $2 AND request_uid = $3";
    // Whether a free account would serve the next one shows when it is woken.
    const PROMOTE: &str =
        "UPDATE queue SET turn = $4, wants_free = 1 WHERE garden = $1 AND project = $2 AND request_uid = $3";
    transaction.query(DELETE, &[Value::from(queued.request.uid.as_str())]).await?;
    let (Some(turn), Some(tenant)) = (queued.turn, &queued.tenant) else { return Ok(()) };
    let Some(next) = of_tenant(transaction, &queued.pool, tenant, 1).await?.into_iter().next() else {
        return Ok(());
    };
    let turn = match leaves {
        Leaves::Served => end_of_round(transaction, &queued.pool).await?,
        Leaves::Otherwise => turn,
    };
    let parameters = [Value::from(next.request.uid.as_str()), Value::from(turn)];
    transaction.query(PROMOTE, &parameters).await.map(drop)
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
        turn: row.maybe_int(10)?,
    })
}
