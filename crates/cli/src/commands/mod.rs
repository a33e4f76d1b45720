//! One file per command.

pub(crate) mod bench;
mod completion;
mod crds;
mod demo;

use crate::args::{Args, Command};
use anyhow::Result;

/// Runs what was asked for.
pub(crate) fn run(args: Args) -> Result<()> {
    match args.command {
        Command::Crds { group, output } => crds::run(&group, output),
        Command::Demo { real } => demo::run(real),
        Command::Bench { only, results, output } => bench::run(&only, results, output),
        Command::BenchRemember { objects } => bench::remember(objects),
        Command::Completion { shell } => completion::run(shell),
    }
}
