//! `allotment demo`: a landscape with our kinds on it, to play with.

use crate::output;
use allotment_garden::{
    gardenlet::{Gardenlet, Script, Scripts},
    landscape::{RealLandscape, Unavailable},
};
use anyhow::{Context, Result};
use tokio::{runtime::Runtime, signal};

/// Slow enough to watch a Shoot grow.
const STEP_MILLISECONDS: u64 = 2000;

pub(crate) fn run() -> Result<()> {
    Runtime::new().context("cannot start the runtime")?.block_on(demo())
}

async fn demo() -> Result<()> {
    output::note(
        "Starting a garden and a control plane (the first time, the servers are built, which takes minutes) ...",
    );
    let real = tokio::select! {
        real = RealLandscape::find_or_start(1) => real.map_err(explain)?,
        _ = signal::ctrl_c() => return Ok(()),
    };
    real.landscape.install_crds().await?;
    let scripts = Scripts::with_default(Script { step_milliseconds: STEP_MILLISECONDS, ..Script::default() });
    let gardenlet = Gardenlet::new(real.landscape.garden.clone(), real.landscape.servers.clone(), scripts);
    let running = gardenlet.start(None);
    output::print(&welcome(&real))?;
    signal::ctrl_c().await.context("cannot wait for Ctrl-C")?;
    output::note("Stopping ...");
    drop(running);
    real.stop().await;
    Ok(())
}

fn explain(error: Unavailable) -> anyhow::Error {
    match error {
        error @ Unavailable::GoMissing => anyhow::Error::new(error)
            .context("the demo runs on the real API servers: install Go 1.26 or newer, then try again"),
        error => error.into(),
    }
}

fn welcome(real: &RealLandscape) -> String {
    let manifest = &real.manifest;
    let (kubectl, garden) = (manifest.kubectl.display(), manifest.garden.kubeconfig.display());
    let control_plane = manifest.control_plane.kubeconfig.display();
    let namespace = &manifest.namespace;
    format!(
        "
A garden and a control plane are running, ready after {seconds:.1} seconds.

  the garden         {garden}
  the control plane  {control_plane}

Look around:
  alias garden='{kubectl} --kubeconfig {garden} -n {namespace}'
  alias control='{kubectl} --kubeconfig {control_plane}'
  garden get credentialsbindings --show-labels      # the pool of accounts
  control api-resources --categories=allotment      # what tenants write
  control explain clusters.operator.kyma-project.io.spec.infrastructure

Watch a Shoot grow, and fail one:
  garden apply -f landscape/manifests/shoots/aws.yaml
  garden get shoots --watch
  garden annotate shoot s-aws --overwrite gardenlet.allotment.dev/script='{{\"fail\": {{\"codes\": [\"ERR_INFRA_QUOTA_EXCEEDED\"]}}}}' gardener.cloud/operation=reconcile

Ask for a cluster (the operators that answer are not there yet: the request waits):
  control create namespace cluster-operator
  control apply -f examples/cluster.yaml
  control get allotment -A

Ctrl-C stops everything and leaves nothing behind.
",
        seconds = manifest.ready_seconds,
    )
}
