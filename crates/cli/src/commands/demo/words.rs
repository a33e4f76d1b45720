//! What the demo says. The screen gets a few lines, which stay above the picture of a small terminal; the rest is in two files: functions
//! for a shell, and a page of things to try.

use allotment_garden::landscape::Landscape;
use anyhow::{Context, Result};
use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// What to read and to source.
pub(super) struct Words {
    functions: PathBuf,
    page: PathBuf,
    first_steps: &'static str,
    end: String,
}

impl Words {
    /// Writes the files beside the configuration: gone when the demo is.
    pub(super) fn write(
        landscape: &Landscape,
        config: &Path,
        address: &str,
        end: &Ending<'_>,
    ) -> Result<Self> {
        let (functions, page) = (config.with_file_name("demo.sh"), config.with_file_name("try.txt"));
        let write = |path: &Path, text: String| {
            fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
        };
        write(&functions, shell_functions(landscape, config, &page))?;
        write(&page, things_to_try(config, &functions, address))?;
        let first_steps = if end.without_operators { FIRST_WITHOUT_OPERATORS } else { FIRST };
        Ok(Self { functions, page, first_steps, end: end.to_string() })
    }

    /// What to type first.
    pub(super) fn next_steps(&self) -> String {
        let Self { functions, page, first_steps, end } = self;
        let (functions, page) = (functions.display(), page.display());
        format!(
            "\nIn another terminal, from a checkout:\n  source {functions}\n{first_steps}\n\
             More to try, step by step: less {page}\n{end}\n\n"
        )
    }
}

const FIRST: &str = "  \
  control apply -f examples/cluster.yaml    # a cluster for a tenant
  control get kcl -n cluster-operator -w    # Waiting, Creating, Ready
  garden get credentialsbindings --show-labels   # the pool of accounts";

const FIRST_WITHOUT_OPERATORS: &str = "  \
  allotment run                             # the operators, on these servers
  control apply -f examples/cluster.yaml    # a cluster for a tenant";

/// How the demo ends.
pub(super) struct Ending<'a> {
    /// The folder that remembers.
    pub(super) state: Option<&'a Path>,
    /// Whether people start the operators themselves.
    pub(super) without_operators: bool,
}

impl std::fmt::Display for Ending<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.state {
            Some(folder) => write!(
                formatter,
                "Ctrl-C stops everything. It is all in {},\nand goes on from there the next time, also after kill -9.",
                folder.display()
            ),
            None => formatter.write_str("Ctrl-C stops everything and leaves nothing behind."),
        }
    }
}

