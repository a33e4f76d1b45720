//! The `allotment` binary: arguments, printing, exit codes. What it does lives in the other crates.

mod args;
mod commands;
mod output;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match commands::run(args::Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            output::complain(&error);
            ExitCode::FAILURE
        }
    }
}
