//! What users type after `allotment sim`.

use crate::output::Format;
use clap::{Subcommand, ValueHint};
use std::{num::NonZeroUsize, path::PathBuf};

#[derive(Debug, Subcommand)]
pub(crate) enum SimCommand {
    /// Two subscription operators, one ledger, several tenants, and everything that goes wrong
    ///
    /// Every seed draws a world, people and faults of its own, and replays one run exactly. What must always hold is checked
    /// after every write. A failing run is made small and printed as a script. Exits with 1 if anything was found.
    #[command(after_help = "Examples:\n  \
        allotment sim subscription --seeds 2000\n  \
        allotment sim subscription --seed 17 --trace\n  \
        allotment sim subscription --enumerate\n  \
        allotment sim subscription --script failing.txt --trace")]
    Subscription {
        /// How many seeds [default: 100, or 1 with --seed]
        #[arg(long, value_name = "N")]
        seeds: Option<u64>,
        /// The first seed [default: 1]
        #[arg(long, value_name = "S")]
        seed: Option<u64>,
        /// How many seeds are run at once [default: one for each core]
        #[arg(long, value_name = "N")]
        jobs: Option<NonZeroUsize>,
        /// Crash right before and right after every write of one scenario, in turn
        #[arg(long, conflicts_with_all = ["seeds", "seed", "script"])]
        enumerate: bool,
        /// Run a script, as it is printed for a failing seed
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["seeds", "seed"])]
        script: Option<PathBuf>,
        /// Print every call and every action
        #[arg(long)]
        trace: bool,
        /// Print what came of it in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
}
