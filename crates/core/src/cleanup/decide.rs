//! The next step about a dirty account.

use super::{
    AccountFacts, Evidence, Fleet, Gate, GuardLimits, Mode, Plan, Proof, Record, Refusal, RefusedItem, Stage,
    Stuck, Timing, Verdict, gate, halted, stage::later,
};
use jiff::Timestamp;

/// Everything that a decision needs.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The configured mode.
    pub mode: Mode,
    /// The account, by live reads.
    pub facts: AccountFacts,
    /// The ledger's record; none if cleaning has not begun.
    pub record: Option<Record>,
    /// The result of the last action.
    pub evidence: Evidence,
    /// All accounts.
    pub fleet: Fleet,
    /// When to stop.
    pub limits: GuardLimits,
    /// The configured times.
    pub timing: Timing,
}

/// The next step: the stage to write down first, and then what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The stage that the record gets.
    pub stage: Stage,
    /// What to do.
    pub action: Action,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing, because.
    Ignore(String),
    /// The account is no longer dirty: delete the record.
    Forget,
    /// Nothing before this time, because.
    Wait {
        /// The time.
        until: Timestamp,
        /// Why.
        because: String,
    },
    /// The cleaning of all accounts stops: one alert.
    Halt(String),
    /// Ask the cloud for the account id.
    Identify,
    /// List everything.
    List,
    /// Show the plan; delete nothing.
    Report(Box<Plan>),
    /// Delete all waves in order, then list.
    Delete(Box<Plan>),
    /// List everything a second time, take the counts, ask for a verdict.
    Verify,
    /// Check everything again live, remove both labels in one write, then tell the ledger.
    Free(Box<Proof>),
    /// Tell a person.
    Stick(Stuck),
}

/// Decides the next step. Nothing is deleted unless every gate is open, the guards allow it, and the mode is `delete`.
pub fn decide(observed: &Observed, now: Timestamp) -> Step {
    let Observed { mode, facts, record, limits, timing, fleet, .. } = observed;
    let stage = record.as_ref().map_or(Stage::Dirty, |record| record.stage);
    if *mode == Mode::Off {
        return Step { stage, action: Action::Ignore("cleanup is off".to_owned()) };
    }
    let stuck = record.as_ref().and_then(|record| record.stuck.as_ref());
    let due = record.as_ref().and_then(|record| record.next_at).filter(|next| *next > now);
    match (gate(facts), due) {
        (Gate::NotDirty, _) => Step { stage, action: Action::Forget },
        (Gate::Closed(because), _) => wait(Stage::Checking, later(now, timing.retry), &because),
        (Gate::Stuck(found), Some(until)) if stuck == Some(&found) => wait(stage, until, "it is stuck"),
        (Gate::Stuck(found), _) => stick(found),
        // A gate that was closed and is open now needs no patience.
        (_, Some(until)) if !stuck.is_some_and(is_of_gate) => {
            let waits = record.as_ref().and_then(|record| record.waits.as_deref());
            wait(stage, until, waits.unwrap_or("it is not due"))
        }
        (Gate::Identify, _) => Step { stage: Stage::Checking, action: Action::Identify },
        (Gate::Retry(refusal), _) => wait(Stage::Checking, later(now, timing.retry), &refusal.to_string()),
        (Gate::Open(_), _) => match halted(fleet, limits, now) {
            Some(because) if *mode == Mode::Delete => Step { stage, action: Action::Halt(because) },
            _ => by_evidence(observed, now),
        },
    }
}

/// Whether a gate made the account stuck, not an item.
fn is_of_gate(stuck: &Stuck) -> bool {
    matches!(
        stuck.code.as_str(),
        "NotSupported" | "AccountIdUnknown" | "AccountIdDiffers" | "CredentialsUnusable"
    )
}

