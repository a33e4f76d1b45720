//! `allotment cleanup baseline`: which account it is, and what stays in it.

use super::{desk::Desk, ended, progress};
use crate::{
    args::pool::Place,
    commands::show::counted,
    output::{self, Format},
};
use allotment_core::{cleanup::CloudAccountId, pool::AccountName};
use allotment_operator::{cleanup::Baselining, ledger::CloudAccount};
use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use std::{collections::BTreeSet, env, process::ExitCode};

/// The arguments of `cleanup baseline`.
pub(super) struct Order {
    pub(super) id_only: bool,
    pub(super) replace: Option<CloudAccountId>,
    pub(super) shoots: Option<BTreeSet<String>>,
}

pub(super) async fn run(
    accounts: Vec<AccountName>,
    place: &Place,
    order: Order,
    format: Option<Format>,
) -> Result<ExitCode> {
    let Order { id_only, replace, shoots } = order;
    if replace.is_some() && accounts.len() > 1 {
        output::complain(&anyhow!("--replace names the id of one account: name only that account"));
        return Ok(ExitCode::from(2));
    }
    let wanted = Baselining { id_only, shoots, replace, by: person() };
    let (mut values, mut worst, is_one) = (Vec::new(), None, accounts.len() == 1);
    for account in accounts {
        // One that is refused does not keep the others from being recorded.
        match record(account.clone(), place, &wanted).await? {
            Ok(recorded) if format.is_none() => output::print(&for_people(&account, &recorded, &wanted))?,
            Ok(recorded) => values.push(for_machines(&account, &recorded)),
            Err(code) => worst = Some(worst.map_or(code, |worst| graver(worst, code))),
        }
    }
    match (format, values.first()) {
        (Some(format), Some(value)) if is_one => output::print_value(value, format)?,
        (Some(format), _) if !is_one => output::print_value(&values, format)?,
        _ => (),
    }
    Ok(worst.unwrap_or(ExitCode::SUCCESS))
}

/// An answer that is missing says more than a refusal.
fn graver(one: ExitCode, other: ExitCode) -> ExitCode {
    if one == ExitCode::FAILURE { other } else { one }
}

async fn record(
    account: AccountName,
    place: &Place,
    wanted: &Baselining,
) -> Result<Result<CloudAccount, ExitCode>> {
    let desk = match Desk::open(place, account).await {
        Ok(desk) => desk,
        Err(code) => return Ok(Err(code)),
    };
    let desk = match desk.opened_to_write(place).await {
        Ok(desk) => desk,
        Err(code) => return Ok(Err(code)),
    };
    let (operator, account) = (desk.operator()?, &desk.account);
    let baseline = operator.by_hand(async |by_hand| Box::pin(by_hand.baseline(account, wanted)).await);
    let recorded = progress::show(&desk.tally, Box::pin(baseline)).await;
    Ok(recorded.map_err(|error| ended(account, error)))
}

fn for_machines(account: &AccountName, recorded: &CloudAccount) -> Value {
    let baseline = recorded.baseline.as_ref().map(|baseline| {
        json!({
            "takenAt": baseline.taken_at,
            "items": baseline.items.len(),
            "places": baseline.places,
            "digest": baseline.digest(),
        })
    });
    json!({
        "account": account,
        "cloudAccount": recorded.id,
        "recordedAt": recorded.recorded_at,
        "recordedBy": recorded.recorded_by,
        "baseline": baseline,
        "shootsSince": recorded.shoots_since,
    })
}

fn for_people(account: &AccountName, recorded: &CloudAccount, wanted: &Baselining) -> String {
    let CloudAccount { id, recorded_by, baseline, shoots_since, .. } = recorded;
    let mut text = format!("{account} leads to cloud account {id}: recorded by {recorded_by}\n");
    text.push_str(&match (baseline, wanted.id_only) {
        (None, _) => "it has no baseline: everything goes that no rule keeps\n".to_owned(),
        (Some(baseline), true) => {
            let at = baseline.taken_at.strftime("%Y-%m-%d %H:%M:%SZ");
            format!("its baseline of {at} stands: {} stay\n", counted(baseline.items.len(), "item"))
        }
        (Some(baseline), false) => format!(
            "its baseline: {} in {} stay, digest {}\n",
            counted(baseline.items.len(), "item"),
            counted(baseline.places.len(), "place"),
            baseline.digest()
        ),
    });
    text.push_str(&match (shoots_since, &wanted.shoots) {
        (Some(_), Some(shoots)) if !shoots.is_empty() => {
            format!("its Shoots are known: {} by name, and every one from now on\n", shoots.len())
        }
        (Some(_), _) => "its Shoots are known: every one from now on\n".to_owned(),
        (None, _) => format!(
            "its past Shoots are not known, so kinds that are found by name stay unknown: name them with `allotment cleanup baseline \
             {account} --id-only --shoots NAME,NAME`, or `--shoots none`\n"
        ),
    });
    text
}

/// The user of this process, for the record.
fn person() -> String {
    let user =
        ["USER", "LOGNAME"].into_iter().find_map(|key| env::var(key).ok().filter(|user| !user.is_empty()));
    user.unwrap_or_else(|| "a person".to_owned())
}
