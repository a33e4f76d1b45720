//! Identifying, listing, deleting, verifying.

use super::{
    OpenError, ReconcileError,
    evidence::HeldListing,
    reconcile::{Current, Next, wait_until},
    run::{Inner, Policy},
};
use crate::{ledger::Cleaning, planted::Planted, runtime::queue::Outcome};
use allotment_clouds::{Caller, Cloud, delete_while, take_inventory, take_witness};
use allotment_core::{
    cleanup::{
        Action, Baseline, Cloud as CloudName, Evidence, Gate, Inventory, Plan, Question, Refusal,
        RefusedItem, Stuck, Verdict, gate, plan, verdict,
    },
    pool::AccountName,
};
use futures::FutureExt;
use jiff::Timestamp;
use std::{sync::Arc, time::Duration};

/// The longest that a cloud may take to say who we are.
const IDENTIFY: Duration = Duration::from_secs(15);

impl Inner {
    /// Does what was decided. The stage is written down.
    pub(super) async fn act(
        &self,
        account: &AccountName,
        current: Current,
        action: Action,
        now: Timestamp,
    ) -> Result<Next, ReconcileError> {
        match action {
            // Both were handled before the stage was written.
            Action::Ignore(_) | Action::Forget => Ok(Next::End(Outcome::Done)),
            Action::Wait { until, .. } => {
                self.forget_temporary_refusal(account);
                Ok(Next::End(wait_until(until, now)))
            }
            Action::Halt(_) => Ok(Next::End(wait_until(now + self.policy().timing.retry, now))),
            Action::Report(_) | Action::Stick(_) => {
                let until = current.cleaning.and_then(|cleaning| cleaning.record.next_at);
                Ok(Next::End(wait_until(until.unwrap_or(now), now)))
            }
            Action::Identify => self.identify(account, &current).await.map(|()| Next::Step),
            Action::List => self.list(account, &current).await.map(|()| Next::Step),
            Action::Delete(plan) => self.delete(account, &current, &plan).await.map(|()| Next::Step),
            Action::Verify => self.verify(account, &current).await.map(|()| Next::Step),
            Action::Free(proof) => {
                self.free(account, &current, &proof).await.map(|()| Next::End(Outcome::Done))
            }
        }
    }

