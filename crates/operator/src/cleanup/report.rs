//! Events, metrics, and the annotation of a stuck account.

use super::{ReconcileError, observe::LiveEntry, run::Inner};
use crate::runtime::events::Tone;
use allotment_api::names::annotation;
use allotment_core::{
    cleanup::{Action, Plan, Record, Stage, Step},
    pool::AccountName,
    text::one_line,
};
use serde::Serialize;
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The longest reason in an annotation.
const LONGEST: usize = 1000;

/// The state of all cleanings that a process knows of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The last listing of each account.
    pub listed: BTreeMap<AccountName, Listed>,
    /// Accounts that may not be touched now, because.
    pub waits: BTreeMap<AccountName, String>,
    /// Accounts that wait because the cleaning of all accounts, or of their pool, stopped, and why.
    pub halted: BTreeMap<AccountName, String>,
}

/// A listing, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// Items to be deleted.
    pub deletions: usize,
    /// Items that go by themselves.
    pub leaving: usize,
    /// Items that cannot go.
    pub immovable: usize,
    /// Items that stay.
    pub kept: usize,
    /// Cells that nobody knows.
    pub unknown: usize,
}

impl Listed {
    fn of(plan: &Plan) -> Self {
        Self {
            deletions: plan.deletions().count(),
            leaving: plan.leaving.len(),
            immovable: plan.immovable.len(),
            kept: plan.kept.len(),
            unknown: plan.unknown.len(),
        }
    }
}

/// The report of this process.
#[derive(Debug, Default)]
pub(super) struct Reports(Mutex<Report>);

impl Reports {
    pub(super) fn get(&self) -> Report {
        self.lock().clone()
    }

    pub(super) fn listed(&self, account: &AccountName, plan: &Plan) {
        self.lock().listed.insert(account.clone(), Listed::of(plan));
    }

    pub(super) fn remove(&self, account: &AccountName) {
        let mut report = self.lock();
        report.listed.remove(account);
        report.waits.remove(account);
        report.halted.remove(account);
    }

    /// Forgets everything: another process leads.
    pub(super) fn clear(&self) {
        *self.lock() = Report::default();
    }

    /// Notes whether an account may be touched now. Returns whether it may not, for a reason that is new.
    fn waits(&self, account: &AccountName, because: Option<&str>) -> bool {
        let waits = &mut self.lock().waits;
        match because {
            Some(because) => waits.insert(account.clone(), because.to_owned()).as_deref() != Some(because),
            None => {
                waits.remove(account);
                false
            }
        }
    }

    /// Returns whether no account waits for this reason yet.
    fn halted(&self, account: &AccountName, because: &str) -> bool {
        let halted = &mut self.lock().halted;
        let is_new = halted.values().all(|known| known != because);
        halted.insert(account.clone(), because.to_owned());
        is_new
    }

    /// Returns whether any account still waits because the cleaning stopped.
    fn goes_on(&self, account: &AccountName) -> bool {
        let halted = &mut self.lock().halted;
        halted.remove(account);
        !halted.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Report> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Reports a step that people wait for: stuck, halted, a plan, or none of these any more.
    pub(super) async fn report_step(
        &self,
        account: &AccountName,
        live: &LiveEntry,
        before: &Record,
        step: &Step,
    ) -> Result<(), ReconcileError> {
        match &step.action {
            Action::Wait { because, .. } if step.stage == Stage::Checking => {
                if self.reports.waits(account, Some(because)) {
                    self.tell(account, live, Tone::Warning, "CleanupWaits", &one_line(because, LONGEST))
                        .await;
                }
            }
            Action::Halt(because) => drop(self.reports.waits(account, Some(because))),
            _ => drop(self.reports.waits(account, None)),
        }
        self.count_cleanings();
        if let Action::Halt(because) = &step.action {
            self.metrics.cleanup_halted(true);
            if self.reports.halted(account, because) {
                tracing::error!(because, "the cleaning of all accounts stops");
                self.tell(account, live, Tone::Warning, "CleanupHalted", because).await;
            }
            return Ok(());
        }
        self.metrics.cleanup_halted(self.reports.goes_on(account));
        match &step.action {
            Action::Stick(stuck) => {
                let text = one_line(&stuck.to_string(), LONGEST);
                if before.stuck.as_ref() != Some(stuck) {
                    tracing::error!(%account, because = %stuck, "cleaning is stuck");
                    self.tell(account, live, Tone::Warning, "CleanupStuck", &text).await;
                }
                if live.stuck.as_deref() != Some(&text) {
                    self.annotate(account, live, Some(&text)).await?;
                }
            }
            Action::Report(plan) => {
                let Listed { deletions, leaving, immovable, kept, unknown } = Listed::of(plan);
                tracing::info!(%account, deletions, leaving, immovable, kept, unknown, "planned; mode is plan");
                if before.stage != Stage::Listing || before.next_at.is_none() {
                    let note = match plan.is_empty() {
                        true => plan.report(),
                        false => format!("{}; see `allotment cleanup plan {account}`", plan.report()),
                    };
                    self.tell(account, live, Tone::Normal, "CleanupPlanned", &note).await;
                }
            }
            _ if live.stuck.is_some() && matches!(step.stage, Stage::Settling | Stage::Verifying) => {
                self.annotate(account, live, None).await?;
            }
            _ => tracing::debug!(%account, stage = ?step.stage, "cleaning"),
        }
        Ok(())
    }

    async fn annotate(
        &self,
        account: &AccountName,
        live: &LiveEntry,
        text: Option<&str>,
    ) -> Result<(), ReconcileError> {
        let change = json!({ "annotations": { annotation::CLEANUP_STUCK: text } });
        self.entries.write(account, &live.entry.uid, Some(&live.entry.version), change).await?;
        Ok(())
    }

    /// Writes an Event about an account.
    pub(super) async fn tell(
        &self,
        account: &AccountName,
        live: &LiveEntry,
        tone: Tone,
        reason: &str,
        note: &str,
    ) {
        tracing::info!(%account, because = note, "{reason}");
        let about = self.entries.reference(account, &live.entry.uid);
        self.recorder.say_about(about, tone, reason, note).await;
    }

    /// Reports nothing any more: another process leads.
    pub(super) fn withdraw_reports(&self) {
        self.reports.clear();
        self.metrics.cleanup_halted(false);
        self.count_cleanings();
    }

    /// Counts the cleanings by stage, for a scrape.
    pub(super) fn count_cleanings(&self) {
        self.metrics.cleanings_wait(self.reports.lock().waits.len());
        let records = self.records();
        self.metrics.cleanings_are(records.values().map(|record| {
            let code = record.stuck.as_ref().map(|stuck| stuck.code.clone());
            (record.stage.as_str(), code)
        }));
    }
}
