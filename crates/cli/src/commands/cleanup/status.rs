//! `allotment cleanup status`: how far each cleaning is.

use super::{
    super::{place::Opened, pool::needs_ledger},
    desk::open_to_read,
    headed,
};
use crate::{
    args::pool::Place,
    commands::pool::show::age,
    output::{self, Format, Paint},
};
use allotment_core::{
    cleanup::{Record, Stage},
    pool::AccountName,
    text::visible,
};
use allotment_operator::{
    ledger::Cleaning,
    runtime::clock::Clock,
    survey::{AccountLine, Survey},
};
use anyhow::Result;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;
use std::process::ExitCode;

/// A cleaning, to print.
#[derive(Serialize)]
struct Line {
    account: AccountName,
    #[serde(flatten)]
    record: Record,
}

pub(super) async fn run(place: &Place, format: Option<Format>) -> Result<ExitCode> {
    let (opened, survey) = match open_to_read(place).await {
        Ok(read) => read,
        Err(code) => return Ok(code),
    };
    let ledger = match needs_ledger(&opened) {
        Ok(ledger) => ledger,
        Err(code) => return Ok(code),
    };
    let line = |(account, Cleaning { record, .. })| Line { account, record };
    let cleanings: Vec<Line> = ledger.cleanings().await?.into_iter().map(line).collect();
    let unrecorded = unrecorded(&opened, &survey).await?;
    match format {
        Some(format) => {
            let mode = opened.config.cleanup.mode;
            let value = json!({ "mode": mode, "cleanings": cleanings, "withoutRecordedId": unrecorded });
            output::print_value(&value, format)?;
        }
        None => output::print(&for_people(&cleanings, &unrecorded, Clock::system().now()))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Dirty accounts that no cleaning may touch: nobody recorded which account of the cloud they are.
async fn unrecorded(opened: &Opened, survey: &Survey) -> Result<Vec<AccountName>> {
    let mut found = Vec::new();
    let Some(ledger) = &opened.ledger else { return Ok(found) };
    let is_dirty = |line: &AccountLine| line.state == "dirty";
    for AccountLine { account, .. } in survey.accounts().into_iter().filter(is_dirty) {
        if ledger.cloud_account(&account).await?.is_none() {
            found.push(account);
        }
    }
    Ok(found)
}

fn for_people(cleanings: &[Line], unrecorded: &[AccountName], now: Timestamp) -> String {
    let paint = Paint::for_standard_output();
    let mut text = match cleanings {
        [] => "no account is being cleaned\n".to_owned(),
        cleanings => table(cleanings, now, paint),
    };
    for account in unrecorded {
        text.push_str(&format!(
            "{}: {account} is dirty, and its account id is not recorded\n  {} once it is certain which account its credentials lead \
             to: allotment cleanup baseline {account} --id-only\n",
            paint.red("never cleaned"),
            paint.dim("->")
        ));
    }
    text
}

/// Why it does not go on, if it does not.
fn reason(record: &Record) -> String {
    let stuck = record.stuck.as_ref().map(ToString::to_string);
    stuck.or_else(|| record.waits.clone()).unwrap_or_default()
}

fn table(cleanings: &[Line], now: Timestamp, paint: Paint) -> String {
    let heading = ["ACCOUNT", "STAGE", "SINCE", "LEFT", "NEXT ATTEMPT", "REASON"].map(str::to_owned);
    let row = |Line { account, record }: &Line| {
        let next = record.next_at.map(|next| match next.duration_since(now) {
            wait if wait.is_positive() => format!("in {}", age(wait)),
            _ => "now".to_owned(),
        });
        [
            account.to_string(),
            record.stage.as_str().to_owned(),
            age(now.duration_since(record.since)),
            // A gate that is closed stops the listings, too.
            Some(record.progress.left)
                .filter(|_| record.stage != Stage::Checking)
                .map_or_else(String::new, |left| left.to_string()),
            next.unwrap_or_default(),
            visible(&reason(record)),
        ]
    };
    let rows: Vec<_> = std::iter::once(heading).chain(cleanings.iter().map(row)).collect();
    let table = headed(&output::table(&rows), paint);
    let mut shown = table.lines();
    let mut text = shown.next().map_or_else(String::new, |head| format!("{head}\n"));
    for (line, cleaning) in shown.zip(cleanings) {
        let is_stuck = cleaning.record.stage == Stage::Stuck;
        text.push_str(&if is_stuck { paint.red(line) } else { line.to_owned() });
        text.push('\n');
    }
    text
}
