//! From nothing to the first answer.

use super::{Measure, Outcome, side::embedded_client};
use allotment_apiserver::ApiServer;
use allotment_garden::{embedded::EmbeddedLandscape, landscape::RealLandscape};
use std::time::Instant;

pub(super) async fn measure(real: &RealLandscape) -> Outcome<Vec<Measure>> {
    let started = Instant::now();
    embedded_client(&ApiServer::new()).apiserver_version().await?;
    let server = started.elapsed().as_secs_f64();

    let started = Instant::now();
    let embedded = EmbeddedLandscape::start().await?;
    embedded.landscape.garden.apiserver_version().await?;
    embedded.landscape.control_plane.apiserver_version().await?;
    let landscape = started.elapsed().as_secs_f64();
    Ok(vec![
        Measure::new("start-up of one API server", server, "s"),
        Measure::new("start-up of a garden and a control plane", landscape, "s")
            .against(real.manifest.ready_seconds),
    ])
}
