//! `allotment demo`: a landscape with our kinds on it, to play with.

use crate::output;
use allotment_garden::{
    embedded::EmbeddedLandscape,
    gardenlet::{Gardenlet, Script, Scripts},
    landscape::{Landscape, RealLandscape, Unavailable},
};
use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::{runtime::Runtime, signal};

/// Slow enough to watch a Shoot grow.
const STEP_MILLISECONDS: u64 = 2000;

/// The namespace that the examples name.
const EXAMPLE_NAMESPACE: &str = "cluster-operator";

pub(crate) fn run(real: bool) -> Result<()> {
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
    output::print(&welcome(landscape, what, started.elapsed()))?;
    signal::ctrl_c().await.context("cannot wait for Ctrl-C")?;
    output::note("Stopping ...");
    drop(running);
    Ok(())
}

fn welcome(landscape: &Landscape, what: &str, time: Duration) -> String {
    let (kubectl, garden) = (landscape.kubectl.display(), landscape.garden_kubeconfig.display());
    let control_plane = landscape.control_plane_kubeconfig.display();
    format!(
        "
{what} a control plane and a garden with a pool of accounts, ready after {seconds:.1} seconds.

  the control plane  {control_plane}
  the garden         {garden}

Look around:
  alias control='{kubectl} --kubeconfig {control_plane}'
  alias garden='{kubectl} --kubeconfig {garden} -n garden-kyma'
  garden get credentialsbindings --show-labels      # the pool of accounts
  control api-resources --categories=allotment      # what tenants write
  control explain clusters.operator.kyma-project.io.spec.infrastructure

Watch a Shoot grow, and have it fail:
  garden apply -f landscape/manifests/shoots/aws.yaml
  garden get shoots --watch
  garden annotate shoot s-aws --overwrite gardenlet.allotment.dev/script='{{\"fail\": {{\"codes\": [\"ERR_INFRA_QUOTA_EXCEEDED\"]}}}}' gardener.cloud/operation=reconcile

Ask for a cluster (the operators that answer are not there yet, so the request waits):
  control apply -f examples/
  control get allotment -A

Ctrl-C stops everything and leaves nothing behind.
",
        seconds = time.as_secs_f64(),
    )
}
