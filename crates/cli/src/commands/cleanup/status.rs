//! `allotment cleanup status`: how far each cleaning is.

use super::{
    super::{ledger::identity_of, place::Opened, pool::needs_ledger},
    desk::open_to_read,
    headed,
};
use crate::{
    args::pool::Place,
    commands::{pool::show::age, show::counted},
    output::{self, Format, Paint},
};
use allotment_core::{
    cleanup::{Record, Stage},
    pool::AccountName,
    text::visible,
};
use allotment_operator::{
    cleanup::LEASE_NAME,
    ledger::{Cleaning, Ledger},
    runtime::{call::call, clock::Clock},
    survey::Survey,
};
use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
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

pub(super) async fn run(place: &Place, operators: Option<&str>, format: Option<Format>) -> Result<ExitCode> {
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
    let unrecorded = Unrecorded::read(ledger, &survey).await?;
    let caveats = caveats(&opened, &survey, operators).await;
    match format {
        Some(format) => {
            let value = json!({
                "mode": opened.config.cleanup.mode,
                "caveats": caveats,
                "cleanings": cleanings,
                "withoutRecordedId": unrecorded.dirty,
                "withUnknownPast": unrecorded.free,
            });
            output::print_value(&value, format)?;
        }
        None => {
            caveats.iter().for_each(|caveat| output::note(caveat));
            output::print(&for_people(&cleanings, &unrecorded, Clock::system().now()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Accounts whose id nobody recorded.
struct Unrecorded {
    /// Dirty ones: no cleaning may touch them.
    dirty: Vec<AccountName>,
    /// Free ones, which the operator does not record by itself: it does not know whether they were used.
    free: Vec<AccountName>,
}

impl Unrecorded {
    async fn read(ledger: &Ledger, survey: &Survey) -> Result<Self> {
        let recorded = ledger.recorded_accounts().await?;
        let lines = survey.accounts();
        let unrecorded = |state: &str| {
            let lines = lines.iter().filter(|line| line.state == state && !recorded.contains(&line.account));
            let mut accounts: Vec<AccountName> = lines.map(|line| line.account.clone()).collect();
            accounts.sort();
            accounts
        };
        // Where every use is known, free ones are recorded within a minute.
        let is_known = ledger.knows_since().await?.is_none();
        Ok(Self { dirty: unrecorded("dirty"), free: if is_known { Vec::new() } else { unrecorded("free") } })
    }
}

/// Reasons why what follows may not be how things are.
async fn caveats(opened: &Opened, survey: &Survey, operators: Option<&str>) -> Vec<String> {
    let mut caveats = Vec::new();
    match identity_of(opened, survey).await {
        Ok(None) => (),
        Ok(Some(identity)) => caveats.push(format!(
            "nothing is cleaned beside this ledger: {}; {}",
            identity.message, identity.remedy
        )),
        Err(error) => caveats.push(format!(
            "cannot tell whether the ledger is the one that this garden is served from: {error:#}"
        )),
    }
    let Some(client) = &opened.control_plane else { return caveats };
    let namespace = operators.map_or_else(|| opened.settings.lease_namespace.clone(), ToOwned::to_owned);
    let leases: Api<Lease> = Api::namespaced(client.clone(), &namespace);
    // Whoever may not read Leases is told the rest.
    if let Ok(lease) = call(|| format!("read Lease {LEASE_NAME}"), leases.get_opt(LEASE_NAME)).await
        && let Some(because) = nobody_leads(lease.as_ref(), Clock::system().now())
    {
        caveats.push(format!(
            "no operator cleans now: {because} (Lease {namespace}/{LEASE_NAME}); run one with the controller cleanup, or say with \
             --operator-namespace where it runs"
        ));
    }
    caveats
}

/// Why nobody leads, if nobody does.
fn nobody_leads(lease: Option<&Lease>, now: Timestamp) -> Option<String> {
    let Some(spec) = lease.and_then(|lease| lease.spec.as_ref()) else {
        return Some("none ever led".to_owned());
    };
    if spec.holder_identity.as_deref().unwrap_or_default().is_empty() {
        return Some("the last one ended".to_owned());
    }
    let renewed = spec.renew_time.as_ref()?.0;
    let silence = now.duration_since(renewed);
    let most = SignedDuration::from_secs(spec.lease_duration_seconds.unwrap_or(15).into());
    (silence > most).then(|| format!("the last one has been silent for {}", age(silence)))
}

fn for_people(cleanings: &[Line], unrecorded: &Unrecorded, now: Timestamp) -> String {
    let paint = Paint::for_standard_output();
    let mut text = match cleanings {
        [] => "no account is being cleaned\n".to_owned(),
        cleanings => table(cleanings, now, paint),
    };
    for account in &unrecorded.dirty {
        text.push_str(&format!(
            "{}: {account} is dirty, and its account id is not recorded\n  {} once it is certain which account its credentials lead \
             to: allotment cleanup baseline {account} --id-only\n",
            paint.red("never cleaned"),
            paint.dim("->")
        ));
    }
    if let [first, ..] = &unrecorded.free[..] {
        let names: Vec<&str> = unrecorded.free.iter().map(AccountName::as_str).collect();
        text.push_str(&format!(
            "{}: the ledger does not know whether {} was used before: {}\n  {} see what is in it, and record it: allotment cleanup plan \
             {first}; allotment cleanup baseline {first} --shoots none, or with the names of its Shoots\n",
            paint.yellow("not recorded"),
            counted(names.len(), "free account"),
            names.join(", "),
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
            // A gate that is closed stops the listings, too, and so does an account that is stuck as a whole.
            Some(record.progress.left)
                .filter(|_| record.stage != Stage::Checking)
                .filter(|_| record.stuck.as_ref().is_none_or(|stuck| stuck.item.is_some()))
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
