//! A proven account returns to the pool.

use super::{ReconcileError, reconcile::Current, run::Inner};
use crate::runtime::events::Tone;
use allotment_api::names::annotation;
use allotment_core::{cleanup::Proof, pool::AccountName};
use serde_json::json;

impl Inner {
    /// Checks everything again live, removes both labels in one write on the version seen, and ends the cleaning. The ledger
    /// has the proof already; the subscription operator sees the labels go, and frees the account in the ledger.
    pub(super) async fn free(
        &self,
        account: &AccountName,
        current: &Current,
        proof: &Proof,
    ) -> Result<(), ReconcileError> {
        let live = self.check_again(account, current).await?;
        let labels = &self.settings.labels;
        let change = json!({
            "labels": { &labels.tenant_name: null, &labels.dirty: null },
            "annotations": { annotation::CLEANUP_STUCK: null },
        });
        self.entries.write(account, &live.entry.uid, Some(&live.entry.version), change).await?;
        let because = format!("it is proven empty (proof {})", proof.digest());
        self.tell(account, &live, Tone::Normal, "AccountCleaned", &because).await;
        self.metrics.cleaned_account();
        if let Some(cleaning) = &current.cleaning {
            self.end(account, cleaning, Some(proof.first.started_at)).await?;
        }
        Ok(())
    }
}
