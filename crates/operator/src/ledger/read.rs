//! Reading.

use super::{
    About, Account, Assignment, Entry, Ledger, LedgerError, Mode, QueueLength, RequestKey, Transaction,
    accounts, assignments, history, queue,
};
use allotment_core::pool::{AccountName, EXACT_POSITIONS, PoolKey, RequestUid, Tenant, Waiting, in_turns};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

impl Ledger {
    /// Reads the row of an account, with its assignments.
    pub async fn account(&self, account: &AccountName) -> Result<Option<Account>, LedgerError> {
        in_transaction!(read self, "read an account", |transaction| async {
            let Some(mut found) = accounts::find(transaction, account).await? else { return Ok(None) };
            found.assignments = assignments::within(transaction, account).await?;
            Ok(Some(found))
        })
    }

    /// Reads the rows of all accounts, with their assignments, by name.
    pub async fn accounts(&self) -> Result<Vec<Account>, LedgerError> {
        in_transaction!(read self, "read the accounts", |transaction| async {
            let mut accounts = accounts::all(transaction).await?;
            let mut assigned: BTreeMap<AccountName, Vec<Assignment>> = BTreeMap::new();
            for assignment in assignments::all(transaction).await? {
                assigned.entry(assignment.account.clone()).or_default().push(assignment);
            }
            for account in &mut accounts {
                account.assignments = assigned.remove(&account.account).unwrap_or_default();
            }
            Ok(accounts)
        })
    }

    /// The accounts on their way from one state to another, which somebody has to see to.
    pub async fn unfinished(&self) -> Result<Vec<AccountName>, LedgerError> {
        in_transaction!(read self, "read the unfinished", |transaction| accounts::unfinished(transaction))
    }

    /// The accounts that requests are in.
    pub async fn assigned_accounts(&self) -> Result<BTreeSet<AccountName>, LedgerError> {
        in_transaction!(read self, "read the accounts of requests", |transaction| async {
            const SQL: &str = "SELECT DISTINCT account FROM assignments WHERE garden = $1 AND project = $2";
            let rows = transaction.query(SQL, &[]).await?;
            rows.iter().map(|row| row.text(0).map(AccountName::new)).collect()
        })
    }

    /// Where a request is.
    pub async fn assignment(&self, request: &RequestUid) -> Result<Option<Assignment>, LedgerError> {
        in_transaction!(read self, "read an assignment", |transaction| assignments::of(transaction, request))
    }

    /// The requests that wait for a pool, in the order in which they are served, and since when.
    pub async fn waiting(
        &self,
        pool: &PoolKey,
    ) -> Result<Vec<(Waiting, RequestKey, Timestamp)>, LedgerError> {
        let queued =
            in_transaction!(read self, "read a queue", |transaction| queue::for_pool(transaction, pool))?;
        let turns = in_turns(queued.iter().map(queue::Queued::waiting).collect());
        let mut requests: BTreeMap<RequestUid, (RequestKey, Timestamp)> = queued
            .into_iter()
            .map(|queued| (queued.request.uid.clone(), (queued.request, queued.since)))
            .collect();
        let of = |waiting: Waiting| {
            requests.remove(&waiting.request).map(|(request, since)| (waiting, request, since))
        };
        Ok(turns.into_iter().filter_map(of).collect())
    }

    /// The requests that are next in a pool when an account comes free: at most so many, each of another tenant, in order.
    pub async fn heads(&self, pool: &PoolKey, most: u32) -> Result<Vec<RequestKey>, LedgerError> {
        let heads = in_transaction!(read self, "read the head of a queue", |transaction| queue::heads(
            transaction,
            pool,
            most
        ))?;
        Ok(heads.into_iter().map(|queued| queued.request).collect())
    }

    /// The request of a tenant that is served first in a pool, if one waits.
    pub async fn first_of(&self, pool: &PoolKey, tenant: &Tenant) -> Result<Option<RequestKey>, LedgerError> {
        let line = in_transaction!(read self, "read the head of a line", |transaction| queue::of_tenant(
            transaction,
            pool,
            tenant,
            1
        ))?;
        Ok(line.into_iter().next().map(|queued| queued.request))
    }

    /// The first [`EXACT_POSITIONS`] who wait for free accounts of a pool, in the order in which they are served.
    pub async fn first_in_line(&self, pool: &PoolKey) -> Result<Vec<RequestKey>, LedgerError> {
        let few = usize::try_from(EXACT_POSITIONS).unwrap_or(usize::MAX);
        let mut queued = in_transaction!(read self, "read the front of a queue", |transaction| async {
            let mut queued = queue::heads(transaction, pool, EXACT_POSITIONS).await?;
            if queued.len() < few && !pool.shared {
                let tenants: Vec<Tenant> = queued.iter().filter_map(|head| head.tenant.clone()).collect();
                queued.clear();
                for tenant in &tenants {
                    queued.extend(queue::of_tenant(transaction, pool, tenant, EXACT_POSITIONS).await?);
                }
            }
            Ok(queued)
        })?;
        let turns = in_turns(queued.iter().map(queue::Queued::waiting).collect());
        let of = |waiting: Waiting| {
            let place = queued.iter().position(|queued| queued.request.uid == waiting.request)?;
            Some(queued.swap_remove(place).request)
        };
        Ok(turns.into_iter().take(few).filter_map(of).collect())
    }

    /// Everybody who waits: the request, the pool and the tenant.
    pub async fn queued(&self) -> Result<Vec<(RequestKey, PoolKey, Option<Tenant>)>, LedgerError> {
        let all = in_transaction!(read self, "read the queues", |transaction| queue::all(transaction))?;
        Ok(all.into_iter().map(|queued| (queued.request, queued.pool, queued.tenant)).collect())
    }

    /// How long the queues are. A pool for which nobody waits is not among them.
    pub async fn queues(&self) -> Result<Vec<QueueLength>, LedgerError> {
        let lengths = in_transaction!(read self, "read the lengths of the queues", |transaction| queue::lengths(transaction))?;
        let of = |(pool, length, oldest)| QueueLength { pool, length, oldest };
        Ok(lengths.into_iter().map(of).collect())
    }

    /// The newest entries of the history, at most this many, the oldest of them first.
    pub async fn history(&self, about: About<'_>, limit: u32) -> Result<Vec<Entry>, LedgerError> {
        in_transaction!(read self, "read the history", |transaction| history::read(transaction, about, limit))
    }
}
