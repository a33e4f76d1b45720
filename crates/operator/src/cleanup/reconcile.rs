//! One account, step by step: observe, decide, write the stage down, act.

use super::{ReconcileError, observe::LiveEntry, run::Inner};
use crate::{
    ledger::{Cleaning, CloudAccount},
    runtime::queue::Outcome,
};
use allotment_core::{
    cleanup::{Action, Mode, Observed, Record, Stage, Step, decide},
    pool::{AccountName, Holding},
};
use jiff::Timestamp;
use std::time::Duration;

/// One reconcile takes at most so many steps: identify, list, delete, list, wait.
const MOST_STEPS: usize = 12;

/// An account as it is observed for one step.
pub(super) struct Current {
    pub(super) live: LiveEntry,
    pub(super) recorded: Option<CloudAccount>,
    pub(super) cleaning: Option<Cleaning>,
    pub(super) observed: Observed,
}

/// Whether the reconcile goes on.
pub(super) enum Next {
    /// With another step.
    Step,
    /// It is over.
    End(Outcome),
}

impl Inner {
    pub(super) async fn reconcile_account(&self, account: &AccountName) -> Result<Outcome, ReconcileError> {
        for _ in 0..MOST_STEPS {
            let Some(current) = self.observe(account).await? else { return Ok(Outcome::Done) };
            let now = self.clock.now();
            let step = decide(&current.observed, now);
            match self.take(account, current, step, now).await {
                Ok(Next::Step) => (),
                Ok(Next::End(outcome)) => return Ok(outcome),
                Err(error) => {
                    // Somebody else works on it, or it may not be touched any more: the evidence may be of another state.
                    self.drop_evidence(account);
                    return Err(error);
                }
            }
        }
        Err(ReconcileError::Unsettled { account: account.to_string(), steps: MOST_STEPS })
    }

    /// Reads everything about a dirty account, or one whose cleaning began; none if there is nothing to do about it.
    async fn observe(&self, account: &AccountName) -> Result<Option<Current>, ReconcileError> {
        let policy = self.policy();
        if policy.mode == Mode::Off {
            return Ok(None);
        }
        let cleaning = self.ledger.cleaning(account).await?;
        let Some(live) = self.read_entry(account).await? else {
            if let Some(cleaning) = &cleaning {
                self.end(account, cleaning, None).await?;
            }
            return Ok(None);
        };
        if !live.entry.entry.dirty && cleaning.is_none() {
            self.take_in(account, &live).await?;
            return Ok(None);
        }
        self.verify_ledger().await?;
        let now = self.clock.now();
        let cleaning = self.retried(account, cleaning, &live, now);
        let recorded = self.ledger.cloud_account(account).await?;
        let record = match &cleaning {
            Some(cleaning) => cleaning.record.clone(),
            None => Record { began_at: self.dirty_since(account, now).await?, ..Record::new(now) },
        };
        self.records().insert(account.clone(), record.clone());
        let observed = Observed {
            mode: policy.mode,
            facts: self.facts(account, &live, recorded.as_ref()).await?,
            record: Some(record),
            evidence: self.held(account).evidence,
            fleet: self.fleet(live.entry.entry.pool.as_ref()),
            limits: policy.limits,
            timing: policy.timing,
        };
        Ok(Some(Current { live, recorded, cleaning, observed }))
    }

