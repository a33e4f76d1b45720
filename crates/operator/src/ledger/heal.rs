//! Healing: what the cluster proves is written down, and what is to be made anew is thrown away.

use super::{
    Account, Assignment, Event, LedgerError, accounts, assignments,
    history::{self, Note},
    queue::{self, Leaves},
    transaction::Transaction,
};
use allotment_core::pool::{Holding, PoolKey, Tenant};
use jiff::Timestamp;

/// Writes down an assignment that the request's status and the binding prove.
pub(super) async fn assign(
    transaction: &mut Transaction,
    assignment: &Assignment,
    because: &str,
) -> Result<(), LedgerError> {
    let Assignment { request, tenant, account, pool, cluster: _, since: _ } = assignment;
    transaction.lock_request(&request.uid).await?;
    let queued = queue::of(transaction, &request.uid).await?;
    let queued_for = queued.as_ref().and_then(|queued| queued.tenant.as_ref());
    let tenants: Vec<&Tenant> = tenant.iter().chain(queued_for).collect();
    let pools: Vec<&PoolKey> =
        std::iter::once(pool).chain(queued.as_ref().map(|queued| &queued.pool)).collect();
    let row = accounts::lock(transaction, account, &tenants, &pools).await?;
    let refused = |doing, because: String| LedgerError::Refused { doing, account: account.clone(), because };
    if let Some(standing) = assignments::of(transaction, &request.uid).await? {
        if standing.account == *account && standing.tenant == *tenant {
            return Ok(());
        }
        return Err(refused(
            transaction.doing,
            format!("request {request} is assigned to {}", standing.account),
        ));
    }
    // A status outlives its assignment by a moment, and a cache a status by a while.
    if history::last(transaction, &request.uid).await? == Some(Event::Released) {
        return Ok(());
    }
    let clusters = accounts::clusters_in(transaction, account).await?;
    let now = transaction.now;
    let before = row.clone().unwrap_or_else(|| Account::new(account, pool, now));
    let mut after = before.clone();
    after.leaving = false;
    match (&before.holding, tenant) {
        (holding, Some(tenant)) if holding.takes_clusters_of(tenant) => {}
        (Holding::Free, Some(tenant)) if clusters == 0 && !pool.shared => {
            after.holding = Holding::Claimed(tenant.clone());
            after.pool = pool.clone();
        }
        (Holding::Free, None) if pool.shared && (before.pool.shared || clusters == 0) => {
            after.pool = pool.clone();
        }
        (holding, _) => {
            let because =
                format!("the ledger says: {holding}, in pool {}, with {clusters} assignments", before.pool);
            return Err(refused(transaction.doing, because));
        }
    }
    if after.holding != before.holding {
        let (account, tenant) = (Some(account), tenant.as_ref());
        transaction.note(Note { event: Event::Adopted, account, tenant, request: None, because }).await?;
    }
    let (account, tenant, request) = (Some(account), tenant.as_ref(), Some(request));
    let version =
        transaction.note(Note { event: Event::Assigned, account, tenant, request, because }).await?;
    accounts::change(transaction, row.as_ref(), &after, version).await?;
    assignments::insert(transaction, assignment).await?;
    match queue::of(transaction, &assignment.request.uid).await? {
        Some(queued) => queue::remove(transaction, &queued, Leaves::Otherwise).await,
        None => Ok(()),
    }
}

/// Throws everything away but history and identity.
pub(super) async fn clear(transaction: &mut Transaction, because: &str) -> Result<(), LedgerError> {
    const ALL: [&str; 4] = [
        "DELETE FROM assignments WHERE garden = $1 AND project = $2",
        "DELETE FROM queue WHERE garden = $1 AND project = $2",
        "DELETE FROM accounts WHERE garden = $1 AND project = $2",
        "DELETE FROM locks WHERE garden = $1 AND project = $2",
    ];
    for sql in ALL {
        transaction.query(sql, &[]).await?;
    }
    let note = Note { event: Event::Rebuilt, account: None, tenant: None, request: None, because };
    transaction.note(note).await.map(drop)
}

/// Notes that the pool was in use when the ledger began.
pub(super) async fn take_over(transaction: &mut Transaction, because: &str) -> Result<(), LedgerError> {
    let note = Note { event: Event::TookOver, account: None, tenant: None, request: None, because };
    transaction.note(note).await.map(drop)
}

/// The time before which uses of accounts may be unknown.
pub(super) async fn knows_since(transaction: &mut Transaction) -> Result<Option<Timestamp>, LedgerError> {
    const LAST: &str = "SELECT at FROM history WHERE garden = $1 AND project = $2 \
         AND event IN ('took-over', 'rebuilt') ORDER BY id DESC LIMIT 1";
    let rows = transaction.query(LAST, &[]).await?;
    rows.first().map(|row| row.time(0)).transpose()
}
