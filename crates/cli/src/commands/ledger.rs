//! `allotment ledger`: is it right, make it anew, bring it up to date, copy it.

use super::{
    config_file,
    place::{Access, Opened, answered, ended, ledger_url, open},
    pool::{Findings, needs_ledger, show},
    show::counted,
};
use crate::{
    args::pool::{LedgerCommand, Place},
    output::{self, Format, Paint},
};
use allotment_core::pool::{Ailment, Compared, Complaint, Grown, compare};
use allotment_operator::{
    ledger::{Ledger, Migrated},
    metrics::Metrics,
    process::{self, StartError},
    runtime::{clock::Clock, lease},
    subscription::{LEASE_NAME, Operator, Parts, Rebuild, Trouble},
    survey::Survey,
};
use anyhow::{Context, Result};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use serde_json::json;
use std::{path::Path, process::ExitCode};
use tokio::runtime::Runtime;

pub(crate) fn run(command: LedgerCommand) -> Result<ExitCode> {
    Runtime::new().context("cannot start the runtime")?.block_on(async {
        match command {
            LedgerCommand::Verify { place, all, output } => Ok(answered(verify(&place, all, output).await)),
            LedgerCommand::Rebuild { place, yes, force, operator_namespace, output } => {
                // Before anything is opened to write: that makes a ledger where there is none.
                if !yes {
                    return Ok(unconfirmed());
                }
                let opened = match open(&place, Access::Write).await {
                    Ok(opened) => opened,
                    Err(code) => return Ok(code),
                };
                let namespace = operator_namespace.unwrap_or_else(process::own_namespace);
                match allowed(&opened, force, &namespace).await? {
                    Ok(how) => rebuild(opened, &how, output).await,
                    Err(code) => Ok(code),
                }
            }
            LedgerCommand::Migrate { config } => Ok(match config_file::find(config.config.as_deref()) {
                Ok(config) => migrate(&config).await.unwrap_or_else(ended),
                Err(code) => code,
            }),
            LedgerCommand::Backup { file, config } => Ok(match config_file::find(config.config.as_deref()) {
                Ok(config) => backup(&config, &file).await.unwrap_or_else(ended),
                Err(code) => code,
            }),
        }
    })
}

