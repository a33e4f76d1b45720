//! `allotment config`: what people ask about the configuration file.

use super::{config_file, input, show};
use crate::{
    args::operators::ConfigCommand,
    output::{self, Format, Paint},
};
use allotment_core::admission::Release;
use allotment_operator::config::{self, Loaded};
use anyhow::Result;
use serde_json::json;
use std::{path::Path, process::ExitCode};

pub(crate) fn run(command: ConfigCommand) -> Result<ExitCode> {
    match command {
        ConfigCommand::Check { file, output } => match config_file::find(file.as_deref()) {
            Ok(file) => check(&file, output),
            Err(code) => Ok(code),
        },
        ConfigCommand::Admission { file, namespace, operator, name, output } => {
            let text = match input::read(&file) {
                Ok(text) => text,
                Err(code) => return Ok(code),
            };
            let Loaded { settled, findings } = config::load(&text);
            let Some(settled) = settled else {
                let shown = show::findings(&file, &findings, Paint::for_standard_output());
                output::print(&shown)?;
                return Ok(ExitCode::FAILURE);
            };
            let release = Release { name: &name, namespace: &namespace };
            output::print_objects(&settled.config.admission(&release, &operator)?, output)?;
            Ok(ExitCode::SUCCESS)
        }
        ConfigCommand::Schema { output } => {
            output::print_value(&config::schema(), output)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn check(path: &Path, format: Option<Format>) -> Result<ExitCode> {
    let text = match input::read(path) {
        Ok(text) => text,
        Err(code) => return Ok(code),
    };
    let Loaded { settled, findings } = config::load(&text);
    match format {
        Some(format) => {
            output::print_value(&json!({ "ok": settled.is_some(), "findings": findings }), format)?;
        }
        None => {
            let rules = settled.as_ref().map(|settled| settled.config.hap.rule.len());
            let rules = rules.map(|count| show::counted(count, "rule"));
            let paint = Paint::for_standard_output();
            let mut shown = show::findings(path, &findings, paint);
            shown.push_str(&show::verdict_on(path, rules.as_deref(), &findings, paint));
            output::print(&shown)?;
        }
    }
    Ok(if settled.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
