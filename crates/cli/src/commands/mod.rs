//! One file per command.

pub(crate) mod bench;
mod cleanup;
mod cluster;
mod completion;
mod config;
mod config_file;
mod crds;
mod demo;
mod input;
mod kubeconfig;
mod ledger;
mod openmcp;
mod operators;
mod place;
mod pool;
mod rules;
mod run;
mod show;
mod signals;
mod sim;

use crate::args::{Args, Command};
use anyhow::Result;
use std::process::ExitCode;

/// Runs what was asked for, and returns how to end.
pub(crate) fn run(args: Args) -> Result<ExitCode> {
    match args.command {
        Command::Run(args) => return run::run(args),
        Command::Config { command } => return config::run(command),
        Command::Pool { command } => return pool::run(command),
        Command::Cluster { command } => return cluster::run(command),
        Command::Ledger { command } => return ledger::run(command),
        Command::Cleanup { command } => return cleanup::run(command),
        Command::Kubeconfig { command } => return kubeconfig::run(command),
        Command::Openmcp { command } => return openmcp::run(command),
        Command::Rules { command } => return rules::run(command),
        Command::Sim { command } => return sim::run(command),
        Command::Crds { group, openmcp, output } => crds::run(&group, openmcp, output),
        Command::Demo(args) => demo::run(args),
        Command::Bench { only, results, output } => bench::run(&only, results, output),
        Command::BenchRemember { objects, shoots, clusters, openmcp } => {
            bench::remember(objects, shoots, clusters, openmcp)
        }
        Command::Completion { shell } => completion::run(shell),
    }?;
    Ok(ExitCode::SUCCESS)
}