fn by_evidence(observed: &Observed, now: Timestamp) -> Step {
    let Observed { mode, evidence, timing, record, .. } = observed;
    let attempt = record.as_ref().filter(|record| record.stage == Stage::Stuck).map(|record| record.since);
    // The evidence that made an account stuck is no reason to be stuck again.
    let fresh = |at: Timestamp| {
        now.duration_since(at) <= timing.settle.saturating_add(timing.evidence)
            && attempt.is_none_or(|since| at > since)
    };
    match evidence {
        Evidence::Listed { plan, at, .. } if fresh(*at) && plan.is_empty() => {
            let until = later(*at, timing.settle);
            if now < until {
                return wait(Stage::Settling, until, "nothing was found; a second listing follows");
            }
            Step { stage: Stage::Verifying, action: Action::Verify }
        }
        Evidence::Listed { plan, at, .. } if fresh(*at) && *mode == Mode::Plan => {
            Step { stage: Stage::Listing, action: Action::Report(plan.clone()) }
        }
        Evidence::Listed { plan, at, refused } if fresh(*at) => {
            by_plan(observed, plan, *at, refused.as_deref(), now)
        }
        Evidence::Deleted { at, .. } if fresh(*at) && now < later(*at, timing.pause) => {
            wait(Stage::Deleting, later(*at, timing.pause), "deletions take time")
        }
        Evidence::Verified { verdict, at } if fresh(*at) && now.duration_since(*at) <= timing.proof => {
            by_verdict(observed, verdict, now)
        }
        Evidence::None | Evidence::Listed { .. } | Evidence::Deleted { .. } | Evidence::Verified { .. } => {
            list()
        }
    }
}

/// A refusal that time does not change is tried again so often: the permission may have been granted meanwhile.
const PASSES_IF_DENIED: u32 = 2;

fn by_plan(
    observed: &Observed,
    plan: &Plan,
    at: Timestamp,
    refused: Option<&[RefusedItem]>,
    now: Timestamp,
) -> Step {
    let unchanged = observed.record.as_ref().map_or(0, |record| record.progress.unchanged);
    // Whoever has tried nothing since it started does not know why the items are still there.
    let was_tried = refused.is_some() || plan.waves.is_empty();
    let refused = refused.unwrap_or_default();
    let is_denied =
        refused.iter().any(|it| matches!(it.refusal, Refusal::Denied { .. } | Refusal::Locked { .. }));
    let passes = if is_denied { PASSES_IF_DENIED } else { observed.timing.passes };
    let overdue = was_tried && (unchanged >= passes || is_late(observed, now));
    if overdue && let Some(stuck) = Stuck::by_plan(plan, refused) {
        return stick(stuck);
    }
    if !plan.waves.is_empty() {
        return Step { stage: Stage::Deleting, action: Action::Delete(Box::new(plan.clone())) };
    }
    let is_lasting = plan.unknown.iter().any(|cell| cell.missing.is_some()) || !plan.immovable.is_empty();
    if is_lasting
        && plan.leaving.is_empty()
        && let Some(stuck) = Stuck::by_plan(plan, refused)
    {
        return stick(stuck);
    }
    let until = later(at, observed.timing.pause);
    if now < until {
        return wait(Stage::Deleting, until, "items go by themselves, or could not be listed");
    }
    list()
}

fn by_verdict(observed: &Observed, verdict: &Verdict, now: Timestamp) -> Step {
    let disagreements = observed.record.as_ref().map_or(0, |record| record.progress.disagreements);
    let overdue = disagreements >= observed.timing.disagreements || is_late(observed, now);
    match verdict {
        Verdict::Empty(proof) if observed.mode == Mode::Delete => {
            Step { stage: Stage::Free, action: Action::Free(proof.clone()) }
        }
        Verdict::Empty(_) => Step { stage: Stage::Verifying, action: Action::Report(Box::default()) },
        Verdict::Left(left) => match left.first() {
            Some(first) if overdue => stick(Stuck::left(first, left.len().saturating_sub(1))),
            _ => list(),
        },
        Verdict::Unknown(cells) => match cells.iter().find(|cell| cell.missing.is_some() || overdue) {
            Some(cell) => stick(Stuck::unknown(cell)),
            None => list(),
        },
    }
}

fn is_late(observed: &Observed, now: Timestamp) -> bool {
    let began = observed.record.as_ref().map(|record| record.attempt_at);
    began.is_some_and(|began| now.duration_since(began) >= observed.timing.deadline)
}

fn list() -> Step {
    Step { stage: Stage::Listing, action: Action::List }
}

fn stick(stuck: Stuck) -> Step {
    Step { stage: Stage::Stuck, action: Action::Stick(stuck) }
}

fn wait(stage: Stage, until: Timestamp, because: &str) -> Step {
    Step { stage, action: Action::Wait { until, because: because.to_owned() } }
}
