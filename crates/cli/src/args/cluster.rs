//! What users type after `allotment cluster`.

use super::{config_file::ConfigFile, kubeconfig::time};
use crate::output::Format;
use clap::{Args, Subcommand, ValueHint};
use std::{path::PathBuf, time::Duration};

/// Where the garden and the control plane are, and what Shoots are made of.
#[derive(Args, Debug)]
pub(crate) struct Reach {
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    /// The control plane's kubeconfig [default: as kubectl finds it]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The garden's kubeconfig, instead of the configuration's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) garden_kubeconfig: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Say what a Cluster waits for, what the operator would do next, and why
    ///
    /// Everything is read live and decided as the operator decides; nothing is written.
    #[command(
        after_help = "Exit codes: 0 the answer is there, 1 there is no such Cluster or something could not be read, 2 wrong usage.\n\n\
        Examples:\n  \
        allotment cluster explain example-cluster -n cluster-operator --config config.yaml\n  \
        allotment cluster explain example-cluster -n cluster-operator --config config.yaml -o json | jq .waitsFor"
    )]
    Explain {
        /// The Cluster
        name: String,
        /// Its namespace [default: that of the kubeconfig]
        #[arg(long, short, value_name = "NAME")]
        namespace: Option<String>,
        #[command(flatten)]
        reach: Reach,
        /// Print the answer in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
    /// Say what a configuration would change in the Shoots of Clusters that exist
    ///
    /// Each Shoot is rendered with that configuration and applied as a trial, which the garden checks and does not store; what
    /// is otherwise in its answer is shown, field by field. Run it with the new file before it is rolled out.
    #[command(
        after_help = "Exit codes: 0 nothing would change, 1 something would or would be refused, 2 wrong usage, 3 something could not be read.\n\n\
        Examples:\n  \
        allotment cluster diff --all-namespaces --config new.yaml\n  \
        allotment cluster diff example-cluster -n cluster-operator --config new.yaml\n  \
        allotment cluster diff -A --config new.yaml -o json | jq -r '.clusters[] | select(.changes != []) | .name'"
    )]
    Diff {
        /// Only these Clusters [default: all of the namespace]
        names: Vec<String>,
        /// Their namespace [default: that of the kubeconfig]
        #[arg(long, short, value_name = "NAME")]
        namespace: Option<String>,
        /// The Clusters of all namespaces
        #[arg(long, short = 'A', conflicts_with_all = ["namespace", "names"])]
        all_namespaces: bool,
        #[command(flatten)]
        reach: Reach,
        /// Print the answer in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
    /// Take over a Shoot that exists
    ///
    /// Shows what would change in the Shoot, checks that it runs in an account of the Cluster's tenant, asks, and then tells
    /// the operator by a ShootAdoption in its namespace, which only the platform may write. The operator decides on its own
    /// reads. From then on the Shoot is the Cluster's: it follows the Cluster and
    /// the configuration, and is deleted with it.
    #[command(after_help = "Exit codes: 0 it is taken over, 1 it is not, 2 wrong usage.\n\n\
        Examples:\n  \
        allotment cluster adopt -f cluster.yaml --shoot older --config config.yaml    # makes the Cluster\n  \
        allotment cluster adopt example -n team-a --shoot older --config config.yaml --yes")]
    Adopt {
        /// The Cluster
        #[arg(required_unless_present = "file")]
        name: Option<String>,
        /// Its namespace [default: that of the file, else that of the kubeconfig]
        #[arg(long, short, value_name = "NAME")]
        namespace: Option<String>,
        /// A file with the Cluster, if it is not there yet; - is standard input
        #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// The Shoot
        #[arg(long, value_name = "NAME")]
        shoot: String,
        /// The namespace of the operators, where their Leases are [default: $POD_NAMESPACE, else default]
        #[arg(long, value_name = "NAME")]
        operator_namespace: Option<String>,
        #[command(flatten)]
        reach: Reach,
        /// Yes, take it over
        #[arg(long)]
        yes: bool,
        /// How long to wait until it is taken over
        #[arg(long, value_name = "TIME", default_value = "5m", value_parser = time)]
        timeout: Duration,
    },
}
