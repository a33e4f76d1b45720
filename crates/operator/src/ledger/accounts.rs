//! Rows about accounts.

use super::{
    Assignment, LedgerError,
    store::{Row, Value},
    transaction::{Transaction, time},
};
use allotment_core::pool::{AccountName, Epoch, Holding, PoolKey, RequestUid, Tenant};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// What the ledger says about an account. One that it says nothing about is free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Which.
    pub account: AccountName,
    /// The pool it is in.
    pub pool: PoolKey,
    /// Where it is on its way from free to free again. Shared ones are always free: nobody holds them.
    pub holding: Holding,
    /// Its last assignment is gone, but clusters that nobody asked us for are in it: it drains when they are gone too.
    pub leaving: bool,
    /// Why it takes no new clusters.
    pub quarantine: Option<String>,
    /// The epoch of its last change.
    pub epoch: Epoch,
    /// Another one after every change of this or of its assignments.
    pub version: i64,
    /// When it came into this holding.
    pub since: Timestamp,
    /// The requests in it, by UID. Empty where only the account itself was asked for.
    pub assignments: Vec<Assignment>,
}

impl Account {
    /// One that the ledger has not heard of.
    pub(super) fn new(account: &AccountName, pool: &PoolKey, now: Timestamp) -> Self {
        Self {
            account: account.clone(),
            pool: pool.clone(),
            holding: Holding::Free,
            leaving: false,
            quarantine: None,
            epoch: Epoch(0),
            version: 0,
            since: now,
            assignments: Vec::new(),
        }
    }

    /// Whether its clusters' account name may be published: nobody outside can take it any more.
    pub(super) fn is_confirmed(&self) -> bool {
        self.pool.shared || matches!(self.holding, Holding::Claimed(_))
    }
}

macro_rules! select {
    ($condition:literal) => {
        concat!(
            "SELECT name, hyperscaler_type, shared, eu_access, holding, tenant, leaving, quarantine, epoch, version, since \
             FROM accounts WHERE garden = $1 AND project = $2",
            $condition
        )
    };
}

/// How many names one statement takes. Shorter lists are filled up with the last name, so that there is one statement.
const BATCH: usize = 32;

macro_rules! batch {
    () => {
        "($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, \
         $26, $27, $28, $29, $30, $31, $32, $33, $34)"
    };
}

/// Every account.
pub(super) async fn all(transaction: &mut Transaction) -> Result<Vec<Account>, LedgerError> {
    let rows = transaction.query(select!(" ORDER BY name"), &[]).await?;
    rows.iter().map(read).collect()
}

/// Those that are being claimed or drained, or wait for their last Shoot to go.
pub(super) async fn unfinished(transaction: &mut Transaction) -> Result<Vec<AccountName>, LedgerError> {
    const SQL: &str = "SELECT name FROM accounts WHERE garden = $1 AND project = $2 \
         AND (holding IN ('claiming', 'draining') OR leaving = 1) ORDER BY name";
    let rows = transaction.query(SQL, &[]).await?;
    rows.iter().map(|row| row.text(0).map(AccountName::new)).collect()
}

/// One, without locking it.
pub(super) async fn find(
    transaction: &mut Transaction,
    account: &AccountName,
) -> Result<Option<Account>, LedgerError> {
    let rows = transaction.query(select!(" AND name = $3"), &[Value::from(account.as_str())]).await?;
    rows.first().map(read).transpose()
}

/// One, locked.
pub(super) async fn lock_row(
    transaction: &mut Transaction,
    account: &AccountName,
) -> Result<Option<Account>, LedgerError> {
    let sql = select!(" AND name = $3 FOR UPDATE");
    let rows = transaction.query(sql, &[Value::from(account.as_str())]).await?;
    rows.first().map(read).transpose()
}

