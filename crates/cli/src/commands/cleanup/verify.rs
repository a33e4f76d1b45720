//! `allotment cleanup verify`: the proof that an account is empty, or everything against it.

use super::{desk::Desk, ended, headed, progress};
use crate::{
    args::pool::Place,
    commands::show::counted,
    output::{self, Format, Paint},
};
use allotment_core::{
    cleanup::{Left, PlaceState, Proof, UnknownCell, Verdict},
    pool::AccountName,
};
use anyhow::Result;
use jiff::SignedDuration;
use serde::Serialize;
use std::{process::ExitCode, time::Duration};

/// The answer, for machines. The proof is written as it is: its digest is of these bytes, without spaces.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    account: &'a AccountName,
    empty: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<&'a Proof>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<&'a [Left]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<&'a [UnknownCell]>,
}

pub(super) async fn run(
    account: AccountName,
    place: &Place,
    settle_seconds: Option<u32>,
    format: Option<Format>,
) -> Result<ExitCode> {
    let mut desk = match Desk::open(place, account).await {
        Ok(desk) => desk,
        Err(code) => return Ok(code),
    };
    if let Some(seconds) = settle_seconds {
        desk.policy.timing.settle = SignedDuration::from_secs(seconds.into());
    }
    let settle = Duration::try_from(desk.policy.timing.settle).unwrap_or_default();
    output::note(&format!(
        "two listings, {} s apart: this takes at least as long; --settle-seconds changes it",
        settle.as_secs()
    ));
    desk.tally.proves_in(settle);
    let (operator, account) = (desk.operator()?, &desk.account);
    let verdict = operator.by_hand(async |by_hand| Box::pin(by_hand.verify(account)).await);
    let verdict = match progress::show(&desk.tally, Box::pin(verdict)).await {
        Ok(verdict) => verdict,
        Err(error) => return Ok(ended(account, error)),
    };
    match format {
        Some(format) => output::print_value(&Answer::of(account, &verdict), format)?,
        None => output::print(&for_people(account, &verdict, Paint::for_standard_output()))?,
    }
    Ok(if matches!(verdict, Verdict::Empty(_)) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl<'a> Answer<'a> {
    fn of(account: &'a AccountName, verdict: &'a Verdict) -> Self {
        let none = Self { account, empty: false, digest: None, proof: None, left: None, unknown: None };
        match verdict {
            Verdict::Empty(proof) => {
                Self { empty: true, digest: Some(proof.digest()), proof: Some(&**proof), ..none }
            }
            Verdict::Left(left) => Self { left: Some(left), ..none },
            Verdict::Unknown(cells) => Self { unknown: Some(cells), ..none },
        }
    }
}

fn for_people(account: &AccountName, verdict: &Verdict, paint: Paint) -> String {
    match verdict {
        Verdict::Empty(proof) => proven(account, proof, paint),
        Verdict::Left(left) => format!(
            "{}: {}\n{}",
            account,
            paint.red(&format!("{} left", counted(left.len(), "finding"))),
            headed(&left_table(left), paint)
        ),
        Verdict::Unknown(cells) => format!(
            "{}: {}\n{}",
            account,
            paint.red(&format!("nothing was found, but {} failed", counted(cells.len(), "listing"))),
            headed(&unknown_table(cells), paint)
        ),
    }
}

fn proven(account: &AccountName, proof: &Proof, paint: Paint) -> String {
    let enabled = proof.places.values().filter(|state| **state == PlaceState::Enabled).count();
    let baseline = proof.baseline.as_ref().map_or_else(
        || "none".to_owned(),
        |baseline| format!("{}, digest {}", counted(baseline.items, "item"), baseline.digest),
    );
    let time = |at: jiff::Timestamp| at.strftime("%Y-%m-%d %H:%M:%SZ").to_string();
    let assumed: Vec<String> =
        proof.assumed_absent.iter().map(|absent| format!("{} in {}", absent.kind, absent.place)).collect();
    let rows = [
        ("cloud account", format!("{} {}", proof.cloud, proof.account)),
        ("first listing", time(proof.first.started_at)),
        (
            "second listing",
            format!("{}, at least {} s later", time(proof.second.started_at), proof.settle_seconds),
        ),
        ("places", enabled.to_string()),
        ("kinds", proof.kinds.len().to_string()),
        ("absent", counted(proof.absent.len(), "kind")),
        ("assumed absent", if assumed.is_empty() { "none".to_owned() } else { assumed.join(", ") }),
        ("stays", counted(proof.kept.len(), "item")),
        ("baseline", baseline),
        ("counts", format!("{}, taken {}", proof.witness.len(), time(proof.witnessed_at))),
        ("digest", proof.digest()),
    ];
    let rows: Vec<_> = rows.into_iter().map(|(what, says)| [what.to_owned(), says]).collect();
    format!("{account}: {}\n{}", paint.green("proven empty"), output::table(&rows))
}

fn left_table(left: &[Left]) -> String {
    let heading = ["FOUND BY", "PLACE", "KIND", "ID"].map(str::to_owned);
    let row = |left: &Left| match left {
        Left::Listing(key) => {
            ["listing".to_owned(), key.place.to_string(), key.kind.to_string(), key.id.to_string()]
        }
        Left::Witness { place, count, ids, surplus } => {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let ids = if ids.is_empty() { "without names".to_owned() } else { ids.join(", ") };
            ["count".to_owned(), place.to_string(), count.to_string(), format!("{surplus} more: {ids}")]
        }
    };
    output::table(&std::iter::once(heading).chain(left.iter().map(row)).collect::<Vec<_>>())
}

fn unknown_table(cells: &[UnknownCell]) -> String {
    let heading = ["PLACE", "KIND", "MISSING PERMISSION", "REASON"].map(str::to_owned);
    let row = |UnknownCell { place, kind, because, missing }: &UnknownCell| {
        let kind = kind.as_ref().map_or_else(|| "all".to_owned(), ToString::to_string);
        [place.to_string(), kind, missing.clone().unwrap_or_default(), because.clone()]
    };
    output::table(&std::iter::once(heading).chain(cells.iter().map(row)).collect::<Vec<_>>())
}
