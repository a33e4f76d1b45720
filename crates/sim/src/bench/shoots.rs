//! What the life of a Shoot costs the gardenlet stand-in: tests with thousands of Shoots pay it thousands of times.

use super::{Measure, Outcome};
use crate::meter::Meter;
use allotment_api::{
    gardener::{OperationState, Shoot},
    kyma::Provider,
};
use allotment_garden::{
    embedded::EmbeddedLandscape,
    gardenlet::{Gardenlet, Scripts},
    landscape::{Landscape, RealLandscape},
};
use kube::{
    Api, Config,
    api::{ListParams, Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const SHOOTS: u32 = 50;

/// Taking it, its start, four milestones (one of them with two CAs), success, health.
const WRITES_AT_LEAST: f64 = 10.0;

/// Read when it is needed, not built in: the image is built from the crates alone.
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../landscape/manifests/shoots/aws.yaml");

pub(super) async fn measure(real: &RealLandscape) -> Outcome<Vec<Measure>> {
    let embedded = EmbeddedLandscape::start().await?;
    let ours = Life::of(&embedded.landscape).await?;
    let theirs = Life::of(&real.landscape).await?;
    Ok(vec![
        Measure::new("stand-in, writes per Shoot, against the least", theirs.writes, "calls")
            .against(WRITES_AT_LEAST),
        Measure::new("stand-in, calls per Shoot", ours.calls, "calls").against(theirs.calls),
        Measure::new("Shoots from nothing to healthy", ours.per_second, "1/s").against(theirs.per_second),
    ])
}

/// What the lives of some Shoots took.
struct Life {
    writes: f64,
    calls: f64,
    per_second: f64,
}

impl Life {
    async fn of(landscape: &Landscape) -> Outcome<Self> {
        let meter = Meter::default();
        let kubeconfig = Kubeconfig::read_from(&landscape.garden_kubeconfig)?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        let plot = landscape.plot_without_gardenlet().await?;
        plot.add_account("account", Provider::Aws, json!({})).await?;
        let mut manifest: Value = serde_saphyr::from_str(&std::fs::read_to_string(MANIFEST)?)?;
        manifest["spec"]["credentialsBindingName"] = json!("account");
        manifest["metadata"]["namespace"] = json!(plot.garden_namespace);

        let started = Instant::now();
        let gardenlet = Gardenlet::new(meter.client(config)?, landscape.servers.clone(), Scripts::default());
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
        drop(running);
        let per_shoot = |calls: u64| -> Result<f64, std::num::TryFromIntError> {
            Ok(f64::from(u32::try_from(calls)?) / f64::from(SHOOTS))
        };
        Ok(Self {
            writes: per_shoot(meter.writes())?,
            calls: per_shoot(meter.calls())?,
            per_second: f64::from(SHOOTS) / seconds,
        })
    }
}

async fn healthy(shoots: &Api<Shoot>) -> Outcome<u32> {
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
