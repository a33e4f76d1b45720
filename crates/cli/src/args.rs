//! What users type.

pub(crate) mod cleanup;
pub(crate) mod cluster;
pub(crate) mod config_file;
pub(crate) mod demo;
pub(crate) mod kubeconfig;
pub(crate) mod openmcp;
pub(crate) mod operators;
pub(crate) mod pool;
pub(crate) mod rules;
pub(crate) mod sim;

use crate::{commands, output::Format};
use allotment_api::crds;
use allotment_sim::bench::Part;
use clap::{Parser, Subcommand, ValueHint, builder::PossibleValuesParser};
use clap_complete::Shell;
use std::path::PathBuf;

/// Hands out cloud accounts and the Kubernetes clusters that grow in them.
#[derive(Debug, Parser)]
#[command(
    name = "allotment",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "Commands that need the operators' configuration take --config FILE, else the file that ALLOTMENT_CONFIG names, else \
        ./allotment.yaml, else /etc/allotment/config.yaml.\n\n\
        For developers of Allotment:\n  \
        sim    Run operators under faults, in a world where one seed decides everything\n  \
        bench  Measure what things cost: calls and bytes first, seconds as ratios"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the operators
    ///
    /// Several can run beside each other on a PostgreSQL ledger: one leads, the others stand by. Rules and limits are taken over when the
    /// configuration file changes.
    #[command(
        after_help = "Exit codes: 0 told to stop, 1 it could not start (bad configuration, no way to a server), 2 wrong usage.\n\n\
        Examples:\n  \
        allotment run --config config.yaml\n  \
        allotment run --config config.yaml --kubeconfig control-plane.kubeconfig --controllers subscription"
    )]
    Run(operators::RunArgs),
    /// Check the operators' configuration file, and print its schema
    #[command(arg_required_else_help = true)]
    Config {
        #[command(subcommand)]
        command: operators::ConfigCommand,
    },
    /// Print the CustomResourceDefinitions
    ///
    /// Those of openMCP are printed only with --openmcp: nobody else needs them, and a cluster may have them from openmcp-operator.
    #[command(after_help = "Examples:\n  \
        allotment crds | kubectl apply --server-side -f -\n  \
        allotment crds --openmcp    # for `allotment openmcp`, whose init installs them\n  \
        allotment crds --group operator.kyma-project.io -o json")]
    Crds {
        /// Only the kinds of this group; may be given several times
        #[arg(long, value_parser = PossibleValuesParser::new(crds::GROUPS))]
        group: Vec<String>,
        /// Those of openMCP, instead of those that the operators need
        #[arg(long, conflicts_with = "group")]
        openmcp: bool,
        /// How to print them
        #[arg(long, short, value_enum, default_value_t = Format::Yaml)]
        output: Format,
    },
    /// Show the product working, in a landscape of its own
    ///
    /// At a terminal it shows what there is and what happens while you type in another one; elsewhere it prints a line for each
    /// change.
    #[command(after_help = "Examples:\n  \
        allotment demo\n  \
        allotment demo --tour                 # a walk through the product, in two minutes\n  \
        allotment demo --tour --crash 5s      # the same, while the operators are killed every five seconds\n  \
        allotment demo --state ~/allotment    # goes on where it was, also after kill -9\n  \
        allotment demo --landscape real       # on kube-apiserver and gardener-apiserver, built with Go")]
    Demo(demo::DemoArgs),
    /// Measure what things cost: calls and bytes first, seconds as ratios
    ///
    /// Where a line has a baseline, the value is that of the embedded servers and the baseline that of the real ones, measured
    /// in the same run, or a bound. The real servers are built with Go and started; ALLOTMENT_LANDSCAPE names the
    /// landscape.json of some that run already. It takes ten to twenty minutes; other work on the machine shows in the seconds.
    #[command(
        hide = true,
        after_help = "Examples:\n  \
        allotment bench\n  \
        allotment bench --only memory --only fan-out\n  \
        allotment bench -o json | jq '.[] | select(.ratio > 1)'"
    )]
    Bench {
        /// Measure only this part; may be given several times
        #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Part::ALL.map(Part::name)))]
        only: Vec<String>,
        /// Where the results are written to, as JSON [default: bench/results.json, or nowhere with --only]
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        results: Option<PathBuf>,
        /// Print the results in this format instead of a table
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
    /// Keep so many objects in an embedded server, or follow so many Shoots, and print by how many bytes this process grew
    #[command(hide = true, name = commands::bench::REMEMBER)]
    BenchRemember {
        /// How many
        objects: u32,
        /// Follow Shoots instead
        #[arg(long)]
        shoots: bool,
        /// Clusters with what belongs to them.
        #[arg(long)]
        clusters: bool,
        /// Those of openMCP.
        #[arg(long)]
        openmcp: bool,
    },
    /// Check, explain, compare and spell the rules that say which pool a cluster's account comes from
    #[command(arg_required_else_help = true)]
    Rules {
        #[command(subcommand)]
        command: rules::RulesCommand,
    },
    /// Ask about the pool of accounts: how it stands, what is wrong with it, what happened
    #[command(arg_required_else_help = true)]
    Pool {
        #[command(subcommand)]
        command: pool::PoolCommand,
    },
    /// Ask about Clusters: what one waits for, what another configuration would change; and take over Shoots that exist
    #[command(arg_required_else_help = true)]
    Cluster {
        #[command(subcommand)]
        command: cluster::ClusterCommand,
    },
    /// Compare the ledger with the cluster, make it anew, bring it up to date, copy it
    #[command(arg_required_else_help = true)]
    Ledger {
        #[command(subcommand)]
        command: pool::LedgerCommand,
    },
    /// Empty returned accounts, prove them empty, and say what keeps the others
    #[command(arg_required_else_help = true)]
    Cleanup {
        #[command(subcommand)]
        command: cleanup::CleanupCommand,
    },
    /// List kubeconfigs that were handed out, and revoke them
    #[command(arg_required_else_help = true)]
    Kubeconfig {
        #[command(subcommand)]
        command: kubeconfig::KubeconfigCommand,
    },
    /// Be a ClusterProvider of openMCP, for Gardener
    #[command(arg_required_else_help = true)]
    Openmcp {
        #[command(subcommand)]
        command: openmcp::OpenmcpCommand,
    },
    /// Run operators under faults, in a world where one seed decides everything
    #[command(hide = true, arg_required_else_help = true)]
    Sim {
        #[command(subcommand)]
        command: sim::SimCommand,
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
