//! `allotment completion`.

use crate::{args::Args, output};
use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

pub(crate) fn run(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "allotment", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
