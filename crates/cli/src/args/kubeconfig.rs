//! What users type about kubeconfigs that were handed out.

use crate::output::Format;
use clap::{Args, Subcommand, ValueHint};
use jiff::SignedDuration;
use std::{path::PathBuf, time::Duration};

/// Which KubeconfigRequests are meant.
#[derive(Args, Debug)]
pub(crate) struct Selection {
    /// KubeconfigRequests by name, in --namespace or else the namespace of the kubeconfig's context
    #[arg(value_name = "NAME", conflicts_with_all = ["cluster", "all"])]
    pub(crate) names: Vec<String>,
    /// Those in this namespace
    #[arg(long, short, value_name = "NAMESPACE", conflicts_with = "all")]
    pub(crate) namespace: Option<String>,
    /// Those for the Cluster of this name, in --namespace or else in all namespaces; `revoke` refuses if these may be different Clusters
    #[arg(long, value_name = "CLUSTER", conflicts_with = "all")]
    pub(crate) cluster: Option<String>,
    /// Those for every Cluster of the name of --cluster, in all namespaces
    #[arg(long, short = 'A', requires = "cluster", conflicts_with = "namespace")]
    pub(crate) all_namespaces: bool,
    /// All there are
    #[arg(long)]
    pub(crate) all: bool,
    /// The control plane's kubeconfig [default: as kubectl finds it]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,
}

/// How access is locked.
#[derive(Args, Debug)]
pub(crate) struct LockArgs {
    /// Lock it: NAMEs, --namespace, or --namespace with --cluster, which is the namespace of the Cluster
    #[arg(long, conflicts_with = "all")]
    pub(crate) lock: bool,
    /// Why, for the platform team; tenants do not see it
    #[arg(long, value_name = "TEXT", requires = "lock")]
    pub(crate) reason: Option<String>,
    /// The namespace of the operators [default: as `allotment run` finds its own]
    #[arg(long, value_name = "NAMESPACE", requires = "lock")]
    pub(crate) operator_namespace: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KubeconfigCommand {
    /// List KubeconfigRequests: for which Cluster, until when, revoked or not
    #[command(
        after_help = "Exit codes: 0 the answer is there, 1 something could not be read, 2 wrong usage.\n\n\
        Examples:\n  \
        allotment kubeconfig list\n  \
        allotment kubeconfig list --cluster example-cluster\n  \
        allotment kubeconfig list --refused\n  \
        allotment kubeconfig list -n team-a -o json | jq -r '.requests[] | select(.revoked | not) | .name'"
    )]
    List {
        #[command(flatten)]
        selection: Selection,
        /// Only access that was granted and that the policies no longer allow: it is not renewed
        #[arg(long)]
        refused: bool,
        /// Print the answer in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
    /// Revoke kubeconfigs, and wait until they have been seen to be refused
    ///
    /// Sets the annotation operator.kyma-project.io/revoke on all of them first, and then waits for the condition Revoked of
    /// each. The operator goes on after this command has given up. Setting the annotation to "false" grants anew.
    ///
    /// With --lock an AccessLock in the operator's namespace does it instead, which tenants cannot lift: nothing is granted while it
    /// exists, and Clusters that it names have no administrators. Deleting it grants again what is still asked for.
    #[command(
        after_help = "Exit codes: 0 all are revoked, 1 some are not (yet), or it was not confirmed, 2 wrong usage.\n\n\
        Examples:\n  \
        allotment kubeconfig revoke example-cluster.compass-operator -n default\n  \
        allotment kubeconfig revoke --cluster example-cluster -n team-a --yes\n  \
        allotment kubeconfig revoke --lock -n team-a --cluster example-cluster --reason 'credentials leaked' --yes\n  \
        allotment kubeconfig revoke --all --yes --timeout 5m -o json | jq -r '.requests[] | select(.done | not) | .message'"
    )]
    Revoke {
        #[command(flatten)]
        selection: Selection,
        #[command(flatten)]
        lock: LockArgs,
        /// Yes, all of them; without a terminal needed for --all and for more than one
        #[arg(long)]
        yes: bool,
        /// Give up when none has been revoked for this long
        #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
        timeout: Duration,
        /// Print what came of it in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
}

/// `60s`, `5m`, `1m 30s`.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let time: SignedDuration = text.parse().map_err(|_| "expected a time like 60s or 5m".to_owned())?;
    Duration::try_from(time).map_err(|_| "expected a time that is not negative".to_owned())
}

#[cfg(test)]
mod tests {
    use super::time;
    use std::time::Duration;

    #[test]
    fn times_are_read() {
        assert_eq!(time("60s"), Ok(Duration::from_mins(1)));
        assert_eq!(time("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(time("0s"), Ok(Duration::ZERO));
        assert!(time("60").is_err() && time("-5s").is_err() && time("soon").is_err());
    }
}
