//! What the demo says.

use allotment_garden::landscape::Landscape;
use std::{
    env,
    path::{Path, PathBuf},
    time::Duration,
};

/// What to try.
pub(super) fn next_steps(landscape: &Landscape, config: &Path, address: &str, end: &str) -> String {
    let program = env::current_exe().unwrap_or_else(|_| PathBuf::from("allotment"));
    let control_plane = landscape.control_plane_kubeconfig.display();
    format!(
        "
Ask for a cluster, and watch it grow in an account of its tenant:
  control apply -f examples/cluster.yaml
  control get kcl -n cluster-operator --watch       # Waiting, Creating, Ready; -o wide shows account and Shoot
  garden get shoots
  garden get credentialsbindings -L tenantName,dirty

Ask for a kubeconfig of it that lives for an hour, and see it refused once it is revoked:
  control apply -f examples/kubeconfig-request.yaml         # its namespace is not there yet, so:
  control patch kubereq example-cluster.compass-operator --type merge -p '{{\"spec\": {{\"role\": {{\"createNamespace\": true}}}}}}'
  control wait kubereq example-cluster.compass-operator --for=condition=Ready
  control get kubereq example-cluster.compass-operator -o jsonpath='{{.status.kubeconfig}}' | base64 -d > {small}
  {kubectl} --kubeconfig {small} get secret any     # NotFound: it may look
  {kubectl} --kubeconfig {small} get secrets        # Forbidden: nobody asked to list
  control annotate kubereq example-cluster.compass-operator --overwrite operator.kyma-project.io/revoke=true
  control wait kubereq example-cluster.compass-operator --for=condition=Revoked
  {kubectl} --kubeconfig {small} get secret any     # Unauthorized

Ask what it waits for, who sits where, and why:
  alias allotment='{program}'
  export KUBECONFIG={control_plane}; config={config}
  allotment cluster explain example-cluster -n cluster-operator --config $config
  allotment pool history aws-01 --config $config
  allotment pool doctor --config $config
  allotment kubeconfig list
  allotment kubeconfig revoke --all --yes

Be a tenant, and try to get what is another's:
  alias team-a='{kubectl} --kubeconfig {team_a}'
  sed 's/cluster-operator/team-a/; s/abcd-0001/tenant-a/' examples/cluster.yaml | team-a apply -f -    # its own tenant: granted
  sed 's/cluster-operator/team-a/; s/abcd-0001/tenant-b/' examples/cluster.yaml | team-a apply -f -    # refused, with the reason
  team-a label namespace team-a {label}=tenant-b --overwrite     # Forbidden
  control get subreq -n team-a

Change rules, limits and what Shoots begin with while it runs, break them, look what it says:
  $EDITOR $config
  allotment cluster diff --all-namespaces --config $config    # what that does to Shoots that exist
  curl 'http://{address}/readyz?verbose'
  curl http://{address}/metrics

A typing error is told:
  control apply -f examples/cluster-with-bad-issuer.yaml
  control describe kcl -n cluster-operator
  control apply -f examples/cluster.yaml

What Gardener fails at is told too, until somebody mends it:
  garden annotate shoot --all --overwrite gardenlet.allotment.dev/script='{{\"fail\": {{\"codes\": [\"ERR_INFRA_QUOTA_EXCEEDED\"]}}}}' gardener.cloud/operation=reconcile
  allotment cluster explain example-cluster -n cluster-operator --config $config
  garden annotate shoot --all --overwrite gardenlet.allotment.dev/script- gardener.cloud/operation=retry

Give it back: first the Shoot goes, then the account becomes dirty, and whoever cleans it removes the labels:
  control delete -f examples/cluster.yaml
  garden wait credentialsbinding aws-01 --for=jsonpath='{{.metadata.labels.dirty}}'=true
  garden label credentialsbinding aws-01 dirty- tenantName-

An account without a cluster is to be had too:
  control apply -f examples/subscription-request.yaml
  control get subreq -n cluster-operator

{end}
",
        program = program.display(),
        config = config.display(),
        kubectl = landscape.kubectl.display(),
        // Gone when the demo is.
        small = config.with_file_name("small.kubeconfig").display(),
        team_a = config.with_file_name("team-a.kubeconfig").display(),
        label = super::tenants::LABEL,
    )
}

/// What there is.
pub(super) fn welcome(landscape: &Landscape, what: &str, time: Duration) -> String {
    let (kubectl, garden) = (landscape.kubectl.display(), landscape.garden_kubeconfig.display());
    let control_plane = landscape.control_plane_kubeconfig.display();
    format!(
        "
{what} a control plane with the operators for accounts, clusters and kubeconfigs, and a garden with a pool of accounts, ready after {seconds:.1} seconds.

  the control plane  {control_plane}
  the garden         {garden}

Look around:
  alias control='{kubectl} --kubeconfig {control_plane}'
  alias garden='{kubectl} --kubeconfig {garden} -n garden-kyma'
  garden get credentialsbindings --show-labels      # the pool of accounts
  control api-resources --categories=allotment      # what tenants write

The pool:
",
        seconds = time.as_secs_f64(),
    )
}