    /// A client with the credentials of now; none if they cannot be used, which the next decision reports.
    async fn open(
        &self,
        account: &AccountName,
        current: &Current,
    ) -> Result<Option<(CloudName, Arc<dyn Cloud>)>, ReconcileError> {
        let Ok(cloud) = current.observed.facts.cloud else { return Ok(None) };
        let how = self.how_to_open(account, cloud, current.recorded.as_ref()).await?;
        match self.clouds.open(how).await {
            Ok(client) => Ok(Some((cloud, client))),
            Err(OpenError::Unusable(because)) => {
                self.drop_evidence(account);
                self.hold(account, |held| held.unusable = Some(because));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn identify(&self, account: &AccountName, current: &Current) -> Result<(), ReconcileError> {
        let Some((_, client)) = self.open(account, current).await? else { return Ok(()) };
        let caller = self.identified(&*client).await;
        self.hold(account, |held| held.reported = Some(caller.map(|caller| caller.account)));
        Ok(())
    }

    /// Asks a cloud who we are. A server that accepts calls and answers none may take minutes, and others wait for their turn.
    pub(super) async fn identified(&self, client: &dyn Cloud) -> Result<Caller, Refusal> {
        let unanswered = |_| Refusal::Transient { why: format!("no answer in {} s", IDENTIFY.as_secs()) };
        tokio::time::timeout(IDENTIFY, client.whoami())
            .await
            .unwrap_or_else(|elapsed| Err(unanswered(elapsed)))
    }

    /// A refusal that may pass is asked about again after the wait; kept, it would close the gate for ever.
    fn forget_temporary_refusal(&self, account: &AccountName) {
        let may_pass =
            |reported: &Result<_, Refusal>| matches!(reported, Err(refusal) if refusal.is_temporary());
        self.hold(account, |held| {
            if held.reported.as_ref().is_some_and(may_pass) {
                held.reported = None;
            }
        });
    }

    /// Lists everything; none if the credentials lead to another account by now, or cannot be used.
    async fn take_inventory(
        &self,
        account: &AccountName,
        current: &Current,
    ) -> Result<Option<(Inventory, Arc<dyn Cloud>)>, ReconcileError> {
        let Some((_, client)) = self.open(account, current).await? else { return Ok(None) };
        let now = || self.clock.now();
        let inventory = match take_inventory(&*client, &now).await {
            Ok(inventory) => self.with_planted_cells(inventory),
            Err(refusal) => {
                self.drop_evidence(account);
                self.hold(account, |held| held.reported = Some(Err(refusal)));
                return Ok(None);
            }
        };
        let recorded = current.recorded.as_ref().map(|recorded| &recorded.id);
        if recorded != Some(&inventory.account) && !self.planted.has(Planted::AnyCloudAccount) {
            self.drop_evidence(account);
            self.hold(account, |held| held.reported = Some(Ok(inventory.account)));
            return Ok(None);
        }
        Ok(Some((inventory, client)))
    }

    /// The items that were there before the first tenant.
    fn baseline<'a>(&self, current: &'a Current) -> Option<&'a Baseline> {
        let recorded = current.recorded.as_ref().filter(|_| !self.planted.has(Planted::BaselineIgnored));
        recorded.and_then(|recorded| recorded.baseline.as_ref())
    }

    async fn list(&self, account: &AccountName, current: &Current) -> Result<(), ReconcileError> {
        let Some((inventory, client)) = self.take_inventory(account, current).await? else { return Ok(()) };
        let keep = self.keep(account).await?;
        let baseline = self.baseline(current);
        let plan = plan(&inventory, &keep, baseline).assuming(&self.assumed_absent(inventory.cloud));
        if let Some(Cleaning { version, record }) = &current.cleaning {
            let listed = record.listed(&plan, &current.observed.evidence);
            self.ledger.write_cleaning(account, Some(*version), &listed, self.clock.now()).await?;
        }
        let at = inventory.finished_at;
        self.reports.listed(account, &plan);
        self.hold(account, |held| {
            let refused = held.refused.take();
            held.evidence = Evidence::Listed { plan: Box::new(plan.clone()), at, refused };
            held.listing = Some(HeldListing { inventory: Arc::new(inventory), plan: Arc::new(plan), client });
        });
        Ok(())
    }

    /// Deletes wave after wave. Every few items begin with a live check: a person may have taken the dirty label off meanwhile, or
    /// changed the configuration.
    async fn delete(
        &self,
        account: &AccountName,
        current: &Current,
        planned: &Plan,
    ) -> Result<(), ReconcileError> {
        let Some(HeldListing { client, plan: listed, .. }) = self.held(account).listing else {
            return Ok(());
        };
        if *listed != *planned {
            self.drop_evidence(account);
            return Ok(());
        }
        let mut refused = Vec::new();
        let begun_by = &self.policy();
        for wave in &planned.waves {
            let go_on = || {
                async move {
                    if self.planted.has(Planted::WavesUnchecked) {
                        return Ok(());
                    }
                    self.check_policy(account, begun_by)?;
                    self.check_again(account, current).await.map(drop)
                }
                .boxed()
            };
            refused.extend(delete_while(&*client, wave, self.patience, &go_on).await?);
        }
        let (at, tried) = (self.clock.now(), planned.deletions().count());
        let accepted = tried.saturating_sub(refused.len());
        match refused.first() {
            None => tracing::info!(%account, accepted, "a pass of deletions"),
            Some(RefusedItem { key, refusal }) => {
                tracing::warn!(%account, accepted, refused = refused.len(), first = %key, %refusal, "a pass of deletions");
            }
        }
        self.metrics.deleted_items(tried, refused.len());
        self.hold(account, |held| {
            held.evidence = Evidence::Deleted { at, refused: refused.clone() };
            held.refused = Some(refused);
            held.listing = None;
        });
        Ok(())
    }

    /// Whether a plan may still be carried out: it was made with the ids that people keep, and for a mode that deletes.
    fn check_policy(&self, account: &AccountName, begun_by: &Policy) -> Result<(), ReconcileError> {
        let (now, account) = (self.policy(), account.to_string());
        if now.mode != begun_by.mode {
            let because = "cleanup.mode has changed".to_owned();
            return Err(ReconcileError::Overtaken { account, because });
        }
        if now.keep != begun_by.keep {
            let because = "cleanup.keep has changed".to_owned();
            return Err(ReconcileError::Overtaken { account, because });
        }
        Ok(())
    }

    /// Whether everything that let the account be touched is still true. Returns the entry as it is now.
    pub(super) async fn check_again(
        &self,
        account: &AccountName,
        current: &Current,
    ) -> Result<super::observe::LiveEntry, ReconcileError> {
        let overtaken = |because: String| ReconcileError::Overtaken { account: account.to_string(), because };
        let live =
            self.read_entry(account).await?.ok_or_else(|| overtaken("its entry is gone".to_owned()))?;
        let facts = self.facts(account, &live, current.recorded.as_ref()).await?;
        match gate(&facts) {
            Gate::Open(_) => Ok(live),
            Gate::NotDirty => Err(overtaken("it is not dirty any more".to_owned())),
            Gate::Closed(because) => Err(overtaken(because)),
            Gate::Identify => Err(overtaken("its account id is not known".to_owned())),
            Gate::Retry(refusal) => Err(overtaken(refusal.to_string())),
            Gate::Stuck(stuck) => Err(overtaken(stuck.to_string())),
        }
    }

    async fn verify(&self, account: &AccountName, current: &Current) -> Result<(), ReconcileError> {
        let Some(HeldListing { inventory: first, .. }) = self.held(account).listing else {
            self.drop_evidence(account);
            return Ok(());
        };
        let Some((second, client)) = self.take_inventory(account, current).await? else { return Ok(()) };
        let second = self.with_planted_listing(second, &first);
        let now = || self.clock.now();
        let witness = self.with_planted_counts(take_witness(&*client, &second, &now).await);
        let keep = self.keep(account).await?;
        let judged = verdict(&Question {
            first: &first,
            second: &second,
            witness: &witness,
            keep: &keep,
            baseline: self.baseline(current),
            settle: self.policy().timing.settle,
            assume_absent: &self.assumed_absent(second.cloud),
        });
        self.tell_verdict(account, &judged);
        let at = self.clock.now();
        if let Some(Cleaning { version, record }) = &current.cleaning {
            self.ledger.write_cleaning(account, Some(*version), &record.verified(&judged), at).await?;
        }
        self.hold(account, |held| held.evidence = Evidence::Verified { verdict: judged, at });
        Ok(())
    }

    fn tell_verdict(&self, account: &AccountName, judged: &Verdict) {
        match judged {
            Verdict::Empty(proof) => tracing::info!(%account, proof = proof.digest(), "proven empty"),
            Verdict::Left(left) => {
                let first = left.first().map(|first| Stuck::left(first, 0).to_string());
                tracing::info!(%account, left = left.len(), because = first, "not empty");
            }
            Verdict::Unknown(cells) => {
                let first = cells.first().map(|cell| Stuck::unknown(cell).to_string());
                tracing::info!(%account, unknown = cells.len(), because = first, "not proven empty");
            }
        }
    }
}
