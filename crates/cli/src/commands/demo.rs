//! `allotment demo`: a landscape with our kinds and operators on it, to play with.

use super::{pool, run::log, signals};
use crate::output;
use allotment_garden::{
    embedded::EmbeddedLandscape,
    gardenlet::{Gardenlet, Script, Scripts},
    landscape::{Landscape, RealLandscape, Unavailable},
};
use allotment_operator::{
    process::{self, Options, Process},
    survey::{Sources, Survey},
};
use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::json;
use std::{
    env, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::{runtime::Runtime, signal};

/// Slow enough to watch a Shoot grow.
const STEP_MILLISECONDS: u64 = 2000;

/// The namespace that the examples name.
const EXAMPLE_NAMESPACE: &str = "cluster-operator";

/// The sample rules.
const RULES: &str = include_str!("demo.yaml");

pub(crate) fn run(real: bool) -> Result<()> {
    log("error");
    let runtime = Runtime::new().context("cannot start the runtime")?;
    if real { runtime.block_on(on_real()) } else { runtime.block_on(on_embedded()) }
}

async fn on_embedded() -> Result<()> {
    let started = Instant::now();
    let embedded = EmbeddedLandscape::start().await?;
    show(&embedded.landscape, "This process is", started).await
}

async fn on_real() -> Result<()> {
    let started = Instant::now();
    output::note("Starting the real API servers (the first time they are built, which takes minutes) ...");
    let real = tokio::select! {
        real = RealLandscape::find_or_start(1) => real.map_err(explain)?,
        _ = signal::ctrl_c() => return Ok(()),
    };
    let shown = show(&real.landscape, "Real API servers are", started).await;
    real.stop().await;
    shown
}

fn explain(error: Unavailable) -> anyhow::Error {
    match error {
        error @ Unavailable::GoMissing => anyhow::Error::new(error)
            .context("--real needs Go 1.26 or newer; without --real the demo needs nothing"),
        error => error.into(),
    }
}

/// Sets the scene, says what there is, and waits for Ctrl-C.
async fn show(landscape: &Landscape, what: &str, started: Instant) -> Result<()> {
    landscape.install_crds().await?;
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": EXAMPLE_NAMESPACE } });
    Api::<Namespace>::all(landscape.control_plane.clone())
        .patch(EXAMPLE_NAMESPACE, &PatchParams::apply("allotment-demo"), &Patch::Apply(namespace))
        .await
        .with_context(|| format!("cannot make the namespace {EXAMPLE_NAMESPACE}"))?;
    let scripts = Scripts::with_default(Script { step_milliseconds: STEP_MILLISECONDS, ..Script::default() });
    let gardenlet = Gardenlet::new(landscape.garden.clone(), landscape.servers.clone(), scripts);
    let running = gardenlet.start(None);
    // The ledger and the configuration: gone when the demo is.
    let folder = TempDir::with_prefix("allotment-demo-").context("cannot make a folder for the ledger")?;
    let config = configure(landscape, folder.path())?;
    let stop = signals::stop()?;
    let kubeconfig = Some(landscape.control_plane_kubeconfig.clone());
    let process = Process::start(Options { config: config.clone(), kubeconfig, controllers: None }).await?;
    let address = process.address().context("the server for health and metrics has no address")?;
    output::print(&welcome(landscape, what, started.elapsed()))?;
    output::print(&pool_now(landscape, &config).await?)?;
    output::print(&next_steps(landscape, &config, address))?;
    process.run_until(stop).await;
    output::note("Stopping ...");
    drop(running);
    Ok(())
}

/// Writes the operators' configuration.
fn configure(landscape: &Landscape, folder: &Path) -> Result<PathBuf> {
    let path = folder.join("config.yaml");
    let text = format!(
        "{RULES}\ngardener:\n  kubeconfig: {}\n  name: demo\nledger:\n  url: sqlite://{}\ncontrollers: [subscription, cluster, kubeconfig]\n\
         server:\n  address: 127.0.0.1:0\n",
        json!(landscape.garden_kubeconfig),
        folder.join("ledger.db").display(),
    );
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// The pool as it is at the start.
async fn pool_now(landscape: &Landscape, config: &Path) -> Result<String> {
    let settings = process::subscription_settings(&process::read(config)?.1.config, String::new());
    let sources = Sources {
        garden: landscape.garden.clone(),
        control_plane: Some(landscape.control_plane.clone()),
        ledger: None,
        settings: &settings,
    };
    let survey = Survey::read(&sources, |_| ()).await?;
    Ok(pool::show::pools(&survey.pools()))
}

fn next_steps(landscape: &Landscape, config: &Path, address: SocketAddr) -> String {
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
  control get kubereq example-cluster.compass-operator -o jsonpath='{{.status.kubeconfig}}' | base64 -d > {small}
  {kubectl} --kubeconfig {small} get secret any; {kubectl} --kubeconfig {small} get secrets    # NotFound, so it may; Forbidden, since nobody asked to list
  control annotate kubereq example-cluster.compass-operator --overwrite operator.kyma-project.io/revoke=true

Ask what it waits for, who sits where, and why:
  alias allotment='{program}'; export KUBECONFIG={control_plane}; config={config}
  allotment cluster explain example-cluster -n cluster-operator --config $config
  allotment pool history aws-01 --config $config
  allotment pool doctor --config $config
  allotment kubeconfig list; allotment kubeconfig revoke --all

Change rules, limits and what Shoots begin with while it runs, break them, look what it says:
  $EDITOR $config
  allotment cluster diff --all-namespaces --config $config    # what that does to Shoots that exist
  curl 'http://{address}/readyz?verbose'; curl http://{address}/metrics

A typing error is told, and what Gardener fails at is told too:
  control apply -f examples/cluster-with-bad-issuer.yaml; control describe kcl -n cluster-operator; control apply -f examples/cluster.yaml
  garden annotate shoot --all --overwrite gardenlet.allotment.dev/script='{{\"fail\": {{\"codes\": [\"ERR_INFRA_QUOTA_EXCEEDED\"]}}}}' gardener.cloud/operation=reconcile

Give it back: first the Shoot goes, then the account becomes dirty, and whoever cleans it removes the labels:
  control delete -f examples/cluster.yaml
  garden label credentialsbinding aws-01 dirty- tenantName-

An account without a cluster is to be had too: control apply -f examples/subscription-request.yaml
Ctrl-C stops everything and leaves nothing behind.
",
        program = program.display(),
        config = config.display(),
        kubectl = landscape.kubectl.display(),
        // Gone when the demo is.
        small = config.with_file_name("small.kubeconfig").display(),
    )
}

fn welcome(landscape: &Landscape, what: &str, time: Duration) -> String {
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
