//! `allotment rules`: what people ask about a rule file.

mod diff;
mod explain;

use super::{
    input::{is_standard_input, read},
    show,
};
use crate::{
    args::rules::{RuleFile, RulesCommand},
    output::{self, Format, Paint},
};
use allotment_core::rules::{self, Options, Request, RuleSet, Severity};
use anyhow::{Context, Result};
use serde_json::json;
use std::{fs, path::Path, process::ExitCode};

pub(crate) fn run(command: RulesCommand) -> Result<ExitCode> {
    match command {
        RulesCommand::Check { file, strict, output } => check(&file, strict, output),
        RulesCommand::Explain { file, plan, provider, platform_region, hyperscaler_region, output } => {
            let request = Request {
                plan: &plan,
                provider: provider.as_deref(),
                platform_region: platform_region.as_deref(),
                hyperscaler_region: hyperscaler_region.as_deref(),
            };
            explain::run(&file, &request, output)
        }
        RulesCommand::Diff { old, new, enabled_plans, output } => diff::run(old, new, enabled_plans, output),
        RulesCommand::Fmt { file, write } => fmt(&file, write),
    }
}

fn check(file: &RuleFile, strict: bool, format: Option<Format>) -> Result<ExitCode> {
    let text = match read(&file.file) {
        Ok(text) => text,
        Err(code) => return Ok(code),
    };
    let rules::Loaded { rules, findings } =
        rules::load(&text, &options(file.enabled_plans.as_deref(), strict));
    match format {
        Some(format) => {
            output::print_value(&json!({ "ok": rules.is_some(), "findings": findings }), format)?;
        }
        None => {
            let paint = Paint::for_standard_output();
            let mut shown = show::findings(&file.file, &findings, paint);
            shown.push_str(&show::verdict(&file.file, rules.as_ref(), &findings, paint));
            output::print(&shown)?;
        }
    }
    Ok(if rules.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn fmt(file: &Path, write: bool) -> Result<ExitCode> {
    let text = match read(file) {
        Ok(text) => text,
        Err(code) => return Ok(code),
    };
    let formatted = match rules::format(&text) {
        Ok(formatted) => formatted,
        Err(findings) => {
            output::note(show::findings(file, &findings, Paint::for_standard_error()).trim_end());
            return Ok(ExitCode::FAILURE);
        }
    };
    if !write || is_standard_input(file) {
        output::print(&formatted)?;
    } else if formatted != text {
        fs::write(file, formatted).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn options(enabled_plans: Option<&[String]>, strict: bool) -> Options {
    // `--enabled-plans ''` is how one says none.
    let plans = enabled_plans.map(|plans| plans.iter().filter(|plan| !plan.is_empty()).cloned().collect());
    Options { enabled_plans: plans, strict }
}

/// The rules of a file, if they are good; else their findings are told, and the code to end with comes back.
fn load(
    path: &Path,
    enabled_plans: Option<&[String]>,
    format: Option<Format>,
) -> Result<Result<RuleSet, ExitCode>> {
    load_with(path, format, |text| rules::load(text, &options(enabled_plans, false)))
}

/// The same for a question about one plan, which errors in rules of others do not concern.
fn load_plan(
    path: &Path,
    enabled_plans: Option<&[String]>,
    plan: &str,
    format: Option<Format>,
) -> Result<Result<RuleSet, ExitCode>> {
    load_with(path, format, |text| {
        let loaded = rules::load_plan(text, &options(enabled_plans, false), plan);
        let errors = loaded.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
        if loaded.rules.is_some() && errors > 0 {
            output::note(&format!(
                "{} has {} about other plans, and would be refused: see `allotment rules check`",
                show::name(path),
                show::counted(errors, "error")
            ));
        }
        loaded
    })
}

fn load_with(
    path: &Path,
    format: Option<Format>,
    load: impl FnOnce(&str) -> rules::Loaded,
) -> Result<Result<RuleSet, ExitCode>> {
    let text = match read(path) {
        Ok(text) => text,
        Err(code) => return Ok(Err(code)),
    };
    let rules::Loaded { rules, findings } = load(&text);
    if let Some(rules) = rules {
        return Ok(Ok(rules));
    }
    match format {
        Some(format) => {
            let verdict = show::verdict(path, None, &findings, Paint::none());
            output::print_value(&json!({ "error": verdict.trim_end(), "findings": findings }), format)?;
        }
        None => {
            let paint = Paint::for_standard_error();
            let verdict = show::verdict(path, None, &findings, paint);
            output::note(&format!("{}{}", show::findings(path, &findings, paint), verdict.trim_end()));
        }
    }
    Ok(Err(ExitCode::FAILURE))
}
