//! The way of a dirty account: checking, listing, deleting, settling, verifying, free; or stuck.
//!
//! Listings live in memory. After a crash there is no evidence, and the account is listed again; only the record
//! survives, so that passes are counted across restarts.

use super::{Action, Plan, RefusedItem, Step, Stuck, Verdict, keep::hex_digest};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far cleaning goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Nothing is read.
    Off,
    /// Everything is listed, nothing is deleted, nothing is freed.
    #[default]
    Plan,
    /// Everything that may go is deleted, and proven to be gone.
    Delete,
}

/// Where an account is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Nothing was done yet.
    Dirty,
    /// The gates are checked.
    Checking,
    /// The account is listed.
    Listing,
    /// Items are deleted.
    Deleting,
    /// A listing found nothing; another one follows after the settle time.
    Settling,
    /// The second listing, and the counts.
    Verifying,
    /// Proven empty.
    Free,
    /// A person has to act.
    Stuck,
}

impl Stage {
    /// The word for it in metrics and tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dirty => "dirty",
            Self::Checking => "checking",
            Self::Listing => "listing",
            Self::Deleting => "deleting",
            Self::Settling => "settling",
            Self::Verifying => "verifying",
            Self::Free => "free",
            Self::Stuck => "stuck",
        }
    }
}

/// What the ledger remembers of the cleaning of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The stage.
    pub stage: Stage,
    /// When cleaning began.
    pub began_at: Timestamp,
    /// When this attempt began; an account that is stuck is attempted again.
    pub attempt_at: Timestamp,
    /// When the stage was entered.
    pub since: Timestamp,
    /// Nothing is done before.
    pub next_at: Option<Timestamp>,
    /// The progress of deletions.
    pub progress: Progress,
    /// Why it is stuck.
    pub stuck: Option<Stuck>,
    /// Why nothing is done now, where it is not stuck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
}

/// Whether passes still change anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// How many items were left by the last listing.
    pub left: usize,
    /// A digest of them.
    pub digest: String,
    /// How many passes of deletions in a row left exactly these.
    pub unchanged: u32,
    /// How many verdicts of this attempt were not "empty".
    pub disagreements: u32,
}

impl Progress {
    /// After one more listing. One before which nothing was tried, as after a restart, says nothing about progress.
    #[must_use]
    pub fn after(&self, plan: &Plan, before: &Evidence) -> Self {
        let was_tried = plan.waves.is_empty() || matches!(before, Evidence::Deleted { .. });
        let remaining = plan.remaining();
        let keys: Vec<String> = remaining.iter().map(ToString::to_string).collect();
        let unknown = plan.unknown.iter().map(|cell| format!("{} {:?}", cell.place, cell.kind));
        let text = keys.into_iter().chain(unknown).collect::<Vec<_>>().join("\n");
        let digest = hex_digest(text.as_bytes());
        let unchanged =
            if digest == self.digest { self.unchanged.saturating_add(u32::from(was_tried)) } else { 0 };
        Self { left: remaining.len(), digest, unchanged, disagreements: self.disagreements }
    }
}

/// An attempt at an account that was stuck gets so many passes before it is stuck again.
const PASSES_AGAIN: u32 = 2;

impl Record {
    /// The cleaning begins.
    pub fn new(now: Timestamp) -> Self {
        let (stage, progress) = (Stage::Dirty, Progress::default());
        let (next_at, stuck, waits) = (None, None, None);
        Self { stage, began_at: now, attempt_at: now, since: now, next_at, progress, stuck, waits }
    }

    /// The record that is written down before the step is taken.
    #[must_use]
    pub fn enter(&self, step: &Step, timing: &Timing, now: Timestamp) -> Self {
        let mut record = self.clone();
        if self.stage == Stage::Stuck && step.stage != Stage::Stuck {
            let unchanged = self.progress.unchanged.min(timing.passes.saturating_sub(PASSES_AGAIN));
            record.progress = Progress { unchanged, disagreements: 0, ..self.progress.clone() };
            record.attempt_at = now;
        }
        if self.stage != step.stage {
            (record.stage, record.since) = (step.stage, now);
        }
        if record.stage != Stage::Stuck {
            record.stuck = None;
        }
        record.waits = match &step.action {
            Action::Wait { because, .. } | Action::Halt(because) => Some(because.clone()),
            Action::Report(plan) => Some(plan.report()),
            _ => None,
        };
        record.next_at = match &step.action {
            Action::Wait { until, .. } => Some(*until),
            Action::Report(_) => Some(later(now, timing.retry_stuck)),
            Action::Stick(stuck) => {
                record.stuck = Some(stuck.clone());
                Some(later(now, timing.retry_stuck))
            }
            _ => None,
        };
        record
    }

    /// After one more listing.
    #[must_use]
    pub fn listed(&self, plan: &Plan, before: &Evidence) -> Self {
        Self { progress: self.progress.after(plan, before), ..self.clone() }
    }

    /// After one more verdict.
    #[must_use]
    pub fn verified(&self, verdict: &Verdict) -> Self {
        let more = u32::from(!matches!(verdict, Verdict::Empty(_)));
        let disagreements = self.progress.disagreements.saturating_add(more);
        Self { progress: Progress { disagreements, ..self.progress.clone() }, ..self.clone() }
    }
}

/// What the shell did last, in this process and for this account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Nothing: the process started, or the last act is too old.
    None,
    /// A listing, and its plan.
    Listed {
        /// The plan.
        plan: Box<Plan>,
        /// When the listing ended.
        at: Timestamp,
        /// The refusals of the deletions before it; none if nothing was tried, as after a restart.
        refused: Option<Vec<RefusedItem>>,
    },
    /// One pass over all waves.
    Deleted {
        /// When it ended.
        at: Timestamp,
        /// The refusals.
        refused: Vec<RefusedItem>,
    },
    /// The second listing and the counts, judged.
    Verified {
        /// The verdict.
        verdict: Verdict,
        /// When it was judged.
        at: Timestamp,
    },
}

/// Times and numbers, each with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Between the two listings. Clouds show new items within seconds, in bad hours within minutes.
    pub settle: SignedDuration,
    /// Between a pass of deletions and the next listing: NAT gateways take a minute.
    pub pause: SignedDuration,
    /// After a failure that may pass, and between checks of a gate that is closed.
    pub retry: SignedDuration,
    /// Between attempts at an account that is stuck.
    pub retry_stuck: SignedDuration,
    /// So many passes of deletions in a row that leave the same items make an account stuck.
    pub passes: u32,
    /// So many verdicts other than "empty" make an account stuck: clouds show tags of deleted items for a while.
    pub disagreements: u32,
    /// The longest that one attempt may take.
    pub deadline: SignedDuration,
    /// A listing older than this, beyond the settle time, is not used.
    pub evidence: SignedDuration,
    /// A verdict older than this is not used.
    pub proof: SignedDuration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            settle: SignedDuration::from_mins(10),
            pause: SignedDuration::from_secs(20),
            retry: SignedDuration::from_mins(1),
            retry_stuck: SignedDuration::from_mins(30),
            passes: 15,
            disagreements: 3,
            deadline: SignedDuration::from_hours(6),
            evidence: SignedDuration::from_mins(60),
            proof: SignedDuration::from_mins(5),
        }
    }
}

/// A time beyond all times is the last one.
pub(super) fn later(from: Timestamp, by: SignedDuration) -> Timestamp {
    from.checked_add(by).unwrap_or(Timestamp::MAX)
}
