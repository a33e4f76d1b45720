//! `allotment run`: the operators.

use super::{config_file, show, signals};
use crate::{
    args::operators::RunArgs,
    output::{self, Paint},
};
use allotment_operator::process::{Options, Process, StartError};
use anyhow::{Context, Result};
use std::{pin::pin, process::ExitCode};
use tokio::runtime::Runtime;
use tracing_subscriber::EnvFilter;

pub(crate) fn run(args: RunArgs) -> Result<ExitCode> {
    log("info");
    let RunArgs { config, kubeconfig, controllers } = args;
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

/// Logs to standard error, as `RUST_LOG` says.
pub(crate) fn log(default: &str) {
    // The client's own line about a connection that failed does not say which; ours do.
    let default = format!("{default},kube_client::client::builder=off");
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    // Somebody else may have set it up already.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(Paint::for_standard_error().is_on())
        .with_writer(std::io::stderr)
        .try_init();
}
