//! What users type to run the operators, and about their configuration.

use super::config_file::ConfigFile;
use crate::output::{Format, LogFormat};
use allotment_operator::config::Controller;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    /// The control plane's kubeconfig [default: as kubectl finds it, else the cluster around this process]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The operators to run, whatever the configuration says
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) controllers: Option<Vec<ControllerName>>,
    /// What a line of the log looks like; RUST_LOG sets its level [env: ALLOTMENT_LOG_FORMAT] [default: text]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ControllerName {
    /// Which account each SubscriptionRequest gets
    Subscription,
    /// Clusters and their Shoots
    Cluster,
    /// Kubeconfigs
    Kubeconfig,
    /// Returned accounts
    Cleanup,
}

impl From<ControllerName> for Controller {
    fn from(name: ControllerName) -> Self {
        match name {
            ControllerName::Subscription => Self::Subscription,
            ControllerName::Cluster => Self::Cluster,
            ControllerName::Kubeconfig => Self::Kubeconfig,
            ControllerName::Cleanup => Self::Cleanup,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check a configuration file, rules and all, and say all that is wrong with it
    #[command(after_help = "Exit codes: 0 it can be used, 1 there are errors, 2 wrong usage.\n\n\
        Examples:\n  \
        allotment config check config.yaml\n  \
        kubectl get configmap allotment -o jsonpath='{.data.config\\.yaml}' | allotment config check -")]
    Check {
        /// The file; - is standard input [env: ALLOTMENT_CONFIG] [default: ./allotment.yaml, then /etc/allotment/config.yaml]
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// Print the findings in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
    /// Print the admission policies that refuse at `kubectl apply` what the operators would refuse
    ///
    /// The chart installs the same ones; this is for installations without it. They take effect on the control plane.
    #[command(after_help = "Exit codes: 0 printed, 1 the configuration has errors, 2 wrong usage.\n\n\
        Example:\n  \
        allotment config admission config.yaml --namespace allotment-system \\\n    \
        --operator system:serviceaccount:allotment-system:allotment | kubectl apply --server-side -f -")]
    Admission {
        /// The file; - is standard input
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// The operators' namespace: the policies' parameter is put there
        #[arg(long, short)]
        namespace: String,
        /// The user that the operators are on the control plane
        #[arg(long, value_name = "USER")]
        operator: String,
        /// What the names of the policies begin with
        #[arg(long, default_value = "allotment")]
        name: String,
        /// How to print them
        #[arg(long, short, value_enum, default_value_t = Format::Yaml)]
        output: Format,
    },
    /// Print the JSON schema of the configuration file
    #[command(after_help = "Example:\n  \
        allotment config schema > config.schema.json    # then, in the file: # yaml-language-server: $schema=config.schema.json")]
    Schema {
        /// How to print it
        #[arg(long, short, value_enum, default_value_t = Format::Json)]
        output: Format,
    },
}
