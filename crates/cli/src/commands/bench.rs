//! `allotment bench`.

use crate::output::{self, Format};
use allotment_sim::bench::{self, Measure, Part};
use anyhow::{Context, Result};
use std::{
    env, fs,
    path::{Path, PathBuf},
};
use tokio::runtime::{Builder, Runtime};

/// Where the results of a whole run go.
const RESULTS: &str = "bench/results.json";

/// The command that this one runs to see what objects cost in memory.
pub(crate) const REMEMBER: &str = "bench-remember";

pub(crate) fn run(only: &[String], results: Option<PathBuf>, format: Option<Format>) -> Result<()> {
    let wanted = |part: &Part| only.is_empty() || only.iter().any(|name| name == part.name());
    let parts: Vec<Part> = Part::ALL.into_iter().filter(wanted).collect();
    let program = env::current_exe().context("cannot tell where this program is")?;
    let remember = [program.into_os_string(), REMEMBER.into()];
    let measures = Runtime::new()
        .context("cannot start the runtime")?
        .block_on(bench::run(&parts, &remember, |what| output::note(&format!("measuring: {what} ..."))))
        .map_err(|error| anyhow::anyhow!(error))?;
    // A part alone would take the place of the whole.
    if let Some(path) = results.or_else(|| only.is_empty().then(|| PathBuf::from(RESULTS))) {
        write(&measures, &path)?;
    }
    match format {
        Some(format) => output::print_value(&measures, format),
        None => output::print(&table(&measures)),
    }
}

/// Says what so many objects cost. One thread, so that nothing else is in its memory.
pub(crate) fn remember(objects: u32, shoots: bool, clusters: bool, openmcp: bool) -> Result<()> {
    let bytes = if openmcp {
        bench::resident_bytes_of_openmcp(objects)
    } else if clusters {
        bench::resident_bytes_of_clusters(objects)
    } else if shoots {
        bench::resident_bytes_of_shoots(objects)
    } else {
        let runtime =
            Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
        runtime.block_on(bench::resident_bytes_of(objects))
    };
    output::print(&format!("{}\n", bytes.map_err(|error| anyhow::anyhow!(error))?))
}

fn write(measures: &[Measure], path: &Path) -> Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let text = serde_json::to_string_pretty(measures).context("cannot write the results as JSON")?;
    fs::write(path, format!("{text}\n")).with_context(|| format!("cannot write {}", path.display()))
}

fn table(measures: &[Measure]) -> String {
    let mut rows = vec![["name", "value", "unit", "baseline", "ratio"].map(str::to_owned)];
    let number = |value: Option<f64>| value.map(number).unwrap_or_default();
    rows.extend(measures.iter().map(|measure| {
        let Measure { name, value, unit, baseline, ratio } = measure;
        [name.clone(), number(Some(*value)), (*unit).to_owned(), number(*baseline), number(*ratio)]
    }));
    output::table(&rows)
}

/// With as many digits as tell something.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 0.1 => format!("{value:.5}"),
        size if size < 100.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    }
}
