//! `allotment run`: the operators.

use super::{config_file, show, signals};
use crate::{
    args::operators::RunArgs,
    output::{self, LogFormat, Paint},
};
use allotment_operator::process::{Options, Process, StartError};
use anyhow::{Context, Result};
use std::{pin::pin, process::ExitCode};
use tokio::runtime::Runtime;

pub(crate) fn run(args: RunArgs) -> Result<ExitCode> {
    let RunArgs { config, kubeconfig, controllers, log_format } = args;
    output::log("info", LogFormat::find(log_format));
    let config = match config_file::find(config.config.as_deref()) {
        Ok(config) => config,
        Err(code) => return Ok(code),
    };
    let options = Options {
        config,
        kubeconfig,
        controllers: controllers.map(|all| all.into_iter().map(Into::into).collect()),
        clouds: None,
    };
    Runtime::new().context("cannot start the runtime")?.block_on(async {
        let mut stop = pin!(signals::stop()?);
        let started = tokio::select! {
            started = Process::start(options) => started,
            () = &mut stop => return Ok(ExitCode::SUCCESS),
        };
        match started {
            Ok(process) => {
                if let Some(address) = process.address() {
                    output::note(&format!("health and metrics: http://{address}/readyz?verbose"));
                }
                process.run_until(stop).await;
                output::note("stopped");
                Ok(ExitCode::SUCCESS)
            }
            Err(error) => Ok(refuse(error)),
        }
    })
}

/// Says why nothing runs.
pub(crate) fn refuse(error: StartError) -> ExitCode {
    if let StartError::Config { path, findings } = &error {
        let paint = Paint::for_standard_error();
        let verdict = show::verdict_on(path, None, findings, paint);
        output::note(&format!("{}{}", show::findings(path, findings, paint), verdict.trim_end()));
    } else {
        output::complain(&error.into());
    }
    ExitCode::FAILURE
}
