//! What users type after `allotment sim`.

use crate::output::Format;
use clap::{Args, Subcommand, ValueHint};
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
    Subscription(SimArgs),
    /// Two cluster operators beside two subscription operators, a gardenlet, and everything that goes wrong
    ///
    /// Tenants create, change, pause and delete Clusters; Shoots fail, flap, vanish and come back as others. It must come to
    /// rest, leave no account and no Shoot behind, and a resync must write nothing. Exits with 1 if anything was found.
    #[command(after_help = "Examples:\n  \
        allotment sim cluster --seeds 2000\n  \
        allotment sim cluster --seed 17 --trace\n  \
        allotment sim cluster --enumerate\n  \
        allotment sim cluster --script failing.txt --trace")]
    Cluster(SimArgs),
    /// Two kubeconfig operators beside all of that, and people who ask for access, rotate and revoke it
    ///
    /// In the end no cluster may hold a grant that nobody asks for, and nothing that is called revoked may be valid, ever.
    /// Exits with 1 if anything was found.
    #[command(after_help = "Examples:\n  \
        allotment sim access --seeds 2000\n  \
        allotment sim access --seed 17 --trace\n  \
        allotment sim access --enumerate")]
    Access(SimArgs),
    /// All three operators with enforced tenancy, honest tenants, and one who is hostile
    ///
    /// The hostile tenant writes into its own namespace whatever a schema allows: annotations, labels, ownerReferences, finalizers
    /// and statuses, with the names and UIDs of other tenants' objects. Nothing of another tenant may be read, written, granted,
    /// counted or deleted. Exits with 1 if anything was found.
    #[command(after_help = "Examples:\n  \
        allotment sim hostile --seeds 2000\n  \
        allotment sim hostile --seed 17 --trace\n  \
        allotment sim hostile --enumerate")]
    Hostile(SimArgs),
    /// Providers of openMCP, of two names and in two environments, in gardens that they share, and everything that goes wrong
    ///
    /// People offer, change and withdraw Landscapes and ProviderConfigs, order Clusters and ask for access, in right and wrong
    /// orders. No provider may write what is another's, and in the end nothing may be left that nobody asks for. Exits with 1 if
    /// anything was found.
    #[command(after_help = "Examples:\n  \
        allotment sim openmcp --seeds 2000\n  \
        allotment sim openmcp --seed 17 --trace\n  \
        allotment sim openmcp --enumerate")]
    Openmcp(SimArgs),
    /// Two cleanup operators beside two subscription operators, clouds with leftovers, and everything that goes wrong
    ///
    /// Tenants return accounts with items in them that are locked, hidden, slow or late; people rotate and revoke credentials, set and
    /// remove labels, and make Shoots. No account may become free with anything left in it, nothing may be deleted in an account that
    /// is not dirty, and nothing that stays. Exits with 1 if anything was found.
    #[command(after_help = "Examples:\n  \
        allotment sim cleanup --seeds 2000\n  \
        allotment sim cleanup --seed 17 --trace\n  \
        allotment sim cleanup --enumerate")]
    Cleanup(SimArgs),
}

/// What is run.
#[derive(Debug, Args)]
pub(crate) struct SimArgs {
    /// How many seeds [default: 100, or 1 with --seed]
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<u64>,
    /// The first seed [default: 1]
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    /// How many seeds are run at once [default: one for each core]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Crash right before and right after every write of one scenario, in turn
    #[arg(long, conflicts_with_all = ["seeds", "seed", "script"])]
    pub(crate) enumerate: bool,
    /// Run a script, as it is printed for a failing seed
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["seeds", "seed"])]
    pub(crate) script: Option<PathBuf>,
    /// Print every call and every action
    #[arg(long)]
    pub(crate) trace: bool,
    /// Print what came of it in this format
    #[arg(long, short, value_enum)]
    pub(crate) output: Option<Format>,
}
