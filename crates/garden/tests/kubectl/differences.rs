//! Where the embedded server knowingly differs: the scenes say it, the README repeats it.

use crate::scene::Scene;
use libtest_mimic::Failed;
use std::{collections::BTreeMap, fmt::Write, path::Path};

/// The table, as it stands in the README.
pub fn table(scenes: &[Scene]) -> String {
    let mut rows: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for step in scenes.iter().flat_map(|scene| &scene.steps) {
        if let Some(why) = &step.differs {
            rows.entry(why).or_default().push(format!("`{}`", step.command.replace('|', "\\|")));
        }
    }
    let mut text = "| what differs with kubectl | seen with |\n|---|---|\n".to_owned();
    for (why, mut commands) in rows {
        commands.dedup();
        let _ = writeln!(text, "| {why} | {} |", commands.join(", "));
    }
    text
}

/// The README says what the scenes say.
pub fn check(scenes: &[Scene]) -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apiserver/README.md");
    let table = table(scenes);
    match std::fs::read_to_string(&path) {
        Ok(text) if text.contains(&table) => Ok(()),
        Ok(_) => {
            Err(format!("{} should have this table (from --differences):\n{table}", path.display()).into())
        }
        Err(error) => Err(format!("cannot read {}: {error}", path.display()).into()),
    }
}
