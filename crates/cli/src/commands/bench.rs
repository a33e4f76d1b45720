//! `allotment bench`.

use crate::output::{self, Format};
use allotment_sim::bench::{self, Measure};
use anyhow::{Context, Result};
use std::{fs, path::Path};
use tokio::runtime::Runtime;

pub(crate) fn run(results: &Path, format: Option<Format>) -> Result<()> {
    let measures = Runtime::new()
        .context("cannot start the runtime")?
        .block_on(bench::run(|what| output::note(&format!("measuring: {what} ..."))))
        .map_err(|error| anyhow::anyhow!(error))?;
    if let Some(folder) = results.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let text = serde_json::to_string_pretty(&measures).context("cannot write the results as JSON")?;
    fs::write(results, format!("{text}\n")).with_context(|| format!("cannot write {}", results.display()))?;
    match format {
        Some(format) => output::print_value(&measures, format),
        None => output::print(&table(&measures)),
    }
}

fn table(measures: &[Measure]) -> String {
    let mut rows = vec![["name", "value", "unit", "baseline", "ratio"].map(str::to_owned)];
    let number = |value: Option<f64>| value.map(|value| format!("{value:.2}")).unwrap_or_default();
    rows.extend(measures.iter().map(|measure| {
        let Measure { name, value, unit, baseline, ratio } = measure;
        [name.clone(), number(Some(*value)), (*unit).to_owned(), number(*baseline), number(*ratio)]
    }));
    output::table(&rows)
}