async fn verify(place: &Place, all: bool, format: Option<Format>) -> Result<ExitCode> {
    let opened = match open(place, Access::Read).await {
        Ok(opened) => opened,
        Err(code) => return Ok(code),
    };
    if let Err(code) = needs_ledger(&opened) {
        return Ok(code);
    }
    let (Findings { list, not_listed }, foreign) = differences(&opened, all).await?;
    match format {
        Some(format) => output::print_value(
            &json!({ "ok": list.is_empty(), "disagreements": list, "notListed": not_listed, "foreign": foreign }),
            format,
        )?,
        None => output::print(&for_people(&list, not_listed, &foreign))?,
    }
    Ok(if list.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Everything that the sides do not agree on, and the Shoots that nobody asked us for.
async fn differences(opened: &Opened, all: bool) -> Result<(Findings, Vec<Grown>)> {
    let survey = opened.survey().await?;
    let Compared { disagreements, foreign } = compare(&survey.sides());
    let operator = operator(opened).context("the configuration has no rules")?;
    let identity = identity(&operator, &survey).await?;
    // Beside another control plane, every Shoot would be foreign.
    let foreign = if identity.is_some() && !all { Vec::new() } else { foreign };
    Ok((Findings::new(identity, disagreements, all), foreign))
}

/// Why nothing is handed out from the ledger, if nothing is; none too where the ledger cannot be compared with the garden.
pub(super) async fn identity_of(opened: &Opened, survey: &Survey) -> Result<Option<Complaint>> {
    match operator(opened) {
        Some(operator) => identity(&operator, survey).await,
        None => Ok(None),
    }
}

async fn identity(operator: &Operator, survey: &Survey) -> Result<Option<Complaint>> {
    match operator.verify_ledger_identity(survey.traces()).await {
        Ok(()) => Ok(None),
        Err(Trouble::Term(error)) => {
            let text = error.to_string();
            // The cause, then the remedy.
            let (message, remedy) = match text.rsplit_once("; ") {
                Some((message, remedy)) => (message, format!("{remedy}; until then nothing is handed out")),
                None => (text.as_str(), "until then nothing is handed out".to_owned()),
            };
            let (code, account, message) = (Ailment::Identity, None, message.to_owned());
            Ok(Some(Complaint { code, account, message, remedy }))
        }
        Err(trouble) => Err(trouble.into()),
    }
}

fn for_people(disagreements: &[Complaint], not_listed: usize, foreign: &[Grown]) -> String {
    let mut text = String::new();
    let paint = Paint::for_standard_output();
    for Grown { name, account, .. } in foreign {
        let line =
            format!("Shoot {name} in account {account} is foreign: nobody asked us for it, and it counts");
        text.push_str(&format!("{}\n", paint.dim(&line)));
    }
    if disagreements.is_empty() {
        text.push_str(&format!("ledger, bindings, requests and Shoots {}\n", paint.green("agree")));
    } else {
        text.push_str(&show::complaints(disagreements, not_listed));
    }
    text
}

/// How the ledger is rebuilt; else the exit code of a refusal. The fence names the namespace of the operators that lead.
async fn allowed(opened: &Opened, force: bool, namespace: &str) -> Result<Result<Rebuild, ExitCode>> {
    if let Err(code) = needs_ledger(opened) {
        return Ok(Err(code));
    }
    let control_plane = opened.control_plane.clone().context("there is no way to the control plane")?;
    let operator = operator(opened).context("the configuration has no rules")?;
    let fenced = operator.fenced_installation().await?;
    let namespace = fenced.as_deref().unwrap_or(namespace);
    let leases: Api<Lease> = Api::namespaced(control_plane, namespace);
    let holder = lease::holder(&leases, LEASE_NAME, Clock::system().now()).await?;
    match holder {
        Some(holder) if !force => {
            output::complain(&anyhow::anyhow!(
                "{holder} holds the Lease {namespace}/{LEASE_NAME}: stop the operators, or use --force, which a halted one needs \
                 and a working one survives by starting over"
            ));
            Ok(Err(ExitCode::FAILURE))
        }
        // Operators that work go on; else any namespace may take over.
        holder => Ok(Ok(Rebuild { force, installation: fenced.filter(|_| holder.is_some()) })),
    }
}

fn unconfirmed() -> ExitCode {
    output::complain(&anyhow::anyhow!(
        "this throws away who sits in which account and who waits, and makes it anew from labels, requests and Shoots; \
         the history stays; say --yes to do it"
    ));
    ExitCode::FAILURE
}

async fn rebuild(opened: Opened, how: &Rebuild, format: Option<Format>) -> Result<ExitCode> {
    // A first look, so that a server that cannot be reached is told and not waited for.
    opened.survey().await?;
    let operator = operator(&opened).context("the configuration has no rules")?;
    output::progress("making the ledger anew ...");
    let epoch = operator.rebuild_with(how).await?;
    let rows = operator.ledger().accounts().await?;
    let requests: usize = rows.iter().map(|row| row.assignments.len()).sum();
    let (Findings { list, not_listed }, foreign) = differences(&opened, false).await?;
    match format {
        Some(format) => output::print_value(
            &json!({
                "epoch": epoch,
                "accounts": rows.len(),
                "requests": requests,
                "disagreements": list,
                "notListed": not_listed,
                "foreign": foreign,
            }),
            format,
        )?,
        None => output::print(&format!(
            "the ledger is made anew, epoch {epoch}: {}, {}\n{}",
            counted(rows.len(), "account"),
            counted(requests, "request"),
            for_people(&list, not_listed, &foreign)
        ))?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn migrate(config: &Path) -> Result<ExitCode, StartError> {
    let Migrated { from, to } = Ledger::migrate(&ledger_url(config)?).await?;
    output::note(&match from {
        None => format!("made a ledger, schema version {to}"),
        Some(from) if from == to => format!("the ledger has schema version {to} already"),
        Some(from) => format!("the ledger had schema version {from} and has {to} now"),
    });
    Ok(ExitCode::SUCCESS)
}

async fn backup(config: &Path, file: &Path) -> Result<ExitCode, StartError> {
    Ledger::backup(&ledger_url(config)?, file).await?;
    output::note(&format!("the ledger is in {}, complete and checked", file.display()));
    Ok(ExitCode::SUCCESS)
}

/// An operator that is never run.
fn operator(opened: &Opened) -> Option<Operator> {
    let Opened { garden, control_plane, ledger, settings, policy, config: _ } = opened;
    let operator = Operator::new(Parts {
        control_plane: control_plane.clone()?,
        garden: garden.client.clone(),
        ledger: ledger.clone()?,
        settings: settings.clone(),
        policy: policy.clone()?,
        clock: Clock::system(),
        metrics: Metrics::new(),
    });
    // In a pod the namespace is that of the operators; a person's says nothing.
    let is_installed = std::env::var_os("POD_NAMESPACE").is_some();
    Some(if is_installed { operator.tied_to_installation() } else { operator.tied_to_control_plane() })
}
