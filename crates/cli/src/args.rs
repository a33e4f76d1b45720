//! What users type.

use crate::output::Format;
use allotment_api::crds;
use clap::{Parser, Subcommand, ValueHint, builder::PossibleValuesParser};
use clap_complete::Shell;
use std::path::PathBuf;

/// Hands out cloud accounts and the Kubernetes clusters that grow in them.
#[derive(Debug, Parser)]
#[command(name = "allotment", version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the CustomResourceDefinitions
    #[command(after_help = "Examples:\n  \
        allotment crds | kubectl apply --server-side -f -\n  \
        allotment crds --group operator.kyma-project.io -o json")]
    Crds {
        /// Only the kinds of this group; may be given several times
        #[arg(long, value_parser = PossibleValuesParser::new(crds::GROUPS))]
        group: Vec<String>,
        /// How to print them
        #[arg(long, short, value_enum, default_value_t = Format::Yaml)]
        output: Format,
    },
    /// Show the product working, in a landscape of its own
    #[command(
        after_help = "Examples:\n  allotment demo\n  allotment demo --real    # on kube-apiserver and gardener-apiserver, built with Go"
    )]
    Demo {
        /// On the real API servers, not on the embedded ones; needs Go and a checkout
        #[arg(long)]
        real: bool,
    },
    /// Measure what things cost: calls and bytes first, seconds as ratios
    #[command(after_help = "Example:\n  allotment bench -o json | jq '.[] | select(.ratio > 1)'")]
    Bench {
        /// Where the results are written to, as JSON
        #[arg(long, value_hint = ValueHint::FilePath, default_value = "bench/results.json")]
        results: PathBuf,
        /// Print the results in this format instead of a table
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
    /// Print a completion script for a shell
    #[command(
        after_help = "Examples:\n  source <(allotment completion bash)\n  allotment completion fish | source"
    )]
    Completion {
        /// The shell
        shell: Shell,
    },
}
