//! How long a long list takes, from the request to the objects in the client's hands.

use super::{
    Measure, Outcome,
    side::{Side, Sides, create_small, per_second},
};
use kube::api::ListParams;
use std::time::Instant;

const LISTED: u32 = 10_000;

/// The best of some: the first one pays for what the client sets up.
const TIMES: usize = 3;

pub(super) async fn measure(sides: &Sides) -> Outcome<Measure> {
    let (ours, theirs) = (seconds(&sides.embedded).await?, seconds(&sides.real).await?);
    Ok(Measure::new("a list of 10,000", ours, "s").against(theirs))
}

async fn seconds(side: &Side) -> Outcome<f64> {
    let api = side.config_maps();
    per_second(LISTED, async |n| create_small(&api, &format!("list-{n}")).await).await?;
    let mut best = f64::INFINITY;
    for _ in 0..TIMES {
        let started = Instant::now();
        // From the server's memory, as informers ask for it.
        let listed = api.list(&ListParams::default().match_any()).await?.items.len();
        best = best.min(started.elapsed().as_secs_f64());
        if listed < usize::try_from(LISTED)? {
            return Err(format!("listed {listed} of {LISTED}").into());
        }
    }
    Ok(best)
}
