//! What was seen outside, written down if the account is still as it was when that was looked at.

use super::{
    Account, Event, LedgerError, accounts,
    history::{self, Note},
    transaction::Transaction,
};
use allotment_core::pool::{AccountName, Holding, PoolKey, Tenant};

/// What was learnt about an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Learned {
    /// The binding carries a tenant's name, and the ledger knows of nobody.
    Adopted(Tenant),
    /// The binding's labels put it into another pool. Between shared and dedicated only an empty, free account can change.
    Repooled,
    /// The binding carries the `dirty` label. Only an account without assignments becomes dirty; where somebody put the
    /// label on a used one, quarantine is the answer.
    BecameDirty(Option<Tenant>),
    /// It was cleaned. Needs it to have no assignments.
    Freed,
    /// Its last cluster is gone. Needs it to have no assignments.
    BeginDrain,
    /// It takes no new clusters, for this reason.
    Quarantined(String),
    /// It does again.
    Lifted,
    /// It is no longer in the garden. Needs it to have no assignments.
    Retired,
}

impl Learned {
    fn event(&self) -> Event {
        match self {
            Self::Adopted(_) => Event::Adopted,
            Self::Repooled => Event::Repooled,
            Self::BecameDirty(_) => Event::Dirty,
            Self::Freed => Event::Cleaned,
            Self::BeginDrain => Event::Draining,
            Self::Quarantined(_) => Event::Quarantined,
            Self::Lifted => Event::Lifted,
            Self::Retired => Event::Retired,
        }
    }

    fn doing(&self) -> &'static str {
        match self {
            Self::Adopted(_) => "adopt",
            Self::Repooled => "move to another pool",
            Self::BecameDirty(_) => "mark as dirty",
            Self::Freed => "free",
            Self::BeginDrain => "drain",
            Self::Quarantined(_) => "quarantine",
            Self::Lifted => "lift the quarantine of",
            Self::Retired => "retire",
        }
    }

    fn tenant(&self) -> Option<&Tenant> {
        match self {
            Self::Adopted(tenant) => Some(tenant),
            Self::BecameDirty(tenant) => tenant.as_ref(),
            _ => None,
        }
    }
}

/// Writes it down if the account's version is still this one (none: the ledger says nothing about it).
pub(super) async fn learn(
    transaction: &mut Transaction,
    account: &AccountName,
    pool: &PoolKey,
    expected: Option<i64>,
    learned: &Learned,
    because: &str,
) -> Result<(), LedgerError> {
    let tenants: Vec<&Tenant> = learned.tenant().into_iter().collect();
    let row = accounts::lock(transaction, account, &tenants, &[pool]).await?;
    if row.as_ref().map(|row| row.version) != expected {
        return Err(LedgerError::Changed { account: account.clone() });
    }
    let clusters = accounts::clusters_in(transaction, account).await?;
    let now = transaction.now;
    let before = row.clone().unwrap_or_else(|| Account::new(account, pool, now));
    let objection = |objection| {
        let (doing, account) = (learned.doing(), account.clone());
        match objection {
            Objection::Occupied => LedgerError::Occupied { doing, account, clusters },
            Objection::Says(because) => LedgerError::Refused { doing, account, because },
        }
    };
    let after = what_becomes_of(&before, pool, learned, clusters).map_err(objection)?;
    let Some(mut after) = after else {
        if row.is_some() {
            transaction.note(note(learned, &before, because)).await?;
            accounts::delete(transaction, account).await?;
        }
        return Ok(());
    };
    // After a rebuild: a claim whose request is gone by now. A label that people wrote ahead of need was never claimed.
    if let (Learned::Adopted(tenant), None) = (learned, &row) {
        after.leaving = history::was_claimed_for(transaction, account, tenant).await?;
    }
    if after == before {
        return Ok(());
    }
    let version = transaction.note(note(learned, &before, because)).await?;
    accounts::change(transaction, row.as_ref(), &after, version).await
}

fn note<'a>(learned: &'a Learned, before: &'a Account, because: &'a str) -> Note<'a> {
    let tenant = learned.tenant().or(before.holding.tenant());
    Note { event: learned.event(), account: Some(&before.account), tenant, request: None, because }
}

/// Why something cannot be true of an account.
enum Objection {
    Occupied,
    Says(String),
}

/// What the row of an account becomes; none: it goes.
fn what_becomes_of(
    before: &Account,
    pool: &PoolKey,
    learned: &Learned,
    clusters: u32,
) -> Result<Option<Account>, Objection> {
    let says = || Objection::Says(format!("the ledger says: {}", before.holding));
    let empty = || if clusters == 0 { Ok(()) } else { Err(Objection::Occupied) };
    let mut after = before.clone();
    match learned {
        Learned::Adopted(_) if pool.shared => {
            return Err(Objection::Says("it is shared, and a shared account is nobody's".to_owned()));
        }
        Learned::Adopted(tenant) if before.holding.takes_clusters_of(tenant) => {}
        Learned::Adopted(tenant) if before.holding == Holding::Free => {
            empty()?;
            after.holding = Holding::Claimed(tenant.clone());
            after.pool = pool.clone();
        }
        Learned::Adopted(_) => return Err(says()),
        Learned::Repooled => {
            if before.pool.shared != pool.shared {
                empty()?;
                if before.holding != Holding::Free {
                    return Err(says());
                }
            }
            after.pool = pool.clone();
        }
        Learned::BecameDirty(tenant) => {
            empty()?;
            after.holding = Holding::Dirty(tenant.clone());
            after.leaving = false;
        }
        Learned::Freed => {
            empty()?;
            after.holding = Holding::Free;
            after.leaving = false;
        }
        Learned::BeginDrain => {
            empty()?;
            let (Holding::Claiming(tenant) | Holding::Claimed(tenant) | Holding::Draining(tenant)) =
                &before.holding
            else {
                return Err(says());
            };
            after.holding = Holding::Draining(tenant.clone());
            after.leaving = false;
        }
        Learned::Quarantined(reason) => after.quarantine = Some(reason.clone()),
        Learned::Lifted => after.quarantine = None,
        Learned::Retired => {
            empty()?;
            return Ok(None);
        }
    }
    Ok(Some(after))
}
