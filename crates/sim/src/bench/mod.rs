//! What `make bench` measures: calls, bytes and growth first, seconds only as a ratio within one run or for orientation.

mod api;
mod definitions;
mod shoots;

use allotment_garden::landscape::RealLandscape;
use serde::Serialize;
use std::error::Error;

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// What was measured.
    pub name: String,
    /// How much it was.
    pub value: f64,
    /// Of what.
    pub unit: &'static str,
    /// What it is compared with, in the same unit.
    pub baseline: Option<f64>,
    /// `value / baseline`.
    pub ratio: Option<f64>,
}

impl Measure {
    /// A measure on its own.
    pub fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { name: name.into(), value, unit, baseline: None, ratio: None }
    }

    /// The same, compared with another one of the same run, or with a bound.
    #[must_use]
    pub fn against(mut self, baseline: f64) -> Self {
        self.baseline = Some(baseline);
        self.ratio = (baseline != 0.0).then(|| self.value / baseline);
        self
    }
}

/// Measures everything, and says through `progress` what is under way.
pub async fn run(progress: impl Fn(&str)) -> Result<Vec<Measure>, Box<dyn Error + Send + Sync>> {
    let mut measures = Vec::new();
    progress("definitions");
    measures.extend(definitions::measure()?);
    progress("starting the real landscape");
    let real = RealLandscape::find_or_start(1).await?;
    progress("the API server, embedded and real");
    measures.extend(api::measure(&real).await?);
    progress("Shoots on the real landscape");
    measures.extend(shoots::measure(&real).await?);
    real.stop().await;
    Ok(measures)
}
