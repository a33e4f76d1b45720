//! Old entries of the ledger's history, which are replaced by counts once a day.

use super::{Trouble, run::Inner, term::Term};
use crate::runtime::queue::Outcome;
use std::time::Duration;

/// A term counts old entries for the first time after so long: a restart has more urgent things to do.
pub(super) const HISTORY_DELAY: Duration = Duration::from_secs(3600);

const HISTORY_INTERVAL: Duration = Duration::from_secs(24 * 3600);

impl Inner {
    /// Goes through the old entries of the history, one short transaction after the other.
    pub(super) async fn count_old_history(&self, term: Term) -> Result<Outcome, Trouble> {
        // The fence names entries that must stay. After this they are the ones that the ledger has seen last, and it keeps those.
        self.secure(term).await?;
        let (mut next, mut entries) = (Some(0), 0);
        while let Some(after) = next {
            let counted = self.ledger.count_old(term.epoch, after, self.clock.now()).await?;
            entries += counted.entries;
            next = counted.next;
            tokio::task::yield_now().await;
        }
        if entries > 0 {
            tracing::info!(entries, "old entries of the history replaced by counts per account and month");
        }
        Ok(Outcome::After(HISTORY_INTERVAL))
    }
}
