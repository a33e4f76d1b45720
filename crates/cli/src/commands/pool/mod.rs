//! `allotment pool`: what people ask about accounts.

pub(crate) mod show;

use super::{
    input::WRONG_USAGE,
    ledger,
    place::{Access, Opened, answered, open},
};
use crate::{
    args::pool::{Place, PoolCommand},
    output::{self, Format},
};
use allotment_core::pool::{AccountName, Complaint, rests_on_ledger};
use allotment_operator::{
    ledger::{About, Ledger},
    runtime::clock::Clock,
    survey::AccountLine,
};
use anyhow::{Context, Result};
use serde_json::json;
use std::process::ExitCode;
use tokio::runtime::Runtime;

pub(crate) fn run(command: PoolCommand) -> Result<ExitCode> {
    Runtime::new().context("cannot start the runtime")?.block_on(async {
        let answer = match command {
            PoolCommand::Status { place, accounts, output } => status(&place, accounts, output).await,
            PoolCommand::Doctor { place, all, output } => doctor(&place, all, output).await,
            PoolCommand::History { account, place, limit, output } => {
                history(&AccountName::new(account), &place, limit, output).await
            }
        };
        Ok(answered(answer))
    })
}

async fn status(place: &Place, accounts: bool, format: Option<Format>) -> Result<ExitCode> {
    let opened = match open(place, Access::Read).await {
        Ok(opened) => opened,
        Err(code) => return Ok(code),
    };
    let mut survey = opened.survey().await?;
    if let Some(policy) = &opened.policy {
        survey.set_limits(policy.multi_account.clone());
    }
    let (pools, lines) = (survey.pools(), survey.accounts());
    let above: Vec<&AccountLine> = lines.iter().filter(|line| show::is_above_limit(line)).collect();
    match format {
        Some(format) => {
            let mut answer = json!({ "pools": pools, "waiting": survey.waiting(), "aboveLimit": above });
            if accounts {
                answer["accounts"] = json!(lines);
            }
            output::print_value(&answer, format)?;
        }
        None => {
            let now = Clock::system().now();
            let mut text = show::pools(&pools);
            if accounts {
                text.push('\n');
                text.push_str(&show::accounts(&lines, now));
            }
            text.push_str(&show::above_limit(&above));
            text.push_str(&show::waiting(survey.waiting(), now));
            output::print(&text)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn doctor(place: &Place, all: bool, format: Option<Format>) -> Result<ExitCode> {
    let opened = match open(place, Access::Read).await {
        Ok(opened) => opened,
        Err(code) => return Ok(code),
    };
    let mut survey = opened.survey().await?;
    let progress = |what: &str| output::progress(&format!("reading {what} ..."));
    survey.look_for_secrets(&opened.garden.client, progress).await?;
    // Without the right to read the fence the rest is still worth knowing.
    let identity = ledger::identity_of(&opened, &survey).await.unwrap_or_else(|error| {
        output::note(&format!(
            "cannot tell whether the ledger is the one that this garden was served from: {error:#}; if it is not, every finding about \
             the ledger follows from that"
        ));
        None
    });
    let Findings { list, not_listed } =
        Findings::new(identity, survey.complaints(Clock::system().now()), all);
    match format {
        Some(format) => output::print_value(
            &json!({ "ok": list.is_empty(), "findings": list, "notListed": not_listed }),
            format,
        )?,
        None => output::print(&show::complaints(&list, not_listed))?,
    }
    Ok(if list.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Findings in the order in which a person should read them.
pub(crate) struct Findings {
    pub(crate) list: Vec<Complaint>,
    /// Those that only follow from the first.
    pub(crate) not_listed: usize,
}

impl Findings {
    /// Beside a ledger that does not fit the garden, `identity` is the one cause: it comes first, and the findings that rest on the ledger are
    /// counted. Their remedies would be right only if the ledger were.
    pub(crate) fn new(identity: Option<Complaint>, found: Vec<Complaint>, all: bool) -> Self {
        let leave_out = identity.is_some() && !all;
        let (hidden, rest): (Vec<Complaint>, Vec<Complaint>) =
            found.into_iter().partition(|found| leave_out && rests_on_ledger(found.code));
        Self { list: identity.into_iter().chain(rest).collect(), not_listed: hidden.len() }
    }
}

async fn history(
    account: &AccountName,
    place: &Place,
    limit: u32,
    format: Option<Format>,
) -> Result<ExitCode> {
    let opened = match open(place, Access::Read).await {
        Ok(opened) => opened,
        Err(code) => return Ok(code),
    };
    let ledger = match needs_ledger(&opened) {
        Ok(ledger) => ledger,
        Err(code) => return Ok(code),
    };
    // One more than is shown tells whether there are more.
    let mut entries = ledger.history(About::Account(account), limit.saturating_add(1)).await?;
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let is_cut = entries.len() > most;
    entries.drain(..entries.len().saturating_sub(most));
    let months = ledger.months(account).await?;
    match format {
        Some(format) => {
            let value = json!({ "account": account, "months": months, "entries": entries, "cut": is_cut });
            output::print_value(&value, format)?;
        }
        None if entries.is_empty() && months.is_empty() => {
            output::note(&format!("the ledger has never heard of account {account}"));
        }
        None => output::print(&show::history(&months, &entries))?,
    }
    if is_cut && format.is_none() {
        output::note(&format!("these are the newest {limit} entries, and there are older ones: see --limit"));
    }
    Ok(if entries.is_empty() && months.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The ledger, which only the configuration knows.
pub(crate) fn needs_ledger(opened: &Opened) -> Result<&Ledger, ExitCode> {
    opened.ledger.as_ref().ok_or_else(|| {
        output::complain(&anyhow::anyhow!("this needs the ledger: say where it is with --config FILE"));
        ExitCode::from(WRONG_USAGE)
    })
}
