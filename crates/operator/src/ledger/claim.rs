//! How a claim ends: it is on the binding, or somebody outside was faster.

use super::{
    Account, Event, LedgerError, RequestKey, accounts, assignments, history::Note, transaction::Transaction,
};
use allotment_core::pool::{AccountName, Holding, Tenant};

/// The tenant's name is on the binding.
pub(super) async fn confirm(
    transaction: &mut Transaction,
    account: &AccountName,
    tenant: &Tenant,
) -> Result<(), LedgerError> {
    // Claiming and claimed take the same clusters, so no other decision depends on this.
    let row = accounts::lock_row(transaction, account).await?;
    match row {
        Some(row) if row.holding == Holding::Claimed(tenant.clone()) => Ok(()),
        Some(row) if row.holding == Holding::Claiming(tenant.clone()) => {
            let because = "the tenant's name is on the binding";
            let (account, tenant_now) = (Some(account), Some(tenant));
            let note = Note { event: Event::Confirmed, account, tenant: tenant_now, request: None, because };
            let version = transaction.note(note).await?;
            let after = Account { holding: Holding::Claimed(tenant.clone()), ..row.clone() };
            accounts::change(transaction, Some(&row), &after, version).await
        }
        row => Err(refused(transaction, account, row.as_ref(), tenant)),
    }
}

/// The binding says something else than the claim; the claim's requests go back to be decided again.
pub(super) async fn lose(
    transaction: &mut Transaction,
    account: &AccountName,
    tenant: &Tenant,
    found: &Holding,
    because: &str,
) -> Result<Vec<RequestKey>, LedgerError> {
    let mut tenants = vec![tenant];
    tenants.extend(found.tenant());
    let row = accounts::lock(transaction, account, &tenants, &[]).await?;
    match row {
        Some(row) if row.holding == Holding::Claiming(tenant.clone()) && !found.takes_clusters_of(tenant) => {
            let assigned = assignments::within(transaction, account).await?;
            let (account, tenant) = (Some(account), Some(tenant));
            let note = Note { event: Event::Lost, account, tenant, request: None, because };
            let mut version = transaction.note(note).await?;
            for assignment in &assigned {
                let request = Some(&assignment.request);
                version =
                    transaction.note(Note { event: Event::Lost, account, tenant, request, because }).await?;
                assignments::delete(transaction, &assignment.request.uid).await?;
            }
            let after = Account { holding: found.clone(), leaving: false, ..row.clone() };
            accounts::change(transaction, Some(&row), &after, version).await?;
            Ok(assigned.into_iter().map(|assignment| assignment.request).collect())
        }
        // It was lost before, and the caller did not hear of it.
        Some(row) if row.holding == *found && !found.takes_clusters_of(tenant) => Ok(Vec::new()),
        row => Err(refused(transaction, account, row.as_ref(), tenant)),
    }
}

fn refused(
    transaction: &Transaction,
    account: &AccountName,
    row: Option<&Account>,
    tenant: &Tenant,
) -> LedgerError {
    let says = row.map_or_else(|| "nothing about it".to_owned(), |row| row.holding.to_string());
    LedgerError::Refused {
        doing: transaction.doing,
        account: account.clone(),
        because: format!("it should be claiming by {tenant}, but the ledger says: {says}"),
    }
}
