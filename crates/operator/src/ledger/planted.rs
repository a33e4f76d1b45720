//! The planted faults of the ledger: what was looked at before the locks is believed.

use super::{Account, Ask, Ledger, LedgerError, Mode, Transaction, Who, accounts};
use crate::planted::Planted;
use allotment_core::pool::AccountName;
use jiff::Timestamp;
use std::collections::BTreeMap;

/// What was seen before the locks.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) own: Option<Vec<Account>>,
    pub(super) clusters: Option<BTreeMap<AccountName, u32>>,
    pub(super) only_shoots: bool,
    /// Whether the last entries of the history are there is not looked at.
    pub(super) uncounted: bool,
}

impl Ledger {
    /// Looks at what a reservation depends on, and locks nothing.
    pub(super) async fn look_before_the_locks(&self, ask: &Ask<'_>) -> Result<Seen, LedgerError> {
        let (tenant, counts) =
            (self.has(Planted::TenantOutsideTheLock), self.has(Planted::LimitCountedThenWritten));
        let Who::Dedicated { tenant: who, .. } = ask.who else { return Ok(Seen::default()) };
        if !tenant && !counts {
            return Ok(Seen::default());
        }
        self.weathered("look before the locks").await?;
        let session = self.store.begin(Mode::Read, "look before the locks").await?;
        let (place, doing) = (self.place.clone(), "look before the locks");
        let mut transaction =
            Transaction::new(session, place, doing, Timestamp::UNIX_EPOCH, &self.meter, &self.recent);
        let own = accounts::lock_own(&mut transaction, who).await?;
        let names: Vec<AccountName> = own.iter().map(|row| row.account.clone()).collect();
        let clusters = accounts::clusters(&mut transaction, &names).await?;
        transaction.end(Ok(()), None).await?;
        Ok(Seen { own: tenant.then_some(own), clusters: counts.then_some(clusters), ..Seen::default() })
    }
}
