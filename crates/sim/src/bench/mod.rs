//! What `make bench` measures: calls, bytes and growth first, seconds only as a ratio within one run or for orientation.
//!
//! Where a measure has a baseline, the value is the embedded server's and the baseline the real one's, in the same run on
//! the same machine, or a bound that the value has to stay below. Clients of the embedded server call it in this process,
//! as tests do; clients of the real one go over TLS, as they must.

mod claims;
mod cleanup;
mod clusters;
mod definitions;
mod fan_out;
mod kubeconfigs;
mod lists;
mod memory;
mod openmcp;
mod rules;
mod shoots;
mod side;
mod start_up;
mod tally;
mod waiting;
mod writes;

pub use memory::{
    resident_bytes_of, resident_bytes_of_clusters, resident_bytes_of_openmcp, resident_bytes_of_shoots,
};

use allotment_garden::landscape::RealLandscape;
use serde::Serialize;
use side::Sides;
use std::{error::Error, ffi::OsString};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

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

/// A part of the whole that can be measured alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The size of the CRDs.
    Definitions,
    /// Reading the rules, and asking them.
    Rules,
    /// What an object costs in memory.
    Memory,
    /// From nothing to the first answer.
    StartUp,
    /// Creates per second.
    Creates,
    /// Patches of a status per second.
    Status,
    /// Server-side applies per second.
    Applies,
    /// A long list.
    List,
    /// Many events to many watchers.
    FanOut,
    /// The life of a Shoot.
    Shoots,
    /// Handing out accounts.
    Claims,
    /// Handing out accounts while others wait.
    Waiting,
    /// From Clusters to Shoots.
    Clusters,
    /// Handing out kubeconfigs.
    Kubeconfigs,
    /// Clusters and AccessRequests of openMCP.
    Openmcp,
    /// Emptying returned accounts.
    Cleanup,
}

impl Part {
    /// All of them, in the order in which they are measured.
    pub const ALL: [Self; 16] = [
        Self::Definitions,
        Self::Rules,
        Self::Memory,
        Self::Claims,
        Self::Waiting,
        Self::Clusters,
        Self::Kubeconfigs,
        Self::Openmcp,
        Self::Cleanup,
        Self::StartUp,
        Self::Creates,
        Self::Status,
        Self::Applies,
        Self::List,
        Self::FanOut,
        Self::Shoots,
    ];

    /// How it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Definitions => "definitions",
            Self::Rules => "rules",
            Self::Memory => "memory",
            Self::StartUp => "start-up",
            Self::Creates => "creates",
            Self::Status => "status",
            Self::Applies => "applies",
            Self::List => "list",
            Self::FanOut => "fan-out",
            Self::Shoots => "shoots",
            Self::Claims => "claims",
            Self::Waiting => "waiting",
            Self::Clusters => "clusters",
            Self::Kubeconfigs => "kubeconfigs",
            Self::Openmcp => "openmcp",
            Self::Cleanup => "cleanup",
        }
    }

    const fn needs_servers(self) -> bool {
        !matches!(
            self,
            Self::Definitions
                | Self::Rules
                | Self::Memory
                | Self::Claims
                | Self::Waiting
                | Self::Clusters
                | Self::Kubeconfigs
                | Self::Openmcp
                | Self::Cleanup
        )
    }
}

/// Measures these parts, and says through `progress` what is under way.
///
/// `remember` is a command that is given a number of objects, keeps that many in an embedded server, and prints
/// [`resident_bytes_of`] it: a process that has done nothing else yet, because memory that something else has used and
/// given back would be used again and not be seen.
pub async fn run(parts: &[Part], remember: &[OsString], progress: impl Fn(&str)) -> Outcome<Vec<Measure>> {
    let mut measures = Vec::new();
    let wanted = || Part::ALL.into_iter().filter(|part| parts.contains(part));
    for part in wanted().filter(|part| !part.needs_servers()) {
        progress(part.name());
        measures.extend(match part {
            Part::Definitions => definitions::measure()?,
            Part::Rules => rules::measure()?,
            Part::Claims => claims::measure(&progress).await?,
            Part::Waiting => waiting::measure(&progress).await?,
            Part::Clusters => clusters::measure(&progress).await?,
            Part::Kubeconfigs => kubeconfigs::measure(&progress).await?,
            Part::Openmcp => openmcp::measure(&progress).await?,
            Part::Cleanup => cleanup::measure(&progress).await?,
            _ => memory::measure(remember).await?,
        });
    }
    if !parts.iter().any(|part| part.needs_servers()) {
        return Ok(measures);
    }
    progress("starting the real landscape");
    let real = RealLandscape::find_or_start(1).await?;
    let measured = compare(wanted(), &real, &progress).await;
    real.stop().await;
    measures.extend(measured?);
    Ok(measures)
}

async fn compare(
    parts: impl Iterator<Item = Part>,
    real: &RealLandscape,
    progress: impl Fn(&str),
) -> Outcome<Vec<Measure>> {
    let sides = Sides::new(&real.landscape).await?;
    let mut measures = Vec::new();
    for part in parts.filter(|part| part.needs_servers()) {
        progress(part.name());
        measures.extend(match part {
            Part::StartUp => start_up::measure(real).await?,
            Part::Creates => vec![writes::creates(&sides).await?],
            Part::Status => vec![writes::status_patches(&sides).await?],
            Part::Applies => vec![writes::applies(&sides).await?],
            Part::List => vec![lists::measure(&sides).await?],
            Part::FanOut => vec![fan_out::measure(&sides).await?],
            Part::Shoots => shoots::measure(real).await?,
            _ => Vec::new(),
        });
    }
    sides.tidy().await?;
    Ok(measures)
}
