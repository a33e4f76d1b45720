//! Where the embedded server knowingly differs: the cases say it, the README repeats it.

use crate::{cases, script::Case};
use libtest_mimic::Failed;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    path::Path,
};

/// The table, as it stands in the README.
pub fn table(cases: &[Case]) -> String {
    let mut rows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for case in cases {
        for difference in case.steps.iter().flat_map(|step| &step.differences) {
            rows.entry(difference.why).or_default().insert(&case.name);
        }
    }
    let mut text = "| what differs | seen in |\n|---|---|\n".to_owned();
    for (why, cases) in rows {
        let cases: Vec<String> = cases.iter().map(|case| format!("`{case}`")).collect();
        let _ = writeln!(text, "| {why} | {} |", cases.join(", "));
    }
    text
}

/// The README says what the cases say.
pub fn check() -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apiserver/README.md");
    let table = table(&cases::all());
    match std::fs::read_to_string(&path) {
        Ok(text) if text.contains(&table) => Ok(()),
        Ok(_) => {
            Err(format!("{} should have this table (from --differences):\n{table}", path.display()).into())
        }
        Err(error) => Err(format!("cannot read {}: {error}", path.display()).into()),
    }
}