/// Locks an account with everything that a change of it concerns: its tenant and pool of now, and those given, which it is
/// to have or which its assignments have.
pub(super) async fn lock(
    transaction: &mut Transaction,
    account: &AccountName,
    tenants: &[&Tenant],
    pools: &[&PoolKey],
) -> Result<Option<Account>, LedgerError> {
    let seen = find(transaction, account).await?;
    let mut tenants: BTreeSet<&Tenant> = tenants.iter().copied().collect();
    let mut pools: BTreeSet<&PoolKey> = pools.iter().copied().collect();
    tenants.extend(seen.as_ref().and_then(|seen| seen.holding.tenant()));
    pools.extend(seen.as_ref().map(|seen| &seen.pool));
    transaction.lock(tenants, pools).await?;
    let row = lock_row(transaction, account).await?;
    let concerns =
        |row: &Option<Account>| row.as_ref().map(|row| (row.holding.tenant().cloned(), row.pool.clone()));
    if concerns(&row) != concerns(&seen) {
        return Err(transaction.contended("the account changed hands meanwhile"));
    }
    Ok(row)
}

/// A tenant's accounts that take clusters, in all pools, locked.
pub(super) async fn lock_own(
    transaction: &mut Transaction,
    tenant: &Tenant,
) -> Result<Vec<Account>, LedgerError> {
    let sql = select!(" AND tenant = $3 AND holding IN ('claiming', 'claimed') ORDER BY name FOR UPDATE");
    let rows = transaction.query(sql, &[Value::from(tenant.as_str())]).await?;
    rows.iter().map(read).collect()
}

/// Those of the accounts that the ledger says something about.
pub(super) async fn named(
    transaction: &mut Transaction,
    names: &[AccountName],
) -> Result<BTreeMap<AccountName, Account>, LedgerError> {
    let mut found = BTreeMap::new();
    for names in names.chunks(BATCH) {
        let rows = transaction.query(concat!(select!(" AND name IN "), batch!()), &filled(names)).await?;
        for row in &rows {
            let account = read(row)?;
            found.insert(account.account.clone(), account);
        }
    }
    Ok(found)
}

/// How many assignments there are in each of the accounts; those without one are left out.
pub(super) async fn clusters(
    transaction: &mut Transaction,
    names: &[AccountName],
) -> Result<BTreeMap<AccountName, u32>, LedgerError> {
    const SQL: &str = concat!(
        "SELECT account, count(*) FROM assignments WHERE garden = $1 AND project = $2 AND account IN ",
        batch!(),
        " GROUP BY account"
    );
    let mut found = BTreeMap::new();
    for names in names.chunks(BATCH) {
        for row in transaction.query(SQL, &filled(names)).await? {
            let count = u32::try_from(row.int(1)?).unwrap_or(u32::MAX);
            found.insert(AccountName::new(row.text(0)?), count);
        }
    }
    Ok(found)
}

/// The accounts of these requests; those without one are left out.
pub(super) async fn seats_of(
    transaction: &mut Transaction,
    requests: &[RequestUid],
) -> Result<BTreeMap<RequestUid, AccountName>, LedgerError> {
    const SQL: &str = concat!(
        "SELECT request_uid, account FROM assignments WHERE garden = $1 AND project = $2 AND request_uid IN ",
        batch!()
    );
    let mut found = BTreeMap::new();
    for requests in requests.chunks(BATCH) {
        let last = requests.last().into_iter().cycle();
        let filled: Vec<Value> =
            requests.iter().chain(last).take(BATCH).map(|request| Value::from(request.as_str())).collect();
        for row in transaction.query(SQL, &filled).await? {
            found.insert(RequestUid::new(row.text(0)?), AccountName::new(row.text(1)?));
        }
    }
    Ok(found)
}

/// Other entries that are recorded as the same account of the cloud, for those of these that have some.
pub(super) async fn recorded_twins(
    transaction: &mut Transaction,
    names: &[AccountName],
) -> Result<BTreeMap<AccountName, BTreeSet<AccountName>>, LedgerError> {
    const SQL: &str = concat!(
        "SELECT one.account, other.account FROM cloud_accounts one JOIN cloud_accounts other \
         ON other.garden = one.garden AND other.project = one.project \
         AND other.cloud_account = one.cloud_account AND other.account <> one.account \
         WHERE one.garden = $1 AND one.project = $2 AND one.account IN ",
        batch!()
    );
    let mut twins: BTreeMap<AccountName, BTreeSet<AccountName>> = BTreeMap::new();
    for names in names.chunks(BATCH) {
        for row in &transaction.query(SQL, &filled(names)).await? {
            let (one, other) = (AccountName::new(row.text(0)?), AccountName::new(row.text(1)?));
            twins.entry(one).or_default().insert(other);
        }
    }
    Ok(twins)
}