/// Functions, not aliases: a script may source them too.
fn shell_functions(landscape: &Landscape, config: &Path, page: &Path) -> String {
    let program = env::current_exe().unwrap_or_else(|_| PathBuf::from("allotment"));
    let [kubectl, program, control_plane, garden, team_a, small, config, page] = [
        &landscape.kubectl,
        &program,
        &landscape.control_plane_kubeconfig,
        &landscape.garden_kubeconfig,
        &config.with_file_name("team-a.kubeconfig"),
        &config.with_file_name("small.kubeconfig"),
        &config.to_owned(),
        &page.to_owned(),
    ]
    .map(|path| quoted(path));
    format!(
        "# For bash and zsh: source this file.
control() {{ {kubectl} --kubeconfig {control_plane} \"$@\"; }}
garden() {{ {kubectl} --kubeconfig {garden} -n garden-kyma \"$@\"; }}
team-a() {{ {kubectl} --kubeconfig {team_a} \"$@\"; }}
small() {{ {kubectl} --kubeconfig {small} \"$@\"; }}
allotment() {{ {program} \"$@\"; }}
export KUBECONFIG={control_plane}
export ALLOTMENT_CONFIG={config}
try={page}
small_kubeconfig={small}
"
    )
}

/// In single quotes, whatever is in it.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

fn things_to_try(config: &Path, functions: &Path, address: &str) -> String {
    format!(
        "All of this is for a checkout of Allotment, in a shell with the demo's functions:
  source {functions}

Ask for a cluster, and watch it grow in an account of its tenant:
  control apply -f examples/cluster.yaml
  control get kcl -n cluster-operator --watch       # Waiting, Creating, Ready; -o wide shows account and Shoot
  garden get shoots
  garden get credentialsbindings -L tenantName,dirty
  control api-resources --categories=allotment      # what tenants write

Ask for a kubeconfig of it that lives for an hour, and see it refused once it is revoked:
  control apply -f examples/kubeconfig-request.yaml         # its namespace is not there yet, so:
  control patch kubereq example-cluster.compass-operator --type merge -p '{{\"spec\": {{\"role\": {{\"createNamespace\": true}}}}}}'
  control wait kubereq example-cluster.compass-operator --for=condition=Ready
  control get kubereq example-cluster.compass-operator -o jsonpath='{{.status.kubeconfig}}' | base64 -d > $small_kubeconfig
  small get secret any     # NotFound: it may look
  small get secrets        # Forbidden: nobody asked to list
  control annotate kubereq example-cluster.compass-operator --overwrite operator.kyma-project.io/revoke=true
  control wait kubereq example-cluster.compass-operator --for=condition=Revoked
  small get secret any     # Unauthorized

Ask what it waits for, who sits where, and why:
  allotment cluster explain example-cluster -n cluster-operator
  allotment pool history aws-01
  allotment pool doctor
  allotment kubeconfig list
  allotment kubeconfig revoke --all --yes

Be a tenant, and try to get what is another's:
  sed 's/cluster-operator/team-a/; s/abcd-0001/tenant-a/' examples/cluster.yaml | team-a apply -f -    # its own tenant: granted
  sed 's/cluster-operator/team-a/; s/abcd-0001/tenant-b/' examples/cluster.yaml | team-a apply -f -    # refused, with the reason
  team-a label namespace team-a {label}=tenant-b --overwrite     # Forbidden
  control get subreq -n team-a

Change rules, limits and what Shoots begin with while it runs, break them, look what it says:
  $EDITOR {config}
  allotment config check
  allotment cluster diff --all-namespaces    # what that does to Shoots that exist
  curl 'http://{address}/readyz?verbose'
  curl http://{address}/metrics

A typing error is told:
  control apply -f examples/cluster-with-bad-issuer.yaml
  control describe kcl -n cluster-operator
  control apply -f examples/cluster.yaml

What Gardener fails at is told too, until somebody mends it:
  garden annotate shoot --all --overwrite gardenlet.allotment.dev/script='{{\"fail\": {{\"codes\": [\"ERR_INFRA_QUOTA_EXCEEDED\"]}}}}' gardener.cloud/operation=reconcile
  allotment cluster explain example-cluster -n cluster-operator
  garden annotate shoot --all --overwrite gardenlet.allotment.dev/script- gardener.cloud/operation=retry

Give it back: first the Shoot goes, then the account becomes dirty, and whoever cleans it removes the labels:
  control delete -f examples/cluster.yaml
  garden wait credentialsbinding aws-01 --for=jsonpath='{{.metadata.labels.dirty}}'=true
  garden label credentialsbinding aws-01 dirty- tenantName-

An account without a cluster is to be had too:
  control apply -f examples/subscription-request.yaml
  control get subreq -n cluster-operator
",
        functions = functions.display(),
        config = config.display(),
        label = super::tenants::LABEL,
    )
}

/// What there is.
pub(super) fn welcome(landscape: &Landscape, what: &str, time: Duration, without_operators: bool) -> String {
    let with = if without_operators { "(without operators)" } else { "with the operators" };
    format!(
        "
{what} a control plane {with} and a garden with a pool of accounts,
ready after {seconds:.1} seconds.

  the control plane  {control_plane}
  the garden         {garden}

",
        control_plane = landscape.control_plane_kubeconfig.display(),
        garden = landscape.garden_kubeconfig.display(),
        seconds = time.as_secs_f64(),
    )
}
