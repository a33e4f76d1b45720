//! `allotment openmcp`: the ClusterProvider.

use super::signals;
use crate::{
    args::openmcp::{CommonArgs, OpenmcpCommand, RunArgs},
    output::{self, LogFormat},
};
use allotment_api::openmcp::gardener::names::{ACCESS_NAMESPACE, ACCESS_NAMESPACE_VARIABLE};
use allotment_operator::{
    metrics::Metrics,
    openmcp::{
        Instance, access,
        config::{self, Config},
        init::{Installed, init},
        process::{self, Options, Process},
    },
};
use anyhow::{Context, Result, bail};
use std::{env, fs, pin::pin, process::ExitCode};
use tokio::runtime::Runtime;

/// The text of a configuration, for whoever has no file to mount: a ClusterProvider can set variables.
const CONFIG_VARIABLE: &str = "ALLOTMENT_OPENMCP_CONFIG";

pub(crate) fn run(command: OpenmcpCommand) -> Result<ExitCode> {
    let runtime = Runtime::new().context("cannot start the runtime")?;
    match command {
        OpenmcpCommand::Init(args) => runtime.block_on(install(args)),
        OpenmcpCommand::Run(args) => runtime.block_on(serve(args)),
    }
}

async fn install(args: CommonArgs) -> Result<ExitCode> {
    output::log(args.verbosity.level(), LogFormat::find(None));
    process::check(&instance(&args))?;
    let platform = process::platform(args.kubeconfig.as_deref(), &Metrics::new()).await?;
    for (name, installed) in init(&platform).await? {
        output::note(&match installed {
            Installed::Created => format!("{name}: installed"),
            Installed::Updated => format!("{name}: up to date"),
            Installed::LeftAlone => format!("{name}: is there, and is left as it is"),
        });
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve(args: RunArgs) -> Result<ExitCode> {
    output::log(args.common.verbosity.level(), LogFormat::find(None));
    let mut stop = pin!(signals::stop()?);
    let options = options(args)?;
    let started = tokio::select! {
        started = Process::start(options) => started,
        () = &mut stop => return Ok(ExitCode::SUCCESS),
    };
    let process = started?;
    let [metrics, health] = process.addresses();
    for (what, address) in [("metrics", metrics), ("health", health)] {
        if let Some(address) = address {
            output::note(&format!("{what}: http://{address}"));
        }
    }
    process.run_until(stop).await;
    output::note("stopped");
    Ok(ExitCode::SUCCESS)
}

fn options(args: RunArgs) -> Result<Options, anyhow::Error> {
    if args.metrics_secure {
        bail!("metrics are not served over TLS: pass --metrics-secure=false, or --metrics-bind-address=0");
    }
    let instance = instance(&args.common);
    process::check(&instance)?;
    let text = env::var(CONFIG_VARIABLE).ok().filter(|text| !text.trim().is_empty());
    let config = match (&args.config, text) {
        (None, None) => Config::default(),
        (None, Some(text)) => config::read(&text).with_context(|| format!("in {CONFIG_VARIABLE}"))?,
        (Some(path), None) => {
            let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            config::read(&text)?
        }
        (Some(path), Some(_)) => {
            bail!("both --config={} and {CONFIG_VARIABLE} are set: keep one of them", path.display())
        }
    };
    let namespace = env::var(ACCESS_NAMESPACE_VARIABLE).ok().filter(|namespace| !namespace.is_empty());
    let controllers = args.controllers.into_iter().map(Into::into).collect();
    Ok(Options {
        instance,
        kubeconfig: args.common.kubeconfig,
        controllers,
        access: access::Settings {
            namespace: namespace.unwrap_or_else(|| ACCESS_NAMESPACE.to_owned()),
            prefixes: args.oidc_prefixes.into(),
        },
        config,
        requests_per_second: args.garden_requests_per_second,
        leader_elect: args.leader_elect,
        metrics_address: args.metrics_bind_address,
        health_address: args.health_probe_bind_address,
    })
}

fn instance(args: &CommonArgs) -> Instance {
    Instance { environment: args.environment.clone(), provider: args.provider_name.clone() }
}
