//! `allotment cleanup`: returned accounts, for people.

mod baseline;
mod desk;
mod kinds;
mod plan;
mod progress;
mod run;
mod status;
mod tally;
mod tree;
mod verify;

use super::place::answered;
use crate::{
    args::cleanup::CleanupCommand,
    output::{self, Paint},
};
use allotment_core::{cleanup::CloudAccountId, pool::AccountName};
use allotment_operator::cleanup::{ByHandError, OpenError, ReconcileError};
use anyhow::{Context, Result, anyhow};
use std::process::ExitCode;
use tokio::runtime::Runtime;

pub(crate) fn run(command: CleanupCommand) -> Result<ExitCode> {
    Runtime::new().context("cannot start the runtime")?.block_on(async {
        let answer = match command {
            CleanupCommand::Plan { account, place, output } => {
                Box::pin(plan::run(AccountName::new(account), &place, output)).await
            }
            CleanupCommand::Run { account, place, yes, output } => {
                Box::pin(run::run(AccountName::new(account), &place, yes, output)).await
            }
            CleanupCommand::Verify { account, place, settle_seconds, output } => {
                Box::pin(verify::run(AccountName::new(account), &place, settle_seconds, output)).await
            }
            CleanupCommand::Baseline { accounts, place, id_only, replace, shoots, output } => {
                let (replace, shoots) = (replace.map(CloudAccountId::new), shoots.map(|shoots| shoots.0));
                let order = baseline::Order { id_only, replace, shoots };
                let accounts = accounts.into_iter().map(AccountName::new).collect();
                Box::pin(baseline::run(accounts, &place, order, output)).await
            }
            CleanupCommand::Status { place, operator_namespace, output } => {
                Box::pin(status::run(&place, operator_namespace.as_deref(), output)).await
            }
            CleanupCommand::Kinds { cloud, output } => kinds::run(cloud.as_deref(), output),
        };
        Ok(answered(answer))
    })
}

/// Says why there is no answer, and how to end: a refusal is one, a server that does not answer is none.
fn ended(account: &AccountName, error: ByHandError) -> ExitCode {
    let is_answer = match &error {
        ByHandError::NoEntry(_)
        | ByHandError::NotSupported(_)
        | ByHandError::OtherAccount { .. }
        | ByHandError::SameAccount { .. }
        | ByHandError::InUse { .. } => true,
        // Time fills neither of these gaps.
        ByHandError::Gap { cell, .. } => cell.missing.is_some() || cell.because.contains("HistoryIncomplete"),
        ByHandError::Refused { refusal, .. } => !refusal.is_temporary(),
        ByHandError::Reconcile(error) => matches!(
            error,
            ReconcileError::Open(OpenError::Unusable(_))
                | ReconcileError::OtherLedger { .. }
                | ReconcileError::Overtaken { .. }
        ),
    };
    let error = match error {
        ByHandError::NotSupported(error) => anyhow!(
            "{account} cannot be cleaned: {error}; clean it by hand, then remove the labels of its tenant and of being dirty"
        ),
        ByHandError::Reconcile(ReconcileError::Open(OpenError::Unusable(because))) => {
            anyhow!("the credentials of {account} cannot be used: {because}; correct them, and try again")
        }
        ByHandError::Refused { refusal, .. } if refusal.missing().is_some() => anyhow!(
            "the cloud refuses to identify the credentials of {account}: {refusal}; correct them, or grant the permission"
        ),
        error => error.into(),
    };
    if is_answer {
        output::complain(&error);
        return ExitCode::FAILURE;
    }
    answered(Err(error))
}

/// A table whose first line stands out.
fn headed(table: &str, paint: Paint) -> String {
    let (head, rest) = table.split_once('\n').unwrap_or((table, ""));
    format!("{}\n{rest}", paint.bold(head))
}