fn filled(names: &[AccountName]) -> Vec<Value> {
    let last = names.last().into_iter().cycle();
    names.iter().chain(last).take(BATCH).map(|name| Value::from(name.as_str())).collect()
}

/// How many assignments there are in one account.
pub(super) async fn clusters_in(
    transaction: &mut Transaction,
    account: &AccountName,
) -> Result<u32, LedgerError> {
    let names = std::slice::from_ref(account);
    Ok(clusters(transaction, names).await?.remove(account).unwrap_or_default())
}

/// Writes what has become of an account. `before` is what was read of it; `version` is the entry of the history about it.
pub(super) async fn change(
    transaction: &mut Transaction,
    before: Option<&Account>,
    after: &Account,
    version: i64,
) -> Result<(), LedgerError> {
    // A new row is inserted and never overwrites: of two who saw no row, the second has to look again.
    const INSERT: &str = "INSERT INTO accounts (garden, project, name, hyperscaler_type, shared, eu_access, holding, \
         tenant, leaving, quarantine, epoch, since, version) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING name";
    const UPDATE: &str = "UPDATE accounts SET hyperscaler_type = $4, shared = $5, eu_access = $6, holding = $7, \
         tenant = $8, leaving = $9, quarantine = $10, epoch = $11, since = $12, version = $13 \
         WHERE garden = $1 AND project = $2 AND name = $3 AND version = $14 RETURNING name";
    let Account {
        account,
        pool,
        holding,
        leaving,
        quarantine,
        epoch: _,
        version: _,
        since: _,
        assignments: _,
    } = after;
    let since =
        before.filter(|before| before.holding == *holding).map_or(transaction.now, |before| before.since);
    let mut parameters = vec![Value::from(account.as_str())];
    parameters.extend(pool_values(pool));
    parameters.extend([
        Value::from(holding.as_str()),
        Value::from(holding.tenant().map(Tenant::as_str)),
        Value::from(*leaving),
        Value::from(quarantine.as_deref()),
        Value::from(transaction.leader.epoch.0),
        time(since),
        Value::from(version),
    ]);
    let sql = match before {
        None => INSERT,
        Some(before) => {
            parameters.push(Value::from(before.version));
            UPDATE
        }
    };
    match transaction.query(sql, &parameters).await?.as_slice() {
        [] => Err(transaction.contended("the account changed meanwhile")),
        _ => Ok(()),
    }
}

/// Takes the row of an account away.
pub(super) async fn delete(transaction: &mut Transaction, account: &AccountName) -> Result<(), LedgerError> {
    const SQL: &str = "DELETE FROM accounts WHERE garden = $1 AND project = $2 AND name = $3";
    transaction.query(SQL, &[Value::from(account.as_str())]).await.map(drop)
}

/// The three columns of a pool.
pub(super) fn pool_values(pool: &PoolKey) -> [Value; 3] {
    let PoolKey { hyperscaler_type, shared, eu_access } = pool;
    [Value::from(hyperscaler_type.as_str()), Value::from(*shared), Value::from(*eu_access)]
}

/// Reads them, from this column on.
pub(super) fn read_pool(row: &Row, column: usize) -> Result<PoolKey, LedgerError> {
    Ok(PoolKey {
        hyperscaler_type: row.text(column)?.to_owned(),
        shared: row.yes(column + 1)?,
        eu_access: row.yes(column + 2)?,
    })
}

fn read(row: &Row) -> Result<Account, LedgerError> {
    let tenant = row.maybe_text(5)?.map(Tenant::new);
    Ok(Account {
        account: AccountName::new(row.text(0)?),
        pool: read_pool(row, 1)?,
        holding: Holding::parse(row.text(4)?, tenant).ok_or_else(|| row.broken(4, "a holding"))?,
        leaving: row.yes(6)?,
        quarantine: row.maybe_text(7)?.map(ToOwned::to_owned),
        epoch: Epoch(row.int(8)?),
        version: row.int(9)?,
        since: row.time(10)?,
        assignments: Vec::new(),
    })
}
