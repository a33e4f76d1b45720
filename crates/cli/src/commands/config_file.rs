//! Finding the configuration file, for commands that are not told where it is.

use super::input::WRONG_USAGE;
use crate::output;
use anyhow::anyhow;
use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Names the file, for a shell in which every command is about the same installation.
const VARIABLE: &str = "ALLOTMENT_CONFIG";

/// Where the file is otherwise: beside whoever works on it, then where the chart mounts it.
const DEFAULTS: [&str; 2] = ["allotment.yaml", "/etc/allotment/config.yaml"];

/// The configuration file; else says which places were tried, and how to end.
pub(crate) fn find(given: Option<&Path>) -> Result<PathBuf, ExitCode> {
    let found = choose(given, env::var_os(VARIABLE), &DEFAULTS, Path::exists);
    found.and_then(|found| found.ok_or_else(none)).map_err(refused)
}

/// The same for commands that can do without; only a variable that leads nowhere is an error.
pub(crate) fn find_any(given: Option<&Path>, with_defaults: bool) -> Result<Option<PathBuf>, ExitCode> {
    let defaults: &[&str] = if with_defaults { &DEFAULTS } else { &[] };
    choose(given, env::var_os(VARIABLE), defaults, Path::exists).map_err(refused)
}

fn refused(error: anyhow::Error) -> ExitCode {
    output::complain(&error);
    ExitCode::from(WRONG_USAGE)
}

/// All places, for whoever has to say where it is.
pub(crate) fn none() -> anyhow::Error {
    anyhow!(
        "there is no configuration: --config FILE is not given, {VARIABLE} is not set, and neither ./{} nor {} exists",
        DEFAULTS[0],
        DEFAULTS[1]
    )
}

/// A file that is named is taken as it is: whoever reads it says why that fails.
fn choose(
    given: Option<&Path>,
    variable: Option<OsString>,
    defaults: &[&str],
    exists: impl Fn(&Path) -> bool,
) -> anyhow::Result<Option<PathBuf>> {
    if let Some(path) = given {
        return Ok(Some(path.to_owned()));
    }
    if let Some(path) = variable.filter(|path| !path.is_empty()).map(PathBuf::from) {
        let named = path.display();
        return match exists(&path) {
            true => Ok(Some(path)),
            false => Err(anyhow!("{VARIABLE} names {named}, which does not exist")),
        };
    }
    Ok(defaults.iter().map(Path::new).find(|path| exists(path)).map(Path::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_counts() {
        let chosen = |given: Option<&str>, variable: Option<&str>, there: &[&str]| {
            let exists = |path: &Path| there.iter().any(|there| path == Path::new(there));
            choose(given.map(Path::new), variable.map(OsString::from), &DEFAULTS, exists)
                .map(|found| found.map(|path| path.display().to_string()))
                .map_err(|error| error.to_string())
        };
        let both = DEFAULTS;
        let some = |path: &str| Ok(Some(path.to_owned()));
        assert_eq!(chosen(Some("given.yaml"), Some("named.yaml"), &both), some("given.yaml"));
        assert_eq!(chosen(None, Some("named.yaml"), &["named.yaml", both[0]]), some("named.yaml"));
        assert_eq!(chosen(None, Some(""), &both), some("allotment.yaml"), "an empty variable says nothing");
        assert_eq!(chosen(None, None, &both), some("allotment.yaml"));
        assert_eq!(chosen(None, None, &both[1..]), some("/etc/allotment/config.yaml"));
        assert_eq!(chosen(None, None, &[]), Ok(None));
        let lost = chosen(None, Some("nowhere.yaml"), &both).unwrap_err();
        assert_eq!(lost, "ALLOTMENT_CONFIG names nowhere.yaml, which does not exist");
    }
}
