//! `allotment cleanup run`: what the operator does, for one account and now.

use super::{desk::Desk, ended, plan, progress};
use crate::{
    args::pool::Place,
    commands::{input::confirmed, show::counted},
    output::{self, Format, Paint},
};
use allotment_core::{
    cleanup::{Mode, Stage},
    pool::AccountName,
};
use allotment_operator::{
    cleanup::{ByHandError, Ended, Listing, Operator, ReconcileError},
    ledger::{Cleaning, LedgerError},
    runtime::clock::Clock,
    survey::AccountLine,
};
use anyhow::{Result, anyhow};
use serde_json::json;
use std::{
    io::{self, IsTerminal},
    process::ExitCode,
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// A cleaning that nobody has written for so long is nobody's.
const IDLE: Duration = Duration::from_mins(3);

/// So often the record of a cleaning is read that an operator writes.
const EVERY: Duration = Duration::from_secs(2);

pub(super) async fn run(
    account: AccountName,
    place: &Place,
    yes: bool,
    format: Option<Format>,
) -> Result<ExitCode> {
    if !yes && !io::stdin().is_terminal() {
        output::complain(&anyhow!(
            "this deletes everything in {account} that may go: say --yes to do it; `allotment cleanup plan {account}` shows it"
        ));
        return Ok(ExitCode::FAILURE);
    }
    let mut desk = match Desk::open(place, account).await {
        Ok(desk) => desk,
        Err(code) => return Ok(code),
    };
    if let Some(because) = hindrance(&desk.line) {
        return report(&desk.account, &Ended::Refused(because), format);
    }
    let listing = match Box::pin(plan::list(&desk)).await? {
        Ok(listing) => listing,
        Err(code) => return Ok(code),
    };
    tell(&desk, &listing);
    if !yes && !confirmed(&question(&desk.account, &listing))? {
        return Ok(ExitCode::FAILURE);
    }
    desk.policy.mode = Mode::Delete;
    let desk = match desk.opened_to_write(place).await {
        Ok(desk) => desk,
        Err(code) => return Ok(code),
    };
    desk.tally.plans(listing.plan.deletions().map(|planned| &planned.item.place));
    desk.tally.proves_after_deletions(Duration::try_from(desk.policy.timing.settle).unwrap_or_default());
    match progress::show(&desk.tally, Box::pin(clean(&desk))).await? {
        Ok(end) => report(&desk.account, &end, format),
        Err(error) => Ok(ended(&desk.account, error)),
    }
}

/// Why a cleaning would end before it begins. The operator checks the same again, live, before it deletes.
fn hindrance(line: &AccountLine) -> Option<String> {
    let AccountLine { state, shoots, requests, .. } = line;
    if *shoots > 0 || requests.unwrap_or_default() > 0 {
        let requests = counted(requests.unwrap_or_default(), "request");
        return Some(format!("{shoots} Shoots and {requests} are in it"));
    }
    match *state {
        "free" => Some("it is free, not dirty".to_owned()),
        "shared" | "internal" => Some(format!("it is {state}: such accounts are never cleaned")),
        "quarantined" => {
            let because = line.quarantine.as_deref().unwrap_or("nobody said why");
            Some(format!("it is in quarantine: {because}"))
        }
        _ => None,
    }
}

fn tell(desk: &Desk, listing: &Listing) {
    let heading = plan::heading(desk, listing, Paint::for_standard_error());
    let (summary, waves) = (plan::summary(&listing.plan), plan::waves_in_short(&listing.plan));
    output::note(format!("{heading}{summary}\n{waves}").trim_end());
}

fn question(account: &AccountName, listing: &Listing) -> String {
    let deletions = counted(listing.plan.deletions().count(), "item");
    let Listing { inventory, .. } = listing;
    format!("delete {deletions} in {} account {} ({account})?", inventory.cloud, inventory.account)
}

/// Cleans. An operator that works on the same account is no error: it gets the same done.
async fn clean(desk: &Desk) -> Result<Result<Ended, ByHandError>> {
    let (operator, began) = (desk.operator()?, Clock::system().now());
    loop {
        let end = once(&operator, desk).await;
        let is_overtaken = match &end {
            Err(ByHandError::Reconcile(ReconcileError::Ledger(LedgerError::Changed { .. }))) => true,
            // It is free, perhaps by the operator's work.
            Ok(Ended::Refused(_)) => false,
            _ => return Ok(end),
        };
        if is_overtaken {
            output::progress("an operator cleans it as well; waiting for it ...");
            until_idle(desk).await?;
        }
        let proof = desk.ledger()?.proof(&desk.account).await?.filter(|proof| proof.proven_at >= began);
        match proof {
            Some(proof) => return Ok(Ok(Ended::Cleaned(Box::new(proof)))),
            None if is_overtaken => (),
            None => return Ok(end),
        }
    }
}

/// Waits until nobody has written the record of the cleaning for a while, or the cleaning is over.
async fn until_idle(desk: &Desk) -> Result<()> {
    let mut last = (None, Instant::now());
    loop {
        let cleaning = desk.ledger()?.cleaning(&desk.account).await?;
        let Some(Cleaning { version, record }) = cleaning else { return Ok(()) };
        desk.tally.reached(record.stage);
        if last.0 != Some(version) {
            last = (Some(version), Instant::now());
        }
        // An operator that settles says until when; one that has come to its end, in mode plan or stuck, says when it begins again.
        let is_at_work = match record.next_at {
            Some(next) => record.stage == Stage::Settling && next > Clock::system().now(),
            None => last.1.elapsed() < IDLE,
        };
        if !is_at_work {
            return Ok(());
        }
        sleep(EVERY).await;
    }
}

async fn once(operator: &Operator, desk: &Desk) -> Result<Ended, ByHandError> {
    let reached = |stage| desk.tally.reached(stage);
    operator.by_hand(async |by_hand| Box::pin(by_hand.run(&desk.account, reached)).await).await
}

fn report(account: &AccountName, end: &Ended, format: Option<Format>) -> Result<ExitCode> {
    let paint = Paint::for_standard_output();
    let (value, text) = match end {
        Ended::Cleaned(stored) => (
            json!({
                "account": account,
                "outcome": "cleaned",
                "cloudAccount": stored.proof.account,
                "provenAt": stored.proven_at,
                "digest": stored.digest,
            }),
            format!(
                "{account}: {}\nthe digest of its proof is {}\n",
                paint.green("empty, and free for the next tenant"),
                stored.digest
            ),
        ),
        Ended::Stuck(stuck) => (
            json!({ "account": account, "outcome": "stuck", "stuck": stuck }),
            format!("{account}: {}\n  {} {}\n", stuck_words(stuck, paint), paint.dim("->"), stuck.remedy),
        ),
        Ended::Refused(because) => (
            json!({ "account": account, "outcome": "refused", "because": because }),
            format!("{account} {}: {because}\n", paint.red("may not be cleaned")),
        ),
    };
    match format {
        Some(format) => output::print_value(&value, format)?,
        None => output::print(&text)?,
    }
    Ok(if matches!(end, Ended::Cleaned(_)) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn stuck_words(stuck: &allotment_core::cleanup::Stuck, paint: Paint) -> String {
    let item = stuck.item.as_ref().map_or_else(String::new, |item| format!("{item}: "));
    let blocked = stuck.unsaid_blocker().map_or_else(String::new, |by| format!(" (blocked by {by})"));
    let others = match stuck.others {
        0 => String::new(),
        others => format!("; {} left", counted(others, "more item")),
    };
    format!("{} ({}): {item}{}{blocked}{others}", paint.red("stuck"), stuck.code, stuck.because)
}