    /// A stuck account is attempted again when its time has come, or when a person removed the annotation. Credentials and
    /// permissions may have changed, so everything is asked anew.
    fn retried(
        &self,
        account: &AccountName,
        cleaning: Option<Cleaning>,
        live: &LiveEntry,
        now: Timestamp,
    ) -> Option<Cleaning> {
        let mut cleaning = cleaning?;
        // A plan was reported, and the mode was `plan` then: the next attempt is not due, and passes that deleted nothing count for nothing.
        let is_reported = matches!(cleaning.record.stage, Stage::Listing | Stage::Verifying);
        if is_reported && cleaning.record.next_at.is_some() && self.policy().mode == Mode::Delete {
            self.drop_evidence(account);
            cleaning.record = Record { began_at: cleaning.record.began_at, ..Record::new(now) };
        }
        if cleaning.record.stage != Stage::Stuck {
            return Some(cleaning);
        }
        if live.stuck.is_none() {
            tracing::info!(%account, because = "the annotation was removed", "cleaning is attempted again");
            self.drop_evidence(account);
            let began_at = cleaning.record.began_at;
            cleaning.record = Record { began_at, ..Record::new(now) };
        } else if cleaning.record.next_at.is_none_or(|next| next <= now) {
            self.drop_evidence(account);
        }
        Some(cleaning)
    }

    /// When an account became dirty, as the ledger has it.
    async fn dirty_since(&self, account: &AccountName, now: Timestamp) -> Result<Timestamp, ReconcileError> {
        let row = self.ledger.account(account).await?;
        let since = row.filter(|row| matches!(row.holding, Holding::Dirty(_))).map(|row| row.since);
        Ok(since.unwrap_or(now))
    }

    /// Writes the stage down, then acts.
    async fn take(
        &self,
        account: &AccountName,
        current: Current,
        step: Step,
        now: Timestamp,
    ) -> Result<Next, ReconcileError> {
        let timing = self.policy().timing;
        if let Action::Ignore(because) = &step.action {
            tracing::debug!(%account, because, "not cleaned");
            return Ok(Next::End(Outcome::Done));
        }
        if step.action == Action::Forget {
            if let Some(cleaning) = &current.cleaning {
                let proof = self.ledger.proof(account).await?;
                let is_proven = cleaning.record.stage == Stage::Free;
                let proven = proof.filter(|_| is_proven).map(|stored| stored.proof.first.started_at);
                self.end(account, cleaning, proven).await?;
            }
            return Ok(Next::End(Outcome::Done));
        }
        let before = current.observed.record.clone().unwrap_or_else(|| Record::new(now));
        let record = before.enter(&step, &timing, now);
        let version = self.write_record(account, &current, &record, &step.action, now).await?;
        self.report_step(account, &current.live, &before, &step).await?;
        let current = Current { cleaning: Some(Cleaning { version, record }), ..current };
        self.act(account, current, step.action, now).await
    }

    /// Writes a record, unless it stands as it is. A proof is written with it.
    async fn write_record(
        &self,
        account: &AccountName,
        current: &Current,
        record: &Record,
        action: &Action,
        now: Timestamp,
    ) -> Result<i64, ReconcileError> {
        let version = current.cleaning.as_ref().map(|cleaning| cleaning.version);
        let stands = current.cleaning.as_ref().filter(|cleaning| cleaning.record == *record);
        let written = match (action, stands) {
            (Action::Free(proof), _) => self.ledger.write_proof(account, version, record, proof, now).await?,
            (_, Some(cleaning)) => cleaning.version,
            (_, None) => self.ledger.write_cleaning(account, version, record, now).await?,
        };
        self.records().insert(account.clone(), record.clone());
        Ok(written)
    }

    /// Ends the cleaning of an account.
    pub(super) async fn end(
        &self,
        account: &AccountName,
        cleaning: &Cleaning,
        proven_at: Option<Timestamp>,
    ) -> Result<(), ReconcileError> {
        self.ledger.end_cleaning(account, cleaning.version, proven_at, self.clock.now()).await?;
        self.records().remove(account);
        self.drop_evidence(account);
        self.reports.remove(account);
        self.count_cleanings();
        Ok(())
    }
}

/// The time until then.
pub(super) fn wait_until(until: Timestamp, now: Timestamp) -> Outcome {
    let wait = Duration::try_from(until.duration_since(now)).unwrap_or_default();
    Outcome::After(wait.max(Duration::from_millis(1)))
}
