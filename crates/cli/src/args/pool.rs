//! What users type to ask about the pool and the ledger.

use super::config_file::ConfigFile;
use crate::output::Format;
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// Where the garden, the control plane and the ledger are.
#[derive(Args, Debug)]
pub(crate) struct Place {
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    /// The control plane's kubeconfig [default with a configuration: as kubectl finds it]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The garden's kubeconfig, instead of the configuration's; then no configuration is taken by default
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) garden_kubeconfig: Option<PathBuf>,
    /// The namespace of the garden project, instead of the configuration's
    #[arg(long, short, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PoolCommand {
    /// Say how many accounts each pool has, and in which state
    ///
    /// Without a configuration there is no ledger to ask, and the labels have to do.
    #[command(
        after_help = "Exit codes: 0 the answer is there, 2 wrong usage, 3 something could not be read.\n\n\
        Examples:\n  \
        allotment pool status --config config.yaml\n  \
        allotment pool status --garden-kubeconfig garden.kubeconfig -n garden-kyma --accounts\n  \
        allotment pool status --config config.yaml -o json | jq '.pools[] | select(.free == 0)'"
    )]
    Status {
        #[command(flatten)]
        place: Place,
        /// Also list every account
        #[arg(long)]
        accounts: bool,
        /// Print the answer in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
    /// Find everything about the pool that somebody should see to, with the remedy
    ///
    /// Entries that their labels put in no pool, entries with the same credentials, missing Secrets, accounts that wait to be
    /// cleaned for long or are in quarantine, and with a configuration whatever ledger and cluster do not agree on.
    #[command(
        after_help = "Exit codes: 0 all is well, 1 there are findings, 2 wrong usage, 3 something could not be read.\n\n\
        Examples:\n  \
        allotment pool doctor --config config.yaml\n  \
        allotment pool doctor --config config.yaml -o json | jq -r '.findings[] | .code + \" \" + .account'"
    )]
    Doctor {
        #[command(flatten)]
        place: Place,
        /// Also list the findings that only follow from a ledger that does not fit the garden
        #[arg(long)]
        all: bool,
        /// Print the findings in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
    /// Say everything that ever happened to an account
    #[command(
        after_help = "Exit codes: 0 the answer is there, 1 nothing is known of it, 2 wrong usage, 3 something could not be read.\n\n\
        Example:\n  allotment pool history aws-01 --config config.yaml"
    )]
    History {
        /// The account: the name of its binding
        account: String,
        #[command(flatten)]
        place: Place,
        /// At most so many entries, the newest ones
        #[arg(long, default_value_t = 100, value_name = "NUMBER")]
        limit: u32,
        /// Print the entries in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    /// Compare ledger, bindings, SubscriptionRequests and Shoots, and list every disagreement; changes nothing
    #[command(
        after_help = "Exit codes: 0 they agree, 1 they do not, 2 wrong usage, 3 something could not be read.\n\n\
        Example:\n  allotment ledger verify --config config.yaml"
    )]
    Verify {
        #[command(flatten)]
        place: Place,
        /// Also list the disagreements that only follow from a ledger that does not fit the garden
        #[arg(long)]
        all: bool,
        /// Print the disagreements in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
    /// Make the ledger anew from the cluster: labels, requests and Shoots
    ///
    /// For a ledger that was lost, comes from an old backup, or is another one than the garden was served from. The history
    /// stays. An operator that halted for one of these reasons goes on by itself afterwards.
    #[command(
        after_help = "Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 something could not be read.\n\n\
        Examples:\n  \
        allotment ledger rebuild --config config.yaml --yes\n  \
        kubectl exec deploy/allotment -- /allotment ledger rebuild --config /etc/allotment/config.yaml --yes --force"
    )]
    Rebuild {
        #[command(flatten)]
        place: Place,
        /// Yes, throw away what the ledger says about the present
        #[arg(long)]
        yes: bool,
        /// Even while an operator holds the Lease: one that has halted does, and one that works starts over
        #[arg(long)]
        force: bool,
        /// The namespace of the operators, where the Lease is [default: $POD_NAMESPACE, else default]
        #[arg(long, value_name = "NAME")]
        operator_namespace: Option<String>,
        /// Print what was done in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
    /// Bring the schema of the ledger up to date, or make a ledger
    ///
    /// The operators do the same when they start. By hand it is of use before an upgrade, and where their database user may not
    /// change tables. Commands that only read never do it.
    #[command(after_help = "Exit codes: 0 it is up to date, 1 it failed, 2 wrong usage.\n\n\
        Example:\n  allotment ledger migrate --config config.yaml")]
    Migrate {
        #[command(flatten)]
        config: ConfigFile,
    },
    /// Copy a SQLite ledger into a file, also while operators write
    ///
    /// A plain copy of the database's file is not enough: the last writes are in another one. The file must not be there yet. For
    /// PostgreSQL use its own tools.
    #[command(after_help = "Exit codes: 0 the copy is complete and checked, 1 it failed, 2 wrong usage.\n\n\
        Examples:\n  \
        allotment ledger backup ledger-2026-11-16.db --config config.yaml\n  \
        kubectl exec deploy/allotment -- /allotment ledger backup /var/lib/allotment/backup.db --config /etc/allotment/config.yaml")]
    Backup {
        /// The file to make
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        #[command(flatten)]
        config: ConfigFile,
    },
}
