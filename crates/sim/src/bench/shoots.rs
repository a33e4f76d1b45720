//! What the life of a Shoot costs the gardenlet stand-in: tests with thousands of Shoots pay it thousands of times.

use super::Measure;
use crate::meter::Meter;
use allotment_api::{
    gardener::{OperationState, Shoot},
    kyma::Provider,
};
use allotment_garden::{
    gardenlet::{Gardenlet, Scripts},
    landscape::RealLandscape,
};
use kube::{
    Api, Config,
    api::{ListParams, Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use std::{
    error::Error,
    time::{Duration, Instant},
};

const SHOOTS: u32 = 50;

/// Taking it, its start, four milestones (one of them with two CAs), success, health.
const WRITES_AT_LEAST: f64 = 10.0;

/// Read when it is needed, not built in: the image is built from the crates alone.
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../landscape/manifests/shoots/aws.yaml");

pub(super) async fn measure(real: &RealLandscape) -> Result<Vec<Measure>, Box<dyn Error + Send + Sync>> {
    let mut measures = vec![Measure::new("real landscape, start to ready", real.manifest.ready_seconds, "s")];

    let meter = Meter::default();
    let kubeconfig = Kubeconfig::read_from(&real.manifest.garden.kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let plot = real.landscape.plot_without_gardenlet().await?;
    plot.add_account("account", Provider::Aws, json!({})).await?;
    let mut manifest: Value = serde_saphyr::from_str(&std::fs::read_to_string(MANIFEST)?)?;
    manifest["spec"]["credentialsBindingName"] = json!("account");
    manifest["metadata"]["namespace"] = json!(plot.garden_namespace);

    let started = Instant::now();
    let gardenlet = Gardenlet::new(meter.client(config)?, real.landscape.servers.clone(), Scripts::default());
    let running = gardenlet.start(Some(&plot.garden_namespace));
    for n in 0..SHOOTS {
        let name = format!("s{n}");
        manifest["metadata"]["name"] = json!(name);
        plot.shoots().patch(&name, &PatchParams::apply("bench"), &Patch::Apply(&manifest)).await?;
    }
    while healthy(&plot.shoots()).await? < SHOOTS {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let seconds = started.elapsed().as_secs_f64();
    let per_shoot = |calls: u64| -> Result<f64, std::num::TryFromIntError> {
        Ok(f64::from(u32::try_from(calls)?) / f64::from(SHOOTS))
    };
    measures.push(
        Measure::new("stand-in, writes per Shoot", per_shoot(meter.writes())?, "calls")
            .against(WRITES_AT_LEAST),
    );
    measures.push(Measure::new("stand-in, calls per Shoot", per_shoot(meter.calls())?, "calls"));
    measures.push(Measure::new("Shoots from nothing to healthy", f64::from(SHOOTS) / seconds, "1/s"));
    drop(running);
    Ok(measures)
}

async fn healthy(shoots: &Api<Shoot>) -> Result<u32, Box<dyn Error + Send + Sync>> {
    let healthy = shoots
        .list(&ListParams::default())
        .await?
        .into_iter()
        .filter_map(|shoot| shoot.status)
        .filter(|status| {
            status
                .last_operation
                .as_ref()
                .is_some_and(|operation| operation.state == OperationState::Succeeded)
                && status.conditions.iter().all(|condition| condition.status == "True")
        })
        .count();
    Ok(u32::try_from(healthy)?)
}
