//! What openmcp-operator, or a person in its place, types to run the provider. Its flags are those of Go: a switch may have its
//! value behind `=`.

use allotment_core::openmcp::access::Prefixes;
use allotment_operator::openmcp::{landscapes::REQUESTS_PER_SECOND, process::Controller};
use clap::{ArgAction, Args, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum OpenmcpCommand {
    /// Install the provider's CustomResourceDefinitions on the platform cluster
    ///
    /// Those of clusters.openmcp.cloud are openmcp-operator's: they are installed where they are missing, and left alone where
    /// they are there. It is safe to repeat.
    #[command(after_help = "Exit codes: 0 they are there, 1 they are not, 2 wrong usage.\n\n\
        Example:\n  \
        allotment openmcp init --environment=prod --provider-name=gardener --kubeconfig platform.kubeconfig")]
    Init(CommonArgs),
    /// Run the provider
    #[command(after_help = "Exit codes: 0 told to stop, 1 it could not start, 2 wrong usage.\n\n\
        Examples:\n  \
        allotment openmcp run --environment=prod --provider-name=gardener\n  \
        allotment openmcp run --environment=dev --provider-name=gardener --kubeconfig platform.kubeconfig \\\n    \
        --controllers=cluster,accessrequest,generic,scheduler --config scheduler.yaml")]
    Run(RunArgs),
}

#[derive(Args, Debug)]
pub(crate) struct CommonArgs {
    /// The environment: part of the names of profiles, and of what tells Shoots apart
    #[arg(long, value_name = "NAME")]
    pub(crate) environment: String,
    /// The name of the ClusterProvider
    #[arg(long, value_name = "NAME")]
    pub(crate) provider_name: String,
    /// How much is logged
    #[arg(long, short = 'v', value_enum, ignore_case = true, default_value_t = Verbosity::Info)]
    pub(crate) verbosity: Verbosity,
    /// The platform's kubeconfig, or a folder with one [default: as kubectl finds it, else the cluster around this process]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) kubeconfig: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// There are several replicas, and one of them leads
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set, value_name = "BOOL")]
    pub(crate) leader_elect: bool,
    /// Where metrics are, as in :8080; 0 is nowhere
    #[arg(long, default_value = "0", value_name = "ADDRESS")]
    pub(crate) metrics_bind_address: String,
    /// Metrics over TLS: not served, so only false is taken
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set, value_name = "BOOL")]
    pub(crate) metrics_secure: bool,
    /// Where /healthz and /readyz are; 0 is nowhere
    #[arg(long, default_value = ":8081", value_name = "ADDRESS")]
    pub(crate) health_probe_bind_address: String,
    /// What is run; generic and scheduler only where openmcp-operator does not
    #[arg(long, value_enum, ignore_case = true, value_delimiter = ',', value_name = "NAMES", default_values_t = [ControllerName::Cluster, ControllerName::Accessrequest])]
    pub(crate) controllers: Vec<ControllerName>,
    /// A file with the sections `scheduler`, as openmcp-operator has it, `openmcp` and `tenancy`; its text may be in
    /// ALLOTMENT_OPENMCP_CONFIG instead
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// How many requests a second each garden gets
    #[arg(long, default_value_t = REQUESTS_PER_SECOND, value_name = "COUNT")]
    pub(crate) garden_requests_per_second: u32,
    /// How prefixes of OpenID Connect providers are read
    #[arg(long, value_enum, default_value_t = OidcPrefixes::WithColon)]
    pub(crate) oidc_prefixes: OidcPrefixes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Verbosity {
    /// Every step
    Debug,
    /// Every decision
    Info,
    /// What went wrong
    Error,
}

impl Verbosity {
    /// As the log wants it.
    pub(crate) fn level(self) -> &'static str {
        match self {
            Self::Debug => "info,allotment_operator=debug",
            Self::Info => "info",
            Self::Error => "error",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ControllerName {
    /// Landscapes, ProviderConfigs and Clusters
    Cluster,
    /// AccessRequests of this provider
    Accessrequest,
    /// AccessRequests until their provider has them
    Generic,
    /// ClusterRequests
    Scheduler,
}

impl From<ControllerName> for Controller {
    fn from(name: ControllerName) -> Self {
        match name {
            ControllerName::Cluster => Self::Cluster,
            ControllerName::Accessrequest => Self::AccessRequest,
            ControllerName::Generic => Self::Generic,
            ControllerName::Scheduler => Self::Scheduler,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OidcPrefixes {
    /// A colon is appended where it is missing, as the contract was first written
    WithColon,
    /// As they are written
    Verbatim,
}

impl From<OidcPrefixes> for Prefixes {
    fn from(prefixes: OidcPrefixes) -> Self {
        match prefixes {
            OidcPrefixes::WithColon => Self::WithColon,
            OidcPrefixes::Verbatim => Self::Verbatim,
        }
    }
}
