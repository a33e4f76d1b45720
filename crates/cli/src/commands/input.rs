//! What people give to commands: files, and answers.

use super::show;
use crate::output;
use anyhow::{Context, Result, anyhow};
use std::{
    fs,
    io::{self, IsTerminal, Read},
    path::Path,
    process::ExitCode,
};

/// How to end when something was asked for that cannot be.
pub(crate) const WRONG_USAGE: u8 = 2;

/// How to end when something could not be read, where other codes are answers.
pub(crate) const UNREAD: u8 = 3;

/// Reads a file. One that cannot be read is wrong usage, and is told.
pub(crate) fn read(path: &Path) -> Result<String, ExitCode> {
    let text = if is_standard_input(path) {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(path)
    };
    text.map_err(|error| {
        output::complain(&anyhow::Error::new(error).context(format!("cannot read {}", show::name(path))));
        ExitCode::from(WRONG_USAGE)
    })
}

pub(crate) fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// Asks at a terminal; elsewhere nobody is there to ask.
pub(crate) fn confirmed(question: &str) -> Result<bool> {
    if !io::stdin().is_terminal() {
        output::complain(&anyhow!("nothing is done without --yes"));
        return Ok(false);
    }
    output::ask(&format!("{question} [y/N] "));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
