//! One transaction that takes an account, or a place in the queue, from a request.

use super::{
    Account, Event, LedgerError, RequestKey, accounts, assignments,
    history::Note,
    queue::{self, Leaves},
    transaction::Transaction,
};
use allotment_core::pool::{AccountName, Holding, PoolKey, RequestUid, Tenant};
use std::{collections::BTreeSet, fmt};

/// What a live look showed of the account that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Clusters in it that nobody asked us for.
    pub foreign: u32,
    /// Whether the account is to be given back when it is empty.
    pub drain: bool,
}

/// What was taken from a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Released {
    /// Nothing: it had nothing.
    NotHeld,
    /// Its place in the queue.
    Queued,
    /// Its account, which its tenant keeps, or which is shared.
    Kept {
        /// Which.
        account: AccountName,
        /// Clusters in it now: assignments, and those that nobody asked us for.
        clusters_left: u32,
    },
    /// Its account, which takes nothing any more.
    Emptied {
        /// Which.
        account: AccountName,
    },
}

impl fmt::Display for Released {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHeld => f.write_str("nothing"),
            Self::Queued => f.write_str("its place in the queue"),
            Self::Kept { clusters_left, .. } => write!(f, "its account, with {clusters_left} clusters left"),
            Self::Emptied { .. } => f.write_str("its account, which is empty now"),
        }
    }
}

pub(super) async fn release(
    transaction: &mut Transaction,
    request: &RequestUid,
    left: Left,
    because: &str,
) -> Result<Released, LedgerError> {
    transaction.lock_request(request).await?;
    // Looked at once to know what to lock, and once more when it is locked.
    let Some(seen) = place(transaction, request).await? else {
        return Ok(Released::NotHeld);
    };
    let row = match &seen.account {
        Some(account) => {
            let tenants: Vec<&Tenant> = seen.tenant.iter().collect();
            accounts::lock(transaction, account, &tenants, &[&seen.pool]).await?
        }
        None => {
            transaction.lock(seen.tenant.iter().collect(), BTreeSet::from([&seen.pool])).await?;
            None
        }
    };
    let place = place(transaction, request).await?;
    if place.as_ref() != Some(&seen) {
        return Err(transaction.contended("the request got or lost its account meanwhile"));
    }
    let note = Note {
        event: Event::Released,
        account: seen.account.as_ref(),
        tenant: seen.tenant.as_ref(),
        request: Some(&seen.request),
        because,
    };
    let version = transaction.note(note).await?;
    if seen.account.is_none() {
        if let Some(queued) = queue::of(transaction, request).await? {
            queue::remove(transaction, &queued, Leaves::Otherwise).await?;
        }
        return Ok(Released::Queued);
    }
    assignments::delete(transaction, request).await?;
    let row = row.ok_or_else(|| transaction.broken("an assignment is to an account without a row"))?;
    leave(transaction, row, left, because, version).await
}

/// Takes a request out of its queue, and nothing else: if it has got an account meanwhile, it keeps it.
pub(super) async fn withdraw(
    transaction: &mut Transaction,
    request: &RequestUid,
    because: &str,
) -> Result<bool, LedgerError> {
    transaction.lock_request(request).await?;
    let Some(seen) = queue::of(transaction, request).await? else { return Ok(false) };
    transaction.lock(seen.tenant.iter().collect(), BTreeSet::from([&seen.pool])).await?;
    // Read again: it may have got its tenant's place in the round.
    let Some(seen) = queue::of(transaction, request).await? else { return Ok(false) };
    let note = Note {
        event: Event::Released,
        account: None,
        tenant: seen.tenant.as_ref(),
        request: Some(&seen.request),
        because,
    };
    transaction.note(note).await?;
    queue::remove(transaction, &seen, Leaves::Otherwise).await?;
    Ok(true)
}

/// Where a request is.
#[derive(PartialEq, Eq)]
struct Place {
    request: RequestKey,
    tenant: Option<Tenant>,
    pool: PoolKey,
    /// None: in the queue.
    account: Option<AccountName>,
}

async fn place(transaction: &mut Transaction, request: &RequestUid) -> Result<Option<Place>, LedgerError> {
    if let Some(assignment) = assignments::of(transaction, request).await? {
        let account = Some(assignment.account);
        let (request, tenant, pool) = (assignment.request, assignment.tenant, assignment.pool);
        return Ok(Some(Place { request, tenant, pool, account }));
    }
    let queued = queue::of(transaction, request).await?;
    Ok(queued.map(|queued| {
        let (request, tenant, pool) = (queued.request, queued.tenant, queued.pool);
        Place { request, tenant, pool, account: None }
    }))
}

/// What becomes of the account.
async fn leave(
    transaction: &mut Transaction,
    row: Account,
    left: Left,
    because: &str,
    released: i64,
) -> Result<Released, LedgerError> {
    let assigned = accounts::clusters_in(transaction, &row.account).await?;
    #[cfg(feature = "planted")]
    let assigned = if transaction.seen.only_shoots { 0 } else { assigned };
    let clusters_left = assigned.saturating_add(left.foreign);
    let mut after = row.clone();
    let mut version = released;
    match &row.holding {
        Holding::Claiming(tenant) | Holding::Claimed(tenant) if assigned == 0 && left.drain => {
            if left.foreign > 0 {
                after.leaving = true;
            } else {
                let event = Event::Draining;
                let (account, tenant_now) = (Some(&row.account), Some(tenant));
                let draining = Note { event, account, tenant: tenant_now, request: None, because };
                version = transaction.note(draining).await?;
                after.holding = Holding::Draining(tenant.clone());
                after.leaving = false;
            }
        }
        _ => {}
    }
    accounts::change(transaction, Some(&row), &after, version).await?;
    let account = row.account;
    Ok(match after.holding {
        Holding::Draining(_) => Released::Emptied { account },
        _ => Released::Kept { account, clusters_left },
    })
}
